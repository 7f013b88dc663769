"""MuJoCo Warp on the CPU device against MuJoCo in float64, with the same forces and implicit blocks."""

import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
import warp as wp

from grouser import device
from grouser.engine import gearbox, mujoco_warp_kernels
from grouser.engine.mujoco_cpu import MujocoCpu
from grouser.engine.mujoco_warp import MujocoWarp
from grouser.engine.mujoco_warp_setup import check_modules
from grouser.errors import InputError
from tests.drive.test_efficiency import MOTOR
from tests.engine.fakes import LawModule, chain, free_body, spring, start, step, with_block
from tests.engine.test_constraints import robots, uneven_ground, wheels
from tests.engine.test_sensors import SENSED
from tests.engine.warp_worlds import apart, both, copy_state, on_warp, random_starts, steps_apart

pytestmark = pytest.mark.batch

ROUND_OFF = 1e-5  # relative, of 50 steps in float32: 50 roundings of 6e-8, and a factor 3 for conditioning
FORCE = 1e-3  # relative: (v+ - v) / h has the rounding of a speed over a step of milliseconds
SOLVER = 1e-4  # relative: MuJoCo Warp's solver stops at a tolerance of 1e-6, MuJoCo's at 1e-8
ANGLE = 1e-6  # [rad] 50 roundings of angles of 0.02 rad in float32, times ten
H = 2e-3


def some_block(seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    root = random.normal(size=(6, 6))
    return 10 * random.normal(size=6), 3 * root @ root.T


@pytest.fixture(scope="module")
def chains():
    """Both engines with forces and blocks on three bodies of a chain, in two modules that share a body."""

    def make():
        first, second = (some_block(seed) for seed in (1, 2))
        return chain(), [
            LawModule(("foot", "arm"), with_block(*first), name="first"),
            LawModule(("trunk", "foot"), with_block(*second), name="second"),
        ]

    return both(make, H)


def test_a_chain_with_blocks_moves_as_on_the_cpu(chains):
    random_starts(*chains, seed=3)
    far = steps_apart(*chains, 50)
    assert far["qpos"] < ROUND_OFF
    assert far["qvel"] < ROUND_OFF
    assert far["effective"] < FORCE


def test_the_comparison_would_notice_a_missing_block(chains):
    """Without B the same 50 steps are off by far more than the bounds above."""
    reference, engine = chains
    random_starts(*chains, seed=3)
    engine.implicit = False
    try:
        far = steps_apart(*chains, 50)
    finally:
        engine.implicit = True
    assert far["qvel"] > 1e3 * ROUND_OFF
    assert far["effective"] > 10 * FORCE


def test_motion_handed_to_modules_is_that_of_the_cpu(chains):
    reference, engine = chains
    random_starts(*chains, seed=4)
    for name in ("position", "rotation", "velocity", "angular_velocity"):
        got, expected = getattr(engine.motion, name).numpy(), getattr(reference.motion, name).numpy()
        np.testing.assert_allclose(got, expected, atol=1e-5, err_msg=name)


def test_a_lone_free_body_takes_a_full_block():
    """MuJoCo Warp integrates it by a path of its own, with the gyroscopic term."""

    def make():
        return free_body(3.0), [LawModule("body", with_block(*some_block(5)))]

    engines = both(make, H)
    random_starts(*engines, seed=6, speed=3.0)
    far = steps_apart(*engines, 50)
    assert max(far["qpos"], far["qvel"]) < ROUND_OFF
    assert far["effective"] < FORCE


@pytest.fixture(scope="module")
def bogies():
    """Two bogies with coupled arms on stiff, uneven ground; explicit forces of this stiffness would diverge."""

    def make():
        return robots(2), [LawModule(wheels(2), uneven_ground(2, 1e6))]

    return both(make, H)


def test_equality_constraints_are_solved_with_the_blocks(bogies):
    reference, engine = bogies
    reference.reset(range(3))
    reference.data[1].qpos[0] += 0.05
    reference.data[2].qvel[0] = -0.3
    copy_state(*bogies)
    far = steps_apart(*bogies, 100)
    assert np.abs(engine.d.efc.force.numpy()[:, :2]).max() > 5  # [N m] the coupling carries
    assert far["qpos"] < SOLVER
    assert far["qvel"] < SOLVER


def test_contacts_that_mujoco_keeps_carry_a_ball():
    def make():
        spec = mujoco.MjSpec.from_string(
            """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="ball" pos="0 0 0.12"><freejoint/>
            <geom type="sphere" size="0.1" mass="2"/></body></worldbody></mujoco>"""
        )
        return spec, [LawModule("ball", with_block(np.zeros(6), np.eye(6)))]

    engines = both(make, H)
    copy_state(*engines)
    far = steps_apart(*engines, 200)
    assert engines[0].data[0].ncon == 1
    assert max(far["qpos"], far["qvel"]) < SOLVER


# ---- worlds do not know each other -------------------------------------------------------------------------


class Spoilt:
    """A law with a NaN wrench in one world after some evaluations."""

    def __init__(self, world: int | None = None, after: int = 0, value: float = np.nan):
        self.world, self.after, self.value, self.calls = world, after, value, 0

    def __call__(self, h, motion):
        wrench, block = spring(1e4, 50.0)(h, motion)
        self.calls += 1
        if self.world is not None and self.calls > self.after:
            wrench[self.world, 0, 1] = self.value
        return wrench, block


def sprung(worlds: int, law=None, **more):
    """Chains on springs, each world at another speed."""
    engine = on_warp(chain(), [LawModule("foot", law or Spoilt())], H, worlds, **more)
    speeds = np.zeros((worlds, engine.model.nv), np.float32)
    speeds[:, 0] = np.arange(1, worlds + 1) * 0.1
    engine.set_start(qvel=speeds)
    engine.reset(range(worlds))
    return engine


def bits(engine, worlds) -> list[bytes]:
    arrays = (engine.qpos, engine.qvel, engine.slots[0].out.effective)
    return [a.numpy()[list(worlds)].tobytes() for a in arrays]


def test_the_same_batch_has_the_same_bits_twice_and_among_more_worlds():
    runs = []
    for worlds in (3, 3, 5):
        engine = sprung(worlds)
        step(engine, 40)
        runs.append(bits(engine, range(3)))
    assert runs[0] == runs[1]
    assert runs[0] == runs[2]


def test_contacts_of_a_world_do_not_depend_on_those_beside_it():
    """Boxes that fall on an edge, each world tilted otherwise; contacts of all worlds share one array."""
    text = """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="box" pos="0 0 0.16"><freejoint/>
        <geom type="box" size="0.1 0.1 0.1" mass="2"/></body></worldbody></mujoco>"""
    runs = []
    for worlds in (2, 2, 4):
        engine = on_warp(
            mujoco.MjSpec.from_string(text), [LawModule("box", with_block(np.zeros(6), np.eye(6)))], H, worlds
        )
        tilts = 0.2 * np.arange(1, worlds + 1)
        starts = [[0, 0, 0.16, np.cos(t / 2), np.sin(t / 2), 0.1 * t, 0] for t in tilts]
        engine.set_start(qpos=starts)
        engine.reset(range(worlds))
        step(engine, 60)
        assert engine.d.nefc.numpy().min() > 0  # they touch
        runs.append(bits(engine, range(2)))
    assert runs[0] == runs[1]
    assert runs[0] == runs[2]


MASKS = {
    "list": [1],
    "NumPy mask": np.array([False, True, False]),
    "mask on the device": wp.array([False, True, False], dtype=wp.bool, device="cpu"),
    "mask of integers": wp.array([0, 1, 0], dtype=wp.int32, device="cpu"),
}


@pytest.mark.parametrize("worlds", MASKS)
def test_a_world_is_reset_in_mid_run_and_the_others_go_on(worlds):
    plain, engine = sprung(3), sprung(3)
    step(plain, 20)
    fresh = bits(plain, [1])
    step(engine, 20)
    step(plain, 20)
    engine.reset(MASKS[worlds])
    np.testing.assert_array_equal(engine.qvel.numpy()[1], engine._start["qvel"].numpy()[1])
    assert engine.steps.numpy().tolist() == [20, 0, 20]
    step(engine, 20)
    assert bits(engine, [1]) == fresh
    assert bits(engine, [0, 2]) == bits(plain, [0, 2])


def test_a_fatal_status_stops_its_world_at_once():
    def law(h, motion):
        law.calls += 1
        return *Spoilt()(h, motion), np.where(np.arange(3)[:, None] == 1, 4 if law.calls == 10 else 0, 0)

    law.calls = 0
    reasons = {1: ("a", False), 2: ("b", True), 3: ("c", False), 4: ("it has left", True)}
    module = LawModule("foot", law, reasons=reasons)
    module.fatal_codes = 5  # codes below are looked at
    engine = on_warp(chain(), [module], H, 3)
    step(engine, 9)
    before = engine.qpos.numpy().copy()
    step(engine, 8)
    assert engine.diverged.numpy().tolist() == [0, 1, 0]
    np.testing.assert_array_equal(engine.qpos.numpy()[1], before[1])
    assert (engine.qpos.numpy()[[0, 2]] != before[[0, 2]]).any()
    ((world, stop),) = engine.faults(1.0, print)
    assert (world, stop.reason, stop.time) == (1, "it has left", pytest.approx(10 * H))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e25])
def test_a_diverged_world_stands_still_and_touches_no_other(value):
    plain, engine = sprung(3), sprung(3, Spoilt(world=1, after=10, value=value))
    step(plain, 10)
    step(engine, 10)
    before = engine.qpos.numpy()[1].copy()
    step(plain, 15)
    step(engine, 15)
    assert engine.diverged.numpy().tolist() == [0, 1, 0]
    assert engine.alarmed
    np.testing.assert_array_equal(engine.qpos.numpy()[1], before)
    assert not engine.qvel.numpy()[1].any()
    assert not engine.slots[0].out.effective.numpy()[1].any()
    assert np.isfinite(engine.motion.position.numpy()).all()
    assert bits(engine, [0, 2]) == bits(plain, [0, 2])
    ((world, stop),) = engine.faults(0.05, print)
    assert world == 1
    assert stop.time == pytest.approx(11 * H)
    assert stop.module == ("mujoco" if value == 1e25 else "fake")
    assert ("diverged" if value == 1e25 else "not finite") in stop.reason


def test_a_diverged_world_runs_again_after_its_reset():
    law = Spoilt(world=1, after=10)
    plain, engine = sprung(3), sprung(3, law)
    step(plain, 15)
    step(engine, 15)
    law.world = None
    engine.reset([1])
    assert not engine.alarmed
    step(engine, 15)
    assert bits(engine, [1]) == bits(plain, [1])


def test_a_control_that_is_not_finite_stops_its_world(servos):
    servos.reset(range(3))
    values = np.zeros((3, servos.model.nu), np.float32)
    values[2, 1] = np.nan
    servos.ctrl.assign(values)
    step(servos, 3)
    ((world, stop),) = servos.faults(0.0, print)
    assert world == 2
    assert "control 1 is nan" in str(stop)
    assert np.isfinite(servos.qpos.numpy()).all()


def test_a_status_of_a_module_is_noted_once_or_stops_its_world():
    """Status 1 is a note, 2 is fatal; the module raises them in one evaluation only, between two looks of the host."""
    codes = {12: 1, 15: 2}

    def law(h, motion):
        law.calls += 1
        status = np.zeros((3, 1), np.int32)
        status[1, 0] = codes.get(law.calls, 0)
        return *Spoilt()(h, motion), status

    law.calls = 0
    reasons = {1: ("it is dark", False), 2: ("it is over", True)}
    engine = on_warp(chain(), [LawModule("foot", law, reasons=reasons)], H, 3)
    noted = []
    step(engine, 13)
    assert engine.alarmed
    assert engine.faults(0.1, lambda *said: noted.append(said)) == []
    assert noted == [("fake", "foot", "it is dark", 0.1)]
    engine.clear_alarm()
    assert engine.faults(0.1, lambda *said: noted.append(said)) == []
    assert len(noted) == 1
    step(engine, 5)
    ((world, stop),) = engine.faults(0.2, print)
    assert (world, stop.reason, stop.body) == (1, "it is over", "foot")


# ---- parameters, start, refusals ---------------------------------------------------------------------------

SERVOS = """
<mujoco model="servos"><compiler angle="radian"/><worldbody><body name="arm">
  <joint name="a" axis="0 1 0" damping="0.1" range="-1 0.01"/>
  <geom type="capsule" size="0.02" fromto="0 0 0 0.4 0 0" mass="1"/>
  <body name="tip" pos="0.4 0 0"><joint name="b" axis="0 1 0" damping="0.1"/>
  <geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0" mass="0.5"/></body></body></worldbody>
  <actuator><position joint="a" kp="30" kv="2"/><position joint="b" kp="20" kv="1"/></actuator>
  <sensor><jointpos name="angle" joint="a"/><gyro name="gyro" site="s"/></sensor></mujoco>
""".replace('mass="0.5"/>', 'mass="0.5"/><site name="s" pos="0.1 0 0"/>')


@pytest.fixture(scope="module")
def servos():
    return on_warp(mujoco.MjSpec.from_string(SERVOS), [LawModule("tip", with_block(np.zeros(6), np.eye(6)))], H, 3)


PARAMETERS = {
    "body_mass": lambda m, k: np.array([0, 1 + 0.5 * k, 0.5]),
    "body_inertia": lambda m, k: m.body_inertia * (1 + k),
    "dof_damping": lambda m, k: np.array([0.1 + k, 0.2]),
    "dof_armature": lambda m, k: np.array([0.01 * k, 0.02]),
    "actuator_gainprm": lambda m, k: m.actuator_gainprm * (1 + 0.3 * k),
    "gravity": lambda m, k: np.array([0.0, 0.5 * k, -3.7 - k]),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_that_differs_between_worlds_acts_as_in_models_of_their_own(name):
    """Each world moves as a model of its own, with the parameter. One joint comes to its limit.

    How soft the limit is depends on constants that MuJoCo computes from mass and inertia.
    """
    engine = on_warp(mujoco.MjSpec.from_string(SERVOS), [LawModule("tip", with_block(np.zeros(6), np.eye(6)))], H, 3)
    engine.ctrl.fill_(0.3)
    values = [PARAMETERS[name](engine.model, k) for k in range(3)]
    engine.set_parameter(name, values)
    step(engine, 50)
    for k, value in enumerate(values):
        module = LawModule("tip", with_block(np.zeros(6), np.eye(6)))
        alone = MujocoCpu(mujoco.MjSpec.from_string(SERVOS), [module], H)
        (alone.model.opt if name == "gravity" else alone.model).__setattr__(name, value)
        mujoco.mj_setConst(alone.model, alone.data[0])
        alone.reset([0])
        alone.data[0].ctrl[:] = 0.3
        start(alone)
        step(alone, 50)
        np.testing.assert_allclose(engine.qpos.numpy()[k], alone.data[0].qpos, atol=ANGLE, err_msg=f"world {k}")
        np.testing.assert_allclose(engine.sensordata.numpy()[k], alone.data[0].sensordata, atol=10 * ROUND_OFF)
        assert engine.qpos.numpy()[k, 0] > 0.01  # [rad] it is at the limit
    assert np.ptp(engine.qpos.numpy(), axis=0).max() > 100 * ANGLE  # the worlds do differ


def test_parameters_can_come_from_an_array_on_the_device():
    given = np.array([[[0, 0, 0], [0.1 * k, 0, 0], [0.2, 0, 0.01 * k]] for k in range(3)], np.float32)
    engine = on_warp(mujoco.MjSpec.from_string(SERVOS), [LawModule("tip", spring(1.0))], H, 3)
    engine.set_parameter("body_ipos", wp.array(given, dtype=wp.float32, device="cpu"))
    np.testing.assert_array_equal(engine.m.body_ipos.numpy(), given)
    with pytest.raises(InputError, match="body_ipos must be of float32"):
        engine.set_parameter("body_ipos", wp.array(given[:, 0], dtype=wp.float32, device="cpu"))


def test_arrays_of_all_worlds_are_shared_without_a_copy(servos):
    servos.reset(range(3))
    shared = np.from_dlpack(servos.qpos)
    assert shared.shape == (3, servos.model.nq)
    servos.qpos.fill_(0.25)
    assert (shared == 0.25).all()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("body_parentid", [0], "'body_parentid' cannot differ between worlds; allowed: gravity"),
        ("timestep", [0.1], "'timestep' cannot differ between worlds"),
        ("body_mass", [1.0, 2.0], r"body_mass has shape \(2,\); allowed: \(3, 3\)"),
        ("body_mass", np.full((3, 3), np.nan), "body_mass has a number that is not finite"),
        ("body_mass", np.full((3, 3), -1.0), "body_mass is negative"),
    ],
)
def test_a_wrong_parameter_is_refused_by_name(servos, name, value, words):
    with pytest.raises(InputError, match=words):
        servos.set_parameter(name, value)


def test_wrong_worlds_and_starts_are_refused(servos):
    for wrong in ([3], [-1], [0.5], np.zeros(2, bool), 7):
        with pytest.raises(InputError, match="allowed are some of 0 to 2"):
            servos.reset(wrong)
    with pytest.raises(InputError, match="a mask must be of bool or int32"):
        servos.reset(wp.zeros(2, dtype=wp.bool, device="cpu"))
    with pytest.raises(InputError, match="qpos has shape"):
        servos.set_start(qpos=np.zeros(5))
    with pytest.raises(InputError, match="'place' is not known"):
        servos.set_start(place=1)
    with pytest.raises(InputError, match="no MjData"):
        _ = servos.data


def test_state_of_a_world_is_restored_bit_for_bit(servos):
    servos.reset(range(3))
    servos.ctrl.fill_(0.5)
    step(servos, 10)
    saved = [servos.state(world) for world in range(3)]
    step(servos, 10)
    expected = bits(servos, range(3))
    for world in (2, 0, 1):
        servos.restore(world, saved[world])
    servos.kinematics()
    step(servos, 10)
    assert bits(servos, range(3)) == expected
    np.testing.assert_allclose(servos.host(1).xpos, servos.xpos.numpy()[1], atol=1e-6)


def test_too_little_room_for_contacts_stops_the_world():
    spec = mujoco.MjSpec.from_string(
        """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="box" pos="0 0 0.1"><freejoint/>
        <geom type="box" size="0.1 0.1 0.1" mass="2"/></body></worldbody></mujoco>"""
    )
    engine = on_warp(spec, [LawModule("box", with_block(np.zeros(6), np.eye(6)))], H, 2, constraints=3)
    step(engine, 5)
    stops = engine.faults(0.0, print)
    assert [world for world, _ in stops] == [0, 1]
    assert "room for 8 contacts and 3 rows of constraints" in str(stops[0][1])


REFUSED = {
    "a flag": ('<option><flag midphase="disable"/></option>', "MuJoCo Warp cannot simulate it: mjDSBL_MIDPHASE"),
    "solver PGS": ('<option solver="PGS"/>', "option solver PGS is not supported"),
    "integrator RK4": ('<option integrator="RK4"/>', "option integrator RK4 is not supported"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_engine_cannot_do_is_refused_by_name(case):
    addition, words = REFUSED[case]
    text = SERVOS.replace("<sensor>", addition + "<sensor>")
    with pytest.raises(InputError, match=words):
        on_warp(mujoco.MjSpec.from_string(text), [LawModule("tip", spring(1.0))], H)


def test_sensors_of_acceleration_and_force_read_the_effective_wrenches():
    """As on the CPU, on a chain that is pushed hard: `test_sensors.py` checks those against plain MuJoCo."""

    def make():
        return mujoco.MjSpec.from_string(SENSED), [LawModule(("foot", "lower"), with_block(*some_block(7)))]

    reference, engine = both(make, H)
    random_starts(reference, engine, seed=8)
    for _ in range(5):
        step(reference)
        step(engine)
        expected = np.array([d.sensordata for d in reference.data])
        np.testing.assert_allclose(engine.sensordata.numpy(), expected, atol=FORCE * np.abs(expected).max())
    assert far_from_applied(engine) > 100 * FORCE * np.abs(expected).max()


def test_gearboxes_lose_what_they_lose_on_the_cpu():
    """A wheel that its motor drives, one that it brakes hard, and one in the band between."""
    starts = np.array([[20.0], [-20.0], [-0.1 / MOTOR.gear]])  # [rad/s]

    def make():
        spec = mujoco.MjSpec()
        body = spec.worldbody.add_body(name="wheel")
        body.mass, body.inertia, body.ipos, body.explicitinertial = 1.0, [0.05] * 3, [0, 0, 0], True
        body.add_joint(name="axle", type=mujoco.mjtJoint.mjJNT_HINGE, axis=[0, 1, 0])
        replace(MOTOR, efficiency=0.6).add_to(spec, "motor", "axle", 36.0)
        return spec, []

    reference, engine = both(make, H)
    for d, speed in zip(reference.data, starts, strict=True):
        d.qvel[:], d.ctrl[:] = speed, 0.02
    copy_state(reference, engine)
    changed = {}
    for name in ("with", "without"):
        copy_state(reference, engine)
        step(engine, 1)
        changed[name] = engine.qvel.numpy() - np.float32(starts)
        engine._gearboxes = None
    step(reference, 1)
    expected = np.array([d.qvel for d in reference.data]) - starts
    np.testing.assert_allclose(changed["with"], expected, rtol=FORCE)
    assert (np.abs(changed["without"] / expected - 1) > 0.3).all()  # the losses are what is compared


def far_from_applied(engine) -> float:
    """Largest difference [N or N m] between applied and effective wrenches."""
    out = engine.slots[0].out
    return float(np.abs(out.wrench.numpy() - out.effective.numpy()).max())


def test_a_device_that_is_not_there_is_refused():
    with pytest.raises(InputError, match="'cuda:7' is not here; this machine has 'cpu'"):
        MujocoWarp(chain(), [], H, device="cuda:7")


@pytest.mark.parametrize("name", ["tyre", "polygonal", "fake"])
def test_modules_that_do_not_run_on_a_gpu_are_refused_by_name(name):
    gpu = SimpleNamespace(is_cuda=True, alias="cuda:0")
    module = LawModule("foot", spring(1.0), name=name)
    with pytest.raises(InputError, match=f"module '{name}' does not run in worlds on cuda:0; allowed there: soil"):
        check_modules([module], gpu)
    check_modules([module], wp.get_device("cpu"))


def test_a_model_that_the_other_engine_has_compiled_is_taken():
    """It switches off MuJoCo's automatic reset, a flag that MuJoCo Warp does not know."""
    spec = free_body(3.0)
    MujocoCpu(spec, [LawModule("body", spring(1.0))], H)
    on_warp(spec, [LawModule("body", spring(1.0))], H)


def test_more_worlds_than_the_memory_holds_are_refused(monkeypatch):
    def full(*args, **more):
        raise RuntimeError("Failed to allocate 10 bytes on device 'cpu'")

    monkeypatch.setattr("mujoco_warp.make_data", full)
    with pytest.raises(InputError, match="worlds: the memory of cpu does not hold 10"):
        on_warp(chain(), [], H, worlds=10)


def test_without_the_package_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco_warp", None)
    with pytest.raises(InputError, match=r"need mujoco-warp: pip install 'grouser\[batch\]'"):
        on_warp(chain(), [], H)


def test_importing_the_package_waits_until_it_is_used():
    code = "import sys, grouser.engine.mujoco_warp; assert 'mujoco_warp' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_kernels_compile_for_a_gpu(dtype, tmp_path):
    """For compute capability 9.0, by the compiler that comes with Warp; no GPU is needed."""
    module = device.kernels(mujoco_warp_kernels, dtype).add_forces.module
    for each in (module, gearbox.MODULE):
        (file,) = wp.compile_aot_module(each, arch=90, module_dir=tmp_path)
        assert file.stat().st_size > 1000


def test_a_tree_of_many_branches_is_factored_right():
    """72 degrees of freedom, for which MuJoCo Warp has a sparse factor of its own; M + B, random blocks."""

    def make():
        limbs = "".join(
            f"""<body name="limb{k}" pos="{0.1 * k} 0 0"><joint axis="0 1 0"/><joint axis="1 0 0"/>
            <inertial pos="0.05 0.02 0" mass="0.5" diaginertia="0.01 0.02 0.02"/><body name="tip{k}" pos="0.1 0 0">
            <joint axis="0 0 1"/><inertial pos="0.04 0 0.01" mass="0.2" diaginertia="0.01 0.01 0.01"/></body></body>"""
            for k in range(22)
        )
        text = f"""<mujoco><worldbody><body name="trunk"><freejoint/>
            <inertial pos="0 0 0.01" mass="5" diaginertia="0.3 0.2 0.1"/>{limbs}</body></worldbody></mujoco>"""
        bodies = tuple(f"tip{k}" for k in range(22))
        return mujoco.MjSpec.from_string(text), [LawModule(bodies, with_block(*some_block(9)))]

    engines = both(make, H)
    assert engines[1].model.nv == 72
    random_starts(*engines, seed=10, speed=0.3)
    far = steps_apart(*engines, 20)
    assert max(far["qpos"], far["qvel"]) < 10 * ROUND_OFF  # its condition is larger


def test_apart_sees_a_difference(chains):
    random_starts(*chains, seed=0)
    chains[1].qpos.fill_(7.0)
    assert apart(*chains)["qpos"] > 1
