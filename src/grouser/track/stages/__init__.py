"""Stages of a substep of a track: device functions, one file per kind of force or motion. `kernels.py` runs them."""
