"""Wheels in the ruts of other wheels: Krenn et al. 2008, section 3, Fig. 12-14.

A rigid frame has two tracks of two wheels with grousers in line. The axles move down a straight line with a small
inclination, so sinkage grows along the path, and the follower moves exactly on its leader's path. Four such frames run
side by side on one ground: soil that is only displaced and soil that is half compressed, each by the chosen laws with
Krenn et al. 2008, eq. 29 as printed and by the default laws with loose cover.

The paper gives neither soil, wheel, declination nor speed: all are assumed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import mujoco
import numpy as np
import pydantic

from grouser.contact.soil import SoilModule, SoilOptions, Surface, wheel
from grouser.contact.soil.law_sets import KRENN_2008
from grouser.module import Channel
from grouser.recording import Recording
from grouser.scenarios.grousers import check_grousers_fit
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import metric, scenario_of, soil_map
from grouser.scenarios.soil_choice import SoilChoice
from grouser.scenarios.soil_laws import SoilLaws
from grouser.simulation import Simulation
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.gridding import check_node_count
from grouser.terrain.ground import Ground
from grouser.terrain.soils import Soil

LAWS = ("paper", "cover")  # Krenn et al. 2008, eq. 29 as printed; with loose cover
SOILS = ("incompressible", "compressible")
TRACKS = ("left", "right")
WHEELS = ("leader", "follower")
LEAST_EFFECT = 0.15  # smallest difference of the followers' resistance ratios in incompressible and compressible soil
# By the paper's own laws; it gives words, no numbers, so the limits are assumed.
NEGLIGIBLE = 0.1  # Fig. 13: follower over leader in incompressible soil is 1 within this
CLEARLY_LESS = 0.7  # Fig. 14: in compressible soil at most this
TO_REST = 1000  # sweeps a step after which no slope is too steep
LEAST_RIPPLE = 0.02  # Fig. 14, diagrams 2 and 4: of the followers' radial force in compressible soil at least this
SERVO = 1e8  # [N s/m, N m s] gains of the drives that prescribe travel and wheel rotation
CLEARANCE = 0.35  # [m] between the rims of neighbouring tracks: more than twice the reach of sliding soil
MASS = 10.0  # [kg] of a wheel (assumed; irrelevant, because the axles are guided and there is no gravity)
INERTIA = 10.0  # [kg m^2] of a wheel (assumed: large, because otherwise a free wheel chatters in deep soil)
LARGEST_STEP = 5e-3  # [s]
LARGEST_TRAVEL = 0.25e-3  # [m] per step; beyond it forces are off by percents
VOLUME_TOLERANCE = 1e-9  # rounding error of a float64 run
PLACES = 400  # number of positions at which leader and follower are compared
TREND = range(4)  # powers of the position that describe how a force grows with sinkage
RIPPLE = "amplitude of the load at the grouser frequency"
LETTER = "Krenn et al. 2008, eq. 29"  # z_0 as printed, without loose cover

Metres = Annotated[float, pydantic.Field(gt=0), Unit("m")]


@dataclass(frozen=True)
class Case:
    """One frame: a law for soil that falls back into the rut, and a soil."""

    law: str
    soil: str

    @property
    def name(self) -> str:
        return f"{self.law}-{self.soil}"


CASES = tuple(Case(law, soil) for law in LAWS for soil in SOILS)


class MultiPass(SoilLaws):
    """Settings of `multi-pass`."""

    soil: SoilChoice = SoilChoice(name="dry-sand")
    compression: Annotated[float, pydantic.Field(ge=0, le=1)] = 0.5  # of the compressible soil; the other has 0
    radius: Metres = 0.15
    width: Metres = 0.10
    grouser_height: Metres = 0.01
    grouser_count: Annotated[int, pydantic.Field(ge=1, le=200)] = 12
    grouser_width: Metres = 0.004
    smooth_left: bool = False  # no grousers on the left track, to see what grid and facets do
    wheelbase: Metres = 0.6
    declination_deg: Annotated[float, pydantic.Field(gt=0, le=20), Unit("degree")] = 3.0
    least_sinkage: Metres = 0.03  # where the comparison begins
    greatest_sinkage: Metres = 0.06  # where it ends; deeper, the mound of incompressible soil reaches the axle
    slip: Annotated[float, pydantic.Field(ge=0, lt=1)] | None = None  # None: the wheels roll freely
    friction: Literal["shear-displacement", "mohr-coulomb", "coulomb", "none"] = "shear-displacement"
    erosion: bool = True
    speed: Annotated[float, pydantic.Field(gt=0, le=1), Unit("m/s")] = 0.05
    spacing: Metres = 0.01
    step: Annotated[float, pydantic.Field(gt=0, le=0.1), Unit("s")] | None = None  # None: by speed

    @property
    def flows_to_rest(self) -> bool:
        """Whether soil flows by the paper's laws until no slope is too steep: what its figures show."""
        return self.laws == KRENN_2008 and (self.erosion_sweeps or 1) >= TO_REST

    @pydantic.model_validator(mode="after")
    def _rolls(self) -> MultiPass:
        if self.least_sinkage >= self.greatest_sinkage:
            raise ValueError(f"least_sinkage {self.least_sinkage:g} m must be below greatest_sinkage")
        if self.leader_sinkage >= self.radius:
            raise ValueError(f"the leader would sink {self.leader_sinkage:.3g} m, up to its axle at {self.radius:g} m")
        least = 2 * (self.radius + self.grouser_height)
        if self.wheelbase < least:
            raise ValueError(f"wheelbase {self.wheelbase:g} m: the wheels would touch; allowed: {least:g} m or more")
        check_grousers_fit(self.radius, self.grouser_height, self.grouser_count, self.grouser_width)
        return self

    @property
    def fall(self) -> float:
        """Increase of sinkage per metre along the ground."""
        return math.tan(math.radians(self.declination_deg))

    @property
    def leader_sinkage(self) -> float:
        """Sinkage [m] of the leader when the follower reaches the end of the comparison."""
        return self.greatest_sinkage + self.wheelbase * math.sin(math.radians(self.declination_deg))

    @property
    def chosen_step(self) -> float:
        """Largest step [s] that keeps travel per step below a quarter of a millimetre."""
        return self.step if self.step is not None else min(LARGEST_STEP, LARGEST_TRAVEL / self.speed)

    @property
    def lane(self) -> float:
        """Width [m] of the ground of one frame with its two tracks."""
        return 2 * self.gauge

    @property
    def gauge(self) -> float:
        """Distance [m] between two tracks."""
        return self.width + CLEARANCE

    def soils(self) -> tuple[Soil, Soil]:
        loose = self.soil.resolve()
        return loose.replace(compression=0.0), loose.replace(compression=self.compression)

    def surface(self, track: str) -> Surface:
        if self.smooth_left and track == "left":
            return wheel(self.radius, self.width)
        return wheel(
            self.radius, self.width, grouser_height=self.grouser_height,
            grouser_count=self.grouser_count, grouser_width=self.grouser_width,
        )  # fmt: skip


def body(case: Case, track: str, place: str) -> str:
    return f"{case.name}-{track}-{place}"


def build(s: MultiPass) -> Simulation:
    ground = Ground(_lanes(s), s.soils(), s.spacing)
    surfaces = {track: s.surface(track) for track in TRACKS}
    modules = []
    for law in LAWS:
        shapes = {body(c, t, w): surfaces[t] for c in CASES if c.law == law for t in TRACKS for w in WHEELS}
        chosen = s.law_options() if law == "paper" else {}  # the other frames show the default laws beside them
        options = SoilOptions(friction=s.friction, erosion=s.erosion, loose_cover=law == "cover", **chosen)
        modules.append(SoilModule(ground, shapes, options, name=f"soil-{law}"))
    names = [name for module in modules for name in module.bodies]
    sim = Simulation(_frames(s), modules, ground=ground, step=s.chosen_step, recorded_bodies=names)
    for channel in _channels(sim, s):
        sim.add_channel(channel)
    return sim


def _lanes(s: MultiPass) -> ElevationGrid:
    """Level ground with a lane for each frame. One row of nodes in the middle of each lane, and one on either side."""
    reach = s.wheelbase + 3 * s.radius
    length = reach + s.speed * duration(s) + 3 * s.radius
    columns = math.ceil(length / s.lane) + 1
    soil = np.array([0, *(SOILS.index(case.soil) for case in CASES), 0], np.int32)
    check_node_count(
        f"declination_deg = {s.declination_deg:g}: a course of {length:.3g} m", (len(soil) - 1, columns - 1)
    )
    heights = np.zeros((len(soil), columns))
    index = np.repeat(soil[:, None], columns, axis=1)
    return ElevationGrid(heights, s.lane, (-reach, -s.lane), soil_index=index, soils=s.soils())


def _frames(s: MultiPass) -> mujoco.MjSpec:
    """Frames that move down their lines at the prescribed speed, whatever the soil does. Wheels turn on axles."""
    spec = mujoco.MjSpec()
    spec.modelname = "multi-pass"
    spec.option.gravity = [0, 0, 0]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    angle = math.radians(s.declination_deg) / 2
    speeds, controls = [], []
    along, wheel_speed = s.speed / math.cos(2 * angle), s.speed / s.radius
    for k, case in enumerate(CASES):
        frame = spec.worldbody.add_body(
            name=case.name, pos=[0, k * s.lane, s.radius], quat=[math.cos(angle), 0, math.sin(angle), 0]
        )
        frame.add_joint(name=f"{case.name}-travel", type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[1, 0, 0])
        _give_mass(frame)
        _drive(spec, f"{case.name}-travel")
        speeds.append(along)
        controls.append(along)
        for side, track in zip((-0.5, 0.5), TRACKS, strict=True):
            for behind, place in zip((0.0, s.wheelbase), WHEELS, strict=True):
                name = body(case, track, place)
                axle = frame.add_body(name=name, pos=[-behind, side * s.gauge, 0])
                axle.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0])
                _give_mass(axle)
                speeds.append(wheel_speed / (1 - s.slip) if s.slip is not None else wheel_speed)
                if s.slip is not None:
                    _drive(spec, name)
                    controls.append(speeds[-1])
    spec.add_key(qpos=[0.0] * len(speeds), qvel=speeds, ctrl=controls)
    return spec


def _give_mass(part: Any) -> None:
    part.mass, part.explicitinertial, part.inertia, part.ipos = MASS, True, [INERTIA] * 3, [0, 0, 0]


def _drive(spec: mujoco.MjSpec, joint: str) -> None:
    actuator = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
    actuator.set_to_velocity(kv=SERVO)


def _channels(sim: Simulation, s: MultiPass) -> list[Channel]:
    """Position of the axle, and soil forces along and normal to its path, for leader and follower of each track."""
    slots = {name: (slot.out, k) for slot in sim.engine.slots for k, name in enumerate(slot.module.bodies)}
    return [channel for case in CASES for track in TRACKS for channel in _track_channels(sim, s, slots, case, track)]


def _track_channels(
    sim: Simulation, s: MultiPass, slots: dict[str, tuple[Any, int]], case: Case, track: str
) -> list[Channel]:
    names = [body(case, track, place) for place in WHEELS]
    out, rows = slots[names[0]][0], [slots[name][1] for name in names]
    ids = [sim.model.body(name).id for name in names]
    turns = [sim.model.joint(name).qposadr[0] for name in names]
    axle_dofs = [sim.model.joint(name).dofadr[0] for name in names]

    angle = math.radians(s.declination_deg)
    back, up, axle = [-math.cos(angle), 0, math.sin(angle)], [math.sin(angle), 0, math.cos(angle)], [0, 1, 0]

    def force(direction: Sequence[float]):
        return lambda: out.effective.numpy()[:, rows, :3].astype(float) @ direction

    def read(name: str, unit: str, read, frame: str = "world") -> Channel:
        return Channel(f"{case.name}/{track}/{name}", unit, (len(WHEELS),), frame, labels=WHEELS, read=read)

    return [
        read("place", "m", lambda: sim.data.xpos[None, ids, 0]),
        read("resistance", "N", force(back), "path"),
        read("side_force", "N", force(axle), "path"),
        read("load", "N", force(up), "path"),
        read("torque", "N m", lambda: -out.effective.numpy()[:, rows, 4].astype(float), "path"),
        read("turned", "rad", lambda: sim.data.qpos[None, turns], ""),
        read("rim", "1", lambda: s.radius / s.speed * sim.data.qvel[None, axle_dofs], ""),
    ]


def duration(s: MultiPass) -> float:
    """Time [s] until the followers reach the end of the comparison."""
    return (s.greatest_sinkage / s.fall + s.wheelbase * math.cos(math.radians(s.declination_deg))) / s.speed


def shown_in_the_paper() -> tuple[tuple[Any, ...], ...]:
    """Expected value, tolerance and source of what the figures show of the paper's own laws."""
    figure = "Krenn et al. 2008, Fig."
    return (
        (1.0, {"abs": NEGLIGIBLE}, f"{figure} 13: negligible effect (limit assumed)"),
        (CLEARLY_LESS, {"max": CLEARLY_LESS}, f"{figure} 14: significantly lower (limit assumed)"),
        (LEAST_RIPPLE, {"min": LEAST_RIPPLE}, f"{figure} 14, diagrams 2 and 4 (limit assumed)"),
    )


def metrics(s: MultiPass) -> list[dict[str, Any]]:
    ratio = "mean resistance of the followers over that of the leaders at the same places, both tracks"
    negligible, clearly_less, rippled = shown_in_the_paper() if s.flows_to_rest else ((), (), ())
    out = [
        metric("follower_resistance_ratio_incompressible", "1", f"{ratio}; soil displaced only, {LETTER}", *negligible),
        metric("follower_resistance_ratio_compressible", "1", f"{ratio}; soil partly compressed, {LETTER}",
            *clearly_less),
        metric(
            "multi_pass_effect", "1", f"ratio in incompressible less that in compressible soil, {LETTER}",
            LEAST_EFFECT, {"min": LEAST_EFFECT}, "Krenn et al. 2008, Fig. 13, 14 (limit assumed: no numbers there)",
        ),
        metric("loose_cover_ratio_incompressible", "1", f"{ratio}; soil displaced only, loose cover"),
        metric("loose_cover_ratio_compressible", "1", f"{ratio}; soil partly compressed, loose cover"),
        metric("follower_load_ratio_incompressible", "1", "the same ratio for the force perpendicular to the path, "
            f"{LETTER}"),
        metric("follower_load_ratio_compressible", "1", "the same ratio for the force perpendicular to the path, "
            f"{LETTER}"),
        metric("leader_resistance_incompressible_N", "N", "mean resistance of a leader over the compared range, "
            f"{LETTER}"),
        metric("leader_resistance_compressible_N", "N", "mean resistance of a leader over the compared range, "
            f"{LETTER}"),
        metric("grouser_ripple_N", "N", f"{RIPPLE}, the smaller of the followers, compressible soil, {LETTER}"),
        metric(
            "grouser_ripple_rel", "1",
            "that amplitude over the mean radial force of the same follower, the smaller one",
            *rippled,
        ),
        metric(
            "volume_error_rel", "1", "soil lost less soil compressed, over soil displaced, at the end",
            0.0, {"abs": VOLUME_TOLERANCE}, "conservation of volume",
        ),
        metric("real_time_factor", "1", "simulated time over wall time of the loop"),
    ]  # fmt: skip
    if s.smooth_left:
        out.append(metric("smooth_ripple_N", "N", f"{RIPPLE}, follower without grousers: effect of grid and facets"))
    return out


def figures(s: MultiPass) -> list[dict[str, Any]]:
    span = f"Leaders and followers are compared from {1e3 * s.least_sinkage:g} to {1e3 * s.greatest_sinkage:g} mm."
    words = {"incompressible": "0 %", "compressible": f"{100 * s.compression:g} %"}
    laws = {"paper": "Krenn et al. 2008, eq. 29" if s.laws == "default" else s.laws, "cover": "loose cover"}
    title = {case: f"{laws[case.law]}, {words[case.soil]} compressed" for case in CASES}
    out = [
        {
            "name": "resistance", "title": "Rolling resistance of leader and follower at the same place",
            "kind": "panels",
            "panels": [_panel(case, "left", ["resistance"], title[case], "resistance [N]") for case in CASES],
            "caption": f"Left tracks. {span}",
        },
    ]  # fmt: skip
    for case in CASES:
        out.append(
            {
                "name": f"forces-{case.name}", "kind": "panels",
                "title": f"Forces on the wheels: {title[case]}",
                "panels": [
                    _panel(
                        case, track, [f"{force}[{place}]" for force in ("load", "resistance", "side_force")],
                        f"{k}: {place}, {track}", "force [N]", place,
                    )
                    for k, (track, place) in enumerate(((t, w) for t in TRACKS for w in WHEELS), 1)
                ],
                "caption": f"The four diagrams of {'Fig. 13' if case.soil == SOILS[0] else 'Fig. 14'} of "
                "Krenn et al. 2008, over the position of the axle: forces across it (load, resistance) and along it.",
            }
        )  # fmt: skip
    out.append(
        {
            "name": "spin", "title": "Speed of the rim over speed of travel", "kind": "panels",
            "panels": [_panel(case, "left", ["rim"], title[case], "rω / v") for case in CASES],
            "caption": "Left tracks.",
        }
    )  # fmt: skip
    region = [-0.1, s.speed * duration(s) + 2 * s.radius, -s.lane / 2, (len(CASES) - 0.5) * s.lane]
    out.append(soil_map(f"Frames from below: {', '.join(c.name for c in CASES)}.", region=region))
    return out


def _panel(
    case: Case, track: str, channels: Sequence[str], title: str, ylabel: str, place: str | None = None
) -> dict[str, Any]:
    """Figure of channels of a track over the position of the axle, for one wheel or both."""
    room = f"{case.name}/{track}"
    return {
        "title": title, "x": f"{room}/place" + (f"[{place}]" if place else ""),
        "y": [f"{room}/{channel}" for channel in channels],
        "xlabel": "position of the axle [m]", "ylabel": ylabel,
    }  # fmt: skip


def measure(s: MultiPass, recording: Recording) -> dict[str, Any]:
    paper = {soil: Case("paper", soil) for soil in SOILS}
    cover = {soil: Case("cover", soil) for soil in SOILS}
    firm = paper["compressible"]

    def ratio(case: Case, force: str = "resistance") -> float:
        leaders, followers = compared(s, recording, case, force)
        return float(followers / leaders)

    ratios = {soil: ratio(case) for soil, case in paper.items()}
    lugged = [track for track in TRACKS if not (s.smooth_left and track == "left")]
    ripples = {track: ripple(s, recording, firm, track) for track in TRACKS}
    out = {
        **{f"follower_resistance_ratio_{soil}": ratios[soil] for soil in SOILS},
        "multi_pass_effect": ratios["incompressible"] - ratios["compressible"],
        **{f"loose_cover_ratio_{soil}": ratio(cover[soil]) for soil in SOILS},
        **{f"follower_load_ratio_{soil}": ratio(paper[soil], "load") for soil in SOILS},
        **{
            f"leader_resistance_{soil}_N": float(compared(s, recording, paper[soil], "resistance")[0]) for soil in SOILS
        },
        "grouser_ripple_N": min(ripples[track] for track in lugged),
        "grouser_ripple_rel": min(share(ripples[track], radial_force(s, recording, firm, track)) for track in lugged),
        "volume_error_rel": float(max(recording[f"soil-{law}/volume_error"][-1] for law in LAWS)),
    }
    return {**out, "smooth_ripple_N": ripples["left"]} if s.smooth_left else out


def compared(s: MultiPass, recording: Recording, case: Case, force: str) -> np.ndarray:
    """Mean force [N], (wheel,), on leaders and followers in the range of the comparison, over both tracks."""
    at = np.linspace(s.least_sinkage, s.greatest_sinkage, PLACES) / s.fall
    tracks = []
    for track in TRACKS:
        place, values = recording[f"{case.name}/{track}/place"], recording[f"{case.name}/{track}/{force}"]
        tracks.append([np.interp(at, place[:, k], values[:, k]).mean() for k in range(len(WHEELS))])
    return np.mean(tracks, axis=0)


def ripple(
    s: MultiPass, recording: Recording, case: Case, track: str, wheel: str = "follower", harmonic: float = 1.0
) -> float:
    """Amplitude [N] of a wheel's load at the grouser frequency, by least squares together with a smooth trend.

    As a function of the wheel angle the grousers have a sharp spectral line, even if slip changes. The comparison
    spans about six grouser pitches, which resolves frequencies a sixth of the grouser frequency apart. Grid nodes pass
    at nine times that frequency.
    """
    place, turned, load = in_range(s, recording, case, track, wheel, ("place", "turned", "load"))
    if len(place) < 2 * len(TREND):
        return math.nan
    x, phase = place - place.mean(), harmonic * s.grouser_count * turned
    terms = [*(x**power for power in TREND), np.cos(phase), np.sin(phase)]
    fitted = np.linalg.lstsq(np.stack(terms, axis=1), load, rcond=None)[0]
    return float(np.hypot(fitted[-2], fitted[-1]))


def radial_force(s: MultiPass, recording: Recording, case: Case, track: str, wheel: str = "follower") -> float:
    """Mean force [N] of the soil on a wheel across its axle, load and resistance together."""
    load, resistance = in_range(s, recording, case, track, wheel, ("load", "resistance"))
    return float(np.hypot(load, resistance).mean()) if len(load) else math.nan


def share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else math.nan


def in_range(
    s: MultiPass, recording: Recording, case: Case, track: str, wheel: str, names: Sequence[str]
) -> list[np.ndarray]:
    """Channels of a wheel while it is in the range of the comparison, each (frame,)."""
    room, k = f"{case.name}/{track}", WHEELS.index(wheel)
    place = recording[f"{room}/place"][:, k]
    chosen = (place >= s.least_sinkage / s.fall) & (place <= s.greatest_sinkage / s.fall)
    return [recording[f"{room}/{name}"][chosen, k] for name in names]


SCENARIO = scenario_of(
    __name__, MultiPass,
    summary="wheels in line, the second in the rut of the first, in four soils",
    source="Krenn et al. 2008, section 3, Fig. 12-14",
)  # fmt: skip
