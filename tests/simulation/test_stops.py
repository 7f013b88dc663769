"""A run that cannot go on stops and says who, where and when; what can go on is said once."""

import mujoco
import numpy as np
import pytest

from grouser.contact.soil import SoilModule
from grouser.errors import InputError, RunStopped
from grouser.recording import Recording, RecordingWriter
from grouser.simulation import Simulation
from tests.engine.fakes import LawModule, constant, free_body, spring
from tests.simulation.beds import bed, tread

H = 5e-3
NOTHING = np.zeros((6, 6))


@pytest.fixture(autouse=True)
def somewhere_else(tmp_path, monkeypatch):
    """MuJoCo would write its log of diverging runs here."""
    monkeypatch.chdir(tmp_path)


def turning(bad, when=10):
    """A law that goes bad after `when` steps: `bad(wrench, block)` spoils what it gives."""
    count = [0]

    def law(h, motion):
        count[0] += 1
        wrench, block = np.zeros((*motion.position.shape[:2], 6)), np.eye(6)
        return bad(wrench, block) if count[0] > when else (wrench, block)

    return law


def stop(modules, spec=None, **more) -> tuple[RunStopped, Simulation]:
    sim = Simulation(spec or free_body(), modules, step=H, **more)
    with pytest.raises(RunStopped) as stopped:
        sim.step(100)
    return stopped.value, sim


@pytest.mark.parametrize(
    "bad", [lambda w, b: (w * np.nan, b), lambda w, b: (w + np.inf, b), lambda w, b: (w, b * np.nan)]
)
def test_a_wrench_that_is_no_number_stops_the_run_and_names_its_module(bad):
    innocent = LawModule("body", spring(100.0), name="innocent")
    stopped, sim = stop([innocent, LawModule("body", turning(bad), name="guilty")])
    assert (stopped.module, stopped.body) == ("guilty", "body")
    assert stopped.time == pytest.approx(11 * H)
    assert "not finite" in stopped.reason
    assert sim.steps == 10


def test_not_even_a_body_that_cannot_move_hides_it():
    spec = free_body()
    spec.worldbody.add_body(name="rock")
    stopped, _ = stop([LawModule("rock", turning(lambda w, b: (w * np.nan, b)), name="guilty")], spec)
    assert (stopped.module, stopped.body) == ("guilty", "rock")


def test_the_soil_is_not_blamed_for_what_another_module_did():
    spec = free_body(centre=(0, 0, 0))
    spec.body("body").name = "tread"
    spec.body("tread").pos = [0, 0, 0.1]
    ground = bed()
    soil = SoilModule(ground, {"tread": tread()})
    guilty = LawModule("tread", turning(lambda w, b: (w * np.nan, b)), name="guilty")
    stopped, _ = stop([soil, guilty], spec, ground=ground)
    assert stopped.module == "guilty"


def test_a_huge_force_stops_the_run_and_names_who_pushed():
    calm = LawModule("body", constant([1, 0, 0, 0, 0, 0]), name="calm")
    wild = LawModule("body", turning(lambda w, b: (w + 1e40, b)), name="wild")
    stopped, _ = stop([calm, wild])
    assert (stopped.module, stopped.body) == ("mujoco", "body")
    assert "diverged" in stopped.reason
    assert "wild on 'body'" in stopped.reason
    assert stopped.time == pytest.approx(11 * H)


def test_an_explicit_spring_that_rings_itself_to_bits_is_stopped():
    stopped, sim = stop([LawModule("body", spring(1e7, anchor=(0, 0, 0.01)))], implicit=False)
    assert "diverged" in stopped.reason
    assert 0 < stopped.time < 0.2


def test_a_warning_of_mujoco_is_a_note_and_leaves_no_file(tmp_path):
    """Its own handler writes MUJOCO_LOG.TXT into the working directory."""
    other, sim = (Simulation(free_body(), step=H) for _ in range(2))
    sim.data.xfrc_applied[1, 0] = np.nan
    with pytest.raises(RunStopped):
        for _ in range(3):
            other.step()
            sim.step()
    assert [note for note in sim.notes if note.startswith("MuJoCo warns: Nan, Inf or huge value in QACC")]
    assert not any("MuJoCo warns" in note for note in other.notes)
    assert list(tmp_path.iterdir()) == []


def guilty_worlds(*bad):
    """A push on three worlds that is no number in some of them."""

    def law(h, motion):
        wrench = np.zeros((3, 1, 6))
        wrench[:, :, 0] = 1.0
        wrench[list(bad)] = np.nan
        return wrench, NOTHING

    return LawModule("body", law, name="guilty")


def test_a_bad_world_of_a_batch_stands_still_and_the_others_go_on():
    sim = Simulation(free_body(), [guilty_worlds(1)], step=H, worlds=3)
    healthy = Simulation(free_body(), [guilty_worlds()], step=H, worlds=3)
    sim.step(50)
    healthy.step(50)
    assert list(sim.engine.frozen) == [False, True, False]
    assert [n for n in sim.notes if "is frozen" in n] == [
        "world 1 is frozen: run stopped at t = 0.005 s: guilty, body 'body': the wrench is not finite"
    ]
    for world in (0, 2):
        assert np.array_equal(sim.engine.data[world].qpos, healthy.engine.data[world].qpos)
    checkpoint = sim.checkpoint()
    sim.reset()
    assert not sim.engine.frozen.any()
    sim.restore(checkpoint)
    assert list(sim.engine.frozen) == [False, True, False]


def test_a_batch_stops_when_all_its_worlds_stand_still():
    stopped, _ = stop([guilty_worlds(0, 1, 2)], worlds=3)
    assert stopped.module == "guilty"


def test_a_run_that_stopped_stays_so_until_it_is_reset():
    stopped, sim = stop([guilty_worlds(0, 1, 2)], worlds=3)
    checkpoint, time = sim.checkpoint(), sim.time
    for _ in range(2):
        with pytest.raises(RunStopped) as again:
            sim.step()
        assert again.value is stopped
    assert sim.time == time
    sim.reset([0])  # this one could go on
    with pytest.raises(RunStopped):
        sim.step()
    sim.reset()
    sim.restore(checkpoint)
    with pytest.raises(RunStopped):
        sim.step()


@pytest.mark.parametrize("count", [-1, 1.5, None, "5", True])
def test_steps_are_counted_and_a_wrong_count_moves_nothing(count):
    sim = Simulation(free_body(), step=H)
    with pytest.raises(InputError, match=r"count = .*: allowed is an integer of at least 0"):
        sim.step(count)
    assert (sim.steps, sim.data.time) == (0, 0.0)
    sim.step(np.int64(3))
    assert sim.steps == 3


@pytest.mark.parametrize(("duration", "rate"), [(-1, 100), (np.nan, 100), (1, 0), (1, np.nan), (np.inf, 1)])
def test_a_run_of_no_length_is_refused(duration, rate):
    with pytest.raises(InputError, match=r"(duration|rate) = .*: allowed is a finite number"):
        Simulation(free_body(), step=H).run(duration, rate=rate)


def test_a_recording_goes_on_over_several_runs(tmp_path):
    sim = Simulation(free_body(), step=H)
    header = {"scenario": "free", "metrics": [], "figures": []}
    with RecordingWriter(tmp_path / "runs.h5", header, sim.channels()) as writer:
        for _ in range(3):
            sim.run(0.1, writer=writer)
    with Recording(tmp_path / "runs.h5") as recording:
        np.testing.assert_allclose(recording.time, np.arange(31) * 0.01)


def test_a_fatal_code_stops_and_another_is_said_once():
    """Codes are the module's own; the second body reports, the first does not."""
    count = [0]

    def law(h, motion):
        count[0] += 1
        return np.zeros(6), NOTHING, [[0, 4 if count[0] > 20 else 3]]

    spec = free_body()
    other = spec.worldbody.add_body(name="other", pos=[1, 0, 0])
    other.add_freejoint()
    other.mass, other.inertia, other.ipos, other.explicitinertial = 1.0, [0.1] * 3, [0, 0, 0], True
    module = LawModule(("body", "other"), law, name="fussy", reasons={3: ("a bit hot", False), 4: ("on fire", True)})
    stopped, sim = stop([module], spec)
    assert str(stopped) == "run stopped at t = 0.105 s: fussy, body 'other': on fire"
    assert [n for n in sim.notes if "hot" in n] == ["t = 0.005 s: fussy, body 'other': a bit hot"]


# ---- the edge of the soil ---------------------------------------------------------------------------


def sliding(x: float, speed: float, half=0.5) -> Simulation:
    """A tread pulled along x at a speed, on a bed that ends at `half`."""
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="tread", pos=[x, 0, 0.095])
    body.add_joint(type=mujoco.mjtJoint.mjJNT_SLIDE, axis=[1, 0, 0], name="x")
    body.mass, body.inertia, body.ipos, body.explicitinertial = 2.0, [0.01] * 3, [0, 0, 0], True
    spec.add_actuator(trntype=mujoco.mjtTrn.mjTRN_JOINT, target="x").set_to_velocity(kv=1e6)
    spec.add_key(qpos=[0], qvel=[speed], ctrl=[speed])
    ground = bed(half=half)
    return Simulation(spec, [SoilModule(ground, {"tread": tread()})], ground=ground, step=H)


def test_reaching_the_edge_is_said_once_and_leaving_stops_the_run():
    sim = sliding(0.35, 0.2)
    said = []
    with pytest.raises(RunStopped) as stopped:
        for _ in range(300):
            sim.step()
            said.append(sum("edge of the terrain" in n for n in sim.notes))
    assert said[0] == 0
    assert said[-1] == 1
    assert (stopped.value.module, stopped.value.body) == ("soil", "tread")
    assert "left the terrain" in stopped.value.reason
    assert sim.data.xpos[1, 0] > 0.5
    assert stopped.value.time == pytest.approx(0.75, abs=3 * H)  # 0.15 m at 0.2 m/s, and the step it is seen in


def test_well_inside_nothing_is_said():
    sim = sliding(-0.2, 0.05)
    sim.step(100)
    assert not any("tread" in n for n in sim.notes)


def test_a_stopped_run_can_be_reset():
    sim = sliding(0.45, 0.2)
    with pytest.raises(RunStopped):
        sim.step(300)
    sim.reset()
    assert sim.time == 0
    sim.step(10)
    assert sim.steps == 10
