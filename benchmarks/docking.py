"""A picture of both satellites for docs/docking.md: `python benchmarks/docking.py`; needs MUJOCO_GL=egl or osmesa."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np

from grouser.robots import olev

SIZE = (480, 900)  # pixels: height, width
OUT = Path(__file__).parents[1] / "docs" / "figures" / "docking-satellites.png"


def picture() -> np.ndarray:
    """Servicer below with its boom out, client above, as a run begins."""
    spec = olev.build()
    spec.visual.global_.offheight, spec.visual.global_.offwidth = SIZE
    spec.visual.headlight.ambient = [0.35, 0.35, 0.35]
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    for bus in ("servicer", "client"):
        for wing in olev.WINGS:
            data.joint(f"{bus}_turn_{wing}").qpos[0] = 1.1
    mujoco.mj_forward(model, data)
    camera = mujoco.MjvCamera()
    camera.lookat[:] = [0.0, 0.0, 2.2]
    camera.distance, camera.azimuth, camera.elevation = 9.5, 160.0, 25.0
    with mujoco.Renderer(model, *SIZE) as renderer:
        renderer.update_scene(data, camera)
        return renderer.render()


if __name__ == "__main__":
    from PIL import Image

    Image.fromarray(picture()).quantize(96).save(OUT, optimize=True)
    print(OUT)
