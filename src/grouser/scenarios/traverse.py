"""A rover drives along way points over an elevation model, as far as a kilometre: energy and slip along the way.

The rover is that of `grouser.robots.exomars` with faster drives. Without a terrain of yours it drives over the shape of
a real elevation model, the Jacksboro fault (`terrain.jacksboro`), made smaller and flatter. The model's nodes lie
metres apart; what it does not show is roughness by a law (`grouser.terrain.roughness`). Ground behind the rover comes
to rest in little memory (`grouser.terrain.resting`).
"""

from __future__ import annotations

import dataclasses
import math
from typing import Annotated, Any

import mujoco
import numpy as np
import pydantic
from pydantic_core import PydanticCustomError

from grouser.contact.soil import SoilModule, SoilOptions
from grouser.control import Drive, GroundSpeed, Path, PathFollower, PowerMeter, TipOver, Wheels, WheelSlip
from grouser.control.memoryless import Memoryless
from grouser.errors import InputError
from grouser.module import Channel
from grouser.recording import Recording
from grouser.robots import exomars
from grouser.robots.exomars import ExoMars
from grouser.scenarios import traverse_ground as terrain
from grouser.scenarios import traverse_rocks as stones
from grouser.scenarios.quantity import Unit
from grouser.scenarios.robot import TerrainChoice
from grouser.scenarios.rocky_ground import Hoist, Tread
from grouser.scenarios.rover_course import BODIES, DRIVES, SETTLING, STEERS
from grouser.scenarios.scenario import Settings, metric, scenario_of
from grouser.scenarios.sensor_choice import Sensors, mount
from grouser.scenarios.soil_choice import SoilChoice
from grouser.scenarios.soil_laws import SoilLaws
from grouser.scenarios.traverse_ground import RoughnessChoice
from grouser.scenarios.traverse_rocks import TraverseRocks
from grouser.scenarios.wheel_theory import rolling_wheel
from grouser.simulation import Simulation
from grouser.terrain import resting
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.ground import Ground
from grouser.terrain.rocks import Rock

RATE = 4.0  # [Hz] recording rate: 75 mm between two frames at 0.3 m/s
TILE_RATE = 0.25  # [Hz] at which changed ground is recorded: every 1.2 m at 0.3 m/s
LARGEST_STEP = 8e-3  # [s]
PART = 0.4  # [cells] travel of a wheel in a part of a step
FASTER = 25 / 24  # speed of a wheel over that of the rover, in bends and over bumps (assumed)
LIVE_TILES = 128  # tiles in use above which ground behind the rover comes to rest
SLACK = 1.15  # duration / duration at the wanted speed
OVER = 2.0  # [m] of the way over which energy and slip are drawn
PER_RUT = 60.0  # [MB/km] memory allowed for the rut of a wheel
IN_USE = 6.5  # [MB] 128 tiles in use and half as many again, which come under the wheels before others come to rest
RUTS = 2  # of six wheels that follow each other
FRONT = 1 / 6  # of the weight on a front wheel, which makes a rut: on level ground all wheels carry the same

Metres = Annotated[float, pydantic.Field(gt=0), Unit("m")]
Coordinate = Annotated[float, Unit("m")]
# A kilometre east over the default model, with bends; smallest radius about 200 m.
ROUTE = tuple(zip(
    (-480.0, -380.0, -280.0, -180.0, -80.0, 20.0, 120.0, 220.0, 320.0, 420.0, 520.0),
    (552.0, 560.0, 566.0, 558.0, 544.0, 538.0, 546.0, 560.0, 566.0, 558.0, 552.0),
    strict=True,
))  # fmt: skip

FIELDS: dict[str, Any] = {f.name: (type(f.default), f.default) for f in dataclasses.fields(ExoMars)}
TraverseRover: type[Settings] = pydantic.create_model(
    "TraverseRover",
    __base__=Settings,
    __doc__="Parameters of the rover, as in `grouser.robots.exomars.ExoMars`, with drives for 0.3 m/s.",
    **{**FIELDS, "drive_speed": (float, 3.5)},
)


class Traverse(SoilLaws):
    """Settings of `traverse`."""

    soil: SoilChoice = SoilChoice(name="dry-sand")
    terrain: TerrainChoice | None = None  # elevation model: GeoTIFF, PDS, …; None: the Jacksboro fault, smaller
    waypoints: tuple[tuple[Coordinate, Coordinate], ...] = ROUTE  # on the terrain, whose middle is (0, 0)
    length: Metres | None = 30.0  # of the way that is driven; None: all of it
    speed: Annotated[float, pydantic.Field(gt=0, le=1), Unit("m/s")] = 0.3
    look_ahead: Metres = 1.2
    roughness: RoughnessChoice = RoughnessChoice()
    rocks: TraverseRocks | None = None  # {}: rocks of 0.1 to 0.2 m, see docs/traverse.md
    tread: Tread = Tread()  # of the wheels on rocks
    rover: TraverseRover = TraverseRover()  # type: ignore[valid-type]
    gravity: Annotated[float, pydantic.Field(gt=0), Unit("m/s^2")] = exomars.MARS
    spacing: Metres = 0.01
    step: Annotated[float, pydantic.Field(gt=0, le=0.02), Unit("s")] | None = None  # None: by speed, 6.4 ms at 0.3 m/s
    part_travel: Annotated[float, pydantic.Field(gt=0)] = PART  # [cells] see `SoilOptions.part_travel`
    erosion: bool = True
    live_tiles: Annotated[int, pydantic.Field(ge=1)] = LIVE_TILES
    sensors: Sensors = ()  # {kind: lidar, body: chassis, …}, see docs/sensors.md

    @pydantic.field_validator("waypoints")
    @classmethod
    def _check_way(cls, value: Any) -> Any:
        try:
            Path(value)
        except InputError as error:
            raise PydanticCustomError("path", "{text}", {"text": str(error).split(": ", 1)[1]}) from None
        return value

    @property
    def way(self) -> Path:
        return terrain.way_of(self.waypoints, self.length)

    @property
    def chosen_step(self) -> float:
        """Longest step [s] in which a wheel travels half a part: docs/traverse.md says what the step's error is."""
        return self.step or min(LARGEST_STEP, 0.5 * self.part_travel * self.spacing / (FASTER * self.speed))

    @property
    def parameters(self) -> ExoMars:
        return ExoMars(**self.rover.model_dump())  # type: ignore[attr-defined]

    def ground(self) -> ElevationGrid:
        """Ground around the whole way, so that a shorter drive meets the same."""
        model = terrain.default_model() if self.terrain is None else self.terrain.read()
        return terrain.rough_ground(model, terrain.way_of(self.waypoints, None), self.roughness)

    def rocks_on(self, ground: ElevationGrid) -> tuple[Rock, ...]:
        """Rocks along the part of the way that is driven."""
        p = self.parameters
        return () if self.rocks is None else self.rocks.near(self.way, ground, p, stones.stance(p, self.way))


def build(s: Traverse) -> Simulation:
    p, way, elevation = s.parameters, s.way, s.ground()
    p.wheel_rate(s.speed)  # raises if the drives are too slow
    ground = Ground(elevation, s.soil.resolve(), s.spacing, live_tiles=s.live_tiles)
    surfaces = dict.fromkeys(BODIES, exomars.wheel_surface(p))
    soil = SoilModule(ground, surfaces, SoilOptions(erosion=s.erosion, part_travel=s.part_travel, **s.law_options()))
    spec = exomars.build(p, gravity=s.gravity)
    _place(spec, p, way, elevation)
    modules: list[Any] = [soil]
    if rocks := s.rocks_on(elevation):
        stones.show_rocks(spec, rocks)
        modules.append(stones.rock_contact(rocks, s))
    wheels = Wheels(exomars.wheel_positions(p), p.wheel_radius, np.full(6, p.steer_limit), DRIVES, STEERS)
    drive = Drive(wheels, wheel_rate_limit=p.drive_speed)
    follower = PathFollower(way, drive, s.speed, look_ahead=s.look_ahead, start=SETTLING)
    meters = [Hoist(p.mass * s.gravity), PowerMeter([*DRIVES, *STEERS]), TipOver(wheels), WheelSlip(wheels)]
    arrival = _Arrival(follower)
    sim = arrival.sim = Simulation(
        spec, modules, ground=ground,
        controllers=[*meters, follower, GroundSpeed(drive), drive, arrival], step=s.chosen_step,
    )  # fmt: skip
    sim.tile_rate = TILE_RATE
    memory = Channel("ground/memory", "MB", (), "", read=lambda: np.array([1e-6 * resting.memory_in_use(ground)]))
    sim.add_channel(memory)
    if rocks:
        sim.add_channel(Channel("rocks/share", "1", (), "", read=stones.share(modules[1], p.mass * s.gravity)))
    mount(sim, s.sensors)
    chassis, data = sim.model.body("chassis").id, sim.data
    sim.add_channel(Channel("rover/height", "m", (), read=lambda: np.array([data.xpos[chassis, 2]])))
    return sim


class _Arrival(Memoryless):
    """Ends the run when the rover has arrived."""

    period = 0.5

    def __init__(self, follower: PathFollower):
        self.follower = follower
        self.sim: Simulation | None = None

    def act(self, time: float, sensors: Any, command: Any) -> None:
        if self.sim is not None:
            self.sim.finished = bool(self.follower.ended.all())


def _place(spec: mujoco.MjSpec, p: ExoMars, way: Path, ground: ElevationGrid) -> None:
    """Place the rover at the start of the way, on the plane through the ground under its wheels, above all of it."""
    start, heading = way.points[0], way.heading(0)
    under = stones.stance(p, way)
    heights = ground.height(under[:, 0], under[:, 1])
    plane = np.linalg.lstsq(np.column_stack([under - start, np.ones(6)]), heights, rcond=None)[0]
    normal = np.array([-plane[0], -plane[1], 1.0]) / math.sqrt(1 + plane[0] ** 2 + plane[1] ** 2)
    ahead = np.array([math.cos(heading), math.sin(heading), 0.0])
    ahead[2] = -(normal @ ahead) / normal[2]
    ahead /= np.linalg.norm(ahead)
    above = float((heights - plane[2] - (under - start) @ plane[:2]).max())
    chassis = spec.body("chassis")
    chassis.pos = np.array([*start, plane[2] + above + (p.longitudinal_pivot_height + p.grouser_height) / normal[2]])
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.column_stack([ahead, np.cross(normal, ahead), normal]).ravel())
    chassis.quat = quaternion


def duration(s: Traverse) -> float:
    """Time [s] for the way at the wanted speed, with slack; the run ends earlier if the rover has arrived."""
    return SETTLING + SLACK * s.way.length / s.speed + 5.0


def metrics(s: Traverse) -> list[dict[str, Any]]:
    return [
        metric(
            "arrived", "1", "the path controller reports the end of the way",
            True, None, f"the run lasts {SLACK:g} times as long as the way takes at the wanted speed",
        ),
        metric("distance_m", "m", "path length of the chassis' origin"),
        metric("climb_m", "m", "sum of all rises of the chassis' origin"),
        metric("slope_max_deg", "degree", f"largest slope of the way of the chassis over {OVER:g} m"),
        metric("cross_track_error_max_m", "m", "largest distance of the chassis' origin from the way"),
        metric("energy_per_metre_J", "J/m", "mechanical work of all drive and steering motors over distance_m"),
        metric(
            "level_energy_per_metre_J", "J/m", "the same less the rover's weight times its gain of height",
            *_least_work(s),
        ),
        metric("slip_mean", "1", "mean over wheels and time of the drive; 1 - v/(r w), braking r w/v - 1, r the rim's"),
        metric("slip_worst", "1", f"largest mean slip of the six wheels over {OVER:g} m of the way"),
        metric("sinkage_mean_m", "m", "sinkage, mean over wheels and time of the drive"),
        metric("tip_over_margin_min_deg", "degree", "smallest angle between effective gravity and a tipping edge"),
        metric(
            "ground_memory_MB", "MB", "memory of the ground that the rover has come near, at the end",
            None, {"max": IN_USE + RUTS * PER_RUT * s.way.length / 1e3},
            f"{PER_RUT:g} MB a kilometre for each of two ruts, and {IN_USE:g} MB around the rover",
        ),
        *_rock_metrics(s),
        metric("real_time_factor", "1", "simulated time over wall time of the loop"),
    ]  # fmt: skip


def _rock_metrics(s: Traverse) -> list[dict[str, Any]]:
    if s.rocks is None:
        return []
    ground = s.ground()
    over = stones.share_over_rocks(s.rocks_on(ground), s.way, ground, s.parameters)
    least = {"min": stones.CROSSED * over} if over > 0 else None
    source = f"geometry: {stones.CROSSED:g} of the share of the tracks over rocks, as the rover keeps to the way"
    return [
        metric(
            "rock_load_share", "1", "vertical force of rocks on the wheels over the rover's weight, mean",
            None, least, source if least else None,
        ),
        metric("penetration_max_m", "m", "largest penetration of a wheel into a rock"),
    ]  # fmt: skip


def _least_work(s: Traverse) -> tuple[Any, Any, Any]:
    """Least work [J/m]: the two front wheels compact new soil; grip, climbs and the wheels behind come on top."""
    p = s.parameters
    try:
        towed = rolling_wheel(
            s.soil.resolve(), radius=p.wheel_radius, width=p.wheel_width, load=FRONT * p.mass * s.gravity,
            slip=0.0, friction=False,
        )  # fmt: skip
    except InputError:  # beyond the theory
        return None, None, None
    return None, {"min": -RUTS * towed.drawbar_pull}, "rigid wheel integrals (docs/theory/soil.md): two towed wheels"


def figures(s: Traverse) -> list[dict[str, Any]]:
    points = np.array(s.waypoints)
    way = {"label": "way points", "style": "points", "x": points[:, 0].tolist(), "y": points[:, 1].tolist()}
    on_map = {"kind": "route", "path": "body/pose[chassis]", "along": "travel/distance", "over": OVER, "overlay": [way]}
    return [
        {
            "name": "energy-map", "title": "Energy along the way", "value": "energy/total", "rate": True,
            "label": "energy [J/m]", **on_map,
            "caption": f"Work of all motors per metre, over {OVER:g} m; heights of the ground in grey.",
        },
        {
            "name": "slip-map", "title": "Slip along the way", "value": "wheel/slip", "label": "slip [1]", **on_map,
            "caption": f"Mean slip of the six wheels over {OVER:g} m; heights of the ground in grey.",
        },
        {
            "name": "energy", "title": "Energy of the motors", "kind": "lines", "x": "travel/distance",
            "y": ["energy/total"], "xlabel": "driven [m]", "ylabel": "energy [J]",
            "caption": "Mechanical work of all drive and steering motors; braking recovers nothing.",
        },
        {
            "name": "slip", "title": "Slip of the wheels", "kind": "lines", "x": "travel/distance",
            "y": ["wheel/slip"], "xlabel": "driven [m]", "ylabel": "slip [1]", "window": [SETTLING + 2.0, None],
            "caption": "Over half a second each: driving 1 - v/(r w), braking r w/v - 1, r of the rim.",
        },
        {
            "name": "height", "title": "Height of the rover", "kind": "lines", "x": "travel/distance",
            "y": ["rover/height"], "xlabel": "driven [m]", "ylabel": "height [m]",
            "caption": "Of the chassis' origin.",
        },
        {
            "name": "memory", "title": "Memory of the ground", "kind": "lines", "x": "travel/distance",
            "y": ["ground/memory"], "xlabel": "driven [m]", "ylabel": "memory [MB]",
            "caption": "Of the ground that the rover has come near: in use, and at rest behind it.",
        },
    ]  # fmt: skip


def measure(s: Traverse, recording: Recording) -> dict[str, Any]:
    ended = recording["path/ended"] > 0
    last = int(np.argmax(ended)) if ended.any() else len(ended) - 1
    driving = slice(int(np.searchsorted(recording.time, SETTLING)), last + 1)
    way, place = recording["travel/distance"][driving], recording["body/pose[chassis]"][driving]
    energy, memory = recording["energy/total"][driving], recording["ground/memory"][driving]
    travelled = float(way[-1] - way[0])
    if travelled <= 0:
        return {"arrived": False, "distance_m": travelled}
    moving = recording["drive/waiting"][driving] == 0
    slip = recording["wheel/slip"][driving]
    work, gained = float(energy[-1] - energy[0]), float(place[-1, 2] - place[0, 2])
    places = np.arange(way[0], way[-1], OVER)
    height = np.interp(places, way, place[:, 2])
    rolled = np.interp(places, way, np.concatenate([[0.0], np.cumsum(np.diff(way) * slip[1:].mean(axis=1))]))
    return {
        "arrived": bool(ended.any()),
        "distance_m": travelled,
        "climb_m": float(np.maximum(np.diff(height), 0).sum()),
        "slope_max_deg": math.degrees(math.asin(float(np.abs(np.diff(height)).max(initial=0)) / OVER)),
        "cross_track_error_max_m": float(np.nanmax(np.abs(recording["path/cross_track_error"][driving]))),
        "energy_per_metre_J": work / travelled,
        "level_energy_per_metre_J": (work - s.parameters.mass * s.gravity * gained) / travelled,
        "slip_mean": float(np.mean(slip[moving])),
        "slip_worst": float((np.diff(rolled) / OVER).max(initial=0.0)),
        "sinkage_mean_m": float(recording["soil/sinkage"][driving].mean()),
        "tip_over_margin_min_deg": math.degrees(float(np.nanmin(recording["tip_over/margin"][driving]))),
        "ground_memory_MB": float(memory[-1]),
        **({} if s.rocks is None else stones.measures(recording, driving)),
    }


SCENARIO = scenario_of(
    __name__, Traverse, rate=RATE,
    summary="a six-wheel rover drives over an elevation model, up to a kilometre: energy and slip along the way",
    source="no paper; rover of Krenn and Hirzinger 2009, section III.E; roughness by Shepard et al. 2001",
)  # fmt: skip
