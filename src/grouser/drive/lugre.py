"""LuGre friction of a shaft as equations, for comparison with MuJoCo's, which acts in a simulation (`motor.py`)."""

from __future__ import annotations

import math

from grouser.drive.motor import LuGre


def lugre(f: LuGre, speed: float, bristle: float, sharpness: float | None = None) -> tuple[float, float]:
    """Friction torque [N m] against the motion, and the rate z' [rad/s] of the bristle deflection z = `bristle` [rad].

    tau = s0 z + s1 z' + s2 w,  z' = w - s0 |w| z / g(w),  g = F_c + (F_s - F_c) exp(-(w / w_s)^2)

    (Morrot et al., eq. 14; Canudas de Wit et al. 1995). |w| has a corner at w = 0. With `sharpness` k [s/rad] it is
    w (2 / pi) atan(k w), the continuous form that Morrot et al. take from Sobczyk et al. 2009 (that paper was not at
    hand; neither paper's k is known). For |k w| >> 1 both are the same.
    """
    size = abs(speed) if sharpness is None else speed * (2 / math.pi) * math.atan(sharpness * speed)
    strength = f.coulomb + (f.static - f.coulomb) * math.exp(-((speed / f.stribeck) ** 2))
    rate = speed - f.stiffness * size * bristle / strength
    return f.stiffness * bristle + f.damping * rate + f.viscous * speed, rate
