"""Figures, tables and pages. A recording is their only input."""

from grouser.report.compare import Row, compare, table
from grouser.report.figures import draw_figures
from grouser.report.html import write_report
from grouser.report.summary import judge, missed, summarise, write_summary

__all__ = [
    "Row",
    "compare",
    "draw_figures",
    "judge",
    "missed",
    "summarise",
    "table",
    "write_report",
    "write_summary",
]
