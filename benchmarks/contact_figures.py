"""Figures of contact between bodies of revolution (Krenn and Hirzinger 2009, Fig. 3-7): `python
benchmarks/contact_figures.py`.

The crown of `docking-olev` while it is locked in the throat of a nozzle that stands a little askew: sections with their
samples, meshes of both bodies, vertices of the crown mapped to the section of the nozzle, elements at the border
divided again, elements coloured by pressure, and the same elements on the surface of the nozzle.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from page import FIGURES, quiet

from grouser.robots.olev_contact import Discretisation
from grouser.scenarios.docking_olev import build
from grouser.scenarios.settings import from_python

NEAR = {
    "boom_length": 2.11,
    "client_x": 0.0015,
    "client_y": -0.001,
    "client_tilt_x_deg": 0.2,
    "client_tilt_y_deg": -0.2,
}
LOCKING = 9.7  # [s] the crown presses on the nozzle all round, on one side more than on the other
DENSE = 40  # points on a chord of the smooth section
INCH, DPI = (14.0, 8.4), 100
FULL_TURN_DEG = 360.0
THROAT = (-13e-3, 6e-3)  # [m] along the axis of the nozzle, the part that is drawn
ROUND = 60  # sectors in which the nozzle is drawn
PLAIN = (0.9, 0.9, 0.9, 0.5)  # colour of elements without contact


class Contact:
    """Crown and nozzle during locking, in the axes of the nozzle."""

    def __init__(self) -> None:
        sim = build(from_python("docking-olev", {"initial": NEAR}).settings)  # type: ignore[arg-type]
        sim.step(round(LOCKING / sim.step_size))
        self.module: Any = sim.modules[0]
        self.fine = Discretisation()
        poses, sections = self.module._poses, self.module._sections
        self.place, self.turn = (a.numpy()[0, 1].astype(float) for a in (poses.position, poses.rotation))
        self.lines = {}
        for name in ("nozzle", "crown"):
            first, last = self.module._range(name)
            self.lines[name] = sections.line.numpy()[0, first : last - 1]
        self.wall = self.curve("nozzle")

    def curve(self, name: str) -> np.ndarray:
        """Dense smooth section (r, z) [m] with outward normals, (point, 4)."""
        share = np.linspace(0, 1, DENSE, endpoint=False)[:, None]
        parts = []
        for line in self.lines[name]:
            tilt, normal = line["tilt"], line["normal"]
            bulge = share * (1 - share) * (tilt[0] * (1 - share) - tilt[1] * share)
            at = line["point"] + share * line["chord"] + bulge * normal
            parts.append(np.hstack([at, np.broadcast_to(normal, at.shape)]))
        return np.concatenate(parts)

    def crown_points(self, along: np.ndarray, angle: np.ndarray) -> np.ndarray:
        """Points of the crown [m] in the nozzle's axes; `along` in lines, as 3.5 for the middle of the fourth."""
        k = np.clip(np.floor(along).astype(int), 0, len(self.lines["crown"]) - 1)
        share = along - k
        line = self.lines["crown"][k]
        tilt = line["tilt"]
        bulge = share * (1 - share) * (tilt[..., 0] * (1 - share) - tilt[..., 1] * share)
        at = line["point"] + share[..., None] * line["chord"] + bulge[..., None] * line["normal"]
        own = np.stack([at[..., 0] * np.cos(angle), at[..., 0] * np.sin(angle), at[..., 1]], axis=-1)
        return self.place + own @ self.turn.T

    def nearest(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points (r, z) [m] in the plane of the section, and indices of the nearest points of the nozzle's wall."""
        from scipy.spatial import cKDTree

        mapped = np.stack([np.hypot(points[..., 0], points[..., 1]), points[..., 2]], axis=-1)
        return mapped, cKDTree(self.wall[:, :2]).query(mapped)[1]

    def depth(self, points: np.ndarray) -> np.ndarray:
        """Depth [m] of points below the nozzle's wall, along its normal."""
        mapped, k = self.nearest(points)
        return -((mapped - self.wall[k, :2]) * self.wall[k, 2:]).sum(axis=-1)

    def on_wall(self, points: np.ndarray) -> np.ndarray:
        """The points [m] moved to the nearest places of the nozzle's wall."""
        mapped, k = self.nearest(points)
        ratio = self.wall[k, 0] / mapped[..., 0]
        return np.stack([points[..., 0] * ratio, points[..., 1] * ratio, self.wall[k, 1]], axis=-1)

    def corners(self, line: int, sector: int) -> np.ndarray:
        """Corners of an element of the crown [m], (4, 3)."""
        corner = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * (1 - 1e-9) + [line, sector]
        return self.crown_points(corner[:, 0], self.angle(corner[:, 1]))

    def crown_elements(self) -> list[tuple[int, int]]:
        """Line and sector of all elements of the crown."""
        return [(line, sector) for line in range(len(self.lines["crown"])) for sector in range(self.fine.sectors)]

    def throat(self, turn_deg: float) -> list[np.ndarray]:
        """Mesh of the nozzle around its throat, over part of a turn: faces (4, 3) [m]."""
        ends = np.array([line["point"] for line in self.lines["nozzle"]])
        ends = ends[(ends[:, 1] > THROAT[0]) & (ends[:, 1] < THROAT[1])]
        angle = np.radians(np.linspace(0, turn_deg, round(ROUND * turn_deg / 360) + 1))
        rings = np.stack(
            [
                ends[:, None, 0] * np.cos(angle),
                ends[:, None, 0] * np.sin(angle),
                np.broadcast_to(ends[:, None, 1], (len(ends), len(angle))),
            ],
            axis=-1,
        )
        return [
            np.array([rings[i, j], rings[i + 1, j], rings[i + 1, j + 1], rings[i, j + 1]])
            for i in range(len(ends) - 1)
            for j in range(len(angle) - 1)
        ]

    def elements(self) -> list[tuple[int, int, float]]:
        """Line, sector and pressure [Pa] of the crown's elements in contact, as the module computed them."""
        e, base = self.module._elements, int(self.module._first_element[1])
        count = int(e.active_count.numpy()[0, 1])
        slots = slice(base, base + count)
        active, load, area = (a.numpy()[0, slots] for a in (e.active, e.load, e.area))
        return [(int(a) // self.fine.sectors, int(a) % self.fine.sectors, float(p))
                for a, p in zip(active, load / area, strict=True)]  # fmt: skip

    def divided(self, line: int, sector: int) -> list[tuple[float, float, float]]:
        """Parts of an element: first line and sector coordinate and size. Divided where some corners are inside."""
        parts, done = [(float(line), float(sector), 1.0)], []
        for _ in range(self.fine.border_passes):
            left = []
            for x, y, size in parts:
                corner = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * size + [x, y]
                inside = self.depth(self.crown_points(corner[:, 0], self.angle(corner[:, 1]))) > 0
                if inside.all():
                    done.append((x, y, size))
                    continue
                small = size / self.fine.border_divisions
                left += [(x + small * i, y + small * j, small) for i in range(self.fine.border_divisions)
                         for j in range(self.fine.border_divisions)]  # fmt: skip
            parts = left
        middles = [
            (x, y, size)
            for x, y, size in parts
            if self.depth(self.crown_points(np.array([x + size / 2]), self.angle(np.array([y + size / 2])))) > 0
        ]
        return done + middles

    def angle(self, sector: np.ndarray) -> np.ndarray:
        return 2 * math.pi * sector / self.fine.sectors


def sections(axes: Any, contact: Contact) -> None:
    """Sections with their samples: the higher the curvature, the shorter the chords (Fig. 3)."""
    for name, colour in (("nozzle", "#555555"), ("tool", "#2b6c99"), ("crown", "#d1543f"), ("bolt", "#3f8f5f")):
        first, last = contact.module._range(name)
        r, z = contact.module._sections.point.numpy()[0, first:last].T
        z = z - z.mean() if name in ("tool", "bolt") else z
        axes.plot(1e3 * z, 1e3 * r, ".-", ms=3, lw=0.8, color=colour, label=f"{name}, {last - first - 1} lines")
    axes.set(
        xlim=(-70, 70), ylim=(0, 70), xlabel="axial [mm]", ylabel="radial [mm]", title="Sections and their samples"
    )
    axes.legend(fontsize=7)


def mapped_vertices(axes: Any, contact: Contact) -> None:
    """Vertices of the crown in the plane of the nozzle's section (Fig. 5)."""
    lines = len(contact.lines["crown"])
    along, sector = np.meshgrid(np.arange(lines), np.arange(contact.fine.sectors), indexing="ij")
    points = contact.crown_points(along.astype(float), contact.angle(sector.astype(float))).reshape(-1, 3)
    inside = contact.depth(points) > 0
    r, z = np.hypot(points[:, 0], points[:, 1]), points[:, 2]
    wall = contact.wall
    axes.plot(1e3 * wall[:, 1], 1e3 * wall[:, 0], color="#555555", lw=1, label="nozzle")
    axes.plot(1e3 * z[~inside], 1e3 * r[~inside], ".", ms=2, color="#999999", label="vertices of the crown")
    axes.plot(1e3 * z[inside], 1e3 * r[inside], ".", ms=4, color="#d1543f", label="in contact")
    axes.set(
        xlim=(-8, 26), ylim=(4, 22), xlabel="axial [mm]", ylabel="radial [mm]", title="Vertices mapped to the section"
    )
    axes.legend(fontsize=7, loc="lower right")


def solid(figure: Any, place: int, title: str) -> Any:
    """Axes in space, in millimetres, for faces of crown and nozzle."""
    axes = figure.add_subplot(2, 3, place, projection="3d")
    axes.set(xlim=(-17, 17), ylim=(-17, 17), zlim=(-10, 28))
    axes.set_title(f"{title} [mm]", pad=18)
    axes.set_box_aspect((34, 34, 38))
    axes.view_init(elev=-18, azim=-60)
    axes.tick_params(labelsize=6)
    return axes


def add_faces(axes: Any, faces: list[np.ndarray], colours: Any, edge: str = "#666666", width: float = 0.15) -> None:
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    axes.add_collection3d(
        Poly3DCollection([1e3 * f for f in faces], facecolors=colours, edgecolors=edge, linewidths=width)
    )


def meshes(contact: Contact, figure: Any, place: int) -> None:
    """Both bodies; of the nozzle, the throat, cut open (Fig. 4)."""
    axes = solid(figure, place, "Meshes of crown and nozzle")
    add_faces(axes, [contact.corners(*element) for element in contact.crown_elements()], [(0.93, 0.76, 0.72, 1.0)])
    add_faces(axes, contact.throat(180.0), [(0.75, 0.8, 0.85, 0.55)])


def pressures(contact: Contact, figure: Any, place: int, on_nozzle: bool = False) -> None:
    """Elements of the crown in contact, coloured by pressure, on the crown or where they meet the nozzle (Fig. 7)."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    axes = solid(figure, place, "Elements on the nozzle" if on_nozzle else "Elements by pressure")
    pressed = {(line, sector): p for line, sector, p in contact.elements()}
    scale = ScalarMappable(Normalize(0, max(pressed.values()) / 1e6), colormaps["viridis"])
    if on_nozzle:
        add_faces(axes, contact.throat(360.0), [(0.85, 0.88, 0.91, 0.25)])
        faces = {element: contact.on_wall(contact.corners(*element)) for element in pressed}
    else:
        faces = {element: contact.corners(*element) for element in contact.crown_elements()}
    colours = [scale.to_rgba(pressed[e] / 1e6) if e in pressed else PLAIN for e in faces]
    add_faces(axes, list(faces.values()), colours)
    figure.colorbar(scale, ax=axes, shrink=0.6, pad=0.12, label="pressure [MPa]")


def border(figure: Any, place: int, contact: Contact) -> None:
    """The contact unrolled: elements inside are whole, those at its border are divided (Fig. 6)."""
    from matplotlib.collections import PolyCollection

    axes = figure.add_subplot(2, 3, place)
    ends = np.concatenate([[0.0], np.cumsum([line["length"] for line in contact.lines["crown"]])]) * 1e3
    faces, depths = [], []
    step = FULL_TURN_DEG / contact.fine.sectors
    for line, sector, _ in contact.elements():
        for x, y, size in contact.divided(line, sector):
            low, high = (np.interp(at, np.arange(len(ends)), ends) for at in (x, x + size))
            faces.append([(step * y, low), (step * (y + size), low), (step * (y + size), high), (step * y, high)])
            middle = contact.crown_points(np.array([x + size / 2]), contact.angle(np.array([y + size / 2])))
            depths.append(1e6 * float(contact.depth(middle)[0]))
    drawn = PolyCollection(faces, array=np.maximum(depths, 0), cmap="viridis", edgecolors="white", linewidths=0.5)
    drawn.set_clim(0, max(depths))
    axes.add_collection(drawn)
    low, high = (f([point[1] for face in faces for point in face]) for f in (min, max))
    axes.set(xlim=(0, FULL_TURN_DEG), ylim=(low - 0.3, high + 0.3), title="Border of the contact, divided again")
    axes.set(xlabel="around the axis [°]", ylabel="along the section [mm]", xticks=range(0, 361, 60))
    figure.colorbar(drawn, ax=axes, label="depth [µm]")


def main() -> int:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from grouser.report.style import STYLE

    quiet()
    contact = Contact()
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=INCH, layout="tight")
        FigureCanvasAgg(figure)
        sections(figure.add_subplot(2, 3, 1), contact)
        meshes(contact, figure, 2)
        mapped_vertices(figure.add_subplot(2, 3, 3), contact)
        border(figure, 4, contact)
        pressures(contact, figure, 5)
        pressures(contact, figure, 6, on_nozzle=True)
        path = FIGURES / "docking-elements.png"
        figure.savefig(path, dpi=DPI, metadata={"Software": None})
    print(f"written: {path}, {path.stat().st_size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
