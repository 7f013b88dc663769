"""Shared parts of the scenarios on rocks: rock field, surfaces of wheels and rocks, drive, channels and metrics.

Paper: Krenn et al. 2008, Table 1 (rocks), section 3 and Fig. 9-11 (a rover at about 7 m in 15 min).
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import numpy as np
import pydantic
from pydantic_core import PydanticCustomError

from grouser.contact.polygonal import Layer, Pair, PolygonalModule, Shape, merged, shape
from grouser.contact.polygonal.wheel import wheel_mesh
from grouser.contact.refinement import check_piece_count, piece_count
from grouser.control import Drive, Path, PathFollower, PowerMeter, Wheels
from grouser.control.memoryless import Memoryless
from grouser.errors import InputError
from grouser.module import Channel
from grouser.recording import Recording
from grouser.robots import exomars
from grouser.robots.exomars import ExoMars
from grouser.scenarios.quantity import Unit
from grouser.scenarios.rover_course import BODIES, DRIVES, STEERS, Rover
from grouser.scenarios.scenario import Settings, metric
from grouser.simulation import Simulation
from grouser.terrain.rocks import BURIAL, VIKING_1, RockField, SizeTable, golombek_rapp, power_law, rock_field

PAPER = "Krenn et al. 2008"
PAPER_SPEED = 7.0 / 900.0  # [m/s], "about 7m/15min"
SETTLING = 2.0  # [s] for which the rover stands before it drives
LOWERING = 1.5  # [s] in which the rover is set down; if dropped, it would start in holes in the sand
BEHIND, AHEAD, BESIDE = 1.2, 1.2, 1.2  # [m] margins of the rock field around the path of the rover's centre
LONGEST = 7.0  # [m] the paper's drive; the field is at least as long, so that a short drive crosses the same rocks
NEAR = 0.4  # [m] largest lateral distance between the centres of a wheel and a rock that may touch
FREE = 0.03  # [m] clearance between wheels and rocks at the start (assumed)
WEIGHT_TOLERANCE = 0.005  # the ground carries the weight of the rover: it neither jumps nor falls
RATE = 25.0  # [Hz] recording rate: wheels travel a third of a millimetre between two frames
UPRIGHT = 1 - 1e-9  # z of a normal above which a face is level ground; no face of a rock is that level

Metres = Annotated[float, pydantic.Field(gt=0), Unit("m")]
Share = Annotated[float, pydantic.Field(ge=0, lt=1)]


class Rocks(Settings):
    """Sizes and places of the rocks."""

    law: Literal["viking-1", "golombek-rapp", "power", "table"] = "viking-1"  # viking-1: Krenn et al. 2008, Table 1
    abundance: Annotated[float, pydantic.Field(gt=0, lt=1)] = 0.07  # golombek-rapp: k, share of the ground covered
    coefficient: Annotated[float, pydantic.Field(gt=0)] = 0.01  # power: N(D) = coefficient D^-exponent [1/m^2]
    exponent: Annotated[float, pydantic.Field(gt=0)] = 2.0
    least: Metres = 0.04  # golombek-rapp, power: smallest diameter
    most: Metres = 0.4  # and largest
    table: tuple[tuple[float, float], ...] = ()  # table: diameter [m], number of rocks of this size or larger [1/m^2]
    burial: tuple[Share, Share] = BURIAL  # share of a rock's height below ground, smallest and largest
    longest_edge: Metres | None = (
        None  # faces are divided down to this, each with a stick point of its own; None: as made
    )

    @pydantic.model_validator(mode="after")
    def _check_size_law(self) -> Rocks:
        try:
            self.sizes()
        except InputError as error:
            raise PydanticCustomError("rocks", "{text}", {"text": str(error)}) from None
        if self.burial[0] > self.burial[1]:
            raise PydanticCustomError("rocks", "burial: the first share must not be above the second")
        return self

    def sizes(self):
        """The chosen size-frequency law."""
        if self.law == "golombek-rapp":
            return golombek_rapp(self.abundance, self.least, self.most)
        if self.law == "power":
            return power_law(self.coefficient, self.exponent, self.least, self.most)
        if self.law == "table":
            return SizeTable(tuple(d for d, _ in self.table), tuple(n for _, n in self.table))
        return VIKING_1


class Tread(Settings):
    """The wheel as rocks meet it: a plain cylinder with round shoulders and an elastic layer; all values assumed.

    The layer stands for the give of a sprung metal wheel. Against rigid rock kappa = (1 - 2 nu)/4 (Krenn et al. 2008,
    eq. 3), so a large Poisson ratio keeps it near 0, where the layer model holds for tangential contact too.
    """

    young: Annotated[float, pydantic.Field(gt=0), Unit("Pa")] = 5e6
    poisson: Annotated[float, pydantic.Field(gt=-1, lt=0.45)] = 0.42
    thickness: Metres = 0.02
    shoulder: Metres = 0.015  # radius of the edges between tread and sides
    relaxation: Annotated[float, pydantic.Field(ge=0), Unit("s")] = 1e-3  # damping / stiffness
    friction_stick: Annotated[float, pydantic.Field(ge=0)] = 0.7
    friction_slip: Annotated[float, pydantic.Field(ge=0)] = 0.6

    @pydantic.model_validator(mode="after")
    def _check_layer(self) -> Tread:
        if self.friction_slip > self.friction_stick:
            raise PydanticCustomError("tread", "friction_slip must not be above friction_stick")
        return self

    @property
    def layer(self) -> Layer:
        plain = Layer(self.young, self.poisson, self.thickness)
        return Layer(
            self.young, self.poisson, self.thickness, damping=self.relaxation * plain.stiffness,
            friction_stick=self.friction_stick, friction_slip=self.friction_slip, name="tread",
        )  # fmt: skip


class RockyDrive(Settings):
    """A rover drives straight on through rocks; what both scenarios may be told."""

    time: Annotated[float, pydantic.Field(gt=0, le=36000), Unit("s")] = 90.0  # driving time; in the paper 15 min
    speed: Annotated[float, pydantic.Field(gt=0, le=0.1), Unit("m/s")] = PAPER_SPEED
    seed: Annotated[int, pydantic.Field(ge=0)] = 4
    rocks: Rocks = Rocks()
    tread: Tread = Tread()
    rover: Rover = Rover()  # type: ignore[valid-type]
    gravity: Annotated[float, pydantic.Field(gt=0), Unit("m/s^2")] = exomars.MARS
    step: Annotated[float, pydantic.Field(gt=0, le=0.02), Unit("s")] | None = None  # None: 5 ms

    @property
    def parameters(self) -> ExoMars:
        return ExoMars(**self.rover.model_dump())  # type: ignore[attr-defined]

    @property
    def rectangle(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Size and corner [m] of the rock field: everything the rover may come near."""
        length = max(self.speed * self.time, LONGEST)
        return (BEHIND + length + AHEAD, 2 * BESIDE), (-BEHIND, -BESIDE)


def field_of(s: RockyDrive, movable_below: float = 0.0) -> RockField:
    """The rock field, without rocks where the wheels start. Movable rocks only where the wheels may come."""
    p, (size, corner) = s.parameters, s.rectangle
    beside = p.track / 2 + NEAR
    near = (p.rear_x - NEAR, p.front_x + s.speed * s.time + NEAR, -beside, beside)
    free = math.hypot(p.wheel_radius, p.wheel_width / 2) + FREE
    return rock_field(
        s.rocks.sizes(), size=size, origin=corner, seed=s.seed, burial=s.rocks.burial, movable_below=movable_below,
        movable_within=near,
        keep_out=[(x, y, free) for x, y in exomars.wheel_positions(p).tolist()],
    )  # fmt: skip


def wheel_shape(p: ExoMars, tread: Tread) -> Shape:
    """A wheel without grousers."""
    return shape(*wheel_mesh(p.wheel_radius, p.wheel_width, tread.shoulder), tread.layer, name="wheel")


def rock_shape(s: RockyDrive, field: RockField) -> Shape:
    """All fixed rocks as one rigid surface."""
    if not field.fixed:
        raise InputError(
            f"rocks: no fixed rock lies on {field.size[0]:g} m x {field.size[1]:g} m; allowed are 1 or more"
        )
    rigid, longest = rigid_layer(s.tread), s.rocks.longest_edge
    if longest is not None:
        pieces = sum(piece_count(r.world_vertices, r.triangles, longest) for r in field.fixed)
        check_piece_count(pieces, "rocks: longest_edge", longest)
    parts = [
        shape(r.world_vertices, r.triangles, rigid, longest_edge=longest, check_intersections=False, name=r.name)
        for r in field.fixed
    ]
    return merged(parts, "rocks")


def rock_pair(wheel: str, rocks: str = "rocks", **more: Any) -> Pair:
    """Contact pair with elements on the rocks. Forces then act along the normals of the wheel, which is the soft body.

    With forces along the normals of the rock's faces, a wheel without friction would climb an edge by turning.
    """
    return Pair(wheel, rocks, elements=rocks, **more)


def rigid_layer(tread: Tread) -> Layer:
    """Layer of a rigid rock. The friction is that of the pair."""
    return Layer(math.inf, friction_stick=tread.friction_stick, friction_slip=tread.friction_slip, name="rock")


def controllers(s: RockyDrive) -> list[Any]:
    """Controllers: set the rover down, drive straight and hold the line by steering; a meter for the motors."""
    p = s.parameters
    p.wheel_rate(s.speed)  # raises if the drives are too slow
    wheels = Wheels(exomars.wheel_positions(p), p.wheel_radius, np.full(6, p.steer_limit), DRIVES, STEERS)
    drive = Drive(wheels, wheel_rate_limit=p.drive_speed)
    line = Path([(0.0, 0.0), (s.rectangle[0][0], 0.0)])
    hoist = Hoist(p.mass * s.gravity)
    return [hoist, PowerMeter([*DRIVES, *STEERS]), PathFollower(line, drive, s.speed, start=SETTLING), drive]


class Hoist(Memoryless):
    """Sets the rover down. It carries all of the weight at first and linearly less, down to nothing after LOWERING."""

    period = LOWERING / 100

    def __init__(self, weight: float):
        self.weight = weight  # [N]

    def act(self, time: float, sensors: Any, command: Any) -> None:
        sensors.qfrc_applied[2] = self.weight * max(0.0, 1 - time / LOWERING)  # z of the free joint, the first joint


class RockContact(PolygonalModule):
    """Polygonal contact that does not record its patch, which has hundreds of elements in every frame."""

    def channels(self) -> list[Channel]:
        return [channel for channel in super().channels() if channel.kind != "ragged"]


def add_channels(sim: Simulation, polygonal: PolygonalModule, field: RockField, weight: float) -> None:
    """Add channels: positions of the wheels, number of rocks each touches, share of the weight that is carried."""
    bodies = np.array([sim.model.body(name).id for name in BODIES])
    data, outputs = sim.data, [slot.out for slot in sim.engine.slots]
    circles = np.array([(*rock.position[:2], rock.reach) for rock in field.rocks])
    loose = np.array([k for k, rock in enumerate(field.rocks) if rock.movable], int)
    loose_bodies = np.array([sim.model.body(rock.name).id for rock in field.movable], int)

    def along(axis: int):
        return lambda: data.xpos[bodies, axis][None]

    def carried() -> np.ndarray:
        return np.array([sum(float(out.effective.numpy()[0, : len(bodies), 2].sum()) for out in outputs) / weight])

    def touched() -> np.ndarray:
        circles[loose, :2] = data.xpos[loose_bodies, :2]
        return rocks_touched(polygonal.patch(), data.xpos[bodies], circles)[None]

    for name, axis in (("x", 0), ("y", 1), ("z", 2)):
        sim.add_channel(Channel(f"wheel/{name}", "m", (6,), labels=BODIES, read=along(axis)))
    sim.add_channel(Channel("rocks/touched", "1", (6,), "", labels=BODIES, read=touched))
    sim.add_channel(Channel("weight/carried", "1", frame="", read=carried))


def rocks_touched(patch: np.ndarray, wheels: np.ndarray, circles: np.ndarray) -> np.ndarray:
    """Number of rocks that each wheel touches, (wheel,).

    Elements in contact, (element, 8), belong to the nearest wheel, (wheel, 3) [m], and to the rock in whose circle
    (x, y, radius) [m] they lie. Circles do not overlap. Elements on level ground belong to no rock.
    """
    counts = np.zeros(len(wheels))
    patch = patch[patch[:, 5] < UPRIGHT]
    if not len(patch):
        return counts
    wheel = np.linalg.norm(patch[:, None, :3] - wheels, axis=2).argmin(axis=1)
    rock = (np.hypot(patch[:, :1] - circles[:, 0], patch[:, 1:2] - circles[:, 1]) - circles[:, 2]).argmin(axis=1)
    for number in np.unique(wheel * len(circles) + rock) // len(circles):
        counts[number] += 1
    return counts


# ---- metrics and figures ----------------------------------------------------------------------------------


def shared_metrics(distance: tuple[Any, Any, Any] = (None, None, None)) -> list[dict[str, Any]]:
    """`distance`: expected value, tolerance and source."""
    return [
        metric("drive_torque_peak_Nm", "N m", "largest absolute torque of a drive motor"),
        metric("steer_torque_peak_Nm", "N m", "largest absolute torque of a steering motor"),
        metric("drive_power_peak_W", "W", "largest mechanical power of a drive motor, mean over 0.05 s"),
        metric("drive_power_mean_W", "W", "mean mechanical power of a drive motor, over the drive and all six motors"),
        metric("distance_m", "m", "distance of the chassis along x", *distance),
        metric("contact_pairs_max", "1", "largest number of wheel and rock pairs in contact at the same time"),
        metric("penetration_max_m", "m", "largest penetration of a wheel into a rock or the hard ground"),
        metric(
            "weight_carried", "1", "vertical force on all wheels over the rover's weight, mean over the drive",
            1.0, {"abs": WEIGHT_TOLERANCE}, "balance of momentum",
        ),
        metric("real_time_factor", "1", "simulated time over wall time of the loop"),
    ]  # fmt: skip


def shared_measures(recording: Recording) -> dict[str, Any]:
    driving = recording.time >= SETTLING

    def of(channel: str) -> np.ndarray:
        return recording[channel][driving]

    def peak(names: tuple[str, ...]) -> float:
        return max(float(np.abs(of(f"actuator/force[{name}]")).max()) for name in names)

    power = np.column_stack([of(f"power/actuator[{name}]") for name in DRIVES])
    energy = np.array([np.ptp(of(f"energy/actuator[{name}]")) for name in DRIVES])
    x = of("body/pose[chassis]")[:, 0]
    return {
        "drive_torque_peak_Nm": peak(DRIVES),
        "steer_torque_peak_Nm": peak(STEERS),
        "drive_power_peak_W": float(power.max()),
        "drive_power_mean_W": float(energy.mean() / np.ptp(recording.time[driving])),
        "distance_m": float(x[-1] - x[0]),
        "contact_pairs_max": int(of("rocks/touched").sum(axis=1).max()),
        "penetration_max_m": float(of("polygonal/penetration").max()),
        "weight_carried": float(of("weight/carried").mean()),
    }


def duration(s: RockyDrive) -> float:
    return SETTLING + s.time


def shared_figures(outlines: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "name": "drive-torque", "title": "Torque of the drive motors", "kind": "lines",
            "y": [f"actuator/force[{name}]" for name in DRIVES], "ylabel": "torque [N m]",
            "caption": "Krenn et al. 2008, Fig. 10. Positive drives forward; middle wheels lag where front "
            "wheels pull.",
        },
        {
            "name": "steer-torque", "title": "Torque of the steering motors", "kind": "lines",
            "y": [f"actuator/force[{name}]" for name in STEERS], "ylabel": "torque [N m]",
            "caption": "Krenn et al. 2008, Fig. 11. Positive turns the wheel to the left.",
        },
        {
            "name": "drive-power", "title": "Power of the drive motors", "kind": "lines",
            "y": [f"power/actuator[{name}]" for name in DRIVES], "ylabel": "power [W]",
            "caption": "Mechanical power, mean over 0.05 s; braking counts as 0.",
        },
        {
            "name": "height", "title": "Height of the wheels", "kind": "lines", "x": "wheel/x", "y": ["wheel/z"],
            "xlabel": "x of the wheel [m]", "ylabel": "height of the axle [m]",
            "caption": "Each wheel at its own x: wheels in line climb the same rocks.",
        },
        {
            "name": "field", "title": "The rocks from above", "kind": "xy", "x": "wheel/x", "y": ["wheel/y"],
            "xlabel": "x [m]", "ylabel": "y [m]", "equal": True, "overlay": [outlines],
            "caption": "Outlines of the rocks and the paths of the six wheels.",
        },
    ]  # fmt: skip


def rock_outlines(s: RockyDrive, field: RockField) -> dict[str, Any]:
    """Convex outlines of the rocks as one curve with gaps, as far as the rover may come."""
    angle = np.linspace(0, 2 * math.pi, 37)
    directions = np.column_stack([np.cos(angle), np.sin(angle)])
    x, y = [], []
    for rock in field.rocks:
        if rock.position[0] < s.speed * s.time + AHEAD:
            plan = rock.world_vertices[:, :2]
            outline = np.round(plan[(plan @ directions.T).argmax(axis=0)], 4)
            x += [*outline[:, 0].tolist(), None]
            y += [*outline[:, 1].tolist(), None]
    return {"label": "rocks", "style": "line", "x": x, "y": y}
