"""The order of a soil step, written once: both launchers run the stages of these lists from first to last.

`per_world.py` runs them inside one thread a world, `per_node.py` as launches of one thread a vertex, triangle or node.
Bodies of one world follow one another, because their ruts may overlap.
"""

from __future__ import annotations

# Once per accepted step, `motion` is the end of that step.
COMMIT = (
    "book",  # energy.py: work of the step just made
    "place",  # placement.py: where the body is, which nodes its window holds
    "gather",  # window.py: these nodes from the tiles
    "raster",  # raster.py: the body's lower surface over them
    "displace",  # sinkage.py, spoil.py: plastic sinkage, spoil to the border
    "shear",  # shear.py: the shear state moves on
    "erode",  # erosion.py: slopes that are too steep slide
    "write back",  # window.py: what changed into the tiles
)
# As often as asked between two commits; changes no state of the soil.
EVALUATE = (
    "refresh",  # window.py: what another body has written to the same tiles since
    "predict",  # traction.py: body and soil at the end of the step
    "force",  # traction.py: wrench and implicit block
)
BOOK, PLACE, GATHER, RASTER, DISPLACE, SHEAR, ERODE, WRITE_BACK = (
    COMMIT.index(name) for name in ("book", "place", "gather", "raster", "displace", "shear", "erode", "write back")
)
REFRESH, PREDICT, FORCE = (EVALUATE.index(name) for name in ("refresh", "predict", "force"))
