"""Soil contact: bodies sink, slip and rut in soil that is an elevation grid.

Krenn et al. 2008, section 2.2; Krenn and Hirzinger 2009, section III.
"""

from grouser.contact.soil.model import SoilModule, SoilOptions
from grouser.contact.soil.surface import Surface, prepare, wheel

__all__ = ["SoilModule", "SoilOptions", "Surface", "prepare", "wheel"]
