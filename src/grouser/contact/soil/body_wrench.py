"""Wrench and implicit block of one body: the sums over its nodes, its small shapes and the limits of its energy."""

from __future__ import annotations

import warp as wp

from grouser.contact.soil import energy as work
from grouser.contact.soil import faces as pushing
from grouser.contact.soil import implicit, losses
from grouser.contact.soil import points as pressing
from grouser.contact.soil.elements import BlockSums, Losses
from grouser.contact.soil.types import (
    BodyMotion,
    Energy,
    Faces,
    Options,
    Placement,
    Points,
    Prediction,
    Pushing,
    SmallShapes,
    Window,
)
from grouser.device import array2d
from grouser.precision import mat66, real, vec6
from grouser.terrain.ground import GroundArrays as Ground


@wp.func
def write_wrench(
    g: Ground, o: Options, shapes: SmallShapes, points: Points, faces: Faces, push: Pushing, place: Placement,
    win: Window, pred: Prediction, energy: Energy, world: int, body: int, slot: int, m: BodyMotion,
    wrench: vec6, sums: BlockSums, lost: Losses, nodes: int, wrench_out: array2d[vec6], implicit_out: array2d[mat66],
):  # fmt: skip
    """Add small shapes and steep faces to the sums of the `nodes` loaded nodes, and limit the energy given back."""
    area = real(nodes) * g.spacing * g.spacing
    if pressing.has_shapes(shapes, body):
        part, share, more, worn = pressing.shape_forces(g, o, shapes, place, win, points, world, body, slot, m)
        wrench += part
        sums = implicit.plus(sums, share)
        area += more
        lost = losses.plus(lost, worn)
    if pushing.has_faces(faces, body):
        pushed, by_faces = pushing.face_forces(g, o, faces, push, world, body, m)
        wrench += pushed
        sums = implicit.plus(sums, by_faces)
        lost = losses.plus(lost, losses.of_faces(-o.step[0] * work.power(pushed, m.velocity, m.angular_velocity)))
    pred.area[slot] = area
    work.foresee_losses(energy, o.step[0], slot, m, wrench, lost, place.sinkage[slot])
    limited, block = work.limit_wrench(energy, o.step[0], slot, m, wrench, implicit.assemble(sums), place.sinkage[slot])
    wrench_out[world, body] = limited
    implicit_out[world, body] = block
