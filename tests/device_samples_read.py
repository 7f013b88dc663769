"""Device code of a module that lacks `from __future__ import annotations`: it exists in float64 only."""

import warp as wp

from grouser.device import struct
from grouser.precision import real


@struct
class Spring:
    stiffness: real


@wp.func
def same(x: real):
    return x


@wp.func
def next_one(k: int):
    return k + 1
