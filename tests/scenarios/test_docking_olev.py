"""Docking: insertion and locking in short, the whole sequence in full length, aborts, settings, the envelope's file."""

from __future__ import annotations

import numpy as np
import pytest

import grouser
from grouser.campaign.definition import read_sweep
from grouser.control.docking import Phase
from grouser.errors import InputError
from grouser.robots import olev_shapes as shapes
from grouser.robots.olev import Olev
from grouser.robots.olev_contact import Discretisation, nozzle_contact
from grouser.scenarios import registry
from grouser.scenarios.docking_channels import section_channels
from grouser.scenarios.docking_olev import Initial, build
from grouser.scenarios.settings import from_python

NEAR = {  # in the nozzle, a little off: insertion and locking in some seconds
    "boom_length": 2.11, "client_x": 0.0015, "client_y": -0.001, "client_tilt_x_deg": 0.2, "client_tilt_y_deg": -0.2,
}  # fmt: skip
LOCKING = 0.05  # of the locking force
DEEPEST = 5e-4  # [m]
NEGLIGIBLE = 3.0  # [N]
STIFFNESS = Olev().contact_stiffness  # [N/m^3]
SINGLE = 1e-6  # recordings are float32
EXACT = 1e-12
FORCE = ("c", "c_t", "d", "d_t", "s_d0", "mu_stick", "mu_slip", "kappa")  # all constants of a force
COSINE = 1e-3  # less than 1 by this for the angle between tool and nozzle, up to 2.5 degree
DRIFT = 1e-3


def values(outcome) -> dict:
    return {name: metric["value"] for name, metric in outcome.summary["metrics"].items()}


@pytest.fixture(scope="module")
def locked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docking") / "short"
    return values(grouser.run("docking-olev", time=15.0, initial=NEAR, out=folder, report=False))


def test_crown_locks_with_its_force(locked):
    assert locked["captured"] == 1
    assert locked["locking_force_N"] == pytest.approx(100.0, rel=LOCKING)
    assert locked["contact_before_lock_max_N"] < NEGLIGIBLE
    assert 0 < locked["penetration_crown_m"] < DEEPEST
    assert 0 < locked["penetration_tool_m"] < DEEPEST


def test_clamping_is_internal(locked):
    assert abs(locked["safety_spring_force_N"]) < 5.0  # nothing pulls yet; the boom only gives way


def test_forces_of_pairs_are_reported_one_by_one(locked):
    """Crown and shoulder press with the locking force each; as vectors they would cancel."""
    for pair in ("tool", "crown"):
        assert locked[f"force_{pair}_max_N"] > (1 - LOCKING) * 100.0
        assert locked[f"pressure_{pair}_max_Pa"] == pytest.approx(
            STIFFNESS * locked[f"penetration_{pair}_m"], rel=SINGLE
        )
    assert locked["client_force_max_N"] == max(locked["force_tool_max_N"], locked["force_crown_max_N"])


def test_wrenches_are_opposite_and_momentum_stays(locked):
    assert locked["pair_wrench_sum_rel"] < EXACT
    assert locked["momentum_drift_rel"] < DRIFT


def test_excess_force_makes_it_retreat(tmp_path):
    """A tool aimed at the wall meets it; a limit of half a newton is passed, and the servicer leaves."""
    off = {**NEAR, "boom_length": 2.03, "client_x": 0.025}
    outcome = grouser.run(
        "docking-olev", {"plan.insertion_force": 0.5}, time=12.0, initial=off, out=tmp_path / "abort", report=False
    )
    found = values(outcome)
    assert (found["docked"], found["captured"]) == (0, 0)
    assert found["phase_end"] == "abort"
    assert found["abort_reason"] == "force"
    with grouser.Recording(outcome.folder / "recording.h5") as recording:
        length = recording["docking/boom_length"]
        assert length[-1] < length.max() - 0.02  # the boom comes in


def test_a_checkpoint_in_the_lock_continues_bit_for_bit():
    sim = build(from_python("docking-olev", {"initial": {**NEAR, "boom_length": 2.115}}).settings)  # type: ignore[arg-type]
    sim.step(1500)
    saved = sim.checkpoint()
    sim.step(200)
    first = sim.data.qpos.copy()
    sim.restore(saved)
    sim.step(200)
    assert (sim.data.qpos == first).all()


def test_the_same_seed_repeats_and_another_does_not():
    def place(seed: int) -> np.ndarray:
        sim = build(from_python("docking-olev", {"seed": seed}).settings)  # type: ignore[arg-type]
        sim.step(1000)
        return sim.data.qpos.copy()

    assert (place(1) == place(1)).all()
    assert (place(1) != place(2)).any()


def test_initial_state_from_a_file_beside_the_scenario(tmp_path):
    (tmp_path / "state.yaml").write_text("client_x: 0.04\nclient_y: 0.03\n")
    (tmp_path / "run.yaml").write_text(
        "scenario: docking-olev\nsettings:\n  initial_file: state.yaml\n  initial:\n    client_y: 0.01\n"
    )
    settings = from_python(tmp_path / "run.yaml", {}).settings
    assert settings.initial == Initial(client_x=0.04, client_y=0.01)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "message"), [("clientx: 1\n", "clientx: unknown field"), ("client_x: far\n", "client_x")]
)
def test_bad_initial_files_are_refused(tmp_path, text, message):
    (tmp_path / "state.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        from_python("docking-olev", {"initial_file": str(tmp_path / "state.yaml")})


def test_bad_machines_are_refused_by_name():
    with pytest.raises(InputError, match="bolt"):
        from_python("docking-olev", {"machine": {"bolt_radius": 0.05}})


def test_constants_of_contact_do_not_depend_on_the_thickness_of_the_layer():
    thin, thick = (nozzle_contact(Olev(), Discretisation(layer=times * Discretisation().layer)) for times in (0.5, 2.0))
    for thin_laws, thick_laws in zip(thin._laws, thick._laws, strict=True):
        for a, b in zip(thin_laws, thick_laws, strict=True):
            assert {name: a[name] for name in FORCE} == pytest.approx({name: b[name] for name in FORCE}, rel=EXACT)
            assert a["c"] == pytest.approx(Olev().contact_stiffness, rel=EXACT)
            assert 4 * a["thickness"] == pytest.approx(b["thickness"])


def test_the_outline_of_a_retracted_crown_ends_at_its_tip():
    sim = build(from_python("docking-olev", {}).settings)  # type: ignore[arg-type]
    place = sim.model.joint("crown").qposadr[0]
    channels = {channel.name: channel.read for channel in section_channels(sim, Olev())}
    _, radius = shapes.bolt_section(Olev())
    lengths = []
    for position in (0.0, -Olev().crown_stroke):
        sim.data.qpos[place] = position
        axial, above, below = (channels[f"section/{name}"]()[0] for name in ("axial", "above", "below"))  # type: ignore[misc]
        at_axis = above - below < radius.max() / 2
        assert np.ptp(axial[at_axis]) < radius.max()  # no line beyond the tip
        lengths.append(np.ptp(axial))
    assert lengths[0] - lengths[1] == pytest.approx(Olev().crown_stroke, rel=COSINE)


def test_orbit_can_be_switched_on():
    sim = build(from_python("docking-olev", {"orbit": True}).settings)  # type: ignore[arg-type]
    sim.step(50)
    assert np.abs(sim.modules[-1].impulse).max() > 0  # type: ignore[attr-defined]
    assert registry.scenario("docking-olev").rate == 20.0


def test_envelope_is_a_sweep_of_stated_size():
    sweep = read_sweep("examples/docking-envelope.yaml")
    assert len(sweep.cases) == 32
    assert len({case.settings.seed for case in sweep.cases}) == 32  # type: ignore[attr-defined]


@pytest.mark.long
def test_the_whole_docking_meets_the_paper(tmp_path):
    outcome = grouser.run("docking-olev", out=tmp_path / "full")
    missed = [name for name, metric in outcome.summary["metrics"].items() if metric["pass"] is False]
    assert not missed
    found = values(outcome)
    assert found["docked"] == 1
    assert found["phase_end"] == Phase.MATED.name.lower()


@pytest.mark.long
def test_less_momentum_is_lost_at_shorter_steps(tmp_path):
    drift = [
        values(grouser.run("docking-olev", time=14.0, initial=NEAR, step=step, out=tmp_path / str(step), report=False))
        for step in (2e-3, 1e-3)
    ]
    coarse, fine = (found["momentum_drift_rel"] for found in drift)
    assert fine < 0.7 * coarse < DRIFT
