"""Driving from the page: converts keys and sticks to fractions of full speed and turn, and sends them to the run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import viser

    from grouser.viewer.session import Session

FORWARD, BACK = {"KeyW", "ArrowUp"}, {"KeyS", "ArrowDown"}
LEFT, RIGHT = {"KeyA", "ArrowLeft"}, {"KeyD", "ArrowRight"}
ASIDE_LEFT, ASIDE_RIGHT = "KeyQ", "KeyE"
BRAKE = "Space"
RIGHT_TRIGGER, LEFT_TRIGGER, START = 7, 6, 9  # buttons of the standard gamepad
KEYS = (
    "**W A S D**, arrows or the buttons on the left drive, {aside}**space** stops, **R** restarts, **C** next camera. "
    "Gamepad: left stick steers, triggers or right stick drive, start restarts, Y next camera."
)
ASIDE = "**Q E** crab sideways, "
LABELS = {"soil": "soil", "slope_deg": "slope [degree]"}  # settings that a page can change
SAME = "as it is"


class Toggle(NamedTuple):
    """A key and a button that set a switch to a position, and back."""

    key: str
    button: int  # of the standard gamepad
    switch: str
    position: str
    back: str
    words: str


TOGGLES = (
    Toggle("KeyB", 0, "carriers", "brake", "none", "**B** (gamepad A) brakes the carriers"),
    Toggle("KeyL", 1, "carriers", "lock", "none", "**L** (gamepad B) locks them"),
    Toggle("KeyB", 0, "blade", "down", "up", "**B** (gamepad A) lowers and raises the blade"),
    Toggle("KeyT", 4, "traction_control", "off", "on", "**T** (left bumper) switches traction control"),
)


class PageDriver:
    """Sends drivers' input to the run. If several pages drive, the last input counts."""

    def __init__(
        self,
        send: Callable[[dict[str, Any]], None],
        switches: Mapping[str, Sequence[str]] | None = None,
        *,
        aside: bool = True,
        settings: Sequence[str] = tuple(LABELS),
    ):
        """`switches`: what can be switched, and its positions, the first at the start. `aside`: it drives sideways.

        `settings`: those of LABELS that the scenario has.
        """
        self.settings = tuple(settings)
        self.keys = KEYS.format(aside=ASIDE if aside else "")
        self.send, self.switches = send, {name: tuple(positions) for name, positions in (switches or {}).items()}
        self.positions = {name: positions[0] for name, positions in self.switches.items()}
        self.toggles = tuple(toggle for toggle in TOGGLES if toggle.switch in self.switches)
        self._shown: dict[str, list[Any]] = {name: [] for name in self.switches}  # widgets of all pages
        self._lock, self._last = threading.Lock(), (0.0, 0.0, 0.0)

    def take(self, keys: set[str], pad: dict[str, Any] | None) -> None:
        shares = sticks(keys, pad)
        with self._lock:
            changed, self._last = shares != self._last, shares
        if changed or any(shares):  # held keys are sent repeatedly: without messages the robot stops
            self.send({"drive": list(shares)})

    def pressed(self, code: str) -> None:
        if code in ("KeyR", f"Pad{START}"):
            self.send({"reset": {}})
        for toggle in self.toggles:
            if code in (toggle.key, f"Pad{toggle.button}"):
                already = self.positions[toggle.switch] == toggle.position
                self.switch(toggle.switch, toggle.back if already else toggle.position)

    def switch(self, name: str, position: str) -> None:
        """Set a switch, and show it on all pages."""
        self.positions[name] = position
        self.send({"switch": [name, position]})
        for widget in self._shown[name]:
            if widget.value != position:
                widget.value = position

    def add_widgets(self, session: Session, gui: viser.GuiApi) -> None:
        with gui.add_folder("Drive"):
            gui.add_markdown(" ".join([self.keys, *(f"{toggle.words}." for toggle in self.toggles)]))
            for name in self.switches:
                self._add_switch(gui, name)
            speed = gui.add_slider("speed", 0.1, 1.0, 0.05, 1.0, hint="share of the maximum speed")
            again = gui.add_button("Restart")
            asked = {name: gui.add_text(LABELS[name], SAME, hint="for the next start") for name in self.settings}
            over = gui.add_button("End the drive")
        speed.on_update(lambda _: self.send({"speed": float(speed.value)}))

        def reset(_: Any) -> None:
            given = {name: text.value.strip() for name, text in asked.items()}
            self.send({"reset": {name: value for name, value in given.items() if value and value != SAME}})

        again.on_click(reset)
        over.on_click(lambda _: self.send({"end": True}))

    def _add_switch(self, gui: viser.GuiApi, name: str) -> None:
        widget = gui.add_dropdown(name.replace("_", " "), self.switches[name], initial_value=self.positions[name])
        self._shown[name].append(widget)
        widget.on_update(lambda event: self.switch(name, widget.value) if event.client else None)


def sticks(keys: set[str], pad: dict[str, Any] | None) -> tuple[float, float, float]:
    """Commands from keys and gamepad: forward, turn to the left, sideways to the left, each -1 to 1."""
    if BRAKE in keys:
        return 0.0, 0.0, 0.0
    forward = float(bool(keys & FORWARD)) - float(bool(keys & BACK))
    turn = float(bool(keys & LEFT)) - float(bool(keys & RIGHT))
    aside = float(ASIDE_LEFT in keys) - float(ASIDE_RIGHT in keys)
    if pad is not None:
        axes, buttons = [*pad["axes"], 0.0, 0.0, 0.0, 0.0], [*pad["buttons"], *[0.0] * 16]
        forward += buttons[RIGHT_TRIGGER] - buttons[LEFT_TRIGGER] - axes[3]
        turn -= axes[0]
        aside -= axes[2]
    return tuple(min(max(value, -1.0), 1.0) for value in (forward, turn, aside))  # type: ignore[return-value]
