"""Definition of a scenario: frozen settings, a build function, and metrics and figures as data."""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pydantic
from pydantic_core import PydanticCustomError

if TYPE_CHECKING:
    from grouser.recording import Recording
    from grouser.simulation import Simulation


SMALLEST, LARGEST = 1e-15, 1e15  # allowed magnitudes of numbers in settings; Earth's gravitational parameter is 4e14
LARGEST_INTEGER = 2**63 - 1


class Settings(pydantic.BaseModel):
    """Root of all settings: frozen, finite numbers, no field it does not know."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @pydantic.field_validator("*", mode="after")
    @classmethod
    def _check_magnitude(cls, value: Any) -> Any:
        """Reject numbers whose squares overflow or underflow. The bounds of a field say what is sensible for it."""
        for number in _numbers(value):
            if isinstance(number, int):
                allowed = "" if abs(number) <= LARGEST_INTEGER else f"must be at most {LARGEST_INTEGER}"
            elif isinstance(number, float) and number and not SMALLEST <= abs(number) <= LARGEST:
                allowed = f"its magnitude must be 0 or from {SMALLEST:g} to {LARGEST:g} (SI units)"
            else:
                continue
            if allowed:
                raise PydanticCustomError("magnitude", "{text}", {"text": allowed})
        return value

    @pydantic.field_validator("*", mode="before")
    @classmethod
    def _parse_none(cls, value: Any, info: pydantic.ValidationInfo) -> Any:
        """Convert the text `none` to None where None is allowed. Reject true and false as numbers."""
        allowed = _members(cls.model_fields[str(info.field_name)].annotation)
        nothing = isinstance(value, str) and value.lower() == "none"
        if nothing and type(None) in allowed and not {str, "none"} & allowed:
            return None
        if isinstance(value, bool) and allowed & {int, float} and bool not in allowed:
            raise PydanticCustomError("number", "must be a number")
        return value


def _numbers(value: Any) -> Iterator[Any]:
    """The value itself, or all items of a list or mapping, including nested ones."""
    if isinstance(value, tuple | list | Mapping):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _numbers(part)
    else:
        yield value


def _members(annotation: Any) -> set[Any]:
    """The types and literal values that a field may have: float | None gives {float, NoneType}."""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        return set().union(*(_members(part) for part in typing.get_args(annotation)))
    if origin is typing.Annotated:
        return _members(typing.get_args(annotation)[0])
    if origin is typing.Literal:
        return set(typing.get_args(annotation))
    return {origin or annotation}


def metric(
    name: str,
    unit: str,
    definition: str,
    expected: Any = None,
    tolerance: Mapping[str, float] | None = None,
    source: str | None = None,
) -> dict[str, Any]:
    """Declare a metric: definition, expected value, tolerance ({"rel"|"abs"|"min"|"max": x}) and source."""
    return {
        "name": name,
        "unit": unit,
        "definition": definition,
        "expected": expected,
        "tolerance": tolerance,
        "source": source,
    }


def soil_map(caption: str, paths: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """Declare a figure: map of the sinkage at the end of the run, with paths of bodies."""
    return {
        "name": "soil", "title": "The soil from above", "kind": "map", "field": "sinkage", "time": "end",
        "paths": list(paths), "caption": caption, **more,
    }  # fmt: skip


S = TypeVar("S", bound=Settings)

RATE = 100.0  # [Hz] frames recorded per simulated second by a scenario that does not say otherwise
LONG = 600.0  # [s] simulated time from which such a scenario is recorded with fewer frames
LONG_RATE, LONG_TILE_RATE = 10.0, 0.25  # [Hz] of frames and of changed ground in such a run: below 2 MB a minute


@dataclass(frozen=True)
class Batch(Generic[S]):
    """How cases of a scenario run as worlds of one batch on a device."""

    shared: Callable[[S], str]  # what all worlds of a batch must have in common, as text
    refused: Callable[[S], str]  # why a case cannot be a world; empty if it can
    build: Callable[[Sequence[S], str], Simulation]  # of all worlds, on a device such as "cuda"


@dataclass(frozen=True)
class Scenario(Generic[S]):
    """One experiment of a paper. `metrics` and `figures` are stored in the header of the recording."""

    name: str
    summary: str  # one line for `grouser list`
    source: str  # paper and figure
    settings: type[S]
    metrics: Callable[[S], list[dict[str, Any]]]
    figures: Callable[[S], list[dict[str, Any]]]
    build: Callable[[S], Simulation]
    duration: Callable[[S], float]  # [s]
    measure: Callable[[S, Recording], Mapping[str, Any]]  # metric values from the recording alone
    title: Callable[[S, Simulation], str] = lambda settings, sim: ""  # of the report; empty: the name
    rate: float | None = None  # [Hz] frames recorded per simulated second; None: RATE, or LONG_RATE if it is long
    batch: Batch[S] | None = None  # None: cases cannot share a batch

    def frame_rate(self, duration: float) -> float:
        """Frames [Hz] that a run of `duration` [s] records if nobody says otherwise."""
        usual = LONG_RATE if duration > LONG else RATE
        return usual if self.rate is None else self.rate


FUNCTIONS = ("metrics", "figures", "build", "duration", "measure", "title")


def scenario_of(
    module: str,
    settings: type[S],
    *,
    summary: str,
    source: str,
    rate: float | None = None,
    batch: Batch[S] | None = None,
    **functions: Callable[..., Any],
) -> Scenario[S]:
    """Make the scenario that a module defines by its functions, those of FUNCTIONS.

    It has the name of the module, with hyphens. `functions` replace those of the module. Without `duration` a run takes
    the setting of that name.
    """
    own: dict[str, Callable[..., Any]] = {"duration": lambda s: s.duration}
    own |= {name: function for name, function in vars(sys.modules[module]).items() if name in FUNCTIONS}
    name = module.rpartition(".")[2].replace("_", "-")
    return Scenario(name, summary, source, settings, rate=rate, batch=batch, **(own | functions))
