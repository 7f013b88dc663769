"""Fused kernels: one thread a world with the loops inside, two launches a step. For few worlds on a CPU.

They call the same stages in the same order as the fine kernels; on the CPU both agree bit for bit. Inner loops are
`while`: a `for` of Warp carries its step along, which costs as much as a light body.
"""

from functools import cache
from types import SimpleNamespace

import warp as wp

from grouser.contact.soil import types as t
from grouser.contact.soil.erosion import erosion_stages
from grouser.contact.soil.footprint import footprint_stages
from grouser.contact.soil.plasticity import plasticity_stages
from grouser.contact.soil.pressing import pressing_stages
from grouser.contact.soil.surface import CHUNK
from grouser.contact.soil.traction import traction_stages
from grouser.terrain.ground import TILE, natural


@cache
def fused_kernels(name: str) -> SimpleNamespace:
    ty = t.soil_types(name)
    p = ty.precision
    real, vec3, quat, vec6, mat33, mat66 = p.real, p.vec3, p.quat, p.vec6, p.mat33, p.mat66
    Ground, Options, Bodies, Window = ty.ground.Arrays, ty.Options, ty.Bodies, ty.Window
    parts, sums = ty.parts, ty.sums
    f, s, w = footprint_stages(name), plasticity_stages(name), traction_stages(name)
    find_top, sphere_bottom, chunk_is_near, place_vertex = f.find_top, f.sphere_bottom, f.chunk_is_near, f.place_vertex
    ground_lean, lies_deeper, vec2 = f.ground_lean, f.lies_deeper, p.vec2
    forget_vertex, open_window, gather_node, clear_node = f.forget_vertex, f.open_window, f.gather_node, f.clear_node
    raster_triangle, mark_crease = f.raster_triangle, f.mark_crease
    close_hit_box, faces_up, corner = f.close_hit_box, f.faces_up, f.corner
    empty_box, widen_box = f.empty_box, f.widen_box
    remember_motion, roughness = f.remember_motion, f.roughness
    touch_node, shear_vertex, mark_border, gather_spoil = s.touch_node, s.shear_vertex, s.mark_border, s.gather_spoil
    border_weights, share_out, centre_spoil, receive = s.border_weights, s.share_out, s.centre_spoil, s.receive
    dig_node, blocks_along, is_touched = s.dig_node, s.blocks_along, s.is_touched
    press_shapes, shape_forces = pressing_stages(name).press_shapes, pressing_stages(name).shape_forces
    pile_up, sink_node, scatter_node, shear_node = s.pile_up, s.sink_node, s.scatter_node, s.shear_node
    changed_box, stamp_tiles = s.changed_box, s.stamp_tiles
    erode = erosion_stages(name).erode
    predict_node, loaded, node_force, assemble = w.predict_node, w.loaded, w.node_force, w.assemble
    chunk = wp.constant(CHUNK)
    tile = wp.constant(TILE)
    module = wp.get_module(f"grouser.contact.soil.{name}")
    module.options["enable_backward"] = False

    @wp.func_native(t.without_gaps(g=Ground, o=Options, b=Bodies, win=Window))
    def assume_packed(g: Ground, o: Options, b: Bodies, win: Window): ...

    @wp.func
    def place_body(g: Ground, b: Bodies, win: Window, world: int, body: int, slot: int, pos: vec3, R: mat33):
        cut = win.top[slot] + g.spacing
        lean = ground_lean(g, pos)
        last = b.first_vertex[body + 1]
        x0 = real(win.extent[slot, 0])
        x1 = real(win.extent[slot, 1])
        y0 = real(win.extent[slot, 2])
        y1 = real(win.extent[slot, 3])
        low = win.lowest[slot]
        for c in range(b.first_vertex_chunk[body], b.first_vertex_chunk[body + 1]):
            first = b.first_vertex[body] + (c - b.first_vertex_chunk[body]) * chunk
            end = wp.min(first + chunk, last)
            if chunk_is_near(g, b, win, body, slot, c, pos, R):
                b.near[world, c] = 1
                v = int(first)
                while v < end:
                    at = place_vertex(g, b, world, v, pos, R)
                    if at[2] < cut:
                        x0 = wp.where(at[0] < x0, at[0], x0)
                        x1 = wp.where(at[0] > x1, at[0], x1)
                        y0 = wp.where(at[1] < y0, at[1], y0)
                        y1 = wp.where(at[1] > y1, at[1], y1)
                    if lies_deeper(at, low, lean):
                        low = at
                    v += 1
            elif b.near[world, c] == 1:
                b.near[world, c] = 0
                for v in range(first, end):
                    forget_vertex(b, world, v)
        win.extent[slot, 0] = x0
        win.extent[slot, 1] = x1
        win.extent[slot, 2] = y0
        win.extent[slot, 3] = y1
        win.lowest[slot] = low

    @wp.func
    def raster_body(g: Ground, b: Bodies, win: Window, world: int, body: int, slot: int, pos: vec3, R: mat33):
        cut = win.top[slot] + g.spacing
        last = b.first_triangle[body + 1]
        for c in range(b.first_triangle_chunk[body], b.first_triangle_chunk[body + 1]):
            if sphere_bottom(b.triangle_spheres[c], pos, R) <= cut and not faces_up(b.triangle_cones[c], R):
                first = b.first_triangle[body] + (c - b.first_triangle_chunk[body]) * chunk
                for triangle in range(first, wp.min(first + chunk, last)):
                    raster_triangle(g, b, win, world, slot, triangle, 0)
        for crease in range(b.first_crease[body], b.first_crease[body + 1]):
            mark_crease(g, b, win, world, slot, crease, 0)
        if win.box[slot, t.HIT + 1] >= win.box[slot, t.HIT]:  # with the border beside it
            widen_box(
                win, slot, t.DIRTY, win.box[slot, t.HIT] - 1, win.box[slot, t.HIT + 1] + 1,
                win.box[slot, t.HIT + 2] - 1, win.box[slot, t.HIT + 3] + 1, 0,
            )  # fmt: skip
        close_hit_box(win, slot)

    @wp.func
    def shear_body(
        g: Ground, o: Options, b: Bodies, win: Window,
        world: int, body: int, slot: int, pos: vec3, R: mat33, vel: vec3, spin: vec3,
    ):  # fmt: skip
        if o.node_shear == 1:
            first_node = corner(g, win, slot, pos)
            for i in range(win.box[slot, t.HIT], win.box[slot, t.HIT + 1] + 1):
                for j in range(win.box[slot, t.HIT + 2], win.box[slot, t.HIT + 3] + 1):
                    shear_node(g, o, win, slot, i, j, first_node, vel, spin)
            return
        last = b.first_vertex[body + 1]
        for c in range(b.first_vertex_chunk[body], b.first_vertex_chunk[body + 1]):
            if b.near[world, c] == 1:
                first = b.first_vertex[body] + (c - b.first_vertex_chunk[body]) * chunk
                for v in range(first, wp.min(first + chunk, last)):
                    if b.placed[world, v][2] < win.top[slot]:
                        shear_vertex(g, o, b, win, world, body, slot, v, pos, R, vel, spin)
                    else:
                        b.shear[world, v] = vec3()

    @wp.func
    def patch_width(g: Ground, b: Bodies, win: Window, world: int, body: int, contacts: int, edges: int):
        """1/b = perimeter / (2 area) of the footprint where a body has no width of its own."""
        if b.from_patch[body] == 1 and contacts > 0:
            b.per_width[world, body] = real(edges) / (real(2 * contacts) * g.spacing)

    @wp.func
    def spread(win: Window, spoil: parts, start: int, borders: int):
        """Share one block's spoil out over the border."""
        even = real(0.0)
        push = real(0.0)
        drag = real(0.0)
        end = start + borders
        q = int(start)
        while q < end:
            we, wpu, wd = border_weights(spoil, win.place[natural(q)])
            win.weights[natural(q)] = vec3(we, wpu, wd)
            even += we
            push += wpu
            drag += wd
            q += 1
        spoil = share_out(spoil, even, push, drag)
        q = int(start)
        while q < end:
            win.received[natural(q)] = win.received[natural(q)] + receive(spoil, win.weights[natural(q)])
            q += 1

    @wp.func
    def displace(g: Ground, o: Options, b: Bodies, win: Window, world: int, body: int, slot: int,
                 pos: vec3, R: mat33, vel: vec3, spin: vec3):  # fmt: skip
        """Plastic sinkage of the footprint, spoil to its border."""
        rows = win.box[slot, t.ROWS]
        columns = win.box[slot, t.COLUMNS]
        start = natural(slot * win.side * win.side)
        contacts = int(0)
        i0 = int(rows)
        i1 = int(-1)
        j0 = int(columns)
        j1 = int(-1)
        n0 = int(rows)
        n1 = int(-1)
        m0 = int(columns)
        m1 = int(-1)
        removed = real(0.0)
        last_column = win.box[slot, t.HIT + 3]
        for i in range(win.box[slot, t.HIT], win.box[slot, t.HIT + 1] + 1):
            j = int(win.box[slot, t.HIT + 2])
            while j <= last_column:
                k = natural(start + i * win.side + j)
                touched = touch_node(g, o, b, win, world, body, k)
                if touched > 0:
                    n0 = wp.min(n0, i)
                    n1 = wp.max(n1, i)
                    m0 = wp.min(m0, j)
                    m1 = wp.max(m1, j)
                if touched == 2:
                    contacts += 1
                    i0 = wp.min(i0, i)
                    i1 = wp.max(i1, i)
                    j0 = wp.min(j0, j)
                    j1 = wp.max(j1, j)
                    removed += win.sunk[k]
                j += 1
        win.box[slot, t.CONTACTS] = contacts
        win.box[slot, t.NEAR] = n0
        win.box[slot, t.NEAR + 1] = n1
        win.box[slot, t.NEAR + 2] = m0
        win.box[slot, t.NEAR + 3] = m1
        win.box[slot, t.TOUCHED] = i0
        win.box[slot, t.TOUCHED + 1] = i1
        win.box[slot, t.TOUCHED + 2] = j0
        win.box[slot, t.TOUCHED + 3] = j1
        if b.first_shape[body + 1] > b.first_shape[body]:
            removed += press_shapes(g, o, b, win, world, body, slot, pos, R, vel, spin)
            n0 = win.box[slot, t.NEAR]
            n1 = win.box[slot, t.NEAR + 1]
            m0 = win.box[slot, t.NEAR + 2]
            m1 = win.box[slot, t.NEAR + 3]
            i0 = win.box[slot, t.TOUCHED]
            i1 = win.box[slot, t.TOUCHED + 1]
            j0 = win.box[slot, t.TOUCHED + 2]
            j1 = win.box[slot, t.TOUCHED + 3]
        if contacts + win.box[slot, t.PRESSED] == 0:
            return
        borders = int(0)
        edges = int(0)
        for i in range(wp.max(n0 - 1, 1), wp.min(n1 + 2, rows - 1)):
            j = int(wp.max(m0 - 1, 1))
            while j < wp.min(m1 + 2, columns - 1):
                k = natural(start + i * win.side + j)
                if mark_border(win, k) == 1:
                    win.listed[natural(start + borders)] = i * win.side + j
                    win.place[natural(start + borders)] = vec2(real(j), real(i))
                    borders += 1
                j += 1
        win.box[slot, t.BORDERS] = borders
        if b.from_patch[body] == 1:
            for i in range(i0, i1 + 1):
                for j in range(j0, j1 + 1):
                    k = natural(start + i * win.side + j)
                    if is_touched(win, k):
                        for e in range(4):
                            n = k + wp.where(e == 0, 1, wp.where(e == 1, -1, wp.where(e == 2, win.side, -win.side)))
                            if not is_touched(win, n):
                                edges += 1
            patch_width(g, b, win, world, body, contacts, edges)
        dug = int(0)
        first_node = corner(g, win, slot, pos)
        if o.spoil == 1 and borders > 0:
            for i in range(i0, i1 + 1):
                j = int(j0)
                while j <= j1:
                    if win.mark[natural(start + i * win.side + j)] == t.CONTACT:
                        if dig_node(g, o, win, slot, i, j, first_node, vel, spin) == 1:
                            dug += 1
                    j += 1
        if removed == real(0.0) and dug == 0:
            return
        win.box[slot, t.CHANGED] = 1
        kept = wp.where(borders == 0, 1, 0)
        if o.spoil == 1 and borders > 0:
            for q in range(borders):
                win.received[start + q] = real(0.0)
            for block in range(blocks_along(o, win, slot, t.TOUCHED) * blocks_along(o, win, slot, t.TOUCHED + 2)):
                spoil = gather_spoil(g, o, win, slot, block, first_node, vel, spin)
                if spoil[0] > real(0.0):
                    spread(win, centre_spoil(spoil), start, borders)
            for q in range(borders):
                if win.received[start + q] > real(0.0):
                    pile_up(o, win, start + win.listed[start + q], win.received[start + q])
        compressed = real(0.0)
        for i in range(i0, i1 + 1):
            j = int(j0)
            while j <= j1:
                k = natural(start + i * win.side + j)
                if win.mark[k] == t.CONTACT:
                    compressed += wp.where(kept == 1, real(1.0), o.soils[natural(win.soil[k])].chi) * win.sunk[k]
                    sink_node(o, win, k, kept)
                j += 1
        win.tally[slot, t.REMOVED] = win.tally[slot, t.REMOVED] + removed
        win.tally[slot, t.COMPRESSED] = win.tally[slot, t.COMPRESSED] + compressed

    @wp.func
    def written(g: Ground, win: Window, world: int, slot: int):
        """How often the window's tiles have been written to: a sum that any write changes."""
        r0 = win.box[slot, t.ROW0]
        c0 = win.box[slot, t.COLUMN0]
        count = int(0)
        for i in range(r0 / tile, (r0 + win.box[slot, t.ROWS] - 1) / tile + 1):
            for j in range(c0 / tile, (c0 + win.box[slot, t.COLUMNS] - 1) / tile + 1):
                count += g.stamp[world, g.table[world, i, j]]
        return count

    @wp.func
    def fill_window(g: Ground, win: Window, world: int, slot: int):
        """Levels of the whole window from its tiles."""
        r0 = win.box[slot, t.ROW0]
        c0 = win.box[slot, t.COLUMN0]
        c1 = c0 + win.box[slot, t.COLUMNS]
        for i in range(r0, r0 + win.box[slot, t.ROWS]):
            k0 = (slot * win.side + i - r0) * win.side - c0
            for tj in range(c0 / tile, (c1 - 1) / tile + 1):
                index = g.table[world, i / tile, tj]
                for j in range(wp.max(c0, tj * tile), wp.min(c1, tj * tile + tile)):
                    gather_node(g, win, world, index, i, j, k0 + j)
        win.box[slot, t.SEEN] = written(g, win, world, slot)

    @wp.func
    def clear_window(g: Ground, win: Window, slot: int, stays: bool):
        """Nothing above any node: clears what the last step wrote, where soils differ the whole window."""
        r0 = win.box[slot, t.ROW0]
        c0 = win.box[slot, t.COLUMN0]
        i0 = wp.max(win.box[slot, t.DIRTY], 0)
        i1 = wp.min(win.box[slot, t.DIRTY + 1] + 1, win.side)
        j0 = wp.max(win.box[slot, t.DIRTY + 2], 0)
        j1 = wp.min(win.box[slot, t.DIRTY + 3] + 1, win.side)
        if not stays and g.base_soil.shape[0] > 1:
            i0 = 0
            i1 = win.box[slot, t.ROWS]
            j0 = 0
            j1 = win.box[slot, t.COLUMNS]
        for i in range(i0, i1):
            k0 = natural((slot * win.side + i) * win.side)
            j = int(j0)
            while j < j1:
                clear_node(g, win, r0 + i, c0 + j, natural(k0 + j))
                j += 1
        empty_box(win, slot, t.DIRTY)

    @wp.func
    def write_back(g: Ground, o: Options, win: Window, world: int, slot: int):
        """What changed into its tiles: the footprint with its border, and what slid."""
        r0 = win.box[slot, t.ROW0]
        c0 = win.box[slot, t.COLUMN0]
        i0, i1, j0, j1 = changed_box(o, win, slot)
        moved = real(0.0)
        for i in range(r0 + i0, r0 + i1 + 1):
            k0 = (slot * win.side + i - r0) * win.side - c0
            for tj in range((c0 + j0) / tile, (c0 + j1) / tile + 1):
                index = g.table[world, i / tile, tj]
                for j in range(wp.max(c0 + j0, tj * tile), wp.min(c0 + j1 + 1, tj * tile + tile)):
                    moved += scatter_node(g, win, world, index, i, j, k0 + j)
        win.tally[slot, t.MOVED] = win.tally[slot, t.MOVED] + moved
        stamp_tiles(g, o, win, world, slot)
        win.box[slot, t.SEEN] = written(g, win, world, slot)

    @wp.kernel(module=module)
    def commit_world(
        g: Ground, o: Options, b: Bodies, win: Window,
        position: wp.array2d(dtype=vec3), rotation: wp.array2d(dtype=quat),
        velocity: wp.array2d(dtype=vec3), spinning: wp.array2d(dtype=vec3),
        status_out: wp.array2d(dtype=wp.int32),
    ):  # fmt: skip
        """Every body of one world in its declared order: footprint, sinkage, spoil, sliding."""
        assume_packed(g, o, b, win)
        world = natural(wp.tid())
        bodies = b.rows.shape[0]
        for body in range(bodies):
            row = natural(b.rows[body])
            slot = natural(world * bodies + body)
            pos = position[world, row]
            R = wp.quat_to_matrix(rotation[world, row])
            vel = velocity[world, row]
            spin = spinning[world, row]
            r0 = win.box[slot, t.ROW0]
            c0 = win.box[slot, t.COLUMN0]
            rows = win.box[slot, t.ROWS]
            columns = win.box[slot, t.COLUMNS]
            remember_motion(o, win, slot, vel, spin)
            find_top(g, b, win, world, body, slot, pos, R)
            place_body(g, b, win, world, body, slot, pos, R)
            status = open_window(g, o, win, world, slot, pos)
            stages = o.stages[0]
            if win.box[slot, t.ROWS] > 0:
                stays = (
                    r0 == win.box[slot, t.ROW0]
                    and c0 == win.box[slot, t.COLUMN0]
                    and rows == win.box[slot, t.ROWS]
                    and columns == win.box[slot, t.COLUMNS]
                )
                if stages > 1:
                    if not stays or win.box[slot, t.SEEN] != written(g, win, world, slot):
                        fill_window(g, win, world, slot)
                    clear_window(g, win, slot, stays)
                if stages > 2:
                    raster_body(g, b, win, world, body, slot, pos, R)
                if stages > 3:
                    displace(g, o, b, win, world, body, slot, pos, R, vel, spin)
                if stages > 4:
                    shear_body(g, o, b, win, world, body, slot, pos, R, vel, spin)
                if stages > 5 and o.sweeps > 0:
                    erode(g, o, win, slot)
                if stages > 6 and win.box[slot, t.CHANGED] == 1:
                    write_back(g, o, win, world, slot)
                if status == t.FINE and win.box[slot, t.CONTACTS] + win.box[slot, t.PRESSED] > 0:
                    status = roughness(o, win, slot)
            status_out[world, body] = status

    @wp.kernel(module=module)
    def evaluate_world(
        g: Ground, o: Options, b: Bodies, win: Window,
        position: wp.array2d(dtype=vec3), rotation: wp.array2d(dtype=quat),
        velocity: wp.array2d(dtype=vec3), spinning: wp.array2d(dtype=vec3),
        wrench_out: wp.array2d(dtype=vec6), implicit_out: wp.array2d(dtype=mat66),
    ):  # fmt: skip
        """Wrench and implicit block of every body of one world from the committed ground."""
        assume_packed(g, o, b, win)
        world = natural(wp.tid())
        bodies = b.rows.shape[0]
        for body in range(bodies):
            row = natural(b.rows[body])
            slot = natural(world * bodies + body)
            pos = position[world, row]
            R = wp.quat_to_matrix(rotation[world, row])
            vel = velocity[world, row]
            spin = spinning[world, row]
            force = vec6()
            block = sums()
            area = int(0)
            rows = win.box[slot, t.ROWS]
            if rows > 0:
                if o.several == 1 and win.box[slot, t.SEEN] != written(g, win, world, slot):
                    fill_window(g, win, world, slot)
                i0 = win.box[slot, t.NEAR]
                i1 = win.box[slot, t.NEAR + 1]
                j0 = win.box[slot, t.NEAR + 2]
                j1 = win.box[slot, t.NEAR + 3]
                start = natural(slot * win.side * win.side)
                columns = win.box[slot, t.COLUMNS]
                first_node = corner(g, win, slot, pos)
                for i in range(i0 - 1, i1 + 2):
                    j = int(j0 - 1)
                    while j <= j1 + 1:
                        predict_node(g, o, b, win, world, body, slot, i, j, rows, columns, first_node, vel, spin)
                        j += 1
                for i in range(i0, i1 + 1):
                    j = int(j0)
                    while j <= j1:
                        if loaded(win, natural(start + i * win.side + j), g.spacing):
                            part, share = node_force(g, o, b, win, world, body, slot, i, j, first_node, R, vel, spin)
                            force += part
                            block += share
                            area += 1
                        j += 1
            covered = real(area) * g.spacing * g.spacing
            if b.first_shape[body + 1] > b.first_shape[body]:
                part, share, more = shape_forces(g, o, b, win, world, body, slot, pos, R, vel, spin)
                force += part
                block += share
                covered += more
            win.area[slot] = covered
            wrench_out[world, body] = force
            implicit_out[world, body] = assemble(block)

    return SimpleNamespace(commit_world=commit_world, evaluate_world=evaluate_world, types=ty, module=module)


class FusedLauncher:
    """Launches one fused kernel for commit and one for evaluate."""

    def __init__(self, name: str, device: str):
        self.kernels, self.device = fused_kernels(name), device
        self.module = self.kernels.module

    def commit(self, launch, ground, options, bodies, window, motion, out, worlds: int, surfaces) -> None:
        inputs = [ground, options, bodies, window, motion.position, motion.rotation, motion.velocity, motion.spin]
        launch(self.kernels.commit_world, worlds, [*inputs, out.status])

    def evaluate(self, launch, ground, options, bodies, window, motion, out, worlds: int, surfaces) -> None:
        inputs = [ground, options, bodies, window, motion.position, motion.rotation, motion.velocity, motion.spin]
        outputs = [out.wrench, out.implicit]
        launch(self.kernels.evaluate_world, worlds, [*inputs, *outputs])
