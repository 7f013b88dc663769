"""`grouser drive`: a run that a person drives from a browser. It is recorded like any other run."""

from __future__ import annotations

import dataclasses
import threading
from pathlib import Path
from typing import Any

import numpy as np

from grouser.commands import driven_machines, progress
from grouser.commands import run as running
from grouser.commands.console import print_outcome
from grouser.commands.drive_robot import RobotDrive
from grouser.commands.robot import SCENARIO as ROBOT
from grouser.commands.view import ViewProcess
from grouser.control.driver import Driver, DriverInput
from grouser.errors import InputError
from grouser.recording import Recording
from grouser.scenarios.scenario import metric, soil_map
from grouser.scenarios.settings import Experiment, from_command
from grouser.simulation import Simulation

RATE = 25.0  # [Hz] frames recorded and shown
DELAY = 0.08  # [s] after which frames are in the file
LONGEST = 3600.0  # [s]
NOTE_PERIOD = 1.0  # [s] between two notes about the pace
SLOW = 0.97  # pace below which a run falls behind
ON_SOIL = (ROBOT, "rover-course", "rocks-and-sand")  # scenarios with ground that deforms
# Path in place of the scenario's own. It sizes the ground: 13 m x 10 m around the start can be driven on.
FIELD = ((0.0, 0.0), (2.0, 0.0), (9.0, 0.0), (9.0, 5.0), (0.0, 5.0), (-4.0, 0.0), (0.0, -5.0), (9.0, -5.0))


class DriveSession:
    """Passes requests of the page from the view process to the run. A session may have several runs in sequence."""

    def __init__(self, target: str, options: list[str], robot: RobotDrive | None = None):
        self.target, self.options, self.robot = target, list(options), robot
        self.input: Driver | None = None
        self.view: ViewProcess | None = None
        self.next_options: list[str] | None = None  # settings of the next run
        self.speed, self.stopped = 1.0, False
        self.switched: dict[str, str] = {}  # switches as the driver has set them
        self._over = threading.Event()

    def on_message(self, message: dict[str, Any]) -> None:
        """Handle a message of the page. Called by the thread that listens to the view."""
        wheel = self.input
        if "speed" in message:
            self.speed = float(message["speed"])
        if "switch" in message:
            self.switched.update([message["switch"]])
        if wheel is None:
            return
        self.set_up(wheel)
        if "drive" in message:
            wheel.take(*message["drive"])
        elif "end" in message:
            wheel.end("ended by the driver")
            if self.stopped:
                self._over.set()
        elif "reset" in message:
            self._restart_with(message["reset"])

    def set_up(self, wheel: Driver) -> None:
        """Set speed and switches of a run as the driver has chosen them."""
        wheel.share_of_speed = self.speed
        for name, position in self.switched.items():
            wheel.switch(name, position)

    def _restart_with(self, changes: dict[str, str]) -> None:
        """Restart with changed settings. If they are not valid, the page says so and the run continues."""
        kept = [option for option in self.options if option.split("=", 1)[0] not in changes]
        options = [*kept, *(f"{name}={value}" for name, value in changes.items())]
        try:
            from_command(self.target, options)
        except InputError as error:
            self.show_note(str(error).splitlines()[0])
            return
        self.next_options = options
        if self.input is not None:
            self.input.end("restarted by the driver")

    def wait_after(self, message: str) -> None:
        """Keep showing a stopped run until the driver restarts it or ends the session."""
        self.stopped = True
        self.show_note(f"{message}: restart (R) or end")
        while self.next_options is None and not self._over.wait(0.1):
            pass
        self.stopped = False

    def show_note(self, note: str) -> None:
        if self.view is not None:
            self.view.send(note=note)

    def report_pace(self) -> None:
        """Show the real-time factor once a second."""
        while not self._over.wait(NOTE_PERIOD):
            wheel = self.input
            if wheel is not None and wheel.pace == wheel.pace and not self.stopped:
                slow = wheel.pace < SLOW
                self.show_note(f"{wheel.pace:.2f} x real time" + (": the simulation falls behind" if slow else ""))

    def close(self) -> None:
        self._over.set()
        if self.view is not None:
            self.view.close()


def drive(
    target: str,
    options: list[str],
    out: Path | None,
    host: str,
    port: int,
    token: str | None,
    time: float,
    robot: RobotDrive | None = None,
) -> int:
    """Run until the driver ends it, Ctrl-C, or `time` [s]. Each restart makes a new recording."""
    from grouser.quiet_warp import start_warp
    from grouser.viewer.access_control import check_host_is_local

    check_host_is_local(host)
    start_warp()
    session = DriveSession(target, options, robot)

    def show(path: Path) -> None:
        if session.view is None:
            controls = controls_of(session.input, experiment.settings)
            session.view = ViewProcess(path, host, port, token, on_message=session.on_message, controls=controls)
            print(f"drive at {session.view.wait()}  (Ctrl-C ends)", flush=True)
            threading.Thread(target=session.report_pace, daemon=True).start()
        else:
            session.view.send(path=str(path))

    experiment = with_driver(from_command(target, options), session, time)
    base = out
    number, status = 1, 0
    try:
        while True:
            folder = base if number == 1 or base is None else base.with_name(f"{base.name}-{number}")
            with progress.progress_bar(experiment.scenario.name, time) as bar:
                outcome = running.execute(experiment, out=folder, report=False, progress=bar, watch=show, delay=DELAY)
            base = base or outcome.folder
            print_outcome(outcome)
            status = outcome.exit_status
            if outcome.stop is not None and session.next_options is None:
                session.wait_after(outcome.message)
            if session.next_options is None:
                return status
            session.options, session.next_options = session.next_options, None
            experiment = with_driver(from_command(target, session.options), session, time)
            number += 1
    finally:
        session.close()


def controls_of(driver: Driver | None, settings: Any) -> dict[str, Any]:
    """What the page of a drive offers: switches, driving sideways, and settings for the next start."""
    named = {name: getattr(settings, name, None) for name in ("soil", "slope_deg")}
    return {
        "switches": dict(driver.switches) if driver else {},
        "aside": isinstance(driver, DriverInput),
        "settings": [name for name, value in named.items() if value is not None and not hasattr(value, "stiffness")],
    }


def with_driver(experiment: Experiment, session: DriveSession, time: float) -> Experiment:
    """The same scenario with a driver instead of its path follower. Metrics that need the path are left out."""
    scenario, settings = experiment.scenario, experiment.settings
    default = getattr(scenario.settings(), "waypoints", None)
    if default is not None and getattr(settings, "waypoints", None) == default:
        settings = settings.model_copy(update={"waypoints": FIELD})

    def build(chosen: Any) -> Simulation:
        if scenario.name == ROBOT:
            sim, session.input = (session.robot or RobotDrive()).build(scenario, chosen)
        else:
            sim, session.input = driven_machines.build(scenario, chosen)
        session.set_up(session.input)
        return sim

    return Experiment(
        dataclasses.replace(
            scenario, name=f"{scenario.name}-drive", build=build, duration=lambda _: time, rate=RATE,
            metrics=lambda _: METRICS, measure=lambda _, recording: measure(recording),
            figures=lambda chosen: figures(
                has_ground=scenario.name in ON_SOIL or getattr(chosen, "plastic", None) is not None,
                path="robot/position" if scenario.name == ROBOT else "body/pose[chassis]",
            ),
        ),
        settings,
    )  # fmt: skip


METRICS = [
    metric("distance_m", "m", "path length of the chassis' origin, or of your robot's centre of mass, seen from above"),
    metric("real_time_factor", "1", "simulated time over wall time of the loop; 1 is real time"),
]


def measure(recording: Recording) -> dict[str, Any]:
    labels = recording.channel_info("body/pose").labels
    body = next((name for name in labels if name.endswith(("chassis", "hull"))), labels[0])
    path = recording["robot/position" if "robot/position" in recording.names() else f"body/pose[{body}]"][:, :2]
    return {"distance_m": float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())}


def figures(has_ground: bool, path: str = "body/pose[chassis]") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {
            "name": "driver", "title": "Commands of the driver", "kind": "lines", "y": ["driver/share"],
            "ylabel": "share of the maximum [1]", "caption": "Forward, turn to the left, sideways to the left.",
        },
    ]  # fmt: skip
    if has_ground:
        found.append(soil_map("Height above the undisturbed surface.", [path]))
    return found
