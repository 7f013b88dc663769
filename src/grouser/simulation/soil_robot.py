"""Put a robot on soil: choose bodies by pattern, take their shapes, hand their ground contact to the soil."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import mujoco

from grouser.contact.soil import SoilModule, SoilOptions, Surface
from grouser.engine.mujoco_cpu import compile_spec
from grouser.errors import InputError
from grouser.simulation.shapes import body_surface
from grouser.simulation.simulation import Simulation
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.generators import flat
from grouser.terrain.ground import Ground
from grouser.terrain.soils import Soil, soil


def on_soil(
    robot: str | Path | mujoco.MjSpec,
    soil_name: str | Soil = "dry-sand",
    bodies: str | Sequence[str] | Mapping[str, Surface] = ".*",
    *,
    terrain: ElevationGrid | None = None,
    spacing: float = 0.01,
    step: float = 5e-3,
    worlds: int = 1,
    dtype: str = "float64",
    options: SoilOptions | None = None,
    **more,
) -> Simulation:
    """A simulation of `robot` (MJCF or URDF path, or an MjSpec) whose `bodies` touch soil.

    `bodies`: a regular expression over body names, names, or names with prepared surfaces. `spacing` [m] of the
    soil grid, `step` [s]. Further arguments go to `Simulation`.
    """
    spec = load_robot(robot)
    material = soil(soil_name) if isinstance(soil_name, str) else soil_name
    ground = Ground(terrain or flat(size=(20.0, 20.0), spacing=1.0), material, spacing, worlds=worlds, dtype=dtype)
    surfaces = bodies if isinstance(bodies, Mapping) else chosen_surfaces(spec, bodies)
    module = SoilModule(ground, surfaces, options)
    hand_over_floors(spec, module.bodies)
    notes = [f"ground contact of {', '.join(module.bodies)} handed from MuJoCo to the soil ({material.name})"]
    return Simulation(spec, [module], ground=ground, step=step, worlds=worlds, dtype=dtype, notes=notes, **more)


def hand_over_floors(spec: mujoco.MjSpec, bodies: Sequence[str]) -> None:
    """Take floors that are bodies of their own, and contact pairs with a floor, away from the soil bodies.

    What belongs to the world itself is taken away by the soil module.
    """
    floors = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)
    for k, floor in enumerate(spec.bodies):
        if floor.name != "world" and any(g.type in floors for g in floor.geoms):
            floor.name = floor.name or f"floor{k}"
            for body in bodies:
                spec.add_exclude(bodyname1=floor.name, bodyname2=body)
    for pair in list(spec.pairs):
        ends = [spec.geom(name) for name in (pair.geomname1, pair.geomname2)]
        known = [g for g in ends if g is not None]
        if any(g.type in floors for g in known) and any(g.parent.name in bodies for g in known):
            spec.delete(pair)


def load_robot(robot: str | Path | mujoco.MjSpec) -> mujoco.MjSpec:
    if isinstance(robot, mujoco.MjSpec):
        return robot
    path = Path(robot)
    if not path.is_file():
        raise InputError(f"robot: no file {str(path)!r}; give an MJCF or URDF file")
    try:
        return mujoco.MjSpec.from_file(str(path))
    except ValueError as error:
        raise InputError(f"robot {str(path)!r}: {' '.join(str(error).split())}") from None


def chosen_surfaces(spec: mujoco.MjSpec, bodies: str | Sequence[str]) -> dict[str, Surface]:
    """Surfaces of the bodies a list names or a pattern finds among those that move, from their own shapes."""
    model = compile_spec(spec.copy())
    names = [model.body(b).name for b in range(1, model.nbody)]
    if isinstance(bodies, str):
        movable = [n for b, n in enumerate(names, 1) if n and model.body_weldid[b] != 0 and model.body_geomnum[b] > 0]
        chosen = [n for n in movable if re.fullmatch(bodies, n)]
        if not chosen:
            raise InputError(f"bodies: {bodies!r} matches none of {', '.join(n for n in names if n)}")
    else:
        chosen = list(bodies)
        for name in chosen:
            if name not in names:
                raise InputError(f"bodies: {name!r} is not in the model; it has {', '.join(n for n in names if n)}")
    return {name: body_surface(model, name) for name in chosen}
