"""A rover drives a course on soil: steering, path following, odometry error, energy, tip-over margin.

The rover is that of `grouser.robots.exomars`. No paper shows this drive, so there are few expected values.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Annotated, Any, Literal

import mujoco
import numpy as np
import pydantic
from pydantic_core import PydanticCustomError

from grouser.contact.soil import SoilModule, SoilOptions
from grouser.control import Drive, GroundSpeed, Odometry, Path, PathFollower, PowerMeter, TipOver, Wheels, WheelSlip
from grouser.control.follower import TURN_ABOVE
from grouser.errors import InputError
from grouser.module import Channel
from grouser.recording import Recording
from grouser.robots import exomars
from grouser.robots.exomars import ExoMars
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Settings, metric, scenario_of, soil_map
from grouser.scenarios.sensor_choice import Sensors, mount
from grouser.scenarios.soil_choice import SoilChoice
from grouser.scenarios.soil_laws import SoilLaws
from grouser.scenarios.terrain_choice import TerrainChoice, height_at
from grouser.simulation import Simulation
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.generators import slope
from grouser.terrain.ground import Ground

LARGEST_STEP = 5e-3  # [s]
LARGEST_TRAVEL = 0.25e-3  # [m] per step; beyond it pull and sinkage are off by percents
SETTLING = 2.0  # [s] for which the rover stands on the soil before it drives
MARGIN = 1.8  # [m] ground around the course: half a rover and space for mounds
OUTER = 1.25  # speed of the fastest wheel in a curve / speed of the rover (assumed)
STEERING = 14.0  # [s] for a point turn the wheels steer there and back and accelerate twice, and the turn slows down
STANCE = 1.2  # [m] around the start that a rover on ground of a file is placed over: its wheels and the heading
SLACK = 1.1  # duration / duration at the wanted speed
DRIVES = tuple(f"drive_{name}" for name in exomars.WHEELS)
STEERS = tuple(f"steer_{name}" for name in exomars.WHEELS)
BODIES = tuple(f"wheel_{name}" for name in exomars.WHEELS)

Metres = Annotated[float, pydantic.Field(gt=0), Unit("m")]
Coordinate = Annotated[float, Unit("m")]
# An S-curve: the quintic 10 t^3 - 15 t^4 + 6 t^5, 6.5 m long and 2 m wide, in centimetres; smallest radius 3.6 m.
COURSE = ((0.0, 0.0), (1.1, 0.07), (2.2, 0.42), (3.25, 1.0), (4.3, 1.58), (5.4, 1.93), (6.5, 2.0))

Rover: type[Settings] = pydantic.create_model(
    "Rover",
    __base__=Settings,
    __doc__="Parameters of the rover, as in `grouser.robots.exomars.ExoMars`.",
    **{f.name: (type(f.default), f.default) for f in dataclasses.fields(ExoMars)},  # type: ignore[call-overload]
)


class RoverCourse(SoilLaws):
    """Settings of `rover-course`."""

    soil: SoilChoice = SoilChoice(name="dry-sand")
    mode: Literal["ackermann", "crab", "point-turn"] = "ackermann"
    waypoints: tuple[tuple[Coordinate, Coordinate], ...] = COURSE
    laps: Annotated[int, pydantic.Field(ge=1, le=1000)] = 1  # above 1 the course is closed and driven so often
    speed: Annotated[float, pydantic.Field(gt=0, le=1), Unit("m/s")] = 0.05  # speed of the rover's centre
    hold_speed: bool = True  # wheels that slip turn faster
    look_ahead: Metres = 0.6
    slope_deg: Annotated[float, pydantic.Field(ge=0, le=40), Unit("degree")] = 0.0
    slope_direction_deg: Annotated[float, Unit("degree")] = 0.0  # uphill direction, from x; 90: across
    terrain: TerrainChoice | None = None  # a file instead of an inclined plane
    rover: Rover = Rover()  # type: ignore[valid-type]
    gravity: Annotated[float, pydantic.Field(gt=0), Unit("m/s^2")] = exomars.MARS
    compression: Annotated[float, pydantic.Field(ge=0, le=1)] | None = None  # None: the soil's own
    spacing: Metres = 0.01
    step: Annotated[float, pydantic.Field(gt=0, le=0.1), Unit("s")] | None = None  # None: by speed
    erosion: bool = True
    sensors: Sensors = ()  # {kind: lidar, body: chassis, …}, see docs/sensors.md
    dtype: Literal["float64", "float32"] = "float64"

    @pydantic.field_validator("waypoints")
    @classmethod
    def _check_path(cls, value: Any) -> Any:
        try:
            Path(value)
        except InputError as error:
            raise PydanticCustomError("path", "{text}", {"text": str(error).split(": ", 1)[1]}) from None
        return value

    @pydantic.model_validator(mode="after")
    def _one_ground(self) -> RoverCourse:
        if self.terrain is not None and self.slope_deg:
            raise PydanticCustomError("ground", "terrain and slope_deg are both given; allowed is one of them")
        return self

    @pydantic.model_validator(mode="after")
    def _closed(self) -> RoverCourse:
        if self.laps > 1 and len(set(self.waypoints)) < 3:
            raise PydanticCustomError("laps", "a course of several laps needs three or more different waypoints")
        return self

    @property
    def path(self) -> Path:
        """Path of straight legs if there are point turns, else a spline. Several laps end where they began."""
        return self._path(self.laps)

    def _path(self, laps: int) -> Path:
        points = self.waypoints
        if self.laps > 1:
            lap = points[:-1] if points[0] == points[-1] else points
            points = (*lap * laps, lap[0])
        return Path(points, smooth=self.mode != "point-turn")

    @property
    def lap(self) -> Path:
        """The path, or its first lap."""
        return self._path(1)

    @property
    def parameters(self) -> ExoMars:
        return ExoMars(**self.rover.model_dump())  # type: ignore[attr-defined]

    @property
    def chosen_step(self) -> float:
        """Largest step [s] that keeps the travel of each wheel below a quarter of a millimetre per step."""
        return self.step if self.step is not None else min(LARGEST_STEP, LARGEST_TRAVEL / (OUTER * self.speed))

    def chosen_soil(self):
        return self.soil.with_compression(self.compression)


def build(s: RoverCourse) -> Simulation:
    p, path = s.parameters, s.path
    p.wheel_rate(s.speed)  # raises if the drives are too slow
    low, high = path.points.min(axis=0) - MARGIN, path.points.max(axis=0) + MARGIN
    size = (float(high[0] - low[0]), float(high[1] - low[1]))
    if s.terrain is None:
        terrain = slope(s.slope_deg, s.slope_direction_deg, size=size, spacing=min(size) / 8, origin=(low[0], low[1]))
    else:
        terrain = s.terrain.read()
        for x, y in path.points:
            height_at(terrain, x, y, "the course")
    ground = Ground(terrain, s.chosen_soil(), s.spacing, dtype=s.dtype)
    surface = exomars.wheel_surface(p)
    module = SoilModule(ground, dict.fromkeys(BODIES, surface), SoilOptions(erosion=s.erosion, **s.law_options()))
    spec = exomars.build(p, gravity=s.gravity)
    _place(spec, s, path.heading(0), terrain)
    wheels = Wheels(exomars.wheel_positions(p), p.wheel_radius, np.full(6, p.steer_limit), DRIVES, STEERS)
    drive = Drive(wheels, wheel_rate_limit=p.drive_speed)
    follower = PathFollower(path, drive, s.speed, s.mode, look_ahead=s.look_ahead, start=SETTLING)
    odometry = Odometry(wheels)
    meters = [PowerMeter([*DRIVES, *STEERS]), odometry, TipOver(wheels), WheelSlip(wheels)]
    holding = [GroundSpeed(drive)] if s.hold_speed else []
    sim = Simulation(
        spec, [module], ground=ground, controllers=[*meters, follower, *holding, drive], step=s.chosen_step,
        dtype=s.dtype,
    )  # fmt: skip
    for channel in _channels(sim, odometry):
        sim.add_channel(channel)
    mount(sim, s.sensors)
    return sim


def _place(spec: mujoco.MjSpec, s: RoverCourse, heading: float, terrain: ElevationGrid) -> None:
    """Place the rover at the start of the course, pointing along it, with its grousers just touching the plane."""
    p = s.parameters
    x, y = s.waypoints[0]
    if s.terrain is None:
        tilt, rise = math.radians(s.slope_deg), math.radians(s.slope_direction_deg)
        normal = np.array([-math.sin(tilt) * math.cos(rise), -math.sin(tilt) * math.sin(rise), math.cos(tilt)])
        ground = np.array([x, y, math.tan(tilt) * (x * math.cos(rise) + y * math.sin(rise))])
    else:
        normal, height = _highest_plane(terrain, x, y, STANCE)
        ground = np.array([x, y, height])
    # Origin and heading of the chassis are set in plan view, because the path is given in plan view.
    ahead = np.array([math.cos(heading), math.sin(heading), 0.0])
    ahead[2] = -(normal @ ahead) / normal[2]
    ahead /= np.linalg.norm(ahead)
    axes = np.column_stack([ahead, np.cross(normal, ahead), normal])
    lift = (p.longitudinal_pivot_height + p.grouser_height) / normal[2]
    chassis = spec.body("chassis")
    chassis.pos = ground + np.array([0.0, 0.0, lift])
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, axes.ravel())
    chassis.quat = quaternion


def _highest_plane(terrain: ElevationGrid, x: float, y: float, reach: float) -> tuple[np.ndarray, float]:
    """Normal (3,) of the plane fitted to the ground within `reach` [m] of a point, and its height [m] there, raised so
    that no ground is above it: wheels begin above the soil, and sink as they settle."""
    offsets = np.linspace(-reach, reach, 21)
    east, north = (grid.ravel() for grid in np.meshgrid(offsets, offsets))
    x0, x1, y0, y1 = terrain.bounds
    heights = terrain.height(np.clip(x + east, x0, x1), np.clip(y + north, y0, y1))
    flat = np.column_stack([np.ones_like(east), east, north])
    fitted, *_ = np.linalg.lstsq(flat, heights, rcond=None)
    above = float((heights - flat @ fitted).max())
    normal = np.array([-fitted[1], -fitted[2], 1.0])
    return normal / np.linalg.norm(normal), float(fitted[0]) + above


def _channels(sim: Simulation, odometry: Odometry) -> list[Channel]:
    """True position of the rover and position by odometry, in plan view."""
    body, data = sim.model.body("chassis").id, sim.engine.data

    def both(axis):
        return np.column_stack([[d.xpos[body, axis] for d in data], odometry.position[:, axis]])

    return [
        Channel("course/x", "m", (2,), labels=("driven", "odometry"), read=lambda: both(0)),
        Channel("course/y", "m", (2,), labels=("driven", "odometry"), read=lambda: both(1)),
    ]


def duration(s: RoverCourse) -> float:
    """Time [s] for the course at the wanted speed with slack, point turns at the outer wheels' speed, and steering."""
    path = s.path
    moving = path.length / s.speed
    if s.mode == "point-turn":
        headings = np.array([path.heading(leg) for leg in range(path.legs)])
        turns = np.abs(np.remainder(np.diff(headings) + np.pi, 2 * np.pi) - np.pi)
        outermost = float(np.hypot(*exomars.wheel_positions(s.parameters).T).max())
        moving += float(turns.sum()) * outermost / s.speed
        moving += float((turns > TURN_ABOVE).sum()) * STEERING
    return SETTLING + SLACK * moving + 3.0


def metrics(s: RoverCourse) -> list[dict[str, Any]]:
    return [
        metric(
            "course_completed", "1", "the path controller reports the end of the path",
            True, None, "the run lasts 1.1 times as long as the course takes at the wanted speed",
        ),
        metric("cross_track_error_max_m", "m", "largest distance of the chassis' origin from the path"),
        metric(
            "odometry_error_rel", "1",
            "distance between the position of the rover at the end and its odometry, over distance_m",
        ),
        metric("distance_m", "m", "path length of the chassis' origin"),
        metric("energy_per_metre_J", "J/m", "mechanical work of all drive and steering motors over distance_m"),
        metric("power_mean_W", "W", "mechanical work of all drive and steering motors over the time of the drive"),
        metric(
            "tip_over_margin_min_deg", "degree",
            "smallest angle by which effective gravity would have to turn to pass an edge of the wheels' support "
            "polygon",
        ),
        metric("slip_mean", "1", "mean over wheels and time of the drive; 1 - v/(r w), braking r w/v - 1, r the rim's"),
        metric("sinkage_max_m", "m", "largest sinkage of a wheel"),
        metric("real_time_factor", "1", "simulated time over wall time of the loop"),
    ]  # fmt: skip


def figures(s: RoverCourse) -> list[dict[str, Any]]:
    points, driving = s.lap.points, [SETTLING, None]
    commanded = {"label": "commanded", "style": "line", "x": points[:, 0].tolist(), "y": points[:, 1].tolist()}
    return [
        {
            "name": "course", "title": "The course from above", "kind": "xy", "x": "course/x", "y": ["course/y"],
            "xlabel": "x [m]", "ylabel": "y [m]", "equal": True, "overlay": [commanded],
            "caption": "Commanded path, driven path, and path by odometry.",
        },
        {
            "name": "cross-track", "title": "Distance from the path", "kind": "lines", "x": "path/progress",
            "y": ["path/cross_track_error", "odometry/position_error"], "xlabel": "along the path [m]",
            "ylabel": "error [m]",
            "caption": "Cross-track error (positive to the left), and error of the odometry.",
        },
        {
            "name": "slip", "title": "Slip of the wheels", "kind": "lines", "y": ["wheel/slip"],
            "ylabel": "slip [1]", "window": driving,
            "caption": "Over half a second each: driving 1 - v/(r w), braking r w/v - 1, r of the rim.",
        },
        {
            "name": "sinkage", "title": "Sinkage of the wheels", "kind": "lines", "y": ["soil/sinkage"],
            "ylabel": "sinkage [m]", "window": driving,
            "caption": "From the undisturbed surface down to the lowest point of the wheel.",
        },
        {
            "name": "steering", "title": "Steering angles", "kind": "lines",
            "y": [f"joint/position[{name}]" for name in STEERS], "ylabel": "angle [rad]",
            "caption": "Of the steering joints, positive to the left.",
        },
        {
            "name": "power", "title": "Power of the motors", "kind": "lines", "y": ["power/total", "power/mean"],
            "ylabel": "power [W]", "caption": "Mechanical power of all drive and steering motors, and its mean so far.",
        },
        {
            "name": "tip-over", "title": "Tip-over margin", "kind": "lines", "y": ["tip_over/margin"],
            "ylabel": "margin [rad]", "window": driving,
            "caption": "Smallest angle between effective gravity and an edge of the support polygon; below 0 the "
            "rover tips over.",
        },
        soil_map("Height above the undisturbed surface: the tracks of six wheels.", ["body/pose[chassis]"]),
    ]  # fmt: skip


def measure(s: RoverCourse, recording: Recording) -> dict[str, Any]:
    ended = recording["path/ended"] > 0
    last = int(np.argmax(ended)) if ended.any() else len(ended) - 1
    driving = slice(int(np.searchsorted(recording.time, SETTLING)), last + 1)
    distance, energy = recording["travel/distance"], recording["energy/total"]
    moving = recording["drive/waiting"][driving] == 0
    travelled = float(distance[last] - distance[driving.start])
    work = float(energy[last] - energy[driving.start])
    time = float(recording.time[last] - recording.time[driving.start])
    return {
        "course_completed": bool(ended.any()),
        "cross_track_error_max_m": float(np.nanmax(np.abs(recording["path/cross_track_error"][driving]))),
        "odometry_error_rel": float(recording["odometry/position_error"][last]) / travelled
        if travelled > 0
        else math.nan,
        "distance_m": travelled,
        "energy_per_metre_J": work / travelled if travelled > 0 else math.nan,
        "power_mean_W": work / time if time > 0 else math.nan,
        "tip_over_margin_min_deg": math.degrees(float(np.nanmin(recording["tip_over/margin"][driving]))),
        "slip_mean": float(np.mean(recording["wheel/slip"][driving][moving])),
        "sinkage_max_m": float(recording["soil/sinkage"][driving].max()),
    }


SCENARIO = scenario_of(
    __name__, RoverCourse,
    summary="a six-wheel rover drives a course on soil, steered by a path controller",
    source="no paper; rover of Krenn and Hirzinger 2009, section III.E",
)  # fmt: skip
