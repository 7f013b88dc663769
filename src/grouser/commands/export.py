"""`grouser export`, `grouser video`, `grouser report`: write files that can be opened without Grouser."""

from __future__ import annotations

from pathlib import Path

from grouser.commands import progress
from grouser.commands.folder import recording_path
from grouser.errors import InputError
from grouser.files import write_errors_as_input
from grouser.recording import Recording
from grouser.recording.folder_lock import FolderLock

FORMATS = ("html", "csv", "mcap")
NAMES = {"html": "replay.html", "csv": "csv", "mcap": "bag"}


def export(place: Path, formats: list[str], out: Path | None, field: str) -> int:
    """Write a replay page, tables or a ROS 2 bag next to the recording, or into the folder `out`."""
    file = recording_path(place)
    chosen = formats or ["html"]
    for name in chosen:
        if name not in FORMATS:
            raise InputError(f"--format {name}: allowed are {', '.join(FORMATS)}")
    folder = file.parent if out is None else out
    with Recording(file) as recording:
        for name in chosen:
            with progress.count_bar(f"export {name}") as show, write_errors_as_input(folder / NAMES[name]):
                path = _export(recording, name, folder, field, show)
            print(path)
    return 0


def _export(recording: Recording, name: str, folder: Path, field: str, show) -> Path:
    target = folder / NAMES[name]
    if name == "html":
        from grouser.files import write_atomically
        from grouser.viewer.replay import replay

        return write_atomically(target, replay(recording, field, show))
    if name == "csv":
        from grouser.viewer.tables import write_tables

        return write_tables(recording, target, show)[0].parent
    from grouser.viewer.bag import write_bag

    return write_bag(recording, target, show)


def video(
    place: Path,
    out: Path | None,
    cameras: list[str],
    size: str,
    rate: float,
    speed: float,
    span: tuple[float, float] | None,
    field: str,
    forces: bool,
) -> int:
    """Write a video next to the recording, or to `out`, whose suffix gives the format."""
    from grouser.viewer.video import film

    file = recording_path(place)
    path = file.parent / "video.mp4" if out is None else out
    with Recording(file) as recording, write_errors_as_input(path), progress.count_bar("video") as show:
        film(
            recording, path, cameras=tuple(cameras) or ("follow",), size=_size(size), rate=rate, speed=speed, span=span,
            field=field, forces=forces, progress=show,
        )  # fmt: skip
    print(path)
    return 0


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    if not (width.isdigit() and height.isdigit() and 64 <= int(width) <= 4096 and 64 <= int(height) <= 4096):
        raise InputError(f"--size {text}: allowed is WIDTHxHEIGHT, 64 to 4096 pixels each, such as 960x540")
    return int(width), int(height)


def report(place: Path, with_replay: bool) -> int:
    """Write figures and report of a run again, with a replay if wanted; or tables and figures of a sweep."""
    from grouser.report import write_report

    if (place / "sweep.json").is_file():
        from grouser.report.sweep import write_sweep_report

        with FolderLock(place), write_errors_as_input(place):
            print(write_sweep_report(place))
        return 0
    file = recording_path(place)
    with FolderLock(file.parent), write_errors_as_input(file.parent), Recording(file) as recording:
        page = ""
        if with_replay and len(recording):
            from grouser.viewer.replay import replay

            with progress.count_bar("replay") as show:
                page = replay(recording, progress=show)
        print(write_report(recording, file.parent, replay=page))
    return 0
