"""What force modules offer besides forces, and that the simulation takes it from any module that does."""

from __future__ import annotations

import mujoco
import numpy as np

from grouser import module as protocols
from grouser import on_soil
from grouser.contact.convex import ConvexContact
from grouser.contact.polygonal import PolygonalModule
from grouser.contact.revolution import RevolutionContact
from grouser.contact.soil import SoilModule
from grouser.contact.tyre import TyreModule
from grouser.simulation import Simulation
from grouser.terrain import flat
from grouser.track import TrackModule
from tests.simulation.robots import ball

KERNELS = (SoilModule, PolygonalModule, RevolutionContact, TyreModule, TrackModule)


def test_modules_of_kernels_run_without_python_between_steps():
    for kind in KERNELS:
        assert issubclass(kind, protocols.Compiled), kind
    assert not issubclass(ConvexContact, protocols.Compiled)  # it asks coal in every step


def test_who_is_drawn_recorded_and_observed():
    soil = on_soil(mujoco.MjSpec.from_string(ball()), "dry-sand").soil
    for protocol in (protocols.StandsOnTerrain, protocols.Observable, protocols.HasSurfaces):
        assert isinstance(soil, protocol), protocol
    for protocol in (protocols.ShiftsBodies, protocols.HasFixedShapes, protocols.Displayed):
        assert not isinstance(soil, protocol), protocol
    assert issubclass(TyreModule, protocols.ShiftsBodies)
    assert issubclass(TrackModule, protocols.Displayed)


class Wall:
    """Pushes on nothing, but stands on ground and can be seen."""

    name, bodies, step_limit = "wall", (), np.inf

    def __init__(self):
        self.elevation = flat(size=(2, 2), spacing=0.5)
        corners = np.array([[0, 0, 0], [1, 0, 0], [0, 0, 1]], float)
        self.fixed = {"panel": protocols.Shape("panel", corners, np.array([[0, 1, 2]]))}

    def observe(self):
        return {"height": np.ones((1, 0))}

    def display(self):
        return [protocols.Shape("flag", self.fixed["panel"].vertices, self.fixed["panel"].triangles)]

    def declare(self, spec): ...

    def bind(self, motion, rows, out, step): ...

    def evaluate(self, h): ...

    def commit(self, h): ...

    def explain(self, code):
        return "", False

    def state(self):
        return {}

    def reset(self, worlds): ...

    def channels(self):
        return []


def test_a_module_that_nobody_knew_is_seen_and_heard():
    sim = Simulation(mujoco.MjSpec.from_string(ball()), [Wall()], step=1e-3)
    sim.step()
    assert sim.terrain is sim.modules[0].elevation
    assert "wall/height" in sim.observe()
    assert sim.geometry()["panel"]["triangles"].tolist() == [[0, 1, 2]]
    assert "flag" in [shape.name for shape in sim.shapes()]
