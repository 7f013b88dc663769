"""The state of the soil is complete: put into a fresh module, it continues the run bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from grouser.contact.soil import SoilModule, SoilOptions, prepare, wheel
from grouser.contact.soil import types as t
from grouser.contact.soil.elements import EMPTY
from grouser.contact.soil.layout import LAYOUTS, kept, laid_out
from grouser.device import array
from grouser.errors import InputError
from grouser.simulation.shapes import box
from grouser.terrain import flat, soil
from grouser.terrain.ground import Ground
from tests.rig import ManufacturedMotion

STEP = 5e-3
ZERO_BETWEEN_STEPS = {"flow", "steep"}  # as their comments say
CASES = {
    "one thread a world": {"threads": "per-world"},
    "one thread a node": {"threads": "per-team"},
    "shear with the soil": {"node_shear": True},
    "over hard ground": {"depth": 0.02},
    "the laws of a paper": {"laws": "krenn2009"},
}


def rig(depth: float | None = None, **options: Any) -> ManufacturedMotion:
    """A wheel, a plate that takes its width from its patch, and a foot so small that it presses with points."""
    ground = Ground(flat(size=(1.5, 1), spacing=0.5, origin=(-0.5, -0.5)), soil("dry-sand"), 0.01, depth=depth)
    bodies = {
        "wheel": wheel(0.15, 0.1), "plate": prepare(*box(np.array([0.08, 0.05, 0.02]))),
        "foot": prepare(*box(np.array([0.025, 0.015, 0.02]))),
    }  # fmt: skip
    return ManufacturedMotion(SoilModule(ground, bodies, SoilOptions(**options)), step=STEP)


def drive(made: ManufacturedMotion, first: int, last: int) -> None:
    """The wheel slips and digs, the plate sinks into soil that slides from the wheel's rut, the foot slides."""
    for k in range(first, last):
        time = k * STEP
        places = [
            [0.1 * time, 0.001, 0.15 - 0.05 * min(time, 0.4)], [-0.12, 0.03, 0.02 - 0.03 * time],
            [0.3 + 0.05 * time, 0.2, 0.02 - 0.02 * time],
        ]  # fmt: skip
        speeds = [[0.1, 0, -0.05 if time < 0.4 else 0.0], [0, 0, -0.03], [0.05, 0, -0.02]]
        made.place(
            position=np.array([places]), rotation=made.rotation, velocity=np.array([speeds]),
            spin=np.array([[[0, 1.5, 0], [0, 0, 0], [0, 0, 0]]]),
        ).advance()  # fmt: skip


def poison(module: SoilModule, number: float) -> None:
    """Fill what is no state with what no step may read: `number`, or an odd whole number."""
    state = set(module.state())
    for group in module.arrays.groups:
        for name in LAYOUTS_OF.get(group._cls.key.rsplit(".", 1)[-1], ()):  # constant groups have no layout
            if name not in state | ZERO_BETWEEN_STEPS:
                values = getattr(group, name).numpy()
                for part in [values[field] for field in values.dtype.names] if values.dtype.names else [values]:
                    part[...] = number if part.dtype.kind == "f" else 7


LAYOUTS_OF = {kind.key.rsplit(".", 1)[-1]: layout for kind, layout in LAYOUTS.items()}


@pytest.mark.parametrize("number", [np.nan, -1e6])  # a comparison with not a number is false and may not show
@pytest.mark.parametrize("case", CASES)
def test_a_restored_state_continues_bit_for_bit(case, number):
    going, fresh = rig(**CASES[case]), rig(**CASES[case])
    drive(going, 0, 70)
    for name, saved in going.module.ground.state().items():
        fresh.module.ground.state()[name].assign(saved.numpy().copy())
    for name, saved in going.module.state().items():
        fresh.module.state()[name].assign(saved.numpy().copy())
    fresh.place(going.position, going.rotation, going.velocity, going.spin)
    fresh.out.status.assign(going.out.status.numpy().copy())  # evaluate leaves it
    fresh.out.effective.assign(going.out.effective.numpy().copy())  # the engine's, which keeps it in checkpoints
    poison(fresh.module, number)
    for made in (going, fresh):
        made.evaluate()
    assert_same(going, fresh, "before the first step")
    for k in range(70, 110):
        for made in (going, fresh):
            drive(made, k, k + 1)
        assert_same(going, fresh, f"step {k}")
    assert (np.abs(going.wrench[0]).max(axis=1) > 1).all(), "all bodies are in the soil"
    for name, saved in going.module.ground.state().items():
        assert np.array_equal(saved.numpy(), fresh.module.ground.state()[name].numpy()), name
    for name, saved in going.module.state().items():
        assert np.array_equal(saved.numpy(), fresh.module.state()[name].numpy()), name


def assert_same(one: ManufacturedMotion, other: ManufacturedMotion, when: str) -> None:
    for name in ("wrench", "implicit", "status"):
        assert np.array_equal(getattr(one.out, name).numpy(), getattr(other.out, name).numpy()), (when, name)
    for channel, twin in zip(one.module.channels(), other.module.channels(), strict=True):
        assert np.array_equal(channel.read(), twin.read()), (when, channel.name)


def test_a_reset_puts_the_state_back_to_its_start():
    used, fresh = rig(), rig()
    drive(used, 0, 40)
    used.module.reset([0])
    for name, after in used.module.state().items():
        assert np.array_equal(after.numpy(), fresh.module.state()[name].numpy()), name


def test_a_reset_of_one_world_leaves_the_others():
    ground = Ground(flat(size=(1, 1), spacing=0.5, origin=(-0.5, -0.5)), soil("dry-sand"), 0.01, worlds=2)
    made = ManufacturedMotion(SoilModule(ground, {"wheel": wheel(0.15, 0.1)}), worlds=2, step=STEP)
    made.place(position=(0, 0, 0.14), rotation=made.rotation).advance()
    before = made.module.state()["levels"].numpy().copy().reshape(2, -1)
    made.module.reset([1])
    after = made.module.state()["levels"].numpy().reshape(2, -1)
    assert before[0].any()
    assert np.array_equal(after[0], before[0])
    assert not after[1].any()


def test_an_array_without_a_layout_is_refused():
    with pytest.raises(TypeError, match=r"struct Careless: flow: say how it is laid out"):

        @laid_out
        class Careless:
            kept: array[int] = kept("slot")
            flow: array[int]


def test_state_that_is_not_a_number_of_the_start():
    """Boxes that are empty at the start, and heights of vertices far away."""
    state = rig().module.state()
    assert [tuple(box) for box in state["slid"].numpy()] == [EMPTY] * 3
    assert (state["place"].numpy()[..., 2] == t.FAR).all()
    assert state["per_width"].numpy()[:2] == pytest.approx([1 / 0.1, 1 / 0.04])


def test_threads_are_chosen_by_name_by_the_older_name_or_by_the_device():
    chosen = [({"threads": "per-world"}, True), ({"threads": "per-team"}, False), ({"fused": True}, True),
              ({"fused": False}, False), ({"threads": "per-team", "fused": False}, False)]  # fmt: skip
    for options, one in chosen:
        assert [SoilOptions(**options).one_thread_per_world(device) for device in ("cpu", "cuda:0")] == [one, one]
    assert [SoilOptions().one_thread_per_world(device) for device in ("cpu", "cuda:0")] == [True, False]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"threads": "fine"}, "threads: 'fine' is not known; allowed: per-world, per-team"),
        ({"threads": "per-team", "fused": True}, "fused: True contradicts threads: 'per-team'"),
    ],
)
def test_threads_that_are_not_known_or_contradict_are_refused(options, words):
    with pytest.raises(InputError, match=words):
        SoilOptions(**options)
