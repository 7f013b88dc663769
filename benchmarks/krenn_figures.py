"""Figures of soil contact by the papers' own laws: `python benchmarks/krenn_figures.py [--out DIR]`.

Krenn and Hirzinger 2009, Fig. 13-16, and Krenn et al. 2008, Fig. 4-8: meshes of wheel and rocks, the elevation grid,
how contact is found, and what a wheel that rolls down a slight incline leaves, without and with erosion. Soil and wheel
are not given there: dry sand that is not compressed, and the wheel of the rover (*assumed*).
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from page import FIGURES, ROOT, quiet

from grouser.contact.soil import SoilModule, SoilOptions, wheel
from grouser.contact.soil.types import CONTACT, FAR
from grouser.contact.soil.vertex_cloud import vertex_cloud
from grouser.robots.exomars import ExoMars
from grouser.scenarios import rocky_ground as rocky
from grouser.scenarios.viking_rocks import VikingRocks
from grouser.terrain import flat, soil
from grouser.terrain.ground import SURFACE, Ground

sys.path.insert(0, str(ROOT))
CELL, STEP = 0.01, 5e-3  # [m], [s]
RADIUS, WIDTH = ExoMars().wheel_radius, ExoMars().wheel_width
SAND = soil("dry-sand").replace(compression=0.0)
SPEED = 0.05  # [m/s]
FALL = math.tan(math.radians(4.0))  # of the axle per metre (assumed)
SUNK = 0.03  # [m] at the end
START = (-0.3, -0.3)  # [m] corner of the ground
SIZE = (1.2, 0.6)  # [m]
SHOWN = (-0.08, 0.62, -0.2, 0.2)  # [m] region of the pictures
HIGH = 0.15  # [m] top of the pictures
BEHIND = (0.0, 0.1, 0.3)  # [m] of the axle, where sections are drawn
FIELD = 3.0  # [m] length of the part of the rock field that is drawn
EARTH = ("#4a3526", "#8a6643", "#c9a777", "#e9d6b0", "#fbf3df")
DPI, COLOURS = 100, 128


@dataclass
class Rut:
    """Soil after a wheel has rolled down its line, heights [m], (row, column)."""

    x: np.ndarray
    y: np.ndarray
    heights: np.ndarray
    axle: np.ndarray  # [m] (3,)


def rolled(year: int, erosion: bool) -> Rut:
    """A wheel that rolls without slip while it sinks at a constant rate, by the laws of a paper."""
    from tests.rig import ManufacturedMotion, SteadyMotion

    ground = Ground(flat(size=SIZE, spacing=0.1, origin=START), SAND, CELL)
    module = SoilModule(ground, {"wheel": wheel(RADIUS, WIDTH)}, SoilOptions(laws=f"krenn{year}", erosion=erosion))
    rig = ManufacturedMotion(module, step=STEP)
    velocity, spin = (SPEED, 0.0, -SPEED * FALL), (0.0, SPEED / RADIUS, 0.0)
    motion = SteadyMotion((0.0, 0.0, RADIUS), (0.0, 0.0, 0.0), velocity, spin)
    steps = round(SUNK / (SPEED * FALL) / STEP)
    for k in range(1, steps + 1):
        position, rotation = motion(k * STEP)
        rig.place(position, rotation, np.array(velocity), np.array(spin)).advance()
    rows, columns = ground.rows, ground.columns
    x, y = START[0] + CELL * np.arange(columns), START[1] + CELL * np.arange(rows)
    return Rut(x, y, ground.level(SURFACE), np.asarray(motion(steps * STEP)[0]))


def pressed() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A wheel set 40 mm deep into level soil, as the kernels see it.

    Vertices [m], (vertex, 3); x and y [m] of the nodes of its window; height [m] of the lowest vertex over each node,
    NaN where there is none; which nodes are in contact.
    """
    from tests.rig import ManufacturedMotion

    ground = Ground(flat(size=SIZE, spacing=0.1, origin=START), SAND, CELL)
    body = wheel(RADIUS, WIDTH)
    module = SoilModule(ground, {"wheel": body}, SoilOptions(laws="krenn2009"))
    place = np.array([0.0, 0.0, RADIUS - 0.04])
    rig = ManufacturedMotion(module, step=STEP)
    rig.place(place, np.array([0.0, 0.0, 0.0, 1.0]), np.zeros(3), np.zeros(3)).advance()
    a = module.arrays
    side, frame = a.window.side, a.window.frame.numpy()[0]
    height = a.skin.height.numpy()[: side * side].reshape(side, side)[: frame["rows"], : frame["columns"]]
    mark = a.window.mark.numpy()[: side * side].reshape(side, side)[: frame["rows"], : frame["columns"]]
    x = START[0] + CELL * (frame["column0"] + np.arange(frame["columns"]))
    y = START[1] + CELL * (frame["row0"] + np.arange(frame["rows"]))
    nodes = np.stack(np.meshgrid(x, y), axis=-1)
    lowest = np.where(height < 0.1 * FAR, height, np.nan)
    return vertex_cloud(body, CELL).vertices + place, nodes, lowest, mark == CONTACT


# ---- drawing ----------------------------------------------------------------------------------------------


def space(figure: Any, at: tuple[int, int, int], title: str, size: tuple[float, float, float]) -> Any:
    """Axes in space, [m], with the proportions of `size`."""
    axes = figure.add_subplot(*at, projection="3d", computed_zorder=False)
    axes.set_title(title)
    axes.set_box_aspect(size)
    axes.tick_params(labelsize=6, pad=-2)
    axes.set_xlabel("x [m]", fontsize=7, labelpad=-4)
    axes.set_ylabel("y [m]", fontsize=7, labelpad=-4)
    axes.set_zlabel("z [m]", fontsize=7, labelpad=-4)
    return axes


def draw_soil(axes: Any, rut: Rut) -> None:
    from matplotlib.colors import LightSource, LinearSegmentedColormap

    x0, x1, y0, y1 = SHOWN
    columns, rows = (rut.x >= x0) & (rut.x <= x1), (rut.y >= y0) & (rut.y <= y1)
    x, y, z = rut.x[columns], rut.y[rows], rut.heights[np.ix_(rows, columns)]
    colours = LinearSegmentedColormap.from_list("earth", EARTH)
    sun = LightSource(azdeg=300, altdeg=40)
    shaded = sun.shade(z, colours, vert_exag=1.0, dx=CELL, dy=CELL, vmin=-SUNK, vmax=2 * SUNK, blend_mode="soft")
    columns, rows = np.meshgrid(x, y)
    for k in range(len(y) - 1):  # strip by strip from the far side: walls one node thick would hide each other wrongly
        strip = slice(k, k + 2)
        axes.plot_surface(
            columns[strip], rows[strip], z[strip], facecolors=shaded[strip], rstride=1, cstride=1, shade=False,
            linewidth=0, antialiased=False, zorder=len(y) - k,
        )  # fmt: skip
    low, high = -SUNK - 0.01, HIGH
    axes.set(xlim=(x0, x1), ylim=(y0, y1), zlim=(low, high), zticks=(0, 0.05, 0.1, 0.15))
    axes.set_box_aspect((x1 - x0, y1 - y0, high - low))
    axes.view_init(elev=38, azim=-120)


def deformation(figure: Any, ruts: dict[tuple[int, bool], Rut]) -> None:
    """2009, Fig. 15, 16 and 2008, Fig. 7, 8."""
    titles = {
        (2009, False): "2009, Fig. 15: displacement and deposition", (2009, True): "2009, Fig. 16: with erosion",
        (2008, False): "2008, Fig. 7: displacement and deposition", (2008, True): "2008, Fig. 8: with erosion",
    }  # fmt: skip
    for k, (which, title) in enumerate(titles.items(), 1):
        draw_soil(space(figure, (2, 2, k), title, (1, 1, 1)), ruts[which])


def sections(figure: Any, ruts: dict[tuple[int, bool], Rut]) -> None:
    """The same soil in sections along the middle of the track and across it."""
    for k, year in enumerate((2009, 2008)):
        along, across = figure.add_subplot(2, 2, 2 * k + 1), figure.add_subplot(2, 2, 2 * k + 2)
        for erosion, style in ((False, ":"), (True, "-")):
            rut = ruts[year, erosion]
            words = "with erosion" if erosion else "without"
            middle = int(np.argmin(np.abs(rut.y)))
            along.plot(rut.x, 1e3 * rut.heights[middle], style, label=f"soil, {words}", color="#8a6643")
            for n, behind in enumerate(BEHIND):
                column = int(np.argmin(np.abs(rut.x - rut.axle[0] + behind)))
                label = f"{1e3 * behind:g} mm behind the axle" if erosion else None
                across.plot(rut.y, 1e3 * rut.heights[:, column], style, label=label, color=f"C{n}")
        angle = np.linspace(0, 2 * np.pi, 200)
        axle = ruts[year, True].axle
        along.plot(axle[0] + RADIUS * np.sin(angle), 1e3 * (axle[2] + RADIUS * np.cos(angle)), color="#5a6b78", lw=1,
                   label="wheel")  # fmt: skip
        along.set(xlim=SHOWN[:2], ylim=(-45, 155), xlabel="x [m]", ylabel="z [mm]", title=f"{year}: along the track")
        across.set(xlim=SHOWN[2:], ylim=(-45, 155), xlabel="y [m]", ylabel="z [mm]", title=f"{year}: across it")
        along.legend(fontsize=7, loc="upper left")
        across.legend(fontsize=7, loc="upper left")


def detection(figure: Any) -> None:
    """2009, Fig. 14: vertices, columns, lowest vertices, footprint."""
    points, nodes, lowest, contact = pressed()
    size = (2 * RADIUS, WIDTH + 0.08, 2 * RADIUS)
    limits: dict[str, Any] = {
        "xlim": (-RADIUS, RADIUS), "ylim": (-WIDTH / 2 - 0.04, WIDTH / 2 + 0.04), "zlim": (-0.05, 2 * RADIUS - 0.05)
    }  # fmt: skip
    nearest = points.copy()
    nearest[:, :2] = CELL * np.round(points[:, :2] / CELL)
    seen = np.isfinite(lowest)
    low = np.column_stack([nodes[seen], lowest[seen]])
    foot = np.column_stack([nodes[contact], lowest[contact]])
    colour = ["#d1543f" if one else "#2b6c99" for one in contact[seen]]
    panels = (
        ("vertices of the wheel", points, "#2b6c99", 0.4), ("in columns over the nodes", nearest, "#2b6c99", 0.4),
        ("lowest of each column", low, colour, 2.0),
    )  # fmt: skip
    for k, (title, spots, tint, dot) in enumerate(panels, 1):
        axes = space(figure, (2, 2, k), title, size)
        axes.scatter(*spots.T, s=dot, c=tint, linewidths=0, depthshade=False)
        axes.set(**limits)
        axes.view_init(elev=18, azim=-60)
    volume = 1e6 * CELL**2 * -foot[:, 2].sum()  # [cm^3]
    axes = space(figure, (2, 2, 4), f"footprint: {contact.sum()} nodes, {volume:.0f} cm³", size)
    axes.bar3d(foot[:, 0] - CELL / 2, foot[:, 1] - CELL / 2, foot[:, 2], CELL, CELL, -foot[:, 2], color="#d1a36f",
               edgecolor="#7a5b3a", linewidth=0.2)  # fmt: skip
    axes.set(xlim=limits["xlim"], ylim=limits["ylim"], zlim=(-0.05, 0.01))
    axes.set_box_aspect((size[0], size[1], 0.12))
    axes.view_init(elev=-25, azim=-60)


def grid(figure: Any, rut: Rut) -> None:
    """2009, Fig. 13 and 2008, Fig. 6: the elevation grid, here around the front of a wheel."""
    axes = space(figure, (1, 1, 1), f"elevation grid, {1e3 * CELL:g} mm", (1, 1, 1))
    columns, rows = np.abs(rut.x - rut.axle[0]) < 0.22, np.abs(rut.y) < 0.2
    z = rut.heights[np.ix_(rows, columns)]
    axes.plot_wireframe(*np.meshgrid(rut.x[columns], rut.y[rows]), z, rstride=1, cstride=1, linewidth=0.35,
                        color="#6b4f34")  # fmt: skip
    axes.set_box_aspect((0.44, 0.4, np.ptp(z)))
    axes.view_init(elev=32, azim=-125)


def meshes(figure: Any) -> None:
    """2008, Fig. 4 and 5: polygons of a wheel and of the rocks."""
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    s = VikingRocks()
    field = rocky.field_of(s)
    tread = rocky.wheel_shape(s.parameters, s.tread)
    centre = tread.vertices[tread.triangles].mean(axis=1)
    normal = np.cross(*(tread.vertices[tread.triangles[:, k]] - tread.vertices[tread.triangles[:, 0]] for k in (1, 2)))
    facing = normal @ np.array([0.5, -0.8, 0.35]) > 0
    axes = space(figure, (1, 2, 1), f"2008, Fig. 4: a wheel, {len(centre)} polygons", (2 * RADIUS, WIDTH, 2 * RADIUS))
    axes.add_collection3d(
        Poly3DCollection(tread.vertices[tread.triangles[facing]], facecolors="#b9c6cf", edgecolors="#33414b",
                         linewidths=0.2)
    )  # fmt: skip
    axes.set(xlim=(-RADIUS, RADIUS), ylim=(-WIDTH / 2, WIDTH / 2), zlim=(-RADIUS, RADIUS))
    axes.view_init(elev=20, azim=-58)
    vertices, triangles = field.mesh()
    middle = vertices[triangles].mean(axis=1)
    (_, breadth), (x0, y0) = s.rectangle
    near = (middle[:, 0] < x0 + FIELD) & (middle[:, 2] > 0)
    axes = space(figure, (1, 2, 2), f"2008, Fig. 5: rocks, {near.sum()} polygons seen", (FIELD, breadth, 0.3))
    x1, y1 = x0 + FIELD, y0 + breadth
    corners = [[(x0, y0, 0), (x1, y0, 0), (x1, y1, 0), (x0, y1, 0)]]
    axes.add_collection3d(Poly3DCollection(corners, facecolors="#eadfcd", edgecolors="#b7a68a", zorder=0))
    axes.add_collection3d(
        Poly3DCollection(vertices[triangles[near]], facecolors="#b9916a", edgecolors="#5a4330", linewidths=0.1)
    )
    axes.set(xlim=(x0, x1), ylim=(y0, y1), zlim=(0, 0.3), zticks=(0, 0.3))
    axes.view_init(elev=38, azim=-60)


def main() -> int:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    from grouser.report.style import STYLE

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", metavar="DIR", type=Path, default=FIGURES, help="folder of the pictures")
    out = parser.parse_args().out
    quiet()
    out.mkdir(parents=True, exist_ok=True)
    ruts = {(year, erosion): rolled(year, erosion) for year in (2009, 2008) for erosion in (False, True)}
    pictures = {
        "krenn-meshes": ((9.4, 4.4), meshes),
        "krenn-grid": ((6.4, 4.4), lambda figure: grid(figure, ruts[2009, True])),
        "krenn-contact": ((8.4, 7.6), detection),
        "krenn-deformation": ((9.4, 7.0), lambda figure: deformation(figure, ruts)),
        "krenn-sections": ((9.4, 6.4), lambda figure: sections(figure, ruts)),
    }
    for name, (inches, draw) in pictures.items():
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=inches, layout="tight")
            FigureCanvasAgg(figure)
            draw(figure)
            path = out / f"{name}.png"
            figure.savefig(path, dpi=DPI, metadata={"Software": None})
        with Image.open(path) as picture:
            picture.convert("RGB").quantize(COLOURS).save(path, optimize=True)
        print(f"written: {path}, {path.stat().st_size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
