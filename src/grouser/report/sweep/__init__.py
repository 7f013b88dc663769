"""Tables, figures and a page of a sweep. Its folder is their only input."""

from grouser.report.sweep.page import write_sweep_report
from grouser.report.sweep.table import Row, SweepTable, read_table

__all__ = ["Row", "SweepTable", "read_table", "write_sweep_report"]
