"""Recordings: one HDF5 file per run, written during the run and readable even if the run is killed."""

from grouser.recording.copying import Beginning
from grouser.recording.reader import Recording
from grouser.recording.repair import repair
from grouser.recording.schema import SCHEMA, build_header
from grouser.recording.writer import RecordingWriter

__all__ = ["SCHEMA", "Beginning", "Recording", "RecordingWriter", "build_header", "repair"]
