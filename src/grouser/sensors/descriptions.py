"""What a sensor is and where it is mounted, as data.

Axes of a sensor: x ahead, y to the left, z up (ROS REP 103). `angles_deg` are roll, pitch, yaw of these axes in
those of the body: yaw about z first, then pitch about y (positive looks down), then roll about x.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from grouser.errors import InputError
from grouser.terrain import checks

MOST_RAYS = 1 << 22  # of one scan
FASTEST = 1e4  # [Hz]
Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Sensor:
    """Name, place and rate of a sensor."""

    kind: ClassVar[str]

    name: str  # of its channels "sensor/NAME/…" and of its frame in MCAP
    body: str  # that carries it; its own geoms are not seen
    position: Vector = (0.0, 0.0, 0.0)  # [m] in body axes
    angles_deg: Vector = (0.0, 0.0, 0.0)  # roll, pitch (positive looks down), yaw
    rate: float = 10.0  # [Hz]; a sample is taken at the first step at or after its time
    seed: int = 0  # of the noise

    def __post_init__(self):
        store = object.__setattr__
        what = f"sensor {self.name!r}"
        if not isinstance(self.name, str) or not self.name or set(self.name) & set("/[]") or self.name == ".":
            raise InputError(f"sensor: name {checks.shown(self.name)}: allowed is a word without '/', '[' and ']'")
        if not isinstance(self.body, str):
            raise InputError(f"{what}: body {checks.shown(self.body)}: allowed is the name of a body")
        store(self, "position", _numbers(self.position, f"{what}: position", 3))
        store(self, "angles_deg", _numbers(self.angles_deg, f"{what}: angles_deg", 3))
        checks.number(self.rate, f"{what}: rate", above=0, at_most=FASTEST)
        checks.count(self.seed, f"{what}: seed", at_least=0)

    @property
    def rotation(self) -> np.ndarray:
        """Rotation from sensor axes to body axes, (3, 3)."""
        roll, pitch, yaw = np.radians(self.angles_deg)
        (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a), math.sin(a)) for a in (roll, pitch, yaw))
        about_z = np.array([[cy, -sy, 0.0], [sy, cy, 0.0], [0.0, 0.0, 1.0]])
        about_y = np.array([[cp, 0.0, sp], [0.0, 1.0, 0.0], [-sp, 0.0, cp]])
        about_x = np.array([[1.0, 0.0, 0.0], [0.0, cr, -sr], [0.0, sr, cr]])
        return about_z @ about_y @ about_x

    def description(self) -> dict[str, Any]:
        """All fields and the kind, for the header of a recording."""
        return {"kind": self.kind, **dataclasses.asdict(self)}


@dataclass(frozen=True)
class RangeSensor(Sensor):
    """A sensor made of rays. Standard deviation of a distance r [m]: n0 + n1 r + n2 r^2 with `noise` = n0, n1, n2."""

    nearest: float = 0.1  # [m] nearer things give -inf
    farthest: float = 30.0  # [m] farther ones +inf
    noise: Vector = (0.0, 0.0, 0.0)  # [m], [1], [1/m]
    dropout: float = 0.0  # share of returns that are lost: NaN

    def __post_init__(self):
        super().__post_init__()
        what = f"sensor {self.name!r}"
        checks.number(self.nearest, f"{what}: nearest", at_least=0)
        checks.number(self.farthest, f"{what}: farthest", above=self.nearest, at_most=1e5)
        object.__setattr__(self, "noise", _numbers(self.noise, f"{what}: noise", 3, at_least=0))
        checks.number(self.dropout, f"{what}: dropout", at_least=0, at_most=1)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of a scan."""
        raise NotImplementedError

    def directions(self) -> np.ndarray:
        """Unit vectors of the rays in sensor axes, (rows, columns, 3)."""
        raise NotImplementedError

    def _check_rays(self) -> None:
        rows, columns = self.shape
        checks.count(columns, f"sensor {self.name!r}: columns", at_least=1)
        checks.count(rows, f"sensor {self.name!r}: rows", at_least=1)
        if rows * columns > MOST_RAYS:
            raise InputError(f"sensor {self.name!r}: {rows} x {columns} rays: allowed are {MOST_RAYS} in all")


@dataclass(frozen=True)
class Lidar(RangeSensor):
    """A scanner: distances along rays at equal angles, `columns` from right to left, `rows` from below upwards.

    All rays of a scan are taken at the same time. Defaults of noise are assumed, of the size that data sheets of
    scanners of this range state.
    """

    kind: ClassVar[str] = "lidar"

    columns: int = 360
    rows: int = 1
    horizontal_deg: float = 360.0  # from the first to the last column; 360: the last one stands before the first
    vertical_deg: tuple[float, float] = (-15.0, 15.0)  # of the lowest and the highest row; one row: their mean
    noise: Vector = (0.02, 0.0, 0.0)  # [m], [1], [1/m], assumed

    def __post_init__(self):
        super().__post_init__()
        what = f"sensor {self.name!r}"
        checks.number(self.horizontal_deg, f"{what}: horizontal_deg", above=0, at_most=360)
        low, high = _numbers(self.vertical_deg, f"{what}: vertical_deg", 2, at_least=-90, at_most=90)
        if low > high:
            raise InputError(f"{what}: vertical_deg {low:g} to {high:g}: allowed is the lower angle first")
        object.__setattr__(self, "vertical_deg", (low, high))
        self._check_rays()

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows, self.columns

    @property
    def azimuths(self) -> np.ndarray:
        """Angles [rad] of the columns from x towards y, (columns,)."""
        full, count = math.radians(self.horizontal_deg), self.columns
        if self.horizontal_deg == 360:
            return full / count * np.arange(count) - math.pi
        return full / max(count - 1, 1) * (np.arange(count) - (count - 1) / 2)

    @property
    def elevations(self) -> np.ndarray:
        """Angles [rad] of the rows above the x, y plane, (rows,)."""
        low, high = np.radians(self.vertical_deg)
        return np.linspace(low, high, self.rows) if self.rows > 1 else np.array([(low + high) / 2])

    def directions(self) -> np.ndarray:
        azimuth, elevation = np.meshgrid(self.azimuths, self.elevations)
        level = np.cos(elevation)
        return np.stack([level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)], axis=-1)


@dataclass(frozen=True)
class DepthCamera(RangeSensor):
    """A pinhole camera without distortion: depth along its axis at each pixel, row 0 on top, column 0 on the left.

    Defaults of noise are assumed: that of stereo grows with the square of the depth.
    """

    kind: ClassVar[str] = "depth-camera"

    width: int = 160  # [pixels]
    height: int = 120
    horizontal_deg: float = 80.0  # field of view across the width
    farthest: float = 10.0  # [m]
    noise: Vector = (0.001, 0.0, 0.002)  # [m], [1], [1/m], assumed

    def __post_init__(self):
        super().__post_init__()
        checks.number(self.horizontal_deg, f"sensor {self.name!r}: horizontal_deg", above=0, at_most=170)
        self._check_rays()

    @property
    def shape(self) -> tuple[int, int]:
        return self.height, self.width

    @property
    def focal_length(self) -> float:
        """Focal length [pixels], the same across and down."""
        return self.width / 2 / math.tan(math.radians(self.horizontal_deg) / 2)

    def directions(self) -> np.ndarray:
        """Through the centres of the pixels."""
        across = (np.arange(self.width) - (self.width - 1) / 2) / self.focal_length
        down = (np.arange(self.height) - (self.height - 1) / 2) / self.focal_length
        right, below = np.meshgrid(across, down)
        rays = np.stack([np.ones_like(right), -right, -below], axis=-1)
        return rays / np.linalg.norm(rays, axis=-1, keepdims=True)


@dataclass(frozen=True)
class Imu(Sensor):
    """An inertial unit: specific force and angular velocity in its own axes.

    Specific force is a - g, the mean over the time since the last sample, from the change of velocity of the place
    where the unit is mounted; angular velocity is that at the sample. Each axis gets white noise and a bias that is
    drawn once. Defaults are assumed, of the size that data sheets of small units state.
    """

    kind: ClassVar[str] = "imu"

    rate: float = 100.0  # [Hz]
    acceleration_noise: float = 0.01  # [m/s^2] standard deviation of a sample, assumed
    acceleration_bias: float = 0.02  # [m/s^2] standard deviation of the bias, assumed
    angular_noise: float = 0.001  # [rad/s], assumed
    angular_bias: float = 0.001  # [rad/s], assumed

    def __post_init__(self):
        super().__post_init__()
        for name in ("acceleration_noise", "acceleration_bias", "angular_noise", "angular_bias"):
            checks.number(getattr(self, name), f"sensor {self.name!r}: {name}", at_least=0)


KINDS: dict[str, type[Sensor]] = {one.kind: one for one in (DepthCamera, Lidar, Imu)}


def _numbers(given: Any, what: str, count: int, **bounds: float) -> Any:
    try:
        values = tuple(given)
    except TypeError:
        values = ()
    if len(values) != count:
        raise InputError(f"{what} = {checks.shown(given)}: allowed are {count} numbers")
    return tuple(checks.number(value, f"{what}[{k}]", **bounds) for k, value in enumerate(values))
