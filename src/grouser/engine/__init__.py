"""Engines: the only code that steps MuJoCo."""
