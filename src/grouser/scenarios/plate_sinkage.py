"""A flat plate pressed into soil (bevameter test): pressure against sinkage, to which soil parameters are fitted.

Expectation: F = A (k_c/b + k_phi) z^n, Krenn and Hirzinger 2009, eq. 3, with b the smaller side of the plate.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import mujoco
import numpy as np
import pydantic
from pydantic_core import PydanticCustomError

from grouser.contact.soil import SoilModule, SoilOptions, prepare
from grouser.control.memoryless import Memoryless
from grouser.module import Channel
from grouser.recording import Recording
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Settings, metric, scenario_of, soil_map
from grouser.scenarios.soil_choice import SoilChoice
from grouser.scenarios.soil_laws import SoilLaws
from grouser.simulation import Simulation
from grouser.simulation.shapes import box
from grouser.terrain.generators import flat
from grouser.terrain.ground import Ground

SERVO = 1e8  # [N s/m] gain of the drive that prescribes the speed
HEIGHT = 0.02  # [m] height of the plate (assumed; only its lower face matters)
PRESSING = 10.0  # [s] over which the load is applied
DEEPEST = 10.0  # [widths of the plate] by Bekker's law for a load; beyond it the law means nothing (assumed)
FIT_FROM = 0.2  # fraction of the final sinkage from which on the exponent is fitted
FORCE_TOLERANCE = 5e-3  # largest relative error of the force against Bekker
EXPONENT_TOLERANCE = 5e-3  # error of the fitted exponent that this force error allows

Metres = Annotated[float, pydantic.Field(gt=0), Unit("m")]


class PlateSettings(Settings):
    """A rectangular plate."""

    length: Metres = 0.2
    width: Metres = 0.1


class PlateSinkage(SoilLaws):
    """Settings of `plate-sinkage`; with `load` the plate is pressed by a growing force instead of at `speed`."""

    soil: SoilChoice = SoilChoice(name="dry-sand")
    plate: PlateSettings = PlateSettings()
    depth: Metres = 0.05
    speed: Annotated[float, pydantic.Field(gt=0, le=1), Unit("m/s")] = 0.01
    load: Annotated[float, pydantic.Field(gt=0), Unit("N")] | None = None  # None: the speed is prescribed
    compression: Annotated[float, pydantic.Field(ge=0, le=1)] | None = None  # None: the soil's own
    spacing: Metres = 0.01
    step: Annotated[float, pydantic.Field(gt=0, le=0.1), Unit("s")] = 5e-3
    erosion: bool = True

    @pydantic.model_validator(mode="after")
    def _not_buried(self) -> PlateSinkage:
        """Bekker's law is fitted to plates that sink about as deep as they are wide."""
        side, area = min(self.plate.length, self.plate.width), self.plate.length * self.plate.width
        most = area * self.modulus * (DEEPEST * side) ** self.chosen_soil().n
        if self.load is not None and self.load > most:
            raise PydanticCustomError(
                "load",
                "load {load} N would press the plate more than {times} of its widths deep: allowed is up to {most} N",
                {"load": f"{self.load:g}", "times": f"{DEEPEST:g}", "most": f"{most:.3g}"},
            )  # fmt: skip
        return self

    def chosen_soil(self):
        return self.soil.with_compression(self.compression)

    @property
    def modulus(self) -> float:
        """k_c/b + k_phi [N/m^(n+2)] with b the smaller side."""
        return self.chosen_soil().pressure_modulus(min(self.plate.length, self.plate.width))


class Press(Memoryless):
    """Presses the plate with a constant speed, or with a force that grows to the load with the square of time.

    If the rate of the force started with a jump, the plate would oscillate on the soil.
    """

    def __init__(self, s: PlateSinkage):
        self.period, self.settings, self.end = s.step, s, duration(s)

    def act(self, time: float, sensors: Any, command: np.ndarray) -> None:
        s = self.settings
        command[0] = -s.speed if s.load is None else -s.load * min(time / self.end, 1.0) ** 2


def build(s: PlateSinkage) -> Simulation:
    size = (6 * s.plate.length, 6 * s.plate.width)
    ground = Ground(flat(size=size, spacing=min(size) / 8), s.chosen_soil(), s.spacing)
    vertices, triangles = box(np.array([s.plate.length / 2, s.plate.width / 2, HEIGHT / 2]))
    vertices[:, 2] += HEIGHT / 2
    surface = prepare(vertices, triangles, width=min(s.plate.length, s.plate.width), name="plate")
    module = SoilModule(ground, {"plate": surface}, SoilOptions(erosion=s.erosion, **s.law_options()))
    sim = Simulation(_press(s), [module], ground=ground, controllers=[Press(s)], step=s.step)
    out, d, area, soil = sim.engine.slots[0].out, sim.data, s.plate.length * s.plate.width, s.chosen_soil()

    def bekker():
        return np.array([area * s.modulus * max(-d.qpos[0], 0.0) ** soil.n])

    sim.add_channel(Channel("plate/force", "N", read=lambda: out.effective.numpy()[:, 0, 2].astype(float)))
    sim.add_channel(Channel("plate/sinkage", "m", read=lambda: np.array([-d.qpos[0]])))
    sim.add_channel(Channel("plate/bekker", "N", read=bekker))
    return sim


def _press(s: PlateSinkage) -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.modelname = "plate-sinkage"
    spec.option.gravity = [0, 0, 0]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    plate = spec.worldbody.add_body(name="plate")
    plate.add_joint(name="press", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[0, 0, 1])
    plate.mass, plate.inertia, plate.ipos, plate.explicitinertial = 10.0, [0.1, 0.1, 0.1], [0, 0, 0], True
    actuator = spec.add_actuator(name="drive", target="press", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    if s.load is None:
        actuator.set_to_velocity(kv=SERVO)
    else:
        actuator.set_to_motor()
    return spec


def duration(s: PlateSinkage) -> float:
    return s.depth / s.speed if s.load is None else PRESSING


def metrics(s: PlateSinkage) -> list[dict[str, Any]]:
    bekker = "Krenn and Hirzinger 2009, eq. 3"
    return [
        metric(
            "pressure_exponent", "1", "slope of log force over log sinkage, least squares beyond a fifth of the depth",
            s.chosen_soil().n, {"rel": EXPONENT_TOLERANCE}, bekker,
        ),
        metric(
            "force_error_rel", "1", "largest difference of force and A (k_c/b + k_phi) z^n, over the latter",
            0.0, {"abs": FORCE_TOLERANCE}, bekker,
        ),
        metric("sinkage_m", "m", "sinkage at the end"),
        metric("force_N", "N", "force of the soil on the plate at the end"),
        metric(
            "volume_error_rel", "1", "soil lost less soil compressed, over soil displaced", 0.0, {"abs": 1e-9},
            "conservation of volume",
        ),
        metric("real_time_factor", "1", "simulated time over wall time of the loop"),
    ]  # fmt: skip


def figures(s: PlateSinkage) -> list[dict[str, Any]]:
    return [
        {
            "name": "pressure-sinkage", "title": "Force over sinkage", "kind": "xy", "x": "plate/sinkage",
            "y": ["plate/force", "plate/bekker"], "xlabel": "sinkage [m]", "ylabel": "force [N]",
            "caption": "Force of the soil on the plate against Bekker's law.",
        },
        soil_map("Height above the undisturbed surface."),
    ]  # fmt: skip


def measure(s: PlateSinkage, recording: Recording) -> dict[str, Any]:
    sinkage, force, bekker = (recording[f"plate/{name}"] for name in ("sinkage", "force", "bekker"))
    deep = sinkage > FIT_FROM * sinkage.max()
    slope = np.polyfit(np.log(sinkage[deep]), np.log(force[deep]), 1)[0] if deep.sum() > 2 else math.nan
    return {
        "pressure_exponent": float(slope),
        "force_error_rel": float(np.max(np.abs(force[deep] / bekker[deep] - 1))) if deep.any() else math.nan,
        "sinkage_m": float(sinkage[-1]),
        "force_N": float(force[-1]),
        "volume_error_rel": float(recording["soil/volume_error"][-1]),
    }


SCENARIO = scenario_of(
    __name__, PlateSinkage,
    summary="a plate pressed into soil: pressure against sinkage (bevameter)",
    source="Krenn and Hirzinger 2009, eq. 3, Krenn et al. 2008, eq. 17",
)  # fmt: skip
