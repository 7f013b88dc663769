"""Contacts of the OLEV docking: tool body, wire crown and bolt in the nozzle, brackets under the adapter ring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from grouser.contact.layers import Layer
from grouser.contact.polygonal import Pair, PolygonalModule, shape
from grouser.contact.revolution import Profile, RevolutionBody, RevolutionContact, RevolutionPair
from grouser.module import Channel
from grouser.robots.olev import BRACKETS, Olev
from grouser.robots.olev_shapes import (
    bolt_section,
    crown_section,
    nozzle_section,
    pad_mesh,
    ring_mesh,
    seat,
    spread_of,
    tool_section,
)

NEVER = -1  # value of `key` before a section has been set
POISSON = 0.3
THICKNESS = 5e-4  # [m] of the elastic layer on each side (assumed)
PAD_THICKNESS = 5e-3  # [m] (assumed)
TRANSITION = 2e-5  # [m] penetration over which damping is blended in (assumed)
SHARE = (1 - POISSON) / ((1 + POISSON) * (1 - 2 * POISSON))  # K / E, Krenn et al. 2008, eq. 2
SECTORS, REFINE = 12, 2  # elements round the axis, and subdivision of one at the border
TOOL_AREA, CROWN_AREA, PAD_AREA = 8e-4, 4e-4, 2e-3  # [m^2] largest contact areas, for the step limit


def layer(stiffness: float, damping_time: float, friction: float, thickness: float, name: str) -> Layer:
    """One of two equal layers that together have `stiffness` [N/m^3]."""
    own = 2 * stiffness
    return Layer(
        young=own * thickness / SHARE, poisson=POISSON, thickness=thickness, damping=own * damping_time,
        transition_depth=TRANSITION, friction_stick=friction, friction_slip=friction, name=name,
    )  # fmt: skip


def nozzle_contact(p: Olev, sectors: int = SECTORS, refine: int = REFINE) -> RevolutionContact:
    """The three contact pairs of Krenn and Hirzinger 2009, section II.C. Channels record forces on the tool's side."""
    fine: dict[str, Any] = {"sectors": sectors, "refine": refine}
    metal = layer(p.contact_stiffness, p.contact_damping_time, p.contact_friction, THICKNESS, "metal")
    nozzle = RevolutionBody(
        "client", Profile(*nozzle_section(p), inner=True, name="nozzle"), metal, "nozzle",
        position=p.throat.tolist(), axis=p.nozzle_rotation[:, 2].tolist(),
    )  # fmt: skip
    z, r = tool_section(p)
    seated = seat(p)[0]
    tool = RevolutionBody("tool", Profile(z - seated, r, name="tool"), metal, "tool", position=(0, 0, seated), **fine)
    crown = RevolutionBody("crown", Profile(*crown_section(p, 0.0), name="crown"), metal, "crown", **fine)
    bolt = RevolutionBody("crown", Profile(*bolt_section(p), name="bolt"), metal, "bolt", **fine)
    return RevolutionContact([
        RevolutionPair("tool", tool, nozzle, largest_area=TOOL_AREA),
        RevolutionPair("crown", crown, nozzle, largest_area=CROWN_AREA),
        RevolutionPair("bolt", bolt, nozzle, largest_area=CROWN_AREA),
    ], name="nozzle")  # fmt: skip


def bracket_contact(p: Olev) -> PolygonalModule:
    """Pads of the three brackets against the launch adapter ring."""
    rubber = layer(p.pad_stiffness, p.pad_damping_time, p.pad_friction, PAD_THICKNESS, "pad")
    pads = dict.fromkeys(BRACKETS, shape(*pad_mesh(p), rubber, name="pad"))
    ring = shape(*ring_mesh(p), rubber, name="ring")
    pairs = [Pair(name, "client", elements=name, largest_area=PAD_AREA) for name in BRACKETS]
    return PolygonalModule({**pads, "client": ring}, pairs=pairs, name="brackets")


class CrownShape:
    """Updates the section of the crown with its joint position: the wires bow out as the bolt is pulled back."""

    FINENESS = 2000  # number of shapes between closed and spread

    def __init__(self, p: Olev, contact: RevolutionContact, period: float):
        self.p, self.contact, self.period = p, contact, period
        self.key = np.full(1, NEVER)  # spread of the present section [1 / FINENESS]
        self._joint: int | None = None

    def act(self, time: float, sensors: Any, command: Any) -> None:
        if self._joint is None:
            joint = sensors.model.joint("crown")
            self._joint, self._dof = int(joint.qposadr[0]), int(joint.dofadr[0])
        position = sensors.qpos[self._joint]
        key = round(self.FINENESS * spread_of(self.p, position))
        if key == self.key[0]:
            return
        self.key[0] = key
        spread = key / self.FINENESS
        z, r = crown_section(self.p, spread)
        speed: Any = np.zeros((len(z), 2))
        if 0 < key < self.FINENESS:
            _, one = crown_section(self.p, 1.0)
            _, none = crown_section(self.p, 0.0)
            speed[:, 0] = -(one - none) * sensors.qvel[self._dof] / self.p.crown_spreading
        self.contact.set_profile("crown", np.column_stack([r, z]), speed)

    def state(self) -> dict[str, Any]:
        return {"key": self.key}  # section and speed are saved with the contact

    def reset(self, worlds: Sequence[int]) -> None:
        self.key[0] = NEVER

    def channels(self) -> list[Channel]:
        return []
