"""Polygonal contact: triangle meshes with elastic layers.

Krenn et al. 2008, section 2.1; Krenn and Hirzinger 2009, eq. 1-2.
"""

from grouser.contact.layers import Layer
from grouser.contact.polygonal.model import PolygonalModule
from grouser.contact.polygonal.pairs import Pair
from grouser.contact.polygonal.shape import Shape, hard_ground, merged, shape

__all__ = ["Layer", "Pair", "PolygonalModule", "Shape", "hard_ground", "merged", "shape"]
