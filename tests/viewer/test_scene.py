"""What is drawn, without a browser: ground, poses, arrows, cameras, colours, glTF."""

import io
import json
import math
import struct

import numpy as np
import pytest

from grouser.module import Channel, Shape
from grouser.recording import Recording, RecordingWriter, build_header
from grouser.recording.surface import first_heights
from grouser.viewer import glb, ground, light
from grouser.viewer.cameras import CAMERAS, Cameras
from grouser.viewer.colours import FIELDS, Scale, legend, linear, srgb
from grouser.viewer.ground import Cell, GroundView
from grouser.viewer.motion import RecordedMotion, interpolated, rotation_matrix
from grouser.viewer.pressure import Pressure
from grouser.viewer.scene import SAND_MEAN, SKY_RADIUS, Scene, sand, sky
from tests.viewer import made
from tests.viewer.made import Nothing

TILE_ROUNDING = 2.0**-17  # [m] heights in a recording are multiples of it
HALF_TURN = math.pi / 2


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    with Recording(made.recording(tmp_path_factory.mktemp("made") / "recording.h5")) as one:
        yield one


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


def test_a_long_way_is_drawn_with_few_squares_and_finely_around_the_robot(recording, monkeypatch):
    """As if the recording were long: few squares with changed ground are allowed, and 0.3 m are near."""
    few = len(GroundView(recording)._touched) // 2
    monkeypatch.setattr(ground, "MOST_CELLS", few)
    monkeypatch.setattr(ground, "ROOTS", 1)
    monkeypatch.setattr(ground, "NEAR", 0.3)
    view = GroundView(recording)
    assert view.detail > 0
    touched = {cell for cell in view.cells if view._is_touched(cell)}
    assert 0 < len(touched) <= few
    area = sum((p.x[-1] - p.x[0]) * (p.y[-1] - p.y[0]) for p in map(view.patch, view.cells))
    assert area == pytest.approx((view.nx - 1) * (view.ny - 1) * view.spacing**2), "each place is drawn once"
    before = view.stamps(4.0)
    lowest = min(float(view.patch(cell).heights.min()) for cell in touched)
    assert lowest == pytest.approx(-made.RUT, abs=TILE_ROUNDING), "ruts are still seen"
    view.look_at(1.0, 0.0)
    fine = [cell for cell in view.cells if cell.level == 0 and view._is_touched(cell)]
    assert fine, "around the robot each node is drawn"
    assert all(len(view.patch(cell).x) == view.leaf + 1 for cell in fine)
    assert heights_at(view, 1.0, 0.0) == pytest.approx(-made.RUT, abs=TILE_ROUNDING)
    after = view.stamps(4.0)
    kept = before.keys() & after.keys()
    assert kept, "what is far from the robot is not sent again"
    assert all(before[cell] == after[cell] for cell in kept)
    assert view.stamps(0.0) != after, "and back in time there is no rut"
    assert heights_at(view, 1.0, 0.0) == 0


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


def test_light_does_not_break_where_patches_meet(recording):
    view = GroundView(recording)
    view.stamps(math.inf)
    below, above = view.patch(Cell(0, 0, 1)), view.patch(Cell(0, 1, 1))  # the rut lies across their edge
    np.testing.assert_allclose(below.normals[-1], above.normals[0], atol=1e-12)
    assert below.normals[..., 2].min() < 0.9, "the sides of the rut are steep"


def drawn_mesh(data: bytes) -> np.ndarray:
    """Vertices [m], (n, 3), of a GLB."""
    length = struct.unpack("<I", data[12:16])[0]
    view = json.loads(data[20 : 20 + length])["bufferViews"][0]
    start = 28 + length + view["byteOffset"]
    return np.frombuffer(data[start : start + view["byteLength"]], np.float32).reshape(-1, 3)


def test_walls_close_the_gaps_between_patches_of_different_resolution(tmp_path):
    """A coarse patch cuts hills off that its fine neighbour has: sky was seen between them."""
    made.recording(tmp_path / "recording.h5", 4.0, terrain=made.Hills())
    with Recording(tmp_path / "recording.h5") as rough:
        scene = Scene(rough, Nothing())
        scene.show(4.0)
        view = scene.ground
        fine = [cell for cell in view.cells if len(view.patch(cell).x) == view.leaf + 1]
        assert 0 < len(fine) < len(view.cells)
        lowest = min(float(view.patch(cell).heights.min()) for cell in view.cells)
        for cell in view.cells:
            patch = view.patch(cell)
            vertices = drawn_mesh(scene._glb(cell, patch, scene.scale(), 4.0))
            low = {(round(x, 4), round(y, 4)) for x, y, z in vertices.tolist() if z < lowest}
            x, y = patch.x, patch.y
            around = [*((a, b) for a in x for b in (y[0], y[-1])), *((a, b) for a in (x[0], x[-1]) for b in y)]
            assert {(round(a, 4), round(b, 4)) for a, b in np.array(around, np.float32).tolist()} <= low


def test_unchanged_ground_keeps_the_nodes_of_its_elevation_model(tmp_path):
    """Else it cuts hills off, and the walls that close the gaps stand out as grey flakes."""
    made.recording(tmp_path / "recording.h5", 4.0, terrain=made.Bumps())
    with Recording(tmp_path / "recording.h5") as rough:
        view = GroundView(rough)
        view.stamps(4.0)
        coarse = [patch for patch in map(view.patch, view.cells) if len(patch.x) <= view.leaf]
        assert coarse
        for patch in coarse:
            along = np.arange(patch.x[0], patch.x[-1], view.spacing)
            for row in (0, -1):
                true = first_heights(rough, along, patch.y[[row]])[0]
                drawn = np.interp(along, patch.x, patch.heights[row])
                assert np.abs(drawn - true).max() < made.Bumps.STEEPEST * view.spacing / 2 + TILE_ROUNDING


def test_the_sky_stays_around_a_robot_far_from_the_origin(recording, monkeypatch):
    """Ground of an elevation model may lie a kilometre off and high above the sea: the page was white there."""
    scene = Scene(recording, Nothing())
    far, poses = np.array([2000.0, -900.0, 1500.0]), scene.motion.poses
    monkeypatch.setattr(scene.motion, "poses", lambda *a: poses(*a) + np.concatenate([far, np.zeros(4)]))
    scene.show(4.0)
    assert np.linalg.norm(scene.sky.position - far) < SKY_RADIUS / 5
    vertices, _, colours = sky(SKY_RADIUS)
    np.testing.assert_allclose(np.linalg.norm(vertices, axis=1), SKY_RADIUS)  # in every direction, also downwards
    shown = light.aces(colours)
    assert (shown[:, 2] > shown[:, 0] + 0.05).all(), "light blue, nowhere white"


def test_a_world_that_is_carried_has_its_robot_at_the_origin(recording):
    """All that has a place on the ground moves, and the sky, which is around the origin, does not."""
    scene = Scene(recording, api := Nothing(), carried=True)
    for time in (1.0, 4.0):
        scene.show(time)
        np.testing.assert_allclose(scene._world.position + scene.cameras.place(time), 0.0, atol=1e-12)
    named = [arguments[0] for _, arguments in api.sent if arguments and isinstance(arguments[0], str)]
    assert {name.split("/")[1] for name in named if name.startswith("/")} == {"world", "light", "sky"}
    assert {name.split("/")[2] for name in named if name.startswith("/world/")} == {
        "shapes",
        "ground",
        "forces",
        "ways",
    }
    scene = Scene(recording, Nothing())
    scene.show(4.0)
    assert not isinstance(scene._world.position, np.ndarray), "elsewhere the world stands still"


def test_a_patch_stays_until_its_next_version_can_be_there(recording):
    scene = Scene(recording, Nothing())
    scene.show(0.0)
    before = dict(scene._cells)
    assert scene.show(4.0)
    replaced = [node for cell, node in before.items() if scene._cells.get(cell) is not node]
    assert replaced
    assert not any(("remove", ()) in node.sent for node in replaced), "no hole while the new one is read"
    scene.tidy(0)
    assert all(("remove", ()) in node.sent for node in replaced)


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
            scene.tidy(0)
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


def test_arrows_of_other_forces_start_at_their_bodies(recording):
    starts, forces = RecordedMotion(recording).forces(2.0)
    np.testing.assert_allclose(starts, [(1.0, 0, 0.22)], atol=1e-6)
    np.testing.assert_allclose(forces, [(0, 0, 50)])


LEG = np.array([0.2, -0.1, 0.4])  # [m] the knee, where the frame of the leg is
LEAN = math.radians(40)  # of the leg about y
FORCE = np.array([8.0, -3.0, 60.0])  # [N]


def leg(path, foot: np.ndarray, with_torque: bool):
    """A recording of a leg whose frame is its knee and whose foot, 0.3 m below it, is pushed at `foot` [m]."""
    torque = np.cross(foot - LEG, FORCE)
    pose = np.array([[[*LEG, 0, math.sin(LEAN / 2), 0, math.cos(LEAN / 2)]]])
    labels = ("leg",)
    channels = [
        Channel("body/pose", "m, 1", (1, 7), kind="pose", labels=labels, read=lambda: pose),
        Channel("soil/force", "N", (1, 3), labels=labels, read=lambda: FORCE[None, None]),
        Channel("soil/sinkage", "m", (1,), labels=labels, read=lambda: np.zeros((1, 1))),
    ]
    if with_torque:
        channels.append(Channel("soil/torque", "N m", (1, 3), labels=labels, read=lambda: torque[None, None]))
    corners, triangles = made.box(0.02, 0.02, 0.15)
    shapes = [Shape("leg", corners - (0, 0, 0.15), triangles, "body/pose[leg]", (0.5, 0.5, 0.5, 1))]
    header = build_header(scenario="leg", settings={}, step=0.01, duration=0.1)
    with RecordingWriter(path, header, channels, shapes=shapes) as writer:
        writer.append(0.0)
    return path


@pytest.mark.parametrize("with_torque", [True, False])
def test_arrows_of_the_ground_start_at_the_foot_and_not_at_the_knee(tmp_path, with_torque):
    turn = rotation_matrix(np.array([0, math.sin(LEAN / 2), 0, math.cos(LEAN / 2)]))
    lowest = LEG + turn @ (0.02, 0, -0.3)  # the lower edge of the leaning box
    foot = lowest + np.array([0, 0.01, 0])
    with Recording(leg(tmp_path / "recording.h5", foot, with_torque)) as recording:
        starts, _ = RecordedMotion(recording).forces(0.0)
    np.testing.assert_allclose(starts, [foot if with_torque else lowest], atol=1e-6)


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
    colours = np.tile((1.8, 0.4, 0.2), (3, 1))
    data = glb.mesh(vertices, np.array([(0, 1, 2)]), colours, picture, vertices[:, :2])
    magic, version, total, length = struct.unpack("<IIII", data[:16])
    assert (magic, version, total) == (glb.MAGIC, 2, len(data))
    document = json.loads(data[20 : 20 + length])
    binary = data[28 + length :]
    views = document["bufferViews"]

    def part(k):
        return binary[views[k]["byteOffset"] : views[k]["byteOffset"] + views[k]["byteLength"]]

    np.testing.assert_allclose(np.frombuffer(part(0), np.float32).reshape(-1, 3), vertices)
    np.testing.assert_allclose(np.frombuffer(part(1), np.float32).reshape(-1, 3), colours)
    assert np.frombuffer(part(2), np.uint16).tolist() == [0, 1, 2]
    assert all(view["byteOffset"] % 4 == 0 for view in views)
    assert ("images" in document) == bool(picture)


def test_ground_comes_out_in_the_colours_that_are_meant():
    """The page maps colours by ACES; what is sent undoes that, within half a step of the screen."""
    for field in FIELDS:
        meant = srgb(field, np.linspace(0, 1, 21))
        shown = light.aces(light.before_aces(meant))
        np.testing.assert_allclose(shown, linear(np.minimum(meant, light.WHITEST)), atol=0.5 / 255)


def test_slopes_towards_the_sun_are_brighter():
    level, towards, away = (
        np.array([x, 0, 1]) / np.hypot(x, 1)
        for x in (0.0, -0.5, 0.5)  # the sun is where x is negative
    )
    assert light.shade(level) == pytest.approx(1)
    assert light.shade(away) < 0.85 < 1.05 < light.shade(towards)
    assert light.shade(-light.SUN) == light.SHADED


def test_sand_is_noise_around_its_mean():
    from PIL import Image

    grey = np.asarray(Image.open(io.BytesIO(sand()))) / 255
    assert linear(grey).mean() == pytest.approx(SAND_MEAN, abs=0.02)
    assert grey.std() > 0.03
    assert len(sand()) < 40_000, "it is sent with every patch"


def test_colours():
    assert linear(np.array([0.0, 1.0])).tolist() == [0, 1]
    assert linear(np.array([0.5]))[0] == pytest.approx(0.2140, abs=1e-4), "sRGB 0.5 is 21 % of the light"
    for field in FIELDS:
        assert srgb(field, np.linspace(0, 1, 5)).shape == (5, 3)
    assert "0.08 m" in legend(Scale("sinkage", -0.03, 0.08))
