"""The control panel of one browser: time, camera, colours, forces, paths, plots."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from grouser.recording import Recording
from grouser.recording.selection import axis_names
from grouser.viewer.cameras import CAMERAS
from grouser.viewer.colours import FIELDS, legend

if TYPE_CHECKING:
    import viser

    from grouser.viewer.session import Session

SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5", "10")
PATH_STYLES = ("lines", "vectors", "none")
PLOT_POINTS = 800
CURVES = 8
CURVE_COLOURS = ("#2b6c99", "#d1543f", "#3f8f5f", "#e0a030", "#7a5ba6", "#5a6b78", "#1c9aa8", "#b0577f")
KEYS = (
    "**Keys**: P play and pause, comma and full stop step, 1 to 5 cameras, C next camera. "
    "Gamepad: Y next camera, X play and pause."
)


class Panel:
    def __init__(self, session: Session, gui: viser.GuiApi, driving: bool):
        self.session, self.gui = session, gui
        mark = ' data-driving="1"' if driving else ""
        gui.add_html(f'<span id="grouser-viewer" data-viewer="{session.number}"{mark}></span>')
        self.state = gui.add_html("")
        self._time_widgets()
        self._view_widgets()
        with gui.add_folder("Plots", expand_by_default=not driving):
            self.plots = Plots(session, gui)
        with gui.add_folder("Keys", expand_by_default=False):
            gui.add_markdown(KEYS)

    def _time_widgets(self) -> None:
        session, gui = self.session, self.gui
        end = max(session.end, 1e-3)
        with gui.add_folder("Time"):
            self.time = gui.add_slider("time [s]", 0.0, end, 0.001, min(session.time, end))
            length = max(session.length, 1e-3)
            self.distance = gui.add_slider("distance [m]", 0.0, length, 0.001, 0.0, hint="along its path")
            self.play = gui.add_button("Pause" if session.playing else "Play")
            self.steps = gui.add_button_group("step", ("« 1 s", "‹ frame", "frame ›", "1 s »"))
            self.speed = gui.add_dropdown("speed", SPEEDS, initial_value="1")
            self.live = gui.add_checkbox("follow the run", session.following, visible=session.running)
        self.time.on_update(lambda event: session.go(self.time.value) if event.client else None)
        self.distance.on_update(lambda event: session.go_along(self.distance.value) if event.client else None)
        self.play.on_click(lambda _: session.toggle())
        self.steps.on_click(lambda _: self._step(self.steps.value))
        self.speed.on_update(lambda _: session.set_speed(float(self.speed.value)))
        self.live.on_update(lambda event: session.follow_run(self.live.value) if event.client else None)

    def _step(self, words: str) -> None:
        if "frame" in words:
            self.session.step(1 if "›" in words else -1)
        else:
            self.session.go(self.session.time + (1.0 if "»" in words else -1.0))

    def _view_widgets(self) -> None:
        session, gui, scene = self.session, self.gui, self.session.scene
        with gui.add_folder("View"):
            self.camera = gui.add_dropdown("camera", CAMERAS, initial_value=session.camera)
            wheels = tuple(scene.cameras.wheels) or ("-",)
            self.wheel = gui.add_dropdown("wheel", wheels, visible=len(wheels) > 1)
            self.field = gui.add_dropdown(
                "ground by", FIELDS, initial_value=scene.field, visible=scene.ground is not None
            )
            self.legend = gui.add_html(legend(scene.scale()) if scene.ground else "")
            size = scene.texture.size if scene.texture else 0.0
            self.texture = gui.add_slider("texture [m]", 0.0, 2.0, 0.05, size, visible=scene.ground is not None)
            self.forces = gui.add_checkbox("forces", scene.forces_shown, visible=bool(scene.motion.arrows))
            self.paths = gui.add_dropdown(
                "paths", PATH_STYLES, initial_value=scene.path_style, visible=bool(scene.motion.arrows)
            )
        self.camera.on_update(lambda event: session.set_camera(self.camera.value) if event.client else None)
        self.wheel.on_update(lambda _: session.set_wheel(self.wheel.value))
        self.field.on_update(lambda _: session.change(lambda: scene.colour_by(self.field.value)))
        self.texture.on_update(lambda _: session.change(lambda: scene.lay_texture(self.texture.value)))
        self.forces.on_update(lambda _: session.change(lambda: setattr(scene, "forces_shown", self.forces.value)))
        self.paths.on_update(lambda _: session.change(lambda: scene.show_paths(self.paths.value)))

    def show(self) -> None:
        """Update the widgets that changed since the last call."""
        session = self.session
        words = f"{session.recording.title} · {session.status}"
        words += "".join(f" · {note}" for note in (session.note, session.notice) if note)
        _set(self.state, "content", f'<div style="margin:4px 12px;font-size:12px">{_escaped(words)}</div>')
        _set(self.time, "max", max(round(session.end, 6), 1e-3))
        _set(self.time, "value", min(round(session.time, 6), self.time.max))
        _set(self.distance, "max", max(round(session.length, 6), 1e-3))
        _set(self.distance, "value", min(max(round(session.travelled, 6), 0.0), self.distance.max))
        _set(self.play, "label", "Pause" if session.playing else "Play")
        _set(self.live, "visible", session.running)
        _set(self.live, "value", session.following)
        _set(self.camera, "value", session.camera)
        _set(self.legend, "content", legend(session.scene.scale()) if session.scene.ground else "")


class Plots:
    """Plots of chosen channels. Curves are thinned, so that the cost does not depend on the length of the run."""

    def __init__(self, session: Session, gui: viser.GuiApi):
        self.session, self.gui = session, gui
        names = [name for name in session.recording.names() if plottable(session.recording, name)]
        self.names = tuple(names) or ("-",)
        self.shown: dict[str, Any] = {}
        first = next((n for n in ("soil/sinkage", "soil/force", "actuator/force", "joint/velocity") if n in names), "")
        self.choice = gui.add_dropdown("channel", self.names, initial_value=first or self.names[0])
        self.button = gui.add_button("Add or remove plot")
        self.folder = gui.add_folder("curves", expand_by_default=True)
        self.button.on_click(lambda _: session.change(lambda: self.toggle(self.choice.value)))
        self._until = (-1.0, -1)
        if first:
            self.toggle(first)

    def toggle(self, name: str) -> None:
        if name in self.shown:
            self.shown.pop(name).remove()
        elif name != "-":
            data, labels = curves(self.session.recording, name)
            unit = self.session.recording.channel_info(name).unit
            styled = zip(labels, CURVE_COLOURS, strict=False)
            series = ({"label": "t"}, *({"label": label, "stroke": colour, "width": 1.5} for label, colour in styled))
            with self.folder:
                self.shown[name] = self.gui.add_uplot(
                    data, cast(Any, series), title=f"{name} [{unit}]", scales={"x": {"time": False}}, height=170,
                    legend={"show": len(labels) < 5},
                )  # type: ignore[arg-type]  # fmt: skip

    def show(self) -> None:
        """Extend the curves if the recording has grown."""
        until = (self.session.end, len(self.session.recording))
        if until != self._until:
            self._until = until
            for name, plot in self.shown.items():
                plot.data = curves(self.session.recording, name)[0]


def plottable(recording: Recording, name: str) -> bool:
    channel = recording.channel_info(name)
    return channel.kind == "fixed" and len(channel.shape) <= 2


def curves(recording: Recording, name: str) -> tuple[tuple[np.ndarray, ...], list[str]]:
    """Time [s] and up to CURVES curves of a channel, (n,) each, and the names of the curves."""
    channel = recording.channel_info(name)
    stride = max(1, -(-len(recording) // PLOT_POINTS))
    values = recording.read(name, slice(None, None, stride))
    values = values if recording.worlds == 1 else values[:, 0]
    time = recording.time[::stride]
    if not len(time):
        time, values = np.zeros(1), np.full((1, *channel.shape), np.nan)
    labels = [name.rsplit("/", 1)[-1]]
    if channel.shape:
        labels = [str(label) for label in axis_names(channel, 0)]
        if len(channel.shape) == 2:
            parts = axis_names(channel, 1)
            size = np.linalg.norm(values, axis=2) if channel.shape[1] == 3 else None
            if size is not None and len(labels) > 2:
                values = size  # magnitudes: three components for each of six wheels are too many curves
            else:
                labels = [f"{label} {part}" for label in labels for part in parts]
    flat = values.reshape(len(values), -1)[:, :CURVES]
    return (time, *(np.ascontiguousarray(column) for column in flat.T)), labels[:CURVES]


def _set(handle: Any, name: str, value: Any) -> None:
    """Set an attribute only if it changes, so that nothing is sent needlessly."""
    if getattr(handle, name) != value:
        setattr(handle, name, value)


def _escaped(text: str) -> str:
    from html import escape

    return escape(text)
