"""The one idea: a force module takes the motion of some bodies and returns a wrench on each.

Everything is SI, world axes, z up. Arrays have a leading world axis. `Array` is a Warp array on the
device the simulation runs on; on the CPU its `.numpy()` is a view, not a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np

    from grouser.launches import Launches
    from grouser.terrain.elevation import ElevationGrid

Array = Any  # warp.array; named so that reading a signature says "lives on the device"


@dataclass(frozen=True)
class Channel:
    """One recorded quantity: what it is called, what it means and how to read it now.

    Either `read` gives it, or `source` is memory that always holds it, which is copied without a call; `refresh` is
    called before that, once for all channels that name the same one.
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


@dataclass(frozen=True, eq=False)
class Shape:
    """Something to draw: it changes no force. Views, videos and replays know nothing else of a robot or a course."""

    name: str  # "chassis/shell"; words joined by "/"
    vertices: np.ndarray  # [m], (n, 3), in the axes of what it moves with
    triangles: np.ndarray  # (m, 3)
    follows: str = ""  # nothing: fixed, world axes; "body/pose[chassis]": one pose; "track/links": a copy at each pose
    colour: tuple[float, float, float, float] = (0.62, 0.64, 0.67, 1.0)  # RGBA, 0 to 1, sRGB


@dataclass
class Motion:
    """Pose and velocity of the frame origins of the bodies in play, world axes."""

    position: Array  # [m], (world, body) vec3
    rotation: Array  # (world, body) quaternion xyzw, body to world
    velocity: Array  # [m/s], (world, body) vec3, of the frame origin
    spin: Array  # [rad/s], (world, body) vec3


@dataclass
class Outputs:
    """What a module fills: one row for each of its bodies, in the order it declared them."""

    wrench: Array  # (world, row) vec6: force [N], torque about the frame origin [N m]; f - h K v, see engine.md
    implicit: Array  # (world, row) mat66: B = sum J^T (h D + h^2 K) J, symmetric, positive semidefinite
    effective: Array  # (world, row) vec6: what the body really got over the last step, filled by the engine
    status: Array  # (world, row) int32: 0 fine, else a code of the module's own table


@runtime_checkable
class Stateful(Protocol):
    def state(self) -> dict[str, Array]:
        """All that affects the next bit: restoring these arrays continues a run exactly."""
        ...

    def reset(self, worlds: Sequence[int]) -> None:
        """Put some worlds of the batch back to their start."""
        ...

    def channels(self) -> list[Channel]: ...


@runtime_checkable
class ForceModule(Stateful, Protocol):
    name: str
    bodies: tuple[str, ...]  # engine bodies it pushes on, one output row each
    step_limit: float  # [s] largest stable step; inf where it is implicit

    def declare(self, spec: Any) -> None:
        """Before compiling (an MjSpec): take geometry, switch off the contacts this module takes over."""
        ...

    def bind(self, motion: Motion, rows: Sequence[int], out: Outputs, step: float) -> None:
        """Allocate; `rows[k]` is where body k stands in `motion`."""
        ...

    def evaluate(self, h: float) -> None:
        """Fill `out.wrench`, `out.implicit`, `out.status`; committed state stays untouched."""
        ...

    def commit(self, h: float) -> None:
        """Move the state on, once per accepted step; `motion` is the end of that step."""
        ...

    def explain(self, code: int) -> tuple[str, bool]:
        """A status code in words, and whether the run must stop."""
        ...


@runtime_checkable
class Compiled(Protocol):
    """A force module whose step is launches and nothing else: many steps can run with no Python in between."""

    def steps_ahead(self) -> int:
        """Make room for some steps; how many can run before this must be called again."""
        ...

    def launches(self, h: float) -> tuple[Launches, Launches]:
        """All that `evaluate` does, all that `commit` does; the same objects until arrays are replaced."""
        ...


# ---- what a force module may offer besides -----------------------------------------------------------------


@runtime_checkable
class StandsOnTerrain(Protocol):
    """A module whose ground is recorded and drawn."""

    @property
    def elevation(self) -> ElevationGrid | None: ...


@runtime_checkable
class Observable(Protocol):
    """A module that says what its bodies feel now: `Simulation.observe`."""

    def observe(self) -> dict[str, np.ndarray]:
        """By name, (world, body, …); the same arrays at every call."""
        ...


@runtime_checkable
class ShiftsBodies(Protocol):
    """A module whose bodies stand off from where the engine has them: wheels on a suspension of its own."""

    def shifts(self) -> tuple[Array, tuple[str, ...]]:
        """[m], (world, k) vec3 by which k bodies, named, are drawn and recorded away from their frame."""
        ...


class Mesh(Protocol):
    """A surface as triangles: `vertices` [m], (n, 3), `triangles` (m, 3), axes of its body."""

    @property
    def vertices(self) -> np.ndarray: ...

    @property
    def triangles(self) -> np.ndarray: ...


@runtime_checkable
class RoundSurface(Protocol):
    """A surface that is made into triangles when it is drawn; several may belong to one body."""

    @property
    def body(self) -> str | None: ...

    def mesh(self) -> tuple[np.ndarray, np.ndarray]: ...


@runtime_checkable
class HasSurfaces(Protocol):
    """A module with surfaces to draw where a body has no geoms of its own."""

    surfaces: Mapping[str, Mesh | RoundSurface]  # by body


@runtime_checkable
class HasFixedShapes(Protocol):
    """A module with shapes that stand in the world: stairs, rocks."""

    fixed: Mapping[str, Mesh | RoundSurface]  # by name, world axes


@runtime_checkable
class Displayed(Protocol):
    """A module that adds shapes of its own to the picture: the links of a track."""

    def display(self) -> list[Shape]: ...


# ---- controllers -------------------------------------------------------------------------------------------


@runtime_checkable
class Controller(Stateful, Protocol):
    period: float  # [s]

    def act(self, time: float, sensors: Any, command: Any) -> None: ...
