"""What the engine refuses, by name, and what it changes and says."""

import math

import mujoco
import pytest

from grouser.engine.mujoco_cpu import MujocoCpu
from grouser.errors import InputError
from tests.engine.fakes import LawModule, constant, free_body

enum = mujoco
NEWER = [  # MuJoCo 3.12 and 3.13 do not have them
    (field, getattr(kind, name), said)
    for field, kind, name, said in [
        ("integrator", enum.mjtIntegrator, "mjINT_DISCRETE", "integrator discrete"),
        ("enableflags", enum.mjtEnableBit, "mjENBL_IPC", "flag ipc"),
    ]
    if hasattr(kind, name)
]


def engine(spec=None, *, body="body", step=1e-3, step_limit=math.inf, notes=None):
    module = LawModule(body, constant([0] * 6), name="spring", step_limit=step_limit)
    return MujocoCpu(spec or free_body(), [module], step, notes=[] if notes is None else notes)


@pytest.mark.parametrize(
    ("field", "value", "name"),
    [
        ("integrator", enum.mjtIntegrator.mjINT_RK4, "integrator RK4"),
        ("integrator", enum.mjtIntegrator.mjINT_IMPLICIT, "integrator implicit"),
        ("solver", enum.mjtSolver.mjSOL_PGS, "solver PGS"),
        ("noslip_iterations", 3, "noslip_iterations 3"),
        ("enableflags", enum.mjtEnableBit.mjENBL_SLEEP, "flag sleep"),
        *NEWER,
    ],
)
def test_an_option_it_cannot_honour_is_refused_by_name(field, value, name):
    spec = free_body()
    spec.modelname = "rover"
    setattr(spec.option, field, value)
    with pytest.raises(InputError, match=f"model 'rover': option {name} is not supported") as refusal:
        engine(spec)
    assert "implicitfast" in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("solver", [enum.mjtSolver.mjSOL_NEWTON, enum.mjtSolver.mjSOL_CG])
def test_newton_and_cg_are_taken(solver):
    spec = free_body()
    spec.option.solver = solver
    assert engine(spec).model.opt.solver == solver


def test_euler_is_changed_to_implicitfast_and_said():
    spec, notes = free_body(), []
    spec.option.integrator = enum.mjtIntegrator.mjINT_EULER
    assert engine(spec, notes=notes).model.opt.integrator == enum.mjtIntegrator.mjINT_IMPLICITFAST
    assert notes == ["integrator set to implicitfast (the model has Euler)"]


def test_implicitfast_is_kept_without_a_word():
    spec, notes = free_body(), []
    spec.option.integrator = enum.mjtIntegrator.mjINT_IMPLICITFAST
    engine(spec, notes=notes)
    assert notes == []


def test_a_diverging_model_does_not_restart_by_itself():
    assert engine().model.opt.disableflags & enum.mjtDisableBit.mjDSBL_AUTORESET


def test_an_unknown_body_is_refused_with_the_ones_there_are():
    with pytest.raises(InputError, match="body 'wheel' is not in the model; it has body"):
        engine(body="wheel")


@pytest.mark.parametrize("step", [0.0, -1e-3, math.nan, math.inf])
def test_a_step_that_is_no_step_is_refused(step):
    with pytest.raises(InputError, match=r"step: .* s is not allowed; it must be above 0"):
        engine(step=step)


def test_a_step_above_what_a_module_is_stable_at_is_refused_with_its_name():
    with pytest.raises(InputError, match=r"step: 0\.001 s is above the stability limit of module 'spring', 0\.0005 s"):
        engine(step_limit=5e-4)
    engine(step_limit=1e-3)


def test_a_model_mujoco_cannot_compile_is_refused_in_one_line():
    spec = free_body()
    spec.body("body").mass = -1.0
    with pytest.raises(InputError, match="model ") as refusal:
        engine(spec)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("worlds", [0, -1, 1.5, True])
def test_worlds_are_counted(worlds):
    with pytest.raises(InputError, match=r"worlds = .*an integer of at least 1"):
        MujocoCpu(free_body(), [], 1e-3, worlds=worlds)
