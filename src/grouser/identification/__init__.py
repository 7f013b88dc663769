"""Soil constants from measurements, with uncertainty: plates, shear tests, wheels and rovers (docs/identify.md)."""
