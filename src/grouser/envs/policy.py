"""A policy as a small file: a network that runs in NumPy, and how its observations are scaled."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from grouser.errors import InputError
from grouser.files import atomic_file

# What NumPy and zipfile raise on a file that is cut short, changed, or something else.
DAMAGE = (
    OSError, ValueError, TypeError, LookupError, EOFError, NotImplementedError, RuntimeError, zipfile.BadZipFile,
    zlib.error,
)  # fmt: skip
CLIP = 10.0  # standard deviations to which observations are limited
TRAINED = Path(__file__).with_name("trained")  # policies that come with the package, TASK.npz each


@dataclass(frozen=True)
class Policy:
    """Layers of a network with tanh between them. Its output, limited to -1 … 1, is the action."""

    task: str
    names: tuple[str, ...]  # of the observed values
    mean: np.ndarray  # (observed,)
    deviation: np.ndarray  # (observed,)
    weights: tuple[np.ndarray, ...]  # (out, in) each
    biases: tuple[np.ndarray, ...]  # (out,) each
    notes: str = ""  # how it was trained

    def __call__(self, observed: np.ndarray) -> np.ndarray:
        """Actions (world, action) for observations (world, observed)."""
        x = np.clip((observed - self.mean) / self.deviation, -CLIP, CLIP)
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = x @ weight.T + bias
            if k + 1 < len(self.weights):
                x = np.tanh(x)
        return np.clip(x, -1.0, 1.0).astype(np.float32)

    def save(self, path: str | Path) -> None:
        """Write an .npz file, completely or not at all."""
        arrays: dict[str, Any] = {"mean": self.mean, "deviation": self.deviation}
        for k, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            arrays |= {f"weight_{k}": weight, f"bias_{k}": bias}
        about = json.dumps(
            {"task": self.task, "names": list(self.names), "layers": len(self.weights), "notes": self.notes}
        )
        single: dict[str, Any] = {name: np.asarray(values, np.float32) for name, values in arrays.items()}
        with atomic_file(Path(path)) as part, part.open("wb") as file:
            np.savez_compressed(file, about=np.array(about), **single)


def load_policy(path: str | Path, task: str | None = None, names: Sequence[str] | None = None) -> Policy:
    """Read a policy; `task` and `names` of the observed values must be those of the file, if they are given."""
    try:
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(str(file["about"]))
            layers = range(about["layers"])
            weights, biases = (tuple(file[f"{part}_{k}"] for k in layers) for part in ("weight", "bias"))
            observes, scales = tuple(about["names"]), (file["mean"], file["deviation"])
            made = Policy(str(about["task"]), observes, *scales, weights, biases, str(about["notes"]))
            _check_layers(made)
    except DAMAGE as error:
        raise InputError(f"policy: {path} is not a policy file: {' '.join(str(error).split())}") from None
    if task is not None and made.task != task:
        raise InputError(f"policy: {path} was trained for {made.task}; allowed is one for {task}")
    if names is not None and made.names != tuple(names):
        raise InputError(f"policy: {path} observes {len(made.names)} other values than the {len(names)} of {made.task}")
    return made


def _check_layers(policy: Policy) -> None:
    """Raise ValueError unless each layer takes what the one before gives, in finite numbers."""
    width = len(policy.names)
    if policy.mean.shape != (width,) or policy.deviation.shape != (width,) or not policy.weights:
        raise ValueError(f"it has no mean and deviation of each of its {width} observed values, or no layer")
    for weight, bias in zip(policy.weights, policy.biases, strict=True):
        if weight.ndim != 2 or weight.shape[1] != width or bias.shape != weight.shape[:1]:
            raise ValueError(f"a layer of shape {weight.shape} after {width} values, with a bias of shape {bias.shape}")
        width = len(weight)
    for array in (policy.mean, policy.deviation, *policy.weights, *policy.biases):
        if array.dtype.kind != "f" or not np.isfinite(array).all():
            raise ValueError("a number of it is not finite")


def trained_policy(task: str) -> Path | None:
    """File of the policy that comes with the package for a task, if there is one."""
    path = TRAINED / f"{task}.npz"
    return path if path.exists() else None
