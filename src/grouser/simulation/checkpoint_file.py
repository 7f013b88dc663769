"""Checkpoints in files: numbers, texts, lists, mappings and arrays. Reading one runs no code of its writer."""

from __future__ import annotations

import json
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from grouser.errors import InputError, RunStopped
from grouser.files import atomic_file

TREE = "tree"  # member with the structure as JSON text; arrays in it are {ARRAY: number of their member}
ARRAY, TUPLE, STOP = "<array>", "<tuple>", "<stop>"
# What NumPy and zipfile raise on a file that is cut short, changed, or something else.
DAMAGE = (
    ValueError, KeyError, TypeError, OSError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error,
    RuntimeError,
)  # fmt: skip


def save(checkpoint: dict[str, Any], path: str | Path) -> None:
    """Write a checkpoint. The file is complete or, after an OSError, not there."""
    arrays: list[np.ndarray] = []
    text = json.dumps(_pack(checkpoint, arrays))
    with atomic_file(Path(path)) as part, part.open("wb") as file:
        members = {str(k): array for k, array in enumerate(arrays)}
        np.savez(file, allow_pickle=False, **{TREE: np.frombuffer(text.encode(), np.uint8)}, **members)


def load(path: str | Path) -> dict[str, Any]:
    """Read a checkpoint. Raises InputError for a file that is none or is damaged."""
    try:
        with np.load(path, allow_pickle=False) as file:
            found = _unpack(json.loads(file[TREE].tobytes()), file)
        if not isinstance(found, dict):
            raise ValueError("no mapping")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except DAMAGE:
        raise InputError(f"{path} is not a checkpoint, or damaged") from None
    return found


def _pack(value: Any, arrays: list[np.ndarray]) -> Any:
    """The value as JSON can hold it. Arrays, also those without axes, go to `arrays`."""
    if isinstance(value, np.ndarray | np.generic):
        arrays.append(np.asarray(value))
        return {ARRAY: len(arrays) - 1}
    if isinstance(value, dict):
        return {str(key): _pack(entry, arrays) for key, entry in value.items()}
    if isinstance(value, tuple):
        return {TUPLE: [_pack(entry, arrays) for entry in value]}
    if isinstance(value, list):
        return [_pack(entry, arrays) for entry in value]
    if isinstance(value, RunStopped):
        return {STOP: {"reason": value.reason, "module": value.module, "body": value.body, "time": float(value.time)}}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputError(f"checkpoint: {value!r} is a {type(value).__name__}; allowed are arrays, numbers, texts and lists")


def _unpack(value: Any, file: Any) -> Any:
    if isinstance(value, list):
        return [_unpack(entry, file) for entry in value]
    if not isinstance(value, dict):
        return value
    if STOP in value:
        return RunStopped(**value[STOP])
    if ARRAY in value:
        return file[str(value[ARRAY])][()]  # a number where it has no axes
    if TUPLE in value:
        return tuple(_unpack(entry, file) for entry in value[TUPLE])
    return {key: _unpack(entry, file) for key, entry in value.items()}
