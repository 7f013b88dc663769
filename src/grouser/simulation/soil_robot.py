"""Put a robot on soil: choose bodies by pattern, take their shapes, and let the soil module compute their contact."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from grouser.contact.rft import RftModule, RftOptions
from grouser.contact.soil import SoilModule, SoilOptions, Surface
from grouser.contact.soil.small_shapes import LEAST, least_size
from grouser.contact.soil.surface import LARGEST_BODY
from grouser.engine.mujoco_cpu import compile_spec
from grouser.errors import InputError
from grouser.module import ForceModule
from grouser.simulation import adapt, floors, placement
from grouser.simulation.arguments import check_argument_types, check_names
from grouser.simulation.batch import Soils, device_of, engine_for, soils_of_worlds, tiles_for_path
from grouser.simulation.module_notes import grouped
from grouser.simulation.robot_file import check_moving_masses, load_robot
from grouser.simulation.set_down import can_set_down, set_down
from grouser.simulation.shapes import Merge, body_surface
from grouser.simulation.simulation import Simulation
from grouser.simulation.step_choice import chosen_step
from grouser.terrain import checks, soils
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.ground import TILE, Ground
from grouser.terrain.soil_depth import Depth
from grouser.terrain.soils import EARTH, Soil

SPACING = 0.01  # [m] default spacing of the soil grid; small bodies get a finer one
FINEST_SPACING = 2e-3  # [m] finest spacing chosen by default
MOST_CELLS = 2000  # largest number of cells along a body: a square of them takes about half a gigabyte
CELLS = 4  # least number of cells along a body and across a rod
SPACING_STEP = 5e-4  # [m] chosen spacings are multiples of this
SMALL_SHAPE = 2.0  # [cells] shapes up to this size that lie close together are merged
SOME = 3  # soils of worlds that the notes name
FEET = 8.0  # least number of cells along a body in that rule, if no spacing is given


def on_soil(
    robot: str | Path | mujoco.MjSpec,
    soil: Soils = "dry-sand",
    bodies: str | Sequence[str] | Mapping[str, Surface] = ".*",
    *,
    drive: Mapping[str, float] | None = None,
    terrain: ElevationGrid | Sequence[ElevationGrid] | None = None,
    depth: Depth | None = None,
    below: str | Soil | None = None,
    gravity: float | None = None,
    scale_with_gravity: bool = False,
    spacing: float | None = None,
    step: float | None = None,
    base: adapt.Base = "auto",
    place: bool = True,
    settle: bool | None = None,
    at: Sequence[float] | None = None,
    keyframe: str | None = None,
    start: Mapping[str, ArrayLike] | None = None,
    merge_small_shapes: bool = True,
    worlds: int = 1,
    device: str = "cpu",
    dtype: str | None = None,
    tiles: int | None = None,
    seed: int = 0,
    options: SoilOptions | RftOptions | None = None,
    law: str = "soil",
    modules: Sequence[ForceModule] = (),
    notes: Sequence[str] = (),
    **more: Any,
) -> Simulation:
    """Make a simulation of `robot` (path of an MJCF or URDF, or an MjSpec, which is copied) whose `bodies` touch soil.

    `bodies`: a regular expression for body names, a list of names, or surfaces by name. `drive`: controls by a regular
    expression for actuator or joint names. `depth` [m] of the soil below the initial surface: a number, or a map
    (`terrain.soil_depth`); `below` is the soil under it, None: hard ground. `gravity` [m/s^2] points down;
    `scale_with_gravity`: whether it also weakens the soil (`Soil.under_gravity`). `spacing` [m]: of the soil grid.
    `step` [s]: at most 20 ms. `base`: whether its base may get a free joint. `place`: whether it is put on the ground.
    `settle`: whether it is then set down, so that it begins at rest and as deep as its weight presses it
    (`set_down.py`); False: it is dropped; None: set down, except worlds on a device, with several terrains or a soil
    for each world, and with `place=False`, which keeps the pose given. `at`: x, y [m] and heading [deg, from x towards
    y] of its start. `start`: "qpos", "qvel", "act", "ctrl" of the start in the model's order, instead of a
    `keyframe`'s.
    `merge_small_shapes`: whether small shapes of a body that lie close together are replaced by their convex hull.
    `law`: "soil", or "rft" for resistive force theory (docs/theory/rft.md), whose `options` are RftOptions. For
    arguments not given, the model's own values are used or values are chosen; `notes` lists them. `modules`: force
    modules besides the soil. Further arguments, such as `controllers`, are passed to `Simulation`.

    Many `worlds` (docs/batches.md): `soil` may be one for each world, or a function of a random generator that draws
    one for a world at each reset, seeded by `seed`; `terrain` may be several of the same size, see
    `Simulation.set_terrain`. On a `device` such as "cuda", `dtype` is float32 unless given, and each world has room for
    `tiles` tiles of ground, which do not grow; by default for a path of 5 m.
    """
    check_argument_types(locals())
    check_names(more, on_soil, Simulation)
    loaded = load_robot(robot)
    spec = loaded.spec
    device = device_of(device)
    materials, draw = soils_of_worlds(soil, worlds, seed)
    under = soils.soil(below) if isinstance(below, str) else below
    dtype = dtype or ("float64" if device == "cpu" else "float32")
    adapt.name_all(loaded)
    adapt.replace_unsupported_options(loaded)
    adapt.set_gravity(loaded, gravity)
    if scale_with_gravity:
        acting = float(np.linalg.norm(spec.option.gravity))
        materials, under = [one.under_gravity(acting) for one in materials], under and under.under_gravity(acting)
        loaded.notes.append(f"k_phi of the soil times {acting / EARTH:.4g} for gravity {acting:g} m/s^2")

    check_moving_masses(loaded)
    model = compile_spec(spec, loaded.notes)
    keys, first = placement.keyframes(model, keyframe)
    loose = loaded.loose or base == "free"
    names = chosen_bodies(model, bodies if isinstance(bodies, str) else list(bodies), loose)
    placement.remove_keyframes(spec)  # their sizes may no longer fit
    freed = adapt.free_base(loaded, model, names, base)
    check_moving_masses(loaded)

    model = compile_spec(spec)
    adapt.note_weight(loaded, model, names)
    placement.with_free_joints(keys, model, freed)
    begin = placement.start_of(keys, first, model)
    placement.set_start(begin, start or {}, model, freed)
    if at is not None:
        placement.move_to(loaded, model, begin, names, at)
    data = mujoco.MjData(model)
    data.qpos[:] = begin["qpos"]
    mujoco.mj_forward(model, data)
    if isinstance(bodies, Mapping):
        surfaces = dict(bodies)
    else:
        check_body_sizes(model, names)
        surfaces = surfaces_of(data, names, spacing, loaded.notes if merge_small_shapes else None)
    stiffest = max(materials, key=lambda one: one.elastic_stiffness)
    h, substeps = chosen_step(loaded, data, surfaces, stiffest, step)
    controls = adapt.controls_by_pattern(loaded, model, drive or {}, h / substeps)
    points = np.vstack(list(placement.points_of(data, surfaces).values()))
    found = floors.floors(spec, model, data, points)
    terrains = [terrain] if isinstance(terrain, ElevationGrid) else list(terrain or ())
    cell = spacing if spacing is not None else chosen_spacing(surfaces, loaded.notes)
    check_cells_under_bodies(surfaces, cell)
    side = floors.side_for(checks.count(worlds, "worlds", at_least=1), cell)
    ground = terrains[0] if terrains else floors.ground_of(model, data, found, points.mean(axis=0), loaded.notes, side)
    floors.replace_floors(loaded, model, found, names, ground)

    model = compile_spec(spec)
    placement.set_controls(keys, begin, model, controls)
    starts = [begin["qpos"]] * max(len(terrains), 1)
    if place:
        starts = placement.starts_on(loaded, model, begin, surfaces, terrains or [ground])
    placement.set_keyframes(spec, begin, keys)
    on_device = device != "cpu" or "engine" in more
    room = {} if tiles is None else {"capacity": checks.count(tiles, "tiles", at_least=1), "fixed": True}
    if on_device and tiles is None:
        most = (math.ceil(ground.size[0] / cell / TILE) + 1) * (math.ceil(ground.size[1] / cell / TILE) + 1)
        room = {"capacity": min(tiles_for_path(placement.points_of(data, surfaces), cell), most), "fixed": True}
    own = {"world_soils": materials} if len(materials) > 1 or not isinstance(soil, str | Soil) else {}
    soil_grid = Ground(
        terrains or ground, () if own else materials[0], cell, worlds=worlds, dtype=dtype, device=device, depth=depth,
        below=under, **own, **room,
    )  # fmt: skip
    sets_down = can_set_down(settle, place, on_device, len(terrains), bool(own))
    checks.choice(law, "law", ("soil", "rft"))
    if law == "rft" and draw is not None:
        raise InputError("soil: a function that draws soils is not allowed with law 'rft'")
    module = module_of(law, soil_grid, surfaces, options)
    module.takes_floor = False  # the floor is already replaced; remaining world geoms are walls and obstacles
    by = " by resistive force theory" if law == "rft" else ""
    where = f"{soil_names(materials)}{by}"
    loaded.notes.append(f"ground contact of {', '.join(names)} moved from MuJoCo to the soil ({where})")
    cohesion = max(one.cohesion for one in materials)
    if law == "rft" and cohesion > 0:
        loaded.notes.append(f"law 'rft' knows no cohesion: {cohesion:g} Pa of {soil_names(materials)} are left out")
    if isinstance(module, RftModule):
        loaded.notes += module.mesh_notes
    if soil_grid.depth is not None:
        loaded.notes.append(depth_note(soil_grid.depth, under))
    sim = Simulation(
        spec, [module, *modules], ground=module.ground, step=h, substeps=substeps, worlds=worlds, dtype=dtype,
        notes=grouped([*notes, *loaded.notes]), **engine_for(device, more), **more,
    )  # fmt: skip
    if len(terrains) > 1:
        sim.start_by_terrain(np.array(starts))
    if draw is not None:
        sim.draw_soils(draw if not scale_with_gravity else lambda rng: draw(rng).under_gravity(acting), seed, drawn=1)
    if sets_down:
        set_down(sim)
    sim.watch_loads()
    return sim


def module_of(
    law: str, ground: Ground, surfaces: Mapping[str, Surface], options: SoilOptions | RftOptions | None
) -> SoilModule | RftModule:
    """The force module of a law. Both displace and erode the same ground by the same stages."""
    kind = RftOptions if law == "rft" else SoilOptions
    if not isinstance(options, kind | None):
        raise InputError(f"options: {type(options).__name__} is not allowed with law {law!r}; use {kind.__name__}")
    if not isinstance(options, SoilOptions) and law == "rft":
        options = options or RftOptions()
        lugged = [body for body, surface in surfaces.items() if surface.grouser_height > 0]
        if lugged:
            raise InputError(
                f"body {lugged[0]!r}: lugs by their height are not allowed with law 'rft', which knows lugs only as "
                "parts of a mesh; give a mesh with lugs, or a smooth wheel"
            )
        ruts = SoilModule(ground, surfaces, SoilOptions(digs=False, faces=False)) if options.ruts else None
        return RftModule(ground, surfaces, options, ruts=ruts)
    return SoilModule(ground, surfaces, options if isinstance(options, SoilOptions) else None)


def soil_names(materials: Sequence[Soil]) -> str:
    """What the notes call the soils of the worlds."""
    names = list(dict.fromkeys(one.name for one in materials))
    return ", ".join(names[:SOME]) + (f" and {len(names) - SOME} more" if len(names) > SOME else "")


def depth_note(depth: ElevationGrid, below: Soil | None) -> str:
    """What the notes say of soil with a bottom. `depth`: the map of depths."""
    least, most = 1e3 * float(depth.heights.min()), 1e3 * float(depth.heights.max())
    depths = f"{most:g} mm" if least == most else f"{least:g} to {most:g} mm"
    return f"soil {depths} deep, over {'hard ground' if below is None else below.name}"


def chosen_bodies(model: mujoco.MjModel, bodies: str | Sequence[str], loose: bool) -> list[str]:
    """Names of the soil bodies: those of a list, or those a pattern matches among moving bodies with a shape.

    `loose`: all bodies count as moving, because the base will be free.
    """
    names = [model.body(b).name for b in range(1, model.nbody)]
    moving = {int(model.body_rootid[b]) for b in range(1, model.nbody) if loose or model.body_weldid[b] != 0}
    shaped = [n for b, n in enumerate(names, 1) if model.body_rootid[b] in moving and _has_shape(model, b)]
    known = ", ".join(shaped) or "the model's bodies: none of them has a shape"
    if not isinstance(bodies, str):
        for name in bodies:
            if name not in names:
                raise InputError(f"bodies: {name!r} is not in the model; it has {known}")
        if not bodies:
            raise InputError("bodies: none is given; name at least one")
        return list(dict.fromkeys(bodies))
    try:
        pattern = re.compile(bodies)
    except re.error as error:
        raise InputError(f"bodies: {bodies!r} is not a regular expression: {error}") from None
    chosen = [name for name in shaped if pattern.fullmatch(name)]
    if not chosen:
        begin = [name for name in shaped if pattern.match(name)]
        longer = f"({bodies}).*" if "|" in bodies else f"{bodies}.*"
        hint = f"; whole names must match, {longer!r} takes {', '.join(begin)}" if begin else ""
        raise InputError(f"bodies: {bodies!r} matches none of {known}{hint}")
    return chosen


def _has_shape(model: mujoco.MjModel, body: int) -> bool:
    """Whether a body has a geom that is not a floor."""
    start, count = model.body_geomadr[body], model.body_geomnum[body]
    floor = (mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_HFIELD)
    return any(kind not in floor for kind in model.geom_type[start : start + count])


def check_body_sizes(model: mujoco.MjModel, names: Sequence[str]) -> None:
    """Raise an InputError for a body that is far too large: its surface would take too long to prepare."""
    for name in names:
        body = model.body(name)
        geoms = slice(body.geomadr[0], body.geomadr[0] + body.geomnum[0])
        size = 2 * float(model.geom_rbound[geoms].max(initial=0.0))
        if size > LARGEST_BODY:
            raise InputError(
                f"body {name!r} is {size:.3g} m large: allowed are {LARGEST_BODY:g} m; is the model in metres?"
            )


def check_cells_under_bodies(surfaces: Mapping[str, Surface], spacing: float) -> None:
    """Raise an InputError if the cells under a body would not fit into memory."""
    for name, surface in surfaces.items():
        length = float(np.ptp(surface.vertices, axis=0).max())
        if spacing > 0 and length / spacing > MOST_CELLS:
            raise InputError(
                f"spacing: {spacing:g} m makes {length / spacing:.0f} cells along body {name!r} ({length:g} m long): "
                f"allowed are {MOST_CELLS}, by a larger spacing"
            )


def surfaces_of(
    data: mujoco.MjData, names: Sequence[str], spacing: float | None, merge_notes: list[str] | None
) -> dict[str, Surface]:
    """Surfaces of the soil bodies. If `merge_notes` is given, small shapes that lie close together are merged."""
    model = data.model
    apart = {name: body_surface(model, name) for name in names}
    if merge_notes is None:
        return apart
    for name in (name for name in names if model.body(name).geomnum[0] > 1):
        length = float(np.ptp(apart[name].vertices, axis=0).max())
        cell = spacing if spacing is not None else min(SPACING, length / FEET)
        up = data.body(name).xmat.reshape(3, 3)[2]
        apart[name] = body_surface(model, name, Merge(SMALL_SHAPE * cell, up, merge_notes))
    return apart


def wanted_spacing(surfaces: Mapping[str, Surface]) -> tuple[str, float]:
    """The body that needs the finest grid, and the spacing [m] it needs, between FINEST_SPACING and SPACING.

    There are at least four cells along a body and across a rod, and one through the thickness of a plate. Single small
    shapes need half a cell only.
    """
    needed = {}
    for name, surface in surfaces.items():
        size = np.sort(np.ptp(surface.vertices, axis=0))
        limit = min(size[2] / CELLS, size[0] or np.inf, max(size[1] / CELLS, FINEST_SPACING))
        needed[name] = min(limit, least_size(surface, max(limit, FINEST_SPACING)) / LEAST)
    name = min(needed, key=lambda n: needed[n])
    return name, float(np.clip(needed[name], FINEST_SPACING, SPACING))


def chosen_spacing(surfaces: Mapping[str, Surface], notes: list[str]) -> float:
    """Default spacing [m]: 10 mm, or finer if a small body needs it."""
    name, wanted = wanted_spacing(surfaces)
    if wanted >= SPACING:
        return SPACING
    for body, surface in surfaces.items():
        least = least_size(surface, wanted)
        if least < (1 - 1e-9) * LEAST * FINEST_SPACING:
            raise InputError(
                f"body {body!r} is too small for a soil grid of {1e3 * FINEST_SPACING:g} mm, the finest chosen "
                f"automatically: allowed is a spacing of at most {1e3 * least / LEAST:.3g} mm if you give one, or a "
                "thicker "
                "shape"
            )
    chosen = float(SPACING_STEP * np.floor(wanted / SPACING_STEP + 1e-9))
    notes.append(f"spacing {1e3 * chosen:g} mm, because body {name!r} is small")
    return chosen
