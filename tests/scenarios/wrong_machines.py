"""A machine for every expectation of every scenario that must miss it; `test_wrong_machines.py` runs them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from tests.scenarios import machine_changes as changes
from tests.scenarios import test_blade, test_docking_expectations, test_exomars_drawbar, test_multi_pass

# Scenarios, and variants of them, with a table of their own: the expectations that it breaks.
ELSEWHERE = {
    "blade": set(test_blade.WRONG) - {"draught_N", "measured_error_median"},  # those two are not in a default run
    "docking-olev": {
        name
        for broken in (*test_docking_expectations.LONG, *test_docking_expectations.NIGHTLY)
        for name in broken.misses
    },
    "exomars-drawbar": set().union(*test_exomars_drawbar.BROKEN.values()),
    "multi-pass, krenn2008, 1000": set(test_multi_pass.BROKEN),
}

# Settings with which a scenario has further or other expectations.
VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "multi-pass": ({"laws": "krenn2008", "erosion_sweeps": 1000},),
    "single-wheel": ({"compression": 1.0},),
    "traverse": ({"rocks.abundance": 0.2},),
    "vivi-jump": ({"ramp": "real"},),
    "wheel-walker-stairs": tuple(
        {"case": case} for case in ("too-light", "too-strong", "wrong-gears", "poor-grip", "too-heavy")
    ),
}


@dataclass(frozen=True)
class Wrong:
    """What is wrong: settings as after --set, or a change of the machine. `shared`: settings of the right one too."""

    scenario: str
    misses: tuple[str, ...]
    settings: dict[str, Any] = field(default_factory=dict)
    shared: dict[str, Any] = field(default_factory=dict)
    change: Any = None  # (Build, settings) -> Simulation, where no setting can do it
    mark: Literal["", "long", "nightly"] = "long"

    @property
    def variant(self) -> dict[str, Any]:
        """The variant of the scenario that the right machine is."""
        fits = [v for v in VARIANTS.get(self.scenario, ()) if v.items() <= self.shared.items()]
        return fits[0] if fits else {}

    @property
    def name(self) -> str:
        what = [f"{key}={value}" for key, value in self.settings.items()]
        what += [self.change.__name__] if self.change else []
        return ", ".join([self.scenario, *(str(v) for v in self.variant.values()), *what])


# ---- boxes, plates, wheels -----------------------------------------------------------------------------------

PRESSED = {"depth": 0.03}
ROLLED = {"speed": 0.2}
COMPACTED = {**ROLLED, "compression": 1.0}  # the closed form is for soil that only compacts
TOO_FAST = {"speed": 10.0}  # the closed form is quasi-static, and the wheel leaps

SOIL = (
    Wrong("box-on-stairs", ("energy_gain_max_rel",), {"step": 0.01}),
    Wrong("box-on-stairs", ("contact_kinds",), {"tilt_deg": [0, 0, 0], "spin": 0.0, "speed": 0.0}),
    Wrong("plate-sinkage", ("pressure_exponent", "force_error_rel"), {"laws": "krenn2009"}, PRESSED, mark=""),
    Wrong("plate-sinkage", ("volume_error_rel",), {}, PRESSED, changes.single_precision, mark=""),
    Wrong("single-wheel", ("load_N",), TOO_FAST, ROLLED, mark=""),
    Wrong("single-wheel", ("volume_error_rel",), {}, ROLLED, changes.single_precision, mark=""),
    Wrong("single-wheel", ("sinkage_m", "drawbar_pull_N", "torque_Nm"), TOO_FAST, COMPACTED, mark=""),
)

# ---- tracks ---------------------------------------------------------------------------------------------------

AT_REST = {"time": 0.1}
TURNING = {"radii": [0.99], "stage": 0.6}
LOST = {"radii": [0.0], "stage": 1.0, "speed": 3.0, "soil.friction_angle_deg": 50.0, "soil.cohesion": 5e4, "tension": 0}
TOO_TIGHT = {"tension": 6e5}  # the idler is pulled against its stop
SMALL_DITCH = {"side": 0.5, "speed": 2.0}
ON_LOADS = ("ground_load_error_rel", "impulse_error_rel")
SHORT_PASS = {"length": 1.5, "speed": 1.2}

TRACKS = (
    Wrong("track-rig", ON_LOADS, {}, AT_REST, changes.undeclared_load),
    Wrong("track-rig", ("thrown_links",), {}, AT_REST, changes.bent_idlers),
    Wrong("track-rig", ("pair_wrench_sum_rel",), {}, AT_REST, changes.single_precision),
    Wrong("track-rig", ("speed_ratio", "speed_ratio_loaded", "tension_idle_error_rel", "torque_error_rel"), TOO_TIGHT),
    Wrong("bulldozer-ditch", ON_LOADS, {}, AT_REST, changes.undeclared_load),
    Wrong("bulldozer-ditch", ("thrown_links",), {}, AT_REST, changes.bent_idlers),
    Wrong("bulldozer-ditch", ("pair_wrench_sum_rel",), {}, AT_REST, changes.single_precision),
    Wrong("bulldozer-ditch", ("tension_idle_error_rel",), TOO_TIGHT, AT_REST),
    Wrong("bulldozer-ditch", ("distance_m",), {"blade_load": 3e5}, SMALL_DITCH),
    Wrong("bulldozer-doze", ON_LOADS, {}, SHORT_PASS, changes.undeclared_load),
    Wrong("bulldozer-doze", ("thrown_links",), {}, SHORT_PASS, changes.bent_idlers),
    Wrong("bulldozer-doze", ("pair_wrench_sum_rel", "volume_error_rel"), {}, SHORT_PASS, changes.single_precision),
    Wrong("bulldozer-doze", ("tension_idle_error_rel",), TOO_TIGHT, SHORT_PASS),
    Wrong("bulldozer-doze", ("cut_depth_m",), {"grade": False}, {"speed": 1.2, "length": 4.0}),
    Wrong("bulldozer-doze", ("draught_error_rel",), {"faces": False}),
    Wrong("bulldozer-doze", ("pile_slope_deg",), {}, {}, changes.steeper_soil),
    Wrong("bulldozer-doze", ("travel_m",), {"blade_load": 3e5}),
    Wrong("bulldozer-turn", ON_LOADS, {}, TURNING, changes.undeclared_load),
    Wrong("bulldozer-turn", ("thrown_links",), LOST, TURNING),
    Wrong("bulldozer-turn", ("pair_wrench_sum_rel",), {}, TURNING, changes.single_precision),
    Wrong("bulldozer-turn", ("tension_idle_error_rel",), TOO_TIGHT, TURNING),
    Wrong("bulldozer-drawbar", ON_LOADS, {}, AT_REST, changes.undeclared_load),
    Wrong("bulldozer-drawbar", ("thrown_links",), {}, AT_REST, changes.bent_idlers),
    Wrong("bulldozer-drawbar", ("pair_wrench_sum_rel",), {}, AT_REST, changes.single_precision),
    Wrong("bulldozer-drawbar", ("speed_ratio", "speed_ratio_loaded", "tension_idle_error_rel"), TOO_TIGHT),
    Wrong("bulldozer-drawbar", ("pull_over_strength",), {}, {}, changes.weaker_ground),
)

# ---- rovers ---------------------------------------------------------------------------------------------------

SLIPPERY = {"tread.friction_stick": 0.05, "tread.friction_slip": 0.05}
OVER_ROCKS = {"time": 20.0, "speed": 0.03}
SHORT_SLOPE = {
    "soil": "dry-sand", "spacing": 0.02, "trials": 2, "starts": 1, "approach": 4.0, "length": 0.3, "window": 0.15,
    "settled_rise": 0.5, "speed": 0.05, "slope_step_deg": 5.0, "stated_slope_deg": 5.0,
}  # fmt: skip
SHORT_WAY = {"length": 20.0}
ROCKY_WAY = {"length": 8.0, "rocks.abundance": 0.2}
SHORT_COURSE = {"waypoints": [[0, 0], [0.4, 0], [0.8, 0.1]]}

ROVERS = (
    Wrong("exomars-gradeability", ("energy_per_metre_J",), {}, SHORT_SLOPE, changes.much_lighter),
    Wrong("exomars-gradeability", ("volume_error_rel",), {}, SHORT_SLOPE, changes.single_precision),
    Wrong("multi-pass", ("multi_pass_effect",), {"compression": 0.0}, test_multi_pass.SHORT),
    Wrong("multi-pass", ("volume_error_rel",), {}, test_multi_pass.SHORT, changes.single_precision),
    Wrong("rover-course", ("course_completed",), {"slope_deg": 20.0}, SHORT_COURSE),
    Wrong("traverse", ("arrived",), {"rover.drive_torque": 3.0}, SHORT_WAY),
    Wrong("traverse", ("level_energy_per_metre_J",), {}, SHORT_WAY, changes.hard_sand),
    Wrong("traverse", ("ground_memory_MB",), {"live_tiles": 1_000_000}, SHORT_WAY),
    Wrong("traverse", ("rock_load_share",), {}, ROCKY_WAY, changes.traverse_rocks_without_contact),
    Wrong("viking-rocks", ("distance_m",), SLIPPERY, OVER_ROCKS),
    Wrong("viking-rocks", ("weight_carried",), {}, OVER_ROCKS, changes.undeclared_load),
    Wrong("rocks-and-sand", ("distance_m",), SLIPPERY, OVER_ROCKS),
    Wrong("rocks-and-sand", ("weight_carried",), {}, OVER_ROCKS, changes.undeclared_load),
    Wrong("rocks-and-sand", ("rock_load_share", "parallel_share"), {}, OVER_ROCKS, changes.rocks_without_contact),
    Wrong("rocks-and-sand", ("sinkage_max_m",), {}, OVER_ROCKS, changes.hard_sand),
)

# ---- vehicles and the walker ------------------------------------------------------------------------------------

ONE_TORQUE = {"duration": 1.5, "torques": [5.0]}
COURSE = {"duration": 9.0, "control_period": 5e-3}
ONE_STEP = {"stairs.count": 1, "compare_sides": None, "time": 8.0}
ON_FLAT = {"compare_sides": None, "time": 2.0}

VEHICLES = (
    Wrong(
        "vivi-acceleration", ("front_normal_force_error_rel", "pitch_error_deg"), {"refine": False}, ONE_TORQUE, mark=""
    ),
    Wrong("vivi-jump", ("landing_distance_error_rel",), {"step": 1e-3}, {"angles_deg": [45.0]}, mark=""),
    Wrong("vivi-jump", ("flight_distance_error_rel",), {"step": 1e-3}, {"ramp": "real", "angles_deg": [35.0]}, mark=""),
    Wrong(
        "vivi-ramp", ("cdta_time_ratio", "cdta_energy_ratio", "cdta_upright"), {}, COURSE, changes.exchanged_controllers
    ),
    Wrong("vivi-ramp", ("proportional_rolled_over",), {"ramp_angle_deg": 10.0}, COURSE),
    Wrong("vivi-sinusoid", ("cdta_time_ratio", "cdta_energy_ratio"), {}, COURSE, changes.exchanged_controllers),
    Wrong("vivi-sinusoid", ("cdta_upright",), {"amplitude": 1.5}, COURSE),
    Wrong("vivi-turn", ("yaw_rate_error_rel", "turning_moment_error_rel"), {"lateral_grip": 0.9}, mark=""),
    Wrong("wheel-walker-stairs", ("steps_climbed", "mode_sequence"), {"friction": 0.2}, ONE_STEP),
    Wrong("wheel-walker-stairs", ("steps_on_flat",), {"voltage": 72.0}, ON_FLAT),
    Wrong("wheel-walker-stairs", ("ripple_ratio",), {}, {"time": 2.0}, changes.exchanged_wheels),
    Wrong("wheel-walker-stairs", ("steps_on_flat",), {"pull": 0.0}, {**ON_FLAT, "case": "too-light"}),
    Wrong("wheel-walker-stairs", ("steps_on_flat",), {"voltage": 24.0}, {**ON_FLAT, "case": "too-strong"}),
    Wrong("wheel-walker-stairs", ("steps_on_flat",), {"robot.wheel_teeth": 16}, {**ON_FLAT, "case": "wrong-gears"}),
    Wrong(
        "wheel-walker-stairs", ("steps_climbed", "mode_sequence"), {"friction": 0.6}, {**ONE_STEP, "case": "poor-grip"}
    ),
    Wrong(
        "wheel-walker-stairs",
        ("steps_climbed", "mode_sequence"),
        {"robot.mass": 40.0},
        {**ONE_STEP, "case": "too-heavy"},
    ),
)

WRONG = (*SOIL, *TRACKS, *ROVERS, *VEHICLES)
