"""Interface of force modules: a module reads the motion of some bodies and returns a wrench on each.

Everything is in SI units and world axes, z up. Arrays have a leading world axis. `Array` is a Warp array on the
device of the simulation; on the CPU its `.numpy()` is a view, not a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np

    from grouser.launches import Launches
    from grouser.terrain.elevation import ElevationGrid

Array = Any  # warp.array; the name shows in signatures that it is on the device


@dataclass(frozen=True)
class Channel:
    """One recorded quantity: its name, unit and shape, and how to read its present value.

    Either `read` returns the value, or `source` is memory that holds it and is copied without a call. `refresh` is
    called before the copy, once for all channels with the same `refresh`.
    """

    name: str  # "soil/sinkage"
    unit: str  # "m"; "1" where dimensionless
    shape: tuple[int, ...] = ()  # without the world axis
    frame: str = "world"  # "world", "body" or "" for scalars without a frame
    kind: Literal["fixed", "ragged", "pose", "tiles"] = "fixed"
    labels: tuple[str, ...] = ()  # names along the first axis of `shape`
    read: Callable[[], np.ndarray] | None = field(default=None, compare=False, repr=False)  # (world, *shape)
    source: np.ndarray | None = field(default=None, compare=False, repr=False)  # (world, *shape)
    refresh: Callable[[], None] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self):
        if self.read is None and self.source is not None:
            object.__setattr__(self, "read", self._read_source)

    def _read_source(self) -> np.ndarray:
        assert self.source is not None
        if self.refresh is not None:
            self.refresh()
        return self.source.copy()


@dataclass(frozen=True)
class Limit:
    """A bound on a recorded quantity. Beyond it a law has not been compared with anything."""

    quantity: str  # in words: "sinkage over half the largest extent of the body"
    channel: str  # whose size counts; "body/pose": the speed of each body [m/s]
    bodies: tuple[str, ...]  # labels of the channel
    scales: tuple[float, ...]  # values are divided by these, one for each body
    bound: float
    reason: str  # why results beyond it need care, and where the bound is from


@dataclass(frozen=True, eq=False)
class Shape:
    """A shape to draw. It has no effect on forces. Viewer, videos and replays draw robots and courses with these."""

    name: str  # for example "chassis/shell"
    vertices: np.ndarray  # [m], (n, 3), in the axes of the body it follows
    triangles: np.ndarray  # (m, 3)
    follows: str = ""  # nothing: fixed, world axes; "body/pose[chassis]": one pose; "track/links": a copy at each pose
    colour: tuple[float, float, float, float] = (0.62, 0.64, 0.67, 1.0)  # RGBA, 0 to 1, sRGB


@dataclass
class Motion:
    """Pose and velocity of the bodies that modules use, at their frame origins, world axes."""

    position: Array  # [m], (world, body) vec3
    rotation: Array  # (world, body) quaternion xyzw, body to world
    velocity: Array  # [m/s], (world, body) vec3, of the frame origin
    angular_velocity: Array  # [rad/s], (world, body) vec3


@dataclass
class Outputs:
    """Outputs of a module, one row for each of its bodies in declared order."""

    wrench: Array  # (world, row) vec6: force [N], torque about the frame origin [N m]; f - h K v, see engine.md
    implicit: Array  # (world, row) mat66: B = sum J^T (h D + h^2 K) J, symmetric, positive semidefinite
    effective: Array  # (world, row) vec6: mean wrench that acted over the last step, filled by the engine
    status: Array  # (world, row) int32: 0 for no fault, otherwise a code of the module


@runtime_checkable
class Stateful(Protocol):
    def state(self) -> dict[str, Array]:
        """Complete state, arrays by name: restoring them continues a run bit for bit."""
        ...

    def reset(self, worlds: Sequence[int]) -> None:
        """Reset some worlds to their start."""
        ...

    def channels(self) -> list[Channel]: ...


@runtime_checkable
class ForceModule(Stateful, Protocol):
    name: str
    bodies: tuple[str, ...]  # bodies on which it acts, one output row each
    step_limit: float  # [s] largest stable step; inf if the module is implicit

    def declare(self, spec: Any) -> None:
        """Called before the MjSpec is compiled: read geometry, switch off contacts that this module computes."""
        ...

    def bind(self, motion: Motion, rows: Sequence[int], out: Outputs, step: float) -> None:
        """Allocate arrays. `rows[k]` is the row of body k in `motion`."""
        ...

    def evaluate(self, h: float) -> None:
        """Fill `out.wrench`, `out.implicit`, `out.status`. Must not change the committed state."""
        ...

    def commit(self, h: float) -> None:
        """Advance the state, once per accepted step. `motion` is that at the end of the step."""
        ...

    def explain(self, code: int) -> tuple[str, bool]:
        """Text of a status code, and whether the run must stop. Several lines are several notes."""
        ...


@runtime_checkable
class Compiled(Protocol):
    """A force module that consists of kernel launches only: many steps can run without Python in between."""

    def steps_ahead(self) -> int:
        """Allocate room for some steps. Returns how many can run before this must be called again."""
        ...

    def launches(self, h: float) -> tuple[Launches, Launches]:
        """Launches of `evaluate` and of `commit`. They stay the same objects until arrays are reallocated."""
        ...


@runtime_checkable
class Divisible(Compiled, Protocol):
    """A module whose launches can act on some worlds only, so that parts of the worlds run on different threads."""

    def launches_of(self, h: float, part: range) -> tuple[Launches, Launches] | None:
        """As `launches`, for the worlds of a part. None if its kernels cannot."""
        ...


@runtime_checkable
class CommitsWorlds(Protocol):
    """A module that can commit some worlds and leave the others, which a reset in mid-run needs."""

    def commit_worlds(self, h: float, mask: Array) -> None:
        """Commit the worlds whose mask, (world,) int32 on the device, is 1."""
        ...


# ---- optional interfaces of a force module -----------------------------------------------------------------


@runtime_checkable
class StandsOnTerrain(Protocol):
    """A module whose ground is recorded and drawn."""

    @property
    def elevation(self) -> ElevationGrid | None: ...


@runtime_checkable
class Observable(Protocol):
    """A module that reports the present state of its bodies to `Simulation.observe`."""

    def observe(self) -> dict[str, np.ndarray]:
        """Values by name, (world, body, …). Every call returns the same arrays."""
        ...


@runtime_checkable
class ObservableOnDevice(Protocol):
    """A module that reports the present state of its bodies as arrays on the device, without a copy to the host."""

    def observe_on_device(self) -> dict[str, Array]: ...


@runtime_checkable
class ShiftsBodies(Protocol):
    """A module whose bodies are displaced from their pose in the engine, such as wheels on the module's suspension."""

    def shifts(self) -> tuple[Array, tuple[str, ...]]:
        """Displacements [m], (world, k) vec3 of k bodies in drawings and recordings, and the names of these bodies."""
        ...


class Mesh(Protocol):
    """A surface as triangles: `vertices` [m], (n, 3), `triangles` (m, 3), axes of its body."""

    @property
    def vertices(self) -> np.ndarray: ...

    @property
    def triangles(self) -> np.ndarray: ...


@runtime_checkable
class RoundSurface(Protocol):
    """A surface that is triangulated when it is drawn. A body may have several."""

    @property
    def body(self) -> str | None: ...

    def mesh(self) -> tuple[np.ndarray, np.ndarray]: ...


@runtime_checkable
class HasSurfaces(Protocol):
    """A module with surfaces to draw for bodies without geoms."""

    surfaces: Mapping[str, Mesh | RoundSurface]  # by body


@runtime_checkable
class HasFixedShapes(Protocol):
    """A module with shapes fixed in the world, such as stairs and rocks."""

    fixed: Mapping[str, Mesh | RoundSurface]  # by name, world axes


@runtime_checkable
class HasLimits(Protocol):
    """A module whose laws are known to hold within bounds. Reports count how often a run leaves them."""

    def limits(self) -> list[Limit]: ...


@runtime_checkable
class HasWork(Protocol):
    """A module that knows before the first step how many nodes a step has to do with."""

    def work(self) -> float: ...


@runtime_checkable
class Displayed(Protocol):
    """A module that adds shapes to draw, such as the links of a track."""

    def display(self) -> list[Shape]: ...


# ---- controllers -------------------------------------------------------------------------------------------


@runtime_checkable
class Controller(Stateful, Protocol):
    period: float  # [s]

    def act(self, time: float, sensors: Any, command: Any) -> None: ...
