"""The ground: elevation grids, soils, rocks, courses, terrain generators and file importers."""

from grouser.terrain.elevation import BARE, ElevationGrid
from grouser.terrain.generators import (
    crater,
    craters,
    flat,
    fractal,
    from_function,
    ramp,
    sinusoid,
    slope,
    steps,
    v_ditch,
)
from grouser.terrain.importers import (
    from_array,
    from_esri_ascii,
    from_geotiff,
    from_mesh,
    from_npy,
    from_npz,
    from_png,
    jacksboro,
    load,
)
from grouser.terrain.roughness import Roughness, roughened
from grouser.terrain.soil_fit import Fit, fit_bekker, fit_shear
from grouser.terrain.soils import Soil, load_soils, soil, soil_names

__all__ = [
    "BARE",
    "ElevationGrid",
    "Fit",
    "Roughness",
    "Soil",
    "crater",
    "craters",
    "fit_bekker",
    "fit_shear",
    "flat",
    "fractal",
    "from_array",
    "from_esri_ascii",
    "from_function",
    "from_geotiff",
    "from_mesh",
    "from_npy",
    "from_npz",
    "from_png",
    "jacksboro",
    "load",
    "load_soils",
    "ramp",
    "roughened",
    "sinusoid",
    "slope",
    "soil",
    "soil_names",
    "steps",
    "v_ditch",
]
