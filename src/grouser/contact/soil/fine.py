"""Fine kernels: one thread an element (vertex, triangle, node, block), for many worlds on a GPU.

They call the same stages in the same order as the fused kernels; on the CPU both agree bit for bit. Bodies of one
world follow each other, because their ruts may overlap.
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
def fine_kernels(name: str) -> SimpleNamespace:
    ty = t.soil_types(name)
    p = ty.precision
    real, vec2, vec3, quat, vec6, mat66, sums = p.real, p.vec2, p.vec3, p.quat, p.vec6, p.mat66, ty.sums
    Ground, Options, Bodies, Window = ty.ground.Arrays, ty.Options, ty.Bodies, ty.Window
    f, s, w = footprint_stages(name), plasticity_stages(name), traction_stages(name)
    find_top, chunk_is_near, place_vertex = f.find_top, f.chunk_is_near, f.place_vertex
    ground_lean, lies_deeper = f.ground_lean, f.lies_deeper
    forget_vertex, open_window, gather_node, clear_node = f.forget_vertex, f.open_window, f.gather_node, f.clear_node
    raster_triangle, mark_crease = f.raster_triangle, f.mark_crease
    widen_box, close_hit_box, corner = f.widen_box, f.close_hit_box, f.corner
    remember_motion, roughness = f.remember_motion, f.roughness
    touch_node, shear_vertex, mark_border, gather_spoil = s.touch_node, s.shear_vertex, s.mark_border, s.gather_spoil
    border_weights, share_out, centre_spoil, receive = s.border_weights, s.share_out, s.centre_spoil, s.receive
    dig_node, blocks_along, is_touched = s.dig_node, s.blocks_along, s.is_touched
    press_shapes, shape_forces = pressing_stages(name).press_shapes, pressing_stages(name).shape_forces
    pile_up, sink_node, scatter_node, shear_node = s.pile_up, s.sink_node, s.scatter_node, s.shear_node
    stamp_tiles = s.stamp_tiles
    erode = erosion_stages(name).erode
    predict_node, loaded, node_force, assemble = w.predict_node, w.loaded, w.node_force, w.assemble
    chunk = wp.constant(CHUNK)
    tile = wp.constant(TILE)
    module = wp.get_module(f"grouser.contact.soil.fine.{name}")
    module.options["enable_backward"] = False

    @wp.struct
    class Motion:
        position: wp.array2d(dtype=vec3)
        rotation: wp.array2d(dtype=quat)
        velocity: wp.array2d(dtype=vec3)
        spin: wp.array2d(dtype=vec3)

    @wp.func
    def within(win: Window, slot: int, node: int, box: int, ring: int):
        """Whether a node of the window lies in one of its boxes, or in a ring round it."""
        i = node / win.side
        j = node % win.side
        return (
            win.box[slot, t.ROWS] > 0
            and i >= win.box[slot, box] - ring
            and i <= win.box[slot, box + 1] + ring
            and j >= win.box[slot, box + 2] - ring
            and j <= win.box[slot, box + 3] + ring
        )

    @wp.func
    def inside(win: Window, slot: int, node: int):
        """Whether a node of the window lies inside its rim."""
        i = node / win.side
        j = node % win.side
        return i >= 1 and j >= 1 and i < win.box[slot, t.ROWS] - 1 and j < win.box[slot, t.COLUMNS] - 1

    @wp.func
    def tile_of(g: Ground, win: Window, world: int, slot: int, node: int):
        row = win.box[slot, t.ROW0] + node / win.side
        column = win.box[slot, t.COLUMN0] + node % win.side
        return g.table[world, row / tile, column / tile], row, column

    @wp.kernel(module=module)
    def begin(g: Ground, o: Options, b: Bodies, win: Window, m: Motion, body: int):
        world = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        R = wp.quat_to_matrix(m.rotation[world, b.rows[body]])
        remember_motion(o, win, slot, m.velocity[world, b.rows[body]], m.spin[world, b.rows[body]])
        find_top(g, b, win, world, body, slot, m.position[world, b.rows[body]], R)
        win.box[slot, t.EDGES] = 0
        win.box[slot, t.DUG] = 0
        for k in range(3):
            win.step_tally[slot, k] = real(0.0)

    @wp.kernel(module=module)
    def place(g: Ground, b: Bodies, win: Window, m: Motion, body: int):
        world, number = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        v = b.first_vertex[body] + number
        pos = m.position[world, b.rows[body]]
        R = wp.quat_to_matrix(m.rotation[world, b.rows[body]])
        c = b.first_vertex_chunk[body] + number / chunk
        near = int(0)
        if chunk_is_near(g, b, win, body, slot, c, pos, R):
            near = int(1)
            at = place_vertex(g, b, world, v, pos, R)
            if at[2] < win.top[slot] + g.spacing:
                wp.atomic_min(win.extent, slot, 0, at[0])
                wp.atomic_max(win.extent, slot, 1, at[0])
                wp.atomic_min(win.extent, slot, 2, at[1])
                wp.atomic_max(win.extent, slot, 3, at[1])
        else:
            forget_vertex(b, world, v)
        if number % chunk == 0:
            b.near[world, c] = near

    @wp.kernel(module=module)
    def open_up(
        g: Ground, o: Options, b: Bodies, win: Window, m: Motion, body: int, status_out: wp.array2d(dtype=wp.int32)
    ):
        world = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        pos = m.position[world, b.rows[body]]
        lean = ground_lean(g, pos)
        for v in range(b.first_vertex[body], b.first_vertex[body + 1]):
            at = b.placed[world, v]
            if lies_deeper(at, win.lowest[slot], lean):
                win.lowest[slot] = at
        status_out[world, body] = open_window(g, o, win, world, slot, pos)

    @wp.kernel(module=module)
    def gather(g: Ground, b: Bodies, win: Window, body: int):
        world, node = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        i = node / win.side
        j = node % win.side
        if i < win.box[slot, t.ROWS] and j < win.box[slot, t.COLUMNS]:
            k = natural(slot * win.side * win.side + node)
            index, row, column = tile_of(g, win, world, slot, node)
            gather_node(g, win, world, index, row, column, k)
            clear_node(g, win, row, column, k)

    @wp.kernel(module=module)
    def raster(g: Ground, b: Bodies, win: Window, body: int, mode: int):
        world, number = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        if win.box[slot, t.ROWS] > 0:
            raster_triangle(g, b, win, world, slot, b.first_triangle[body] + number, mode)

    @wp.kernel(module=module)
    def crease(g: Ground, b: Bodies, win: Window, body: int):
        world, number = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        if win.box[slot, t.ROWS] > 0:
            mark_crease(g, b, win, world, slot, b.first_crease[body] + number, 1)

    @wp.kernel(module=module)
    def close_hit(b: Bodies, win: Window, body: int):
        world = wp.tid()
        close_hit_box(win, world * b.rows.shape[0] + body)

    @wp.kernel(module=module)
    def touch_all(g: Ground, o: Options, b: Bodies, win: Window, body: int):
        world, node = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        if within(win, slot, node, t.HIT, 0):
            k = natural(slot * win.side * win.side + node)
            touched = touch_node(g, o, b, win, world, body, k)
            if touched > 0:
                widen_box(win, slot, t.NEAR, node / win.side, node / win.side, node % win.side, node % win.side, 1)
            if touched == 2:
                widen_box(win, slot, t.TOUCHED, node / win.side, node / win.side, node % win.side, node % win.side, 1)
                wp.atomic_add(win.box, slot, t.CONTACTS, 1)
                wp.atomic_add(win.step_tally, slot, t.REMOVED, win.sunk[k])

    @wp.kernel(module=module)
    def press(g: Ground, o: Options, b: Bodies, win: Window, m: Motion, body: int):
        """Small shapes, serial: they have few points, and several may press on one node."""
        world = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        row = b.rows[body]
        if win.box[slot, t.ROWS] > 0:
            R = wp.quat_to_matrix(m.rotation[world, row])
            sunk = press_shapes(
                g, o, b, win, world, body, slot, m.position[world, row], R, m.velocity[world, row], m.spin[world, row]
            )
            win.step_tally[slot, t.REMOVED] = win.step_tally[slot, t.REMOVED] + sunk

    @wp.kernel(module=module)
    def border(b: Bodies, win: Window, body: int):
        world, node = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        if inside(win, slot, node) and win.box[slot, t.CONTACTS] + win.box[slot, t.PRESSED] > 0:
            k = natural(slot * win.side * win.side + node)
            if mark_border(win, k) == 1:
                wp.atomic_add(win.box, slot, t.BORDERS, 1)
            elif b.from_patch[body] == 1 and is_touched(win, k):
                for e in range(4):
                    n = k + wp.where(e == 0, 1, wp.where(e == 1, -1, wp.where(e == 2, win.side, -win.side)))
                    if not is_touched(win, n):
                        wp.atomic_add(win.box, slot, t.EDGES, 1)

    @wp.kernel(module=module)
    def dig(g: Ground, o: Options, b: Bodies, win: Window, m: Motion, body: int):
        world, node = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        row = b.rows[body]
        k = natural(slot * win.side * win.side + node)
        if inside(win, slot, node) and win.mark[k] == t.CONTACT and win.box[slot, t.BORDERS] > 0:
            if dig_node(
                g, o, win, slot, node / win.side, node % win.side,
                corner(g, win, slot, m.position[world, row]), m.velocity[world, row], m.spin[world, row],
            ) == 1:  # fmt: skip
                wp.atomic_add(win.box, slot, t.DUG, 1)

    @wp.kernel(module=module)
    def collect(g: Ground, o: Options, b: Bodies, win: Window, m: Motion, body: int):
        """Spoil of a block and its weights over the border."""
        world, block = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        row = b.rows[body]
        place_in = slot * win.blocks * win.blocks + block
        win.loaded[place_in] = 0
        displaces = win.box[slot, t.ROWS] > 0 and win.box[slot, t.BORDERS] > 0
        blocks = blocks_along(o, win, slot, t.TOUCHED) * blocks_along(o, win, slot, t.TOUCHED + 2)
        if displaces and block < blocks and (win.step_tally[slot, t.REMOVED] > real(0.0) or win.box[slot, t.DUG] > 0):
            spoil = gather_spoil(
                g, o, win, slot, block,
                corner(g, win, slot, m.position[world, row]), m.velocity[world, row], m.spin[world, row],
            )  # fmt: skip
            if spoil[0] > real(0.0):
                spoil = centre_spoil(spoil)
                even = real(0.0)
                push = real(0.0)
                drag = real(0.0)
                start = natural(slot * win.side * win.side)
                for i in range(1, win.box[slot, t.ROWS] - 1):
                    for j in range(1, win.box[slot, t.COLUMNS] - 1):
                        if win.mark[start + i * win.side + j] == t.BORDER:
                            we, wpu, wd = border_weights(spoil, vec2(real(j), real(i)))
                            even += we
                            push += wpu
                            drag += wd
                win.spoil[place_in] = share_out(spoil, even, push, drag)
                win.loaded[place_in] = 1

    @wp.kernel(module=module)
    def pile(o: Options, b: Bodies, win: Window, body: int):
        world, node = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        if inside(win, slot, node):
            k = natural(slot * win.side * win.side + node)
            if win.mark[k] == t.BORDER:
                base = slot * win.blocks * win.blocks
                got = real(0.0)
                for e in range(win.blocks * win.blocks):
                    if win.loaded[base + e] == 1:
                        spoil = win.spoil[base + e]
                        we, wpu, wd = border_weights(spoil, vec2(real(node % win.side), real(node / win.side)))
                        got += receive(spoil, vec3(we, wpu, wd))
                if got > real(0.0):
                    pile_up(o, win, k, got)

    @wp.kernel(module=module)
    def sink_all(o: Options, b: Bodies, win: Window, body: int):
        world, node = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        if inside(win, slot, node):
            k = natural(slot * win.side * win.side + node)
            moves = win.step_tally[slot, t.REMOVED] > real(0.0) or win.box[slot, t.DUG] > 0
            if win.mark[k] == t.CONTACT and moves:
                kept = wp.where(win.box[slot, t.BORDERS] == 0, 1, 0)
                share = wp.where(kept == 1, real(1.0), o.soils[natural(win.soil[k])].chi)
                wp.atomic_add(win.step_tally, slot, t.COMPRESSED, share * win.sunk[k])
                sink_node(o, win, k, kept)
                win.box[slot, t.CHANGED] = 1

    @wp.kernel(module=module)
    def shear_all(g: Ground, o: Options, b: Bodies, win: Window, m: Motion, body: int):
        world, number = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        v = b.first_vertex[body] + number
        row = b.rows[body]
        if win.box[slot, t.ROWS] > 0 and b.near[world, b.first_vertex_chunk[body] + number / chunk] == 1:
            if b.placed[world, v][2] < win.top[slot]:
                R = wp.quat_to_matrix(m.rotation[world, row])
                shear_vertex(
                    g, o, b, win, world, body, slot, v,
                    corner(g, win, slot, m.position[world, row]), R, m.velocity[world, row], m.spin[world, row],
                )  # fmt: skip
            else:
                b.shear[world, v] = vec3()

    @wp.kernel(module=module)
    def shear_nodes(g: Ground, o: Options, b: Bodies, win: Window, m: Motion, body: int):
        world, node = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        row = b.rows[body]
        if within(win, slot, node, t.HIT, 0):
            shear_node(
                g, o, win, slot, node / win.side, node % win.side,
                corner(g, win, slot, m.position[world, row]), m.velocity[world, row], m.spin[world, row],
            )  # fmt: skip

    @wp.kernel(module=module)
    def slide(g: Ground, o: Options, b: Bodies, win: Window, body: int):
        """Serial: most slides are short, and each sweep follows from the one before."""
        world = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        if win.box[slot, t.ROWS] > 0:
            erode(g, o, win, slot)

    @wp.kernel(module=module)
    def scatter(g: Ground, b: Bodies, win: Window, body: int):
        world, node = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        changed = win.box[slot, t.CHANGED] == 1
        if changed and node / win.side < win.box[slot, t.ROWS] and node % win.side < win.box[slot, t.COLUMNS]:
            index, row, column = tile_of(g, win, world, slot, node)
            moved = scatter_node(g, win, world, index, row, column, slot * win.side * win.side + node)
            wp.atomic_add(win.step_tally, slot, t.MOVED, moved)

    @wp.kernel(module=module)
    def finish(
        g: Ground, o: Options, b: Bodies, win: Window, m: Motion, body: int, status_out: wp.array2d(dtype=wp.int32)
    ):
        world = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        contacts = win.box[slot, t.CONTACTS]
        if b.from_patch[body] == 1 and contacts > 0:
            b.per_width[world, body] = real(win.box[slot, t.EDGES]) / (real(2 * contacts) * g.spacing)
        if win.box[slot, t.CHANGED] == 1:
            for k in range(3):
                win.tally[slot, k] = win.tally[slot, k] + win.step_tally[slot, k]
            stamp_tiles(g, o, win, world, slot)
        if status_out[world, body] == t.FINE and contacts + win.box[slot, t.PRESSED] > 0:
            status_out[world, body] = roughness(o, win, slot)

    @wp.kernel(module=module)
    def predict(g: Ground, o: Options, b: Bodies, win: Window, m: Motion, body: int):
        world, node = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        row = b.rows[body]
        i = node / win.side
        j = node % win.side
        if node == 0:
            win.wrench_sum[slot] = vec6()
            win.block_sum[slot] = sums()
            win.box[slot, t.LOADED] = 0
        if i < win.box[slot, t.ROWS] and j < win.box[slot, t.COLUMNS] and o.several == 1:
            index, grid_row, grid_column = tile_of(g, win, world, slot, node)
            gather_node(g, win, world, index, grid_row, grid_column, slot * win.side * win.side + node)
        if within(win, slot, node, t.NEAR, 1):
            predict_node(
                g, o, b, win, world, body, slot, i, j, win.box[slot, t.ROWS], win.box[slot, t.COLUMNS],
                corner(g, win, slot, m.position[world, row]), m.velocity[world, row], m.spin[world, row],
            )  # fmt: skip

    @wp.kernel(module=module)
    def force(g: Ground, o: Options, b: Bodies, win: Window, m: Motion, body: int):
        world, node = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        row = b.rows[body]
        if within(win, slot, node, t.NEAR, 0):
            if loaded(win, slot * win.side * win.side + node, g.spacing):
                R = wp.quat_to_matrix(m.rotation[world, row])
                part, share = node_force(
                    g, o, b, win, world, body, slot, node / win.side, node % win.side,
                    corner(g, win, slot, m.position[world, row]), R, m.velocity[world, row], m.spin[world, row],
                )  # fmt: skip
                wp.atomic_add(win.wrench_sum, slot, part)
                wp.atomic_add(win.block_sum, slot, share)
                wp.atomic_add(win.box, slot, t.LOADED, 1)

    @wp.kernel(module=module)
    def sum_up(
        g: Ground,
        o: Options,
        b: Bodies,
        win: Window,
        m: Motion,
        body: int,
        wrench_out: wp.array2d(dtype=vec6),
        implicit_out: wp.array2d(dtype=mat66),
    ):
        world = wp.tid()
        slot = natural(world * b.rows.shape[0] + body)
        row = b.rows[body]
        covered = real(win.box[slot, t.LOADED]) * g.spacing * g.spacing
        wrench = win.wrench_sum[slot]
        block = win.block_sum[slot]
        if b.first_shape[body + 1] > b.first_shape[body]:
            R = wp.quat_to_matrix(m.rotation[world, row])
            part, share, more = shape_forces(
                g, o, b, win, world, body, slot, m.position[world, row], R, m.velocity[world, row], m.spin[world, row]
            )
            wrench += part
            block += share
            covered += more
        win.area[slot] = covered
        wrench_out[world, body] = wrench
        implicit_out[world, body] = assemble(block)

    return SimpleNamespace(
        **{k: v for k, v in locals().items() if isinstance(v, wp.Kernel)}, Motion=Motion, module=module
    )


class FineLauncher:
    """Launches the stages one after another, each over all worlds."""

    def __init__(self, name: str, device: str):
        self.kernels, self.device = fine_kernels(name), device
        self.module = self.kernels.module

    def _view(self, motion):
        m = self.kernels.Motion()
        m.position, m.rotation, m.velocity, m.spin = motion.position, motion.rotation, motion.velocity, motion.spin
        return m

    def commit(self, launch, ground, options, bodies, window, motion, out, worlds: int, surfaces) -> None:
        g, o, b, w, m, k = ground, options, bodies, window, self._view(motion), self.kernels
        nodes, blocks = (worlds, w.side**2), (worlds, w.blocks**2)

        def go(kernel, dim, *inputs):
            if dim == worlds or dim[1] > 0:  # a body may have no creases, or nothing but small shapes
                launch(kernel, dim, list(inputs))

        for body, (surface, small) in enumerate(surfaces):
            vertices, triangles = (worlds, len(surface.vertices)), (worlds, len(surface.triangles))
            go(k.begin, worlds, g, o, b, w, m, body)
            go(k.place, vertices, g, b, w, m, body)
            go(k.open_up, worlds, g, o, b, w, m, body, out.status)
            go(k.gather, nodes, g, b, w, body)
            go(k.raster, triangles, g, b, w, body, 1)
            go(k.raster, triangles, g, b, w, body, 2)
            go(k.crease, (worlds, len(surface.creases)), g, b, w, body)
            go(k.close_hit, worlds, b, w, body)
            go(k.touch_all, nodes, g, o, b, w, body)
            if small:
                go(k.press, worlds, g, o, b, w, m, body)
            go(k.border, nodes, b, w, body)
            if o.spoil:
                go(k.dig, nodes, g, o, b, w, m, body)
                go(k.collect, blocks, g, o, b, w, m, body)
                go(k.pile, nodes, o, b, w, body)
            go(k.sink_all, nodes, o, b, w, body)
            if o.node_shear:
                go(k.shear_nodes, nodes, g, o, b, w, m, body)
            else:
                go(k.shear_all, vertices, g, o, b, w, m, body)
            if o.sweeps:
                go(k.slide, worlds, g, o, b, w, body)
            go(k.scatter, nodes, g, b, w, body)
            go(k.finish, worlds, g, o, b, w, m, body, out.status)

    def evaluate(self, launch, ground, options, bodies, window, motion, out, worlds: int, surfaces) -> None:
        g, o, b, w, m, k = ground, options, bodies, window, self._view(motion), self.kernels
        nodes = (worlds, w.side**2)
        for body in range(len(surfaces)):
            launch(k.predict, nodes, [g, o, b, w, m, body])
            launch(k.force, nodes, [g, o, b, w, m, body])
            launch(k.sum_up, worlds, [g, o, b, w, m, body, out.wrench, out.implicit])
