"""A scenario without an engine: a mass on a spring, x = cos(w t), that can be told to stop or to break."""

from __future__ import annotations

import sys
import time
import types
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from grouser.errors import InputError, RunStopped
from grouser.module import Channel
from grouser.scenarios import registry
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Scenario, Settings
from grouser.scenarios.settings import SoilChoice

NAME = "fake-rig"
LONG = 3600.0  # [s] in which somebody kills or interrupts it


class Wheel(Settings):
    radius: Annotated[float, Field(gt=0), Unit("m")] = 0.5
    width: Annotated[float, Field(gt=0), Unit("m")] = 0.1


class FakeSettings(Settings):
    soil: SoilChoice = SoilChoice(name="dry-sand", k_c=1000)
    wheel: Wheel = Wheel(radius=0.15)
    mode: Literal["towed", "driven", "forced-slip"] = "towed"
    scheme: Literal["implicit", "explicit"] = "implicit"
    slip: float = Field(0.1, ge=-1, le=1)
    step: Annotated[float, Field(gt=0), Unit("s")] | Literal["auto"] = "auto"
    erosion: bool = True
    window: tuple[float, float] | None = None
    duration: Annotated[float, Field(gt=0), Unit("s")] = 1.0
    frequency: float = 1.0
    expected_end: float | None = 1.0
    event: Literal["none", "stop", "break", "sleep", "wait", "full", "refuse", "memory"] = "none"
    plotted: str = "ball/x"
    rows: int = 0  # numbers more in a frame


class FakeSimulation:
    step_size = 0.01
    terrain = ground = None
    worlds = 1
    tile_rate = 5.0
    modules = ()

    def __init__(self, settings: FakeSettings):
        if settings.event == "refuse":
            raise InputError("fake-rig: event = 'refuse': the model cannot be built")
        self.waited, self.sensors = False, {}
        self.settings, self.time, self.notes = settings, 0.0, ["the ball takes over from MuJoCo"]

    def geometry(self) -> dict[str, Any]:
        return {}

    def shapes(self):
        return []

    def channels(self) -> list[Channel]:
        return [
            Channel(
                "ball/x",
                "m",
                read=lambda: np.array([np.cos(2 * np.pi * self.settings.frequency * self.time)]),
            ),
            Channel("ball/more", "m", (self.settings.rows,), read=lambda: np.zeros((1, self.settings.rows))),
        ][: 1 + (self.settings.rows > 0)]

    def step(self, count: int = 1) -> None:
        self.time = round(self.time + count * self.step_size, 9)

    def run(self, duration: float, writer: Any = None, rate: float = 100.0, progress: Any = None, **_: Any) -> None:
        writer.append(self.time)
        while self.time < duration - 1e-9:
            self.step()
            writer.append(self.time)
            if progress:
                progress(self.time)
            if self.time >= duration / 2:
                self.happen(writer)

    def happen(self, writer: Any) -> None:
        event = self.settings.event
        if event == "stop":
            raise RunStopped("it flew away", module="spring", body="ball", time=self.time)
        if event == "full":
            raise RunStopped("cannot write: No space left on device", module="recording", body="-", time=self.time)
        if event == "memory":
            raise MemoryError("Unable to allocate 8.00 EiB for an array")
        if event == "break":
            raise ZeroDivisionError("a bug")
        if event == "sleep":
            writer.flush()
            print("half way", flush=True)
            time.sleep(LONG)
        if event == "wait" and not self.waited:
            self.waited = True
            writer.flush()
            print("half way", flush=True)
            sys.stdin.readline()


def metrics(settings: FakeSettings) -> list[dict[str, Any]]:
    return [
        {"name": "end_m", "unit": "m", "definition": "x at the end", "expected": settings.expected_end,
         "tolerance": {"abs": 1e-6}, "source": "x = cos(w t)"},
        {"name": "soil_k_c", "unit": "N/m^(n+1)", "definition": "k_c", "expected": None, "tolerance": None,
         "source": None},
        {"name": "real_time_factor", "unit": "1", "definition": "t / wall", "expected": 1e9,
         "tolerance": {"rel": 0.1}, "source": None},
    ]  # fmt: skip


def figures(settings: FakeSettings) -> list[dict[str, Any]]:
    return [
        {"name": "x", "title": "Position", "kind": "lines", "x": "time", "y": [settings.plotted],
         "xlabel": "t [s]", "ylabel": "x [m]", "window": None, "caption": "The ball."}
    ]  # fmt: skip


def measure(settings: FakeSettings, recording: Any) -> dict[str, Any]:
    if recording.time[-1] < settings.duration - 1e-9:
        raise InputError("too short to measure")
    return {"end_m": recording["ball/x"][-1], "soil_k_c": settings.soil.resolve().k_c}


SCENARIO = Scenario(
    NAME, "A mass on a spring.", "no paper", FakeSettings, metrics, figures,
    build=FakeSimulation, duration=lambda settings: settings.duration, measure=measure,
)  # fmt: skip


def install(alone: bool = True) -> None:
    """Make the rig known as a scenario of this process, `alone` or beside all others."""
    module = types.ModuleType("grouser.scenarios.fake_rig")
    module.SCENARIO = SCENARIO
    sys.modules[module.__name__] = module
    registry.NAMES = (NAME,) if alone else (NAME, *registry.NAMES)


if __name__ == "__main__":
    install()
    from grouser.cli import main

    main()
