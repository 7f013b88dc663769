"""SMART-OLEV docks to a Spacebus-class satellite: Krenn and Hirzinger 2009, section II.C, Fig. 9-11.

The phases are: insertion of the capture tool into the client's apogee motor, locking, retraction of the boom, touchdown
on three brackets, safety spring, hold of both satellites by the servicer. The paper gives locking force, spring force,
largest penetration and the times of the phases. Machine, speeds and initial state are assumed (robots/olev.py,
control/docking.py).
"""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pydantic
from pydantic_core import PydanticCustomError

from grouser.control.docking import DockingPlan, Phase, Reason
from grouser.control.docking_sensors import ContactSwitches
from grouser.errors import InputError
from grouser.recording import Recording
from grouser.robots import olev, olev_contact, olev_control
from grouser.robots import olev_shapes as shapes
from grouser.robots.olev import InitialState, Olev
from grouser.robots.orbit import OrbitalMotion
from grouser.scenarios.docking_channels import (
    PAIRS,
    WrenchSums,
    crown_channels,
    force_reader,
    section_channels,
    system_channels,
)
from grouser.scenarios.docking_results import (
    AT_LOCK,
    LAST,
    SETTLING,
    SWING,
    bending,
    clamping,
    elements_in_contact,
    lateral_loads,
    peaks,
)
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Settings, metric, scenario_of
from grouser.scenarios.source import read_file
from grouser.simulation import Simulation

PAPER = "Krenn and Hirzinger 2009"
STEP = 2e-3  # [s]
RATE = 20.0  # [Hz] of the recording
LOCKING_FORCE, SPRING_FORCE = 100.0, 200.0  # [N]; paper
LIKELY = {"rel": 0.05}  # tolerance of forces that the paper gives as round numbers
WHEN = {"rel": 0.1}  # tolerance of times that the paper gives with a tilde
AT_ONCE = {"abs": 5.0}  # [s] tolerance of the time at which the boom is retracted: without a tilde
DEEPEST = 5e-4  # [m]; paper: "do not exceed 0.5 mm"
NEGLIGIBLE = 3.0  # [N] 1 % of the 300 N of crown and spring; before locking contact is "almost invisible" beside them
LARGEST_JUMP = 0.1  # relative change of a penetration from frame to frame: more is an element that comes or goes
LEAST_SWING = 0.2  # of the swing that must be left after retraction; paper: "slightly damped"
DRIFT = 3e-5  # unexplained change of momentum; grows with the step
TOUCHING = {pair: f"nozzle and {pair}" for pair in PAIRS} | {"brackets": "a bracket's pad and the ring"}
VIEWS = (0.0, 40.0, 150.0, 290.0)  # [s] times of the side views
VIEW = (3.4, 7.4)  # [m] width and height of each
FIG_10 = (39.0, 42.0, 44.0, 46.0, 48.0, 52.0)  # [s] times of the outlines


def _model(name: str, of: type, doc: str) -> type[Settings]:
    fields: dict[str, Any] = {f.name: (type(f.default), f.default) for f in dataclasses.fields(of)}
    return pydantic.create_model(name, __base__=Settings, __doc__=doc, **fields)


Machine = _model("Machine", Olev, "Parameters of both satellites, as in `grouser.robots.olev.Olev`.")
Plan = _model("Plan", DockingPlan, "Speeds and thresholds, as in `grouser.control.docking.DockingPlan`.")
Contact = _model(
    "Contact", olev_contact.Discretisation, "Elements, as in `grouser.robots.olev_contact.Discretisation`."
)
Initial = _model("Initial", InitialState, "Initial state of the satellites, as in `grouser.robots.olev.InitialState`.")


class DockingOlev(Settings):
    """Settings of `docking-olev`."""

    machine: Machine = Machine()  # type: ignore[valid-type]
    plan: Plan = Plan()  # type: ignore[valid-type]
    contact: Contact = Contact()  # type: ignore[valid-type]
    initial: Initial = Initial()  # type: ignore[valid-type]
    initial_file: str | None = None  # YAML with fields of `initial`; values in `initial` override it
    time: Annotated[float, pydantic.Field(gt=0, le=3600), Unit("s")] = 300.0
    orbit: bool = False  # relative motion at GEO, docking along the orbit
    step: Annotated[float, pydantic.Field(gt=0, le=0.01), Unit("s")] = STEP
    seed: Annotated[int, pydantic.Field(ge=0)] = 0  # seed of the sensor noise

    @pydantic.model_validator(mode="after")
    def _check_consistent(self, info: pydantic.ValidationInfo) -> DockingOlev:
        if self.initial_file is not None:
            folder = (info.context or {}).get("folder")
            given = {name: getattr(self.initial, name) for name in self.initial.model_fields_set}
            try:
                filled = {**read_initial(Path(folder or ".") / self.initial_file), **given}
                object.__setattr__(self, "initial", Initial(**filled))
            except InputError as error:
                raise PydanticCustomError("file", "{text}", {"text": str(error)}) from None
            except pydantic.ValidationError as error:
                first = error.errors()[0]
                text = f"{self.initial_file}: {first['loc'][0]} = {first['input']!r}: {first['msg']}"
                raise PydanticCustomError("file", "{text}", {"text": text}) from None
        for make in (lambda: self.parameters, lambda: self.start, lambda: self.sequence, lambda: self.elements):
            try:
                make()
            except InputError as error:
                raise ValueError(str(error)) from None
        return self

    @property
    def parameters(self) -> Olev:
        return Olev(**self.machine.model_dump())  # type: ignore[attr-defined]

    @property
    def elements(self) -> olev_contact.Discretisation:
        return olev_contact.Discretisation(**self.contact.model_dump())  # type: ignore[attr-defined]

    @property
    def sequence(self) -> DockingPlan:
        return DockingPlan(**{**self.plan.model_dump(), "locking_force": self._locking_force})  # type: ignore[attr-defined]

    @property
    def _locking_force(self) -> float:
        """Locking force [N] of the machine, unless the plan gives another."""
        said = "locking_force" in self.plan.model_fields_set
        return self.plan.locking_force if said else self.machine.locking_force  # type: ignore[attr-defined]

    @property
    def start(self) -> InitialState:
        return InitialState(**self.initial.model_dump())  # type: ignore[attr-defined]


def read_initial(file: Path) -> dict[str, Any]:
    """Read the fields of an initial state from a YAML file. Raises InputError that names unknown fields."""
    tree = read_file(file).tree()
    known = [f.name for f in dataclasses.fields(InitialState)]
    for name in tree:
        if name not in known:
            raise InputError(f"{file}: {name}: unknown field; allowed: {', '.join(known)}")
    return tree


def build(s: DockingOlev) -> Simulation:
    p = s.parameters
    nozzle, brackets = olev_contact.nozzle_contact(p, s.elements), olev_contact.bracket_contact(p, s.elements)
    modules: list[Any] = [nozzle, brackets, *([OrbitalMotion()] if s.orbit else [])]
    pressed, carried = force_reader(nozzle), force_reader(brackets)
    tool = ContactSwitches(lambda: np.linalg.norm(pressed()[:2], axis=1), p.switch_force)
    pads = ContactSwitches(lambda: np.linalg.norm(carried(), axis=1), p.switch_force)
    equipment = olev_control.equip(p, s.sequence, tool, pads, step=s.step, seed=s.seed)
    crown = olev_contact.CrownShape(p, nozzle, s.step)
    sums = WrenchSums(s.step)
    sim = Simulation(
        olev.build(p, s.start), modules, controllers=[*equipment.controllers, crown, sums], step=s.step,
        implicit=False,
    )  # fmt: skip
    sums.watch(sim)
    for channel in (
        *crown_channels(sim, p),
        *system_channels(sim, equipment.thrusters),
        *section_channels(sim, p),
    ):
        sim.add_channel(channel)
    return sim


def duration(s: DockingOlev) -> float:
    return s.time


def metrics(s: DockingOlev) -> list[dict[str, Any]]:
    source = f"{PAPER}, section II.C"
    whole, locked = s.time >= 300.0, s.time >= 60.0
    usual = s.initial == Initial()  # the paper has one initial state; machine, plan and elements are judged in it

    def expect(expected: float, tolerance: dict[str, float], known: bool = True) -> dict[str, Any]:
        return {"expected": expected, "tolerance": tolerance, "source": source} if known else {}

    def at_most(most: float, known: bool = True) -> dict[str, Any]:
        return expect(0.0, {"max": most}, known)

    return [
        metric("docked", "1", "1 if the mated hold was reached, else 0"),
        metric("captured", "1", "1 if the crown locked, else 0"),
        metric("phase_end", "1", "name of the phase at the end"),
        metric("abort_reason", "1", "reason why the docking was aborted; none if it was not"),
        metric("locking_force_N", "N", f"axial contact force of crown and bolt, mean over the {AT_LOCK:g} s before "
               "locked", **expect(LOCKING_FORCE, LIKELY, usual and locked)),
        metric("safety_spring_force_N", "N", f"net axial contact force of all pairs, mean over the last {LAST:g} s",
               **expect(SPRING_FORCE, LIKELY, usual and whole)),
        metric("penetration_max_m", "m", "largest penetration of the three pairs in the nozzle, over all steps",
               **at_most(DEEPEST)),
        *(metric(f"penetration_{pair}_m", "m", f"largest penetration of nozzle and {pair}", **at_most(DEEPEST))
          for pair in PAIRS),
        metric("penetration_brackets_m", "m", "largest penetration of a bracket's pad and the ring",
               **at_most(DEEPEST)),
        metric("penetration_jump_max_rel", "1", "largest relative change of the penetration of tool or crown from "
               f"frame to frame, from {SETTLING:g} s after the lock to touchdown", **at_most(LARGEST_JUMP, locked)),
        metric("polygons_crown_over_tool", "1", "contact polygons of the crown over those of the tool, means over the "
               "same time", **expect(1.0, {"min": 1.0}, locked)),
        metric("contact_before_lock_max_N", "N", "largest contact force of one pair before locking begins, over all "
               "steps", **at_most(NEGLIGIBLE, usual)),
        metric("contact_before_lock_N", "N", "magnitude of the contact force on tool, crown and bolt together, "
               "mean before locking begins"),
        metric("lock_start_s", "s", "crown begins to close", **expect(40.0, WHEN, usual and s.time > 45)),
        metric("lock_end_s", "s", "crown locked", **expect(50.0, WHEN, usual and locked)),
        metric("retraction_start_s", "s", "boom begins to retract", **expect(50.0, AT_ONCE, usual and locked)),
        metric("touchdown_start_s", "s", "first bracket touches the ring", **expect(220.0, WHEN, usual and whole)),
        metric("touchdown_end_s", "s", "all three brackets hold", **expect(230.0, WHEN, usual and whole)),
        metric("mated_s", "s", "safety spring extended"),
        metric("swing_left", "1", "half the range of the lateral torque on the tool, the larger of both axes, over the "
               f"last {SWING:g} s of retraction over that of its first {SWING:g} s",
               **expect(1.0, {"min": LEAST_SWING}, usual and whole)),
        metric("touchdown_lateral_force_N", "N", "largest lateral force on the tool from touchdown to mated"),
        metric("touchdown_lateral_torque_Nm", "N m", "largest lateral torque on the tool from touchdown to mated"),
        metric("bending_damping_ratio", "1", "of the boom's lowest bending mode about x, between lock and retraction; "
               "needs plan.swings"),
        metric("bending_frequency_rad_s", "rad/s", "frequency of that mode"),
        *(metric(f"force_{pair}_max_N", "N", f"largest contact force of {where}, over all steps")
          for pair, where in TOUCHING.items()),
        *(metric(f"pressure_{pair}_max_Pa", "Pa", f"largest elastic pressure of {where}, over all steps; depends on "
                 "the assumed stiffness") for pair, where in TOUCHING.items()),
        metric("client_force_max_N", "N", "largest of these forces: pairs press on different places of the client"),
        metric("client_rate_max", "rad/s", "largest rate of the client"),
        metric("mated_rate_end", "rad/s", "rate of the client at the end"),
        metric("thruster_impulse_Ns", "N s", "sum of all thrusters' impulses"),
        metric("pair_wrench_sum_rel", "1", "sum of wrenches of a contact about the world's origin, over their sizes"),
        metric("momentum_drift_rel", "1", "change of the system's momentum less external impulse, over the client's "
               "largest relative to the common centre; the same for angular momentum; the larger of both",
               0.0, {"abs": DRIFT}, "conservation"),
        metric("real_time_factor", "1", "simulated time over wall time of the loop"),
    ]  # fmt: skip


def figures(s: DockingOlev) -> list[dict[str, Any]]:
    grid = np.linspace(-0.09, 0.06, 151)
    r = np.interp(grid, *shapes.nozzle_section(s.parameters))
    around = [*grid.tolist(), None, *grid.tolist()]
    wall = [{"x": around, "y": [*r.tolist(), None, *(-r).tolist()], "label": "nozzle", "style": "line"}]

    until_locked = {"window": [0.5, 50.0], "name": "until locked"}  # the camera is not used later

    def lines(title: str, y: list[str], ylabel: str) -> dict[str, Any]:
        return {"title": title, "kind": "lines", "y": y, "ylabel": ylabel}

    return [
        {
            "name": "forces", "title": "Contact on the tool, axes of the crown (Krenn and Hirzinger 2009, Fig. 9)",
            "kind": "panels", "columns": 1, "same_scale": False,
            "panels": [
                lines("Force", ["crown/force"], "force [N]"),
                lines("Torque about the throat's plane", ["crown/torque"], "torque [N m]"),
                lines("Axial force of each pair", ["crown/axial"], "force [N]"),
            ],
            "caption": "z is axial, from the servicer to the client. Clamping is internal: the crown pulls, the "
            "shoulder pushes, and the sum stays near zero until the boom is retracted.",
        },
        {
            "name": "contact", "title": "Contact of the three pairs (Krenn and Hirzinger 2009, Fig. 11)",
            "kind": "panels", "columns": 1, "same_scale": False,
            "panels": [
                lines("Greatest penetration", ["nozzle/penetration"], "penetration [m]"),
                lines("Contact area", ["nozzle/contact_area"], "area [m²]"),
                lines("Contact polygons", ["nozzle/polygons"], "polygons [1]"),
            ],
            "caption": "The limit is 0.5 mm.",
        },
        {
            "name": "locking", "title": "The crown locks (Krenn and Hirzinger 2009, Fig. 10)",
            "kind": "panels", "columns": 2,
            "panels": [
                {
                    "title": f"{t:g} s", "kind": "points", "x": "section/axial",
                    "y": ["section/above", "section/below"],
                    "window": [None, t], "overlay": wall, "xlabel": "along the nozzle's axis [m]",
                    "ylabel": "across it [m]", "name": f"locking-{t:g}", "markers": False, "legend": False,
                    "x_ticks": 4,
                }
                for t in FIG_10 if t <= s.time
            ] or [lines("Crown", ["crown/position"], "position [m]")],
            "caption": "Section through tool, bolt and crown and the wall of the nozzle (dashed); exit to the left.",
        },
        {
            "name": "satellites", "title": "Both satellites", "kind": "panels", "columns": 1, "same_scale": False,
            "panels": [
                lines("Client relative to the servicer", ["system/separation"], "position [m]"),
                lines("Rates", ["system/rate"], "rate [rad/s]"),
                lines("Angle between their axes", ["system/tilt_deg"], "angle [degree]"),
                lines("Tension of the boom", ["boom/load"], "tension [N]"),
            ],
            "caption": "Centre of the client in the servicer's axes, z along the docking axis.",
        },
        {
            "name": "side-view", "title": "Both satellites from the side", "kind": "panels", "columns": 4,
            "same_scale": False,
            "panels": [
                {"title": f"{t:g} s", "kind": "snapshots", "outlines": _outlines(s.parameters), "times": [t],
                 "view": VIEW}
                for t in VIEWS if t < s.time
            ],
            "caption": "Servicer below, client above, seen along the wings.",
        },
        {
            "name": "bending", "title": "Bending of the boom", "kind": "lines",
            "y": [f"joint/position[{name}]" for name in olev.BENDS], "ylabel": "angle [rad]",
            "caption": "The two joints that make the boom bend, each about x and about y.",
        },
        {
            "name": "control", "title": "Sensors, thrusters and phases", "kind": "panels", "columns": 1,
            "same_scale": False,
            "panels": [
                lines("Estimated offset of the nozzle", ["aocs/place_error"], "offset [m]") | until_locked,
                lines("Distance sensors", ["tool/distance"], "distance [m]") | until_locked,
                lines("Force demanded of the thrusters", ["thrusters/wanted"], "force [N]") | until_locked,
                lines("Phase", ["docking/phase"], "phase [1]"),
            ],
            "caption": "Phases: " + ", ".join(f"{phase.value} {phase.name.lower()}" for phase in Phase) + ".",
        },
    ]  # fmt: skip


def _outlines(p: Olev) -> list[dict[str, Any]]:
    """Outlines for the side view, in body axes. Later ones are drawn over earlier ones."""
    z, r = shapes.tool_section(p)
    tool = [[x, 0.0, at] for at, radius in zip(z, r, strict=True) for x in (-radius, radius)]
    nozzle = [[x, 0.0, p.throat[2] + at] for at, radius in ((-p.nozzle_length, p.exit_radius), (0.0, p.throat_radius))
              for x in (-radius, radius)]  # fmt: skip
    ring = _box(p.ring_radius, p.ring_plane, p.ring_plane + p.ring_height)
    stages = [  # with their length at capture; when retracted, they are inside the servicer
        {"bodies": [stage], "corners": _box(0.03, -share * p.boom_extended, 0.0)}
        for stage, share in zip(olev.BOOM_STAGES, olev.GAUSS, strict=True)
    ]
    return [
        *stages,
        {
            "bodies": ["servicer"],
            "corners": _box(p.servicer_half_width, -p.servicer_half_height, p.servicer_half_height),
        },
        {"bodies": ["client"], "corners": _box(p.client_half_width, -p.client_half_height, p.client_half_height)},
        {"bodies": list(olev.BRACKETS), "corners": _box(p.pad_size / 2, -p.bracket_height, 0.0)},
        {"bodies": ["client"], "corners": ring},
        {"bodies": ["client"], "corners": nozzle},
        {"bodies": ["tool"], "corners": [*tool, *_box(0.03, -p.tool_length, 0.0)]},
    ]


def _box(half: float, low: float, high: float) -> list[list[float]]:
    return [[x, y, z] for x in (-half, half) for y in (-half, half) for z in (low, high)]


def measure(s: DockingOlev, recording: Recording) -> dict[str, Any]:
    entered = dict(zip(Phase, recording["docking/entered"][-1], strict=True))
    phase, rates = Phase(int(recording["docking/phase"][-1])), recording["system/rate"]
    values = {
        "docked": float(phase == Phase.MATED),
        "captured": float(math.isfinite(entered[Phase.CHECK])),
        "phase_end": phase.name.lower(),
        "abort_reason": Reason(int(recording["docking/reason"][-1])).name.lower(),
        **clamping(recording, entered),
        **peaks(recording),
        "lock_start_s": entered[Phase.LOCKING],
        "lock_end_s": entered[Phase.CHECK],
        "retraction_start_s": entered[Phase.RETRACTION],
        "touchdown_start_s": entered[Phase.TOUCHDOWN],
        "touchdown_end_s": entered[Phase.SPRING],
        "mated_s": entered[Phase.MATED],
        **elements_in_contact(recording, entered),
        **lateral_loads(recording, entered),
        **bending(s.parameters, recording, entered),
        "client_rate_max": float(rates[:, 1].max()),
        "mated_rate_end": float(rates[-1, 1]),
        "thruster_impulse_Ns": float(recording["thrusters/on_time"][-1].sum() * s.parameters.thruster_force),
        "pair_wrench_sum_rel": float(recording["contact/wrench_sum_rel"][-1]),
        "momentum_drift_rel": momentum_drift(recording),
    }
    return {name: None if isinstance(value, float) and math.isnan(value) else value for name, value in values.items()}


def momentum_drift(recording: Recording) -> float:
    """Largest unexplained change of momentum, linear or angular / largest momentum of the client."""
    lost = recording["system/momentum"] - recording["system/impulse"]
    lost = lost - lost[0]
    own = recording["system/client_momentum"].max(axis=0)
    linear, angular = (np.linalg.norm(part, axis=1).max() for part in (lost[:, :3], lost[:, 3:]))
    return float(max(linear / own[0], angular / own[1]))


SCENARIO = scenario_of(
    __name__, DockingOlev, rate=RATE,
    summary="SMART-OLEV docks to a satellite: insertion, locking, retraction, touchdown, safety spring",
    source=f"{PAPER}, section II, Fig. 9-11",
)  # fmt: skip
