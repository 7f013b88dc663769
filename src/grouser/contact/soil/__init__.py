"""Soil contact: bodies sink, slip and rut in soil that is an elevation grid (003 section 2.2, 000 section III)."""

from grouser.contact.soil.model import SoilModule, SoilOptions
from grouser.contact.soil.surface import Surface, prepare, wheel

__all__ = ["SoilModule", "SoilOptions", "Surface", "prepare", "wheel"]
