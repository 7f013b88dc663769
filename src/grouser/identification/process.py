"""Gaussian process of one quantity over inputs of a size near 1, and a model of its error.

Matern 5/2 covariance with one length for each input (Rasmussen and Williams 2006, ch. 4 and 5), learned with
scikit-learn. Leaving out each run in turn gives errors e_i and the deviations s_i that the process expected (eq. 5.10
to 5.12). The error at other inputs x has the variance

    v(x) = exp(a . f(x) + b . g(x)),   f = 1, x_k, x_k x_l;   g = 1, x_k

a is fitted to ln s_i^2; b is the maximum of the likelihood of e_i ~ N(0, v(x_i)). So where the process was too sure (a
stationary covariance is, where the quantity varies faster than elsewhere), its error is widened, and there only. The
polynomial costs a hundredth of the exact variance, which needs a product with the inverse covariance for each point.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser.errors import InputError

NOISE = (1e-8, 1e-1)  # variance of the noise of runs, over that of the quantity
LENGTHS = (0.05, 100.0)  # of the covariance, in inputs from -1 to 1
RUNS_PER_TERM = 4  # least runs for each term of the polynomial; below it products of two inputs are left out
RIDGE_A = 0.1  # a term of the polynomial counts with this times its size: settles terms that the runs do not
RIDGE_B = 1.0  # of the widening: a deviation of 1 of each ln v term before the data, which decide with tens of runs
NEWTON_STEPS, LARGEST_STEP = 50, 1.0


@dataclass(frozen=True)
class ErrorModel:
    """Variance v(x) of the error of a process, relative to its scale."""

    products: bool  # whether a has the terms x_k x_l
    a: np.ndarray  # (term,)
    b: np.ndarray  # (term,)
    limits: tuple[float, float]  # of a . f: the smallest and largest ln s_i^2

    def deviation(self, inputs: np.ndarray) -> np.ndarray:
        """Square root of v, (point,)."""
        expected = np.clip(_terms(inputs, self.products) @ self.a, *self.limits)
        return np.exp(0.5 * (expected + _linear(inputs) @ self.b))


@dataclass(frozen=True)
class Learned:
    """The Gaussian process of one quantity, and what leaving out each run in turn shows."""

    points: np.ndarray  # (run, input) over `lengths`
    lengths: np.ndarray  # (input,)
    weights: np.ndarray  # (run,)
    centre: float
    scale: float
    model: ErrorModel
    error: float  # root mean square of the errors of runs that were left out, in the unit of the quantity
    left_out: np.ndarray  # (run,) errors over the deviations of `model`

    def mean(self, inputs: np.ndarray) -> np.ndarray:
        """Mean, (point,), of the quantity at inputs (point, input)."""
        return self.centre + self.scale * (matern(inputs / self.lengths, self.points) @ self.weights)

    def predict(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of the error, (point,) each."""
        return self.mean(inputs), self.scale * self.model.deviation(inputs)


def matern(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Covariance (1 + t + t^2/3) exp(-t), t = sqrt(5) r, of points (point, input) over lengths."""
    # In place: most of the time of a sampler is spent here, and temporary matrices take four times as long.
    t = first @ (-10 * second.T)
    t += 5 * np.sum(first**2, axis=1)[:, None]
    t += 5 * np.sum(second**2, axis=1)
    np.maximum(t, 0.0, out=t)
    covariance = t / 3
    np.sqrt(t, out=t)
    covariance += t
    covariance += 1
    np.negative(t, out=t)
    covariance *= np.exp(t, out=t)
    return covariance  # Rasmussen and Williams 2006, eq. 4.17


def require_packages() -> None:
    """Raises InputError if what learns from runs is not installed."""
    try:
        import sklearn.gaussian_process  # noqa: F401
        import threadpoolctl  # noqa: F401
    except ModuleNotFoundError:
        raise InputError("identify needs scikit-learn for wheels: pip install 'grouser[identify]'") from None


def learn_process(inputs: np.ndarray, y: np.ndarray) -> Learned:
    """Gaussian process of y (run,) over inputs (run, input) of a size near 1."""
    require_packages()
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
    from threadpoolctl import threadpool_limits

    centre, scale = float(y.mean()), float(y.std()) or 1.0
    lengths: Any = np.ones(inputs.shape[1])  # one for each input, which the package's types do not know
    kernel = ConstantKernel(1.0, (1e-2, 1e3)) * Matern(lengths, LENGTHS, nu=2.5)
    process = GaussianProcessRegressor(kernel + WhiteKernel(1e-3, NOISE))
    with threadpool_limits(1), warnings.catch_warnings():  # a length at its limit says that an input does not matter
        warnings.simplefilter("ignore", ConvergenceWarning)
        process.fit(inputs, (y - centre) / scale)
    learned: Any = process.kernel_
    alpha = process.alpha_.reshape(-1)
    inverse = np.linalg.inv(process.L_)
    variance = 1 / np.sum(inverse**2, axis=0)  # of runs left out, Rasmussen and Williams 2006, eq. 5.10 to 5.12
    error = alpha * variance
    model = error_model(inputs, error, variance)
    found = np.broadcast_to(learned.k1.k2.length_scale, inputs.shape[1])
    return Learned(
        inputs / found, found, learned.k1.k1.constant_value * alpha, centre, scale, model,
        scale * float(np.sqrt(np.mean(error**2))), error / model.deviation(inputs),
    )  # fmt: skip


def error_model(inputs: np.ndarray, error: np.ndarray, variance: np.ndarray) -> ErrorModel:
    """Model of the errors (run,) of runs that were left out, whose variances (run,) the process expected."""
    terms = 1 + inputs.shape[1] * (inputs.shape[1] + 3) // 2
    products = len(inputs) >= RUNS_PER_TERM * terms
    f, log_variance = _terms(inputs, products), np.log(variance)
    a = np.linalg.solve(f.T @ f + RIDGE_A**2 * np.eye(f.shape[1]), f.T @ log_variance)
    limits = float(log_variance.min()), float(log_variance.max())
    return ErrorModel(products, a, _widening(_linear(inputs), error**2 / np.exp(np.clip(f @ a, *limits))), limits)


def _widening(g: np.ndarray, square: np.ndarray) -> np.ndarray:
    """b of the largest likelihood of squared errors (run,) with the variance exp(g . b): convex, by Newton's method."""
    b = np.zeros(g.shape[1])
    ridge = RIDGE_B * np.eye(len(b))
    ridge[0, 0] = 1e-9  # the mean is free
    for _ in range(NEWTON_STEPS):
        left = square * np.exp(-g @ b)
        step = np.linalg.solve(0.5 * g.T @ (left[:, None] * g) + ridge, 0.5 * g.T @ (1 - left) + ridge @ b)
        step *= min(1.0, LARGEST_STEP / max(float(np.abs(step).max()), 1e-300))
        b = b - step
        if np.abs(step).max() < 1e-8:
            break
    return b


def _linear(inputs: np.ndarray) -> np.ndarray:
    return np.concatenate([np.ones((len(inputs), 1)), inputs], axis=1)


def _terms(inputs: np.ndarray, products: bool) -> np.ndarray:
    """1, x_k and their squares, or all products of two, (point, term)."""
    size = inputs.shape[1]
    one, other = np.triu_indices(size) if products else (np.arange(size), np.arange(size))
    return np.concatenate([_linear(inputs), inputs[:, one] * inputs[:, other]], axis=1)
