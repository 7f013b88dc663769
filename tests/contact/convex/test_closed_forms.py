"""Closed forms: weight, sinkage, stopping distance, standing on a slope, edge and corner, Bekker at each point."""

from __future__ import annotations

import math

import numpy as np
import pytest

from grouser.contact.convex import ConvexContact, ConvexPart, Material
from grouser.contact.convex.laws import bekker_pressure
from grouser.simulation import Simulation
from grouser.terrain.course import Course
from grouser.terrain.polyhedra import box
from tests.contact.convex.bodies import FLOOR, MASS, SINKAGE, SIZE, G, boxes, effective, one_box, pressed_area

ROUND_OFF = 1e-6  # relative, of a settled run
CLOSED = 0.01  # the bar of the closed forms
CREEP = 1e-4  # [m] in a minute, the bar


def test_box_at_rest_carries_its_weight_evenly():
    sim = one_box(place=(0, 0, SIZE[2] / 2 + 1e-4))
    sim.step(500)
    module = sim.modules[0]
    module.evaluate_for_channels()
    force, depth = effective(sim), module.points()[:, 3]
    assert force[2] == pytest.approx(MASS * G, rel=ROUND_OFF)
    assert np.abs(force[[0, 1, 3, 4, 5]]).max() < ROUND_OFF * MASS * G
    assert len(depth) == 4
    assert depth == pytest.approx(SINKAGE, rel=CLOSED)
    assert module.stored() == pytest.approx(0.5 * MASS * G * SINKAGE, rel=CLOSED)


@pytest.mark.parametrize(("speed", "step"), [(2.0, 1e-3), (1.0, 5e-4)])
def test_sliding_box_stops_after_v2_over_2_mu_g(speed, step):
    mu = 0.5
    sim = one_box(velocity=(speed, 0, 0, 0, 0, 0), friction=mu, step=step)
    sim.step(round(1.5 * speed / (mu * G) / step))
    assert sim.data.qpos[0] == pytest.approx(speed**2 / (2 * mu * G), rel=CLOSED)
    assert abs(sim.data.qvel[0]) < 1e-9


def slope(angle: float, stick: float, seconds: float):
    """How far [m] a box goes on a slope once it has settled for a second."""
    slab = box((10, 4, 1), (0, 0, -0.5)).placed((0, 0, 0), (0, angle, 0))
    normal = np.array([math.sin(angle), 0, math.cos(angle)])
    quat = (math.cos(angle / 2), 0, math.sin(angle / 2), 0)
    sim = one_box(Course((slab,)), place=normal * SIZE[2] / 2, quat=quat, friction=(stick, stick))
    sim.step(1000)
    start = sim.data.qpos[:3].copy()
    sim.step(round(seconds / sim.step_size))
    return float(np.linalg.norm(sim.data.qpos[:3] - start)), start


def test_parked_on_a_slope_it_does_not_creep():
    assert slope(math.radians(25), 0.6, 60.0)[0] < CREEP


def test_too_steep_it_slides_with_the_acceleration_of_the_books():
    angle, mu = math.radians(25), 0.3
    way, start = slope(angle, mu, 0.5)
    a = G * (math.sin(angle) - mu * math.cos(angle))
    before = np.linalg.norm(start) - SIZE[2] / 2  # roughly a t^2 / 2 at t = 1 s
    assert way == pytest.approx(a * 1.0 * 0.5 + a * 0.5**2 / 2, rel=CLOSED)
    assert before > 0


def frozen(part, tilt, depth, material=None, **more):
    """The module on a part at rest `depth` [m] under the floor's top, turned by a rotation vector."""
    from scipy.spatial.transform import Rotation

    quat = Rotation.from_rotvec(tilt).as_quat()
    lowest = (Rotation.from_quat(quat).apply(part.vertices))[:, 2].min()
    module = ConvexContact([ConvexPart("box0", part)], FLOOR, material, **more)
    Simulation(boxes([(0, 0, -lowest - depth)], quats=[quat[[3, 0, 1, 2]]]), [module], step=1e-3)
    module.evaluate_for_channels()
    return module


def test_edge_presses_along_its_length():
    """A box on its edge at 45 degrees: strip r L s and two corners of a right angle, plus the face's own sliver."""
    depth, material = 1e-5, Material()
    module = frozen(box(SIZE), (0, math.pi / 4, 0), depth)
    (contact,) = module.contacts()
    strip = SIZE[1] * material.spread + 2 * (math.pi / 2) * material.spread**2 / 2
    assert contact[7] == 1
    assert contact[5] == pytest.approx(material.stiffness * strip * depth, rel=CLOSED)
    assert contact[6] == pytest.approx(depth, rel=1e-9)


def test_corner_presses_on_one_point():
    depth, material = 1e-5, Material()
    tilt = np.array([-1.0, 1.0, 0.0]) / math.sqrt(2) * math.atan(math.sqrt(2))  # a cube on its corner
    module = frozen(box((0.2, 0.2, 0.2)), tilt, depth)
    (contact,) = module.contacts()
    corner = (
        (math.pi - 2 * math.pi / 3) * material.spread**2 / 2
    )  # a face's right angle looks like 120 degrees from above
    assert contact[7] == 2
    assert contact[5] == pytest.approx(material.stiffness * corner * depth, rel=CLOSED)


def test_crossing_edges_touch_in_a_point():
    """Two boxes on their edges, one across the other: direction is that of both edges' common perpendicular."""
    ridge = box((0.4, 2.0, 0.4)).placed((0, 0, 0), (0, math.pi / 4, 0))
    top, depth = 0.2 * math.sqrt(2), 1e-4
    upper = box((2.0, 0.4, 0.4)).placed((0, 0, 0), (math.pi / 4, 0, 0))
    module = ConvexContact([ConvexPart("box0", upper)], Course((ridge,)))
    Simulation(boxes([(0, 0, 2 * top - depth)]), [module])
    module.evaluate_for_channels()
    (contact,) = module.contacts()
    assert contact[7] == 1
    assert contact[6] == pytest.approx(depth, rel=1e-6)
    assert contact[:3] == pytest.approx([0, 0, top], abs=depth)
    assert module.normals()[0] == pytest.approx([0, 0, 1], abs=1e-6)
    material = Material()
    assert contact[5] == pytest.approx(material.stiffness * math.pi / 4 * material.spread**2 * depth, rel=CLOSED)


def test_bekker_at_every_point_sinks_as_the_plate_does():
    """p = k s^n under a plate: s = (W / (k A))^(1/n)."""
    k, n = 5e5, 0.8
    material = Material(damping=2e4, spread=1e-6, shear_stiffness=1e6, law=(k, n))
    sim = one_box(place=(0, 0, SIZE[2] / 2), material=material, law=bekker_pressure)
    sim.step(3000)
    sinkage = (MASS * G / (k * pressed_area(SIZE[0], SIZE[1], 1e-6))) ** (1 / n)
    assert SIZE[2] / 2 - sim.data.qpos[2] == pytest.approx(sinkage, rel=CLOSED)
