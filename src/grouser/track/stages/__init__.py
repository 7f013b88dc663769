"""Stages of a substep of a track, device code: each file is one thing that acts on links; `kernels.py` runs them."""
