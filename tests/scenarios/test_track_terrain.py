"""Ground of the user under a bulldozer: meshes with soil constants at their vertices, grids, and what is refused."""

import math
from unittest import mock

import numpy as np
import pytest
import trimesh

import grouser
from grouser.errors import InputError
from grouser.robots.bulldozer import Bulldozer
from grouser.scenarios import bulldozer_drawbar, bulldozer_turn
from grouser.scenarios.bulldozer_turn import BulldozerTurn
from grouser.scenarios.track_terrain import TrackTerrain, start_on
from grouser.terrain.elevation import ElevationGrid
from grouser.track import FlatGround, GridGround, MeshGround, SoilValues

ROUND_OFF = 1e-9  # [m] after 50 steps: heights and soils of a mesh are weighted sums
SOFT, FIRM = {"cohesion": 3e3, "friction_angle_deg": 25.0}, {"cohesion": 6e3, "friction_angle_deg": 35.0}


def plain(size=(-10.0, 30.0, -10.0, 10.0), slope=(0.0, 0.0), between=1.0):
    """Vertices and triangles of a plane with the border of two soils at y = 0."""
    x0, x1, y0, y1 = size
    x, y = np.meshgrid(np.arange(x0, x1 + between, between), [*np.arange(y0, -0.5, between), -0.01, 0.01,
                                                               *np.arange(between, y1 + 0.5, between)])  # fmt: skip
    k = np.arange(x.size).reshape(x.shape)
    a, b, c, d = k[:-1, :-1].ravel(), k[:-1, 1:].ravel(), k[1:, :-1].ravel(), k[1:, 1:].ravel()
    z = slope[0] * x + slope[1] * y
    vertices = np.stack([x.ravel(), y.ravel(), z.ravel()], axis=1)
    return vertices, np.concatenate([np.stack([a, b, d], 1), np.stack([a, d, c], 1)])


def two_soils(file):
    """Firm soil to the left of y = 0, soft soil to the right, as properties of a PLY file."""
    mesh = trimesh.Trimesh(*plain(), process=False)
    for name in SOFT:
        mesh.vertex_attributes[name] = np.where(mesh.vertices[:, 1] > 0, FIRM[name], SOFT[name])
    mesh.export(file)
    return file


def test_a_mesh_carries_a_machine_as_a_plane_does(tmp_path):
    trimesh.Trimesh(*plain(), process=False).export(tmp_path / "plain.ply")
    places = []
    for settings in (BulldozerTurn(), BulldozerTurn(terrain=tmp_path / "plain.ply")):
        sim = bulldozer_turn.build(settings)
        sim.step(50)
        places.append(sim.modules[0]._committed.position.numpy().copy())
    assert np.abs(places[0] - places[1]).max() < ROUND_OFF


def test_constants_come_from_ply_and_csv_and_else_from_the_settings(tmp_path):
    file, table = two_soils(tmp_path / "ground.ply"), tmp_path / "soils.csv"
    ground = TrackTerrain(file=file).hard(SoilValues(stiffness=7e6))
    assert isinstance(ground, MeshGround)
    left = ground.vertices[:, 1] > 0
    for soil, firm in zip(ground.soil, left, strict=True):
        assert (soil.cohesion, soil.friction_angle_deg) == tuple((FIRM if firm else SOFT).values())
        assert soil.stiffness == 7e6
    rows = "\n".join(f"{5e6 + k},{k}" for k in range(len(left)))
    table.write_text(f"stiffness,cohesion\n{rows}\n")
    ground = TrackTerrain(file=file, soils=table).hard(SoilValues())
    assert [soil.cohesion for soil in ground.soil] == list(range(len(left)))
    assert ground.soil[3].stiffness == 5e6 + 3
    assert ground.soil[3].friction_angle_deg == 30.0, "the table replaces the properties of the file"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cohesion\n1\n2\n", r"2 values for .* vertices; one for each is needed"),
        ("", "is not readable"),
        ("cohesian\n1\n", r"column 'cohesian' is not known, did you mean 'cohesion'"),
        ("cohesion\n" + "-1\n" * 902, r"cohesion of vertex 0 = -1.0: allowed is a finite number at least 0"),
        ("stiffness\n" + "nan\n" * 902, r"stiffness of vertex 0 = nan: allowed is a finite number above 0"),
    ],
)
def test_a_bad_table_is_refused(tmp_path, text, message):
    (tmp_path / "soils.csv").write_text(text)
    file = two_soils(tmp_path / "ground.ply")
    with pytest.raises(InputError, match=message):
        TrackTerrain(file=file, soils=tmp_path / "soils.csv").hard(SoilValues())


def test_a_file_with_lists_at_its_vertices_is_refused(tmp_path):
    """Found by fuzzing: rows of different lengths in the text of a PLY file."""
    head = "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
    head += "property float stiffness\nproperty float cohesion\nelement face 2\n"
    head += "property list uchar int vertex_indices\nend_header\n"
    rows = ["0 0 0 1e6 500", "2 0 0 1e6 502", "2 1 0 1e6 5020 1 0 1e6 500", "3 0 1 2", "3 0 2 3"]
    (tmp_path / "ground.ply").write_text(head + "\n".join(rows) + "\n")
    with pytest.raises(InputError, match="a property of the vertices is not one number for each"):
        TrackTerrain(file=tmp_path / "ground.ply").hard(SoilValues())


def test_constants_that_would_do_nothing_are_refused(tmp_path):
    file = two_soils(tmp_path / "ground.ply")
    with pytest.raises(InputError, match="plastic soil is the same everywhere"):
        bulldozer_turn.build(BulldozerTurn(terrain=file, plastic={"name": "dry-sand"}))


def test_an_overhang_is_refused():
    vertices, triangles = plain()
    above = vertices + np.array([0.0, 0.0, 1.0])
    with pytest.raises(InputError, match="lies above or below triangle"):
        MeshGround(np.vstack([vertices, above]), np.vstack([triangles, triangles[:4] + len(vertices)]))


def test_soil_below_points_is_interpolated_as_the_paper_does():
    """Eq. 47 in a triangle with values 1, 2 and 4 at its corners, by hand."""
    ground = MeshGround(np.array([[0.0, 0, 0], [2, 0, 0], [0, 2, 0]]), np.array([[0, 1, 2]]))
    x, y = np.array([0.5, 1.0, 5.0]), np.array([0.5, 0.0, 5.0])
    found = ground.values_at(np.array([1.0, 2.0, 4.0]), x, y)
    assert found[:2] == pytest.approx([0.5 * 1 + 0.25 * 2 + 0.25 * 4, 0.5 * 1 + 0.5 * 2])
    assert math.isnan(found[2])


@pytest.mark.parametrize("heading", [0.0, 90.0, 210.0])
def test_a_machine_starts_along_its_ground(heading):
    ground = MeshGround(*plain(slope=(0.1, -0.2)))
    place, up = start_on(ground, (3.0, 1.0, heading), Bulldozer())
    assert place == pytest.approx((3.0, 1.0, 0.1))
    assert up == pytest.approx(np.array([-0.1, 0.2, 1.0]) / math.sqrt(1.05))


def test_a_machine_starts_above_bumps():
    """A ridge across the tracks lifts the machine; no shoe begins inside the ground."""
    x = np.arange(-3.0, 9.0, 0.5)
    heights = np.where(np.abs(x - 1.5) < 0.3, 0.3, 0.0)[None].repeat(12, axis=0)
    ground = GridGround(ElevationGrid(heights, 0.5, (-3.0, -3.0)))
    place, up = start_on(ground, (0.0, 0.0, 0.0), Bulldozer())
    height_at_ridge = place[2] - up[0] / up[2] * 1.5
    assert height_at_ridge == pytest.approx(0.3, abs=0.02)


def test_a_start_beside_the_ground_is_refused():
    with pytest.raises(InputError, match="below the tracks there is no ground at"):
        start_on(MeshGround(*plain()), (29.0, 0.0, 0.0), Bulldozer())


@pytest.mark.long
def test_tracks_on_two_soils_show_the_ratio_of_their_strengths(tmp_path):
    """Spinning tracks shear both soils at their strengths, 1.6 to 1; on one soil everywhere they miss."""
    file = two_soils(tmp_path / "ground.ply")
    right = grouser.run("bulldozer-drawbar", out=tmp_path / "right", terrain=file, report=False)
    assert right.missed == []
    strengths = right.metrics["strength_N"]
    soft = FlatGround(soil=SoilValues(**SOFT))
    with mock.patch.object(bulldozer_drawbar.tracked, "below", return_value=soft):
        wrong = grouser.run("bulldozer-drawbar", out=tmp_path / "wrong", terrain=file, report=False)
    assert wrong.missed == ["shear_ratio_error_rel"]
    assert wrong.metrics["shear_ratio_error_rel"] < -0.3
    assert strengths > 1.3e5
