"""A robot with wheel-stepping drives climbs stairs: Stadukhin 2016, Fig. 9-11, and the paper's warnings.

The paper gives the layout of the drives, the ten sides of the wheels, the sequence rolling, stepping, rolling, and
describes in words when it fails. Stairs, robot (robots/wheel_walker.py), friction and the changes that produce the
failures are assumed.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Annotated, Any, Literal

import numpy as np
import pydantic
from pydantic_core import PydanticCustomError

from grouser.contact.convex import ConvexContact, ConvexPart
from grouser.control.step_drive import StepDrive
from grouser.errors import InputError
from grouser.module import Channel
from grouser.recording import Recording
from grouser.robots import wheel_walker
from grouser.robots.wheel_walker import DRIVES, WheelWalker
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Settings, metric, scenario_of
from grouser.scenarios.terrain_choice import CourseChoice, pieces_figure
from grouser.scenarios.walker_course import OwnCourse, own_measures, own_metrics
from grouser.simulation import Simulation
from grouser.terrain.course import Course
from grouser.terrain.courses import stairs
from grouser.terrain.polyhedra import box

PAPER = "Stadukhin 2016"
STEP = 2e-3  # [s]
RATE = 100.0  # [Hz] recording rate; with forty sides, 35 sides per second reach the ground
SETTLING = 0.3  # [s] before the motors start
BESIDE = 1.0  # [m] half the width of the stairs
LANE = 2.5  # [m] distance to the left at which the robot with other wheels rolls
LANE_LENGTH = 1.2  # [m] distance that it rolls
BEHIND = 2.0  # [m] ground behind the robot, because a robot that is dragged moves back
BEYOND = 0.5  # [m] distance past the last riser at which the rear hubs stop
SPARE = 1.5  # [m] length of the landing ahead of the stopped robot
SHOWN = (0.0, 0.31, 0.63, 0.96)  # fractions of the run at which the robot is drawn
ROUND = "round_"  # prefix of all names of the other robot

THIRD = 2 * math.pi / 3  # [rad] rotation of a carrier in one step
WINDOW = 1.0  # [s] over which a mode is determined
STEPPING = THIRD / 4  # [rad] a carrier that turns more in a window is stepping; rocking over stairs and facets is less
GATHERED = 0.7  # [s] after the start of the motors until they are at speed
NEAR = 0.05  # [m] distance to a riser at which rolling on level ground ends
SAME_LEVEL = 0.5  # fraction of a rise: a hub is on a step if it is nearer to its height than to that of the step below

# Failures that the paper warns of, and the change of settings that produces each. Mass alone has no effect when the
# robot starts freely, because all forces scale with it. So the light robot drags a load (`pull`) on ground with enough
# grip; a heavier one rolls with the same load.
CASES: dict[str, dict[str, Any]] = {
    "paper": {},
    "too-light": {"mass": 20.0, "pull": 150.0, "friction": 0.9},
    "too-strong": {"voltage": 72.0},
    "wrong-gears": {"wheel_teeth": 10},
    "poor-grip": {"friction": 0.2},
    "too-heavy": {"mass": 100.0},
}
STEPS_ON_FLAT = ("too-light", "too-strong", "wrong-gears")
NEVER_STEPS = ("poor-grip", "too-heavy")
WARNINGS = f"{PAPER}, last paragraph before the conclusion"

Metres = Annotated[float, pydantic.Field(gt=0), Unit("m")]

Robot: type[Settings] = pydantic.create_model(
    "Robot",
    __base__=Settings,
    __doc__="Parameters of the robot, as in `grouser.robots.wheel_walker.WheelWalker`.",
    **{
        f.name: (tuple[float, float, float] if f.name == "hull_size" else type(f.default), f.default)
        for f in dataclasses.fields(WheelWalker)
    },  # type: ignore[call-overload]
)


class Steps(Settings):
    """The stairs; the paper gives no sizes."""

    count: Annotated[int, pydantic.Field(ge=1, le=50)] = 4
    rise: Metres = 0.12
    run: Metres = 0.28
    overhang: Annotated[float, pydantic.Field(ge=0), Unit("m")] = 0.0  # of the top of each riser over its foot


class WheelWalkerStairs(Settings):
    """Settings of `wheel-walker-stairs`."""

    case: Literal["paper", "too-light", "too-strong", "wrong-gears", "poor-grip", "too-heavy"] = "paper"
    hold: Literal["none", "brake", "lock"] = "none"  # carriers braked to the hull, or locked to the sun gears
    stairs: Steps = Steps()
    terrain: CourseChoice | None = None  # a mesh, cut into convex pieces, instead of stairs; driven along x to its end
    at: tuple[float, float] = (0.0, 0.0)  # [m] x and y of the middle of the robot at the start on a mesh
    approach: Metres = 0.75  # level ground ahead of the front wheels
    friction: Annotated[float, pydantic.Field(ge=0, le=2)] = 0.6  # of wheels, carriers and hull on the stairs
    voltage: Annotated[float, pydantic.Field(gt=0), Unit("V")] = 24.0  # applied; the motors are rated at robot.voltage
    pull: Annotated[float, pydantic.Field(ge=0), Unit("N")] = 0.0  # force of a load that is dragged
    robot: Robot = Robot()  # type: ignore[valid-type]
    compare_sides: Annotated[int, pydantic.Field(ge=3, le=120)] | None = 40  # of a second robot, on level ground
    time: Annotated[float, pydantic.Field(gt=0, le=600), Unit("s")] | None = None  # None: 14 s, 5 s for a failure case
    gravity: Annotated[float, pydantic.Field(gt=0), Unit("m/s^2")] = 9.81
    step: Annotated[float, pydantic.Field(gt=0, le=0.01), Unit("s")] = STEP

    @pydantic.model_validator(mode="after")
    def _check_robot(self) -> WheelWalkerStairs:
        try:
            _ = self.parameters
        except InputError as error:
            raise PydanticCustomError("robot", "{text}", {"text": str(error)}) from None
        return self

    def changed(self, name: str) -> Any:
        """Value of a setting: as given, else as the case changes it."""
        case = CASES[self.case]
        return case[name] if name in case and name not in self.model_fields_set else getattr(self, name)

    @property
    def parameters(self) -> WheelWalker:
        """Parameters of the robot in this case. Given values are not changed."""
        given = self.robot.model_fields_set
        own = {f.name for f in dataclasses.fields(WheelWalker)} - {"voltage"} - given
        return WheelWalker(
            **{**self.robot.model_dump(), **{k: v for k, v in CASES[self.case].items() if k in own}}  # type: ignore[attr-defined]
        )

    @functools.cached_property
    def own_course(self) -> OwnCourse | None:
        """The course of `terrain`; None without one."""
        return OwnCourse(self.terrain.read(), self.at, self.parameters) if self.terrain is not None else None

    @property
    def compared(self) -> int | None:
        """Sides of the wheels of a second robot, which rolls beside the stairs."""
        sides = self.compare_sides if self.terrain is None else None
        return None if sides == self.parameters.sides else sides

    @property
    def start_x(self) -> float:
        """Start x [m] of the hull's centre: front wheels `approach` before the first riser, which is at x = 0."""
        p = self.parameters
        if self.own_course is not None:
            return self.at[0]
        return -(self.approach + p.wheel_radius + p.axle(0)[0] + p.wheelbase / 2)

    @property
    def goal(self) -> float:
        """Position [m] where the hull's centre stops: all drives are on the landing, or near the end of a mesh."""
        if self.own_course is not None:
            return self.own_course.goal
        return (self.stairs.count - 1) * self.stairs.run + self.parameters.wheelbase / 2 + BEYOND


class WalkerContact(ConvexContact):
    """Convex contact that does not record its clipped points and stored energy."""

    def channels(self) -> list[Channel]:
        left_out = (f"{self.name}/points", f"{self.name}/stored")
        return [channel for channel in super().channels() if channel.name not in left_out]


def build(s: WheelWalkerStairs) -> Simulation:
    p = s.parameters
    parts = robot_parts(p)
    spec = wheel_walker.build(p, gravity=s.gravity, x=s.start_x)
    if s.own_course is not None:
        spec.body("hull").pos = s.own_course.start
    controllers = [
        StepDrive(
            DRIVES, s.changed("voltage"), start=SETTLING, goal=s.goal, hold=s.hold, pull=s.changed("pull"),
            period=max(0.01, s.step),
        )
    ]  # fmt: skip
    if s.compared is not None:
        other = dataclasses.replace(p, sides=s.compared)
        parts += robot_parts(other, ROUND)[:12]  # its wheels
        frame = spec.worldbody.add_frame(pos=[0, LANE, 0])
        spec.attach(wheel_walker.build(other, gravity=s.gravity, x=s.start_x), prefix=ROUND, frame=frame)
        controllers.append(
            StepDrive(
                DRIVES, s.changed("voltage"), start=SETTLING, goal=s.start_x + LANE_LENGTH, hold=s.hold,
                pull=s.changed("pull"), prefix=ROUND, period=max(0.01, s.step),
            )
        )  # fmt: skip
    module = WalkerContact(parts, course_of(s), friction=s.changed("friction"))
    sim = Simulation(spec, [module], controllers=controllers, step=s.step)
    for channel in _channels(sim):
        sim.add_channel(channel)
    return sim


def robot_parts(p: WheelWalker, prefix: str = "") -> list[ConvexPart]:
    """Wheels, then carriers and hull: all parts that may touch the stairs."""
    wheel, carrier = wheel_walker.wheel_vertices(p), wheel_walker.carrier_vertices(p)
    return [
        *(ConvexPart(f"{prefix}{name}", wheel) for name in wheel_walker.WHEELS),
        *(ConvexPart(f"{prefix}carrier_{name}", carrier) for name in DRIVES),
        ConvexPart(f"{prefix}hull", wheel_walker.hull_vertices(p)),
    ]


def course_of(s: WheelWalkerStairs) -> Course:
    """The stairs and, if two robots are compared, level ground beside them; or the course of the user."""
    if s.own_course is not None:
        return s.own_course.course
    length = s.parameters.wheelbase / 2
    landing = BEYOND + 2 * length + SPARE
    main = stairs(
        s.stairs.count, s.stairs.rise, s.stairs.run, 2 * BESIDE, approach=BEHIND + length - s.start_x, landing=landing,
        overhang=s.stairs.overhang,
    )  # fmt: skip
    if s.compared is None:
        return main
    size = (2 * BEHIND + LANE_LENGTH + 2 * length, 2 * BESIDE, 0.5)
    lane = box(size, (s.start_x + LANE_LENGTH / 2, LANE, -size[2] / 2), "lane")
    return Course((*main.pieces, lane), main.name)


def _channels(sim: Simulation) -> list[Channel]:
    """Positions of hull, hubs and a point on the front right carrier: Stadukhin 2016, Fig. 10."""
    data = sim.data
    hull, point = sim.model.body("hull").id, sim.model.body("wheel_fr_2").id
    shown = np.array([hull, point])
    hubs = np.array([sim.model.body(f"carrier_{name}").id for name in DRIVES])
    names = ("hull", "carrier fr")
    return [
        Channel("path/x", "m", (2,), labels=names, read=lambda: data.xpos[shown, 0][None]),
        Channel("path/z", "m", (2,), labels=names, read=lambda: data.xpos[shown, 2][None]),
        Channel("hub/x", "m", (4,), labels=DRIVES, read=lambda: data.xpos[hubs, 0][None]),
        Channel("hub/z", "m", (4,), labels=DRIVES, read=lambda: data.xpos[hubs, 2][None]),
    ]


def duration(s: WheelWalkerStairs) -> float:
    return s.time if s.time is not None else 14.0 if s.case == "paper" else 5.0


# ---- metrics ----------------------------------------------------------------------------------------------


def metrics(s: WheelWalkerStairs) -> list[dict[str, Any]]:
    p, free = s.parameters, s.hold == "none" and s.terrain is None
    climbs, sequence, flat = (None, None, None), (None, None, None), (None, None, None)
    if free and s.case == "paper":
        climbs = (s.stairs.count, {"abs": 0}, f"{PAPER}, Fig. 10: it climbs the stairs")
        sequence = (["rolling", "stepping", "rolling"], None, f"{PAPER}, Fig. 11")
        flat = (0, {"abs": 0}, f"{PAPER}: rolling up to the first step")
    elif free and s.case in STEPS_ON_FLAT:
        flat = (None, {"min": 1}, WARNINGS)
    elif free:
        climbs, sequence = (0, {"abs": 0}, WARNINGS), (["rolling"], None, WARNINGS)
    out = [
        *(own_metrics() if s.terrain is not None else
          [metric("steps_climbed", "1", "number of steps below all four drives at the end", *climbs)]),
        metric(
            "mode_sequence", "", "sequence of modes of the front right drive; stepping: its carrier turns 30 deg in "
            "1 s",
            *sequence,
        ),
    ]  # fmt: skip
    if s.terrain is None:
        out += [
            metric(
                "steps_on_flat", "1", "complete steps of the front right carrier before its wheels touch the first "
                "riser", *flat
            ),
            metric("climb_time_s", "s", "from the start of the motors until all four hubs are past the last riser"),
            metric(
                f"ripple_{p.sides}_sides", "1",
                "standard deviation over mean of a wheel's speed while rolling on the level",
            ),
        ]  # fmt: skip
    if s.compared is not None:
        finer = s.compared > p.sides and s.case == "paper"
        out += [
            metric(f"ripple_{s.compared}_sides", "1", "the same for a second robot with such wheels"),
            metric(
                "ripple_ratio", "1", "ripple of the second robot over that of the first",
                None, {"max": 1.0} if finer else None, f"{PAPER}: more sides, less ripple" if finer else None,
            ),
        ]  # fmt: skip
    return [
        *out,
        metric("motor_torque_peak_Nm", "N m", "largest torque of a motor at its sun gear"),
        metric("real_time_factor", "1", "simulated time over wall time of the loop"),
    ]


def measure(s: WheelWalkerStairs, recording: Recording) -> dict[str, Any]:
    p, time = s.parameters, recording.time
    angle = recording["joint/position[carrier_fr]"]
    motors = np.column_stack([recording[f"actuator/force[motor_{name}]"] for name in DRIVES])
    out: dict[str, Any] = {
        "mode_sequence": mode_sequence(time, angle),
        "motor_torque_peak_Nm": float(np.abs(motors).max()),
    }
    if s.own_course is not None:
        return out | own_measures(recording)
    out |= {
        "steps_climbed": steps_climbed(s, recording),
        "steps_on_flat": steps_on_flat(s, recording),
        "climb_time_s": climb_time(s, recording),
        f"ripple_{p.sides}_sides": ripple(s, recording),
    }
    if s.compared is not None:
        other = ripple(s, recording, ROUND)
        out[f"ripple_{s.compared}_sides"] = other
        out["ripple_ratio"] = other / out[f"ripple_{p.sides}_sides"]
    return out


def steps_climbed(s: WheelWalkerStairs, recording: Recording) -> int:
    """Number of steps for which all four hubs are past the riser and as high above the step as on level ground."""
    x, z = recording["hub/x"][-1], recording["hub/z"][-1] - s.parameters.hub_height
    risers = np.arange(s.stairs.count) * s.stairs.run
    past = (x[:, None] > risers).sum(axis=1)
    levels = np.floor(z / s.stairs.rise + SAME_LEVEL)
    return int(max(0, np.minimum(past, levels).min()))


def climb_time(s: WheelWalkerStairs, recording: Recording) -> float | None:
    last = (s.stairs.count - 1) * s.stairs.run
    past = (recording["hub/x"] > last).all(axis=1)
    return float(recording.time[past.argmax()] - SETTLING) if past.any() else None


def mode_sequence(time: np.ndarray, angle: np.ndarray) -> list[str]:
    """Sequence of rolling and stepping, from the carrier's angle [rad]. Stepping: more than STEPPING within WINDOW."""
    later = np.interp(time + WINDOW / 2, time, angle)
    earlier = np.interp(time - WINDOW / 2, time, angle)
    stepping = np.abs(later - earlier) > STEPPING
    changes = np.flatnonzero(np.diff(stepping)) + 1
    return ["stepping" if stepping[k] else "rolling" for k in (0, *changes)]


def steps_on_flat(s: WheelWalkerStairs, recording: Recording) -> int:
    p = s.parameters
    before = recording["hub/x[fr]"] < -(NEAR + p.arm + p.wheel_radius)
    reached = int(before.argmin()) if not before.all() else len(before)
    turned = np.abs(recording["joint/position[carrier_fr]"][: max(reached, 1)]).max()
    return int(turned / THIRD + 0.25)  # a carrier on its next wheel may lean back a little


def ripple(s: WheelWalkerStairs, recording: Recording, prefix: str = "") -> float:
    """Speed ripple of the front right drive, motors at speed and before the riser. NaN if there is no such time."""
    time = recording.time
    travelled = recording[f"body/pose[{prefix}hull]"][:, 0] - s.start_x
    rolling = (time > SETTLING + GATHERED) & (travelled < min(s.approach - NEAR, LANE_LENGTH - NEAR))
    if rolling.sum() < 2:
        return math.nan
    speed = recording[f"joint/velocity[{prefix}wheel_fr_0]"][rolling]
    return float(speed.std() / abs(speed.mean()))


# ---- figures ----------------------------------------------------------------------------------------------


def figures(s: WheelWalkerStairs) -> list[dict[str, Any]]:
    out = [
        {
            "name": "path", "title": "The robot on the stairs", "kind": "snapshots", "x": "path/x", "y": ["path/z"],
            "outlines": _outlines(s.parameters), "times": [share * duration(s) for share in SHOWN],
            "profile": _profile(s), "caption": "Stadukhin 2016, Fig. 10, from the right: the robot at several times, "
            "paths of a point of the hull and of an axle on the front right carrier.",
        },
        {
            "name": "speeds", "title": "Speeds of the front right drive", "kind": "lines",
            "y": ["joint/velocity[wheel_fr_0]", "joint/velocity[carrier_fr]"], "ylabel": "angular speed [rad/s]",
            "caption": "Stadukhin 2016, Fig. 11: wheel relative to carrier and carrier relative to hull. "
            "Rolling, the carrier rests; stepping, the wheel stands on the ground and turns back against the carrier.",
        },
        {
            "name": "carriers", "title": "Angles of the carriers", "kind": "lines",
            "y": [f"joint/position[carrier_{name}]" for name in DRIVES], "ylabel": "angle [rad]",
            "caption": "A third of a turn is one step.",
        },
        {
            "name": "motors", "title": "Torque of the motors", "kind": "lines",
            "y": [f"actuator/force[motor_{name}]" for name in DRIVES], "ylabel": "torque at the sun gear [N m]",
            "caption": "Motor torques follow the straight line from stall torque to no-load speed.",
        },
    ]  # fmt: skip
    if s.compared is not None:
        out.append({
            "name": "ripple", "title": "Ripple of many-sided wheels", "kind": "lines",
            "y": ["joint/velocity[wheel_fr_0]", f"joint/velocity[{ROUND}wheel_fr_0]"],
            "ylabel": "angular speed [rad/s]",
            "window": [SETTLING, SETTLING + GATHERED + 0.8],
            "caption": f"Wheels of {s.parameters.sides} and of {s.compared} sides ({ROUND}…) on the level.",
        })  # fmt: skip
    if s.own_course is not None:
        out += pieces_figure(s.own_course.course)
    return out


def _outlines(p: WheelWalker) -> list[dict[str, Any]]:
    """Outlines of the hull and the right drives."""
    right = [name for name in DRIVES if name[1] == "r"]
    return [
        {"bodies": bodies, "corners": np.round(corners, 6).tolist()}
        for bodies, corners in (
            (["hull"], wheel_walker.hull_vertices(p)),
            ([f"carrier_{name}" for name in right], wheel_walker.carrier_vertices(p)),
            ([f"wheel_{name}_{k}" for name in right for k in range(3)], wheel_walker.wheel_vertices(p)),
        )
    ]


def _profile(s: WheelWalkerStairs) -> dict[str, list[float]]:
    """Side view of the stairs, or of a mesh below the middle of the robot."""
    if s.own_course is not None:
        return s.own_course.profile
    reach = s.parameters.wheelbase / 2 + s.parameters.arm + s.parameters.wheel_radius
    x, z = [s.start_x - reach], [0.0]
    for k in range(s.stairs.count):
        x += [k * s.stairs.run] * 2
        z += [k * s.stairs.rise, (k + 1) * s.stairs.rise]
    return {"x": [*x, s.goal + reach], "z": [*z, s.stairs.count * s.stairs.rise]}


SCENARIO = scenario_of(
    __name__, WheelWalkerStairs, rate=RATE,
    summary="a robot with wheel-stepping drives climbs stairs: rolling, stepping, rolling",
    source=f"{PAPER}, Fig. 8-11",
)  # fmt: skip
