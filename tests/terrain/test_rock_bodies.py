"""Rocks in a MuJoCo model: where the field has them, with the mass and inertia of their meshes."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
import trimesh

from grouser.errors import InputError
from grouser.terrain.rock_bodies import add_rocks
from grouser.terrain.rocks import rock_field

SINGLE = 1e-6  # MuJoCo keeps meshes in float32, rocks are decimetres


@pytest.fixture(scope="module")
def built():
    field = rock_field(size=(3, 3), seed=3, movable_below=0.2)
    spec = mujoco.MjSpec()
    names = add_rocks(spec, field, density=2500.0)
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return field, names, model, data


def test_every_rock_is_where_the_field_has_it(built):
    field, names, model, data = built
    assert names == tuple(rock.name for rock in field.movable)
    assert model.nv == 6 * len(names)
    for rock in field.rocks:
        geom = model.geom(rock.name).id
        mesh = model.geom_dataid[geom]
        own = model.mesh_vert[model.mesh_vertadr[mesh] :][: model.mesh_vertnum[mesh]]
        world = own @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]
        np.testing.assert_allclose(world, rock.world_vertices, atol=SINGLE)


def test_movable_rocks_have_the_mass_and_inertia_of_their_meshes(built):
    field, _, model, data = built
    assert field.movable
    for rock in field.movable:
        body = model.body(rock.name).id
        mesh = trimesh.Trimesh(rock.vertices, rock.triangles, process=False)
        mesh.density = 2500.0
        assert model.body_mass[body] == pytest.approx(mesh.mass, rel=1e-9)
        np.testing.assert_allclose(data.xipos[body], rock.position, atol=1e-12)
        axes = np.zeros(9)
        mujoco.mju_quat2Mat(axes, model.body_iquat[body])
        inertia = axes.reshape(3, 3) @ np.diag(model.body_inertia[body]) @ axes.reshape(3, 3).T
        np.testing.assert_allclose(inertia, mesh.moment_inertia, atol=1e-9 * mesh.moment_inertia.max())


def test_rocks_collide_only_where_some_can_be_moved():
    for movable_below, solid in ((0.0, 0), (0.2, 1)):
        spec = mujoco.MjSpec()
        add_rocks(spec, rock_field(size=(2, 2), seed=3, movable_below=movable_below))
        assert {geom.contype for geom in spec.geoms} == {solid}


def test_a_density_must_be_one():
    with pytest.raises(InputError, match="density = 0"):
        add_rocks(mujoco.MjSpec(), rock_field(size=(1, 1)), density=0.0)
