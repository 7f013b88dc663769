"""Forces of simple bodies against closed forms and an independent oracle, and how they converge."""

import dataclasses

import numpy as np
import pytest

from grouser.contact.revolution import Profile, RevolutionBody, RevolutionContact, RevolutionPair
from tests.contact.revolution.geometries import (
    RIGID,
    SOFT,
    Geometry,
    cylinder_in_tube,
    rotated,
    sphere_in_cone,
    tool_in_nozzle,
)
from tests.contact.revolution.oracle import layer_wrench, sphere_cloud
from tests.rig import ManufacturedMotion, quaternion

R, DEPTH = 0.1, 0.001
SAMPLED = 0.003  # of the force: elements of a fifth of the contact's radius; falls faster than their square
FLAT = 1e-9  # flat on flat is exact: round-off of depth, 1e-16 m of 1e-3 m, and of sums
CLOUD = 0.003  # of the force: the oracle's own points, 0.13 mm apart on a band of 5 mm
OTHER_NORMAL = 2 * 1.1 / 30  # depth measured along the ball's normal, not the cone's: of the order of depth / radius
AGREE = 0.02  # bar: same geometry as a mesh


def on_plane(profile: Profile, height: float, turn=(0.0, 0.0, 0.0), sectors: int = 128, elements="body", **more):
    body = RevolutionBody("body", profile, RIGID, "body", sectors=sectors, **more)
    plane = RevolutionBody(None, Profile.disk(1.0), SOFT, "plane")
    module = RevolutionContact([RevolutionPair("pair", body, plane, elements=elements)])
    rig = ManufacturedMotion(module)
    return rig.place((0.05, 0.02, height), quaternion(np.array(turn)), np.zeros(3), np.zeros(3)).advance()


def channel(module, name: str):
    return next(c for c in module.channels() if c.name.endswith(name)).read()


@pytest.mark.parametrize("turn", [(0, 0, 0), (0.7, 0, 0), (np.pi / 2, 0.3, 0)])  # on its pole, between, on its side
def test_a_sphere_on_a_plane(turn):
    rig = on_plane(Profile.sphere(R, tolerance=2e-5), R - DEPTH, turn)
    exact = np.pi * SOFT.stiffness * R * DEPTH**2 * (1 - DEPTH / (3 * R))
    force = rig.wrench[0, 0]
    assert force[2] == pytest.approx(exact, rel=SAMPLED)
    np.testing.assert_allclose(force[[0, 1, 3, 4, 5]], 0, atol=SAMPLED * exact * np.sqrt(2 * R * DEPTH))
    assert channel(rig.module, "penetration")[0, 0] == pytest.approx(DEPTH, rel=SAMPLED)
    assert channel(rig.module, "contact_area")[0, 0] == pytest.approx(2 * np.pi * R * DEPTH, rel=SAMPLED)
    patch = channel(rig.module, "patch")
    assert patch[:, 7].sum() == pytest.approx(channel(rig.module, "contact_area")[0, 0], rel=FLAT)
    np.testing.assert_allclose(patch[:, 3:6], np.tile([0, 0, 1], (len(patch), 1)), atol=FLAT)
    assert channel(rig.module, "polygons")[0, 0] >= len(patch) > 20


def test_a_cylinder_lying_on_a_plane():
    length = 0.1
    profile = Profile.cylinder(R, (-length / 2, length / 2), longest=0.01)
    rig = on_plane(profile, R - DEPTH, (np.pi / 2, 0, 0), sectors=128)
    half = np.arccos(1 - DEPTH / R)  # c L times the area of the segment below the plane
    exact = SOFT.stiffness * length * R**2 * (half - np.sin(half) * np.cos(half))
    assert exact == pytest.approx(4 * np.sqrt(2) / 3 * SOFT.stiffness * length * np.sqrt(R) * DEPTH**1.5, rel=0.01)
    assert rig.wrench[0, 0, 2] == pytest.approx(exact, rel=SAMPLED)


def test_a_flat_punch_is_exact():
    """The base of a capped cylinder, with the friction of its middle and rim alike."""
    radius = 0.05
    rig = on_plane(Profile.cylinder(radius, (0.0, 0.1), caps=True, longest=0.01), -DEPTH, sectors=32)
    exact = SOFT.stiffness * np.pi * radius**2 * DEPTH
    np.testing.assert_allclose(rig.wrench[0, 0], [0, 0, exact, 0, 0, 0], atol=FLAT * exact)


def test_a_tilted_punch_turns_back():
    """Torque c t I of a disk pressed all over, I = pi r^4 / 4, about its middle."""
    radius, tilt = 0.05, 0.005
    rig = on_plane(Profile.disk(radius, up=False, longest=0.005), -DEPTH, (tilt, 0, 0), sectors=64)
    torque = rig.wrench[0, 0, 3:]
    exact = SOFT.stiffness * np.tan(tilt) * np.pi * radius**4 / 4 * np.cos(tilt) ** 2
    assert torque[0] == pytest.approx(-exact, rel=SAMPLED)


@pytest.mark.parametrize("carrier", ["moving", "still"])
def test_a_sphere_in_a_cone_against_the_oracle(carrier):
    """Off the axis; elements on the ball, and on the cone."""
    geometry = sphere_in_cone(2)
    pair = RevolutionPair("pair", geometry.moving, geometry.still, elements=carrier)
    module = RevolutionContact([pair])
    force = geometry.rig(module).wrench[0, module.bodies.index("moving")]
    cloud = sphere_cloud(0.03, geometry.touching)
    exact = layer_wrench(*cloud, geometry.still.profile.samples[[0, -1]], True, SOFT.stiffness)
    allowed = CLOUD if carrier == "moving" else OTHER_NORMAL
    assert np.linalg.norm(force[:3] - exact[:3]) < allowed * np.linalg.norm(exact[:3])


def test_a_ring_beside_a_bracket():
    """Outer against outer: a wire ring and a post with parallel axes, against the oracle."""
    wire, radius, post = 0.004, 0.06, 0.02
    ring = Profile.ring(radius, wire, tolerance=2e-5, longest=1e-3)
    body = RevolutionBody("moving", ring, RIGID, "moving", sectors=480)
    bracket = RevolutionBody("still", Profile.cylinder(post, (-0.05, 0.05)), SOFT, "still")
    geometry = Geometry(body, bracket, (radius + wire + post - 0.0004, 0, 0), (0.2, 0, 0), (0.3, 0, 0))
    module = geometry.contact()
    force = geometry.rig(module).wrench[0, module.bodies.index("moving")]
    about = np.pi + 0.3 * ((np.arange(600) + 0.5) / 300 - 1)  # the side that touches
    around = 2 * np.pi * (np.arange(400) + 0.5) / 400
    A, B = np.meshgrid(about, around, indexing="ij")
    across = np.stack([np.cos(A), np.sin(A), 0 * A], -1)
    normal = np.cos(B)[..., None] * across + np.sin(B)[..., None] * np.array([0, 0, 1])
    turn = quaternion(np.array(geometry.tilt))
    points = rotated((radius * across + wire * normal).reshape(-1, 3), turn) + np.array(geometry.touching)
    areas = ((radius + wire * np.cos(B)) * wire * 0.6 * 2 * np.pi / A.size).ravel()
    normals = rotated(normal.reshape(-1, 3), turn)
    exact = layer_wrench(points, normals, areas, bracket.profile.samples, False, SOFT.stiffness)
    assert np.linalg.norm(exact[:3]) > 1
    assert np.linalg.norm(force[:3] - exact[:3]) < CLOUD * np.linalg.norm(exact[:3])


def test_several_patches_at_once():
    """A plug that bridges a tube touches it on both sides: the forces of two plugs pressed to one side each."""

    def force(*, both: bool) -> np.ndarray:
        plug = Profile.cylinder(0.0503 if both else 0.05, (-0.01, 0.01), longest=0.005)
        tube = Profile.cylinder(0.0501, (-0.1, 0.1), inner=True)
        geometry = Geometry(
            RevolutionBody("moving", plug, RIGID, "moving"), RevolutionBody("still", tube, SOFT, "still"),
            (0.0, 0.0, 0.0) if both else (0.0003, 0.0, 0.0), (0, 0, 0),
        )  # fmt: skip
        module = geometry.contact()
        rig = geometry.rig(module)
        area = 2 * np.pi * 0.0503 * 0.02
        if both:
            assert channel(module, "contact_area")[0, 0] == pytest.approx(area, rel=FLAT)
        return rig.wrench[0, module.bodies.index("moving")]

    np.testing.assert_allclose(force(both=True), 0, atol=1e-9)
    assert force(both=False)[0] < -100


def sampled_sphere(times: float, turn: float = 0.7) -> ManufacturedMotion:
    profile = Profile.sphere(R, tolerance=4e-4 / times**2)
    return on_plane(profile, R - DEPTH, (turn, 0.2, 0), sectors=int(32 * times))


def error_of_sphere(times: float, turn: float = 0.7) -> float:
    force = sampled_sphere(times, turn).wrench[0, 0, 2]
    return abs(force / (np.pi * SOFT.stiffness * R * DEPTH**2 * (1 - DEPTH / (3 * R))) - 1)


def active_elements(times: float) -> int:
    return int(sampled_sphere(times).module.work()["active"][0, 0])


def test_forces_converge_with_the_sampling():
    """At least second order over all; between two samplings a force may be right by chance."""
    errors = [error_of_sphere(times) for times in (1, 2, 4, 8)]
    assert errors[0] < 0.2
    assert errors[3] < errors[0] / 64
    assert errors[3] < 1e-3


def over_limit(build) -> float:
    """How far the force is off that with half the sides of the elements and a quarter of the sections' tolerance."""
    forces = []
    for times in (1, 2):
        geometry = build(times)
        module = geometry.contact()
        forces.append(geometry.rig(module).wrench[0, module.bodies.index("moving"), :3])
    return float(np.linalg.norm(forces[0] - forces[1]) / np.linalg.norm(forces[1]))


@pytest.mark.parametrize("build", [sphere_in_cone, cylinder_in_tube, tool_in_nozzle])
def test_sampling_is_fine_enough_as_it_comes(build):
    assert over_limit(build) < 0.005


def against_polygons(build, times: int) -> tuple[np.ndarray, np.ndarray]:
    geometry, fine = build(), build(times)
    module, mesh = geometry.contact(), fine.polygonal()
    wrench = geometry.rig(module).wrench[0, module.bodies.index("moving")]
    return wrench, fine.rig(mesh).wrench[0, mesh.bodies.index("moving")]


@pytest.mark.parametrize(
    ("build", "times"), [(sphere_in_cone, 3), (cylinder_in_tube, 1), (tool_in_nozzle, 3)]
)  # times: how fine a mesh has to be to be within the bar of its own limit
def test_revolution_contact_agrees_with_polygonal_contact(build, times):
    wrench, mesh = against_polygons(build, times)
    assert np.linalg.norm(mesh[:3]) > 100
    assert np.linalg.norm(wrench[:3] - mesh[:3]) < AGREE * np.linalg.norm(mesh[:3])
    arm = np.linalg.norm(mesh[3:]) / np.linalg.norm(mesh[:3])
    assert np.linalg.norm(wrench[3:] - mesh[3:]) < AGREE * max(arm, 0.03) * np.linalg.norm(mesh[:3])


def test_refining_the_border_is_what_makes_small_contacts_right():
    """The law broken on purpose: without parts a contact of few elements is wrong by more."""
    exact = np.pi * SOFT.stiffness * R * DEPTH**2 * (1 - DEPTH / (3 * R))
    profile = Profile.sphere(R, tolerance=1e-4)
    errors = {
        refine: abs(on_plane(profile, R - DEPTH, (0.7, 0.2, 0), sectors=64, refine=refine).wrench[0, 0, 2] / exact - 1)
        for refine in (1, 4)
    }
    assert errors[1] > 3 * errors[4]


def test_two_materials_along_a_profile():
    """Half of a punch is soft, half softer: each with its own layer."""
    softer = dataclasses.replace(SOFT, young=5e6, name="softer")
    profile = Profile.disk(0.04, up=False, longest=0.02)
    body = RevolutionBody("body", profile, (SOFT, softer), "body", line_material=[0, 1], sectors=32)
    plane = RevolutionBody(None, Profile.disk(1.0), RIGID, "plane")
    module = RevolutionContact([RevolutionPair("pair", body, plane, elements="body")])
    rig = ManufacturedMotion(module).place((0, 0, -DEPTH), None, np.zeros(3), np.zeros(3))
    rig.place(rotation=quaternion(np.zeros(3))).advance()
    inside, outside = np.pi * 0.02**2, np.pi * (0.04**2 - 0.02**2)
    exact = DEPTH * (SOFT.stiffness * inside + softer.stiffness * outside)
    assert rig.wrench[0, 0, 2] == pytest.approx(exact, rel=FLAT)
