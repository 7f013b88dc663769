"""A user's robot on soil: the scenario of `grouser run --robot FILE`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pydantic
from pydantic_core import PydanticCustomError

from grouser.contact.soil import SoilOptions
from grouser.control import function
from grouser.engine.mujoco_warp import MujocoWarp
from grouser.errors import InputError
from grouser.module import Channel
from grouser.recording import Recording
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Batch, metric, scenario_of, soil_map
from grouser.scenarios.sensor_choice import Sensors, mount
from grouser.scenarios.soil_choice import SoilChoice
from grouser.scenarios.soil_laws import SoilLaws
from grouser.scenarios.terrain_choice import TerrainChoice, beside
from grouser.simulation import Simulation, on_soil
from grouser.simulation.loads import NOTED_LOAD
from grouser.simulation.placement import place_of
from grouser.simulation.step_choice import LONGEST_STEP
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.generators import slope
from grouser.terrain.soil_depth import DEEPEST

# Parts of the model that may follow from a start or a drive; in a batch all worlds have the same model.
FIXED = ("body_pos", "body_quat", "actuator_gainprm", "actuator_biasprm", "actuator_forcerange")
NAMELESS = ("", "MuJoCo Model")  # what MuJoCo calls a model without a name
CART = Path(__file__).with_name("cart.xml")
SLOPE_SIZE = 100.0  # [m] side of the inclined ground
Positive = pydantic.Field(gt=0)


class RobotOnSoil(SoilLaws):
    """Settings of `robot`; what is left out is the model's own or chosen, and the notes say which."""

    robot: Path | None = None  # MJCF or URDF; None: a four-wheel cart that comes with Grouser
    soil: SoilChoice = SoilChoice(name="dry-sand")
    bodies: str | tuple[str, ...] = ".*"  # regular expression, or a list of names
    drive: dict[str, float] = {}  # noqa: RUF012 - pydantic copies defaults; control by pattern of actuators or joints
    controller: Path | None = None  # Python file with a function control(time, data), which sets data.ctrl
    time: Annotated[float, Positive, Unit("s")] = 10.0
    gravity: Annotated[float, pydantic.Field(ge=0), Unit("m/s^2")] | None = None
    slope_deg: Annotated[float, pydantic.Field(gt=-60, lt=60), Unit("degree")] | None = None  # uphill along +x
    slope_direction_deg: Annotated[float, Unit("degree")] = 0.0  # uphill direction, from x towards y
    terrain: TerrainChoice | None = None
    soil_depth: Annotated[float, pydantic.Field(gt=0, le=DEEPEST), Unit("m")] | None = None  # None: unlimited
    soil_depth_map: TerrainChoice | None = None  # a map of depths instead, read like `terrain`
    soil_below: SoilChoice | None = None  # None: hard ground below that depth
    scale_with_gravity: bool = False  # true: k_phi times gravity / 9.81, for constants measured on Earth
    spacing: Annotated[float, Positive, Unit("m")] | None = None
    step: Annotated[float, pydantic.Field(gt=0, le=LONGEST_STEP), Unit("s")] | None = None
    base: Literal["auto", "free", "fixed"] = "auto"
    place: bool = True  # place the robot on the ground
    settle: bool | None = None  # whether it is then set down, to begin at rest; none: if it is placed
    at: tuple[float, ...] | None = None  # x, y [m] and heading [deg] of the start
    keyframe: str | None = None  # None: the model's first, if it has any
    merge_small_shapes: bool = True  # replace small shapes of a body that lie close together by their convex hull
    law: Literal["soil", "rft"] = "soil"  # rft: resistive force theory, docs/theory/rft.md
    erosion: bool = True
    friction: Literal["shear-displacement", "mohr-coulomb", "coulomb", "none"] = "shear-displacement"
    loose_cover: bool = True
    faces: bool = True  # steep faces of bodies push the soil ahead of them
    sensors: Sensors = ()  # {kind: lidar, body: chassis, …}, see docs/sensors.md
    dtype: Literal["float64", "float32"] = "float64"

    @pydantic.field_validator("robot", "controller")
    @classmethod
    def _check_file(cls, file: Path | None, info: pydantic.ValidationInfo) -> Path | None:
        return file and beside(file, info)

    @pydantic.field_validator("at", mode="before")
    @classmethod
    def _place(cls, given: Any) -> Any:
        """Take "1.5,0,90" as a list of numbers, as `--at` gives it."""
        try:
            numbers = [float(value) for value in given.split(",")] if isinstance(given, str) else given
            return None if numbers is None else place_of(numbers)
        except (ValueError, InputError):
            allowed = "allowed are x,y [m] or x,y,heading [deg], such as 1.5,0,90"
            raise PydanticCustomError("at", "{text}", {"text": f"{given!r}: {allowed}"}) from None

    @pydantic.field_validator("drive", mode="before")
    @classmethod
    def _whole_patterns(cls, given: Any) -> Any:
        """Join a pattern that was split at its dots, as dotted paths are."""
        return flattened(given) if isinstance(given, Mapping) else given

    @pydantic.model_validator(mode="after")
    def _one_ground(self) -> RobotOnSoil:
        if self.terrain is not None and self.slope_deg is not None:
            raise PydanticCustomError("ground", "terrain and slope_deg are both given; allowed is one of them")
        if self.soil_depth is not None and self.soil_depth_map is not None:
            raise PydanticCustomError("ground", "soil_depth and soil_depth_map are both given; allowed is one of them")
        return self

    def depth(self) -> float | ElevationGrid | None:
        return self.soil_depth if self.soil_depth_map is None else self.soil_depth_map.read()

    def ground(self) -> ElevationGrid | None:
        if self.terrain is not None:
            return self.terrain.read()
        if self.slope_deg is None:
            return None
        size = (SLOPE_SIZE, SLOPE_SIZE)
        return slope(self.slope_deg, self.slope_direction_deg, size=size, spacing=SLOPE_SIZE / 4)


def flattened(given: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Flatten {"motor": {"*": 1.0}} to {"motor.*": 1.0}."""
    out: dict[str, Any] = {}
    for key, value in given.items():
        out |= flattened(value, f"{above}{key}.") if isinstance(value, Mapping) else {f"{above}{key}": value}
    return out


def model_name(sim: Simulation) -> str:
    """Name of the model, which begins MuJoCo's list of names; empty if it has none."""
    name = sim.model.names.split(b"\0", 1)[0].decode()
    return "" if name in NAMELESS else name


def title(s: RobotOnSoil, sim: Simulation) -> str:
    """The robot by the name of its model, or of its file."""
    return model_name(sim) or (s.robot or CART).stem


def build(s: RobotOnSoil) -> Simulation:
    sim = _on_soil(s, s.soil.resolve())
    if s.controller is not None:
        sim.use_controllers([function.from_file(s.controller, sim.step_size)])
    for channel in channels(sim):
        sim.add_channel(channel)
    mount(sim, s.sensors)
    return sim


def _on_soil(s: RobotOnSoil, soil: Any, **more: Any) -> Simulation:
    options = SoilOptions(
        friction=s.friction, erosion=s.erosion, loose_cover=s.loose_cover, faces=s.faces, **s.law_options()
    )
    file = s.robot or CART
    try:
        return on_soil(
            file, soil, s.bodies, drive=s.drive, terrain=s.ground(), depth=s.depth(),
            below=s.soil_below and s.soil_below.resolve(), gravity=s.gravity, scale_with_gravity=s.scale_with_gravity,
            spacing=s.spacing,
            step=s.step, base=s.base, place=s.place, settle=s.settle, at=s.at, keyframe=s.keyframe,
            merge_small_shapes=s.merge_small_shapes, dtype=s.dtype, law=s.law,
            options=options if s.law == "soil" else None, **more,
        )  # fmt: skip
    except InputError as error:
        if not str(error).startswith(("model ", "link ")):
            raise
        raise InputError(f"robot {str(file)!r}: {error}") from None  # a model's name often does not tell the file


def _not_a_world(s: RobotOnSoil) -> str:
    """Why a case cannot be a world of a batch; empty if it can."""
    if s.settle is not False:
        return "worlds of a batch are not set down: allowed is settle = false"
    if s.step is None:
        return "worlds of a batch have one step, which each would choose by its soil: allowed is a step, such as 0.004"
    if s.controller is not None:
        return "controller: worlds on a device have none; allowed is drive"
    if s.sensors:
        return "sensors: worlds on a device have none"
    return "law = 'rft' is not allowed in a batch: allowed is soil" if s.law == "rft" else ""


def _shared(s: RobotOnSoil) -> str:
    """All but what may differ from world to world: soil, start and values of the drive."""
    return s.model_dump_json(exclude={"soil", "at", "drive"}) + ",".join(s.drive)


def _build_batch(cases: Sequence[RobotOnSoil], device: str) -> Simulation:
    """A world for each case, which starts as the case does alone. The stiffest soil decides on the parts of a step."""
    alone = [_on_soil(s, s.soil.resolve()) for s in cases]
    for one in alone[1:]:
        if differ := [
            name for name in FIXED if not np.array_equal(*(getattr(sim.model, name) for sim in (alone[0], one)))
        ]:
            raise InputError(f"cases with different {differ[0]} cannot be worlds of one batch")
    engine = partial(MujocoWarp, device=device)
    sim = _on_soil(
        cases[0], [s.soil.resolve() for s in cases], worlds=len(cases), device=device, engine=engine
    )  # fmt: skip
    sim.set_start(**{name: np.array([getattr(one.data, name) for one in alone]) for name in ("qpos", "ctrl")})
    sim.reset()
    for channel in channels(sim):
        sim.add_channel(channel)
    return sim


def channels(sim: Simulation) -> list[Channel]:
    """Channels of the whole robot, that is of every body tree that contains a soil body."""
    m = sim.model
    out = next(slot.out for slot in sim.engine.slots if slot.module is sim.soil)
    names, others = sim.soil.bodies, sim.loads.others if sim.loads is not None else ()
    roots = np.unique([m.body_rootid[m.body(name).id] for name in names])
    mass = m.body_subtreemass[roots]
    weight = float(mass.sum() * np.linalg.norm(m.opt.gravity))

    def floor() -> np.ndarray:
        assert sim.loads is not None
        sim.loads.sample(at_once=True)
        return sim.loads.floor_load

    def position() -> np.ndarray:
        return np.array([mass @ d.subtree_com[roots] / mass.sum() for d in sim.worlds_data])

    def power() -> np.ndarray:
        return np.array([np.maximum(d.qfrc_actuator * d.qvel, 0.0).sum() for d in sim.worlds_data])

    return [
        Channel("robot/position", "m", (3,), read=position),
        Channel("robot/weight", "N", frame="", read=lambda: np.full(sim.worlds, weight)),
        Channel("robot/power", "W", frame="", read=power),
        Channel("soil/load", "N", (len(names),), labels=names, read=lambda: out.effective.numpy()[..., 2]),
        Channel("floor/load", "N", (len(others),), labels=others, read=floor),
    ]


def metrics(s: RobotOnSoil) -> list[dict[str, Any]]:
    return [
        metric("distance_m", "m", "horizontal distance of the centre of mass from start to end"),
        metric("speed_m_s", "m/s", "distance over time"),
        metric("sinkage_max_m", "m", "largest depth of a soil body below the undisturbed ground"),
        metric("slip_mean", "1", "mean slip of the soil bodies while they touch soil"),
        metric("energy_J", "J", "work of the motors; energy that flows back into them is lost"),
        metric("power_mean_W", "W", "energy over time"),
        metric("cost_of_transport", "1", "energy over weight times distance"),
        metric("weight_N", "N", "mass times gravity"),
        metric("carried_rel", "1", "vertical force of the soil over the weight, mean of the last half"),
        metric("bodies", "1", "the soil bodies, in the order of the lists below"),
        metric("sinkage_per_body_m", "m", "largest depth of each"),
        metric("slip_per_body", "1", "mean slip of each while it touches soil"),
        metric("load_per_body_N", "N", "vertical force of the soil on each, mean of the last half"),
        metric("carries_nothing", "1", "soil bodies that carried no load during the complete run"),
        metric(
            "floor_bodies", "1", "bodies that were not chosen and touched the hard floor, in the order of the lists"
        ),
        metric("floor_load_max_N", "N", "vertical force of the hard floor on each, maximum"),
        metric("floor_load_mean_N", "N", "the same, mean of the last half"),
        metric("floor_load_from_s", "s", "time at which each first touched it"),
        metric("real_time_factor", "1", "simulated time over wall time of the loop"),
    ]


def figures(s: RobotOnSoil) -> list[dict[str, Any]]:
    def over_time(name: str, title: str, channel: str, label: str, caption: str) -> dict[str, Any]:
        return {
            "name": name, "title": title, "kind": "lines", "x": "time", "y": [channel], "xlabel": "time [s]",
            "ylabel": label, "caption": caption,
        }  # fmt: skip

    return [
        over_time(
            "sinkage", "Sinkage", "soil/sinkage", "sinkage [m]",
            "From the undisturbed ground down to the lowest point of each body.",
        ),
        over_time(
            "load", "Vertical force of the soil", "soil/load", "force [N]",
            "Force applied by the soil to each body in each step.",
        ),
        over_time(
            "slip", "Slip", "soil/slip", "slip [1]",
            "Driving 1 - v/u, braking u/v - 1; u is the speed of the lowest point about the body's origin, v that of "
            "the body. 0 where it touches no soil.",
        ),
        over_time("power", "Power of the motors", "robot/power", "power [W]", "Sum of the power given to each joint."),
        soil_map("Height above the undisturbed ground, and the path of the centre of mass.", ["robot/position"]),
    ]  # fmt: skip


def duration(s: RobotOnSoil) -> float:
    return s.time


def measure(s: RobotOnSoil, recording: Recording) -> dict[str, Any]:
    time, place = recording.time, recording["robot/position"]
    sinkage, slip, load, area = (recording[f"soil/{name}"] for name in ("sinkage", "slip", "load", "contact_area"))
    slip = np.where(area > 0, slip, np.nan)
    names = recording.channel_info("soil/sinkage").labels
    if len(time) < 2:
        raise InputError("robot: less than two frames were recorded; give a higher --rate")
    late = time >= (time[0] + time[-1]) / 2
    span, weight = float(time[-1] - time[0]), float(recording["robot/weight"][0])
    distance = float(np.hypot(*(place[-1] - place[0])[:2]))
    energy = float(np.trapezoid(recording["robot/power"], time))
    effort = weight * distance
    return {
        "distance_m": distance,
        "speed_m_s": distance / span,
        "sinkage_max_m": float(sinkage.max()),
        "slip_mean": _mean(slip),
        "energy_J": energy,
        "power_mean_W": energy / span,
        "cost_of_transport": energy / effort if effort > 0 else None,
        "weight_N": weight,
        "carried_rel": float(load[late].sum(axis=1).mean()) / weight if weight > 0 else None,
        "bodies": list(names),
        "sinkage_per_body_m": [float(value) for value in sinkage.max(axis=0)],
        "slip_per_body": [_mean(values) for values in slip.T],
        "load_per_body_N": [float(value) for value in load[late].mean(axis=0)],
        "carries_nothing": [name for name, idle in zip(names, _idle(recording, load), strict=True) if idle],
        **_floor_loads(recording, late, weight),
    }


def _idle(recording: Recording, load: np.ndarray) -> np.ndarray:
    """Whether each body, (body,), had no load in any frame and displaced no soil between frames."""
    return (load <= 0).all(axis=0) & (recording["soil/displaced_volume"][-1] <= 0)


def _floor_loads(recording: Recording, late: np.ndarray, weight: float) -> dict[str, list[Any] | None]:
    """Loads of bodies that are not soil bodies on the hard floor. Empty if there is no such body or no such floor."""
    channel = "floor/load"
    if "batch" in recording.header:  # where nobody watched them
        return dict.fromkeys(("floor_bodies", "floor_load_max_N", "floor_load_mean_N", "floor_load_from_s"))
    if channel not in recording.names():
        return {"floor_bodies": [], "floor_load_max_N": [], "floor_load_mean_N": [], "floor_load_from_s": []}
    names, load = recording.channel_info(channel).labels, recording[channel]
    stood = load > NOTED_LOAD * weight
    there = np.flatnonzero(stood.any(axis=0))
    return {
        "floor_bodies": [names[k] for k in there],
        "floor_load_max_N": [float(load[:, k].max()) for k in there],
        "floor_load_mean_N": [float(load[late, k].mean()) for k in there],
        "floor_load_from_s": [float(recording.time[stood[:, k].argmax()]) for k in there],
    }


def _mean(values: np.ndarray) -> float | None:
    """Mean without NaN; None if nothing is left."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else None


SCENARIO = scenario_of(
    __name__, RobotOnSoil,
    summary="your own robot on soil: grouser run --robot FILE",
    source="your MJCF or URDF; without one, a four-wheel cart",
    batch=Batch(shared=_shared, refused=_not_a_world, build=_build_batch),
)  # fmt: skip
