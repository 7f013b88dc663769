"""Writes elevation models as PDS 3 files with a projected label, as those of Mars from stereo pictures come."""

from __future__ import annotations

from pathlib import Path

import numpy as np

LABEL_RECORDS = 10
MISSING = np.array([0xFF7FFFFB], "<u4").view("<f4")[0]  # PDS 3's constant for a missing 32-bit real
LABEL = """PDS_VERSION_ID = PDS3
RECORD_TYPE = FIXED_LENGTH
RECORD_BYTES = {record}
FILE_RECORDS = {records}
LABEL_RECORDS = {label}
^IMAGE = {first}
OBJECT = IMAGE_MAP_PROJECTION
  MAP_PROJECTION_TYPE = "EQUIRECTANGULAR"
  A_AXIS_RADIUS = 3396.19 <KM>
  B_AXIS_RADIUS = 3396.19 <KM>
  C_AXIS_RADIUS = 3396.19 <KM>
  POSITIVE_LONGITUDE_DIRECTION = EAST
  CENTER_LATITUDE = -5.0 <DEG>
  CENTER_LONGITUDE = 180.0 <DEG>
  LINE_PROJECTION_OFFSET = {up} <PIXEL>
  SAMPLE_PROJECTION_OFFSET = {left} <PIXEL>
  MAP_SCALE = {scale}
END_OBJECT = IMAGE_MAP_PROJECTION
OBJECT = IMAGE
  LINES = {rows}
  LINE_SAMPLES = {columns}
  BANDS = 1
  SAMPLE_TYPE = PC_REAL
  SAMPLE_BITS = 32
  MISSING_CONSTANT = 16#FF7FFFFB#
END_OBJECT = IMAGE
END
"""


def write(
    file: Path, heights: np.ndarray, scale: str = "2 <METERS/PIXEL>", offset: tuple[float, float] = (0.0, 0.0)
) -> None:
    """`heights` [m], (row from the north, column). `offset`: lines and samples from the first pixel to the origin."""
    rows, columns = heights.shape
    label = LABEL.format(
        record=4 * columns, records=LABEL_RECORDS + rows, label=LABEL_RECORDS, first=LABEL_RECORDS + 1,
        rows=rows, columns=columns, scale=scale, up=offset[0], left=offset[1],
    )  # fmt: skip
    file.write_bytes(label.encode().ljust(LABEL_RECORDS * 4 * columns) + heights.astype("<f4").tobytes())
