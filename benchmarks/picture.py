"""The picture of the README, from the recording of a run: `python benchmarks/picture.py`."""

from __future__ import annotations

import tempfile

import numpy as np
from page import FIGURES, quiet

import grouser

SETTINGS = {"soil": "dry-sand", "slip": 0.4, "slip_angle_deg": 10.0, "spacing": 0.005}
INCH, DPI = (8.6, 3.4), 120
BEFORE, AHEAD, ASIDE = 0.62, 0.30, 0.26  # [m] of ground shown behind, ahead of and beside the wheel
NEAR_SIDE = -0.05  # [m] ground this side of it is drawn over the wheel
ELEVATION_DEG, AZIMUTH_DEG = 27.0, -60.0
SHADE_STRETCH = 2.0  # steeper shading than the true slopes give; shapes are to scale
EARTH = ("#3d312b", "#6e5846", "#9d8262", "#c7b08b", "#e6dabd", "#faf6ea")


def main() -> int:
    quiet()
    with tempfile.TemporaryDirectory() as folder:
        run = grouser.run("single-wheel", SETTINGS, out=folder, report=False)
        with grouser.Recording(run.recording) as recording:
            path = draw(recording)
    print(f"written: {path}, {path.stat().st_size / 1e3:.0f} kB")
    return 0


def draw(recording: grouser.Recording):
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from grouser.report.style import STYLE

    with mpl.rc_context(STYLE):
        figure = Figure(figsize=INCH)
        FigureCanvasAgg(figure)
        view = figure.add_axes((-0.145, -0.34, 0.90, 1.62), projection="3d", computed_zorder=False)
        _ground(view, recording)
        _wheel(view, recording)
        travel = recording["wheel/travel"]
        above, below = (figure.add_axes((0.70, y, 0.28, 0.34)) for y in (0.60, 0.14))
        above.plot(travel, 1e3 * recording["soil/sinkage[wheel]"], color="#2b6c99")
        above.set_ylabel("sinkage [mm]")
        for name, colour in (("drawbar_pull", "#d1543f"), ("side_force", "#3f8f5f")):
            below.plot(travel, recording[f"wheel/{name}"], color=colour, label=name.replace("_", " "))
        below.set_ylim(-40, 80)
        below.set_ylabel("force [N]")
        below.set_xlabel("travel [m]")
        below.legend(fontsize=7, loc="lower right", ncols=2)
        for axes in (above, below):
            axes.tick_params(labelsize=7.5)
        path = FIGURES / "single-wheel.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=DPI, metadata={"Software": None})
    return path


def _ground(view, recording: grouser.Recording) -> None:
    from matplotlib.colors import LightSource, LinearSegmentedColormap

    at = float(recording["body/pose[wheel]"][-1, 0])
    x, y, heights, _ = recording.surface_at(region=(at - BEFORE, at + AHEAD, -ASIDE, ASIDE))
    colours = LinearSegmentedColormap.from_list("earth", EARTH)
    sun, spacing = LightSource(azdeg=300, altdeg=35), x[1] - x[0]
    shaded = sun.shade(
        heights, colours, vert_exag=SHADE_STRETCH, dx=spacing, dy=spacing, vmin=-0.05, vmax=0.03, blend_mode="soft"
    )
    columns, rows = np.meshgrid(x, y)
    near = int(np.searchsorted(y, NEAR_SIDE))
    for part, order in ((slice(near - 1, None), 1), (slice(None, near), 3)):
        view.plot_surface(
            columns[part], rows[part], heights[part], facecolors=shaded[part], rstride=1, cstride=1, shade=False,
            linewidth=0, antialiased=False, zorder=order,
        )  # fmt: skip
    view.set(xlim=(x[0], x[-1]), ylim=(y[0], y[-1]), zlim=(-0.05, 0.27))
    view.set_box_aspect((x[-1] - x[0], y[-1] - y[0], 0.32))
    view.view_init(elev=ELEVATION_DEG, azim=AZIMUTH_DEG)
    view.set_axis_off()


def _wheel(view, recording: grouser.Recording) -> None:
    """The faces of the wheel that look at the reader, where it stands at the end."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    mesh, pose = recording.geometry()["wheel"], recording["body/pose[wheel]"][-1]
    a, b, c, w = pose[3:]
    rotation = np.array([
        [1 - 2 * (b * b + c * c), 2 * (a * b - c * w), 2 * (a * c + b * w)],
        [2 * (a * b + c * w), 1 - 2 * (a * a + c * c), 2 * (b * c - a * w)],
        [2 * (a * c - b * w), 2 * (b * c + a * w), 1 - 2 * (a * a + b * b)],
    ])  # fmt: skip
    points = mesh["vertices"] @ rotation.T + pose[:3]
    faces = points[mesh["triangles"]]
    normal = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    azimuth, elevation = np.radians((AZIMUTH_DEG, ELEVATION_DEG))
    shown = normal @ np.array([np.cos(azimuth), np.sin(azimuth), np.tan(elevation)]) > 0
    light = 0.4 + 0.6 * np.clip(normal[shown] @ np.array([-0.5, -0.6, 0.62]), 0, 1)
    colour = light[:, None] * np.array([0.55, 0.60, 0.64])
    view.add_collection3d(
        Poly3DCollection(faces[shown], facecolors=colour, edgecolors=colour, linewidths=0.3, zorder=2)
    )


if __name__ == "__main__":
    raise SystemExit(main())
