"""One track on a rig: it hangs freely, or stands on the ground with its frame held by a wall and pulls.

Paper: Omar 2014, sections 4 to 6. The rig prescribes the motion of the wheels: the sprocket turns at a given speed, and
the rollers are on a frame that does not travel. Only the idler can move, on its recoil spring.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import mujoco
import numpy as np
import pydantic

from grouser.control.memoryless import Memoryless
from grouser.module import Channel
from grouser.recording import Recording
from grouser.scenarios import track_results as results
from grouser.scenarios.quantity import Unit
from grouser.scenarios.scenario import Settings, metric, scenario_of
from grouser.scenarios.track_results import track_metric
from grouser.simulation import Simulation
from grouser.track import FlatGround, Link, Shoe, Track, TrackModule, hunting_sprocket
from grouser.track.layouts import Layout, mount

SETTLING = 3.0  # [s] before the sprocket turns
RAMP = 0.5  # [s] time to reach full speed
STEADY = 0.5  # [s] after the ramp from which on speeds and tensions are averaged
SERVO = 1e8  # [N m s] gain of the drive that prescribes the sprocket's speed
FRAME_MASS = 7000.0  # [kg] on the ground; assumed, half a bulldozer
IDLER_MASS = 400.0  # [kg]
SPROCKET_MASS = 200.0  # [kg]


class TrackRig(Settings):
    """Settings of `track-rig`."""

    mode: Literal["hung", "bollard"] = "bollard"
    layout: Literal["oval", "triangular"] = "oval"
    grousers: Annotated[int, pydantic.Field(ge=0, le=3)] = 1
    links: Annotated[int, pydantic.Field(ge=4, le=400)] | None = None  # None: the number that fits the loop best
    tension: Annotated[float, pydantic.Field(ge=0), Unit("N")] = 15e3
    recoil_stiffness: Annotated[float, pydantic.Field(gt=0), Unit("N/m")] = 1e6
    recoil_damping: Annotated[float, pydantic.Field(ge=0), Unit("N*s/m")] = 2e4
    speed: Annotated[float, pydantic.Field(ge=-5, le=5), Unit("m/s")] = 1.0  # chain speed
    time: Annotated[float, pydantic.Field(gt=0), Unit("s")] = 3.0  # time after settling
    scheme: Literal["implicit", "explicit"] = "implicit"
    substeps: Annotated[int, pydantic.Field(ge=1, le=1000)] | None = None
    step: Annotated[float, pydantic.Field(gt=0, le=2e-3), Unit("s")] = 1e-3
    gravity: Annotated[float, pydantic.Field(ge=0), Unit("m/s^2")] = 9.81
    lists: bool = True  # neighbour lists; false: all links are tested against all wheels


def build(s: TrackRig) -> Simulation:
    layout = Layout(shape=s.layout, link=Link(shoe=Shoe(grousers=s.grousers)))
    wheels, chain = layout.close(links=s.links, tension=s.tension)
    sprocket = next(w for w in wheels if w.kind == "sprocket")
    axle = (sprocket.centre[0], 0.0, sprocket.centre[1])
    mounted = mount(wheels, {"frame": (0, 0, 0), "front_frame": (0, 0, 0), "sprocket": axle})
    shoe = layout.link.shoe
    tips = shoe.grouser_height if shoe.grousers else 0.0
    height = shoe.depth + tips if s.mode == "bollard" else 2.0
    spec = _rig(s, height, axle)
    track = Track("rig", layout.link, mounted, chain, frame="frame")
    ground = FlatGround() if s.mode == "bollard" else None
    module = TrackModule([track], ground, scheme=s.scheme, substeps=s.substeps, gravity=s.gravity, lists=s.lists)
    sim = Simulation(spec, [module], controllers=[_Drive(s, sprocket.radius)], step=s.step)
    for channel in _channels(sim, s):
        sim.add_channel(channel)
    return sim


def _rig(s: TrackRig, height: float, axle) -> mujoco.MjSpec:
    spec = mujoco.MjSpec()
    spec.modelname = "track-rig"
    spec.option.gravity = [0, 0, -s.gravity]
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    slide, hinge = mujoco.mjtJoint.mjJNT_SLIDE, mujoco.mjtJoint.mjJNT_HINGE
    frame = spec.worldbody.add_body(name="frame", pos=[0, 0, height])
    results.give_inertia(frame, FRAME_MASS, (3.0, 0.6, 0.5), (1.7, 0, 0.4))
    if s.mode == "bollard":
        frame.add_joint(name="sinkage", type=slide, axis=[0, 0, 1])
    front = frame.add_body(name="front_frame")
    front.add_joint(
        name="recoil", type=slide, axis=[1, 0, 0], stiffness=s.recoil_stiffness, damping=s.recoil_damping,
        springref=2 * s.tension / s.recoil_stiffness,
    )  # fmt: skip
    results.give_inertia(front, IDLER_MASS, (0.8, 0.3, 0.5), (3.3, 0, 0.4))
    drive = frame.add_body(name="sprocket", pos=axle)
    drive.add_joint(name="drive", type=hinge, axis=[0, 1, 0], armature=40.0)
    results.give_inertia(drive, SPROCKET_MASS, (0.7, 0.1, 0.7))
    motor = spec.add_actuator(name="drive", target="drive", trntype=mujoco.mjtTrn.mjTRN_JOINT)
    motor.set_to_velocity(kv=SERVO)
    return spec


class _Drive(Memoryless):
    """Sets the sprocket's speed: rest, ramp, constant."""

    def __init__(self, s: TrackRig, radius: float):
        self.period, self.top = s.step, s.speed / radius

    def act(self, time: float, sensors: Any, command: Any) -> None:
        command[0] = self.top * min(max((time - SETTLING) / RAMP, 0.0), 1.0)


def _channels(sim: Simulation, s: TrackRig) -> list[Channel]:
    joint = sim.model.joint("recoil")
    return [
        Channel(
            "rig/recoil_force", "N", frame="",
            read=lambda: np.array([2 * s.tension - s.recoil_stiffness * sim.data.qpos[joint.qposadr[0]]
                                   - s.recoil_damping * sim.data.qvel[joint.dofadr[0]]]),
        ),
    ]  # fmt: skip


def duration(s: TrackRig) -> float:
    return SETTLING + s.time


def metrics(s: TrackRig) -> list[dict[str, Any]]:
    driven = s.speed != 0 and s.time > RAMP + STEADY
    out = [
        # In reverse nearly the whole chain is loaded and stretched, and the ground may press links into the teeth.
        track_metric("speed_ratio", driven and s.speed > 0),
        track_metric("speed_ratio_loaded", driven), track_metric("tension_idle_error_rel", s.tension > 0),
        track_metric("pair_wrench_sum_rel"), track_metric("thrown_links"),
        metric("tension_max_N", "N", "largest tension of a joint after settling"),
        metric("tooth_load_decay", "1", "load of the last loaded tooth over that of the first, along the wrap, mean"),
        track_metric("torque_error_rel", driven and s.mode == "bollard" and s.speed > 0),
        metric("real_time_factor", "1", "simulated time over wall time of the loop"),
    ]  # fmt: skip
    if s.mode == "bollard" and s.gravity > 0:
        out[:0] = [
            track_metric("ground_load_error_rel"),
            track_metric("impulse_error_rel", of="frame and links, upwards,"),
        ]
    if s.mode == "bollard":
        out.append(metric("pull_N", "N", "horizontal force of the ground on the chain, mean while driven"))
    return out


def figures(s: TrackRig) -> list[dict[str, Any]]:
    layout, times = Layout(shape=s.layout), [SETTLING, duration(s)]
    side, *others = results.track_figures(["rig"], layout.link.pitch, [w.radius for w in layout.wheels()], times)
    return [{**side, "times": times[-1:]}, *others]


def measure(s: TrackRig, recording: Recording) -> dict[str, Any]:
    t = recording.time
    idle = (t > SETTLING - 0.3) & (t <= SETTLING)
    steady = t > SETTLING + RAMP + STEADY
    link, sprocket = Layout().link, hunting_sprocket()
    ratio = results.measure_speed_ratio(recording, "rig", steady, link.pitch, sprocket.teeth, 2)
    torque = results.measure_torque(
        recording, "rig", steady, link.pitch, sprocket.pitch_radius, link.mass * s.gravity
    )  # fmt: skip
    values = {
        "speed_ratio": ratio,
        "speed_ratio_loaded": ratio and ratio / (1 + results.measure_stretch(recording, "rig", steady, link.pitch)),
        "tension_idle_error_rel": results.measure_tension_idle(recording, "rig", idle, recording["rig/recoil_force"]),
        "pair_wrench_sum_rel": float(recording["track/rig/pair_wrench_sum"].max()),
        "thrown_links": results.measure_thrown(recording, ["rig"]),
        "tension_max_N": float(recording["track/rig/tension"][t > SETTLING - 0.3].max()),
        "tooth_load_decay": results.measure_decay(recording, "rig", steady),
        "torque_error_rel": torque,
    }
    if s.mode == "bollard":
        values["pull_N"] = float(recording["track/rig/ground_force"][steady][:, 0].mean()) if steady.any() else None
    if s.mode == "bollard" and s.gravity > 0:
        masses = FRAME_MASS + IDLER_MASS + SPROCKET_MASS
        links = len(recording.channel_info("track/rig/tension").labels) * link.mass
        momentum = masses * recording["joint/velocity[sinkage]"]
        load = results.mean_ground_load(recording, ["rig"], idle, links * s.gravity, momentum)
        values["ground_load_error_rel"] = load / ((masses + links) * s.gravity) - 1
        values["impulse_error_rel"] = _impulse_error(recording, masses, links, momentum, s.gravity)
    return values


def _impulse_error(recording: Recording, machine: float, links: float, momentum, gravity: float) -> float | None:
    """Relative error of the vertical impulse balance; vertically nothing holds the frame.

    Masses in kg. `momentum` [N s]: momentum of the engine's bodies in each frame.
    """
    span = recording.time[-1] - recording.time[0]
    if span <= 0:
        return None
    gained = np.diff(momentum[[0, -1]])[0] + np.diff(recording["track/rig/momentum"][[0, -1], 2])[0]
    got = np.diff(recording["track/rig/impulse"][[0, -1], 2])[0] - machine * gravity * span
    return float(abs(gained - got) / ((machine + links) * gravity * span))


SCENARIO = scenario_of(
    __name__, TrackRig, rate=50.0,
    summary="one track on a rig, hung or pulling against a wall: tension, speed, teeth",
    source="Omar 2014, sections 4 to 6",
)  # fmt: skip
