"""The same foot under both laws: `python -m benchmarks.rft_foot` writes docs/figures/rft-foot.png and its numbers.

A flat foot of 120 x 80 x 100 mm is pressed 40 mm into dry sand, drawn up by 30 mm, pressed to 45 mm, and then, on new
ground at 40 mm, pushed 150 mm sideways and 50 mm back. It moves slowly and as prescribed.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from grouser.contact.soil import Surface, prepare
from grouser.simulation.soil_robot import module_of
from grouser.terrain import flat, soils
from grouser.terrain.ground import Ground
from tests.rig import ManufacturedMotion, quaternion

LONG, WIDE, HIGH = 0.12, 0.08, 0.10  # [m]
STEP, SPEED, SPACING = 5e-3, 0.05, 0.005  # [s], [m/s], [m]
PRESS = ((0.0, 0.002), (0.0, -0.04), (0.0, -0.01), (0.0, -0.045))  # [m] x and z of the middle of its sole
PUSH = ((0.0, 0.002), (0.0, -0.04), (0.15, -0.04), (0.10, -0.04))
COLOURS = {"soil": "#b5651d", "rft": "#1f5fa8"}
OUT = Path(__file__).parents[1] / "docs" / "figures" / "rft-foot.png"


def foot() -> Surface:
    import trimesh

    box = trimesh.creation.box((LONG, WIDE, HIGH))
    return prepare(np.asarray(box.vertices), np.asarray(box.faces), name="foot")


def lead(law: str, points) -> tuple[np.ndarray, np.ndarray, Ground]:
    """Places (step, 3) [m] of the middle of the sole, forces (step, 3) [N] on the foot, and the ground left behind."""
    ground = Ground(flat(size=(1.2, 0.8), spacing=0.1, origin=(-0.4, -0.4)), soils.soil("dry-sand"), SPACING)
    rig = ManufacturedMotion(module_of(law, ground, {"foot": foot()}, None), step=STEP)
    places, forces = [], []

    def note() -> None:
        places.append(rig.position[0, 0] - [0, 0, HIGH / 2])
        forces.append(rig.wrench[0, 0, :3])

    corners = [np.array([x, 0.0, z + HIGH / 2]) for x, z in points]
    for start, end in pairwise(corners):
        steps, began = round(float(np.linalg.norm(end - start)) / SPEED / STEP), rig.time

        def pose(time: float, start=start, end=end, steps=steps, began=began):
            return start + (end - start) * (time - began) / (steps * STEP), quaternion(np.zeros(3))

        rig.follow(pose, steps, note)
    return np.array(places), np.array(forces), ground


def main() -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.4), layout="constrained")
    press, push, cut = figure.subplots(1, 3)
    for law, colour in COLOURS.items():
        places, forces, _ = lead(law, PRESS)
        press.plot(-1e3 * places[:, 2], forces[:, 2], color=colour, label=f"law: {law}")
        at = np.argmax(places[:, 2] <= -0.04 + 1e-9)
        again = slice(at + round(0.03 / SPEED / STEP), None)
        meets = -places[again, 2][np.argmax(forces[again, 2] > 0.1 * forces[at, 2])]
        print(f"{law}: {forces[at, 2]:.0f} N at 40 mm, {forces[-1, 2]:.0f} N at 45 mm; the second press meets soil at "
              f"{1e3 * meets:.0f} mm")  # fmt: skip
        places, forces, ground = lead(law, PUSH)
        level = np.abs(places[:, 2] + 0.04) < 1e-9
        push.plot(1e3 * places[level, 0], -forces[level, 0], color=colour)
        far = np.argmax(places[:, 0])
        back = far + round(0.01 / SPEED / STEP)
        print(f"{law}: pushed with {-forces[far, 0]:.0f} N at 150 mm, back with {forces[back, 0]:.0f} N after 10 mm")
        x = np.arange(ground.columns) * SPACING - 0.4
        cut.plot(1e3 * x, 1e3 * ground.heights()[ground.rows // 2], color=colour)
    press.set(xlabel="depth of the sole [mm]", ylabel="lift [N]", title="pressed, drawn up, pressed again")
    push.set(xlabel="place [mm]", ylabel="resistance along x [N]", title="pushed at 40 mm depth, and back")
    cut.set(xlabel="x [mm]", ylabel="height [mm]", title="ground left behind, middle section", xlim=(-150, 320))
    for axes in (press, push, cut):
        axes.grid(alpha=0.3)
    press.legend(frameon=False)
    figure.savefig(OUT, dpi=110)


if __name__ == "__main__":
    main()
