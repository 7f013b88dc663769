"""A bulldozer pulls at its drawbar with a growing force until the tracks spin: slip against pull, ground pressure.

Paper: Omar 2014, section 5, eq. 48 to 53. The paper shows no pull test; machine and ground are assumed.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
import pydantic

from grouser.errors import InputError
from grouser.module import Channel
from grouser.recording import Recording
from grouser.scenarios import tracked_machine as tracked
from grouser.scenarios.drawbar_pull import Ramp
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import metric, scenario_of
from grouser.scenarios.tracked_machine import CONTACT_LENGTH, RAMP, SETTLING, SIDES, MachineSettings
from grouser.simulation import Simulation
from grouser.track import FlatGround, Link, SoilValues
from grouser.track.ground import soil_at

STEADY = 1.0  # [s] driving time before the pull starts
SLIPPING = 0.9  # slip above which the tracks count as spinning
SMOOTHED = 0.4  # [s] over which slip and pull are averaged: one or two shoes
PULLING = 8.0  # [s] from zero to full pull
THROUGH = 0.02  # tolerance of the pull: strength is computed from frames at 25 Hz, of loads that each shoe shakes
SHARED = 0.01  # tolerance of the ratio of both sides: frames at 25 Hz, of loads that each shoe shakes


class BulldozerDrawbar(MachineSettings):
    """Settings of `bulldozer-drawbar`."""

    speed: Annotated[float, pydantic.Field(gt=0, le=3), Unit("m/s")] = 0.8  # chain speed
    pull: Annotated[float, pydantic.Field(gt=0), Unit("N")] | None = None  # final pull; None: 1.5 times the strength
    time: Annotated[float, pydantic.Field(gt=0), Unit("s")] = PULLING  # from zero to full pull

    @property
    def strength(self) -> float:
        """Rough estimate of the shear strength [N], c A + W tan(phi) + grouser faces, used to choose the pull."""
        p, link = self.machine, self.machine.layout.link
        shoes = 2 * CONTACT_LENGTH / link.pitch
        below = np.full(round(shoes), p.total_mass * self.gravity / shoes)
        return float(shear_strength(below, link, self.soil.values()).sum())

    @property
    def greatest(self) -> float:
        return self.pull if self.pull is not None else 1.5 * self.strength


def shear_strength(load: np.ndarray, link: Link, soil: SoilValues, straight: Any = 1.0) -> np.ndarray:
    """Shear strength [N] of the ground below shoes, each with a `load` [N]. Same shape as `load`; values of soil too.

    `straight`: cosine between the slip and the chain, with whose square the faces of grousers count.

    c A + load tan(phi) (Omar 2014, eq. 49) + Rankine's passive force on the grouser faces, or no more than the tip
    plane if the shoes have `grouser_strength` "lesser" (`track.laws.face_before_plate`). The depth of a shoe follows
    from its load: the stiffness K_y (eq. 48) supports first the tips of the grousers and then the plate too.
    """
    shoe, slope = link.shoe, np.tan(np.radians(soil.friction_angle_deg))
    tips = shoe.grousers * shoe.grouser_thickness * shoe.width
    plate, high = link.pitch * shoe.width - tips, shoe.grouser_height if shoe.grousers else 0.0
    lying = load > soil.stiffness * tips * high  # the plate is in contact too
    depth = np.where(lying, (load / soil.stiffness + plate * high) / (tips + plate), 0.0)
    if tips:
        depth = np.where(lying, depth, load / (soil.stiffness * tips))
    area = np.where(load > 0, tips, 0.0) + np.where(lying, plate, 0.0)
    root = np.hypot(1, slope) + slope  # tan(45 deg + phi / 2)
    face = shoe.grousers * shoe.width * (soil.weight * depth * root / 2 + 2 * soil.cohesion) * depth * root
    if shoe.grouser_strength == "lesser" and tips:
        gap = link.pitch * shoe.width - tips
        bare = np.clip(10 * (1 - depth / shoe.grouser_height), 0, 1)
        face = bare * np.minimum(face, gap * (soil.cohesion + soil.weight * depth * slope))
    return soil.cohesion * area + load * slope + straight**2 * face


def build(s: BulldozerDrawbar) -> Simulation:
    begin = SETTLING + RAMP + STEADY
    speeds = tracked.ramped([(SETTLING, s.speed, s.speed)])
    sim = tracked.simulate(s, speeds, pull=Ramp(s.greatest, begin, s.time))
    module: Any = sim.modules[0]
    data = sim.data
    body = sim.model.body("chassis").id

    def slip() -> np.ndarray:
        chain = -module.chain_speed()[0].mean()
        speed = data.qvel[:3] @ data.xmat[body].reshape(3, 3)[:, 0]
        return np.array([1 - speed / chain if chain > 0.05 else 0.0])

    sim.add_channel(Channel("machine/slip", "1", frame="", read=slip))
    sim.add_channel(Channel("machine/mean_maximum_pressure", "Pa", frame="", read=lambda: np.array([peaks(module)])))
    return sim


def peaks(module) -> float:
    """Mean over rollers of the largest pressure [Pa] of a shoe within half a roller spacing of each roller."""
    found, s = [], module._committed
    for k, track in enumerate(module.tracks):
        at, wheels = module.links_of(k), module.wheels_of(k)
        x, load = s.position.numpy()[0, at], module._results.shoe_load.numpy()[0, at, 2]
        area = track.link.pitch * track.link.shoe.width
        centres = module._wheels.centre.numpy()[0, wheels][[wheel.kind == "roller" for wheel in track.wheels]]
        if len(centres) < 2:
            continue
        reach = np.linalg.norm(centres[1] - centres[0]) / 2
        near = np.linalg.norm(x[None, :, :2] - centres[:, None, :2], axis=-1) < reach
        found += [(np.where(row, load, 0.0) / area).max() for row in near]
    return float(np.mean(found)) if found else 0.0


def duration(s: BulldozerDrawbar) -> float:
    return SETTLING + RAMP + STEADY + s.time


def metrics(s: BulldozerDrawbar) -> list[dict[str, Any]]:
    return [
        *tracked.shared_metrics(s, True),
        metric(
            "drawbar_pull_max_N",
            "N",
            "sustained pull: mean pull over whole link pitches after slip has passed 0.9, "
            "less what the machine's loss of momentum adds; if the tracks never spin, the largest pull",
        ),
        metric("pull_coefficient", "1", "that pull over the weight"),
        metric("strength_N", "N", "c A + W tan(phi) + passive force on grousers, from the shoe loads during that "
            "time; mean"),
        metric("pull_over_strength", "1", "drawbar_pull_max_N over strength_N", *_expected(s)),
        *([metric(
            "shear_ratio_error_rel", "1", "shear below the shoes of the left track over that of the right one, against "
            "the ratio of the strengths below them, less 1, in the same time", *_shared_out(s),
        )] if s.terrain is not None else []),
        metric("slip_at_half", "1", "slip at half that pull"),
        metric("mean_maximum_pressure_Pa", "Pa", "mean over the rollers of the largest shoe pressure near each, "
            "without pull"),
        metric("mean_pressure_Pa", "Pa", "weight over the plan area of loaded shoes, before the pull"),
    ]  # fmt: skip


def _expected(s: BulldozerDrawbar) -> tuple[Any, Any, Any]:
    """With spinning tracks the pull equals the ground's strength. If the pull grows fast, inertia adds to it."""
    slips = s.pull is None and s.plastic is None and not s.blade_load and s.time >= PULLING
    level = s.terrain is None  # on a slope the weight pulls too
    return (1.0, {"rel": THROUGH}, "closed form: Omar 2014 eq. 49, Rankine") if slips and level else (None, None, None)


def _shared_out(s: BulldozerDrawbar) -> tuple[Any, Any, Any]:
    """Below spinning tracks the shear is the strength of the soil on each side (Omar 2014, Fig. 12 and eq. 47)."""
    slips = s.plastic is None and s.time >= PULLING
    source = "closed form: Omar 2014 eq. 47 and 49, Rankine"
    return (0.0, {"abs": SHARED}, source) if slips else (None, None, None)


def figures(s: BulldozerDrawbar) -> list[dict[str, Any]]:
    begin, end = SETTLING + RAMP + STEADY, duration(s)
    return [
        {
            "name": "slip-pull", "title": "Pull against slip", "kind": "xy", "x": "machine/slip", "y": ["drawbar/pull"],
            "xlabel": "slip [1]", "ylabel": "drawbar pull [N]", "window": [begin, end],
            "overlay": [{"label": "soil strength, approximate", "x": [0, 1], "y": [s.strength] * 2, "style": "line"}]
            if s.terrain is None else [],
            "caption": "The pull grows steadily and decreases when the machine stops: the load resists and never "
            "pulls the machine.",
        },
        *tracked.shared_figures(s, [SETTLING, begin + 0.6 * s.time], sides=("left",)),
        {
            "name": "pressure", "title": "Mean maximum pressure", "kind": "lines", "x": "time",
            "y": ["machine/mean_maximum_pressure"], "ylabel": "pressure [Pa]",
            "caption": "Mean over the rollers of the largest mean pressure of a shoe near each.",
        },
    ]  # fmt: skip


def measure(s: BulldozerDrawbar, recording: Recording) -> dict[str, Any]:
    t, begin, link = recording.time, SETTLING + RAMP + STEADY, s.machine.layout.link
    pulling = t >= begin
    if not pulling.any():
        raise InputError(f"bulldozer-drawbar: the run ended before the pull begins at {begin:g} s")
    width = min(max(1, round(SMOOTHED / (t[1] - t[0]))), max(1, int(pulling.sum())))  # a short pull is averaged whole
    kernel = np.ones(width) / width
    slip = np.convolve(recording["machine/slip"][pulling], kernel, "valid")
    pull = np.convolve(recording["drawbar/pull"][pulling], kernel, "valid")
    through = np.flatnonzero(slip > SLIPPING)
    frames = whole_pitches(recording, float(t[pulling][through[0]]), link.pitch) if len(through) else None
    last = int(through[0]) if len(through) else len(pull) - 1
    most = sustained_pull(recording, frames) if frames is not None else float(pull.max())
    slipping = frames if frames is not None else pulling
    below = None if s.plastic else strengths(s, recording, slipping)
    strength = None if below is None else float(sum(below))
    before = (t > begin - STEADY / 2) & (t <= begin)
    bearing = [(recording[f"track/{side}/shoe_pressure"][before] > 0).sum(axis=1).mean() for side in SIDES]
    weight = s.machine.total_mass * s.gravity
    return {
        **tracked.shared_measures(s, recording),
        "drawbar_pull_max_N": most,
        "pull_coefficient": most / weight,
        "strength_N": strength,
        "pull_over_strength": most / strength if strength else None,
        **({"shear_ratio_error_rel": shear_ratio_error(recording, frames, below)} if s.terrain is not None else {}),
        "slip_at_half": float(np.interp(most / 2, pull[: last + 1], slip[: last + 1])),
        "mean_maximum_pressure_Pa": float(recording["machine/mean_maximum_pressure"][before].mean()),
        "mean_pressure_Pa": float(weight / (sum(bearing) * link.pitch * link.shoe.width)),
    }


def whole_pitches(recording: Recording, begin: float, pitch: float) -> np.ndarray | None:
    """Frames from `begin` [s] or a little later to the end, in which whole links pass. None if not even one does."""
    t, frames = recording.time, np.flatnonzero(recording.time >= begin)
    speed = np.mean([np.abs(recording[f"track/{side}/chain_speed"]) for side in SIDES], axis=0)
    steps = 0.5 * (speed[1:] + speed[:-1]) * np.diff(t)
    to_end = np.append(np.cumsum(steps[::-1])[::-1], 0.0)  # chain travel [m] from each frame to the end
    links = math.floor(to_end[frames[0]] / pitch) if len(frames) else 0
    if links < 1:
        return None
    return frames[np.abs(to_end[frames] - links * pitch).argmin() :]


def sustained_pull(recording: Recording, frames: np.ndarray) -> float:
    """Mean pull [N] along the heading, less the part that comes from lost momentum: pull + dp/dt, from impulses."""
    ends = frames[[0, -1]]
    turned = recording["machine/heading"][frames].mean()
    ahead = np.array([math.cos(turned), math.sin(turned), 0.0])
    momentum = recording["machine/momentum"][ends] + sum(recording[f"track/{side}/momentum"][ends] for side in SIDES)
    gained = np.diff(momentum - recording["drawbar/impulse"][ends], axis=0)[0]
    return float(gained @ ahead / np.diff(recording.time[ends])[0])


def strengths(s: BulldozerDrawbar, recording: Recording, when: np.ndarray) -> tuple[float, float]:
    """Strength [N] of the ground below the left and the right track, mean over the frames `when`."""
    link, ground = s.machine.layout.link, s.own_ground or FlatGround(soil=s.soil.values())
    heading = recording["machine/heading"][when][:, None]

    def below(side: str) -> float:
        load = recording[f"track/{side}/shoe_pressure"][when] * link.pitch * link.shoe.width
        at, force = (recording[f"track/{side}/shoe_{what}"][when] for what in ("point", "force"))
        along = force[..., 0] * np.cos(heading) + force[..., 1] * np.sin(heading)
        straight = along / np.maximum(np.hypot(force[..., 0], force[..., 1]), 1e-9)
        soil = soil_at(ground, at[..., 0].ravel(), at[..., 1].ravel())
        each = shear_strength(load.ravel(), link, soil, straight.ravel()).reshape(load.shape)
        return float(np.where(load > 0, each, 0.0).sum(axis=1).mean())

    return below("left"), below("right")


def shear_ratio_error(recording: Recording, frames: np.ndarray | None, strength: Any) -> float | None:
    """Ratio of the shear below the two tracks over the ratio of the strengths, less 1. None: they do not spin."""
    if frames is None or strength is None:
        return None
    forces = [recording[f"track/{side}/shoe_force"][frames] for side in SIDES]
    left, right = (float(np.hypot(force[..., 0], force[..., 1]).sum(axis=1).mean()) for force in forces)
    return left / right / (strength[0] / strength[1]) - 1


SCENARIO = scenario_of(
    __name__, BulldozerDrawbar, rate=25.0,
    summary="a bulldozer pulls until its tracks slip: slip against pull, mean maximum pressure",
    source="Omar 2014, section 5",
)  # fmt: skip
