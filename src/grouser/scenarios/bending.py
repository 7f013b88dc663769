"""Identifies frequency and damping of a free oscillation from samples."""

from __future__ import annotations

import math

import numpy as np

LEAST_CYCLES = 0.6  # shortest record in cycles; a shorter one does not determine the damping
POINTS = 240  # the record is thinned to about this many samples
KEPT = 3e-3  # singular values below this share of the largest are noise (float32 of a recording, micro-slip)


def damping_ratio(time: np.ndarray, signals: np.ndarray, expected: float) -> tuple[float, float]:
    """Damping ratio and frequency [rad/s] of the strongest mode near `expected` [rad/s]. NaN if there is none.

    Matrix pencil method over all signals, (sample, signal). The samples are a sum of decaying sinusoids. The poles of
    the map from one sample to the next are exp((-zeta + i sqrt(1 - zeta^2)) omega dt).
    """
    if len(time) < 20 or (time[-1] - time[0]) * expected < LEAST_CYCLES * 2 * math.pi:
        return math.nan, math.nan
    every = max(1, len(time) // POINTS)
    time, signals = time[::every], signals[::every]
    count, width = len(time), len(time) // 2
    step = (time[-1] - time[0]) / (count - 1)
    rows = [np.concatenate([signals[k : k + width, c] for c in range(signals.shape[1])]) for k in range(count - width)]
    delayed = np.array(rows)  # (start, delay x signal)
    delayed = np.hstack([delayed, np.full((len(delayed), 1), np.abs(signals).max() or 1.0)])  # a constant offset
    left, size, _ = np.linalg.svd(delayed, full_matrices=False)
    kept = max(2, int((size > KEPT * size[0]).sum()))
    basis = left[:, :kept]
    poles = np.linalg.eigvals(np.linalg.lstsq(basis[:-1], basis[1:], rcond=None)[0])
    with np.errstate(divide="ignore"):
        rate = np.log(poles.astype(complex)) / step
    near = (rate.imag > 0.6 * expected) & (rate.imag < 1.8 * expected)
    if not near.any():
        return math.nan, math.nan
    # Amplitude of each pole in the record.
    weight = np.linalg.lstsq(np.vander(poles, count, increasing=True).T, signals, rcond=None)[0]
    strength = np.where(near, np.linalg.norm(weight, axis=1), 0.0)
    best = rate[int(strength.argmax())]
    return float(-best.real / abs(best)), float(abs(best))
