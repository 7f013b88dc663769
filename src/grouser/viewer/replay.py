"""Self-contained HTML replay: opens from disk without Grouser; play, move in time, rotate the view."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import redirect_stdout
from html import escape
from io import StringIO

import numpy as np

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.viewer.access_control import STYLE, AccessControl, access_controlled
from grouser.viewer.cameras import FIELD_OF_VIEW, Cameras
from grouser.viewer.colours import FIELDS
from grouser.viewer.scene import Scene
from grouser.viewer.server import imported

RATE, FRAMES = 12.0, 900  # [Hz] pictures of a replay, and their largest number
GROUND_UPDATES = 120  # largest number of updates of the ground: they take most of the file size
STRIDE = 2  # every second node of the fine ground is drawn
FAR = 10.0  # half sizes of the robot: one that goes farther stays in the middle of the page, and the ground moves
SHORT = 0.04  # [s] after which a patch of ground that was replaced is removed
HOLD = 1.0  # [s] for which the last picture is shown


def replay(
    recording: Recording, field: str = "sinkage", progress: Callable[[int, int], None] = lambda done, total: None
) -> str:
    """Make the page. `progress` is called with the number of pictures done and the total."""
    viser = imported()
    if field not in FIELDS:
        raise InputError(f"ground by {field!r}: allowed are {', '.join(FIELDS)}")
    if not len(recording):
        raise InputError(f"{recording.path} has no frames: nothing to replay")
    times = picture_times(recording)
    faster = time_lapse(times)
    access = AccessControl("127.0.0.1", token="closed to all")  # the server only collects messages
    with redirect_stdout(StringIO()), access_controlled(access, _nobody):
        server = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    try:
        server.scene.world_axes.visible = False
        # A page holds every version of the ground: what is divided anew around the robot would make it too large.
        scene = Scene(recording, server.scene, stride=STRIDE, follows=False)
        scene.carried = goes_far(scene.cameras, times)
        scene.colour_by(field)
        middle = float(times[len(times) // 2])
        view = scene.cameras.camera_pose("follow", middle)
        origin = scene.cameras.place(middle) if scene.carried else np.zeros(3)
        server.initial_camera.position, server.initial_camera.look_at = view.position - origin, view.target - origin
        server.initial_camera.fov = FIELD_OF_VIEW
        serializer = server.get_scene_serializer()
        every = max(1, math.ceil(len(times) / GROUND_UPDATES))
        scene.path_period = max(scene.path_period, float(np.ptp(times)) / GROUND_UPDATES)
        for k, time in enumerate(times):
            last = k == len(times) - 1
            scene.show(float(time), ground=k % every == 0 or last)
            serializer.insert_sleep(SHORT)
            scene.tidy(0)
            shown = HOLD if last else float(times[k + 1] - time) / faster
            serializer.insert_sleep(max(shown, 2 * SHORT) - SHORT)
            progress(k + 1, len(times))
        page = serializer.as_html()
    finally:
        with redirect_stdout(StringIO()):
            server.stop()
    title = f"{recording.title}: replay" + (f", {faster:.0f} times as fast" if faster > 1 else "")
    return page.replace("<head>", f"<head><title>{escape(title)}</title>{STYLE}", 1)


def picture_times(recording: Recording, rate: float = RATE, most: int = FRAMES) -> np.ndarray:
    """Times [s] of the pictures, evenly spaced from the first frame to the last."""
    start, end = float(recording.time[0]), float(recording.time[-1])
    count = min(most, max(2, round((end - start) * rate) + 1)) if end > start else 1
    return np.linspace(start, end, count)


def time_lapse(times: np.ndarray) -> float:
    """How many times as fast as in the recording pictures follow each other, so that a long one moves smoothly too."""
    return max(1.0, RATE * float(times[1] - times[0])) if len(times) == FRAMES else 1.0


def goes_far(cameras: Cameras, times: np.ndarray) -> bool:
    """Whether the robot leaves what a camera sees that stands where the robot is in the middle of the recording."""
    middle = cameras.place(float(times[len(times) // 2]))
    away = max(float(np.linalg.norm(cameras.place(float(time)) - middle)) for time in times)
    return away > FAR * cameras.size


async def _nobody(connection: object) -> None:
    return
