"""Two vehicles side by side on one terrain, each with its own controller: shared by `vivi-ramp` and `vivi-sinusoid`.

Morrot et al., section 5. The paper refers to a thesis for the vehicle's data; robots/vehicles/vivi.yaml lists the
assumptions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import mujoco
import numpy as np
import pydantic
import warp as wp

from grouser.control import Cdta, SpeedController, UserController, VehicleSensors, axles_of
from grouser.drive import BatteryPack
from grouser.launches import Launches
from grouser.module import Channel
from grouser.recording import Recording
from grouser.robots.vehicle import Vehicle, add_ground
from grouser.robots.vehicle import build as build_vehicle
from grouser.scenarios.course_kernels import Chassis, CourseValues, observe
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Scenario, metric, soil_map
from grouser.scenarios.soil_choice import SoilChoice
from grouser.scenarios.terrain_choice import TerrainChoice, height_at
from grouser.scenarios.vehicle_choice import PAPER, PAPER_VEHICLE, OnWheels, acceleration_channel
from grouser.simulation import Simulation
from grouser.terrain.elevation import ElevationGrid
from grouser.terrain.ground import Ground

LANE = 3.0  # [m] lateral distance of the vehicles
MARGIN = 5.0  # [m] ground behind the start and beside the lanes, if not given
WHOLE = 9.0  # [s] shortest run that shows the results of the paper
REACHED = 0.95  # fraction of the wanted speed that counts as reached
LAST = 1.0  # [s] at the end over which sinkage and slip are averaged
BUILT_IN = ("proportional", "cdta")
UNITS = {
    "speed": "m/s", "power": "W", "energy": "J", "battery_current": "A", "upright": "1", "pitch_deg": "deg",
    "distance": "m", "height": "m",
}  # fmt: skip  # units of the channels course/…, the fields of CourseValues


class Course(OnWheels):
    """Settings of a course."""

    controller: str = "both"  # both (side by side), proportional, cdta, or a Python file
    speed: Annotated[float, pydantic.Field(gt=0, le=100), Unit("m/s")] = 10.0  # wanted speed (Morrot et al.)
    gain: Annotated[float, pydantic.Field(gt=0)] = 100.0  # [1/s] (Morrot et al.: "100 Hz")
    duration: Annotated[float, pydantic.Field(gt=0), Unit("s")] = 10.0
    step: Annotated[float, pydantic.Field(gt=0, le=0.01), Unit("s")] = 1e-3  # Morrot et al.: 65 us
    control_period: Annotated[float, pydantic.Field(gt=0), Unit("s")] = 1e-3  # Morrot et al.: 0.1 ms
    battery_period: Annotated[float, pydantic.Field(gt=0), Unit("s")] | None = None  # None: every step
    slices: Annotated[int, pydantic.Field(ge=4, le=100000)] = 20
    gravity: Annotated[float, pydantic.Field(gt=0), Unit("m/s^2")] = 9.81
    margin: Annotated[float, pydantic.Field(ge=MARGIN, le=50), Unit("m")] = MARGIN  # of the ground around the course
    terrain: TerrainChoice | None = None  # a file instead of the scenario's own ground; starts at x = 0
    soil: SoilChoice | None = None  # a soil, such as dry-sand, on which the tyres are rigid wheels; None: hard ground
    spacing: Annotated[float, pydantic.Field(gt=0), Unit("m")] = 0.02  # of the grid of that soil
    # Factors on data that the paper does not give, to study their influence.
    mass_factor: Annotated[float, pydantic.Field(gt=0)] = 1.0
    height_factor: Annotated[float, pydantic.Field(gt=0)] = 1.0  # of the centre of mass
    wheelbase_factor: Annotated[float, pydantic.Field(gt=0)] = 1.0
    stiffness_factor: Annotated[float, pydantic.Field(gt=0)] = 1.0  # of the suspension
    damping_factor: Annotated[float, pydantic.Field(gt=0)] = 1.0
    friction_factor: Annotated[float, pydantic.Field(gt=0)] = 1.0
    gear_factor: Annotated[float, pydantic.Field(gt=0)] = 1.0

    @property
    def controllers(self) -> tuple[str, ...]:
        return BUILT_IN if self.controller == "both" else (self.controller,)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the vehicles; "user" if the controller is a file."""
        return tuple(name if name in BUILT_IN else "user" for name in self.controllers)

    @property
    def paired(self) -> bool:
        return self.names == BUILT_IN

    def chosen_vehicle(self) -> Vehicle:
        return changed(super().chosen_vehicle(), self)

    def extent(self, share: float) -> dict[str, Any]:
        """Size and origin of the ground: `share` of the distance at the wanted speed, plus margins."""
        size = (self.speed * self.duration * share + 2 * self.margin, 4 * self.margin)
        return {"size": size, "spacing": 0.1, "origin": (-self.margin, -2 * self.margin)}


C = TypeVar("C", bound=Course)


def changed(v: Vehicle, s: Course) -> Vehicle:
    """The vehicle, scaled by the factors of the settings."""
    from dataclasses import replace

    raised = (s.height_factor - 1) * v.rest_height(s.gravity)
    wheels = tuple(replace(w, x=w.x * s.wheelbase_factor, z=w.z - raised) for w in v.wheels)
    tyre = replace(
        v.tyre, p_Dx1=v.tyre.p_Dx1 * s.friction_factor, p_Dy1=v.tyre.p_Dy1 * s.friction_factor,
        p_Kx1=v.tyre.p_Kx1 * s.friction_factor, p_Ky1=v.tyre.p_Ky1 * s.friction_factor,
    )  # fmt: skip
    p = v.suspension
    rebound = None if p.rebound is None else p.rebound * s.damping_factor
    suspension = replace(
        p, stiffness=p.stiffness * s.stiffness_factor, compression=p.compression * s.damping_factor, rebound=rebound
    )
    return replace(
        v, chassis=replace(v.chassis, mass=v.chassis.mass * s.mass_factor), wheels=wheels, tyre=tyre,
        suspension=suspension, motor=replace(v.motor, gear=v.motor.gear * s.gear_factor),
    )  # fmt: skip


def build(s: Course, terrain: ElevationGrid) -> Simulation:
    """Build one vehicle per controller, in lanes. They start from rest at x = 0, level, on the ground there."""
    v = s.chosen_vehicle()
    spec = mujoco.MjSpec()
    spec.modelname = "course"
    spec.option.gravity = [0, 0, -s.gravity]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_MIDPHASE  # for a few geoms a tree costs more than it saves
    add_ground(spec, terrain)
    modules, controllers = [], []
    soil = None if s.soil is None else Ground(terrain, s.soil.resolve(), s.spacing)
    for k, (name, kind) in enumerate(zip(s.names, s.controllers, strict=True)):
        prefix, lane = f"{name}_", LANE * (k - (len(s.names) - 1) / 2)
        height = v.rest_height(s.gravity) + height_at(terrain, 0.0, lane, f"the start of {name!r}")
        wheels = "tyres" if soil is None else "rigid"
        child = build_vehicle(v, gravity=s.gravity, position=(0.0, 0.0, height), wheels=wheels)
        spec.attach(child, prefix=prefix, frame=spec.worldbody.add_frame(pos=[0.0, lane, 0.0]))
        module = v.module(terrain, prefix, slices=s.slices) if soil is None else v.soil_module(soil, prefix)
        modules.append(module)
        drives = [f"{prefix}drive_{wheel.name}" for wheel in v.wheels]
        pack = BatteryPack(
            v.battery, [v.motor] * len(v.drives), [prefix + d for d in v.drives],
            period=s.step if s.battery_period is None else s.battery_period, prefix=prefix,
        )  # fmt: skip
        sensors = VehicleSensors(module, drives, f"{prefix}chassis", pack)
        controllers += [_controller(kind, s, v, sensors, drives, prefix), pack]
    sim = Simulation(spec, modules, ground=soil, controllers=controllers, step=s.step)
    for channel in _channels(sim, s, controllers[1::2]):
        sim.add_channel(channel)
    sim.add_channel(acceleration_channel(sim, "course/acceleration", [f"{name}_chassis" for name in s.names], s.names))
    return sim


def _controller(kind: str, s: Course, v: Vehicle, sensors: VehicleSensors, drives: list[str], prefix: str):
    if kind not in BUILT_IN:
        return UserController(kind, sensors, drives, period=s.control_period)
    common: dict[str, Any] = {
        "mass": v.chassis.mass, "speed": s.speed, "gain": s.gain, "gravity": s.gravity, "period": s.control_period,
        "prefix": prefix,
    }  # fmt: skip
    gears = [v.motor.gear * v.motor.efficiency] * len(v.wheels)  # for a driving motor
    axles = axles_of(v, s.gravity)
    if kind == "proportional":
        return SpeedController(sensors, axles, drives, gears, **common)
    load = v.chassis.mass * s.gravity / len(v.wheels)
    friction = v.tyre.peak_force(load) / load
    return Cdta(sensors, axles, drives, gears, friction=friction, power_limit=v.battery.power_limit, **common)


def _channels(sim: Simulation, s: Course, packs: list[BatteryPack]) -> list[Channel]:
    d, count = sim.data, len(s.names)
    values, host = CourseValues(), {name: np.zeros(count) for name in UNITS}
    for name, array in host.items():
        setattr(values, name, _view(array, wp.float64))

    def record(launch: Callable[..., Any]) -> None:
        for k, (name, pack) in enumerate(zip(s.names, packs, strict=True)):
            c: Any = Chassis()
            c.vehicle, c.body = k, sim.model.body(f"{name}_chassis").id
            c.dof = int(sim.model.jnt_dofadr[sim.model.body_jntadr[c.body]])
            c.velocity, c.position = _view(d.qvel, wp.float64), _view(d.xpos, wp.vec3d)
            c.rotation = _view(d.xmat.reshape(-1, 3, 3), wp.mat33d)
            battery = [_view(array, wp.float64) for array in (pack.power, pack.energy, pack.total)]
            launch(observe, 1, [c, *battery, values])

    refresh = Launches(record).run
    return [
        Channel(f"course/{name}", unit, (count,), "", labels=s.names, source=host[name][None], refresh=refresh)
        for name, unit in UNITS.items()
    ]


def _view(values: np.ndarray, kind: Any) -> wp.array:
    """A Warp array that shares the memory of `values`."""
    return wp.array(values, dtype=kind, copy=False, device="cpu")


def metrics(s: Course, expectations: dict[str, tuple[Any, Any, str]]) -> list[dict[str, Any]]:
    """`expectations`: expected value, tolerance and source by name of the metric."""
    order = f"one value for each vehicle: {', '.join(s.names)}" if len(s.names) > 1 else "of the vehicle"

    def row(name, unit, definition):
        return metric(name, unit, definition, *expectations.get(name, (None, None, None)))

    out = [
        row("time_to_speed_s", "s", f"until {REACHED:.0%} of the wanted speed is reached, null if never; {order}"),
        row("energy_J", "J", "electric energy of the motors until the first vehicle rolls over or the end; " + order),
        row("rolled_over", "1", f"whether the chassis was ever upside down; {order}"),
        row("rolled_over_at_s", "s", f"time of rolling over, null if never; {order}"),
        row("battery_current_max_A", "A", f"largest current of the battery; {order}"),
        row("distance_m", "m", f"at the end; {order}"),
    ]
    if s.paired:
        out += [
            row("cdta_time_ratio", "1", "time_to_speed_s of CDTA over that of the proportional controller, for which "
                 "the complete run counts if it never reaches the speed"),
            row("cdta_energy_ratio", "1", "energy_J of CDTA over that of the proportional controller"),
            row("cdta_upright", "1", "whether the vehicle with CDTA never rolled over"),
            row("proportional_rolled_over", "1", "whether the vehicle with the proportional controller rolled over"),
        ]  # fmt: skip
    if s.soil is not None:
        out.append(metric("sinkage_m", "m", f"mean over the wheels and the last {LAST:g} s; {order}"))
        out.append(metric("slip", "1", f"1 - speed / rim speed, mean over the wheels and the last {LAST:g} s; {order}"))
    out.append(metric("real_time_factor", "1", "simulated time over wall time of the loop"))
    return out


def figures(s: Course) -> list[dict[str, Any]]:
    return [
        {
            "name": "speed", "title": "Speed", "kind": "lines", "y": ["course/speed"], "ylabel": "speed [m/s]",
            "caption": f"Of the centre of mass along the chassis; wanted speed {s.speed:g} m/s (Morrot et al., Fig. "
            "11).",
        },
        {
            "name": "power", "title": "Power of the motors", "kind": "lines", "y": ["course/power"],
            "ylabel": "power [W]", "caption": "Electric power of the motors that draw current (Morrot et al., Fig. "
            "12).",
        },
        {
            "name": "pitch", "title": "Pitch", "kind": "lines", "y": ["course/pitch_deg"],
            "ylabel": "pitch, nose up [deg]", "caption": "Angle of the chassis' x axis above the horizontal.",
        },
        {
            "name": "way", "title": "Paths of the centres of mass", "kind": "xy", "x": "course/distance",
            "y": ["course/height"], "xlabel": "distance [m]", "ylabel": "height [m]",
            "caption": "Seen from the side.",
        },
        *([soil_map("Height above the initial surface.", [f"body/pose[{name}_chassis]" for name in s.names])]
          if s.soil is not None else []),
    ]  # fmt: skip


def measure(s: Course, recording: Recording) -> dict[str, Any]:
    time, count = recording.time, len(s.names)
    names = ("speed", "upright", "energy", "battery_current", "distance")
    read = {name: np.asarray(recording[f"course/{name}"]).reshape(len(time), count) for name in names}
    fast = [_first(read["speed"][:, k] >= REACHED * s.speed, time) for k in range(count)]
    over = [_first(read["upright"][:, k] < 0, time) for k in range(count)]
    rolled = [at is not None for at in over]
    until = min([at for at in over if at is not None], default=float(time[-1]))
    energy = [float(read["energy"][time <= until, k][-1]) for k in range(count)]
    values: dict[str, Any] = {
        "time_to_speed_s": fast, "energy_J": energy, "rolled_over": rolled, "rolled_over_at_s": over,
        "battery_current_max_A": read["battery_current"].max(axis=0).tolist(),
        "distance_m": read["distance"][-1].tolist(),
    }  # fmt: skip
    if s.soil is not None:
        last = time >= time[-1] - LAST
        for metric_name, channel in (("sinkage_m", "sinkage"), ("slip", "slip")):
            values[metric_name] = [float(np.mean(recording[f"{name}_soil/{channel}"][last])) for name in s.names]
    if count == 1:
        values = {name: value[0] for name, value in values.items()}
    if s.paired:
        slow = fast[0] if fast[0] is not None else s.duration
        values |= {
            "cdta_time_ratio": fast[1] / slow if fast[1] is not None else None,
            "cdta_energy_ratio": energy[1] / energy[0],
            "cdta_upright": not rolled[1],
            "proportional_rolled_over": rolled[0],
        }
    return values


def _first(holds: np.ndarray, time: np.ndarray) -> float | None:
    """Time [s] of the first frame in which `holds` is true; None if there is none."""
    return float(time[int(np.argmax(holds))]) if holds.any() else None


def outcomes(s: Course, rolls: bool) -> dict[str, tuple[Any, Any, str]]:
    """Results of the paper: CDTA is faster, needs less energy and stays upright.

    Empty for a short run, for another vehicle than the paper's, on ground of the user and on soil.
    """
    if s.duration < WHOLE or s.vehicle != PAPER_VEHICLE or s.terrain is not None or s.soil is not None:
        return {}
    expected = {
        "cdta_time_ratio": (None, {"max": 1.0}, f"{PAPER}, Fig. 11: sooner"),
        "cdta_energy_ratio": (None, {"max": 1.0}, f"{PAPER}, Fig. 12: less power"),
        "cdta_upright": (True, None, f"{PAPER}, section 5"),
    }
    if rolls:
        expected["proportional_rolled_over"] = (True, None, f"{PAPER}, Fig. 11: rolls over at the ramp after 8 s")
    return expected


def course(
    name: str, summary: str, source: str, settings: type[C], terrain: Callable[[C], ElevationGrid], *, rolls: bool
) -> Scenario[C]:
    """Make the scenario of a terrain. `rolls`: whether the proportional controller is expected to roll over."""
    return Scenario(
        name=name,
        summary=summary,
        source=source,
        settings=settings,
        metrics=lambda s: metrics(s, outcomes(s, rolls)),
        figures=figures,
        build=lambda s: build(s, terrain(s) if s.terrain is None else s.terrain.read()),
        duration=lambda s: s.duration,
        measure=measure,
    )
