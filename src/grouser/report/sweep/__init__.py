"""Tables, figures and a page of a sweep, made from its folder and nothing else."""

from grouser.report.sweep.page import write_sweep_report
from grouser.report.sweep.table import Row, SweepTable, read_table

__all__ = ["Row", "SweepTable", "read_table", "write_sweep_report"]
