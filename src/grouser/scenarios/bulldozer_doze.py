"""A bulldozer cuts a layer of soil with its blade and pushes it ahead: pile, cut, draught and slip of the tracks.

Tracks and blade stand on one ground. The blade moves the soil by the law of steep faces (docs/theory/soil.md): the pile
grows, slides and spills at the ends of the blade. The machine drives down into its own cut, so a grade control moves
the lift to keep the lower edge of the blade at its depth. Machine, blade and control are assumed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import pydantic
import warp as wp

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
from grouser.scenarios.tracked_machine import RAMP, SETTLING, SIDES, MachineSettings
from grouser.simulation import Simulation

ENTRY = 1.0  # [m] of travel in which the blade is lowered to its depth
SLOWEST = 0.5  # least share of the commanded speed for which there is time
LIFT_SPEED = 0.3  # [m/s] largest speed of the lift; assumed
LIFT_TIME = 0.1  # [s] in which the grade control corrects an error of height; assumed
STOPPING = 1.0  # [s] after the pass
CUT_TOLERANCE = 0.1  # of the depth of the cut: the lower edge presses on its floor and the grade control lags
WEDGE_TOLERANCE = 0.1  # draught against the trial wedge: 5 % of the face law on fine grids, and cells of 5 % of the pile
FLOOR = 0.5  # [m] half the width of the strip between the tracks in which the floor of the cut is measured
PLACES = 5  # places in the last metres at which the draught is compared with the trial wedge
LAST = 2.0  # [m] these metres
PROFILES = 5

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

    @property
    def end(self) -> float:
        """Travel [m] of the blade at the end of the pass, from its place at the start."""
        return ENTRY + self.length

    def edge_height(self, travel: float) -> float:
        """Wanted height [m] of the lower edge above the initial ground."""
        clearance = self.machine.dozer_clearance
        return clearance - (clearance + self.depth) * min(max(travel / ENTRY, 0.0), 1.0)


class DozeDrive:
    """Drives the chains until the pass is over and moves the lift. Sums the impulse of the soil on the blade."""

    def __init__(self, s: BulldozerDoze, sprocket_radius: float):
        self.s, self.period, self.radius = s, s.step, sprocket_radius
        self._arrays = {"impulse": wp.zeros(3, dtype=wp.float64, device="cpu")}
        self.impulse = self._arrays["impulse"].numpy()  # [N s] a view

    def attach(self, sim: Simulation) -> None:
        self.out, self.body = sim.engine.slots[1].out, sim.model.body("blade").id
        self.lift, self.start = sim.model.joint("blade_lift").dofadr[0], float(sim.data.xpos[self.body][0])

    def act(self, time: float, sensors: Any, command: Any) -> None:
        s = self.s
        self.impulse += self.period * self.out.effective.numpy()[0, 0, :3]
        place = sensors.xpos[self.body]
        travel = float(place[0]) - self.start
        ramp = min(max((time - SETTLING) / RAMP, 0.0), 1.0)
        wanted = ramp * s.speed if travel < s.end else 0.0
        command[0] = command[1] = wanted / self.radius
        # The blade moves with the chassis: the lift makes up for the difference.
        error = s.edge_height(travel) - float(place[2])
        follows = time >= SETTLING and travel < s.end and (s.grade or travel < ENTRY)
        command[2] = min(max(error / LIFT_TIME, -LIFT_SPEED), LIFT_SPEED) if follows else 0.0

    def state(self) -> dict[str, Any]:
        return self._arrays

    def reset(self, worlds: Sequence[int]) -> None:
        self.impulse[:] = 0.0

    def channels(self) -> list[Channel]:
        return [Channel("blade/impulse", "N s", (3,), read=lambda: self.impulse[None])]


def build(s: BulldozerDoze) -> Simulation:
    sprocket = next(w for w in s.machine.layout.wheels() if w.kind == "sprocket")
    drive = DozeDrive(s, sprocket.radius)
    options = SoilOptions(faces=s.faces, erosion=s.erosion)
    sim = tracked.simulate(s, tracked.ramped([]), drive=drive, soil_options=options)
    drive.attach(sim)
    track: Any = sim.modules[0]
    out, data, body = drive.out, sim.data, drive.body

    def force(axis: int, sign: float):
        return lambda: sign * out.effective.numpy()[:, 0, axis]

    def slip() -> np.ndarray:
        chain = -track.chain_speed()[0].mean()
        return np.array([1 - data.qvel[0] / chain if chain > 0.05 else 0.0])

    for name, unit, read in (
        ("blade/draught", "N", force(0, -1.0)),
        ("blade/lift", "N", force(2, 1.0)),
        ("blade/travel", "m", lambda: np.array([data.xpos[body][0] - drive.start])),
        ("blade/edge_height", "m", lambda: np.array([data.xpos[body][2]])),
        ("machine/slip", "1", slip),
        ("machine/thrust", "N", lambda: track.ground_force()[:, :, 0].sum(axis=1)),
    ):
        sim.add_channel(Channel(name, unit, read=read))
    return sim


def duration(s: BulldozerDoze) -> float:
    return SETTLING + RAMP + s.end / (SLOWEST * s.speed) + STOPPING
