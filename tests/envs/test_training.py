"""Training: advantages, scales, imitation, judged worlds, and the command. What needs torch is skipped without it."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest

import grouser.envs as envs
from grouser.envs import evaluate, train
from grouser.envs.judged import FIRST_SEED, JudgedWorlds
from grouser.envs.policy import load_policy
from tests.envs.unicycle import LIMIT, Unicycle, pursue


def crawl(observed: np.ndarray) -> np.ndarray:
    """The same arc at a quarter of the speed: within an episode too slow for most goals."""
    return pursue(observed) * np.array([-0.5, 1.0], np.float32)


def wait(observed: np.ndarray) -> np.ndarray:
    """The first world stands still until its time is over, the others pursue."""
    actions = pursue(observed)
    actions[0, 0] = -1.0
    return actions


def learner_of(env, **options):
    pytest.importorskip("torch")
    from grouser.envs import ppo

    return ppo.Learner(env, ppo.Options(hidden=(32, 32), **options), 0, "cpu")


# ---- judged worlds ------------------------------------------------------------------------------------


def drive_until_judged(worlds: JudgedWorlds, driver) -> dict[str, np.ndarray]:
    worlds.judge(driver)
    while worlds.judgement is None:
        worlds.step(np.zeros((worlds.num_envs, 2), np.float32))
    return worlds.judgement


def test_a_driver_is_judged_by_whole_episodes_from_the_same_seeds():
    """Whatever the other worlds do, and however often the judged worlds have been used before."""
    worlds = JudgedWorlds(Unicycle(12), 8)
    worlds.reset(seed=3)
    alone = {one: evaluate.episodes(Unicycle(8), one, range(FIRST_SEED, FIRST_SEED + 8)) for one in (pursue, wait)}
    assert alone[wait]["length"].max() > 2 * alone[wait]["length"].min()  # a world has several episodes meanwhile
    for driver in (pursue, wait, pursue):
        found = drive_until_judged(worlds, driver)
        assert all(np.array_equal(found[name], alone[driver][name]) for name in found)


def test_a_learner_sees_its_own_worlds_only():
    whole, worlds = Unicycle(5), JudgedWorlds(Unicycle(5), 2)
    observed, _ = whole.reset(seed=[FIRST_SEED, FIRST_SEED + 1, 7, 8, 9])
    seen, _ = worlds.reset(seed=7)
    assert np.array_equal(seen, observed[2:])
    actions = np.random.default_rng(0).uniform(-1, 1, (5, 2)).astype(np.float32)
    actions[:2] = 0  # nobody is judged
    for _ in range(LIMIT):
        one, rewards, ends, truncated, info = whole.step(actions)
        mine, my_rewards, my_ends, my_truncated, my_info = worlds.step(actions[2:])
        assert np.array_equal(mine, one[2:])
        assert np.array_equal(my_rewards, rewards[2:])
        assert np.array_equal(my_ends | my_truncated, (ends | truncated)[2:])
    assert np.array_equal(my_info["final_obs"], info["final_obs"][2:])
    assert np.array_equal(my_info["final_info"]["length"], info["final_info"]["length"][2:])


# ---- advantages and scales ----------------------------------------------------------------------------


def test_advantages_are_discounted_sums_until_an_episode_ends():
    torch = pytest.importorskip("torch")
    from grouser.envs.ppo import advantages

    def column(*values: float):
        return torch.tensor([[value] for value in values])

    batch = {"reward": column(1.0, 2.0, 4.0), "value": column(0.5, 0.25, 1.0), "ends": column(0.0, 1.0, 0.0)}
    last = torch.tensor([3.0])
    ended = advantages(batch | {"rest": column(0.0, 0.0, 0.0)}, last, 0.5, 1.0)[:, 0].tolist()
    assert ended == pytest.approx([1 + 0.5 * 2 - 0.5, 2 - 0.25, 4 + 0.5 * 3 - 1.0])
    # An episode that was only truncated is worth what its last state is worth, and not what the next one begins with.
    cut = advantages(batch | {"rest": column(0.0, 8.0, 0.0)}, last, 0.5, 1.0)[:, 0].tolist()
    assert cut == pytest.approx([1 + 0.5 * (2 + 0.5 * 8) - 0.5, 2 + 0.5 * 8 - 0.25, 4 + 0.5 * 3 - 1.0])
    # With a trace of 0.8: A_0 = d_0 + 0.5 0.8 A_1.
    short = advantages(batch | {"rest": column(0.0, 8.0, 0.0)}, last, 0.5, 0.8)[:, 0].tolist()
    assert short[0] == pytest.approx(1 + 0.5 * 0.25 - 0.5 + 0.5 * 0.8 * (2 + 0.5 * 8 - 0.25))


def test_only_truncated_episodes_have_a_rest():
    torch = pytest.importorskip("torch")
    env = Unicycle(40)
    learner = learner_of(env)
    fast = torch.as_tensor(np.array([1.0, 0.0], np.float32)).expand(40, 2)
    slow = torch.where(torch.arange(40)[:, None] < 20, fast, torch.tensor([-1.0, 0.0]))  # 20 worlds stand still
    batch, ended = learner.collect(LIMIT, lambda robot: learner.distribution(slow))
    ends = batch["ends"].bool()
    assert ends[-1, 20:].all()
    assert (batch["rest"][-1, 20:] != 0).all()
    assert (batch["rest"][:-1] == 0).all()
    assert ended["episodes"] == float(ends.sum())


def test_scales_are_those_of_all_observations_and_go_with_the_policy(tmp_path):
    torch = pytest.importorskip("torch")
    learner = learner_of(Unicycle(16))
    kept = []
    for _ in range(3):
        batch, _ = learner.collect(20, learner._choice)
        learner.take_scales(batch)
        kept.append(batch["robot"].flatten(0, 1).numpy())
    seen = np.concatenate(kept)  # the scales begin with one made-up observation of mean 0 and mean square 1
    mean = seen.sum(0) / (len(seen) + 1)
    square = (1 + (seen**2).sum(0)) / (len(seen) + 1)
    assert learner.scaled.mean.numpy() == pytest.approx(mean, rel=1e-4, abs=1e-5)
    assert learner.scaled.deviation.numpy() == pytest.approx(np.sqrt(square - mean**2), rel=1e-3)
    learner.policy("for a test").save(tmp_path / "policy.npz")
    policy, observed = load_policy(tmp_path / "policy.npz"), torch.as_tensor(seen[:50])
    with torch.no_grad():
        actions = learner.actor(learner.scaled(observed)).clamp(-1, 1).numpy()
    assert policy(seen[:50]) == pytest.approx(actions, abs=1e-6)
    assert policy.notes == "for a test"


# ---- learning -----------------------------------------------------------------------------------------


@pytest.mark.long
def test_imitation_gives_a_policy_that_drives_like_the_controller():
    pytest.importorskip("torch")
    from grouser.envs.imitation import imitate

    learner = learner_of(Unicycle(64), deviation=0.2)
    before = evaluate.episodes(Unicycle(50), learner.policy(), range(50))["success"].mean()
    found = imitate(learner, pursue, 40)
    assert found["error"] < 0.1 * found["deviation"]
    assert before < 0.5
    after, by_hand = (evaluate.episodes(Unicycle(50), one, range(50)) for one in (learner.policy(), pursue))
    assert after["success"].mean() >= by_hand["success"].mean() - 0.02  # one of fifty
    assert after["return"] == pytest.approx(by_hand["return"], abs=0.5)
    # The critic has learned what the controller earns: less is left of the returns than without it.
    batch, _ = learner.collect(30, learner._choice)
    target = learner.targets(batch)
    assert float((target - batch["value"]).var()) < 0.5 * float(target.var())


@pytest.mark.long
def test_a_policy_gets_better_than_the_controller_that_it_began_with():
    """The controller crawls; a policy that imitated it learns to drive fast."""
    pytest.importorskip("torch")
    from grouser.envs import ppo
    from grouser.envs.imitation import imitate

    learner = ppo.Learner(Unicycle(128), ppo.after_imitation(16), 0, "cpu")
    imitate(learner, crawl, 60)
    first = evaluate.episodes(Unicycle(100), learner.policy(), range(100))
    ppo.learn(learner, 120.0, 30, lambda row: None)
    then = evaluate.episodes(Unicycle(100), learner.policy(), range(100))
    assert first["success"].mean() < 0.6
    assert then["success"].mean() > 0.95
    assert then["return"].mean() > first["return"].mean() + 2


@pytest.mark.long
def test_the_method_learns_to_drive_a_point_to_its_goal():
    from grouser.envs import ppo

    learner, rows = learner_of(Unicycle(128)), []
    before = evaluate.episodes(Unicycle(100), learner.policy(), range(100))["success"].mean()
    ppo.learn(learner, 60.0, 20, rows.append)
    after = evaluate.episodes(Unicycle(100), learner.policy(), range(100))["success"].mean()
    assert before < 0.5
    assert after > 0.95, rows[-1]


# ---- the command --------------------------------------------------------------------------------------


class Judge:
    """Judged worlds whose judgements are given."""

    def __init__(self, returns: list[float]):
        self._returns, self.judgement = returns, None

    def judge(self, driver) -> None:
        value = self._returns.pop(0)
        self.judgement = {name: np.full(4, value) for name in ("return", "energy", "slip", "distance", "length")}
        self.judgement |= {"success": np.ones(4)}


def test_the_best_judged_policy_is_kept(tmp_path):
    from types import SimpleNamespace

    from tests.envs.test_policies import small_policy

    def policy(notes: str):
        return SimpleNamespace(save=lambda path: path.write_text(notes), made=small_policy())

    learner = SimpleNamespace(policy=policy, env=SimpleNamespace(task=SimpleNamespace(period=0.2)))
    course = train.Course(learner, Judge([9.0, 1.0, 3.0, 2.0, 0.0]), tmp_path, "here", 0.0, math.inf)
    course.judge({"driver": "hand-written"}, None)
    row = dict.fromkeys(train.UPDATES, 0.0)
    for k in range(1, 5):
        course.add({**row, "update": k, "periods": 100 * k})
    course.finish()
    assert (tmp_path / "policy.npz").read_text() == "here, update 2, 200 control periods"
    with (tmp_path / "curve.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(one["driver"], float(one["return"])) for one in rows[:4]] == [
        ("hand-written", 9.0), ("policy", 1.0), ("policy", 3.0), ("policy", 2.0),
    ]  # fmt: skip
    assert [one["update"] for one in rows[:4]] == ["0", "1", "2", "3"]


@pytest.mark.long
def test_the_training_command_writes_a_policy_that_drives(tmp_path):
    pytest.importorskip("torch")
    arguments = ["--worlds", "3", "--judged", "1", "--imitate", "4", "--device", "cpu", "--updates", "2"]
    arguments += ["--horizon", "2", "--spacing", "0.03"]
    assert train.main([*arguments, "--out", str(tmp_path)]) == 0
    rows = (tmp_path / "updates.csv").read_text().splitlines()
    assert len(rows) == 3
    assert rows[0].startswith("update,wall_s,periods")
    assert (tmp_path / "curve.csv").read_text().startswith("driver,update,wall_s")
    assert (tmp_path / "policy.npz").stat().st_size < 1_000_000
    env = envs.make("RoverGoal", 1, spacing=0.03)
    policy = load_policy(tmp_path / "policy.npz", "RoverGoal", env.observation_names["robot"])
    assert policy.notes.startswith("python -m grouser.envs.train --task RoverGoal --worlds 3 --judged 1 --imitate 4 ")
    assert env.action_space.contains(policy(env.reset(seed=0)[0]))
    assert train.main([*arguments, "--out", str(tmp_path), "--task", "Nothing"]) == 2
    assert train.main([*arguments, "--out", str(tmp_path), "--judged", "3"]) == 2
