"""Steepest slope that the ExoMars-class rover climbs: Krenn and Hirzinger 2009, section III.E, Fig. 19.

One run is a series of trials, each on undisturbed ground in its own lane. The rover settles and starts to drive on
level ground; then the slope is introduced within a few seconds, and the rover drives on until it has covered a length
on the slope. A slope is climbed if slip has settled by then: over the last metre it exceeds that over the metre before
by less than 0.02. Every slope is tried from several starts that differ by a millimetre, until most of them agree. The
slope increases until one is not climbed. After that the interval between the steepest climbed and the gentlest failed
slope is halved.
The ground is a level plane and gravity is tilted instead. For the bodies this is the same. For the soil, sinkage is
measured normal to the slope, and soil slides by its inclination relative to the slope.

The paper shows a picture and no numbers: slopes, speed, lengths and the criterion of failure are assumed. The rover is
that of `exomars-drawbar`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import mujoco
import numpy as np
import pydantic

from grouser.contact.soil import SoilModule, SoilOptions
from grouser.control import PowerMeter, Wheels, WheelSlip
from grouser.module import Channel
from grouser.recording import Recording
from grouser.robots import exomars
from grouser.robots.exomars import ExoMars
from grouser.scenarios.exomars_drawbar import PaperRover
from grouser.scenarios.grade_search import bracket, crossing, next_slope
from grouser.scenarios.quantity import Unit
from grouser.scenarios.rover_course import BODIES, DRIVES, STEERS
from grouser.scenarios.scenario import metric, scenario_of, soil_map
from grouser.scenarios.soil_choice import SoilChoice
from grouser.scenarios.soil_laws import SoilLaws
from grouser.simulation import Simulation
from grouser.simulation.step import settle
from grouser.terrain.generators import flat
from grouser.terrain.ground import Ground

LARGEST_STEP = 5e-3  # [s]
LARGEST_TRAVEL = 0.25e-3  # [m] of the rims per step; beyond it pull and sinkage are off by percents
SETTLING = 2.0  # [s] for which the rover stands on the soil before it drives
TILTING = 4.0  # [s] within which the slope is introduced
BEHIND, AHEAD = 2.0, 1.0  # [m] ground behind the rear wheels at the start, and ahead of the front wheels at the end
LANE = {"uphill": 2.0, "cross": 3.0}  # [m] distance between the lanes of two trials
TRIALS = {"uphill": 40, "cross": 5}  # at most
STEEPEST = 45.0  # [deg]
CHECKS = 4  # steps between two looks at the rover: it moves by less than a millimetre
SHORTEST_WINDOW = 0.01  # [m] over which work is measured
NUDGE = 1e-3  # [m] between two starts on the same slope (assumed: a tenth of a cell, which should not matter)
HALF_SLIP = 0.5
FRAMES = 20.0  # [Hz] recording rate: a run is half an hour of slow motion
VOLUME_TOLERANCE = 1e-9  # rounding error of a float64 run
RESULTS = {  # of each trial; slip, energy and drift over its last metre
    "slope_deg": "degree", "settled": "1", "slip": "1", "slip_before": "1", "distance": "m", "energy_per_metre": "J/m",
    "drift": "1", "sinkage": "m",
}  # fmt: skip

Seconds = Annotated[float, pydantic.Field(gt=0), Unit("s")]
Metres = Annotated[float, pydantic.Field(gt=0), Unit("m")]
Degrees = Annotated[float, pydantic.Field(ge=0, le=STEEPEST), Unit("degree")]


class Gradeability(SoilLaws):
    """Settings of `exomars-gradeability`."""

    soil: SoilChoice = SoilChoice(name="exomars-test")  # Krenn and Hirzinger 2009, Fig. 17
    compression: Annotated[float, pydantic.Field(ge=0, le=1)] | None = None  # None: the soil's own
    heading: Literal["uphill", "cross"] = "uphill"  # cross: along the slope, which rises to the left
    slope_step_deg: Annotated[Degrees, pydantic.Field(gt=0)] = 2.5
    resolution_deg: Annotated[Degrees, pydantic.Field(gt=0)] = 0.625  # between climbed and failed slope at the end
    stated_slope_deg: Degrees = 2.5  # at which energy, slip and drift are reported
    starts: Annotated[int, pydantic.Field(ge=1, le=9)] = 5  # on each slope but the level; uphill only
    trials: Annotated[int, pydantic.Field(ge=1, le=100)] | None = None  # at most; None: 40 uphill, 5 across
    length: Metres = 3.0  # distance on the slope
    window: Metres = 1.0  # last part of it, and the part before that, over which slip is taken
    settled_rise: Annotated[float, pydantic.Field(gt=0, lt=1)] = 0.02  # slip of the last part less that before
    failing_slip: Annotated[float, pydantic.Field(gt=0, lt=1)] = (
        0.9  # with more, over `window` of the rims, it is stuck
    )
    speed: Annotated[float, pydantic.Field(gt=0, le=1), Unit("m/s")] = 0.05  # of the rims
    approach: Seconds = 8.0  # time until the slope is introduced, including SETTLING
    rover: PaperRover = PaperRover()
    gravity: Annotated[float, pydantic.Field(gt=0), Unit("m/s^2")] = exomars.MARS
    spacing: Annotated[float, pydantic.Field(gt=0), Unit("m")] = 0.01
    step: Annotated[float, pydantic.Field(gt=0, le=0.1), Unit("s")] | None = None  # None: by speed
    erosion: bool = True

    @pydantic.model_validator(mode="after")
    def _check_consistent(self) -> Gradeability:
        p = self.parameters
        if self.approach <= SETTLING:
            raise ValueError(
                f"approach {self.approach:g} s must be above the {SETTLING:g} s in which the rover settles"
            )
        if self.starts % 2 == 0:
            raise ValueError(f"starts {self.starts} must be odd, so that most of them decide")
        if self.window < SHORTEST_WINDOW:
            raise ValueError(f"window {self.window:g} m must be at least {SHORTEST_WINDOW:g} m")
        if 2 * self.window > self.length:
            raise ValueError(f"length {self.length:g} m must be at least twice the window of {self.window:g} m")
        if self.stated_trial is None:
            raise ValueError(
                f"stated_slope_deg {self.stated_slope_deg:g} must be one of the first {self.rungs} multiples of "
                f"slope_step_deg {self.slope_step_deg:g}, 0 included, which {self.count} trials reach"
            )
        if self.speed > p.drive_speed * p.wheel_radius:
            raise ValueError(
                f"speed {self.speed:g} m/s is above the {p.drive_speed * p.wheel_radius:.3g} m/s of the motors"
            )
        return self

    @property
    def parameters(self) -> ExoMars:
        return ExoMars(**self.rover.model_dump())  # type: ignore[attr-defined]

    @property
    def count(self) -> int:
        """Largest number of trials. Across, slopes only increase."""
        return self.trials if self.trials is not None else TRIALS[self.heading]

    @property
    def parts(self) -> int:
        """Number of whole windows in a trial."""
        return int(self.length / self.window + 1e-9)

    @property
    def rungs(self) -> int:
        """Number of slopes that the trials decide at least, if all are climbed at once."""
        if self.heading == "cross":
            return self.count
        each = self.starts // 2 + 1  # trials that decide a slope; the level needs one
        return 1 + (self.count - 1) // each

    @property
    def stated_trial(self) -> int | None:
        """Number of the rung at the stated slope, if all before it are climbed; None if the ladder does not have it."""
        rungs = self.stated_slope_deg / self.slope_step_deg
        near = round(rungs)
        return near if abs(rungs - near) < 1e-9 and near < self.rungs else None

    @property
    def chosen_step(self) -> float:
        """Step [s] that limits the travel of the rims per step."""
        return self.step if self.step is not None else min(LARGEST_STEP, LARGEST_TRAVEL / self.speed)

    @property
    def trial_time(self) -> float:
        """Longest duration of a trial [s]: a rover with `failing_slip` all the way."""
        return self.approach + TILTING + (self.length / (1 - self.failing_slip) + self.window) / self.speed

    @property
    def work_against_gravity(self) -> float:
        """Work against gravity per metre [J/m] on the stated slope."""
        return self.parameters.mass * self.gravity * math.sin(math.radians(self.stated_slope_deg))

    def chosen_soil(self):
        return self.soil.with_compression(self.compression)


class Trials:
    """Runs the trials: places the rover on undisturbed ground, tilts gravity, drives, and evaluates the result."""

    def __init__(self, s: Gradeability, power: PowerMeter, slip: WheelSlip):
        """Both meters are reset at each trial."""
        self.s, self.power, self.slip, self.period = s, power, slip, CHECKS * s.chosen_step
        self.sim: Any = None  # the simulation, set after it is built
        self.number = np.full(1, -1)  # index of the current trial, from 0; -1 before the first
        self.over = np.zeros(1, bool)  # whether the last trial has ended
        self.tilt_deg = np.zeros(1)  # current slope
        self.start = np.zeros(1)  # [s] start time of this trial
        # Place [m], (x, y), and mean wheel angle [rad]: at the start of the slope, at that of the stretch on which the
        # rover may be stuck, and of every `window`, the last of which ends with the trial. NaN: not reached.
        self.marks = np.full((2 + s.parts, 3), np.nan)
        self.results = {name: np.full(s.count, np.nan) for name in RESULTS}
        self.slips = np.full((s.count, s.parts), np.nan)  # of each trial, over each `window`

    def act(self, time: float, sensors: Any, command: Any) -> None:
        s = self.s
        if not self.over[0] and (self.number[0] < 0 or self._climb(time, sensors)):
            slope = self._next_slope()
            self.over[0] = slope is None
            if slope is not None:
                self._begin(slope, time, sensors)
        self.sim.finished = bool(self.over[0])
        if self.over[0]:
            return
        within = time - self.start[0]
        slope_deg = float(self.results["slope_deg"][self.number[0]])
        self._tilt(sensors.model, slope_deg * _ramp((within - s.approach) / TILTING))
        rate = s.speed / s.parameters.wheel_radius if within > SETTLING - self.period / 2 else 0.0
        command[[sensors.model.actuator(name).id for name in DRIVES]] = rate
        if within > s.approach + TILTING - self.period / 2 and np.isnan(self.marks[0, 0]):
            self.marks[:2] = _place(sensors)

    def _climb(self, time: float, data: Any) -> bool:
        """Set marks on the way up. Whether the trial has ended; then its results are known."""
        s, now, marks = self.s, _place(data), self.marks
        if np.isnan(marks[0, 0]):
            return False
        distance = now[0] - marks[0, 0]
        made = np.count_nonzero(np.isfinite(marks[2:, 0]))  # windows that have begun
        if distance >= s.length - (s.parts - made) * s.window:
            if made > 0:
                self.slips[self.number[0], made - 1] = self._slip_since(marks[1 + made], now)
            if made == s.parts:
                self._judge(data, now, stuck=False)
                return True
            marks[2 + made] = now
            self.power.reset([0])
        rolled = s.parameters.wheel_radius * (now[2] - marks[1, 2])
        stuck = rolled >= s.window and self._slip_since(marks[1], now) > s.failing_slip
        aside = abs(now[1] - marks[0, 1]) > LANE[s.heading] / 2  # it slides out of its lane
        if stuck or aside or time - self.start[0] > s.trial_time:
            self._judge(data, now, stuck=True)
            return True
        if rolled >= s.window:
            marks[1] = now
        return False

    def _judge(self, data: Any, now: np.ndarray, stuck: bool) -> None:
        """Results of the trial, over its last part; of a rover that is stuck, slip alone."""
        marks, sinkage = self.marks, float(self.sim.observe()["soil/sinkage"].mean())
        slip = self._slip_since(marks[1], now) if stuck else float(self.slips[self.number[0], -1])
        before = math.nan if stuck else float(self.slips[self.number[0], -2])
        found = {
            "settled": float(slip - before < self.s.settled_rise),  # not if stuck
            "slip": slip,
            "slip_before": before,
            "distance": now[0] - marks[0, 0],
            "energy_per_metre": math.nan if stuck else float(self.power.energy_per_metre()[0]),
            "drift": math.nan if stuck else (marks[-1, 1] - now[1]) / (now[0] - marks[-1, 0]),
            "sinkage": sinkage,
        }
        for name, value in found.items():
            self.results[name][self.number[0]] = value

    def _slip_since(self, mark: np.ndarray, now: np.ndarray) -> float:
        """1 - v/(r w) of the rover along its heading between two marks."""
        rolled = self.s.parameters.wheel_radius * (now[2] - mark[2])
        return float(1 - (now[0] - mark[0]) / rolled) if rolled > 0 else 1.0

    def _next_slope(self) -> float | None:
        """Slope [deg] of the next trial; None if there is none."""
        s, made = self.s, int(self.number[0]) + 1
        if made == s.count:
            return None
        slopes = self.results["slope_deg"][:made].tolist()
        settled = (self.results["settled"][:made] > 0).tolist()
        if s.heading == "cross":
            return made * s.slope_step_deg if made * s.slope_step_deg <= STEEPEST else None
        return next_slope(
            *level_counts_for_all(slopes, settled, s.starts), s.starts, s.slope_step_deg, s.resolution_deg, STEEPEST
        )

    def _begin(self, slope: float, time: float, data: Any) -> None:
        """Reset rover and modules and place the rover in the next lane. Updates the kinematics, as a step requires."""
        s = self.s
        self.number[0] += 1
        trial = int(self.number[0])
        self.results["slope_deg"][trial], self.start[0], self.marks[:] = slope, time, np.nan
        before = int(np.count_nonzero(self.results["slope_deg"][:trial] == slope))  # trials on this slope
        self._tilt(data.model, 0.0)
        mujoco.mj_resetData(data.model, data)
        data.joint("base").qpos[:2] = before * NUDGE, trial * LANE[s.heading]
        sim, ground = self.sim, self.sim.ground
        kept = {name: array.numpy().copy() for name, array in ground.state().items()}
        for part in (*sim.modules, self.power, self.slip):
            part.reset([0])
        ground.restore(kept)  # keep the lanes of earlier trials
        sim.engine.clear_outputs([0])
        settle(sim)

    def _tilt(self, model: mujoco.MjModel, degrees: float) -> None:
        """Set gravity as on a slope that rises ahead (uphill) or to the left (cross)."""
        self.tilt_deg[0], angle = degrees, math.radians(degrees)
        down = [-math.sin(angle), 0.0] if self.s.heading == "uphill" else [0.0, -math.sin(angle)]
        model.opt.gravity[:] = np.multiply(self.s.gravity, [*down, -math.cos(angle)])

    def state(self) -> dict[str, Any]:
        return {
            "number": self.number, "over": self.over, "tilt_deg": self.tilt_deg, "start": self.start,
            "marks": self.marks, "slips": self.slips, **self.results,
        }  # fmt: skip

    def reset(self, worlds: Sequence[int]) -> None:
        self.number[0], self.over[0], self.tilt_deg[0], self.start[0] = -1, False, 0.0, 0.0
        for values in (self.marks, self.slips, *self.results.values()):
            values[:] = np.nan
        if self.sim is not None:
            self._tilt(self.sim.model, 0.0)

    def channels(self) -> list[Channel]:
        names = tuple(str(k + 1) for k in range(self.s.count))

        def distance() -> np.ndarray:
            out = np.full((1, self.s.count), np.nan)
            out[0, max(self.number[0], 0)] = self.sim.data.body("chassis").xpos[0]
            return out

        return [
            Channel("trials/slips", "1", self.slips.shape, "", read=lambda: self.slips[None]),
            Channel("trial/tilt_deg", "degree", (), "", read=self.tilt_deg.copy),
            Channel("trial/time", "s", (), "", read=lambda: self.sim.time - self.start),
            Channel("trial/way", "m", (self.s.count,), labels=names, read=distance),
            *(
                Channel(
                    f"trials/{name}",
                    unit,
                    (self.s.count,),
                    "",
                    labels=names,
                    read=lambda n=name: self.results[n][None],
                )
                for name, unit in RESULTS.items()
            ),
        ]


def level_counts_for_all(
    slopes: Sequence[float], settled: Sequence[bool], starts: int
) -> tuple[list[float], list[bool]]:
    """The trials, with that on the level counted for all starts: there one is enough."""
    level = [(0.0, calm) for slope, calm in zip(slopes, settled, strict=True) if slope == 0] * starts
    rest = [(slope, calm) for slope, calm in zip(slopes, settled, strict=True) if slope > 0]
    return [slope for slope, _ in (*level, *rest)], [calm for _, calm in (*level, *rest)]


def _ramp(share: float) -> float:
    return min(max(share, 0.0), 1.0)


def _place(data: Any) -> np.ndarray:
    """Place (x, y) [m] of the chassis and mean angle [rad] of the wheels."""
    return np.array([*data.body("chassis").xpos[:2], np.mean([data.joint(name).qpos[0] for name in DRIVES])])


def build(s: Gradeability) -> Simulation:
    p, lane = s.parameters, LANE[s.heading]
    behind = BEHIND - p.rear_x + p.wheel_radius
    level = s.speed * (s.approach + TILTING - SETTLING) / (1 - 0.2)  # lugged wheels are faster than their rims
    ahead = AHEAD + p.front_x + p.wheel_radius + level + s.length
    size = (behind + ahead, s.count * lane)
    terrain = flat(size=size, spacing=min(size) / 8, origin=(-behind, -lane / 2))
    ground = Ground(terrain, s.chosen_soil(), s.spacing)
    surface = exomars.wheel_surface(p)
    module = SoilModule(ground, dict.fromkeys(BODIES, surface), SoilOptions(erosion=s.erosion, **s.law_options()))
    wheels = Wheels(exomars.wheel_positions(p), p.wheel_radius, np.full(6, p.steer_limit), DRIVES, STEERS)
    power, slip = PowerMeter(DRIVES, period=CHECKS * s.chosen_step), WheelSlip(wheels)
    trials = Trials(s, power, slip)
    sim = Simulation(
        exomars.build(p, gravity=s.gravity), [module], ground=ground,
        controllers=[trials, power, slip], step=s.chosen_step, recorded_bodies=("chassis", *BODIES),
    )  # fmt: skip
    trials.sim = sim
    return sim


def duration(s: Gradeability) -> float:
    """Longest duration [s] of all trials. The run ends with the last one of the search."""
    return s.count * (s.trial_time + 2 * CHECKS * s.chosen_step)  # a trial that times out is judged at the next look


def metrics(s: Gradeability) -> list[dict[str, Any]]:
    at = f"on the stated slope of {s.stated_slope_deg:g} degrees"
    climbs = [
        metric(
            "max_grade_deg", "degree",
            f"steepest slope on which slip over the last {s.window:g} m exceeds that over the {s.window:g} m before by "
            f"less than {s.settled_rise:g}, after {s.length:g} m, for most of {s.starts} starts",
        ),
        metric("failing_grade_deg", "degree", "gentlest slope on which it does not; none if no slope failed"),
        metric(
            "half_slip_grade_deg", "degree",
            f"slope at which slip reaches {HALF_SLIP:g}, interpolated linearly between slopes, from trials in which "
            "slip has settled; none if it stays below",
        ),
        metric("settled_slip_max", "1", "largest slip of a trial in which it has settled"),
        metric(
            "energy_per_metre_J", "J/m", f"mechanical work of the drives over the distance of the chassis, {at}",
            s.work_against_gravity, {"min": s.work_against_gravity}, "work against gravity alone",
        ),
        metric("energy_per_metre_level_J", "J/m", "the same on the level"),
        metric("slip_stated", "1", f"1 - v/(r w) of the rover along its heading, r of the rim, {at}"),
        metric("slip_level", "1", "the same on the level"),
    ]  # fmt: skip
    across = [
        metric("cross_slope_drift", "1", f"distance down the slope over distance ahead, {at}"),
        metric("cross_slope_slip", "1", f"1 - v/(r w) of the rover along its heading, r of the rim, {at}"),
        metric("energy_per_metre_J", "J/m", f"mechanical work of the drives over the distance of the chassis, {at}"),
    ]
    return [
        *(climbs if s.heading == "uphill" else across),
        metric(
            "volume_error_rel", "1", "soil lost less soil compressed, over soil displaced in the trial; largest value",
            0.0, {"abs": VOLUME_TOLERANCE}, "conservation of volume",
        ),
        metric("real_time_factor", "1", "simulated time over wall time of the loop"),
    ]  # fmt: skip


def figures(s: Gradeability) -> list[dict[str, Any]]:
    slope = {"kind": "points", "x": "trials/slope_deg", "xlabel": "slope [°]"}
    first = {
        "uphill": {
            "name": "slip-slope", "title": "Slip against slope", "y": ["trials/slip"], "ylabel": "slip [1]", **slope,
            "caption": f"Over the last {s.window:g} m of each trial; above a slip of {s.failing_slip:g} the rover is "
            "stuck.",
        },
        "cross": {
            "name": "drift-slope", "title": "Drift against slope", "y": ["trials/drift"], **slope,
            "ylabel": "distance down over distance ahead [1]",
            "caption": f"Driving along the slope with straight wheels; over the last {s.window:g} m of each "
            "trial.",
        },
    }  # fmt: skip
    return [
        first[s.heading],
        {
            "name": "energy-slope", "title": "Energy per metre against slope", "y": ["trials/energy_per_metre"],
            **slope, "ylabel": "energy per metre [J/m]", "caption": "Trials in which the rover was not stuck.",
        },
        {
            "name": "way", "title": "Distance in each trial", "kind": "lines", "x": "trial/time", "y": ["trial/way"],
            "xlabel": "time in the trial [s]", "ylabel": "distance [m]",
            "caption": f"The slope is raised from {s.approach:g} to {s.approach + TILTING:g} s.",
        },
        {
            "name": "wheel-slip", "title": "Slip of the wheels and slope", "kind": "panels", "columns": 1,
            "same_scale": False,
            "panels": [
                {"y": ["wheel/slip"], "ylabel": "slip [1]"},
                {"y": ["trial/tilt_deg"], "ylabel": "slope [°]"},
            ],
            "caption": "Driving 1 - v/(r w), braking r w/v - 1, over half a second each.",
        },
        {
            "name": "sinkage", "title": "Sinkage of the wheels", "kind": "lines", "y": ["soil/sinkage"],
            "ylabel": "sinkage [m]", "caption": "Perpendicular to the slope, one trial after the other.",
        },
        soil_map("A lane for each trial, the first at the bottom."),
    ]  # fmt: skip


def measure(s: Gradeability, recording: Recording) -> dict[str, Any]:
    slopes, settled = recording["trials/slope_deg"][-1], recording["trials/settled"][-1]
    known, calm = np.isfinite(settled), settled > 0
    low, high = bracket(*level_counts_for_all(slopes[known].tolist(), calm[known].tolist(), s.starts), s.starts)
    climbed = calm & (slopes <= (low if low is not None else 0.0) + 1e-3)

    def result(name: str, slope: float) -> float | None:
        """Median of the trials on a slope [deg]."""
        values = recording[f"trials/{name}"][-1][known & (np.abs(slopes - slope) < 1e-3)]
        values = values[np.isfinite(values)]
        return float(np.median(values)) if len(values) else None

    stated = s.stated_slope_deg
    if s.heading == "cross":
        found = {"cross_slope_drift": result("drift", stated), "cross_slope_slip": result("slip", stated)}
    else:
        found = {
            "max_grade_deg": low,
            "failing_grade_deg": high,
            "half_slip_grade_deg": crossing(slopes[climbed], recording["trials/slip"][-1][climbed], HALF_SLIP),
            "settled_slip_max": float(recording["trials/slip"][-1][calm].max()) if calm.any() else None,
            "energy_per_metre_level_J": result("energy_per_metre", 0.0),
            "slip_stated": result("slip", stated),
            "slip_level": result("slip", 0.0),
        }
    return {
        **found,
        "energy_per_metre_J": result("energy_per_metre", stated),
        "volume_error_rel": float(recording["soil/volume_error"].max()),
    }


SCENARIO = scenario_of(
    __name__, Gradeability, rate=FRAMES,
    summary="the steepest slope a six-wheel rover climbs on soil, or how it drifts along one",
    source="Krenn and Hirzinger 2009, section III.E, Fig. 19",
)  # fmt: skip
