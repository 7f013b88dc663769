"""Environments of robots on soil: spaces, seeds, resets, and what is observed and rewarded against NumPy."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import warp as wp
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import grouser.envs as envs
from grouser.envs import kernels, quadruped_task, rover_tasks
from grouser.envs.controllers import controller_of
from grouser.envs.task import IMU_ERRORS
from grouser.errors import InputError
from grouser.robots import exomars, quadruped
from tests.envs.single import SingleEnv

COARSE = {"RoverGoal": 0.03, "RoverSlope": 0.03, "QuadrupedSand": 0.01}  # [m] soil grids for short tests
SINGLE = 2e-4  # float32 differences of positions of metres, times gains of 8


def make(task: str = "RoverGoal", worlds: int = 2, **more) -> envs.SoilVectorEnv:
    return envs.make(task, worlds, spacing=COARSE[task], **more)


def actions_of(env, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, env.action_space.shape).astype(np.float32)


def rotation(quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = quaternion
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


@pytest.mark.parametrize("task", envs.TASKS)
def test_a_registered_environment_steps_within_its_spaces(task):
    env = gymnasium.make_vec(f"Grouser/{task}-v0", num_envs=2, spacing=COARSE[task], simulator=True)
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    observed, info = env.reset(seed=1)
    assert info == {}
    for k in range(2):
        assert env.observation_space.contains(observed)
        observed, reward, terminated, truncated, _ = env.step(actions_of(env, k))
        assert reward.dtype == np.float32
        assert terminated.dtype == truncated.dtype == bool
        assert reward.shape == terminated.shape == truncated.shape == (2,)
    assert np.isfinite(observed["robot"]).all()
    assert np.isfinite(observed["simulator"]).all()


@pytest.mark.parametrize("task", ["RoverGoal", "QuadrupedSand"])
@pytest.mark.filterwarnings("ignore:.*:UserWarning")
def test_gymnasium_checks_one_world(task):
    check_env(SingleEnv(make(task, 1)), skip_render_check=True)


def test_a_seed_repeats_every_bit_and_a_world_does_not_know_its_neighbours():
    two, alone = make(worlds=2), make(worlds=1)
    runs = []
    for env, seed in ((two, 5), (two, 5), (alone, 6)):
        observed, _ = env.reset(seed=seed)
        seen = [observed]
        for k in range(2):
            action = actions_of(two, k)
            seen.append(env.step(action if env is two else action[1:])[0])
        runs.append(np.stack(seen))
    assert np.array_equal(runs[0], runs[1])
    assert np.array_equal(runs[0][:, 1:], runs[2]), "world 1 of seed 5 is world 0 of seed 6"
    assert not np.array_equal(runs[0][:, 0], runs[0][:, 1])


def test_random_numbers_of_neighbouring_seeds_are_even_and_apart():
    count = 4096
    e, mask = kernels.Episode(), wp.ones(count, dtype=int)
    e.random, e.drawn = wp.zeros(count, dtype=wp.uint32), wp.zeros((3, count), dtype=float)
    seeds = wp.array(np.arange(count, dtype=np.int32), dtype=int)
    wp.launch(kernels.seed_worlds, count, [mask, seeds, e.random])
    low, high = wp.array([0.0, 0.0, 1.0], dtype=float), wp.array([1.0, 1.0, 100.0], dtype=float)
    wp.launch(kernels.draw_worlds, count, [mask, low, high, wp.array([0, 0, 1], dtype=int), e])
    drawn = e.drawn.numpy().copy()
    drawn[2] = np.log(drawn[2]) / np.log(100.0)
    far = 5 / np.sqrt(count)  # five standard errors of a correlation
    assert np.abs(drawn.mean(axis=1) - 0.5).max() < far / np.sqrt(12)
    assert np.abs(np.corrcoef(drawn) - np.eye(3)).max() < far
    assert all(abs(np.corrcoef(one[:-1], one[1:])[0, 1]) < far for one in drawn)


def test_worlds_are_on_the_soils_that_were_drawn():
    for soils, ranges in (("training", rover_tasks.SOILS), ("outside", rover_tasks.OUTSIDE)):
        env = make(soils=soils)
        env.reset(seed=3)
        drawn = env.drawn
        for world in range(2):
            own = env.sim.soil.soils.soil_of(world)
            for name, bounds in ranges.items():
                assert getattr(own, name) == pytest.approx(drawn[name][world], rel=1e-6)
                assert bounds.low <= drawn[name][world] <= bounds.high
    assert all(rover_tasks.OUTSIDE["k_phi"].high <= bounds.low for bounds in [rover_tasks.SOILS["k_phi"]])


def test_a_world_that_ends_is_reset_in_the_same_step():
    env, going = make(), make()
    env.reset(seed=2)
    going.reset(seed=2)
    env._constants.limit = 2
    before = env.drawn
    for k in range(2):
        action = actions_of(env, k)
        observed, _, terminated, truncated, info = env.step(action)
        expected, _, _, still, no_info = going.step(action)
    assert truncated.all()
    assert not terminated.any()
    assert not still.any()
    assert no_info == {}
    assert np.array_equal(info["final_obs"], expected)
    assert info["_final_obs"].all()
    assert info["final_info"]["length"].tolist() == [2, 2]
    after = env.drawn
    assert all((before[name] != after[name]).all() for name in ("k_phi", "goal_distance"))
    names = env.observation_names["robot"]
    assert observed[:, names.index("goal_distance")] == pytest.approx(after["goal_distance"], abs=0.05)
    assert np.all(observed[:, names.index("last_speed")] == 0)


def test_only_the_masked_worlds_are_reset():
    env = make()
    env.reset(seed=2)
    env.step(actions_of(env))
    before = env.robot.qpos.numpy().copy()
    env.reset(options={"reset_mask": np.array([False, True])})
    assert np.array_equal(env.robot.qpos.numpy()[0], before[0])
    assert not np.array_equal(env.robot.qpos.numpy()[1], before[1])
    numbers = env.episode.random.numpy().copy()
    env.reset(seed=9, options={"reset_mask": np.array([False, True])})
    assert env.episode.random.numpy()[0] == numbers[0], "a seed is for the worlds that are reset"
    assert env.episode.random.numpy()[1] != numbers[1]


def test_the_rovers_reward_is_that_of_the_docs():
    env = make()
    env.reset(seed=4)
    gains, weight = rover_tasks.REWARD, rover_tasks.ROVER.mass * exomars.MARS
    places = exomars.wheel_positions(rover_tasks.ROVER)
    joint = env.sim.model.joint
    drive = [joint(f"drive_{name}").qposadr[0] for name in exomars.WHEELS]
    steer = [joint(f"steer_{name}").qposadr[0] for name in exomars.WHEELS]
    for k in range(3):
        before = env.sim.qpos
        reward = env.step(actions_of(env, k))[1]
        after = env.sim.qpos
        force = np.stack([d.actuator_force[:6] for d in env.sim.engine.data])
        for world in range(2):
            q, p = after[world], before[world]
            turn, goal = rotation(q[3:7]), env.episode.goal.numpy()[world, :2]
            moved = turn.T @ (q[:3] - p[:3])
            headings = [np.arctan2(r[1, 0], r[0, 0]) for r in (turn, rotation(p[3:7]))]
            yaw, angle, rolled = headings[0] - headings[1], q[steer], (q - p)[drive]
            path = np.cos(angle) * (moved[0] - yaw * places[:, 1]) + np.sin(angle) * (moved[1] + yaw * places[:, 0])
            slip = np.abs(rover_tasks.ROVER.wheel_radius * rolled - path).mean()
            energy = np.maximum(force[world] * rolled, 0).sum()
            progress = np.linalg.norm(goal - p[:2]) - np.linalg.norm(goal - q[:2])
            expected = gains["progress_gain"] * progress - gains["slip_gain"] * slip
            expected -= gains["energy_gain"] * energy / weight + gains["time_gain"] * env.task.period
            assert reward[world] == pytest.approx(expected, abs=SINGLE)
            assert slip > 20 * SINGLE / gains["slip_gain"] or k == 0, "the test would see a missing slip"


def test_the_scan_shows_the_ground_as_it_is_now():
    env = make("RoverGoal", 1, simulator=True)
    env.reset(seed=0)
    for _ in range(2):
        observed = env.step(np.zeros((1, 4), np.float32))[0]["simulator"][0]
    names = env.observation_names["simulator"]
    scan = observed[names.index("height_0") :] / 5.0 - rover_tasks.ROVER.longitudinal_pivot_height
    q, ground = env.sim.qpos[0], env.sim.ground
    turn = rotation(q[3:7])
    c, s = np.array([turn[0, 0], turn[1, 0]]) / np.hypot(turn[0, 0], turn[1, 0])
    ahead, left = rover_tasks.SCAN
    x, y = q[0] + c * ahead - s * left, q[1] + s * ahead + c * left
    heights, (x0, y0) = ground.heights(), ground.elevation.origin
    rows, columns = np.rint((y - y0) / ground.spacing).astype(int), np.rint((x - x0) / ground.spacing).astype(int)
    assert scan == pytest.approx(heights[rows, columns] - q[2], abs=1e-5)
    untouched = ground.terrain_of(0).height(x0 + ground.spacing * columns, y0 + ground.spacing * rows)
    assert np.abs(heights[rows, columns] - untouched).max() > 1e-3, "some points are in a rut"


def test_the_imu_shows_specific_force_and_turn_rate_with_its_bias():
    env = make("RoverSlope", 1)
    env.reset(seed=0)
    for k in range(3):
        before = env.sim.qvel[0]
        env.step(actions_of(env, k))
    now, turn = env.sim.qvel[0], rotation(env.sim.qpos[0, 3:7])
    bias = np.array([env.drawn[name][0] for name in IMU_ERRORS])
    shown = env.episode.features.numpy()[0, 4:10] - bias
    expected = turn.T @ ((now[:3] - before[:3]) / env.task.period + [0, 0, exomars.MARS]) / exomars.MARS
    assert shown[:3] == pytest.approx(expected, abs=1e-5)
    assert shown[3:] == pytest.approx(now[3:6], abs=1e-5)
    assert abs(shown[0]) > 0.1, "it stands on a slope"
    assert np.abs(bias).min() > 1e-4


def test_an_action_that_is_not_a_number_ends_its_world_only():
    env = make()
    env.reset(seed=0)
    with pytest.raises(InputError, match="world 1"):
        env.step(np.array([[0, 0, 0, 0], [0, np.nan, 0, 0]], np.float32))
    given = wp.array(np.array([[0, 0, 0, 2], [0, np.nan, 0, 0]], np.float32), dtype=float)
    wp.launch(kernels.take_actions, 2, [given, env.robot])
    assert env.robot.refused.numpy().tolist() == [0, 1]
    assert env.robot.action.numpy()[0].tolist() == [0, 0, 0, 1]
    env.judge()
    assert env.episode.terminated.numpy().tolist() == [False, True]
    assert env.episode.totals.numpy()[1, 0] < -4


def test_wrong_arguments_are_named():
    for more, word in (({"soils": "soft"}, "soils"), ({"arrays": "jax"}, "arrays"), ({"engine": "bullet"}, "engine")):
        with pytest.raises(InputError, match=word):
            make(**more)
    with pytest.raises(InputError, match="task"):
        envs.task_of("RoverJump")


def test_the_trot_follows_its_speed_better_than_standing_does():
    returns = {}
    for who in ("trot", "stand"):
        env = make("QuadrupedSand", 1)
        trot = controller_of(env.task, env.observation_names["robot"])
        observed, _ = env.reset(seed=12)
        env.episode.goal.assign(np.array([[0.4, 0.0, 0.0]], np.float32))  # [m/s], [rad/s]
        for _ in range(100):
            observed = env.step(trot(observed) if who == "trot" else np.zeros((1, 8), np.float32))[0]
        returns[who] = env.episode.totals.numpy()[0, 0]
        moved = env.sim.qpos[0, 0]
        assert (moved > 0.15) == (who == "trot")
    assert returns["trot"] > returns["stand"] + 0.2


def test_the_quadruped_stands_in_its_stance():
    model = quadruped.build().compile()
    assert model.body_mass.sum() == pytest.approx(quadruped.MASS)
    x, z = 0.03, -0.28
    hip, knee = quadruped.leg_angles(x, z)
    foot = -quadruped.LINK * np.array([np.sin(hip) + np.sin(hip + knee), np.cos(hip) + np.cos(hip + knee)])
    assert foot == pytest.approx([x, z])


def test_the_example_of_the_page_runs():
    page = Path(__file__).parents[2] / "docs" / "envs.md"
    code = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)[0]
    space: dict[str, Any] = {}
    exec(code, space)
    assert space["observed"].shape == (2, 35)


def test_the_page_names_the_ranges_that_are_drawn():
    page = (Path(__file__).parents[2] / "docs" / "envs.md").read_text(encoding="utf-8")
    cells = {row[0].split("`")[1]: row[1:] for row in (
        [cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("| `")
    ) if len(row) == 5}  # fmt: skip
    columns = (rover_tasks.SOILS, rover_tasks.OUTSIDE, quadruped_task.SOILS, quadruped_task.OUTSIDE)
    for name in rover_tasks.SOILS:
        for text, ranges in zip(cells[name], columns, strict=True):
            given = ranges.get(name)
            assert (text == "the same") == (given is None)
            if given is not None:
                assert [float(number) for number in text.split(" to ")] == [given.low, given.high]


@pytest.mark.batch
@pytest.mark.parametrize("task", ["RoverGoal", "QuadrupedSand"])
def test_mujoco_warp_gives_what_mujoco_gives(task):
    """Float32 of both soils; actions, resets and seeds alike. The first period agrees to float32, later ones drift."""
    seen = {}
    for engine in ("mujoco", "mujoco-warp"):
        env = make(task, engine=engine, dtype="float32", simulator=True)
        env.reset(seed=5)
        env._constants.limit = 2
        rows = []
        for k in range(3):
            observed, reward, _, truncated, _ = env.step(0.3 * actions_of(env, k))
            rows.append((observed["robot"], observed["simulator"], reward))
            assert truncated.all() == (k == 1)
        seen[engine] = rows
    for k, (one, other) in enumerate(zip(*seen.values(), strict=True)):
        for part, (a, b) in enumerate(zip(one, other, strict=True)):
            assert np.abs(a - b).max() < (0.05 if part < 2 else 0.01), (k, part)
