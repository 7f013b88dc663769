"""Soil kernels of `evaluate` with one team of lanes per body, see per_team.py."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import body_wrench, boxes, implicit, losses, placement, prefetch, team, team_window, traction
from grouser.contact.soil import types as t
from grouser.contact.soil.elements import BlockSums, Losses
from grouser.contact.soil.per_team import MODULE
from grouser.contact.soil.team_displacement import nodes_of
from grouser.contact.soil.types import (
    Bodies,
    Displacement,
    Energy,
    Faces,
    MotionArrays,
    Options,
    Placement,
    Points,
    Prediction,
    Pushing,
    Skin,
    SmallShapes,
    Vertices,
    Window,
)
from grouser.device import array2d, nonnegative
from grouser.precision import mat66, vec3, vec6
from grouser.terrain.ground import GroundArrays as Ground


@wp.kernel(module=MODULE)
def predict(
    g: Ground, o: Options, b: Bodies, place: Placement, windows: Window, skin: Skin, disp: Displacement,
    pred: Prediction, motion: MotionArrays, lanes: int,
):  # fmt: skip
    """Predict body and soil at the end of the step and list the nodes that carry load. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    win = team_window.packed(windows, slot)
    if win.frame[slot].rows == 0:
        if lane == 0:
            pred.loaded[slot] = 0
        return
    # Another body may have changed the soil since this one committed.
    if o.shared_ground == 1:
        writes = team_window.writes_to_tiles(g, win, world, slot)
        stale = win.writes_seen[slot] != writes
        team.sync()
        if stale:
            if team_window.others_wrote(win, slot, b.rows.shape[0]):
                team_window.fill_window(g, win, world, slot, lane, lanes)
            if lane == 0:
                win.writes_seen[slot] = writes
        team.sync()
    m = t.body_motion(motion, world, b.rows[body])
    first_node = placement.first_node(g, win, slot, m.position)
    frame = win.frame[slot]
    start = nonnegative(slot * win.nodes)
    near = disp.near[slot]
    nodes, width = nodes_of(near)
    # One row more on every side, which slopes need.
    if nodes > 0:
        prefetch.soil_of(win, skin, slot, boxes.grown(near, 1), lane, lanes)
        box = boxes.grown(near, 1)
        wide = width + 2
        count = wide * (box.row1 - box.row0 + 1)
        q = int(lane)
        while q < count:
            i = box.row0 + q // wide
            j = box.column0 + q % wide
            traction.predict_node(g, o, b, place, win, skin, disp, pred, body, slot, frame, i, j, first_node, m)
            q += lanes
    team.sync()
    # Most nodes near a body carry nothing: a list keeps all lanes of the next kernel at work.
    loaded = int(0)
    base = int(0)
    while base < nodes:
        q = base + lane
        node = int(0)
        carries = int(0)
        if q < nodes:
            node = (near.row0 + q // width) * win.side + near.column0 + q % width
            if traction.loaded(pred, win.side, nonnegative(start + node), g.spacing):
                carries = 1
        at = loaded + team.rank(carries)
        if carries == 1:
            pred.nodes[nonnegative(start + at)] = node
        loaded += team.count(carries)
        base += lanes
    if lane == 0:
        pred.loaded[slot] = loaded


@wp.kernel(module=MODULE, cuda_max_registers=128)
def force(
    g: Ground, o: Options, b: Bodies, place: Placement, windows: Window, skin: Skin, verts: Vertices,
    disp: Displacement, pred: Prediction, motion: MotionArrays, lanes: int,
):  # fmt: skip
    """Sum wrench, implicit block and losses over the nodes that carry load. One team per body."""
    world, body, lane = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    win = team_window.packed(windows, slot)
    wrench = vec6()
    sums = BlockSums()
    lost = Losses()
    loaded = pred.loaded[slot]
    if loaded > 0:
        prefetch.loads_of(win, skin, pred, slot, disp.near[slot], lane, lanes)
        prefetch.vertices_of(b, verts, world, body, lane, lanes)
        m = t.body_motion(motion, world, b.rows[body])
        first_node = placement.first_node(g, win, slot, m.position)
        start = nonnegative(slot * win.nodes)
        q = int(lane)
        while q < loaded:
            node = pred.nodes[nonnegative(start + q)]
            part, share, worn = traction.node_force(
                g, o, b, place, win, skin, verts, disp, pred, world, body, slot, node // win.side, node % win.side,
                first_node, m,
            )  # fmt: skip
            wrench += part
            sums = implicit.plus(sums, share)
            lost = losses.plus(lost, worn)
            q += lanes
    wrench = team.total_vector(wrench)
    nn = team.total_vector(sums.nn)
    mn = team.total_matrix(sums.mn)
    mm = team.total_vector(sums.mm)
    weight = team.total(sums.weight)
    lever = vec3(team.total(sums.lever[0]), team.total(sums.lever[1]), team.total(sums.lever[2]))
    lever2 = team.total_vector(sums.lever2)
    by_kind = team.total_vector(vec6(lost.stored, lost.sinkage, lost.spoil, lost.damping, lost.shear, lost.faces))
    if lane == 0:
        pred.wrench[slot] = wrench
        pred.sums[slot] = BlockSums(nn, mn, mm, weight, lever, lever2)
        pred.losses[slot] = Losses(by_kind[0], by_kind[1], by_kind[2], by_kind[3], by_kind[4], by_kind[5])


@wp.kernel(module=MODULE)
def sum_up(
    g: Ground, o: Options, b: Bodies, shapes: SmallShapes, points: Points, faces: Faces, push: Pushing,
    place: Placement, windows: Window, pred: Prediction, energy: Energy, motion: MotionArrays,
    wrench_out: array2d[vec6], implicit_out: array2d[mat66],
):  # fmt: skip
    """Add small shapes and steep faces, limit the energy given back, write the result. One thread per body."""
    world, body = wp.tid()
    slot = nonnegative(world * b.rows.shape[0] + body)
    win = team_window.packed(windows, slot)
    body_wrench.write_wrench(
        g, o, shapes, points, faces, push, place, win, pred, energy, world, body, slot,
        t.body_motion(motion, world, b.rows[body]), pred.wrench[slot], pred.sums[slot], pred.losses[slot],
        pred.loaded[slot], wrench_out, implicit_out,
    )  # fmt: skip


KERNELS = [value for value in list(globals().values()) if isinstance(value, wp.Kernel)]
