"""One wheel in a soil bin, as in single-wheel test beds: towed, driven or at a prescribed slip.

The laws are those of Krenn et al. 2008, section 2.2 and Krenn and Hirzinger 2009, section III. Expected values are the
classical integrals of a rigid wheel where they are valid (compaction only, no grousers, straight ahead).
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Annotated, Any, Literal

import mujoco
import numpy as np
import pydantic

from grouser.contact.soil import SoilOptions, wheel
from grouser.errors import InputError
from grouser.module import Channel
from grouser.recording import Recording
from grouser.scenarios.grousers import check_grousers_fit
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Settings, metric, scenario_of, soil_map
from grouser.scenarios.soil_choice import SoilChoice
from grouser.scenarios.soil_laws import SoilLaws
from grouser.scenarios.wheel_theory import rolling_wheel
from grouser.simulation import Simulation
from grouser.simulation.soil_robot import module_of
from grouser.terrain.checks import choice
from grouser.terrain.generators import flat
from grouser.terrain.ground import Ground
from grouser.terrain.soil_depth import DEEPEST
from grouser.terrain.soils import Soil

RUN_UP = 0.5  # [m] travel before the part that is averaged
STEADY = 1.0  # [m] travel over which results are averaged
LEAST_DISTANCE = 1e-3  # [m] shortest travel for an energy per metre; at slip 1 the servo still creeps by micrometres
LARGEST_STEP = 5e-3  # [s]
LARGEST_TRAVEL = 0.5e-3  # [m] per step; beyond it pull and sinkage are off by percents
SERVO = 1e8  # [N s/m, N m s] gains of the drives that prescribe speed and wheel rotation
WHEEL_SHARE = 0.3  # share of the wheel in the mass (assumed; matters only if the wheel turns freely)
THEORY_TOLERANCE = 0.02  # largest relative error against the integrals on a 10 mm grid
NOTHING_EXPECTED = (None, None, None)
VOLUME_TOLERANCE = 1e-9  # rounding error of a float64 run
LOAD_TOLERANCE = 0.01  # a steady wheel carries its weight

Metres = Annotated[float, pydantic.Field(gt=0), Unit("m")]
Side = Annotated[float, pydantic.Field(gt=0, le=5), Unit("m")]  # of a wheel; bounded, as 15 is easily written for 15 cm
Length = Annotated[float, pydantic.Field(ge=0), Unit("m")]


class WheelSettings(Settings):
    """A rigid wheel; grousers are straight bars across the rim."""

    radius: Side = 0.15
    width: Side = 0.10
    grouser_height: Length = 0.0
    grouser_count: Annotated[int, pydantic.Field(ge=0, le=200)] = 0
    grouser_width: Metres = 0.004

    @pydantic.model_validator(mode="after")
    def _grousers(self) -> WheelSettings:
        """Check that height and count are given together: one of them alone would leave the wheel smooth."""
        given = self.model_fields_set
        if self.grouser_height and "grouser_count" not in given:
            raise ValueError(f"grouser_height {self.grouser_height:g} m: give grouser_count too")
        if self.grouser_count and "grouser_height" not in given:
            raise ValueError(f"grouser_count {self.grouser_count}: give grouser_height too")
        check_grousers_fit(self.radius, self.grouser_height, self.grouser_count, self.grouser_width)
        return self


class SingleWheel(SoilLaws):
    """Settings of `single-wheel`."""

    soil: SoilChoice = SoilChoice(name="dry-sand")
    law: Literal["soil", "rft"] = "soil"  # rft: resistive force theory, docs/theory/rft.md; smooth wheels only
    mode: Literal["towed", "driven", "forced-slip"] = "forced-slip"
    slip: Annotated[float, pydantic.Field(ge=-0.95, le=1)] = 0.3  # driving 1 - v/(r w), braking r w/v - 1
    slip_angle_deg: Annotated[float, pydantic.Field(ge=-60, le=60), Unit("degree")] = 0.0
    speed: Annotated[float, pydantic.Field(gt=0, le=20), Unit("m/s")] = 0.05  # travel speed; rim speed in mode `driven`
    load: Annotated[float, pydantic.Field(gt=0), Unit("N")] = 185.5
    compression: Annotated[float, pydantic.Field(ge=0, le=1)] | None = None  # None: the soil's own
    soil_depth: Annotated[float, pydantic.Field(gt=0, le=DEEPEST), Unit("m")] | None = None  # None: unlimited
    soil_below: SoilChoice | None = None  # None: hard ground below `soil_depth`
    scale_with_gravity: bool = False  # true: k_phi times gravity / 9.81, for constants measured on Earth
    wheel: WheelSettings = WheelSettings()
    spacing: Metres = 0.01
    step: Annotated[float, pydantic.Field(gt=0, le=0.1), Unit("s")] | None = None  # None: by speed
    erosion: bool = True
    friction: Literal["shear-displacement", "mohr-coulomb", "coulomb", "none"] = "shear-displacement"
    interface_friction: Literal["scales", "caps"] = "caps"  # what soil.wheel_friction does to the shear curve
    lugs: Literal["share", "tips"] = "share"  # "tips": lugs press and shear the soil at their tips
    slip_sinkage: Annotated[float, pydantic.Field(ge=0)] = 0.0  # beta; 0: digging by velocities
    lug_carry: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.0  # share of the lugs' height that carries soil
    loose_cover: bool = True  # false: Krenn et al. 2008, eq. 29 as printed
    node_shear: bool = False  # true: the shear state belongs to the soil nodes, for comparison
    options: dict[str, Any] = {}  # noqa: RUF012 - pydantic copies defaults. Further fields of SoilOptions, by name
    implicit: bool = True
    gravity: Annotated[float, pydantic.Field(gt=0), Unit("m/s^2")] = 9.81
    dtype: Literal["float64", "float32"] = "float64"

    @pydantic.field_validator("options")
    @classmethod
    def _known_options(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Check the options of the soil that have no setting of their own here."""
        allowed = [field.name for field in fields(SoilOptions) if field.name not in cls.model_fields]
        try:
            for name in given:
                choice(name, "option", allowed)
            pydantic.TypeAdapter(SoilOptions).validate_python(given)
        except InputError as error:
            raise ValueError(str(error)) from None
        except pydantic.ValidationError as error:
            first = error.errors()[0]
            raise ValueError(f"{first['loc'][0]}: {first['msg']}") from None
        return given

    @property
    def rim_speed(self) -> float:
        """Speed [m/s] of the rim relative to the axle. At slip 1 the axle stands still and the rim has `speed`."""
        if self.mode == "driven" or self.slip >= 1:
            return self.speed
        return self.speed / (1 - self.slip) if self.slip >= 0 else self.speed * (1 + self.slip)

    @property
    def travel_speed(self) -> float:
        """Speed [m/s] of the axle if it is prescribed."""
        return 0.0 if self.mode == "forced-slip" and self.slip >= 1 else self.speed

    @property
    def chosen_step(self) -> float:
        """Largest step [s] that keeps travel per step below half a millimetre."""
        return self.step if self.step is not None else min(LARGEST_STEP, LARGEST_TRAVEL / self.speed)

    @pydantic.model_validator(mode="after")
    def _below_a_depth(self) -> SingleWheel:
        if self.soil_below is not None and self.soil_depth is None:
            raise ValueError(f"soil_below {self.soil_below.name!r}: give soil_depth too")
        return self

    @pydantic.model_validator(mode="after")
    def _smooth_with_rft(self) -> SingleWheel:
        if self.law == "rft" and self.wheel.grouser_height:
            raise ValueError("law 'rft' knows lugs only as parts of a mesh; leave out wheel.grouser_height")
        return self

    def chosen_soil(self):
        return self._under_gravity(self.soil.with_compression(self.compression))

    def chosen_soil_below(self):
        return None if self.soil_below is None else self._under_gravity(self.soil_below.resolve())

    def _under_gravity(self, soil: Soil) -> Soil:
        return soil.under_gravity(self.gravity) if self.scale_with_gravity else soil


def build(s: SingleWheel) -> Simulation:
    travel = s.speed * duration(s)
    breadth = 4 * s.wheel.width + 4 * s.wheel.radius
    reach = 3 * s.wheel.radius
    origin = (-reach, -breadth / 2)
    terrain = flat(size=(travel + 2 * reach, breadth), spacing=breadth / 8, origin=origin)
    ground = Ground(terrain, s.chosen_soil(), s.spacing, dtype=s.dtype, depth=s.soil_depth, below=s.chosen_soil_below())
    surface = wheel(
        s.wheel.radius, s.wheel.width, grouser_height=s.wheel.grouser_height,
        grouser_count=s.wheel.grouser_count, grouser_width=s.wheel.grouser_width,
    )  # fmt: skip
    options = SoilOptions(
        friction=s.friction, interface_friction=s.interface_friction, lugs=s.lugs,
        slip_sinkage=s.slip_sinkage, lug_carry=s.lug_carry, erosion=s.erosion,
        loose_cover=s.loose_cover, node_shear=s.node_shear, **{**s.law_options(), **s.options},
    )  # fmt: skip
    module = module_of(s.law, ground, {"wheel": surface}, options if s.law == "soil" else None)
    sim = Simulation(
        _bin(s), [module], ground=ground, step=s.chosen_step, implicit=s.implicit, dtype=s.dtype,
        recorded_bodies=("carriage", "wheel"),
    )  # fmt: skip
    if s.step is not None and s.step * s.speed > LARGEST_TRAVEL * (1 + 1e-9):
        sim.notes.append(
            f"step {s.step:g} s: the wheel travels {1e3 * s.step * s.speed:.2g} mm per step, inaccurate above 0.5 mm"
        )
    for channel in _channels(sim, s):
        sim.add_channel(channel)
    return sim


def _bin(s: SingleWheel) -> mujoco.MjSpec:
    """Carriage on rails along x and z with a wheel on an axle at the slip angle. Its weight is the load."""
    spec = mujoco.MjSpec()
    spec.modelname = "single-wheel"
    spec.option.gravity = [0, 0, -s.gravity]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    mass, r, b = s.load / s.gravity, s.wheel.radius, s.wheel.width
    carriage = spec.worldbody.add_body(name="carriage", pos=[0, 0, r])
    slide, hinge = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE
    carriage.add_joint(name="travel", type=slide, axis=[1, 0, 0])
    carriage.add_joint(name="sinkage", type=slide, axis=[0, 0, 1])
    _give_inertia(carriage, (1 - WHEEL_SHARE) * mass, r, b)
    angle = math.radians(s.slip_angle_deg) / 2
    axle = carriage.add_body(name="wheel", quat=[math.cos(angle), 0, 0, math.sin(angle)])
    axle.add_joint(name="axle", type=hinge, axis=[0, 1, 0])
    _give_inertia(axle, WHEEL_SHARE * mass, r, b)
    travel, wheel_speed = s.travel_speed, s.rim_speed / r
    controls = []
    if s.mode != "driven":
        _servo(spec, "pull", "travel")
        controls.append(travel)
    if s.mode != "towed":
        _servo(spec, "motor", "axle")
        controls.append(wheel_speed)
    spec.add_key(qpos=[0, 0, 0], qvel=[travel, 0, wheel_speed if s.mode != "towed" else travel / r], ctrl=controls)
    return spec


def _give_inertia(body, mass: float, radius: float, width: float) -> None:
    """Give a body the inertia of a solid disc about y."""
    body.mass, body.explicitinertial, body.ipos = mass, True, [0, 0, 0]
    across = mass * (3 * radius**2 + width**2) / 12
    body.inertia = [across, mass * radius**2 / 2, across]


def _servo(spec, name: str, joint: str) -> None:
    actuator = spec.add_actuator(name=name, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    actuator.set_to_velocity(kv=SERVO)


def _channels(sim: Simulation, s: SingleWheel) -> list[Channel]:
    """Forces in the wheel's axes, and its slip, as a test bed reports them."""
    out = sim.engine.slots[0].out
    angle = math.radians(s.slip_angle_deg)
    heading = np.array([math.cos(angle), math.sin(angle), 0])
    across = np.array([-math.sin(angle), math.cos(angle), 0])
    d = sim.data

    def effective():
        return out.effective.numpy()[:, 0].astype(float)

    def slip():
        rim, travel = d.qvel[2] * s.wheel.radius, d.qvel[0] * math.cos(angle)
        larger = max(abs(rim), abs(travel))
        return np.array([(rim - travel) / larger if larger > 0 else 0.0])

    return [
        Channel("wheel/drawbar_pull", "N", frame="wheel heading", read=lambda: effective()[:, :3] @ heading),
        Channel("wheel/side_force", "N", frame="wheel axle", read=lambda: effective()[:, :3] @ across),
        Channel("wheel/load", "N", read=lambda: effective()[:, 2]),
        Channel("wheel/torque", "N m", frame="wheel axle", read=lambda: -effective()[:, 3:] @ across),
        Channel("wheel/slip", "1", frame="", read=slip),
        Channel("wheel/travel", "m", read=lambda: np.array([d.qpos[0]])),
    ]


def duration(s: SingleWheel) -> float:
    """Time [s] for run-up and a steady metre. For a driven wheel, moderate slip is assumed."""
    if s.travel_speed == 0:
        return 10.0
    expected = 0.7 * s.speed if s.mode == "driven" else s.speed
    return (RUN_UP + STEADY) / expected


def metrics(s: SingleWheel) -> list[dict[str, Any]]:
    theory = _theory(s)
    frictionless = _theory(s, friction=False)
    resistance = abs(frictionless.drawbar_pull) if frictionless else 0.0

    book = "rigid wheel integrals with elastic unloading (docs/theory/soil.md)" if theory else None
    out = [
        metric(
            "sinkage_m", "m", "from the undisturbed surface to the lowest point of the rim, mean over the steady metre",
            theory and theory.sinkage, theory and {"rel": THEORY_TOLERANCE}, book,
        ),
        metric(
            "drawbar_pull_N", "N", "force of the soil on the wheel along its heading, positive pulls",
            theory and theory.drawbar_pull,
            theory and {"abs": THEORY_TOLERANCE * max(abs(theory.drawbar_pull), resistance)}, book,
        ),
        metric("side_force_N", "N", "force of the soil on the wheel along its axle, to the left of the heading"),
        metric(
            "torque_Nm", "N m", "torque that drives the wheel about its axle",
            theory and theory.torque,
            theory and {"abs": THEORY_TOLERANCE * max(theory.torque, resistance * s.wheel.radius)}, book,
        ),
        metric("energy_per_metre_J", "J/m", "work of the driving torque over the distance travelled"),
        metric("load_N", "N", "vertical force of the soil on the wheel", s.load, {"rel": LOAD_TOLERANCE}, "weight"),
        metric("slip", "1", "driving 1 - v/(r w), braking r w/v - 1, r of the rim without grousers"),
        metric("load_noise_rel", "1", "standard deviation of the vertical force over its mean"),
        metric(
            "volume_error_rel", "1", "soil lost less soil compressed, over soil displaced, at the end",
            *((0.0, {"abs": VOLUME_TOLERANCE}, "conservation of volume") if s.dtype == "float64" else NOTHING_EXPECTED),
        ),
        metric("real_time_factor", "1", "simulated time over wall time of the loop"),
    ]  # fmt: skip
    return out


def _theory(s: SingleWheel, friction: bool = True):
    """Results of the closed form where it is valid, else None."""
    soil = s.chosen_soil()
    plain = s.wheel.grouser_height == 0 or s.wheel.grouser_count == 0
    straight = s.mode == "forced-slip" and s.slip_angle_deg == 0 and 0 <= s.slip < 1
    known = (
        s.law == "soil"
        and s.laws == "default"
        and s.friction in ("shear-displacement", "none")
        and not s.node_shear
        and not s.options
        and s.spacing <= 0.01 * s.wheel.radius / 0.15 * 1.001
    )
    if not (plain and straight and known and soil.compression == 1 and s.soil_below is None):
        return None
    try:
        return rolling_wheel(
            soil, radius=s.wheel.radius, width=s.wheel.width, load=s.load, slip=s.slip,
            friction=friction and s.friction != "none", depth=s.soil_depth or math.inf,
            interface_friction=s.interface_friction,
        )  # fmt: skip
    except InputError:
        return None


def figures(s: SingleWheel) -> list[dict[str, Any]]:
    return [
        {
            "name": "sinkage", "title": "Sinkage of the wheel", "kind": "lines", "x": "wheel/travel",
            "y": ["soil/sinkage"], "xlabel": "travel [m]", "ylabel": "sinkage [m]",
            "caption": "From the undisturbed surface down to the lowest point of the rim.",
        },
        {
            "name": "forces", "title": "Forces of the soil on the wheel", "kind": "lines", "x": "wheel/travel",
            "y": ["wheel/drawbar_pull", "wheel/side_force", "wheel/load"],
            "xlabel": "travel [m]", "ylabel": "force [N]",
            "caption": "Effective forces: the forces applied to the wheel in each step.",
        },
        {
            "name": "torque", "title": "Driving torque and slip", "kind": "lines", "x": "wheel/travel",
            "y": ["wheel/torque", "wheel/slip"], "xlabel": "travel [m]", "ylabel": "torque [N m], slip [1]",
            "caption": "Driving torque about the axle, and slip.",
        },
        soil_map(
            "Height above the undisturbed surface: the rut, and the soil pushed aside and ahead.",
            ["body/pose[wheel]"],
        ),
    ]  # fmt: skip


def measure(s: SingleWheel, recording: Recording) -> dict[str, Any]:
    travel = recording["wheel/travel"]
    steady = steady_window(travel, recording.time)
    load = recording["wheel/load"][steady]

    def mean(channel):
        values = recording[channel][steady]
        return float(np.mean(values)) if len(values) else math.nan

    return {
        "sinkage_m": mean("soil/sinkage"),
        "drawbar_pull_N": mean("wheel/drawbar_pull"),
        "side_force_N": mean("wheel/side_force"),
        "torque_Nm": mean("wheel/torque"),
        "energy_per_metre_J": energy_per_metre(recording, steady),
        "load_N": mean("wheel/load"),
        "slip": mean("wheel/slip"),
        "load_noise_rel": float(np.std(load) / np.mean(load)) if len(load) else math.nan,
        "volume_error_rel": float(recording["soil/volume_error"][-1]),
    }


def energy_per_metre(recording: Recording, frames: np.ndarray) -> float | None:
    """Integral of torque x angular velocity over the frames, per metre of travel [J/m]. None if it stands still."""
    distance = np.ptp(recording["wheel/travel"][frames]) if frames.any() else 0.0
    if distance < LEAST_DISTANCE:
        return None
    power = recording["wheel/torque"][frames] * recording["joint/velocity[axle]"][frames]
    return float(np.trapezoid(power, recording.time[frames]) / distance)


def steady_window(travel: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Frames of the last metre if there is a run-up before it, else of the last third of the run."""
    end = float(travel[-1])
    if end >= RUN_UP + STEADY * 0.5:
        return travel > max(end - STEADY, RUN_UP)
    return time > time[-1] * 2 / 3


SCENARIO = scenario_of(
    __name__, SingleWheel,
    summary="one wheel in a soil bin: towed, driven or at a prescribed slip",
    source="Krenn et al. 2008, section 2.2, Krenn and Hirzinger 2009, section III",
)  # fmt: skip
