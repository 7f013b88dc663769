"""Add rocks to a MuJoCo model: fixed ones as geoms of the world, movable ones as free bodies."""

from __future__ import annotations

from typing import Any

from grouser.terrain import checks
from grouser.terrain.rock_shapes import mass_properties
from grouser.terrain.rocks import DENSITY, Rock, RockField

COLOUR = (0.48, 0.36, 0.29, 1.0)


def add_rocks(spec: Any, field: RockField, *, density: float = DENSITY, colour=COLOUR) -> tuple[str, ...]:
    """Add the rocks of a field to an MjSpec. Returns the names of the movable bodies.

    If some rocks are movable, MuJoCo computes the contact between rocks with their convex hulls. Contact with robots
    and soil is left to force modules, which can take the rocks as bodies. `density` [kg/m^3].
    """
    checks.number(density, "rocks: density", above=0.0)
    spec.add_material(name="rock", rgba=colour, specular=0.1, shininess=0.1)
    solid = bool(field.movable)
    for rock in field.fixed:
        _add_mesh(spec, rock)
        _add_geom(spec.worldbody, rock, solid, pos=rock.position)
    for rock in field.movable:
        _add_mesh(spec, rock)
        body = spec.worldbody.add_body(name=rock.name, pos=rock.position)
        body.add_freejoint(name=rock.name)
        volume, _, inertia = mass_properties(rock.vertices, rock.triangles)
        body.mass, body.ipos, body.explicitinertial = density * volume, [0, 0, 0], True
        xx, yy, zz, xy, xz, yz = (density * inertia[i] for i in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
        body.fullinertia = [xx, yy, zz, xy, xz, yz]
        _add_geom(body, rock, solid)
    return tuple(rock.name for rock in field.movable)


def _add_mesh(spec: Any, rock: Rock) -> None:
    spec.add_mesh(name=rock.name, uservert=rock.vertices.ravel().tolist(), userface=rock.triangles.ravel().tolist())


def _add_geom(body: Any, rock: Rock, solid: bool, **place: Any) -> None:
    import mujoco  # imported here, because a field without a model needs NumPy only

    body.add_geom(
        name=rock.name, type=mujoco.mjtGeom.mjGEOM_MESH, meshname=rock.name, material="rock", group=2,
        contype=int(solid), conaffinity=int(solid), mass=0.0, **place,
    )  # fmt: skip
