"""Shared parts of the scenarios with a whole tracked machine: settings, drive, pull, channels, metrics."""

from __future__ import annotations

import bisect
import functools
import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, Self

import mujoco
import numpy as np
import pydantic
from pydantic_core import PydanticCustomError

from grouser.contact.soil import SoilModule, SoilOptions
from grouser.control.memoryless import Memoryless
from grouser.errors import InputError
from grouser.module import Channel
from grouser.recording import Recording
from grouser.robots import bulldozer
from grouser.robots.bulldozer import Bulldozer, RoadArms
from grouser.robots.dozer_blade import DozerBlade
from grouser.scenarios import track_results as results
from grouser.scenarios.drawbar_pull import Pull, Ramp
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Settings, metric, soil_map
from grouser.scenarios.soil_choice import SoilChoice
from grouser.scenarios.track_rest import set_to_rest
from grouser.scenarios.track_results import track_metric
from grouser.scenarios.track_terrain import TrackTerrain, place_from, start_on
from grouser.simulation import Simulation
from grouser.terrain.generators import flat
from grouser.terrain.ground import Ground
from grouser.track import (
    FlatGround,
    GridGround,
    Layout,
    Link,
    PinBushing,
    Shoe,
    SoilGround,
    SoilValues,
    TrackModule,
    rounded_sprocket,
)
from grouser.track.ground import Terrain
from grouser.track.model import SLIDE_REACH

SETTLING = 0.5  # [s] for which the machine stands before anything is driven
RAMP = 0.5  # [s] time to change from one speed to the next
CONTACT_LENGTH = 2.4  # [m] of a track on the ground: end rollers plus half a roller spacing; assumed
REST = 0.3  # [s] at the end of standing over which loads at rest are averaged
SIDES = ("left", "right")
PLAIN = 60.0  # [m] size of the level ground with plastic soil
RUT = 1e-3  # [m] depth below the initial surface from which on a node counts as rut

Positive = pydantic.Field(gt=0)


class TrackSoil(Settings):
    """The ground below shoes (Omar 2014, eq. 48 to 55); defaults are assumed."""

    stiffness: Annotated[float, Positive, Unit("N/m^3")] = 5e6
    damping: Annotated[float, pydantic.Field(ge=0), Unit("N*s/m^3")] = 1e5
    cohesion: Annotated[float, pydantic.Field(ge=0), Unit("Pa")] = 3e3
    friction_angle_deg: Annotated[float, pydantic.Field(ge=0, lt=60), Unit("degree")] = 30.0
    shear_rate: Annotated[float, Positive, Unit("1/m")] = 50.0

    def values(self) -> SoilValues:
        return SoilValues(**self.model_dump())


class MachineSettings(Settings):
    """Settings all machines on tracks share."""

    soil: TrackSoil = TrackSoil()
    terrain: TrackTerrain | None = None  # a mesh or grid instead of the scenario's own ground
    at: tuple[float, float, float] = (0.0, 0.0, 0.0)  # x, y [m] and heading [deg] of the start on a terrain
    plastic: SoilChoice | None = None  # a plastic soil, such as dry-sand, in which the tracks leave ruts
    spacing: Annotated[float, Positive, Unit("m")] = 0.05  # of the grid of that soil
    grousers: Annotated[int, pydantic.Field(ge=0, le=3)] = 1
    grouser_strength: Literal["sum", "lesser"] = "sum"  # of tip plane and face
    sprocket: Literal["hunting", "spline"] = "hunting"  # outline of the teeth: six points, or a round root as a spline
    back_bend: Literal["angle", "shoes"] = "angle"  # what stops links from bending back: an angle, or their shoes
    rollers: Literal["fixed", "road-arms"] = "fixed"  # on the frame, or on arms with springs and dampers
    arm_stiffness: Annotated[float, Positive, Unit("N/m")] = RoadArms.stiffness  # of a road arm, at its roller
    arm_damping: Annotated[float, pydantic.Field(ge=0), Unit("N*s/m")] = RoadArms.damping
    tension: Annotated[float, pydantic.Field(ge=0), Unit("N")] = 15e3
    blade_load: Annotated[float, pydantic.Field(ge=0), Unit("N")] = 0.0  # force against the motion, at the blade
    scheme: Literal["implicit", "explicit"] = "implicit"
    substeps: Annotated[int, pydantic.Field(ge=1, le=1000)] | None = None  # None: by the stability bound
    step: Annotated[float, Positive, pydantic.Field(le=2e-3), Unit("s")] = 1e-3
    threads: Annotated[int, pydantic.Field(ge=1, le=2)] = 1
    gravity: Annotated[float, Positive, Unit("m/s^2")] = 9.81

    @pydantic.field_validator("at", mode="before")
    @classmethod
    def _place(cls, given: Any) -> Any:
        try:
            return place_from(given)
        except (ValueError, InputError):
            text = f"{given!r}: allowed are x,y [m] or x,y,heading [deg], such as 1.5,0,90"
            raise PydanticCustomError("at", "{text}", {"text": text}) from None

    @pydantic.model_validator(mode="after")
    def _needs_terrain(self) -> Self:
        if self.terrain is None and self.at != (0.0, 0.0, 0.0):
            raise PydanticCustomError("at", "{text}", {"text": "at: it is allowed with a terrain only"})
        return self

    @property
    def machine(self) -> Bulldozer:
        return self.bulldozer()

    @functools.cached_property
    def own_ground(self) -> Terrain | None:
        """The ground of `terrain`, plastic or hard; None without one."""
        if self.terrain is None:
            return None
        if self.plastic is None:
            return self.terrain.hard(self.soil.values())
        return SoilGround(Ground(self.terrain.grid(self.spacing), self.plastic.resolve(), self.spacing))

    def bulldozer(self, **more: Any) -> Bulldozer:
        """The machine of these settings; `more` are parameters of it that a scenario sets."""
        shoe = Shoe(grousers=self.grousers, grouser_strength=self.grouser_strength)
        link = Link(shoe=shoe, joint=PinBushing(back_bend=self.back_bend))
        teeth = rounded_sprocket(pitch=link.pitch, bushing_radius=link.bushing_radius)
        layout = Layout(link=link, sprocket=teeth if self.sprocket == "spline" else None)
        arms = RoadArms(stiffness=self.arm_stiffness, damping=self.arm_damping)
        return Bulldozer(
            tension=self.tension, layout=layout, road_arms=arms if self.rollers == "road-arms" else None, **more
        )


Speeds = Callable[[float], tuple[float, float]]


class TrackDrive(Memoryless):
    """Drives the sprockets so that the left and right chain have the wanted speeds [m/s]."""

    def __init__(self, speeds: Speeds, radius: float, period: float):
        self.speeds, self.radius, self.period = speeds, radius, period

    def act(self, time: float, sensors: Any, command: Any) -> None:
        left, right = self.speeds(time)
        command[0], command[1] = left / self.radius, right / self.radius


def simulate(
    s: MachineSettings, speeds: Speeds, ground: GridGround | None = None, *,
    pull: Ramp | None = None, controllers: Sequence[Any] = (), drive: Any = None,
    soil_options: SoilOptions | None = None, standing: Terrain | None = None, at_rest: bool = True,
) -> Simulation:  # fmt: skip
    """Build the bulldozer on its ground with drive, blade load and pull.

    `drive` replaces the controller that follows `speeds`. A blade that moves soil needs `plastic` ground, which it
    shares with the tracks; `soil_options` are its own. `standing` replaces the ground of the settings. `at_rest`:
    it starts in static equilibrium, else with its grousers just above the ground.
    """
    p = s.machine
    standing = standing or below(s, ground)
    place, up = start_on(standing, s.at, p) if s.terrain else ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    pins = tuple(x + p.start_height * z for x, z in zip(place, up, strict=True))
    spec, tracks = bulldozer.build(p, gravity=s.gravity, place=pins, heading=math.radians(s.at[2]), up=up)
    # Road arms are light, and a spline seats more bushings than a tandem bears: without B it would shake in every step.
    derivatives = p.road_arms is not None or (s.sprocket == "spline" and s.scheme == "implicit")
    module = TrackModule(
        tracks, standing, scheme=s.scheme, substeps=s.substeps, gravity=s.gravity,
        threads=s.threads, derivatives=derivatives,
    )  # fmt: skip
    modules: list[Any] = [module]
    deformed = standing.ground if isinstance(standing, SoilGround) else None
    if p.dozer is not None and deformed is not None:
        check_distance(p, p.dozer, deformed.spacing)
        # After the tracks: the blade copies the ground anew when it commits, with the ruts of this step.
        modules.append(SoilModule(deformed, {"blade": p.dozer.surface()}, soil_options, name="soil"))
    if s.blade_load:
        modules.append(Pull("blade", "chassis", p.blade, Ramp(s.blade_load, SETTLING, RAMP)))
    if pull is not None:
        modules.append(Pull("drawbar", "chassis", p.hitch, pull))
    sprocket = next(w for w in tracks[0].wheels if w.kind == "sprocket")
    drive = drive or TrackDrive(speeds, sprocket.radius, s.step)
    sim = Simulation(spec, modules, ground=deformed, controllers=[drive, *controllers], step=s.step)
    for channel in machine_channels(sim, p):
        sim.add_channel(channel)
    if at_rest:
        set_to_rest(sim)
    return sim


def check_distance(p: Bulldozer, blade: DozerBlade, spacing: float) -> None:
    """Refuse cells so large that the slides beside the tracks would reach the soil that the blade holds.

    Blade and tracks press, cut and raise the same nodes, but slides of one do not know what the other holds back.
    """
    shoes = p.layout.idler_x + 1.5 * p.layout.link.pitch  # the foremost that are near the ground
    free = blade.x - blade.thickness / math.sin(math.radians(blade.rake_deg)) - shoes
    largest = free / SLIDE_REACH
    if spacing > largest:
        raise InputError(
            f"spacing = {spacing:g} m: soil beside the tracks slides within {SLIDE_REACH} cells of the shoes, but the "
            f"blade is {free:.2g} m ahead of them; allowed is up to {largest:.2g} m"
        )


def below(s: MachineSettings, ground: GridGround | None) -> Terrain:
    """The terrain of the settings, the given ground, or level ground; with `plastic` as plastic soil."""
    if s.own_ground is not None:
        return s.own_ground
    if s.plastic is None:
        return ground or FlatGround(soil=s.soil.values())
    shape = ground.elevation if ground else flat(size=(PLAIN, PLAIN), spacing=1.0, origin=(-PLAIN / 4, -PLAIN / 2))
    return SoilGround(Ground(shape, s.plastic.resolve(), s.spacing))


def machine_channels(sim: Simulation, p: Bulldozer) -> list[Channel]:
    m, data = sim.model, sim.engine.data
    body = m.body("chassis").id
    recoil = [m.joint(f"recoil_{side}") for side in SIDES]
    at, rate = ([int(getattr(j, n)[0]) for j in recoil] for n in ("qposadr", "dofadr"))

    def momentum() -> np.ndarray:
        for d in data:
            mujoco.mj_subtreeVel(m, d)
        return np.stack([d.subtree_linvel[0] * m.body_subtreemass[0] for d in data])

    def recoil_force() -> np.ndarray:
        return np.stack([
            2 * p.tension - p.recoil_stiffness * d.qpos[at] - p.recoil_damping * d.qvel[rate] for d in data
        ])  # fmt: skip

    def axes() -> np.ndarray:
        return np.stack([d.xmat[body].reshape(3, 3) for d in data])

    def speed() -> np.ndarray:
        return np.stack([d.qvel[:3] @ d.xmat[body].reshape(3, 3)[:, 0] for d in data])

    def scalar(name: str, unit: str, read: Callable[[], np.ndarray]) -> Channel:
        return Channel(f"machine/{name}", unit, frame="", read=read)

    return [
        Channel("machine/momentum", "N s", (3,), read=momentum),
        Channel("machine/recoil_force", "N", (2,), frame="", labels=SIDES, read=recoil_force),
        scalar("speed", "m/s", speed),
        scalar("heading", "rad", lambda: np.arctan2(axes()[:, 1, 0], axes()[:, 0, 0])),
        scalar("pitch", "rad", lambda: np.arcsin(axes()[:, 2, 0])),
        scalar("roll", "rad", lambda: np.arcsin(axes()[:, 2, 1])),
        scalar("yaw_rate", "rad/s", lambda: np.stack([d.cvel[body, 2] for d in data])),
    ]


def ramped(segments: Sequence[tuple[float, float, float]]) -> Speeds:
    """Speeds of the two chains from segments (time [s], left, right [m/s]). Each is reached RAMP after its time."""
    times = [0.0] + [t for when, _, _ in segments for t in (when, when + RAMP)]
    left, right = [0.0], [0.0]
    for _, a, b in segments:
        left += [left[-1], a]
        right += [right[-1], b]

    def speeds(time: float) -> tuple[float, float]:
        k = bisect.bisect_right(times, time)  # as np.interp, which takes longer for a single number
        if k == len(times):
            return left[-1], right[-1]
        passed, span = time - times[k - 1], times[k] - times[k - 1]
        a, b = left[k - 1], right[k - 1]
        return (left[k] - a) / span * passed + a, (right[k] - b) / span * passed + b

    return speeds


def shared_metrics(s: MachineSettings, driven: bool) -> list[dict[str, Any]]:
    flat = s.terrain is None
    return [
        track_metric("ground_load_error_rel"),
        track_metric("speed_ratio", driven and flat), track_metric("speed_ratio_loaded", driven and flat),
        track_metric("tension_idle_error_rel", s.tension > 0 and flat),
        track_metric("pair_wrench_sum_rel"),
        track_metric("impulse_error_rel", of="all"), track_metric("thrown_links"),
        metric("tension_max_N", "N", "largest tension of a joint after settling"),
        metric("tooth_load_decay", "1", "smallest over largest load of loaded teeth along the wrap, mean while driven"),
        metric("real_time_factor", "1", "simulated time over wall time of the loop"),
        *([metric("rut_depth_m", "m", "median depth of the ruts at the end")] if s.plastic else []),
    ]  # fmt: skip


def rut_depth(recording: Recording) -> float:
    _, _, heights, first = recording.surface_at()
    depth = first - heights
    return float(np.median(depth[depth > RUT])) if (depth > RUT).any() else 0.0


def shared_measures(s: MachineSettings, recording: Recording) -> dict[str, Any]:
    t, p = recording.time, s.machine
    rest = (t > SETTLING - REST) & (t <= SETTLING)
    driven = t > SETTLING + RAMP + REST
    link, sprocket = p.layout.link, p.layout.wheels()[0].sprocket
    links = 2 * p.links * link.mass
    load = results.mean_ground_load(recording, SIDES, rest, links * s.gravity, recording["machine/momentum"][:, 2])
    ratios = [
        results.measure_speed_ratio(recording, side, driven, link.pitch, sprocket.teeth if sprocket else 0, 2)
        for side in SIDES
    ]
    idle = [
        results.measure_tension_idle(recording, side, rest, recording[f"machine/recoil_force[{side}]"])
        for side in SIDES
    ]
    known = [r for r in ratios if r is not None]
    loaded = [
        ratio / (1 + results.measure_stretch(recording, side, driven, link.pitch))
        for side, ratio in zip(SIDES, ratios, strict=True) if ratio is not None
    ]  # fmt: skip
    decays = [d for side in SIDES if (d := results.measure_decay(recording, side, driven)) is not None]
    return {
        "ground_load_error_rel": load / (p.total_mass * s.gravity) - 1,
        "speed_ratio": max(known, key=lambda r: abs(r - 1)) if known else None,
        "speed_ratio_loaded": max(loaded, key=lambda r: abs(r - 1)) if loaded else None,
        "tension_idle_error_rel": max(idle, key=abs),
        "pair_wrench_sum_rel": max(float(recording[f"track/{side}/pair_wrench_sum"].max()) for side in SIDES),
        "impulse_error_rel": impulse_error(s, recording),
        "thrown_links": results.measure_thrown(recording, SIDES),
        "tension_max_N": max(float(recording[f"track/{side}/tension"][t > SETTLING - REST].max()) for side in SIDES),
        "tooth_load_decay": float(np.mean(decays)) if decays else None,
        **({"rut_depth_m": rut_depth(recording)} if s.plastic else {}),
    }


def impulse_error(s: MachineSettings, recording: Recording) -> float:
    """Largest relative error of the impulse balance over the whole run, among the three directions."""
    span, p = recording.time[-1] - recording.time[0], s.machine
    if span <= 0:
        return math.nan
    gained = recording["machine/momentum"][[0, -1]]
    got = np.zeros(3)
    for side in SIDES:
        gained = gained + recording[f"track/{side}/momentum"][[0, -1]]
        got = got + np.diff(recording[f"track/{side}/impulse"][[0, -1]], axis=0)[0]
    got[2] -= p.mass * s.gravity * span
    for name in ("blade", "blade_soil", "drawbar"):
        if f"{name}/impulse" in recording:
            got = got + np.diff(recording[f"{name}/impulse"][[0, -1]], axis=0)[0]
    error = np.diff(gained, axis=0)[0] - got
    return float(np.abs(error).max() / (p.total_mass * s.gravity * span))


def shared_figures(s: MachineSettings, times: Sequence[float], ground=None, sides=SIDES) -> list[dict[str, Any]]:
    layout = s.machine.layout
    out = results.track_figures(sides, layout.link.pitch, [w.radius for w in layout.wheels()], times, ground)
    if s.plastic:
        caption = "Height above the initial surface: ruts, and soil beside them."
        out.append(soil_map(caption, ["body/pose[chassis]"], name="ruts"))
    return out
