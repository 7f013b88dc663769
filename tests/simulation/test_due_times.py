"""Controllers act in the step in which they are due, also after a long run."""

from __future__ import annotations

import mujoco

from grouser.simulation import Simulation

STEP = 0.001  # [s]
SHORT, LONG = 1, 19  # steps between two acts, in turn
ACTS = 20_000  # due times are sums of periods: rounded as often as this


class Notes:
    """Acts after 1 and after 19 steps in turn, and notes when."""

    def __init__(self) -> None:
        self.period = SHORT * STEP
        self.steps: list[int] = []

    def act(self, time, sensors, command) -> None:
        self.steps.append(round(time / STEP))
        self.period = (SHORT if len(self.steps) % 2 else LONG) * STEP

    def state(self) -> dict:
        return {}

    def reset(self, worlds) -> None:
        self.steps.clear()

    def channels(self) -> list:
        return []


def test_a_controller_is_never_a_step_late():
    spec = mujoco.MjSpec()
    spec.worldbody.add_body(name="ball").add_geom(size=[0.1, 0, 0])
    notes = Notes()
    sim = Simulation(spec, [], controllers=[notes], step=STEP)
    sim.step(ACTS // 2 * (SHORT + LONG))
    expected = [(SHORT + LONG) * (k // 2) + SHORT * (k % 2) for k in range(ACTS)]
    assert notes.steps == expected
