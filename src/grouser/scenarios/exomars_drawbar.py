"""Drawbar pull of an ExoMars-class rover on soft soil: Krenn and Hirzinger 2009, section III.E, Fig. 17, 18 and 20.

The rover drops onto flat soil and drives straight ahead against a linear spring between ground and chassis, for three
minutes. The paper gives n, k_c and k_phi of the soil, b (the width of the wheels), the gravity and the time. Everything
else is assumed: the other soil parameters (terrain/soils.yaml), the rest of the rover (robots/exomars.py), the speed,
and the spring.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import mujoco
import numpy as np
import pydantic

from grouser.contact.soil import SoilModule, SoilOptions
from grouser.control import PowerMeter, Wheels
from grouser.module import Channel
from grouser.recording import Recording
from grouser.robots import exomars
from grouser.robots.exomars import ExoMars
from grouser.scenarios.quantity import Unit
from grouser.scenarios.rover_course import Rover
from grouser.scenarios.scenario import metric, scenario_of, soil_map
from grouser.scenarios.sliding_slip import SlidingSlip
from grouser.scenarios.soil_choice import SoilChoice
from grouser.scenarios.soil_laws import SoilLaws
from grouser.simulation import Simulation
from grouser.terrain.generators import flat
from grouser.terrain.ground import Ground
from grouser.terrain.soils import soil

SOIL = "exomars-test"  # the soil of Fig. 17
PAPER_TIME = 180.0  # [s]
WIDTH = 0.1  # [m] of the wheels: b of Fig. 17
SPEED = 0.0194  # [m/s] assumed: the top speed of the rover, 70 m/h (public)
STIFFNESS = 150.0  # [N/m] assumed: so stiff that slip reaches 0.9 in time, so soft that the rover leaves its pits first
LARGEST_STEP = 8e-3  # [s] with which the dropping rover sinks less than 2 mm per step
LARGEST_TRAVEL = 0.25e-3  # [m] per step; beyond it pull and sinkage are off by percents
SPRING_LENGTH = 2.0  # [m] unstretched, horizontal at the start (assumed: long, so that sinkage hardly tilts it)
PASSED = 10.0  # [s] in which, in the paper, the rover passes the mounds of its own first sinkage
MEAN = 2.0  # [s] over which pull and slip are averaged
FRAMES = 25.0  # [Hz] recording rate; the rover is slow, and a frame costs as much as half a step
METER_PERIOD = 0.1  # [s] between two readings of the power
SLIP_PERIOD = 0.5  # [s] between two measurements of slip: about a centimetre of the rim
END = 10.0  # [s] over which final slip and sinkage are averaged, and slip in curves over slip
MARGIN = 0.5  # [m] ground around the wheels, so that mounds and sliding soil stay inside
GROWTH_FROM = 30.0  # [s] from which on growth and slip are measured; until then wheels climb out of their pits
GROWTH = 0.015  # [m] least growth of the mean sinkage (assumed: a fifth of the first sinkage; "more and more")
FLAT = (0.5, 0.8)  # slips between which the flatness of the pull is measured
STALLING = 0.9  # slip that the test shall reach, so that it shows the maximum of the pull
LEVEL = 0.5  # largest slope of the plateau; a pull proportional to slip over the whole range would have 1
CLEARLY_LESS = 0.8  # sinkage of the front wheels over that of the others (the paper: "significantly less"; assumed)
DRIVES = tuple(f"drive_{name}" for name in exomars.WHEELS)
STEERS = tuple(f"steer_{name}" for name in exomars.WHEELS)
BODIES = tuple(f"wheel_{name}" for name in exomars.WHEELS)
AXLES = ("front", "middle", "rear")  # pairs of BODIES
PAPER = "Krenn and Hirzinger 2009"
NOT_EXPECTED = (None, None, None)


class PaperRover(Rover):  # type: ignore[valid-type,misc]
    """Parameters of the rover, as in `grouser.robots.exomars.ExoMars`, with the narrower wheels of the paper.

    Krenn and Hirzinger 2009 name the centre of mass (`centre_x`, `centre_height`) and the bogies as the reasons why the
    front wheels sink least.
    """

    wheel_width: float = WIDTH


class ExoMarsDrawbar(SoilLaws):
    """Settings of `exomars-drawbar`."""

    soil: SoilChoice = SoilChoice(name=SOIL)
    compression: Annotated[float, pydantic.Field(ge=0, le=1)] | None = None  # None: the soil's own
    friction: Literal["shear-displacement", "mohr-coulomb", "coulomb", "none"] = "shear-displacement"
    interface_friction: Literal["scales", "caps"] = "caps"  # what soil.wheel_friction does to the shear curve
    loose_cover: bool = True  # false: Krenn et al. 2008, eq. 29 as printed
    rover: PaperRover = PaperRover()
    speed: Annotated[float, pydantic.Field(gt=0, le=1), Unit("m/s")] = SPEED  # of the rims
    stiffness: Annotated[float, pydantic.Field(gt=0), Unit("N/m")] = STIFFNESS  # of the spring
    hitch_height: Annotated[float, pydantic.Field(gt=0), Unit("m")] = 0.30  # of the spring over the ground; assumed
    gravity: Annotated[float, pydantic.Field(gt=0), Unit("m/s^2")] = exomars.MARS
    duration: Annotated[float, pydantic.Field(gt=0), Unit("s")] = PAPER_TIME
    spacing: Annotated[float, pydantic.Field(gt=0), Unit("m")] = 0.01
    step: Annotated[float, pydantic.Field(gt=0, le=0.1), Unit("s")] | None = None  # None: by speed
    erosion: bool = True
    dtype: Literal["float64", "float32"] = "float64"

    @property
    def parameters(self) -> ExoMars:
        return ExoMars(**self.rover.model_dump())  # type: ignore[attr-defined]

    @property
    def chosen_step(self) -> float:
        """Largest step [s] that keeps the travel of each wheel below a quarter of a millimetre per step."""
        return self.step if self.step is not None else min(LARGEST_STEP, LARGEST_TRAVEL / self.speed)

    def chosen_soil(self):
        return self.soil.with_compression(self.compression)

    def law_options(self) -> dict[str, Any]:
        chosen = {"friction": self.friction, "interface_friction": self.interface_friction}
        return {**super().law_options(), **chosen, "loose_cover": self.loose_cover}

    @property
    def evaluation_start(self) -> float:
        """Time [s] from which on the pull is drawn over slip; the middle of a short run."""
        return min(PASSED, self.duration / 2)

    @property
    def growth_start(self) -> float:
        """Time [s] from which on the growth of the sinkage is measured; the middle of a short run."""
        return min(GROWTH_FROM, self.duration / 2)

    @property
    def as_in_paper(self) -> bool:
        """Whether the results of the paper are expected: the same n, k_c, k_phi and b, gravity and time."""
        chosen, own = self.chosen_soil(), soil(SOIL)
        same = all(getattr(chosen, name) == getattr(own, name) for name in ("n", "k_c", "k_phi"))
        same = same and self.parameters.wheel_width == WIDTH
        return same and self.gravity == exomars.MARS and self.duration >= PAPER_TIME


def build(s: ExoMarsDrawbar) -> Simulation:
    p = s.parameters
    rate = p.wheel_rate(s.speed)
    ground = _ground(s, p)
    spec = exomars.build(p, gravity=s.gravity)
    _add_spring(spec, s, p)
    spec.add_key(ctrl=[rate] * len(DRIVES) + [0.0] * len(STEERS))
    surface = exomars.wheel_surface(p)
    module = SoilModule(ground, dict.fromkeys(BODIES, surface), SoilOptions(erosion=s.erosion, **s.law_options()))
    wheels = Wheels(exomars.wheel_positions(p), p.wheel_radius, np.full(6, p.steer_limit), DRIVES, STEERS)
    slip = SlidingSlip(wheels, window=MEAN, longest=END, period=max(SLIP_PERIOD, s.chosen_step))
    sim = Simulation(
        spec,
        [module],
        ground=ground,
        controllers=[PowerMeter(DRIVES, period=METER_PERIOD), slip],
        step=s.chosen_step,
        dtype=s.dtype,
    )
    if s.step is not None and s.step * s.speed > LARGEST_TRAVEL * (1 + 1e-9):
        travel = 1e3 * s.step * s.speed
        sim.notes.append(f"step {s.step:g} s: the rims travel {travel:.2g} mm per step, inaccurate above 0.25 mm")
    for channel in _channels(sim, s, slip):
        sim.add_channel(channel)
    return sim


def _ground(s: ExoMarsDrawbar, p: ExoMars) -> Ground:
    """Flat ground, as long as the rims can roll."""
    around = p.wheel_radius + p.grouser_height + MARGIN
    size = (p.front_x - p.rear_x + s.speed * s.duration + 2 * around, p.track + p.wheel_width + 2 * MARGIN)
    terrain = flat(size=size, spacing=min(size) / 8, origin=(p.rear_x - around, -size[1] / 2))
    return Ground(terrain, s.chosen_soil(), s.spacing, dtype=s.dtype)


def _add_spring(spec: mujoco.MjSpec, s: ExoMarsDrawbar, p: ExoMars) -> None:
    """Add a spring from a post behind the rover to its rear. It only pulls."""
    spec.body("chassis").add_site(name="hitch", pos=[p.rear_x, 0, s.hitch_height - p.longitudinal_pivot_height])
    spec.worldbody.add_site(name="post", pos=[p.rear_x - SPRING_LENGTH, 0, s.hitch_height])
    spring = spec.add_tendon(name="spring", stiffness=s.stiffness, springlength=[0, SPRING_LENGTH], width=0.01)
    spring.wrap_site("post")
    spring.wrap_site("hitch")


def _channels(sim: Simulation, s: ExoMarsDrawbar, slip: SlidingSlip) -> list[Channel]:
    m, d = sim.model, sim.data
    spring = m.tendon("spring").id
    motors = np.array([m.actuator(name).id for name in DRIVES])
    stretched, forces = d.ten_length[spring : spring + 1], d.actuator_force  # views of MuJoCo's arrays
    pull, torque = np.zeros(1), np.zeros((1, len(DRIVES)))

    def refresh() -> None:
        np.maximum(stretched - SPRING_LENGTH, 0.0, out=pull)
        np.multiply(s.stiffness, pull, out=pull)
        torque[0] = forces[motors]

    return [
        Channel("drawbar/pull", "N", frame="", source=pull, refresh=refresh),
        Channel("drawbar/slip", "1", frame="", source=slip.recent_mean),
        Channel("drawbar/smooth_slip", "1", frame="", source=slip.longest_mean),
        Channel("wheel/torque", "N m", (len(DRIVES),), "", labels=DRIVES, source=torque, refresh=refresh),
    ]


def metrics(s: ExoMarsDrawbar) -> list[dict[str, Any]]:
    def seen(tolerance: dict[str, float], figure: str, expected: float | None = None) -> tuple[Any, Any, Any]:
        """Expectation if the run is that of the paper, else none."""
        return (expected, tolerance, f"{PAPER}, {figure}") if s.as_in_paper else NOT_EXPECTED

    own_laws = s.laws == "default"  # those of the papers pull several times as much and need a stiffer spring

    end = f"from the undisturbed surface to the lowest point of the rim, mean of both wheels over the last {END:g} s"
    return [
        metric("drawbar_pull_max_N", "N", f"largest {MEAN:g} s mean of the spring's force"),
        metric(
            "drawbar_plateau_slope", "1",
            f"(d pull / d slip) / drawbar_pull_max_N, least squares over the last third of the run, {MEAN:g} s means",
            *seen({"abs": LEVEL}, "Fig. 20: the pull levels off", 0.0),
        ),
        metric(
            "drawbar_flatness", "1",
            f"pull where slip exceeds {FLAT[0]:g} for good over that where it exceeds {FLAT[1]:g} for good; slip: "
            f"{END:g} s mean; 1: the pull does not rise in between, {FLAT[0] / FLAT[1]:g}: in proportion to slip; none "
            "if slip does not stay above both",
        ),
        metric("front_sinkage_m", "m", end),
        metric("middle_sinkage_m", "m", end),
        metric("rear_sinkage_m", "m", end),
        metric(
            "front_sinkage_ratio", "1", "front_sinkage_m over the smaller one of middle_sinkage_m and rear_sinkage_m",
            *seen({"max": CLEARLY_LESS}, "Fig. 18: the front wheels sink clearly less"),
        ),
        metric(
            "sinkage_growth_m", "m",
            f"mean sinkage of the wheels in the last {END:g} s less that in the {END:g} s after {GROWTH_FROM:g} s",
            *seen({"min": GROWTH}, "Fig. 18: slipping wheels dig in further and further"),
        ),
        metric("slip_final", "1", f"mean over the wheels and the last {END:g} s; 1 - v/(r w), r of the rim"),
        metric(
            "slip_max", "1", f"largest {END:g} s mean over the wheels",
            *(seen({"min": STALLING}, "Fig. 20: the pull comes close to its maximum") if own_laws else NOT_EXPECTED),
        ),
        metric("energy_J", "J", "mechanical work of the six drive motors"),
        metric("real_time_factor", "1", "simulated time over wall time of the loop"),
    ]  # fmt: skip


def figures(s: ExoMarsDrawbar) -> list[dict[str, Any]]:
    return [
        {
            "name": "sinkage", "title": "Sinkage of the wheels", "kind": "lines", "y": ["soil/sinkage"],
            "ylabel": "sinkage [m]",
            "caption": "From the undisturbed surface down to the lowest point of the rim "
            "(Krenn and Hirzinger 2009, Fig. 18).",
        },
        {
            "name": "pull-over-time", "title": "Drawbar pull", "kind": "lines", "y": ["drawbar/pull"],
            "ylabel": "pull [N]",
            "caption": "Force of the spring between ground and chassis (Krenn and Hirzinger 2009, Fig. 20).",
        },
        {
            "name": "pull-over-slip", "title": "Drawbar pull over slip", "kind": "xy", "x": "drawbar/smooth_slip",
            "y": ["drawbar/pull"], "xlabel": "slip [1]", "ylabel": "pull [N]",
            "window": [s.evaluation_start, None],
            "caption": f"Slip: mean of the six wheels over the last {END:g} s; the first {PASSED:g} s are left out.",
        },
        {
            "name": "slip", "title": "Slip of the wheels", "kind": "lines", "y": ["wheel/slip"], "ylabel": "slip [1]",
            "caption": f"Over the last {MEAN:g} s: driving 1 - v/(r w), braking r w/v - 1, r of the rim.",
        },
        {
            "name": "torque", "title": "Torque of the motors", "kind": "lines", "y": ["wheel/torque"],
            "ylabel": "torque [N m]", "caption": "At the axle of each wheel.",
        },
        soil_map(
            "Height above the undisturbed surface: ruts, pits of the first drop, mounds.",
            [f"body/pose[{body}]" for body in BODIES],
        ),
    ]  # fmt: skip


def measure(s: ExoMarsDrawbar, recording: Recording) -> dict[str, Any]:
    time = recording.time
    pull, slip = moving_mean(time, recording["drawbar/pull"]), recording["drawbar/slip"]
    smooth_slip = recording["drawbar/smooth_slip"]
    greatest = float(pull.max())
    last, late = time >= time[-1] - END, time >= s.growth_start
    first = (time >= s.growth_start) & (time < s.growth_start + END)
    sinkage, before = (
        recording["soil/sinkage"][when].mean(axis=0).reshape(len(AXLES), 2).mean(axis=1) for when in (last, first)
    )
    others = float(sinkage[1:].min())
    return {
        "drawbar_pull_max_N": greatest,
        "drawbar_plateau_slope": plateau_slope(time, pull, slip) / greatest if greatest > 0 else math.nan,
        "drawbar_flatness": flatness(pull[late], smooth_slip[late]),
        **{f"{axle}_sinkage_m": float(value) for axle, value in zip(AXLES, sinkage, strict=True)},
        "front_sinkage_ratio": float(sinkage[0]) / others if others > 0 else math.nan,
        "sinkage_growth_m": float(sinkage.mean() - before.mean()),
        "slip_final": float(slip[last].mean()),
        "slip_max": float(smooth_slip[late].max()),
        "energy_J": float(recording["energy/total"][-1]),
    }


def moving_mean(time: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Mean over the last MEAN seconds, or over fewer at the start. Frames are evenly spaced."""
    if len(time) < 2:
        return values.astype(float)
    width = max(1, round(MEAN / (time[1] - time[0])))
    total = np.concatenate([[0.0], np.cumsum(values, dtype=float)])
    last = np.arange(1, len(values) + 1)
    first = np.maximum(last - width, 0)
    return (total[last] - total[first]) / (last - first)


def plateau_slope(time: np.ndarray, pull: np.ndarray, slip: np.ndarray) -> float:
    """d pull / d slip [N] over the last third; zero if slip does not change."""
    late = time >= time[-1] * 2 / 3
    away = slip[late] - slip[late].mean()
    spread = float(away @ away)
    return float(away @ pull[late]) / spread if spread > 0 else 0.0


def flatness(pull: np.ndarray, slip: np.ndarray) -> float | None:
    """Pull at the first slip of FLAT over that at the second, where slip exceeds them for good; None if it does not."""
    low, high = (np.flatnonzero(slip < level) for level in FLAT)
    if not len(low) or high[-1] + 1 == len(slip) or not pull[high[-1] + 1] > 0:
        return None
    return float(pull[low[-1] + 1] / pull[high[-1] + 1])


SCENARIO = scenario_of(
    __name__, ExoMarsDrawbar, rate=FRAMES,
    summary="a six-wheel rover pulls on a spring on soft soil until it digs in",
    source="Krenn and Hirzinger 2009, section III.E, Fig. 17, 18, 20",
)  # fmt: skip
