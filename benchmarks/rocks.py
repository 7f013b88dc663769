"""A rover on rocks, on rocks and sand (Krenn et al. 2008, Fig. 9-11, Krenn and Hirzinger 2009, Fig. 21): `python
benchmarks/rocks.py [--write|--picture]`.

`--picture` renders the rock field and needs OpenGL (MUJOCO_GL=egl or osmesa).
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from page import FIGURES, number, publish, quiet, table
from PIL import Image

import grouser

FULL = {"time": 900.0}  # [s], the paper's 15 min
DRIVES: dict[str, tuple[str, dict[str, Any]]] = {
    "15 min": ("viking-rocks", FULL),
    "15 min, seed 0": ("viking-rocks", {**FULL, "seed": 0}),
    "15 min, seed 1": ("viking-rocks", {**FULL, "seed": 1}),
    "90 s": ("viking-rocks", {}),
    "90 s, faces of rocks 12 mm at most": ("viking-rocks", {"rocks.longest_edge": 0.012}),
    "90 s, step 1 ms": ("viking-rocks", {"step": 1e-3}),
    "90 s, tread four times as stiff": ("viking-rocks", {"tread.young": 2e7}),
    "90 s, friction 0.5 and 0.4": ("viking-rocks", {"tread.friction_stick": 0.5, "tread.friction_slip": 0.4}),
    "90 s, on dry sand": ("rocks-and-sand", {}),
    "90 s, on dry sand, 5 mm grid": ("rocks-and-sand", {"spacing": 0.005}),
}
COLUMNS = {
    "drive_torque_peak_Nm": ("drive N·m", 1, 1.0),
    "steer_torque_peak_Nm": ("steering N·m", 1, 1.0),
    "drive_power_peak_W": ("peak W", 2, 1.0),
    "drive_power_mean_W": ("mean W", 3, 1.0),
    "distance_m": ("distance m", 2, 1.0),
    "contact_pairs_max": ("pairs", 0, 1.0),
    "penetration_max_m": ("depth mm", 1, 1e3),
}
PICTURES = {
    "15 min": {"drive-torque": "viking-drive-torque", "steer-torque": "viking-steer-torque", "field": "viking-field"},
    "90 s, on dry sand": {"carried": "rocks-and-sand-carried", "soil": "rocks-and-sand-soil"},
}
COLOURS = 64  # of a picture in docs/
VIEW = {"lookat": (1.6, 0.0, 0.2), "distance": 4.6, "azimuth": 215, "elevation": -18}
SIZE = (960, 540)  # pixels


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put tables and figures into docs/")
    parser.add_argument("--picture", action="store_true", help="render the rock field into docs/")
    choice = parser.parse_args()
    quiet()
    if choice.picture:
        render()
        return 0
    rows = []
    for name, (scenario, settings) in DRIVES.items():
        with tempfile.TemporaryDirectory() as folder:
            outcome = grouser.run(scenario, settings, out=Path(folder) / "out", report=name in PICTURES)
            if choice.write:
                for figure, stem in PICTURES.get(name, {}).items():
                    with Image.open(outcome.folder / "figures" / f"{figure}.png") as picture:
                        keep(picture, stem)
        values = [number(scale * outcome.metrics[key], digits) for key, (_, digits, scale) in COLUMNS.items()]
        rows.append([name, *values, "; ".join(outcome.notes) or "none"])
        print(rows[-1], flush=True)
    publish({"rocks": table(["drive", *(word for word, _, _ in COLUMNS.values()), "notes"], rows)}, choice.write)
    return 0


def keep(picture: Image.Image, stem: str) -> None:
    small = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    small.save(FIGURES / f"{stem}.png", optimize=True)


def render() -> None:
    """The rover at its start among the rocks of `viking-rocks`."""
    os.environ.setdefault("MUJOCO_GL", "egl")
    import mujoco

    from grouser.robots import exomars
    from grouser.scenarios.rocky_ground import field_of
    from grouser.scenarios.viking_rocks import VikingRocks
    from grouser.terrain.rock_bodies import add_rocks

    settings = VikingRocks()
    spec = exomars.build(settings.parameters)
    add_rocks(spec, field_of(settings))
    spec.add_material(name="ground", rgba=[0.72, 0.50, 0.36, 1], specular=0.0, shininess=0.0)
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE, size=[20, 20, 0.1], material="ground", contype=0, conaffinity=0
    )
    spec.worldbody.add_light(
        pos=[-3, -4, 6], dir=[0.45, 0.6, -0.7], diffuse=[0.8, 0.75, 0.7], ambient=[0.25, 0.23, 0.21],
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL, castshadow=True,
    )  # fmt: skip
    spec.add_texture(
        name="sky", type=mujoco.mjtTexture.mjTEXTURE_SKYBOX, builtin=mujoco.mjtBuiltin.mjBUILTIN_GRADIENT,
        rgb1=[0.85, 0.72, 0.6], rgb2=[0.75, 0.62, 0.5], width=256, height=256,
    )  # fmt: skip
    visual = spec.visual
    visual.global_.offwidth, visual.global_.offheight, visual.quality.shadowsize = 2 * SIZE[0], 2 * SIZE[1], 8192
    visual.headlight.ambient, visual.headlight.diffuse = [0.25] * 3, [0.15] * 3
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    camera = mujoco.MjvCamera()
    camera.lookat[:] = VIEW["lookat"]
    camera.distance, camera.azimuth, camera.elevation = (float(VIEW[k]) for k in ("distance", "azimuth", "elevation"))
    with mujoco.Renderer(model, 2 * SIZE[1], 2 * SIZE[0]) as renderer:
        renderer.update_scene(data, camera)
        image = np.array(renderer.render())
    keep(Image.fromarray(image).resize(SIZE, Image.Resampling.LANCZOS), "viking-rocks")


if __name__ == "__main__":
    raise SystemExit(main())
