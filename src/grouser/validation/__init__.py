"""Measured wheels: data files, the runs that stand against them, errors and figures."""

from grouser.validation.measured import QUANTITIES, MeasuredWheel, read_wheels

__all__ = ["QUANTITIES", "MeasuredWheel", "read_wheels"]
