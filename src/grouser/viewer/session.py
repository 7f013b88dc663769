"""One browser: its own recording handle, scene, time and camera, and a thread that plays the recording."""

from __future__ import annotations

import threading
import time as clock
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.errors import InputError
from grouser.recording import Recording
from grouser.viewer.cameras import CAMERAS, FIELD_OF_VIEW
from grouser.viewer.motion import BODIES
from grouser.viewer.panel import Panel
from grouser.viewer.scene import Scene

if TYPE_CHECKING:
    import viser

    from grouser.viewer.server import View

PERIOD = 1 / 30  # [s] between two pictures
BUSY_SHARE = 0.2  # largest share of time that a session draws during a run, so as not to slow the run down
LOOK_PERIOD = 0.2  # [s] shortest time between two refreshes of a growing recording
LOOK_SHARE = 0.2  # largest share of time spent on refreshing, which takes longer for long recordings
GROWN = 1.3  # colours and arrows are rescaled when a run has become longer by this factor
LAG = 0.02  # [s] a live view stays behind the last frame, so that the ground is in the file too


class Session:
    """Plays one recording for one client until it disconnects."""

    def __init__(self, view: View, client: viser.ClientHandle):
        self.view, self.client, self.number = view, client, client.client_id
        self.recording = Recording(view.path)
        self.scene = Scene(self.recording, client.scene)
        self.scene.lay_picture(view.texture)
        self.camera, self.wheel = "follow", ""
        self.time = self.recording.time[0] if len(self.recording) else 0.0
        self.speed, self.playing = 1.0, False
        self.note, self.notice = "", view.note
        self._changes: list[Callable[[], Any]] = []
        self._lock, self._gone = threading.Lock(), threading.Event()
        self._dirty, self._look_at, self._scaled = True, 0.0, 0.0
        self._followed = np.zeros(3)  # [m] position of the main body in the last picture
        self._read_state()
        self.following = self.running
        if self.following:
            self.time = self.end
        if view.driver is not None:
            view.driver.add_widgets(self, client.gui)
        self.panel = Panel(self, client.gui, driving=view.driver is not None)
        client.camera.fov = FIELD_OF_VIEW
        self._move_camera(jump=True)
        self.thread = threading.Thread(target=self._play, name=f"viewer {self.number}", daemon=True)
        self.thread.start()

    # ---- what the recording says --------------------------------------------------------------------

    def _read_state(self) -> None:
        recording = self.recording
        self.status = recording.status
        self.running = self.status == "running"
        self.end = float(recording.time[-1]) if len(recording) else 0.0
        if not len(recording):
            self.note = "no frames yet" if self.running else "no frames"
        elif self.note.startswith("no frames"):
            self.note = ""
        main = self.scene.cameras.main
        if main and len(recording):
            self._path_times, points = self.scene.motion.path(main)
            steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
            self._path_length = np.concatenate([[0.0], np.cumsum(steps)])
        else:
            self._path_times, self._path_length = np.zeros(1), np.zeros(1)

    @property
    def length(self) -> float:
        """Path length [m] of the main body."""
        return float(self._path_length[-1])

    @property
    def travelled(self) -> float:
        """Path length [m] of the main body up to the time shown."""
        return float(np.interp(self.time, self._path_times, self._path_length))

    # ---- what the viewer asks for -------------------------------------------------------------------

    def change(self, action: Callable[[], Any]) -> None:
        """Have the drawing thread call `action` before the next picture."""
        with self._lock:
            self._changes.append(action)
            self._dirty = True

    def go(self, time: float) -> None:
        def moved() -> None:
            self.time = float(np.clip(time, 0.0, self.end))
            self.following = False

        self.change(moved)

    def go_along(self, distance: float) -> None:
        """Go to the time at which the main body had travelled `distance` [m]."""
        first = np.concatenate([[True], np.diff(self._path_length) > 0])
        self.go(float(np.interp(distance, self._path_length[first], self._path_times[first])))

    def step(self, frames: int) -> None:
        if len(self.recording):
            k, _ = self.scene.motion.frame(self.time + 1e-9)
            self.playing = False
            self.go(float(self.recording.time[int(np.clip(k + frames, 0, len(self.recording) - 1))]))

    def toggle(self) -> None:
        def toggled() -> None:
            self.playing = not self.playing
            if self.playing and self.time >= self.end and not self.running:
                self.time = 0.0

        self.change(toggled)

    def set_speed(self, speed: float) -> None:
        self.speed = speed

    def follow_run(self, follow: bool) -> None:
        self.change(lambda: setattr(self, "following", follow))

    def set_camera(self, camera: str) -> None:
        def chosen() -> None:
            self.camera = camera
            self._move_camera(jump=True)

        if camera in CAMERAS:
            self.change(chosen)

    def set_wheel(self, wheel: str) -> None:
        self.change(lambda: (setattr(self, "wheel", wheel), self._move_camera(jump=True)))

    def next_camera(self) -> None:
        self.set_camera(CAMERAS[(CAMERAS.index(self.camera) + 1) % len(CAMERAS)])

    def key(self, code: str) -> None:
        """Handle a key or button that was just pressed."""
        if code.startswith("Digit"):
            self.set_camera(CAMERAS[int(code[5:]) - 1])
        elif code in ("KeyC", "Pad3"):
            self.next_camera()
        elif code in ("KeyP", "Pad2"):
            self.toggle()
        elif code in ("Comma", "Period"):
            self.step(1 if code == "Period" else -1)

    # ---- drawing ------------------------------------------------------------------------------------

    def _move_camera(self, jump: bool = False) -> None:
        """Move the camera with the robot. A free camera moves only when it is chosen."""
        scene, camera = self.scene, self.client.camera
        if self.camera == "free" or not len(self.recording):
            if jump and self.camera != "free":
                self._set_camera(scene.cameras.camera_pose("follow", self.time))
            return
        body = self.wheel or (scene.cameras.wheels or [scene.cameras.main])[0]
        if self.camera == "follow" and not jump:  # keep the distance and direction that the user chose
            at = scene.motion.poses(BODIES, self.time)[scene.motion.bodies.index(scene.cameras.main)][:3]
            moved = at - self._followed
            self._followed = at
            if np.linalg.norm(moved) > 1e-6:
                camera.position, camera.look_at = camera.position + moved, camera.look_at + moved
            return
        if scene.motion.bodies:
            places = scene.motion.poses(BODIES, self.time)
            self._followed = places[scene.motion.bodies.index(scene.cameras.main)][:3]
        self._set_camera(scene.cameras.camera_pose(self.camera, self.time, body))

    def _set_camera(self, pose: Any) -> None:
        camera = self.client.camera
        camera.up_direction = pose.up
        camera.position, camera.look_at = pose.position, pose.target

    def _play(self) -> None:
        last = clock.perf_counter()
        while not self._gone.is_set():
            now = clock.perf_counter()
            passed, last = now - last, now
            try:
                self._tick(now, passed)
            except InputError as error:  # the file was removed or replaced
                self.note = str(error)
                self.panel.show()
                break
            except Exception as error:
                if self._gone.is_set():
                    break
                self.note = f"{type(error).__name__}: {error}"
                self.panel.show()
                raise
            took = clock.perf_counter() - now
            period = max(PERIOD, took / BUSY_SHARE) if self.running else PERIOD
            self._gone.wait(max(0.001, period - took))
        self.recording.close()

    def _tick(self, now: float, passed: float) -> None:
        with self._lock:
            changes, self._changes = self._changes, []
            dirty, self._dirty = self._dirty, False
        if self.running and now > self._look_at:
            had, empty = self.end, not len(self.recording)
            self.recording.refresh()
            self._read_state()
            if empty and len(self.recording):
                self.scene.begin()
                self._move_camera(jump=True)
            if self.end > GROWN * self._scaled or not self.running:
                self._scaled = self.end
                self.scene.rescale()
            took = clock.perf_counter() - now
            self._look_at = now + max(LOOK_PERIOD, took / LOOK_SHARE)
            dirty = dirty or self.end != had or not self.running
        for action in changes:
            action()
        if self.following and self.running:
            behind = self.end - LAG
            if behind > self.time:
                self.time, dirty = min(self.time + self._catch_up(behind, passed), behind), True
        elif self.following:
            self.time, self.following, dirty = self.end, False, True
        elif self.playing:
            self.time = min(self.time + passed * self.speed, self.end)
            self.playing = self.time < self.end or self.running
            dirty = True
        if dirty:
            self.draw()
        else:
            self.scene.tidy()

    def _catch_up(self, behind: float, passed: float) -> float:
        """Time [s] to advance when following a run: a fifth of the gap per picture, but at least real time.

        Frames arrive in blocks; this makes the motion smooth.
        """
        return max(passed, 0.2 * (behind - self.time))

    def draw(self) -> None:
        with self.client.atomic():
            self.scene.show(self.time)
            self._move_camera()
        self.panel.show()
        self.panel.plots.show()

    def close(self) -> None:
        self._gone.set()
