"""Policies: their file, their training, their evaluation and their replay."""

from __future__ import annotations

import itertools
import json
import sys
from dataclasses import replace

import numpy as np
import pytest

import grouser.envs as envs
from grouser.envs import evaluate, replay
from grouser.envs.controllers import controller_of, driver_of, side_by_side
from grouser.envs.policy import Policy, load_policy, trained_policy
from grouser.errors import InputError
from tests.envs.unicycle import Unicycle, pursue

EASY = 1_000_000  # a seed whose world and that of the next have soil that carries the rover


def small_policy(task: str = "RoverGoal", names: tuple[str, ...] = ("a", "b", "c"), outputs: int = 2) -> Policy:
    random = np.random.default_rng(0)
    sizes = (len(names), 8, outputs)
    pairs = itertools.pairwise(sizes)
    weights = tuple(random.normal(size=(after, before)).astype(np.float32) for before, after in pairs)
    biases = tuple(random.normal(size=size).astype(np.float32) for size in sizes[1:])
    scales = random.normal(size=len(names)), random.uniform(0.5, 2, len(names))
    return Policy(task, names, *(one.astype(np.float32) for one in scales), weights, biases, "trained for a test")


def test_a_policy_file_gives_the_same_policy(tmp_path):
    made, path = small_policy(), tmp_path / "policy.npz"
    made.save(path)
    again, observed = load_policy(path, "RoverGoal", ("a", "b", "c")), np.random.default_rng(1).normal(size=(5, 3))
    assert np.array_equal(made(observed), again(observed))
    x = (observed[0] - made.mean) / made.deviation
    by_hand = made.weights[1] @ np.tanh(made.weights[0] @ x + made.biases[0]) + made.biases[1]
    assert made(observed)[0] == pytest.approx(np.clip(by_hand, -1, 1), abs=1e-5)
    for task, names, word in (("RoverSlope", None, "trained for"), ("RoverGoal", ("a", "b"), "other values")):
        with pytest.raises(InputError, match=word):
            load_policy(path, task, names)
    assert again.notes == made.notes == "trained for a test"
    path.write_text("no")
    with pytest.raises(InputError, match="not a policy file"):
        load_policy(path)


def damaged(content: bytes) -> list[bytes]:
    """Cut off, a name that differs from that of the directory, numbers overwritten, nothing."""
    return [content[:200], content.replace(b"about.npy", b"xbout.npy", 1), content[:-300] + b"\0" * 300, b"", b"PK\3\4"]


@pytest.mark.parametrize("case", range(5))
def test_a_damaged_policy_is_refused(tmp_path, case):
    path = tmp_path / "policy.npz"
    small_policy().save(path)
    path.write_bytes(damaged(path.read_bytes())[case])
    with pytest.raises(InputError, match="is not a policy file") as error:
        load_policy(path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"mean": np.zeros(2, np.float32)}, "no mean and deviation of each of its 3"),
        (
            {"weights": (np.zeros((8, 4), np.float32), np.zeros((2, 8), np.float32))},
            r"a layer of shape \(8, 4\) after 3",
        ),
        ({"deviation": np.full(3, np.nan, np.float32)}, "not finite"),
    ],
)
def test_a_policy_whose_layers_do_not_fit_is_refused(tmp_path, changes, word):
    path = tmp_path / "policy.npz"
    replace(small_policy(), **changes).save(path)
    with pytest.raises(InputError, match=word):
        load_policy(path)


def test_the_policy_of_the_package_drives_to_its_goal_without_torch(monkeypatch):
    """On a coarse grid, in worlds of the training range. One that steers to the wrong side does not arrive."""
    monkeypatch.setitem(sys.modules, "torch", None)  # importing it is an error
    path = trained_policy("RoverGoal")
    assert path is not None
    assert path.stat().st_size < 1_000_000
    env = envs.make("RoverGoal", 4, spacing=0.03)
    names = env.observation_names["robot"]
    who, policy = driver_of(None, env.task, names)
    assert who == "policy"
    mirror = np.array([1, -1, 1, 1], np.float32)  # of the curvature
    *weights, last = policy.weights
    *biases, bias = policy.biases
    wrong = replace(policy, weights=(*weights, mirror[:, None] * last), biases=(*biases, mirror * bias))
    both = side_by_side([policy, wrong])
    arrived = evaluate.episodes(env, both, [EASY, EASY + 1] * 2)["success"]
    assert arrived.tolist() == [1, 1, 0, 0]


def test_who_drives():
    task = envs.task_of("RoverSlope")
    names = [value.name for value in task.readings(task.spec().compile())]
    assert driver_of(None, task, names)[0] == "hand-written"  # no policy comes with the package for this task
    assert driver_of("hand-written", task, names)[0] == "hand-written"
    with pytest.raises(InputError, match="not a policy file"):
        driver_of("nowhere.npz", task, names)
    with pytest.raises(InputError, match="trained for RoverGoal"):
        driver_of(str(trained_policy("RoverGoal")), task, names)


def test_drivers_side_by_side_have_worlds_of_their_own():
    both = side_by_side([lambda observed: observed + 1, lambda observed: -observed])
    assert both(np.arange(4.0)[:, None])[:, 0].tolist() == [1, 2, -2, -3]


def test_bounds_of_a_share_are_those_of_wilson():
    assert evaluate.wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)  # Newcombe 1998, table I, method 3
    assert evaluate.wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=1e-4)


def test_bootstrap_bounds_hold_the_mean_about_as_often_as_they_say(monkeypatch):
    monkeypatch.setattr(evaluate, "RESAMPLES", 1000)
    random, inside = np.random.default_rng(0), 0
    for k in range(200):
        low, high = evaluate.bootstrap(random.exponential(size=100), seed=k)
        inside += low <= 1.0 <= high
    assert 0.88 <= inside / 200 <= 0.99  # 95 %, less the bootstrap's known shortfall, and its standard error of 1.6 %


def test_an_evaluation_takes_the_first_episode_of_each_world():
    env = Unicycle(50)
    straight = evaluate.measures(evaluate.episodes(env, lambda o: np.tile([1.0, 0.0], (len(o), 1)), range(50)), 0.2)
    pursued = evaluate.measures(evaluate.episodes(env, pursue, range(50)), 0.2)
    assert pursued["success"].all()
    assert straight["success"].mean() < 0.5
    assert (pursued["time"] <= 12).all()
    assert pursued["time"].max() > pursued["time"].min()
    assert list(evaluate.table({"hand-written": straight})) == ["hand-written"]
    table = evaluate.table({"policy": pursued, "hand-written": straight})
    assert table["policy"]["success"]["bounds"] == evaluate.wilson(50, 50)
    apart = table["policy - hand-written"]["return"]
    assert apart["mean"] == pytest.approx((pursued["return"] - straight["return"]).mean())
    assert apart["bounds"][0] > 0


def test_a_replayed_episode_is_that_of_the_environment():
    """Whether the environment steps the simulation, or the simulation calls the policy as a controller."""
    stepped, driven = (envs.make("RoverGoal", 1, spacing=0.03) for _ in range(2))
    pursuit = controller_of(stepped.task, stepped.observation_names["robot"])
    observed, _ = stepped.reset(seed=9)
    for _ in range(3):
        observed = stepped.step(pursuit(observed))[0]
    driver = replay.EpisodeDriver(driven, pursuit, seed=9)
    driven.sim.use_controllers([driver])
    driven.sim.step(3 * driven.task.steps)
    assert np.array_equal(stepped.sim.qpos, driven.sim.qpos)
    driven.sim.step(1)
    assert driver.totals["return"] == pytest.approx(float(stepped.episode.totals.numpy()[0, 0]), rel=1e-6)


@pytest.mark.long
def test_an_episode_is_recorded_until_it_ends(tmp_path):
    env = envs.make("RoverGoal", 1, spacing=0.03)
    pursuit = controller_of(env.task, env.observation_names["robot"])
    driver = replay.EpisodeDriver(env, pursuit, seed=9)
    replay.record_episode(env, driver, tmp_path / "run")
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert driver.totals["success"] == 1.0
    assert (tmp_path / "run" / "report.html").exists()
    assert env.sim.time < env.task.period * env.task.limit - 1
    assert summary["metrics"]
