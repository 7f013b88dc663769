"""What is drawn, without a browser: ground, poses, arrows, cameras, colours, glTF."""

import json
import math
import struct

import numpy as np
import pytest

from grouser.recording import Recording
from grouser.viewer import glb
from grouser.viewer.cameras import CAMERAS, Cameras
from grouser.viewer.colours import FIELDS, Scale, legend, linear, srgb
from grouser.viewer.ground import Cell, GroundView
from grouser.viewer.motion import RecordedMotion, interpolated, rotation_matrix
from grouser.viewer.pressure import Pressure
from grouser.viewer.scene import Scene
from tests.viewer import made

TILE_ROUNDING = 2.0**-17  # [m] heights in a recording are multiples of it
HALF_TURN = math.pi / 2


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    with Recording(made.recording(tmp_path_factory.mktemp("made") / "recording.h5")) as one:
        yield one


class Nothing:
    """Stands for a viser scene and all its nodes; counts what is sent."""

    def __init__(self):
        self.sent = []

    def __getattr__(self, name):
        def call(*arguments, **more):
            self.sent.append((name, arguments[:1]))
            return Nothing()

        return call


def heights_at(view, x, y):
    """[m] as the cells show it at one place."""
    for cell in view.cells:
        patch = view.patch(cell)
        if patch.x[0] <= x <= patch.x[-1] and patch.y[0] <= y <= patch.y[-1]:
            return patch.heights[np.abs(patch.y - y).argmin(), np.abs(patch.x - x).argmin()]
    return math.nan


def test_cells_cover_the_ground_once(recording):
    view = GroundView(recording)
    area = sum((p.x[-1] - p.x[0]) * (p.y[-1] - p.y[0]) for p in map(view.patch, view.cells))
    assert area == pytest.approx((view.nx - 1) * (view.ny - 1) * view.spacing**2)
    fine = [cell for cell in view.cells if len(view.patch(cell).x) == view.leaf + 1]
    assert 0 < len(fine) < len(view.cells), "fine where it was touched only"


def test_the_rut_is_where_the_cart_was(recording):
    view = GroundView(recording)
    view.stamps(4.0)  # the cart has come to 2 m
    assert heights_at(view, 1.0, 0.0) == pytest.approx(-made.RUT, abs=TILE_ROUNDING)
    assert heights_at(view, 3.0, 0.0) == 0
    view.stamps(0.0)
    assert heights_at(view, 1.0, 0.0) == 0, "and back"
    low, high = view.sinkage_range()
    assert high == pytest.approx(made.RUT, abs=TILE_ROUNDING)
    assert Scale("sinkage", low, high).share(np.zeros(1))[0] == pytest.approx(0.25), "sand is the second of five stops"


def test_neighbours_meet_without_a_gap(recording):
    view = GroundView(recording)
    view.stamps(math.inf)
    left, right = view.patch(Cell(0, 0, 1)), view.patch(Cell(0, 0, 2))
    assert left.x[-1] == pytest.approx(right.x[0])
    np.testing.assert_array_equal(left.heights[:, -1], right.heights[:, 0])


def test_only_what_changed_is_drawn_anew(recording):
    scene = Scene(recording, Nothing())
    first = scene.show(0.0)
    assert first == len(scene.ground.cells)
    assert scene.show(0.05) == 0
    assert 0 < scene.show(4.0) < first
    assert scene.show(4.0) == 0
    scene.colour_by("height")
    assert scene.show(4.0) == first


def test_memory_does_not_grow_with_the_run(recording):
    scene = Scene(recording, Nothing())
    for time in np.linspace(0, 8, 40):
        scene.show(float(time))
    tiles = {tuple(index) for index in recording.tile_index()}
    assert len(scene.ground._latest.patches) == len(tiles)
    assert len(scene._stamps) == len(scene.ground.cells)


@pytest.mark.parametrize("opened_at", [0, 5, 41], ids=["before the first frame", "before the first rut", "on a rut"])
def test_a_run_that_goes_on_between_opening_and_drawing(tmp_path, monkeypatch, opened_at):
    """Squares that are split before they were ever drawn have nothing to take away."""
    monkeypatch.setattr("grouser.viewer.ground.ROOTS", 1)  # large squares on this small ground
    cart = made.Cart()
    with made.opened(tmp_path / "recording.h5", cart) as writer:
        for k in range(opened_at):
            made.append(writer, cart, k / 20)
        writer.flush()
        with Recording(tmp_path / "recording.h5") as growing:
            scene = Scene(growing, Nothing())
            first = set(scene.ground.cells)
            for k in range(opened_at, 121):
                made.append(writer, cart, k / 20)
            writer.flush()
            growing.refresh()
            drawn = scene.show(6.0)
            assert first - scene.ground.cells, "squares were split meanwhile"
            assert drawn == len(scene.ground.cells)
            assert set(scene._cells) == scene.ground.cells
            for k in range(121, 161):
                made.append(writer, cart, k / 20)
            writer.flush()
            growing.refresh()
            before = dict(scene._cells)
            scene.show(8.0)
            assert set(scene._cells) == scene.ground.cells
            gone = set(before) - set(scene._cells)
            assert gone, "squares that had been drawn were split, too"
            assert all(("remove", ()) in before[cell].sent for cell in gone)


def test_poses_between_frames():
    a = np.array([[0.0, 0, 0, 0, 0, 0, 1]])
    b = np.array([[2.0, 0, 0, 0, 0, -math.sin(HALF_TURN / 2), -math.cos(HALF_TURN / 2)]])  # 90 degrees, other sign
    middle = interpolated(a, b, 0.5)[0]
    assert middle[0] == 1
    np.testing.assert_allclose(rotation_matrix(middle[3:]) @ [1, 0, 0], [math.sqrt(0.5), math.sqrt(0.5), 0], atol=1e-12)


def test_copies_at_every_pose(recording):
    motion = RecordedMotion(recording)
    assert len(motion.poses("cart/links", 0.0)) == 0
    assert len(motion.poses("cart/links", 4.0)) == 4
    np.testing.assert_allclose(motion.poses("body/pose", 3.0)[0, :3], (1.5, 0, 0.55))


def test_arrows_start_at_their_bodies(recording):
    starts, forces = RecordedMotion(recording).forces(2.0)
    np.testing.assert_allclose(starts, [(1.0, 0, 0.22)], atol=1e-6)
    np.testing.assert_allclose(forces, [(0, 0, 50)])


def test_pressure_of_what_was_pressed(recording):
    view = GroundView(recording)
    view.stamps(4.0)
    pressure = Pressure(view, RecordedMotion(recording))
    assert pressure.range() == (0.0, pytest.approx(5.0)), "50 N on 0.01 m^2 are 5 kPa"
    cell = next(c for c in view.cells if c.level == 0 and view.patch(c).heights.min() < -made.RUT / 2)
    patch = view.patch(cell)
    values = pressure.at(cell, patch, 4.0)
    np.testing.assert_allclose(values[patch.heights < -made.RUT / 2], 5.0)
    assert (values[patch.heights > -made.RUT / 2] == 0).all()
    assert (pressure.at(cell, patch, 0.0) == 0).all(), "and back"


def test_cameras_look_at_the_robot(recording):
    cameras = Cameras(RecordedMotion(recording), recording.shapes())
    assert cameras.main == "cart"
    for camera in set(CAMERAS) - {"driver"}:
        look = cameras.camera_pose(camera, 4.0)
        assert np.linalg.norm(look.target - (2.0, 0, 0.4)) < 0.6, camera
        assert look.position[2] > 0.2
    eye = cameras.camera_pose("driver", 4.0)
    assert eye.target[0] > eye.position[0] > 2.0, "ahead"


@pytest.mark.parametrize("picture", [b"", b"PNG"])
def test_gltf_holds_what_was_given(picture):
    vertices = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0.5)], float)
    normals, colours = np.tile((0.0, 0, 1), (3, 1)), np.tile((0.8, 0.4, 0.2), (3, 1))
    data = glb.mesh(vertices, np.array([(0, 1, 2)]), normals, colours, picture, vertices[:, :2])
    magic, version, total, length = struct.unpack("<IIII", data[:16])
    assert (magic, version, total) == (glb.MAGIC, 2, len(data))
    document = json.loads(data[20 : 20 + length])
    binary = data[28 + length :]
    views = document["bufferViews"]

    def part(k):
        return binary[views[k]["byteOffset"] : views[k]["byteOffset"] + views[k]["byteLength"]]

    np.testing.assert_allclose(np.frombuffer(part(0), np.float32).reshape(-1, 3), vertices)
    shown = np.frombuffer(part(2), np.uint8).reshape(-1, 4)[0, :3] / 255
    np.testing.assert_allclose(shown, linear(np.array([0.8, 0.4, 0.2])), atol=1 / 255)
    assert np.frombuffer(part(3), np.uint16).tolist() == [0, 1, 2]
    assert all(view["byteOffset"] % 4 == 0 for view in views)
    assert ("images" in document) == bool(picture)


def test_colours():
    assert linear(np.array([0.0, 1.0])).tolist() == [0, 1]
    assert linear(np.array([0.5]))[0] == pytest.approx(0.2140, abs=1e-4), "sRGB 0.5 is 21 % of the light"
    for field in FIELDS:
        assert srgb(field, np.linspace(0, 1, 5)).shape == (5, 3)
    assert "0.08 m" in legend(Scale("sinkage", -0.03, 0.08))
