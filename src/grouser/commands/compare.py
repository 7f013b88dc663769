"""`grouser compare A B`: where the settings, metrics and channels of two runs differ."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grouser.commands.folder import recording_of
from grouser.commands.tables import show, shown

if TYPE_CHECKING:
    from grouser.recording import Recording

Row = tuple[str, ...]


def compare(first: Path, second: Path) -> int:
    """Prints three tables of differences."""
    from grouser.recording import Recording

    with Recording(recording_of(first)) as a, Recording(recording_of(second)) as b:
        for name in ("scenario", "version"):
            if a.header[name] != b.header[name]:
                print(f"{name}: {a.header[name]} against {b.header[name]}")
        if a.status != "complete" or b.status != "complete":
            print(f"status: {a.status} against {b.status}")
        _section("settings", ("setting", "A", "B"), changed(a.header["settings"], b.header["settings"]))
        _section("metrics", ("metric", "A", "B", "B - A", "relative"), metrics(a, b))
        _section("channels", ("channel", "unit", "largest difference", "at t [s]"), channels(a, b))
    return 0


def _section(title: str, titles: Row, rows: list[Row]) -> None:
    print(f"\n{title}" if rows else f"\n{title}: the same")
    if rows:
        show(titles, rows)


def changed(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[Row]:
    """Settings that differ, by dotted path."""
    first, second = flat(a), flat(b)
    paths = [path for path in {**first, **second} if first.get(path) != second.get(path)]
    return [(path, shown(first.get(path)), shown(second.get(path))) for path in paths]


def flat(tree: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    leaves: dict[str, Any] = {}
    for key, value in tree.items():
        leaves |= flat(value, f"{above}{key}.") if isinstance(value, Mapping) else {f"{above}{key}": value}
    return leaves


def metrics(a: Recording, b: Recording) -> list[Row]:
    """Every metric of either run; the same values too, as they are what a comparison is about."""
    rows: list[Row] = []
    for name in {**a.metrics, **b.metrics}:
        first, second = a.metrics.get(name), b.metrics.get(name)
        rows.append((name, shown(first), shown(second), *_difference(first, second)))
    return rows


def _difference(first: Any, second: Any) -> tuple[str, str]:
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in (first, second)):
        return ("", "") if first == second else ("differs", "")
    relative = f"{100 * (second - first) / abs(first):.3g} %" if first else ""
    return shown(float(second - first)), relative


def channels(a: Recording, b: Recording) -> list[Row]:
    """Channels recorded in both that differ, at the frames of A up to where both end."""
    import numpy as np

    rows: list[Row] = []
    for name in [name for name in a.names() if name in b.names()]:
        info, other = a.channel_info(name), b.channel_info(name)
        if (
            info.kind == "ragged"
            or info.shape != other.shape
            or a.worlds != b.worlds
            or not (len(a) and len(b))
        ):
            continue
        times = a.time[a.time <= b.time[-1]]
        if not len(times):
            continue
        gaps = np.abs(a[name][: len(times)] - sampled(b.time, b[name], times)).reshape(len(times), -1)
        largest = np.nanmax(gaps, axis=1, initial=0.0)
        frame = int(np.argmax(largest))
        if largest[frame] > 0:
            rows.append((name, info.unit, f"{largest[frame]:.5g}", f"{times[frame]:.6g}"))
    return rows


def sampled(times: Any, values: Any, wanted: Any) -> Any:
    """Values at other times, linear between frames; at a frame's own time its value to the bit."""
    import numpy as np

    after = np.clip(np.searchsorted(times, wanted), 0, len(times) - 1)
    before = np.maximum(after - 1, 0)
    span = np.where(after > before, times[after] - times[before], 1.0)
    share = np.clip((wanted - times[before]) / span, 0.0, 1.0).reshape(-1, *[1] * (values.ndim - 1))
    exact = (times[after] == wanted).reshape(share.shape)
    return np.where(exact, values[after], (1 - share) * values[before] + share * values[after])
