"""The figure and the times of docs/sensors.md: `python benchmarks/sensors.py`."""

from __future__ import annotations

import time

import numpy as np
from page import FIGURES, quiet

import grouser

DRIVE = 6.0  # [s]
SPEED = 2.0  # [rad/s] of the wheels
REPEATS = 5  # of a scan that is timed
CAMERA = {"angles_deg": (0.0, 50.0, 180.0), "width": 160, "height": 120, "horizontal_deg": 70.0, "farthest": 3.0}
LIDAR = {"columns": 720, "rows": 32, "vertical_deg": (-60.0, -5.0), "farthest": 6.0, "noise": (0.0, 0.0, 0.0)}
INCH, DPI = (9.0, 3.1), 120


def main() -> int:
    quiet()
    sim = grouser.on_soil(grouser.CART, soil="dry-sand", bodies="wheel.*", drive={"motor.*": SPEED})
    behind = sim.data.body("wheel_rl").xpos - sim.data.body("chassis").xpos
    mast = (float(behind[0]) - 0.05, 0.0, 0.45)
    exact = sim.add_sensor(grouser.DepthCamera("exact", "chassis", mast, noise=(0, 0, 0), rate=1, **CAMERA))
    noisy = sim.add_sensor(grouser.DepthCamera("noisy", "chassis", mast, rate=1, **CAMERA))
    lidar = sim.add_sensor(grouser.Lidar("lidar", "chassis", (0.0, 0.0, 0.5), rate=1, **LIDAR))
    sim.step(round(DRIVE / sim.step_size))
    for one in (exact, noisy, lidar):
        seconds = []
        for _ in range(REPEATS):
            began = time.perf_counter()
            one.sample(sim.time, sim.engine.data)
            seconds.append(time.perf_counter() - began)
        rays = one.values()["range"][0].size
        print(f"{one.name}: {rays} rays, {1e3 * min(seconds):.1f} ms, {1e6 * min(seconds) / rays:.2f} us a ray")
    path = draw(sim, exact, noisy, lidar)
    print(f"written: {path}, {path.stat().st_size / 1e3:.0f} kB")
    return 0


def draw(sim, exact, noisy, lidar):
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from grouser.report.style import STYLE

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=INCH, layout="constrained")
        FigureCanvasAgg(figure)
        depth, heights, above = figure.subplots(1, 3, width_ratios=(1, 1, 1.05))
        shown = depth.imshow(_finite(noisy.range[0]), cmap="viridis_r")
        depth.set_title("depth image, with noise", fontsize=9)
        figure.colorbar(shown, ax=depth, label="depth [m]", shrink=0.75)
        z = 1e3 * _world(sim, exact)[..., 2]
        shown = heights.imshow(np.where(np.abs(z) < 60, z, np.nan), cmap="RdBu", vmin=-25, vmax=25)
        heights.set_title("heights without noise", fontsize=9)
        figure.colorbar(shown, ax=heights, label="height [mm]", shrink=0.75)
        for axes in (depth, heights):
            axes.set_xticks([])
            axes.set_yticks([])
        points = _world(sim, lidar).reshape(-1, 3)
        points = points[np.isfinite(points).all(axis=1)]
        low = points[np.abs(points[:, 2]) < 0.06]
        shown = above.scatter(low[:, 0], low[:, 1], c=1e3 * low[:, 2], s=1.2, cmap="RdBu", vmin=-25, vmax=25)
        centre = sim.data.body("chassis").xpos
        above.set_xlim(centre[0] - 1.4, centre[0] + 0.6)
        above.set_ylim(centre[1] - 0.7, centre[1] + 0.7)
        above.set_aspect("equal")
        above.set_title("lidar from above", fontsize=9)
        above.set_xlabel("x [m]")
        above.set_ylabel("y [m]")
        figure.colorbar(shown, ax=above, label="height [mm]", shrink=0.75)
        path = FIGURES / "sensors.png"
        figure.savefig(path, dpi=DPI, metadata={"Software": None})
    return path


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, np.nan)


def _world(sim, one) -> np.ndarray:
    """Points [m], (rows, columns, 3), in world axes."""
    origin, axes = one.pose(sim.data)
    return origin + _finite(one.points()) @ axes.T


if __name__ == "__main__":
    raise SystemExit(main())
