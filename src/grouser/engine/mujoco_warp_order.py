"""In which stages of MuJoCo Warp the order of sums matters.

MuJoCo Warp adds forces of tendons, actuators and contacts by atomic operations. Its option for a fixed order collects,
sorts and then adds all terms, which takes longer than the stage itself: 5 of 14 ms a step for 4096 rovers on an H200.
Where a number is the sum of at most two terms, any order gives the same bits and the option is left out.
"""

from __future__ import annotations

import mujoco

POSITION, VELOCITY, ACTUATION, INTEGRATION = "position", "velocity", "actuation", "integration"
ON_JOINTS = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))


def ordered_stages(m: mujoco.MjModel, pairs: int) -> frozenset[str]:
    """Stages whose sums need a fixed order. `pairs`: pairs of geoms that can touch.

    The constraint solver is not among the stages asked for: its sums always need it.
    """
    tendons = m.ntendon > 1 or bool((m.tendon_num > 2).any())
    joints = [int(joint) for joint in m.actuator_trnid[:, 0]]
    actuators = len(set(joints)) < m.nu or any(int(kind) not in ON_JOINTS for kind in m.actuator_trntype)
    fluid = m.opt.density > 0 or m.opt.viscosity > 0
    every = m.nflex > 0
    needed = {
        POSITION: pairs > 0 or tendons or actuators,
        VELOCITY: tendons or int((m.body_gravcomp != 0).sum()) > 1,
        ACTUATION: actuators,
        INTEGRATION: actuators or tendons or fluid or m.opt.integrator == int(mujoco.mjtIntegrator.mjINT_IMPLICIT),
    }
    return frozenset(stage for stage, matters in needed.items() if matters or every)
