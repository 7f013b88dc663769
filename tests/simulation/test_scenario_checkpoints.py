"""Every scenario continues bit for bit from a checkpoint: where it was taken, and from a file in a fresh process."""

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grouser.contact.revolution import RevolutionContact
from grouser.scenarios.registry import NAMES, scenario
from grouser.simulation import Simulation
from grouser.simulation.checkpoint_file import load, save

ROOT = Path(__file__).parents[2]
WALL_CLOCK = ("cost/increase",)  # channels that hold measured time


@dataclass(frozen=True)
class Moment:
    """A scenario, and when its checkpoint is taken."""

    name: str
    before: int = 150  # steps
    after: int = 100  # steps that are compared
    settings: dict[str, Any] = field(default_factory=dict)

    def build(self) -> Simulation:
        found = scenario(self.name)
        return found.build(found.settings(**self.settings))


# 10.5 s: gravity turns from one step to the next, 1 s after the slope of the second trial begins to rise.
TILTING = Moment(
    "exomars-gradeability", before=2625,
    settings={"trials": 2, "starts": 1, "approach": 2.5, "length": 0.02, "window": 0.01, "step": 4e-3,
              "slope_step_deg": 10.0, "stated_slope_deg": 10.0, "spacing": 0.02},
)  # fmt: skip
LOCKING = Moment("docking-olev", before=21_000, after=2000)  # 42 s: the boom waits, the crown spreads in the nozzle
MOMENTS = [*(Moment(name) for name in NAMES), TILTING, LOCKING]
SHORT = ("docking-olev", "plate-sinkage", "single-wheel", "vivi-jump")


def cases() -> list[Any]:
    """The short ones run with every test."""
    out = []
    for moment in MOMENTS:
        quick = moment.name in SHORT and moment is not LOCKING
        name = f"{moment.name} at step {moment.before}"
        out.append(pytest.param(moment, id=name, marks=[] if quick else [pytest.mark.long]))
    return out


def everything(sim: Simulation) -> dict[str, Any]:
    """The complete state, and all that can be recorded, under names."""
    found: dict[str, Any] = {}
    for part, value in sim.checkpoint().items():
        groups = value if isinstance(value, list) else [value]
        for k, group in enumerate(groups):
            named = group.items() if isinstance(group, dict) else [("", group)]
            found.update({f"{part} {k} {name}": entry for name, entry in named})
    for k, module in enumerate(sim.modules):
        if isinstance(module, RevolutionContact):  # how many points were tried depends on when near ones were listed
            del found[f"modules {k} elements/mapped"]
    for channel in sim.channels():
        if channel.name not in WALL_CLOCK:
            assert channel.read is not None
            found[channel.name] = np.array(channel.read())
    return found


def assert_same_bits(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    assert [name for name in one if not same(one[name], other[name])] == []


def same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    one, other = np.asarray(one), np.asarray(other)
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


@pytest.mark.parametrize("moment", cases())
def test_a_scenario_continues_from_its_checkpoint_bit_for_bit(moment, tmp_path):
    sim = moment.build()
    sim.step(moment.before)
    saved = sim.checkpoint()
    sim.save(tmp_path / "before")
    sim.step(moment.after)
    straight = everything(sim)
    sim.restore(saved)
    sim.step(moment.after)
    assert_same_bits(everything(sim), straight)
    fresh = [
        sys.executable,
        "-m",
        __name__,
        str(MOMENTS.index(moment)),
        str(tmp_path / "before"),
        str(tmp_path / "after"),
    ]
    subprocess.run(fresh, cwd=ROOT, check=True)
    assert_same_bits(load(tmp_path / "after"), straight)


def continue_here(number: int, before: Path, after: Path) -> None:
    """In a process of its own: go on from the file `before` and write all there is then to `after`."""
    moment = MOMENTS[number]
    sim = moment.build()
    sim.load(before)
    sim.step(moment.after)
    save(everything(sim), after)


GROWING = pytest.param("key of the boom's stiffness", 3000, 0, id="boom")  # 6 s: it grows by a millimetre in 44 steps
SPREADING = pytest.param("key of the crown's section", 20_500, 6, id="crown", marks=pytest.mark.long)  # 41 s


@pytest.mark.parametrize(("what", "before", "controller"), [GROWING, SPREADING])
def test_each_step_can_be_taken_again_while_a_shape_changes(what, before, controller):
    """Stiffness and section follow the joints in stages, each a step after the joints have got there."""
    sim = Moment("docking-olev").build()
    sim.step(before)
    first = sim.controllers[controller].state()["key"].copy()
    for _ in range(50):
        saved = sim.checkpoint()
        sim.step(1)
        straight = everything(sim)
        sim.restore(saved)
        sim.step(1)
        assert_same_bits(everything(sim), straight)
    assert sim.controllers[controller].state()["key"] != first, what


if __name__ == "__main__":
    continue_here(int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
