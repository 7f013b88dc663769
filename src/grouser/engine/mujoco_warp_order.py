"""In which stages of MuJoCo Warp the order of sums matters.

MuJoCo Warp adds forces of tendons, actuators and contacts by atomic operations. Its option for a fixed order collects,
sorts and then adds all terms, which takes longer than the stage itself: 5 of 14 ms a step for 4096 rovers on an H200.
Any order gives the same bits where a sum has one term, or starts at zero and has two. There the option is left out.
"""

from __future__ import annotations

import mujoco

POSITION, VELOCITY, ACTUATION, INTEGRATION = "position", "velocity", "actuation", "integration"
ON_JOINTS = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))


def ordered_stages(m: mujoco.MjModel, pairs: int, sparse: bool = False) -> frozenset[str]:
    """Stages whose sums need a fixed order. `pairs`: pairs of geoms that can touch.

    `sparse`: MuJoCo Warp factors the mass matrix of a large tree row by row, adding to rows from many others. The
    constraint solver is not among the stages: it always runs with the option.
    """
    tendons = m.ntendon > 1 or bool((m.tendon_num > 2).any())
    joints = [int(joint) for joint in m.actuator_trnid[:, 0]]
    actuators = len(set(joints)) < len(joints) or any(int(kind) not in ON_JOINTS for kind in m.actuator_trntype)
    # The acceleration of a tendon with armature is a sum over all degrees of freedom that move it.
    armature = bool((m.tendon_armature != 0).any()) or (m.ntendon > 0 and actuators)
    sticky = bool(getattr(m, "flg_adhesion", False))  # a force for every contact
    fluid = m.opt.density > 0 or m.opt.viscosity > 0
    every = m.nflex > 0
    needed = {
        POSITION: pairs > 0 or tendons or actuators,
        VELOCITY: tendons or armature or sticky or int((m.body_gravcomp != 0).sum()) > 1,
        ACTUATION: actuators,
        INTEGRATION: (
            actuators or tendons or fluid or sparse or m.opt.integrator == int(mujoco.mjtIntegrator.mjINT_IMPLICIT)
        ),
    }
    return frozenset(stage for stage, matters in needed.items() if matters or every)
