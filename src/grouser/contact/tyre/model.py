"""Force module of wheels on suspensions: allocation and kernel launches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from grouser.contact.tyre import kernels
from grouser.contact.tyre import types as ty
from grouser.contact.tyre.contact_search import ON_CHANGING_GROUND
from grouser.contact.tyre.kernels import BEYOND, TOO_FAR
from grouser.contact.tyre.limits import tyre_limits
from grouser.contact.tyre.parameters import WheelUnit
from grouser.contact.tyre.types import ON_GROUND, ON_WALL
from grouser.device import arrays, at, zeros
from grouser.errors import InputError
from grouser.kernel_module import KernelModule
from grouser.launches import Launches
from grouser.module import Channel, Limit, Motion, Outputs
from grouser.precision import precision
from grouser.terrain import checks
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.ground import Ground, GroundArrays

NO_BOUND = 1e9  # [m] rise_bound where the ground is not known: every slice is examined
COEFFICIENTS = {
    "cx": "p_Cx1", "dx1": "p_Dx1", "dx2": "p_Dx2", "ex1": "p_Ex1", "ex2": "p_Ex2", "ex3": "p_Ex3", "ex4": "p_Ex4",
    "kx1": "p_Kx1", "kx2": "p_Kx2", "kx3": "p_Kx3", "hx1": "p_Hx1", "hx2": "p_Hx2", "vx1": "p_Vx1", "vx2": "p_Vx2",
    "cy": "p_Cy1", "dy1": "p_Dy1", "dy2": "p_Dy2", "ey1": "p_Ey1", "ey2": "p_Ey2", "ky1": "p_Ky1", "ky2": "p_Ky2",
    "hy1": "p_Hy1", "hy2": "p_Hy2", "vy1": "p_Vy1", "vy2": "p_Vy2",
    "length_x": "relaxation_x", "length_y": "relaxation_y", "damping": "standstill_damping",
    "slow": "standstill_speed", "rolling": "rolling_resistance", "radius": "radius", "load": "load",
    "radial_stiffness": "radial_stiffness", "radial_damping": "radial_damping", "peak": "peak_slip",
}  # fmt: skip
OF_LOAD = ("p_Dx2", "p_Ex2", "p_Ex3", "p_Kx2", "p_Kx3", "p_Hx2", "p_Hy2", "p_Vx2")  # these make F_x / N depend on N


class TyreModule(KernelModule):
    """Any number of wheels of one chassis on a terrain, each with its own suspension."""

    def __init__(
        self,
        terrain: ElevationGrid | Ground,
        wheels: Sequence[WheelUnit],
        chassis: str = "chassis",
        *,
        slices: int = 20,
        refine: bool = True,
        name: str = "tyre",
    ):
        """`slices`: number of angles of the lower half circle at which contact is searched. `refine`: refine it."""
        if not wheels:
            raise InputError(f"{name}: no wheels given; allowed is 1 or more")
        self.name, self.terrain, self.wheels, self.chassis = name, terrain, tuple(wheels), chassis
        self.slices, self.refine = checks.count(slices, f"{name}: slices", at_least=4), bool(refine)
        self.bodies = (chassis, *(wheel.body for wheel in self.wheels))
        if len(set(self.bodies)) != len(self.bodies):
            raise InputError(f"{name}: bodies {', '.join(self.bodies)}: allowed is each name once")
        self.step_limit = math.inf

    def declare(self, spec) -> None:
        """Switch off MuJoCo's contacts of the wheels: this module computes their contact."""
        for wheel in self.wheels:
            body = spec.body(wheel.body)
            for geom in body.geoms if body is not None else ():
                geom.contype = geom.conaffinity = 0

    # ---- allocation -----------------------------------------------------------------------------------

    def bind(self, motion: Motion, rows: Sequence[int], out: Outputs, step: float) -> None:
        self.motion, self.out, self.device = motion, out, motion.position.device
        self.precision = precision("float64" if motion.position.dtype._wp_scalar_type_ == wp.float64 else "float32")
        changes = ON_CHANGING_GROUND if isinstance(self.terrain, Ground) else {}
        self._evaluate, self._commit = (
            at(kernel, self.precision.name, changes) for kernel in (kernels.evaluate, kernels.commit)
        )
        self.worlds = motion.position.shape[0]
        self._keep_step(step)
        self._rows = wp.array(np.array(list(rows), np.int32), dtype=wp.int32, device=self.device)
        self._wheels = self._make_wheels()
        self._terrain = self._make_terrain()
        self.wheel_states = zeros(at(ty.WheelStates, self.precision.name), self.device, (self.worlds, len(self.wheels)))
        self._record(self._launch_evaluate, self._launch_commit)

    def _make_wheels(self) -> wp.array:
        kind = at(ty.Wheel, self.precision.name)
        table: Any = np.zeros(len(self.wheels), dtype=kind.numpy_dtype())
        for k, wheel in enumerate(self.wheels):
            for field, name in COEFFICIENTS.items():
                table[field][k] = getattr(wheel.tyre, name)
            s = wheel.suspension
            for field in ("stiffness", "saturation", "progression", "travel", "stop_stiffness", "compression"):
                table[field][k] = getattr(s, field)
            table["rebound"][k] = s.compression if s.rebound is None else s.rebound
            table["load_free"][k] = not any(getattr(wheel.tyre, name) for name in OF_LOAD)
        return wp.array(table, dtype=kind, device=self.device)

    def _make_terrain(self):
        t, p = at(ty.Terrain, self.precision.name)(), self.precision
        ground = self.terrain if isinstance(self.terrain, Ground) else None
        grid: ElevationGrid = ground.elevation if ground else self.terrain  # type: ignore[assignment]
        t.heights = wp.array(np.ascontiguousarray(grid.heights, p.numpy), dtype=p.real, device=self.device)
        t.spacing = ground.spacing if ground else grid.spacing
        t.rows, t.columns = (ground.arrays.rows, ground.arrays.columns) if ground else grid.heights.shape
        t.reach = max(w.suspension.travel for w in self.wheels)
        t.rise_bound = t.heights if ground else self._make_rise_bound(grid, t.reach)
        t.per_spacing = 1 / t.spacing
        t.x0, t.y0 = grid.origin
        angles = np.pi * (np.arange(self.slices + 1) / self.slices - 0.5)
        turns = np.column_stack([np.sin(angles), np.cos(angles)]).astype(p.numpy)
        t.turns = wp.array(turns, dtype=p.vec2, device=self.device)
        half = 0.5 * math.pi / self.slices
        t.half = p.vec2(math.sin(half), math.cos(half))
        t.slices, t.refine = self.slices, int(self.refine)
        self._ground = ground.arrays if ground else at(GroundArrays, p.name)()
        self._generation = ground.generation if ground else 0
        return t

    def _make_rise_bound(self, grid: ElevationGrid, aside: float) -> wp.array:
        radius = max(w.tyre.radius for w in self.wheels)
        nodes = math.ceil((radius + aside) / grid.spacing + 0.5)
        return wp.array(rise_bound(grid.heights, nodes), dtype=self.precision.real, device=self.device)

    # ---- the step -------------------------------------------------------------------------------------

    def arrays_generation(self) -> int:
        return self._generation

    def launches(self, h: float) -> tuple[Launches, Launches]:
        if isinstance(self.terrain, Ground) and self.terrain.generation != self._generation:
            self._terrain = self._make_terrain()
        return super().launches(h)

    def _launch_evaluate(self, launch) -> None:
        m, out = self.motion, self.out
        inputs = [self._wheels, self._terrain, self._ground, self._rows, self._step]
        inputs += [m.position, m.rotation, m.velocity, m.angular_velocity]
        outputs = [self.wheel_states, out.wrench, out.implicit, out.status]
        launch(self._evaluate, self.worlds, [*inputs, *outputs])

    def _launch_commit(self, launch) -> None:
        m = self.motion
        inputs = [
            self._wheels,
            self._rows,
            self._step,
            m.velocity,
            m.angular_velocity,
            self.out.effective,
            self.wheel_states,
        ]
        launch(self._commit, self.worlds, inputs)

    # ---- state, channels ------------------------------------------------------------------------------

    def explain(self, code: int) -> tuple[str, bool]:
        reasons = {
            BEYOND: "it is beyond the terrain, which continues level outside its border",
            TOO_FAR: "the suspension is compressed beyond its travel, on its bump stop if it has one",
        }
        return reasons[code], False

    def state(self) -> dict[str, wp.array]:
        return arrays(wheels=self.wheel_states)

    @property
    def elevation(self) -> ElevationGrid:
        return self.terrain.elevation if isinstance(self.terrain, Ground) else self.terrain

    def shifts(self) -> tuple[wp.array, tuple[str, ...]]:
        """Vectors [m], (world, wheel), from the wheel bodies to the displayed wheels (suspension travel), and names."""
        return self.wheel_states.shift, self.bodies[1:]

    def observe(self) -> dict[str, np.ndarray]:
        """Return force, travel, contact angle, contact and slip of the wheels, (world, wheel, …)."""
        t = self.wheel_states
        return {
            "force": t.force.numpy(), "travel": t.travel.numpy(), "angle": t.angle.numpy(),
            "contact": t.touching.numpy(), "slip": t.slip.numpy(),
        }  # fmt: skip

    def received(self) -> tuple[np.ndarray, np.ndarray]:
        """Forces [N] that the wheels received in the last step, and where they act [m], (world, wheel, 3), world axes.

        On the ground that is the contact. A force of ground and wall together, or of a wall, acts where its line
        meets the rim. A wheel in the air gets no force, at its axle.
        """
        t, wrench = self.wheel_states, self.out.effective.numpy()[:, 1:].astype(float)
        force, torque = wrench[..., :3], wrench[..., 3:]
        axle = self.motion.position.numpy()[:, self._rows.numpy()[1:]].astype(float) + t.shift.numpy()
        touching = t.touching.numpy()
        arm = np.where((touching == ON_GROUND)[..., None], t.arm.numpy(), 0.0)
        wall = touching & ON_WALL > 0
        if wall.any():
            f, radius = force[wall], np.array([[w.tyre.radius for w in self.wheels]] * self.worlds)[wall]
            size = np.maximum(np.linalg.norm(f, axis=-1, keepdims=True), np.finfo(float).tiny)
            nearest = np.cross(f, torque[wall]) / size**2  # from the axle to the line of the force
            back = np.sqrt(np.maximum(radius**2 - (nearest**2).sum(axis=-1), 0.0))[:, None]
            arm[wall] = nearest - back * f / size
        return force, axle + arm

    def limits(self) -> list[Limit]:
        return tyre_limits(self.name, self.wheels)

    def channels(self) -> list[Channel]:
        count, t = len(self.wheels), self.wheel_states
        labels = tuple(wheel.body for wheel in self.wheels)

        def of_wheels(name, unit, array, part: Any = ..., shape=(), frame=""):
            def read() -> np.ndarray:
                return array.numpy()[part]

            source = read() if array.device.is_cpu else None
            return Channel(f"{self.name}/{name}", unit, (count, *shape), frame, labels=labels, read=read, source=source)

        return [
            of_wheels("normal_force", "N", t.force, np.s_[..., 2]),
            of_wheels("longitudinal_force", "N", t.force, np.s_[..., 0]),
            of_wheels("lateral_force", "N", t.force, np.s_[..., 1]),
            of_wheels("wall_force", "N", t.wall),
            of_wheels("travel", "m", t.travel),
            of_wheels("contact_angle", "rad", t.angle),
            of_wheels("slip", "1", t.slip, np.s_[..., 0]),
            of_wheels("slip_tangent", "1", t.slip, np.s_[..., 1]),
            of_wheels("contact_point", "m", t.point, shape=(3,), frame="world"),
            Channel(f"{self.name}/force", "N", (count, 3), labels=labels, read=lambda: self.received()[0]),
            Channel(f"{self.name}/point", "m", (count, 3), labels=labels, read=lambda: self.received()[1]),
        ]


def rise_bound(heights: np.ndarray, nodes: int) -> np.ndarray:
    """Upper bound [m] of the rise of all heights within `nodes` rows and columns above the tangent plane at a node.

    Along a line z(j + b) <= z(j) + b (z(j + 1) - z(j - 1)) / 2 + b^2 / 2 times the largest second difference in
    between, and slopes along x change from row to row by at most the largest twist. Near the border it is NO_BOUND.
    """
    out = np.full(heights.shape, NO_BOUND)
    rows, columns = heights.shape
    if min(rows, columns) < 2 * nodes + 3:
        return out
    bend_x, bend_y, twist = (np.zeros(heights.shape) for _ in range(3))
    bend_x[:, 1:-1] = np.maximum(np.diff(heights, 2, axis=1), 0.0)
    bend_y[1:-1] = np.maximum(np.diff(heights, 2, axis=0), 0.0)
    twist[:-1, 1:-1] = np.abs(np.diff(heights[:, 2:] - heights[:, :-2], axis=0)) / 2
    bend_x = _window_maximum(_window_maximum(bend_x, nodes).T, nodes).T
    most = nodes**2 * (0.5 * (bend_x + _window_maximum(bend_y, nodes)) + _window_maximum(twist, nodes))
    inner = (slice(nodes + 1, rows - nodes - 1), slice(nodes + 1, columns - nodes - 1))
    out[inner] = most[inner]
    return out


def _window_maximum(heights: np.ndarray, nodes: int) -> np.ndarray:
    """Maximum over each row and `nodes` rows before and after it."""
    out = heights.copy()
    for shift in range(1, min(nodes, len(heights) - 1) + 1):
        np.maximum(out[shift:], heights[:-shift], out=out[shift:])
        np.maximum(out[:-shift], heights[shift:], out=out[:-shift])
    return out
