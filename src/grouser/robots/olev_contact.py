"""Contacts of the OLEV docking: tool body, wire crown and bolt in the nozzle, brackets under the adapter ring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser.contact.layers import Layer
from grouser.contact.polygonal import Pair, PolygonalModule, shape
from grouser.contact.revolution import RevolutionBody, RevolutionContact, RevolutionPair
from grouser.contact.revolution.bodies import MOST_PARTS, MOST_PASSES
from grouser.errors import InputError
from grouser.module import Channel
from grouser.robots.olev import BRACKETS, Olev
from grouser.robots.olev_profiles import bolt_profile, crown_profile, crown_shares, nozzle_profile, tool_profile
from grouser.robots.olev_shapes import crown_section, pad_mesh, ring_mesh, seat, spread_of

NEVER = -1  # value of `key` before a section has been set
POISSON = 0.3
TRANSITION = 2e-5  # [m] penetration over which damping is blended in (assumed)
SHARE = (1 - POISSON) / ((1 + POISSON) * (1 - 2 * POISSON))  # K / E, Krenn et al. 2008, eq. 2
TOOL_AREA, CROWN_AREA, PAD_AREA = 8e-4, 4e-4, 2e-3  # [m^2] largest contact areas, for the step limit


def layer(stiffness: float, damping_time: float, friction: float, thickness: float, name: str) -> Layer:
    """One of two equal layers that together have `stiffness` [N/m^3], whatever their thickness [m]."""
    own = 2 * stiffness
    return Layer(
        young=own * thickness / SHARE, poisson=POISSON, thickness=thickness, damping=own * damping_time,
        transition_depth=TRANSITION, friction_stick=friction, friction_slip=friction, name=name,
    )  # fmt: skip


@dataclass(frozen=True)
class Discretisation:
    """Contact elements in the nozzle, and how deep contact is searched. Numerical.

    Elements of half the size change penetrations by less than 5 %. The thickness of a layer changes nothing: stiffness
    per area is a parameter of the machine (`contact_stiffness`, `pad_stiffness`), at which Young's modulus follows from
    the thickness. Contact deeper than both layers gives a warning, twice as deep ends the run.
    """

    sectors: int = 20  # elements around the axis
    chord_error: float = 5e-6  # [m] largest distance of a section from the chords of its elements
    border_divisions: int = 2  # a side of an element at the border of the contact is divided by this number ...
    border_passes: int = 2  # ... and parts that the border cuts again, this many times in all
    layer: float = 5e-4  # [m] thickness of the elastic layer on each side in the nozzle
    pad_layer: float = 5e-3  # [m] of pads and ring

    def __post_init__(self):
        def check(field: str, good: bool, allowed: str):
            if not good:
                raise InputError(f"contact: {field}: {getattr(self, field)} is not allowed; {allowed}")

        check("sectors", 8 <= self.sectors <= 1000, "allowed: 8 to 1000")
        check("chord_error", 1e-8 <= self.chord_error <= 1e-3, "allowed: 1e-8 to 1e-3 m")
        check("border_divisions", self.border_divisions >= 1, "allowed: 1 or more")
        check("border_passes", 1 <= self.border_passes <= MOST_PASSES, f"allowed: 1 to {MOST_PASSES}")
        for field in ("layer", "pad_layer"):
            check(field, 1e-5 <= getattr(self, field) <= 0.1, "allowed: 1e-5 to 0.1 m")
        parts = self.border_divisions**self.border_passes
        check("border_divisions", parts <= MOST_PARTS, f"with {self.border_passes} passes it makes {parts} parts of a "
              f"side; allowed: {MOST_PARTS}")  # fmt: skip


def nozzle_contact(p: Olev, fine: Discretisation | None = None) -> RevolutionContact:
    """The three contact pairs of Krenn and Hirzinger 2009, section II.C. Channels record forces on the tool's side."""
    fine = fine or Discretisation()
    error = fine.chord_error
    parts: dict[str, Any] = {
        "sectors": fine.sectors, "refine": fine.border_divisions, "passes": fine.border_passes
    }  # fmt: skip
    metal = layer(p.contact_stiffness, p.contact_damping_time, p.contact_friction, fine.layer, "metal")
    nozzle = RevolutionBody(
        "client", nozzle_profile(p, error), metal, "nozzle",
        position=p.throat.tolist(), axis=p.nozzle_rotation[:, 2].tolist(),
    )  # fmt: skip
    tool = RevolutionBody("tool", tool_profile(p, error), metal, "tool", position=(0, 0, seat(p)[0]), **parts)
    crown = RevolutionBody("crown", crown_profile(p, crown_shares(p, error)), metal, "crown", **parts)
    bolt = RevolutionBody("crown", bolt_profile(p, error), metal, "bolt", **parts)
    return RevolutionContact([
        RevolutionPair("tool", tool, nozzle, largest_area=TOOL_AREA),
        RevolutionPair("crown", crown, nozzle, largest_area=CROWN_AREA),
        RevolutionPair("bolt", bolt, nozzle, largest_area=CROWN_AREA),
    ], name="nozzle")  # fmt: skip


def bracket_contact(p: Olev, fine: Discretisation | None = None) -> PolygonalModule:
    """Pads of the three brackets against the launch adapter ring."""
    fine = fine or Discretisation()
    rubber = layer(p.pad_stiffness, p.pad_damping_time, p.pad_friction, fine.pad_layer, "pad")
    pads = dict.fromkeys(BRACKETS, shape(*pad_mesh(p), rubber, name="pad"))
    ring = shape(*ring_mesh(p), rubber, name="ring")
    pairs = [Pair(name, "client", elements=name, largest_area=PAD_AREA) for name in BRACKETS]
    return PolygonalModule({**pads, "client": ring}, pairs=pairs, name="brackets")


class CrownShape:
    """Updates the section of the crown with its joint position: the wires bow out as the bolt is pulled back."""

    FINENESS = 2000  # number of shapes between closed and spread
    IDLE = 0.02  # [s] period while it is closed or spread

    def __init__(self, p: Olev, contact: RevolutionContact, period: float):
        self.p, self.contact, self.period, self._step = p, contact, period, period
        profile = contact.surfaces["crown"].profile
        self._shares = (profile.z - profile.z[0]) / (profile.z[-1] - profile.z[0])
        _, closed = crown_section(p, 0.0, self._shares)
        _, spread = crown_section(p, 1.0, self._shares)
        self._widening = spread - closed  # [m], (sample,) from closed to spread
        self.key = np.full(1, NEVER)  # spread of the present section [1 / FINENESS]
        self._joint: int | None = None

    def act(self, time: float, sensors: Any, command: Any) -> None:
        if self._joint is None:
            joint = sensors.model.joint("crown")
            self._joint, self._dof = int(joint.qposadr[0]), int(joint.dofadr[0])
        position = sensors.qpos[self._joint]
        key = round(self.FINENESS * spread_of(self.p, position))
        moving = 0 < key < self.FINENESS
        self.period = self._step if moving else max(self._step, self.IDLE)
        if key == self.key[0]:
            return
        self.key[0] = key
        spread = key / self.FINENESS
        z, r = crown_section(self.p, spread, self._shares)
        speed: Any = np.zeros((len(z), 2))
        if moving:
            speed[:, 0] = -self._widening * sensors.qvel[self._dof] / self.p.crown_spreading
        self.contact.set_profile("crown", np.column_stack([r, z]), speed)

    def state(self) -> dict[str, Any]:
        return {"key": self.key}  # section and speed are saved with the contact

    def reset(self, worlds: Sequence[int]) -> None:
        self.key[0] = NEVER

    def channels(self) -> list[Channel]:
        return []
