"""Order of the stages of a soil step. It is written here only; both launchers follow these lists.

`per_world.py` runs all stages inside one thread per world, the bodies of a world one after another, because their ruts
may overlap. `per_team.py` runs each stage as one or more launches with one team of lanes per body; bodies of a world
whose windows overlap take turns in the same order.
"""

from __future__ import annotations

# Run once per accepted step. `motion` holds the poses and velocities at the end of that step.
COMMIT = (
    "book",  # energy.py: add the work of the finished step to the energy account
    "place",  # placement.py: locate the body and choose the nodes of its window
    "gather",  # window.py: copy these nodes from the tiles of the ground
    "raster",  # raster.py: find the height of the body's lower surface over them
    "displace",  # face_cutting.py: cut what faces pass; sinkage.py, spoil.py: sink the soil, put spoil on the border
    "shear",  # shear.py: advance the shear state
    "erode",  # erosion.py: let slopes that are too steep slide
    "write back",  # window.py: copy changed nodes back to the tiles
    "push",  # faces.py: the force that the soil ahead of steep faces can bear
)
# Run any number of times between two commits. Does not change the state of the soil.
EVALUATE = (
    "refresh",  # window.py: copy what other bodies have written to the same tiles since
    "predict",  # traction.py: extrapolate body and soil to the end of the step
    "force",  # traction.py: sum the wrench and the implicit block
)
BOOK, PLACE, GATHER, RASTER, DISPLACE, SHEAR, ERODE, WRITE_BACK, PUSH = range(len(COMMIT))
REFRESH, PREDICT, FORCE = (EVALUATE.index(name) for name in ("refresh", "predict", "force"))
