"""Videos of a recording (mp4, webm, gif), drawn off-screen by MuJoCo's renderer."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from grouser.errors import GrouserError, InputError
from grouser.files import atomic_file
from grouser.recording import Recording
from grouser.viewer.cameras import CAMERAS
from grouser.viewer.replay import picture_times

BACKENDS = ("egl", "osmesa")
PROBE = (
    "import mujoco; model = mujoco.MjModel.from_xml_string('<mujoco/>'); "
    "mujoco.Renderer(model, 16, 16).render(); print('drawn')"
)
PROBE_TIME = 300.0  # [s] time limit that only a hanging driver reaches
FILMED = ("sinkage", "height", "plain")  # fields that can colour the ground of a video
KINDS = (".mp4", ".webm", ".gif")
CODECS = {
    ".mp4": ["-vcodec", "libx264", "-crf", "23", "-preset", "fast", "-movflags", "+faststart"],
    ".webm": ["-vcodec", "libvpx-vp9", "-crf", "34", "-b:v", "0", "-deadline", "realtime", "-cpu-used", "6"],
}
LONG = 50  # pictures; from this length on, no shadows and no antialiasing: ten times as fast in software


def backend_works(backend: str) -> bool:
    """Whether a backend (EGL or OSMesa) works on this machine. Tried in a subprocess, as a bad driver may crash it."""
    try:
        tried = subprocess.run(
            [sys.executable, "-c", PROBE], env={**os.environ, "MUJOCO_GL": backend}, capture_output=True, text=True,
            timeout=PROBE_TIME,
        )  # fmt: skip
    except (subprocess.TimeoutExpired, OSError):
        return False
    return tried.returncode == 0 and "drawn" in tried.stdout


def working_backend() -> str:
    """The first of EGL and OSMesa that works on this machine, or the one that MUJOCO_GL names."""
    asked = os.environ.get("MUJOCO_GL", "").lower()
    for backend in (asked,) if asked in BACKENDS else BACKENDS:
        if backend_works(backend):
            return backend
    raise GrouserError(
        "no OpenGL to draw with: install libegl1 or libosmesa6 (Debian: apt-get install libegl1)"
        + (f"; MUJOCO_GL={asked} does not work here" if asked else "")
    )


def film(
    recording: Recording,
    path: Path,
    *,
    cameras: tuple[str, ...] = ("follow",),
    size: tuple[int, int] = (960, 540),
    rate: float = 25.0,
    speed: float = 1.0,
    span: tuple[float, float] | None = None,
    field: str = "sinkage",
    forces: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Path:
    """Write the video. Several `cameras` are shown side by side. `speed`: simulated seconds per second of video."""
    for camera in cameras:
        if camera not in CAMERAS:
            raise InputError(f"camera {camera!r}: allowed are {', '.join(CAMERAS)}")
    if path.suffix.lower() not in KINDS:
        raise InputError(f"{path}: the file name of a video must end in {', '.join(KINDS)}")
    if not len(recording):
        raise InputError(f"{recording.path} has no frames: nothing to show")
    if field not in FILMED:
        raise InputError(f"ground by {field!r}: allowed in a video are {', '.join(FILMED)}")
    if not (speed > 0 and rate > 0):
        raise InputError(f"speed {speed:g}, rate {rate:g}: both must be above 0")
    times = _times(recording, rate, speed, span)
    width, height = (side - side % 16 for side in size)  # encoders need whole blocks of pixels
    kind = path.suffix.lower()
    with atomic_file(path) as part, _writer(part, kind, (width * len(cameras), height), rate) as write:
        for k, image in enumerate(pictures(recording, times, cameras, (width, height), field, forces)):
            write(image)
            progress(k + 1, len(times))
    return path


def _times(recording: Recording, rate: float, speed: float, span: tuple[float, float] | None) -> np.ndarray:
    times = picture_times(recording, rate / speed, 10**9)
    if span is not None:
        times = times[(times >= span[0]) & (times <= span[1])]
        if not len(times):
            raise InputError(f"from {span[0]:g} s to {span[1]:g} s: the recording has no frame there")
    return times


def pictures(
    recording: Recording,
    times: np.ndarray,
    cameras: tuple[str, ...] = ("follow",),
    size: tuple[int, int] = (960, 540),
    field: str = "sinkage",
    forces: bool = True,
    wheel: str = "",
) -> Iterator[np.ndarray]:
    """Iterate over images, (height, width x cameras, 3) uint8, one for each time [s]."""
    mujoco = _with_backend(working_backend())

    from grouser.viewer.render_model import RenderModel

    (width, height), light = size, len(times) >= LONG
    scene = RenderModel(recording, field, width, height, samples=0 if light else 4)
    renderer = mujoco.Renderer(scene.model, height, width)
    try:
        for time in times:
            scene.place(float(time))
            _upload(renderer, scene, float(time))
            images = []
            for camera in cameras:
                pose = scene.camera_pose(camera, float(time), wheel)
                renderer.update_scene(scene.data, _camera(pose))
                renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = not light
                renderer.scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = False
                if forces:
                    scene.add_forces(renderer.scene, float(time))
                images.append(renderer.render())
            yield np.concatenate(images, axis=1)
    finally:
        renderer.close()


def _with_backend(backend: str) -> Any:
    """Make MuJoCo draw with this backend. It chooses one at import, which may already have happened."""
    os.environ["MUJOCO_GL"] = backend
    import mujoco
    from mujoco.rendering.classic import gl_context  # type: ignore[import-not-found]

    gl_context.GLContext = importlib.import_module(f"mujoco.{backend}").GLContext
    return mujoco


def _upload(renderer: Any, scene: Any, time: float) -> None:
    import mujoco

    heights, colours = scene.draw_ground(time)
    if heights or colours:
        context = renderer._mjr_context
        renderer._gl_context.make_current()
        mujoco.mjr_uploadHField(scene.model, context, 0)
        mujoco.mjr_uploadTexture(scene.model, context, scene.model.texture("ground").id)


def _camera(pose: Any) -> Any:
    """MuJoCo's free camera, given by a target, a distance and two angles. The horizon stays level."""
    import mujoco

    camera = mujoco.MjvCamera()
    ahead = pose.target - pose.position
    distance = float(np.linalg.norm(ahead))
    camera.type = mujoco.mjtCamera.mjCAMERA_FREE
    camera.lookat[:] = pose.target
    camera.distance = distance
    camera.azimuth = float(np.degrees(np.arctan2(ahead[1], ahead[0])))
    camera.elevation = float(np.degrees(np.arcsin(np.clip(ahead[2] / max(distance, 1e-9), -1, 1))))
    return camera


@contextmanager
def _writer(path: Path, kind: str, size: tuple[int, int], rate: float) -> Iterator[Callable[[np.ndarray], None]]:
    if kind == ".gif":
        with _gif(path, rate) as write:
            yield write
        return
    try:
        import imageio_ffmpeg
    except ModuleNotFoundError:
        raise InputError("videos need imageio-ffmpeg: pip install 'grouser[video]'") from None
    command = [
        imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-v", "error",
        "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r", f"{rate:g}", "-i", "-",
        "-an", "-pix_fmt", "yuv420p", *CODECS[kind], "-f", kind[1:], str(path),
    ]  # fmt: skip
    with tempfile.TemporaryFile() as said, subprocess.Popen(command, stdin=subprocess.PIPE, stderr=said) as packer:
        assert packer.stdin is not None
        pipe = packer.stdin

        def send(image: np.ndarray) -> None:
            pipe.write(np.ascontiguousarray(image).data)

        try:
            yield send
            pipe.close()
            failed = packer.wait() != 0
        except BrokenPipeError:  # the encoder ended before its input
            failed = True
            with suppress(BrokenPipeError):
                pipe.close()
        except BaseException:
            packer.kill()
            raise
        if failed:
            packer.wait()
            raise OSError(_encoder_error(said, packer.returncode))


def _encoder_error(said: Any, status: int) -> str:
    """Why the encoder ended, in one line."""
    said.seek(0)
    lines = said.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), f"ffmpeg ended with status {status}")


@contextmanager
def _gif(path: Path, rate: float) -> Iterator[Callable[[np.ndarray], None]]:
    from PIL import Image

    images: list[Image.Image] = []
    yield lambda image: images.append(Image.fromarray(image).quantize(96, dither=Image.Dither.NONE))
    if images:
        images[0].save(
            path,
            format="GIF",
            save_all=True,
            append_images=images[1:],
            duration=round(1000 / rate),
            loop=0,
            optimize=True,
        )
