"""A bulldozer turns: wide, narrow, about one locked track, on the spot. Turning moment against radius.

Paper: Omar 2014, section 5 (shear in all directions below the shoes gives turning resistance). The paper shows no turn;
machine and ground are assumed. For comparison, the resistance of a track with uniform pressure that slides sideways
everywhere is shown: M = mu W L / 4 (Wong, Theory of Ground Vehicles, section 6.2), with mu = tan(phi).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import pydantic
import warp as wp

from grouser.module import Channel
from grouser.recording import Recording
from grouser.scenarios import tracked_machine as tracked
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import metric, scenario_of
from grouser.scenarios.tracked_machine import CONTACT_LENGTH, RAMP, SETTLING, MachineSettings
from grouser.simulation import Simulation

AVERAGED = 0.5  # last fraction of each stage, in which the turn is steady


class BulldozerTurn(MachineSettings):
    """Settings of `bulldozer-turn`."""

    radii: Annotated[tuple[float, ...], pydantic.Field(min_length=1, max_length=12)] = (20.0, 8.0, 4.0, 2.0, 0.99, 0.0)
    # [m] turning radii without slip; half the gauge: one track locked; 0: counter-rotation; below 0: to the right
    speed: Annotated[float, pydantic.Field(gt=0, le=3), Unit("m/s")] = 0.8  # speed of the outer chain
    stage: Annotated[float, pydantic.Field(gt=RAMP), Unit("s")] = 2.5  # time on each radius


def chain_speeds(radius: float, speed: float, gauge: float) -> tuple[float, float]:
    """Speeds [m/s] of left and right chain for a turn about a point `radius` [m] to the left (below 0: right)."""
    inner = speed * (abs(radius) - gauge / 2) / (abs(radius) + gauge / 2)
    return (inner, speed) if radius >= 0 else (speed, inner)


class TurnTable:
    """Results of each stage of the turn: mean turning moment, radius and yaw rate over its second half."""

    def __init__(self, s: BulldozerTurn):
        self.s, self.period = s, s.step
        self.names = ("asked", "radius", "moment", "yaw_rate")
        self._sums = wp.zeros((len(s.radii), 4), dtype=wp.float64, device="cpu")
        self.sums = self._sums.numpy()  # a view: sums of steps, moment, yaw rate and speed of each stage
        self.sim: Simulation | None = None

    def act(self, time: float, sensors: Any, command: Any) -> None:
        k = int((time - SETTLING) // self.s.stage)
        if not 0 <= k < len(self.s.radii) or (time - SETTLING) % self.s.stage < AVERAGED * self.s.stage:
            return
        assert self.sim is not None
        row = self.sums[k]
        ahead = sensors.xmat[self.body].reshape(3, 3)[:, 0]
        forces = self.module.ground_force()[0] @ ahead
        side = 1.0 if self.s.radii[k] >= 0 else -1.0
        row += (
            1.0,
            side * (forces[1] - forces[0]) * self.half_gauge,
            sensors.cvel[self.body, 2],
            sensors.qvel[:3] @ ahead,
        )

    def attach(self, sim: Simulation) -> None:
        self.sim = sim
        self.module: Any = sim.modules[0]
        self.body, self.half_gauge = sim.model.body("chassis").id, self.s.machine.gauge / 2

    def values(self) -> np.ndarray:
        """Results (4, stage) in the order of `names`; NaN for stages that have not been reached."""
        with np.errstate(invalid="ignore", divide="ignore"):
            count, moment, yaw, speed = (self.sums[:, n] for n in range(4))
            return np.stack([np.abs(self.s.radii), np.abs(speed / yaw), moment / count, yaw / count])

    def state(self) -> dict[str, Any]:
        return {"sums": self._sums}

    def reset(self, worlds: Sequence[int]) -> None:
        self.sums[:] = 0.0

    def channels(self) -> list[Channel]:
        count = len(self.s.radii)
        labels = tuple(f"stage {k + 1}" for k in range(count))
        units = {"asked": "m", "radius": "m", "moment": "N m", "yaw_rate": "rad/s"}
        return [
            Channel(f"turn/{n}", units[n], (count,), frame="", labels=labels, read=lambda k=k: self.values()[k][None])
            for k, n in enumerate(self.names)
        ]


def build(s: BulldozerTurn) -> Simulation:
    gauge = s.machine.gauge
    segments = [(SETTLING + k * s.stage, *chain_speeds(r, s.speed, gauge)) for k, r in enumerate(s.radii)]
    table = TurnTable(s)
    sim = tracked.simulate(s, tracked.ramped(segments), controllers=[table])
    table.attach(sim)
    return sim


def duration(s: BulldozerTurn) -> float:
    return SETTLING + len(s.radii) * s.stage


def sliding_moment(s: BulldozerTurn) -> float:
    """Turning resistance mu W L / 4 [N m] of a track that slides sideways."""
    return math.tan(math.radians(s.soil.friction_angle_deg)) * s.machine.total_mass * s.gravity * CONTACT_LENGTH / 4


def metrics(s: BulldozerTurn) -> list[dict[str, Any]]:
    return [
        *tracked.shared_metrics(s, False),
        metric("turning_moment_max_Nm", "N m", "largest of `turning_moments_Nm`"),
        metric("turning_moments_Nm", "N m", "difference of the tracks' thrusts x gauge / 2, mean of each stage"),
        metric("radii_m", "m", "measured radius in each stage: speed over yaw rate"),
        *([metric("sliding_moment_Nm", "N m", "mu W L / 4, for uniform pressure and sideways sliding, mu = tan(phi)")]
          if s.terrain is None else []),
        metric("heading_change_deg", "degree", "yaw angle of the chassis over the run, positive to the left"),
    ]  # fmt: skip


def figures(s: BulldozerTurn) -> list[dict[str, Any]]:
    most = max(max(map(abs, s.radii)), 1.0)
    end = duration(s)
    return [
        {
            "name": "turning-moment", "title": "Turning moment against radius", "kind": "points", "x": "turn/asked",
            "y": ["turn/moment"], "xlabel": "commanded radius [m]", "ylabel": "moment [N m]",
            "overlay": [{"label": "mu W L / 4", "x": [0.0, most], "y": [sliding_moment(s)] * 2, "style": "line"}]
            if s.terrain is None else [],
            "caption": "Difference of the two tracks' thrusts times half the gauge, mean of each stage.",
        },
        {
            "name": "way", "title": "Path of the chassis", "kind": "xy", "x": "body/pose[chassis, x]",
            "y": ["body/pose[chassis, y]"], "xlabel": "x [m]", "ylabel": "y [m]", "equal": True,
            "caption": "Point between the sprockets, from above.",
        },
        {
            "name": "yaw", "title": "Yaw rate", "kind": "lines", "x": "time", "y": ["machine/yaw_rate"],
            "ylabel": "yaw rate [rad/s]", "caption": "Positive to the left.",
        },
        {
            "name": "plan", "title": "Tracks from above", "kind": "chain", "plan": True, "pose": "track/left/pose",
            "value": "track/left/lateral", "pitch": s.machine.layout.link.pitch, "times": [SETTLING, end],
            "caption": "Left track at the start and at the end, coloured by the links' offset from their roller line.",
        },
        *tracked.shared_figures(s, [SETTLING, end], sides=("left",))[1:],
    ]  # fmt: skip


def measure(s: BulldozerTurn, recording: Recording) -> dict[str, Any]:
    moments, driven = recording["turn/moment"][-1], recording["turn/radius"][-1]
    heading = np.unwrap(recording["machine/heading"])
    return {
        **tracked.shared_measures(s, recording),
        "turning_moment_max_Nm": float(np.nanmax(moments)) if np.isfinite(moments).any() else math.nan,
        "turning_moments_Nm": [float(m) for m in moments],
        "radii_m": [float(r) for r in driven],
        **({"sliding_moment_Nm": sliding_moment(s)} if s.terrain is None else {}),
        "heading_change_deg": float(np.degrees(heading[-1] - heading[0])),
    }


SCENARIO = scenario_of(
    __name__, BulldozerTurn, rate=25.0,
    summary="a bulldozer turns, from a wide turn to a turn on the spot: turning moment against radius",
    source="Omar 2014, section 5",
)  # fmt: skip
