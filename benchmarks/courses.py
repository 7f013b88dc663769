"""Courses cut into convex pieces: Stadukhin 2016, Fig. 5 (stairs) and 6 (sinusoid). `python benchmarks/courses.py`."""

from __future__ import annotations

import numpy as np
from page import FIGURES, quiet

from grouser.scenarios.terrain_choice import faces_of
from grouser.terrain.courses import from_mesh

STEPS, RISE, RUN, WIDE = 4, 0.17, 0.28, 1.2  # number, [m]; the paper gives no sizes
LONG, WAVE, HIGH, CUTS = 3.0, 1.5, 0.15, 24  # [m] length, wavelength and amplitude of the sinusoid; strips
THICK = 0.08  # [m] of a piece behind its faces
INCH, DPI = (8.6, 2.3), 110


def extruded(profile: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a profile (x, z) [m] that is drawn out to the width of the course along y."""
    vertices = np.array([(x, y, z) for x, z in profile for y in (-WIDE / 2, WIDE / 2)])
    starts = range(0, 2 * (len(profile) - 1), 2)
    return vertices, np.array([t for k in starts for t in ((k, k + 2, k + 3), (k, k + 3, k + 1))])


def stairs() -> list[tuple[float, float]]:
    corners = [(-0.6, 0.0)]
    for k in range(STEPS):
        corners += [(k * RUN, k * RISE), (k * RUN, (k + 1) * RISE)]
    return [*corners, (STEPS * RUN + 0.3, STEPS * RISE)]


def sinusoid() -> list[tuple[float, float]]:
    return [(x, HIGH * np.sin(2 * np.pi * x / WAVE)) for x in np.linspace(0.0, LONG, CUTS + 1)]


def main() -> int:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from grouser.report.pieces import draw_course
    from grouser.report.style import STYLE

    quiet()
    for name, profile in (("stairs", stairs()), ("sinusoid", sinusoid())):
        course = from_mesh(extruded(profile), method="patches", thickness=THICK)
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=INCH, layout="constrained")
            FigureCanvasAgg(figure)
            draw_course(figure.add_subplot(), faces_of(course))
            path = FIGURES / f"course-{name}.png"
            figure.savefig(path, dpi=DPI, metadata={"Software": None})
        strips = len(profile) - 1
        print(f"{name}: {strips} flat strips, {len(course)} pieces; {path}, {path.stat().st_size / 1e3:.0f} kB")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
