"""A blade held at depth and dragged through level soil: draught, lift and the pile that it pushes ahead.

Expectations: Coulomb's trial wedge with side wedges (`blade_theory.py`), in level ground where the soil only compacts,
otherwise through the heights that the recording has ahead of the blade at the end. With `measured` the draught is
compared with measured points over the whole travel.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import mujoco
import numpy as np
import pydantic

from grouser.contact.soil import SoilModule, SoilOptions, prepare
from grouser.contact.soil.surface import Surface
from grouser.control.memoryless import Memoryless
from grouser.module import Channel
from grouser.recording import Recording
from grouser.scenarios.blade_theory import draught_through, level_draught, lift_ratio
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Settings, metric, scenario_of, soil_map
from grouser.scenarios.soil_choice import SoilChoice
from grouser.scenarios.soil_laws import SoilLaws
from grouser.simulation import Simulation
from grouser.simulation.shapes import box
from grouser.terrain.generators import flat
from grouser.terrain.ground import Ground

SERVO = 1e8  # [N s/m] gain of the drives that prescribe the motion
MASS = 10.0  # [kg] (assumed; the drives carry it)
LARGEST_STEP = 5e-3  # [s]
LARGEST_TRAVEL = 0.5e-3  # [m] per step, as in single-wheel
ROOM = 0.3  # [m] of soil behind the blade
SPACING, LEAST_SPACING = 0.01, 2e-3  # [m] of the grid
CELLS_THROUGH = 1.2  # least thickness of the blade in cells: on less the lower edge presses the soil ahead of the face
WEDGE_TOLERANCE = 0.05  # force of a face on a 10 mm grid against the trial wedge (tests/contact/soil/test_faces.py)
SLOPE_TOLERANCE = 0.01  # of the tangent of the steepest slope: sliding stops within this
VOLUME_TOLERANCE = 1e-9  # rounding error of a float64 run
MEASURED_AIM = 0.25  # median error against measured draught that is aimed at
PROFILES = 5  # profiles of the pile in the figure

Metres = Annotated[float, pydantic.Field(gt=0), Unit("m")]
Side = Annotated[float, pydantic.Field(gt=0, le=5), Unit("m")]
Speed = Annotated[float, pydantic.Field(gt=0, le=2), Unit("m/s")]
Numbers = Annotated[tuple[float, ...], pydantic.Field(min_length=1)]


class BladeSettings(Settings):
    """A flat blade. The rake is the angle between its face and the ground ahead; below 90 degrees the face looks up."""

    width: Side = 0.5
    height: Side = 0.3
    thickness: Side = 0.02
    rake_deg: Annotated[float, pydantic.Field(ge=30, le=95), Unit("degree")] = 90.0


class MeasuredDraught(Settings):
    """Measured points to compare with, means over short stretches. `scatter` is the standard deviation in them."""

    source: Annotated[str, pydantic.Field(min_length=1)]
    travel: Numbers  # [m]
    draught: Numbers  # [N]
    scatter: Numbers  # [N]
    scored_from: Annotated[float, pydantic.Field(ge=0), Unit("m")] = 0.0  # points before are shown but not scored
    stretch: Annotated[float, pydantic.Field(ge=0), Unit("m")] = 0.0  # of travel, over which a point is a mean

    @pydantic.model_validator(mode="after")
    def _same_length(self) -> MeasuredDraught:
        counts = {name: len(getattr(self, name)) for name in ("travel", "draught", "scatter")}
        if len(set(counts.values())) > 1:
            listed = ", ".join(f"{count} of {name}" for name, count in counts.items())
            raise ValueError(f"has {listed}: allowed is one each")
        if not any(at >= self.scored_from for at in self.travel):
            raise ValueError(f"scored_from {self.scored_from:g} m: no point is left to score")
        return self


class Blade(SoilLaws):
    """Settings of `blade`."""

    soil: SoilChoice = SoilChoice(name="dry-sand")
    blade: BladeSettings = BladeSettings()
    depth: Metres = 0.05  # of the lower edge below the level ground
    speed: Speed = 0.05
    travel: Metres = 0.4  # counted from the place where the blade meets the soil
    entry_speed: Speed = 0.025  # downwards, until the blade is at depth
    entry_angle_deg: Annotated[float, pydantic.Field(gt=0, le=90), Unit("degree")] = 90.0  # 90: straight down
    compression: Annotated[float, pydantic.Field(ge=0, le=1)] | None = None  # None: the soil's own
    spacing: Metres | None = None  # None: 10 mm, or less for a thin blade
    step: Annotated[float, pydantic.Field(gt=0, le=0.1), Unit("s")] | None = None  # None: by speed
    faces: bool = True  # false: only the lower edge feels the soil, for comparison
    erosion: bool = True
    friction: Literal["shear-displacement", "mohr-coulomb", "coulomb", "none"] = "shear-displacement"
    gravity: Annotated[float, pydantic.Field(gt=0), Unit("m/s^2")] = 9.81
    dtype: Literal["float64", "float32"] = "float64"
    measured: MeasuredDraught | None = None

    @pydantic.model_validator(mode="after")
    def _long_enough(self) -> Blade:
        least = self.ramp + 2 * self.chosen_spacing
        if self.travel < least:
            raise ValueError(f"travel {self.travel:g} m: allowed is at least {least:g} m, way down and two cells")
        if self.blade.height < self.depth:
            raise ValueError(f"depth {self.depth:g} m: allowed is at most the height of the blade")
        return self

    @property
    def ramp(self) -> float:
        """Travel [m] on the way down."""
        return self.depth / math.tan(math.radians(self.entry_angle_deg))

    @property
    def entry_time(self) -> float:
        """Time [s] on the way down."""
        return self.depth / self.entry_speed

    @property
    def chosen_spacing(self) -> float:
        """Spacing [m] of the grid: so fine that the lower edge of the blade is wider than a cell."""
        fine = max(LEAST_SPACING, min(SPACING, self.blade.thickness / CELLS_THROUGH))
        return self.spacing if self.spacing is not None else fine

    @property
    def chosen_step(self) -> float:
        """Largest step [s] that keeps travel per step below half a millimetre."""
        return self.step if self.step is not None else min(LARGEST_STEP, LARGEST_TRAVEL / self.speed)

    def chosen_soil(self):
        return self.soil.with_compression(self.compression)

    def place(self, time: float) -> tuple[float, float]:
        """Where the lower edge of the face is: x and z [m]."""
        if time < self.entry_time:
            share = time / self.entry_time
            return share * self.ramp, -share * self.depth
        return min(self.ramp + self.speed * (time - self.entry_time), self.travel), -self.depth

    def surface(self) -> Surface:
        """The blade with the lower edge of its face at the origin, looking along x. Its lower end is level."""
        b, rake = self.blade, math.radians(self.blade.rake_deg)
        deep = b.thickness / math.sin(rake)
        vertices, triangles = box(np.array([deep, b.width, b.height]) / 2)
        vertices += [-deep / 2, 0.0, b.height / 2]
        vertices[:, 0] -= vertices[:, 2] / math.tan(rake)
        return prepare(vertices, triangles, width=min(deep, b.width), name="blade")


class Guide(Memoryless):
    """Moves the blade: down to its depth, then ahead. The speeds lead to the place at the end of the step."""

    def __init__(self, s: Blade):
        self.period, self.settings = s.chosen_step, s

    def act(self, time: float, sensors: Any, command: np.ndarray) -> None:
        command[:] = (np.array(self.settings.place(time + self.period)) - sensors.qpos) / self.period


def build(s: Blade) -> Simulation:
    # Room for the pile and its wedge, ahead and at the sides: both grow with the root of the soil that is pushed.
    room = 0.4 + 6 * s.depth + 2 * math.sqrt(s.depth * s.travel)
    breadth = s.blade.width + 2 * room
    lean = s.blade.height / math.tan(math.radians(s.blade.rake_deg))
    # The face ends its travel between two nodes: soil goes ahead cell by cell, and half way through a cell the heights
    # stand for the mean. The ends of the blade are between nodes too.
    dx = s.chosen_spacing
    behind, beside = _half_way(s.travel + ROOM + max(lean, 0.0), dx), _half_way(room, dx)
    origin = (s.travel - behind, -s.blade.width / 2 - beside)
    terrain = flat(size=(behind + room, breadth), spacing=breadth / 8, origin=origin)
    ground = Ground(terrain, s.chosen_soil(), dx, dtype=s.dtype)
    options = SoilOptions(friction=s.friction, erosion=s.erosion, faces=s.faces, **s.law_options())
    module = SoilModule(ground, {"blade": s.surface()}, options)
    sim = Simulation(
        _guides(s), [module], ground=ground, controllers=[Guide(s)], step=s.chosen_step, dtype=s.dtype,
        recorded_bodies=("blade",),
    )  # fmt: skip
    if s.blade.thickness < dx:
        sim.notes.append(
            f"spacing {dx:g} m: the blade is thinner than a cell, so that its lower edge presses on the soil ahead"
        )
    out, d = sim.engine.slots[0].out, sim.data

    def force(axis: int, sign: float):
        return sign * out.effective.numpy()[:, 0, axis].astype(float)

    sim.add_channel(Channel("blade/draught", "N", read=lambda: force(0, -1.0)))
    sim.add_channel(Channel("blade/lift", "N", read=lambda: force(2, 1.0)))
    sim.add_channel(Channel("blade/travel", "m", read=lambda: np.array([d.qpos[0]])))
    sim.add_channel(Channel("blade/depth", "m", read=lambda: np.array([-d.qpos[1]])))
    return sim


def _half_way(length: float, spacing: float) -> float:
    """The next longer length [m] that ends half way between two nodes."""
    return (math.floor(length / spacing) + 1.5) * spacing


def _guides(s: Blade) -> mujoco.MjSpec:
    """The blade on slides along x and z, each with a stiff drive."""
    spec = mujoco.MjSpec()
    spec.modelname = "blade"
    spec.option.gravity = [0, 0, -s.gravity]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    blade = spec.worldbody.add_body(name="blade")
    blade.mass, blade.inertia, blade.ipos, blade.explicitinertial = MASS, [0.1, 0.1, 0.1], [0, 0, 0], True
    for name, axis in (("travel", [1, 0, 0]), ("depth", [0, 0, 1])):
        blade.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_SLIDE, axis=axis)
        spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT).set_to_velocity(kv=SERVO)
    return spec


def duration(s: Blade) -> float:
    return s.entry_time + (s.travel - s.ramp) / s.speed


def metrics(s: Blade) -> list[dict[str, Any]]:
    soil, wedge = s.chosen_soil(), "trial wedge of Coulomb with side wedges (docs/theory/soil.md)"
    level = soil.compression == 1
    theory = level_draught(
        soil, width=s.blade.width, depth=s.depth, rake_deg=s.blade.rake_deg, gravity=s.gravity
    ).draught  # fmt: skip
    out = [
        metric(
            "draught_N", "N", "force of the soil against the travel, mean over the last cell of travel",
            theory if level else None, {"rel": WEDGE_TOLERANCE} if level else None, wedge if level else None,
        ),
        metric("draught_level_N", "N", "the trial wedge in level ground, without the pile"),
        metric(
            "draught_error_rel", "1", "draught over that of the trial wedge through the recorded heights, less 1",
            0.0, {"abs": WEDGE_TOLERANCE}, wedge,
        ),
        metric("lift_N", "N", "force of the soil upwards, mean over the last cell of travel"),
        metric(
            "lift_ratio", "1", "lift over draught", lift_ratio(soil, s.blade.rake_deg), {"abs": WEDGE_TOLERANCE},
            "the push is inclined to the face by the wall friction angle",
        ),
        metric("pile_height_m", "m", "highest soil above the level ground at the end"),
        metric(
            "pile_slope_deg", "degree", "steepest slope between two nodes ahead of the blade, at the end",
            None, {"max": math.degrees(math.atan((1 + SLOPE_TOLERANCE) * soil.slope_limit))}, "angle of repose",
        ),
        metric(
            "volume_error_rel", "1", "soil lost less soil compressed, over soil displaced, at the end",
            0.0, {"abs": VOLUME_TOLERANCE}, "conservation of volume",
        ),
        metric("real_time_factor", "1", "simulated time over wall time of the loop"),
    ]  # fmt: skip
    if s.measured is not None:
        out[-1:-1] = [
            metric(
                "measured_error_median", "1", "median over the measured points of |computed - measured| / measured",
                0.0, {"abs": MEASURED_AIM}, s.measured.source,
            ),
            metric("measured_error_worst", "1", "the largest of these errors"),
            metric("measured_bias", "1", "mean over the measured points of computed over measured, less 1"),
        ]  # fmt: skip
    return out


def figures(s: Blade) -> list[dict[str, Any]]:
    drag = np.linspace(0, 1, PROFILES) * (duration(s) - s.entry_time) + s.entry_time
    forces: dict[str, Any] = {
        "name": "draught", "title": "Force of the soil on the blade", "kind": "lines", "x": "blade/travel",
        "y": ["blade/draught", "blade/lift"], "xlabel": "travel [m]", "ylabel": "force [N]",
        "caption": "Draught: against the travel. Lift: upwards. Both grow with the pile ahead of the blade.",
    }  # fmt: skip
    if s.measured is not None:
        m = s.measured
        forces["overlay"] = [
            {"label": "draught, measured", "x": list(m.travel), "y": list(m.draught), "scatter": list(m.scatter)}
        ]
    return [
        forces,
        {
            "name": "pile", "title": "The pile ahead of the blade", "kind": "profiles", "body": "blade",
            "times": [float(time) for time in drag], "across": 0.0, "corners": s.surface().vertices.tolist(),
            "caption": "Section through the middle of the blade at several times.",
        },
        soil_map("Height above the undisturbed surface: the cut, the pile and its shoulders.", ["body/pose[blade]"]),
    ]  # fmt: skip


def measure(s: Blade, recording: Recording) -> dict[str, Any]:
    travel, draught = recording["blade/travel"], recording["blade/draught"]
    last = travel > travel[-1] - s.chosen_spacing
    force, lift = float(np.mean(draught[last])), float(np.mean(recording["blade/lift"][last]))
    soil, size = s.chosen_soil(), {"width": s.blade.width, "rake_deg": s.blade.rake_deg, "gravity": s.gravity}
    ahead = HeightsAhead(recording, float(travel[-1]), float(recording["blade/depth"][-1]))
    expected = draught_through(soil, ahead, **size, fine=s.chosen_spacing / 5).draught
    out = {
        "draught_N": force,
        "draught_level_N": level_draught(soil, depth=s.depth, sides=True, **size).draught,
        "draught_error_rel": force / expected - 1,
        "lift_N": lift,
        "lift_ratio": lift / force if force else math.nan,
        "pile_height_m": ahead.highest,
        "pile_slope_deg": ahead.steepest_deg,
        "volume_error_rel": float(recording["soil/volume_error"][-1]),
    }
    return out | (_against_measured(s.measured, travel, draught) if s.measured is not None else {})


class HeightsAhead:
    """The ground at a time of a recording (default: the end), above the lower edge of the blade.

    Beyond the grid it is level. `at` and `depth` [m]: where the lower edge is.
    """

    def __init__(self, recording: Recording, at: float, depth: float, time: float = math.inf):
        self.at, self.depth = at, depth
        x, y, self.heights, before = recording.surface_at(time)
        self.x0, self.y0, self.dx = float(x[0]), float(y[0]), float(x[1] - x[0])
        first = math.floor((at - self.x0) / self.dx + 1e-9) + 1  # the first column of nodes ahead of the face
        self.highest = float(np.max(self.heights - before))
        self.heights = np.asarray(self.heights, float).copy()
        pile = self.heights[:, first:]
        drops = [np.abs(np.diff(pile, axis=axis)) for axis in (0, 1)]
        steepest = max((float(drop.max()) for drop in drops if drop.size), default=0.0)
        self.steepest_deg = math.degrees(math.atan(steepest / self.dx))
        self.heights[:, :first] = self.heights[:, first : first + 1]  # at the face as high as at the first node

    def __call__(self, ahead: np.ndarray, across: np.ndarray) -> np.ndarray:
        """Heights [m] above the lower edge, linear between nodes."""
        u, v = (ahead + self.at - self.x0) / self.dx, (across - self.y0) / self.dx
        rows, columns = self.heights.shape
        known = (u >= 0) & (u <= columns - 1) & (v >= 0) & (v <= rows - 1)
        i = np.clip(v.astype(int), 0, rows - 2)
        j = np.clip(u.astype(int), 0, columns - 2)
        p, q, h = v - i, u - j, self.heights
        low = (1 - q) * h[i, j] + q * h[i, j + 1]
        high = (1 - q) * h[i + 1, j] + q * h[i + 1, j + 1]
        return np.where(known, (1 - p) * low + p * high, 0.0) + self.depth


def over_stretches(places: np.ndarray, stretch: float, travel: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Mean of a force over `stretch` [m] of travel around each of the places."""
    shifts = np.linspace(-0.5, 0.5, 21) * stretch
    return np.interp(places[:, None] + shifts[None, :], travel, force).mean(axis=1)


def _against_measured(measured: MeasuredDraught, travel: np.ndarray, draught: np.ndarray) -> dict[str, Any]:
    """Errors at the measured points up to the end of the run."""
    at, value = np.array(measured.travel), np.array(measured.draught)
    scored = (at >= measured.scored_from) & (at <= travel[-1])
    if not scored.any():
        return {}
    share = over_stretches(at[scored], measured.stretch, travel, draught) / value[scored]
    errors = np.abs(share - 1)
    return {
        "measured_error_median": float(np.median(errors)),
        "measured_error_worst": float(errors.max()),
        "measured_bias": float(share.mean() - 1),
    }


SCENARIO = scenario_of(
    __name__, Blade,
    summary="a blade dragged through soil: draught, lift and the pile ahead of it",
    source="Coulomb 1776, McKyes 1985, chapter 3",
)  # fmt: skip
