"""A bulldozer cuts a layer of soil with its blade and pushes it ahead: pile, cut, draught and slip of the tracks.

Tracks and blade stand on one ground. The blade moves the soil by the law of steep faces (docs/theory/soil.md): the pile
grows, slides and spills at the ends of the blade. The machine drives down into its own cut, so a grade control moves
the lift to keep the lower edge of the blade at its depth. Machine, blade and control are assumed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
import pydantic
import warp as wp
from pydantic_core import PydanticCustomError

from grouser.contact.soil import SoilOptions
from grouser.module import Channel
from grouser.recording import Recording
from grouser.robots.bulldozer import Bulldozer
from grouser.robots.dozer_blade import DozerBlade
from grouser.scenarios import tracked_machine as tracked
from grouser.scenarios.blade import SLOPE_TOLERANCE, VOLUME_TOLERANCE, HeightsAhead
from grouser.scenarios.blade_theory import draught_through, level_draught
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Settings, metric, scenario_of, soil_map
from grouser.scenarios.soil_choice import SoilChoice
from grouser.scenarios.terrain_choice import height_at
from grouser.scenarios.tracked_machine import RAMP, SETTLING, SIDES, MachineSettings
from grouser.simulation import Simulation

ENTRY = 1.0  # [m] of travel in which the blade is lowered to its depth
SLOWEST = 0.8  # least share of the commanded speed for which there is time
LIFT_SPEED = 0.3  # [m/s] largest speed of the lift; assumed
LIFT_TIME = 0.1  # [s] in which the grade control corrects an error of height; assumed
STOPPING = 1.0  # [s] after the pass
SLOW = 0.05  # [m/s] of the chains, below which slip is not told
CUT_TOLERANCE = 0.1  # of the depth of the cut: the lower edge presses on its floor and the grade control lags
WEDGE_TOLERANCE = 0.1  # draught against the trial wedge: 5 % as on fine grids, and cells of 5 % of the pile
FLOOR = 0.2  # [m] half the width of the strip between the tracks in which the floor of the cut is measured
NOT_TOLD = ("speed_ratio", "speed_ratio_loaded")  # metrics of a steady drive on hard ground
PLACES = 20  # places in the last metres at which the draught is compared with the trial wedge: single ones vary by 3 %
STARTS = 4  # within a pitch, from which slip is taken over whole pitches
LAST = 2.0  # [m] these metres
PROFILES = 5
SLOPES = 11  # frames whose slopes are looked at
RATE = 25.0  # [Hz] of frames and of the ground
FACE_INTERVAL = 0.2  # [cells] the wedge of a blade ten or twenty cells deep changes little meanwhile

Metres = Annotated[float, pydantic.Field(gt=0), Unit("m")]


class BladeSettings(Settings):
    """The blade; see `DozerBlade`."""

    width: Annotated[float, pydantic.Field(ge=1, le=6), Unit("m")] = DozerBlade.width
    height: Annotated[float, pydantic.Field(ge=0.3, le=3), Unit("m")] = DozerBlade.height
    rake_deg: Annotated[float, pydantic.Field(ge=45, le=90), Unit("degree")] = DozerBlade.rake_deg


class BulldozerDoze(MachineSettings):
    """Settings of `bulldozer-doze`."""

    plastic: SoilChoice = SoilChoice(name="dry-sand")
    blade: BladeSettings = BladeSettings()
    depth: Annotated[float, pydantic.Field(gt=0, le=0.5), Unit("m")] = 0.1  # of the cut
    length: Annotated[float, pydantic.Field(ge=1, le=40), Unit("m")] = 10.0  # of the cut at full depth
    speed: Annotated[float, pydantic.Field(gt=0, le=2), Unit("m/s")] = 0.8  # of the chains
    grade: bool = True  # the lift keeps the lower edge of the blade at its depth; false: it stays where it is
    faces: bool = True  # false: the blade presses with its lower edge only and moves no soil, for comparison
    erosion: bool = True  # false: the soil that the blade moves stands at any slope, for comparison

    @property
    def machine(self) -> Bulldozer:
        thickness = max(DozerBlade.thickness, 1.5 * self.spacing)  # thinner than that it would have no cells below it
        dozer = DozerBlade(thickness=thickness, **self.blade.model_dump())
        return self.bulldozer(dozer=dozer)

    @pydantic.model_validator(mode="after")
    def _along_x(self) -> Self:
        if self.at[2] != 0.0:
            text = f"at has a heading of {self.at[2]:g} deg; allowed is 0: the cut goes along x"
            raise PydanticCustomError("at", "{text}", {"text": text})
        return self

    @property
    def end(self) -> float:
        """Travel [m] of the blade at the end of the pass, from its place at the start."""
        return ENTRY + self.length

    def edge_height(self, travel: float) -> float:
        """Wanted height [m] of the lower edge above the level of the initial ground below it at the start."""
        clearance = Bulldozer.dozer_clearance
        return clearance - (clearance + self.depth) * min(max(travel / ENTRY, 0.0), 1.0)


class DozeDrive:
    """Drives the chains until the pass is over and moves the lift. Sums the impulse of the soil on the blade."""

    def __init__(self, s: BulldozerDoze, sprocket_radius: float):
        self.s, self.period, self.radius = s, s.step, sprocket_radius
        self.level = 0.0  # [m] of the ground below the blade at the start
        self._arrays = {name: wp.zeros(n, dtype=wp.float64, device="cpu") for name, n in (("impulse", 3), ("speed", 1))}
        self.impulse, self.speed = (array.numpy() for array in self._arrays.values())  # [N s], [m/s]; views

    def attach(self, sim: Simulation) -> None:
        self.out, self.body = sim.engine.slots[1].out, sim.model.body("blade").id
        self.force = self.out.effective.numpy()[0, 0, :3]  # [N]; a view
        self.lift = sim.model.joint("blade_lift").dofadr[0]
        self.start, y, _ = map(float, sim.data.xpos[self.body])
        if sim.ground is not None:
            self.level = height_at(sim.ground.elevation, self.start, y, "the blade")

    def act(self, time: float, sensors: Any, command: Any) -> None:
        s, h, impulse = self.s, self.period, self.impulse  # plain numbers are faster; this is called at every step
        force_x, force_y, force_z = self.force.tolist()
        impulse[0] += h * force_x
        impulse[1] += h * force_y
        impulse[2] += h * force_z
        x, _, z = sensors.xpos[self.body].tolist()
        travel = x - self.start
        going = time >= SETTLING and travel < s.end
        change = h * s.speed / RAMP
        speed = min(max(self.speed.item() + (change if going else -change), 0.0), s.speed)
        self.speed[0] = speed
        command[0] = command[1] = speed / self.radius
        # The blade moves with the chassis: the lift makes up for the difference.
        error = self.level + s.edge_height(travel) - z
        follows = going and (s.grade or travel < ENTRY)
        command[2] = min(max(error / LIFT_TIME, -LIFT_SPEED), LIFT_SPEED) if follows else 0.0

    def state(self) -> dict[str, Any]:
        return self._arrays

    def reset(self, worlds: Sequence[int]) -> None:
        self.impulse[:] = self.speed[:] = 0.0

    def channels(self) -> list[Channel]:
        return [Channel("blade_soil/impulse", "N s", (3,), read=lambda: self.impulse[None])]


def pitches_per_radian(s: BulldozerDoze) -> float:
    """Length [m] of chain that a sprocket moves per radian: two teeth a pitch."""
    link, sprocket = s.machine.layout.link, s.machine.layout.wheels()[0].sprocket
    return (sprocket.teeth if sprocket else 0) / 2 * link.pitch / (2 * math.pi)


def build(s: BulldozerDoze) -> Simulation:
    sprocket = next(w for w in s.machine.layout.wheels() if w.kind == "sprocket")
    drive = DozeDrive(s, sprocket.radius)
    longest = 2 * s.blade.height / s.plastic.resolve().slope_limit  # room for a pile as high as the blade
    options = SoilOptions(faces=s.faces, erosion=s.erosion, longest_pile=longest, face_interval=FACE_INTERVAL)
    sim = tracked.simulate(s, tracked.ramped([]), drive=drive, soil_options=options)
    drive.attach(sim)
    sim.tile_rate = RATE  # the pile is compared with forces of the same frame
    track: Any = sim.modules[0]
    out, data, body = drive.out, sim.data, drive.body

    def force(axis: int, sign: float):
        return lambda: sign * out.effective.numpy()[:, 0, axis]

    drives = [int(sim.model.joint(f"drive_{side}").dofadr[0]) for side in SIDES]

    def chain_speed() -> float:
        """Speed [m/s] that the sprockets give the chains: so many pitches a turn."""
        return float(data.qvel[drives].mean()) * pitches_per_radian(s)

    def slip() -> np.ndarray:
        chain = chain_speed()
        return np.array([1 - data.qvel[0] / chain if chain > SLOW else 0.0])

    for name, unit, read in (
        ("blade/draught", "N", force(0, -1.0)),
        ("blade/lift", "N", force(2, 1.0)),
        ("blade/travel", "m", lambda: np.array([data.xpos[body][0] - drive.start])),
        ("blade/edge_height", "m", lambda: np.array([data.xpos[body][2]])),
        ("machine/slip", "1", slip),
        ("machine/chain_speed", "m/s", lambda: np.array([chain_speed()])),
        ("machine/thrust", "N", lambda: track.ground_force()[:, :, 0].sum(axis=1)),
    ):
        sim.add_channel(Channel(name, unit, read=read))
    return sim


def duration(s: BulldozerDoze) -> float:
    return SETTLING + RAMP + s.end / (SLOWEST * s.speed) + STOPPING


def metrics(s: BulldozerDoze) -> list[dict[str, Any]]:
    soil = s.plastic.resolve()
    shared = [one for one in tracked.shared_metrics(s, False) if one["name"] not in NOT_TOLD]
    steepest = math.degrees(math.atan((1 + SLOPE_TOLERANCE) * soil.slope_limit))
    level: Any = (s.depth, {"rel": CUT_TOLERANCE}, "the grade control keeps the lower edge at the depth of the cut")
    repose: Any = (None, {"max": steepest}, "angle of repose")
    wedge: Any = (0.0, {"abs": WEDGE_TOLERANCE}, "trial wedge of Coulomb with side wedges (docs/theory/soil.md)")
    if s.terrain is not None:  # a level cut through uneven ground is not of one depth, nor is its wedge the same across
        level = repose = wedge = (None, None, None)
    return [
        *shared[:-1],  # without the real-time factor, which is last here too
        metric(
            "cut_depth_m", "m", "mean depth of the floor between the tracks, from the end of the way down to half a "
            "metre behind the blade, at the end of the pass", *level,
        ),
        metric("cut_volume_m3", "m^3", "soil missing below the initial surface behind the blade, with the ruts"),
        metric("pile_volume_m3", "m^3", "soil above the initial surface ahead of the blade, between its ends"),
        metric("spilled_volume_m3", "m^3", "soil above the initial surface beside the ends of the blade"),
        metric("pile_height_m", "m", "highest soil above the initial surface ahead of the blade, at the end"),
        metric(
            "pile_slope_deg", "degree", "steepest slope between two nodes ahead of the blade, the least of the last "
            f"{SLOPES} frames of the pass: between two pushes",
            *repose,
        ),
        metric("pile_slope_pushed_deg", "degree", "the largest of these: soil just pushed slides later"),
        metric("draught_N", "N", f"force of the soil on the blade against the travel, mean over the last {LAST:g} m"),
        metric("draught_level_N", "N", "the trial wedge in level ground of that depth, without a pile"),
        metric(
            "draught_error_rel", "1", "draught over that of the trial wedge through the recorded heights, less 1, mean "
            f"over {PLACES} places in the last {LAST:g} m", *wedge,
        ),
        metric("thrust_N", "N", f"forward force of the ground on both tracks, mean over the last {LAST:g} m"),
        metric(
            "slip", "1", f"1 - travel / chain that the sprockets moved, over whole link pitches in the last {LAST:g} "
            "m; without a load it is a little below 0 (docs/theory/track.md)",
        ),
        metric(
            "volume_error_rel", "1", "change of the volume of the ground less what blade and tracks compressed, over "
            "the soil they displaced, at the end; the larger of both", 0.0, {"abs": VOLUME_TOLERANCE},
            "conservation of volume",
        ),
        metric(
            "travel_m", "m", "travel of the blade at the end", s.end + s.speed * RAMP / 2, {"rel": 0.02},
            "the pass is completed, and the chains slow down in half a second",
        ),
        shared[-1],
    ]  # fmt: skip


def figures(s: BulldozerDoze) -> list[dict[str, Any]]:
    end = SETTLING + RAMP / 2 + s.end / s.speed
    times = [float(t) for t in np.linspace(SETTLING + RAMP + ENTRY / s.speed, end, PROFILES)]
    corners = s.machine.dozer.corners.tolist() if s.machine.dozer else []
    return [
        {
            "name": "pile", "title": "The pile ahead of the blade", "kind": "profiles", "body": "blade", "times": times,
            "across": 0.0, "corners": corners,
            "caption": "Section through the middle of the machine: the cut, the blade and the pile it pushes.",
        },
        {
            "name": "draught", "title": "Force of the soil on the blade", "kind": "lines", "x": "blade/travel",
            "y": ["blade/draught", "blade/lift", "machine/thrust"], "xlabel": "travel of the blade [m]",
            "ylabel": "force [N]", "caption": "Draught: against the travel. Lift: upwards. Thrust: of the ground on "
            "both tracks. The draught grows with the pile.",
        },
        {
            "name": "slip", "title": "Slip of the tracks", "kind": "lines", "x": "blade/travel", "y": ["machine/slip"],
            "xlabel": "travel of the blade [m]", "ylabel": "slip [1]",
            "caption": "One less speed over chain speed. It ripples as the links pass.",
        },
        {
            "name": "edge", "title": "The lower edge of the blade", "kind": "lines", "x": "blade/travel",
            "y": ["blade/edge_height"], "xlabel": "travel of the blade [m]", "ylabel": "height [m]",
            "caption": "Above the initial ground. Grade control keeps it while the machine drives down into its cut.",
        },
        soil_map(
            "Height above the initial surface: cut, pile, soil spilled at the ends of the blade, ruts.",
            ["body/pose[blade]"],
        ),
        *tracked.shared_figures(s, [SETTLING, end], sides=("left",))[:-1],
    ]  # fmt: skip


def measure(s: BulldozerDoze, recording: Recording) -> dict[str, Any]:
    travel, height = recording["blade/travel"], recording["blade/edge_height"]
    start = float(recording["body/pose[blade]"][0, 0])
    begin = min(s.end, travel[-1]) - min(LAST, s.length / 2)
    pushing = (travel > begin) & (travel < s.end) & (recording.time > SETTLING)
    if not pushing.any():
        pushing = np.arange(len(travel)) == len(travel) - 1
    last = int(np.flatnonzero(pushing)[-1])  # the end of the pass: a blade that stops draws back a little
    soil: dict[str, Any] = {"width": s.blade.width, "rake_deg": s.blade.rake_deg, "gravity": s.gravity}
    errors = [
        float(recording["blade/draught"][k]) / draught_through(
            s.plastic.resolve(),
            HeightsAhead(recording, start + float(travel[k]), -float(height[k]), float(recording.time[k])),
            **soil, fine=s.spacing / 5,
        ).draught - 1
        for k in np.flatnonzero(pushing)[:: max(1, int(pushing.sum()) // PLACES)]
    ]  # fmt: skip
    slopes = [
        _slope(recording, start + float(travel[k]), float(recording.time[k])) for k in np.flatnonzero(pushing)[-SLOPES:]
    ]
    shared = tracked.shared_measures(s, recording)
    return {
        **{name: value for name, value in shared.items() if name not in NOT_TOLD},
        **_earth(s, recording, start, start + float(travel[last]), float(recording.time[last])),
        "pile_slope_deg": min(slopes),
        "pile_slope_pushed_deg": max(slopes),
        "draught_N": float(recording["blade/draught"][pushing].mean()),
        "draught_level_N": level_draught(s.plastic.resolve(), depth=s.depth, **soil).draught,
        "draught_error_rel": float(np.mean(errors)),
        "thrust_N": float(recording["machine/thrust"][pushing].mean()),
        "slip": _slip(s, recording, travel, np.flatnonzero(pushing)),
        "volume_error_rel": max(
            float(recording["soil/volume_error"][-1]),
            *(float(recording[f"track/{side}/rut_volume_error"][-1]) for side in SIDES),
        ),
        "travel_m": float(travel[-1]),
    }


def _slip(s: BulldozerDoze, recording: Recording, travel: np.ndarray, frames: np.ndarray) -> float:
    """1 - travel / chain that the sprockets moved, over as many whole pitches as `frames` hold: links pass in jerks."""
    angle = np.mean([recording[f"joint/position[drive_{side}]"][frames] for side in SIDES], axis=0)
    pitch = s.machine.layout.link.pitch
    passed = angle * pitches_per_radian(s) / pitch
    whole = math.floor(passed[-1] - passed[0])
    if whole < 1:
        return math.nan
    begin = np.linspace(passed[0], passed[-1] - whole, STARTS)
    way = np.interp(begin + whole, passed, travel[frames]) - np.interp(begin, passed, travel[frames])
    return 1 - float(way.mean()) / (whole * pitch)


def _slope(recording: Recording, at: float, time: float) -> float:
    """Steepest slope [deg] between two nodes of the soil that was moved, ahead of x = `at` [m], at `time` [s]."""
    x, _, heights, before = recording.surface_at(time)
    pile = np.asarray(heights - before, float)[:, x > at]
    drops = [np.abs(np.diff(pile, axis=axis)) for axis in (0, 1)]
    steepest = max((float(drop.max()) for drop in drops if drop.size), default=0.0)
    return math.degrees(math.atan(steepest / float(x[1] - x[0])))


def _earth(s: BulldozerDoze, recording: Recording, start: float, at: float, time: float) -> dict[str, float]:
    """Where the soil is at `time` [s]. `start` and `at` [m]: x of the lower edge of the blade at the start and then."""
    x, y, heights, before = recording.surface_at(time)
    rise = np.asarray(heights - before, float)
    cell = float(x[1] - x[0]) * float(y[1] - y[0])
    y = y - s.at[1]
    ahead, between = x[None, :] > at, np.abs(y)[:, None] <= s.blade.width / 2
    pile = rise[:, x > at]
    floor = rise[np.abs(y) < FLOOR][:, (x > start + ENTRY) & (x < at - 0.5)]
    return {
        "cut_depth_m": -float(floor.mean()) if floor.size else math.nan,
        "cut_volume_m3": -cell * float(np.minimum(rise, 0.0)[:, x <= at].sum()),
        "pile_volume_m3": cell * float((np.maximum(rise, 0.0) * (ahead & between)).sum()),
        "spilled_volume_m3": cell * float((np.maximum(rise, 0.0) * ~between).sum()),
        "pile_height_m": float(pile.max()) if pile.size else 0.0,
    }


SCENARIO = scenario_of(
    __name__, BulldozerDoze, rate=RATE,
    summary="a bulldozer cuts soil with its blade and pushes a pile: cut, pile, draught, slip",
    source="Omar 2014; McKyes 1985, chapter 3",
)  # fmt: skip
