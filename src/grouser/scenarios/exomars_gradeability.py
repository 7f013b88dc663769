"""Steepest slope that the ExoMars-class rover climbs: Krenn and Hirzinger 2009, section III.E, Fig. 19.

One run is a series of trials, each on undisturbed ground in its own lane. The rover settles and starts to drive on
level ground; then the slope is introduced within a few seconds, and the rover drives on. The slope increases from trial
to trial until one fails. After that the interval between the steepest climbed and the gentlest failed slope is halved.
The ground is a level plane and gravity is tilted instead. For the bodies this is the same. For the soil, sinkage is
measured normal to the slope, and soil slides by its inclination relative to the slope.

The paper shows a picture and no numbers: slopes, speed, times and the criterion of failure are assumed.
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
from grouser.scenarios.quantity import Unit
from grouser.scenarios.rover_course import BODIES, DRIVES, STEERS, Rover
from grouser.scenarios.scenario import metric, scenario_of, soil_map
from grouser.scenarios.soil_choice import SoilChoice
from grouser.scenarios.soil_laws import SoilLaws
from grouser.simulation import Simulation
from grouser.simulation.step import settle
from grouser.terrain.generators import flat
from grouser.terrain.ground import Ground

LARGEST_STEP = 5e-3  # [s]
LARGEST_TRAVEL = 0.2e-3  # [m] of the rims per step; on the level a rover with grousers is slightly faster than its rims
SETTLING = 2.0  # [s] for which the rover stands on the soil before it drives
TILTING = 4.0  # [s] within which the slope is introduced
BEHIND, AHEAD = 2.0, 1.0  # [m] ground behind the rear wheels at the start, and ahead of the front wheels at the end
LANE = {"uphill": 2.0, "cross": 3.0}  # [m] distance between the lanes of two trials
TRIALS = {"uphill": 7, "cross": 5}
VOLUME_TOLERANCE = 1e-9  # rounding error of a float64 run
RESULTS = {  # results of each trial over its window, with units
    "slope_deg": "degree", "slip": "1", "failed": "1", "energy_per_metre": "J/m", "drift": "1", "sinkage": "m",
}  # fmt: skip

Seconds = Annotated[float, pydantic.Field(gt=0), Unit("s")]
Degrees = Annotated[float, pydantic.Field(ge=0, le=45), Unit("degree")]


class Gradeability(SoilLaws):
    """Settings of `exomars-gradeability`."""

    soil: SoilChoice = SoilChoice(name="exomars-test")  # Krenn and Hirzinger 2009, Fig. 17
    compression: Annotated[float, pydantic.Field(ge=0, le=1)] | None = None  # None: the soil's own
    heading: Literal["uphill", "cross"] = "uphill"  # cross: along the slope, which rises to the left
    slope_step_deg: Annotated[Degrees, pydantic.Field(gt=0)] = 5.0
    stated_slope_deg: Degrees = 5.0  # at which energy, slip and drift are reported
    trials: Annotated[int, pydantic.Field(ge=1, le=40)] | None = None  # None: 7 uphill, 5 across
    failing_slip: Annotated[float, pydantic.Field(gt=0, lt=1)] = 0.9  # a trial with more slip than this has failed
    speed: Annotated[float, pydantic.Field(gt=0, le=1), Unit("m/s")] = 0.05  # of the rims
    approach: Seconds = 8.0  # time until the slope is introduced, including SETTLING
    climb: Seconds = 20.0  # time on the slope
    window: Seconds = 15.0  # last part of that time, over which results are taken
    rover: Rover = Rover()  # type: ignore[valid-type]
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
        if self.window > self.climb:
            raise ValueError(f"window {self.window:g} s must not be above climb {self.climb:g} s")
        if self.stated_trial is None:
            raise ValueError(
                f"stated_slope_deg {self.stated_slope_deg:g} must be one of the first {self.count} multiples of "
                f"slope_step_deg {self.slope_step_deg:g}, 0 included"
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
        """Number of trials. Across, slopes only increase; with more trials a sliding rover would leave its lane."""
        return self.trials if self.trials is not None else TRIALS[self.heading]

    @property
    def stated_trial(self) -> int | None:
        """Index of the trial at the stated slope, if all before it succeed."""
        rungs = self.stated_slope_deg / self.slope_step_deg
        near = round(rungs)
        return near if abs(rungs - near) < 1e-9 and near < self.count else None

    @property
    def chosen_step(self) -> float:
        """Step [s] that limits the travel of the rims per step."""
        return self.step if self.step is not None else min(LARGEST_STEP, LARGEST_TRAVEL / self.speed)

    @property
    def trial_time(self) -> float:
        """Duration of a trial [s]."""
        return self.approach + TILTING + self.climb

    @property
    def work_against_gravity(self) -> float:
        """Work against gravity per metre [J/m] on the stated slope."""
        return self.parameters.mass * self.gravity * math.sin(math.radians(self.stated_slope_deg))

    def chosen_soil(self):
        return self.soil.with_compression(self.compression)


def next_slope(slopes: Sequence[float], failed: Sequence[bool], step: float) -> float:
    """Next slope [deg]: steeper by `step` until a trial has failed, then halfway between climbed and failed."""
    low, high = bracket(slopes, failed)
    if high is None:
        return 0.0 if low is None else low + step
    return high if low is None else (low + high) / 2


def bracket(slopes: Sequence[float], failed: Sequence[bool]) -> tuple[float | None, float | None]:
    """Steepest climbed slope below the gentlest failed slope, and that slope [deg]; None if there is none."""
    tried = list(zip(slopes, failed, strict=True))
    high = min((slope for slope, bad in tried if bad), default=None)
    low = max((slope for slope, bad in tried if not bad and (high is None or slope < high)), default=None)
    return low, high


def crossing(slopes: np.ndarray, slips: np.ndarray, slip: float) -> float:
    """Smallest slope [deg] at which slip reaches a value, linear between trials. NaN if it does not."""
    order = np.argsort(slopes)
    slopes, slips = slopes[order], slips[order]
    above = np.flatnonzero(slips >= slip)
    if not len(above) or above[0] == 0:
        return math.nan
    k = above[0]
    share = (slip - slips[k - 1]) / (slips[k] - slips[k - 1])
    return float(slopes[k - 1] + share * (slopes[k] - slopes[k - 1]))


class Trials:
    """Runs the trials: places the rover on undisturbed ground, tilts gravity, drives, and evaluates the result."""

    def __init__(self, s: Gradeability, power: PowerMeter, slip: WheelSlip):
        """Both meters are reset at each trial."""
        self.s, self.power, self.slip, self.period = s, power, slip, s.chosen_step
        self.sim: Any = None  # the simulation, set after it is built
        self.number = np.zeros(1, int)  # index of the current trial, from 0
        self.tilt_deg = np.zeros(1)  # current slope
        self.start = np.zeros(1)  # [s] start time of this trial
        self.mark = np.zeros(3)  # [m] position of the chassis at the start of the window
        self.turned = np.zeros(1)  # [rad] mean wheel angle at the start of the window
        self.results = {name: np.full(s.count, np.nan) for name in RESULTS}
        self.results["slope_deg"][0] = 0.0

    def act(self, time: float, sensors: Any, command: Any) -> None:
        s, model = self.s, sensors.model
        trial, tick = divmod(round(time / self.period), round(s.trial_time / self.period))
        if tick == 0 and trial > 0:
            self._judge(sensors)
        if trial == s.count:  # the rest of the run only records the last result
            return
        if tick == 0:
            self._begin(trial, time, sensors)
        within = tick * self.period
        slope = self.results["slope_deg"][trial]
        self._tilt(model, slope * min(max((within - s.approach) / TILTING, 0.0), 1.0))
        if tick in (0, round(SETTLING / self.period)):
            rate = s.speed / s.parameters.wheel_radius if tick else 0.0
            command[[model.actuator(name).id for name in DRIVES]] = rate
        if tick == round((s.trial_time - s.window) / self.period):
            self.mark[:], self.turned[0] = sensors.body("chassis").xpos, _turned(sensors)
            self.power.reset([0])

    def _begin(self, trial: int, time: float, data: Any) -> None:
        """Reset rover and modules and place the rover in the next lane. Updates the kinematics, as a step requires."""
        s, slopes = self.s, self.results["slope_deg"]
        if trial > 0:
            failed = [bool(bad) and s.heading == "uphill" for bad in self.results["failed"][:trial]]
            slopes[trial] = next_slope(list(slopes[:trial]), failed, s.slope_step_deg)
        self.number[0], self.start[0] = trial, time
        self._tilt(data.model, 0.0)
        mujoco.mj_resetData(data.model, data)
        data.joint("base").qpos[1] = trial * LANE[s.heading]
        sim, ground = self.sim, self.sim.ground
        kept = {name: array.numpy().copy() for name, array in ground.state().items()}
        for part in (*sim.modules, self.power, self.slip):
            part.reset([0])
        ground.restore(kept)  # keep the lanes of earlier trials
        sim.engine.clear_outputs([0])
        settle(sim)

    def _judge(self, data: Any) -> None:
        """Evaluate a trial: slip of the rover along its heading, and the other results over the window."""
        s = self.s
        displacement = data.body("chassis").xpos - self.mark
        slip = 1 - displacement[0] / (s.parameters.wheel_radius * (_turned(data) - self.turned[0]))
        moved = slip <= s.failing_slip
        found = {
            "slip": slip,
            "failed": float(not moved),
            "energy_per_metre": float(self.power.energy_per_metre()[0]) if moved else math.nan,
            "drift": -displacement[1] / displacement[0] if moved else math.nan,
            "sinkage": float(self.sim.observe()["soil/sinkage"].mean()),
        }
        for name, value in found.items():
            self.results[name][self.number[0]] = value

    def _tilt(self, model: mujoco.MjModel, degrees: float) -> None:
        """Set gravity as on a slope that rises ahead (uphill) or to the left (cross)."""
        self.tilt_deg[0], angle = degrees, math.radians(degrees)
        down = [-math.sin(angle), 0.0] if self.s.heading == "uphill" else [0.0, -math.sin(angle)]
        model.opt.gravity[:] = np.multiply(self.s.gravity, [*down, -math.cos(angle)])

    def state(self) -> dict[str, Any]:
        return {
            "number": self.number, "tilt_deg": self.tilt_deg, "start": self.start, "mark": self.mark,
            "turned": self.turned, **self.results,
        }  # fmt: skip

    def reset(self, worlds: Sequence[int]) -> None:
        for array in (self.number, self.tilt_deg, self.start, self.mark, self.turned):
            array[:] = 0
        for values in self.results.values():
            values[:] = np.nan
        self.results["slope_deg"][0] = 0.0
        if self.sim is not None:
            self._tilt(self.sim.model, 0.0)

    def channels(self) -> list[Channel]:
        names = tuple(str(k + 1) for k in range(self.s.count))

        def distance() -> np.ndarray:
            out = np.full((1, self.s.count), np.nan)
            out[0, self.number[0]] = self.sim.data.body("chassis").xpos[0]
            return out

        return [
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


def _turned(data: Any) -> float:
    """Mean angle [rad] of the wheels."""
    return float(np.mean([data.joint(name).qpos[0] for name in DRIVES]))


def build(s: Gradeability) -> Simulation:
    p, lane = s.parameters, LANE[s.heading]
    behind = BEHIND - p.rear_x + p.wheel_radius
    ahead = AHEAD + p.front_x + p.wheel_radius + s.speed * (s.trial_time - SETTLING) / (1 - 0.2)
    size = (behind + ahead, s.count * lane)
    terrain = flat(size=size, spacing=min(size) / 8, origin=(-behind, -lane / 2))
    ground = Ground(terrain, s.chosen_soil(), s.spacing)
    surface = exomars.wheel_surface(p)
    module = SoilModule(ground, dict.fromkeys(BODIES, surface), SoilOptions(erosion=s.erosion, **s.law_options()))
    wheels = Wheels(exomars.wheel_positions(p), p.wheel_radius, np.full(6, p.steer_limit), DRIVES, STEERS)
    power, slip = PowerMeter(DRIVES), WheelSlip(wheels)
    trials = Trials(s, power, slip)
    sim = Simulation(
        exomars.build(p, gravity=s.gravity), [module], ground=ground,
        controllers=[trials, power, slip], step=s.chosen_step, recorded_bodies=("chassis", *BODIES),
    )  # fmt: skip
    trials.sim = sim
    return sim


def duration(s: Gradeability) -> float:
    """Duration [s] of all trials, plus a moment to record the last result."""
    return s.count * round(s.trial_time / s.chosen_step) * s.chosen_step + 2 * LARGEST_STEP


def metrics(s: Gradeability) -> list[dict[str, Any]]:
    at = f"on the stated slope of {s.stated_slope_deg:g} degrees"
    climbs = [
        metric("max_grade_deg", "degree", f"steepest slope climbed with a slip up to {s.failing_slip:g}"),
        metric("failing_grade_deg", "degree", "gentlest slope that was not climbed; none if all were climbed"),
        metric("half_slip_grade_deg", "degree", "slope at which slip reaches 0.5, interpolated linearly between "
            "trials"),
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
            "caption": f"Mean over the last {s.window:g} s of each trial; above a slip of {s.failing_slip:g} a "
            "trial has failed.",
        },
        "cross": {
            "name": "drift-slope", "title": "Drift against slope", "y": ["trials/drift"], **slope,
            "ylabel": "distance down over distance ahead [1]",
            "caption": f"Driving along the slope with straight wheels; mean over the last {s.window:g} s of each "
            "trial.",
        },
    }  # fmt: skip
    return [
        first[s.heading],
        {
            "name": "energy-slope", "title": "Energy per metre against slope", "y": ["trials/energy_per_metre"],
            **slope, "ylabel": "energy per metre [J/m]", "caption": "Trials that did not fail.",
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
    slopes, failed = recording["trials/slope_deg"][-1], recording["trials/failed"][-1]
    known = np.isfinite(failed)
    low, high = bracket(slopes[known].tolist(), (failed[known] > 0).tolist())
    stated = int(np.argmin(np.where(known, np.abs(slopes - s.stated_slope_deg), np.inf)))
    there = known[stated] and abs(slopes[stated] - s.stated_slope_deg) < 1e-3

    def result(name: str, trial: int) -> float:
        return float(recording[f"trials/{name}"][-1, trial]) if there or trial == 0 else math.nan

    if s.heading == "cross":
        found = {"cross_slope_drift": result("drift", stated), "cross_slope_slip": result("slip", stated)}
    else:
        found = {
            "max_grade_deg": math.nan if low is None else low,
            "failing_grade_deg": math.nan if high is None else high,
            "half_slip_grade_deg": crossing(slopes[known], recording["trials/slip"][-1][known], 0.5),
            "energy_per_metre_level_J": result("energy_per_metre", 0),
            "slip_stated": result("slip", stated),
            "slip_level": result("slip", 0),
        }
    return {
        **found,
        "energy_per_metre_J": result("energy_per_metre", stated),
        "volume_error_rel": float(recording["soil/volume_error"].max()),
    }


SCENARIO = scenario_of(
    __name__, Gradeability,
    summary="the steepest slope a six-wheel rover climbs on soil, or how it drifts along one",
    source="Krenn and Hirzinger 2009, section III.E, Fig. 19",
)  # fmt: skip
