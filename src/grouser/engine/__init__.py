"""The engine: the only code that steps MuJoCo."""
