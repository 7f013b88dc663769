"""How fast the contact of a body moves over the ground: what step, grid and parts of a step are judged by."""

from __future__ import annotations

import math

import numpy as np
import pytest

from grouser.contact.soil import SoilModule, SoilOptions, Surface, placement, prepare, wheel
from grouser.contact.soil import types as t
from grouser.device import at
from grouser.precision import precision
from grouser.simulation.shapes import _arc, box, revolved
from grouser.terrain import flat, soil
from grouser.terrain.ground import Ground
from tests.device_call import call
from tests.rig import ManufacturedMotion

STEP, SPACING = 5e-3, 0.005
ARM, SPEED = 0.3, 0.5  # [m], [m/s]
P = precision("float64")


def sole(arm: float) -> Surface:
    """A sole whose middle is `arm` [m] from the frame of its body."""
    vertices, triangles = box(np.array([0.1, 0.05, 0.03]))
    return prepare(vertices + np.array([arm, 0.0, 0.0]), triangles, name="sole")


def pressed(surface: Surface, **options) -> ManufacturedMotion:
    """A body that stands 10 mm deep, on nodes."""
    ground = Ground(flat(size=(1, 1), spacing=0.25, origin=(-0.5, -0.5)), soil("dry-sand"), SPACING)
    rig = ManufacturedMotion(SoilModule(ground, {"body": surface}, SoilOptions(**options)), step=STEP)
    bottom = -float(surface.vertices[:, 2].min())
    return rig.place(position=(0.0013, 0.0021, bottom - 0.01), rotation=rig.rotation).advance()


def velocity(rig: ManufacturedMotion, speed, spin) -> np.ndarray:
    by_name = rig.module.arrays.by_name
    m = at(t.BodyMotion, "float64")()
    m.position, m.R = P.vec3(*rig.position[0, 0]), P.mat33(*np.eye(3).ravel())
    m.velocity, m.angular_velocity = P.vec3(*speed), P.vec3(*spin)
    given = [by_name[name] for name in ("g", "b", "place")]
    return call(at(placement.contact_velocity, "float64"), *given, 0, 0, m, returns=P.vec3)


@pytest.mark.parametrize(
    ("surface", "speed", "spin", "expected"),
    [
        (sole(0.0), (SPEED, 0, 0), (0, 0, 0), SPEED),
        (sole(ARM), (0, 0, 0), (0, 0, SPEED / ARM), SPEED),  # turns about a post, its frame stands still
        (wheel(0.15, 0.1), (SPEED, 0, 0), (0, SPEED / 0.15, 0), SPEED),  # rolls
        (wheel(0.15, 0.1), (0, 0, 0), (0, 4.0, 0), 0.0),  # spins on the spot
        (prepare(*revolved(*_arc(0.1, 0.0)), name="ball"), (SPEED, 0, 0), (0, SPEED / 0.1, 0), SPEED),  # rolls
    ],
)
def test_velocity_of_the_contact(surface, speed, spin, expected):
    rig = pressed(surface)
    # The deepest vertex of a sole is one of its corners, not its middle.
    corner = math.hypot(0.1, 0.05) * float(np.linalg.norm(spin)) * (not surface.rounded)
    assert np.linalg.norm(velocity(rig, speed, spin)[:2]) == pytest.approx(expected, abs=corner + 1e-12)


def test_the_soil_follows_a_body_on_an_arm_in_parts_of_a_step():
    """With all kernels alike; a body that moves on by half a cell in one go would put its spoil too far ahead.

    Without slides: a slope right at its limit slides in one run and not in the other, by the last digit.
    """
    runs = {}
    for threads in ("per-world", "per-team"):
        rig = pressed(sole(ARM), threads=threads, lanes=False, erosion=False)
        rate = SPEED / ARM
        for step in range(1, 21):
            turn = rate * STEP * step
            upright = (0.0, 0.0, math.sin(turn / 2), math.cos(turn / 2))
            rig.place(rotation=upright, spin=(0.0, 0.0, rate)).advance()
        runs[threads] = rig
    parts = runs["per-team"].module.arrays.placement.parts.numpy()[0]
    slowest = (ARM - math.hypot(0.1, 0.05)) * rate * STEP / (0.125 * SPACING)
    assert parts >= math.ceil(slowest) >= 2
    heights = [rig.module.ground.heights() for rig in runs.values()]
    np.testing.assert_allclose(*heights, atol=1e-12)
    np.testing.assert_allclose(*(rig.wrench for rig in runs.values()), rtol=1e-9, atol=1e-9)
