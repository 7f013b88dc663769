"""Table of a sweep as Parquet, for tools that read large tables. Needs pyarrow (extra `cluster`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from grouser.files import atomic_file
from grouser.report.sweep.table import SweepTable, is_number


def write_parquet(table: SweepTable, path: Path) -> Path | None:
    """Write the columns of table.csv with types: numbers as float64, switches as bool, everything else as text.

    The unit of a parameter or metric is in the metadata of its column. Without pyarrow nothing is written.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError:
        return None
    head, *body = table.lines()
    units = {parameter["path"]: parameter["unit"] for parameter in table.about["parameters"]}
    units |= {table.column(name): unit for name, unit in table.units.items()}
    fields, columns = [], []
    for place, name in enumerate(head):
        values = [line[place] for line in body]
        kind, plain = _typed(pyarrow, values)
        fields.append(pyarrow.field(name, kind, metadata={"unit": units[name]} if name in units else None))
        columns.append(pyarrow.array(plain, kind))
    with atomic_file(path) as part:
        pyarrow.parquet.write_table(pyarrow.Table.from_arrays(columns, schema=pyarrow.schema(fields)), part)
    return path


def _typed(pyarrow: Any, values: list[Any]) -> tuple[Any, list[Any]]:
    """Type of a column and its values in that type."""
    present = [value for value in values if value is not None]
    if present and all(map(is_number, present)):
        return pyarrow.float64(), [None if value is None else float(value) for value in values]
    if present and all(isinstance(value, bool) for value in present):
        return pyarrow.bool_(), values
    return pyarrow.string(), [
        value if value is None or isinstance(value, str) else json.dumps(value) for value in values
    ]
