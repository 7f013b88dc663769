"""Where the energy went that bodies gave to the soil, in words, from the soil's account in a recording."""

from __future__ import annotations

from grouser.recording import Recording
from grouser.report.wording import number

REST = "unaccounted"
SHOWN = 5e-4  # share of the work below which a kind is left out
DIGITS = 3


def soil_energy(recording: Recording) -> dict[str, str]:
    """One line for each body of each soil module: work at the end of the run, and the share of each kind.

    Bodies that have done no work on the soil are left out. Of several worlds the first is shown.
    """
    lines: dict[str, str] = {}
    modules = [name.removesuffix("/work") for name in recording.names() if name.endswith("/work")]
    for module in modules:
        prefix = f"{module}/energy_"
        kinds = [name.removeprefix(prefix) for name in recording.names() if name.startswith(prefix)]
        if REST not in kinds or not len(recording):
            continue
        last = {kind: _at_end(recording, prefix + kind) for kind in kinds}
        for body, (label, work) in enumerate(
            zip(recording.channel_info(f"{module}/work").labels, _at_end(recording, f"{module}/work"), strict=True)
        ):
            if work > 0:
                lines[f"{module}: {label}"] = _line(work, {kind: last[kind][body] / work for kind in kinds})
    return lines


def _at_end(recording: Recording, name: str):
    values = recording.read(name, slice(len(recording) - 1, None))[0]
    return values[0] if recording.worlds > 1 else values


def _line(work: float, shares: dict[str, float]) -> str:
    found = sorted((kind for kind in shares if kind != REST and abs(shares[kind]) > SHOWN), key=lambda k: -shares[k])
    parts = [f"{kind} {number(float(100 * shares[kind]), DIGITS)} %" for kind in (*found, REST)]
    return f"{number(float(work), DIGITS)} J: {', '.join(parts)}"
