"""Rocks and sand under the same wheels: Krenn and Hirzinger 2009, Fig. 21, with the rocks of Krenn et al. 2008.

Rocks act by polygonal contact and sand by soil contact, in one run. Nodes under a fixed rock have no soil. Rocks
smaller than `movable_below` are separate bodies that lie on the sand, sink into it and can be pushed. Values that the
papers do not give are assumed, as in `viking-rocks`. The sand can be chosen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import mujoco
import numpy as np
import pydantic

from grouser.contact.polygonal import PolygonalModule, Shape, shape
from grouser.contact.soil import SoilModule, SoilOptions, Surface, prepare
from grouser.errors import InputError
from grouser.module import Channel
from grouser.recording import Recording
from grouser.robots import exomars
from grouser.scenarios import rock_crossings as crossings
from grouser.scenarios import rocky_ground as rocky
from grouser.scenarios.quantity import Unit
from grouser.scenarios.rocky_ground import NEAR, SETTLING, Metres, RockyDrive
from grouser.scenarios.rover_course import BODIES
from grouser.scenarios.scenario import metric, scenario_of
from grouser.scenarios.soil_choice import SoilChoice
from grouser.scenarios.soil_laws import SoilLaws
from grouser.scenarios.wheel_theory import rolling_wheel
from grouser.simulation import Simulation
from grouser.terrain.generators import flat
from grouser.terrain.ground import Ground
from grouser.terrain.rock_bodies import add_rocks
from grouser.terrain.rocks import Rock, RockField

STEP = 5e-3  # [s]
STEP_SHARE = 0.7  # share of the stability limit of explicit contact, used with movable rocks
SOFT = 5e5  # [Pa] layer of a movable rock (assumed; contact of two bodies is explicit, and stiffer needs smaller steps)
TOUCHING = (
    0.3  # largest contact area of a movable rock with a wheel / square of the rock diameter, for that limit (assumed)
)
BEYOND = 0.5  # [m] margin of sand around the rocks
PICTURE = "Krenn and Hirzinger 2009, Fig. 21"
OUTLOOK = "Krenn and Hirzinger 2009, section IV"
LIGHTEST, HEAVIEST = 1 / 12, 1 / 2  # of the weight on the wheel that sinks most (assumed; each of six has a sixth)


class RocksAndSand(RockyDrive, SoilLaws):
    """Settings of `rocks-and-sand`."""

    soil: SoilChoice = SoilChoice(name="dry-sand")
    movable_below: Annotated[float, pydantic.Field(ge=0), Unit("m")] = 0.0  # smaller rocks lie loose on the sand (slow)
    rock_density: Annotated[float, pydantic.Field(gt=0), Unit("kg/m^3")] = 2700.0
    spacing: Metres = 0.01
    erosion: bool = True


def build(s: RocksAndSand) -> Simulation:
    p, field = s.parameters, rocky.field_of(s, s.movable_below)
    ground = Ground(sand(s, field), spacing=s.spacing)
    spec = exomars.build(p, gravity=s.gravity, height=p.grouser_height)
    add_rocks(spec, field, density=s.rock_density)
    soil = SoilModule(ground, soil_bodies(s, field), SoilOptions(erosion=s.erosion, **s.law_options()))
    polygonal = rock_contact(s, field)
    sim = Simulation(
        spec, [soil, polygonal], ground=ground, controllers=rocky.controllers(s), step=s.step or _step(polygonal, spec)
    )
    rocky.add_channels(sim, polygonal, field, p.mass * s.gravity)
    wheels = slice(0, len(BODIES))
    outputs = [slot.out for slot in sim.engine.slots]

    def shares() -> np.ndarray:
        up = [float(out.effective.numpy()[0, wheels, 2].sum()) for out in outputs]
        return np.array([[load / (p.mass * s.gravity) for load in up]])

    sim.add_channel(Channel("weight/share", "1", (2,), "", labels=("sand", "rocks"), read=shares))
    return sim


def sand(s: RocksAndSand, field: RockField):
    """Level ground with the spacing of the soil grid, without soil under fixed rocks."""
    size, corner = s.rectangle
    level = flat(
        size=(size[0] + 2 * BEYOND, size[1] + 2 * BEYOND), spacing=s.spacing,
        origin=(corner[0] - BEYOND, corner[1] - BEYOND), soil=s.soil.resolve(),
    )  # fmt: skip
    return field.masked(level)


def rock_surface(rock: Rock) -> Surface:
    """Surface of a loose rock. It acts on nodes, because a pushed rock digs, and only nodes have slip sinkage."""
    return replace(prepare(rock.vertices, rock.triangles, name=rock.name), rolls=True)


def soil_bodies(s: RocksAndSand, field: RockField) -> dict[str, Surface]:
    """Wheels with their grousers, and movable rocks."""
    loose = {rock.name: rock_surface(rock) for rock in field.movable}
    return {**dict.fromkeys(BODIES, exomars.wheel_surface(s.parameters)), **loose}


def rock_contact(s: RocksAndSand, field: RockField) -> PolygonalModule:
    """Contact of each wheel with the fixed rocks (one shape) and with the movable rocks in its path."""
    places = dict(zip(BODIES, exomars.wheel_positions(s.parameters).tolist(), strict=True))
    wheels: dict[str, Shape] = dict.fromkeys(BODIES, rocky.wheel_shape(s.parameters, s.tread))
    soft = replace(s.tread.layer, young=SOFT, damping=0.0, name="loose rock")
    loose = {rock.name: shape(rock.vertices, rock.triangles, soft, name=rock.name) for rock in field.movable}
    fixed = {"rocks": rocky.rock_shape(s, field)} if field.fixed else {}
    pairs = [rocky.rock_pair(wheel, name) for wheel in wheels for name in fixed]
    pairs += [
        rocky.rock_pair(wheel, rock.name, largest_area=TOUCHING * rock.diameter**2)
        for wheel, (x, y) in places.items()
        for rock in field.movable
        if abs(rock.position[1] - y) < NEAR and -NEAR < rock.position[0] - x < s.speed * s.time + NEAR
    ]
    return rocky.RockContact({**wheels, **loose}, fixed, pairs)


def _step(polygonal: PolygonalModule, spec: mujoco.MjSpec) -> float:
    """Step [s] that explicit contact with movable rocks allows, at most 5 ms."""
    polygonal.declare(spec.copy())
    return min(STEP, STEP_SHARE * polygonal.step_limit)


def metrics(s: RocksAndSand) -> list[dict[str, Any]]:
    field = rocky.field_of(s, s.movable_below)
    viking = s.rocks.law == "viking-1"
    driven = f"{OUTLOOK}: locomotion in rocky and sandy terrain"
    shared = rocky.shared_metrics(crossings.crossing(s, field, driven) if viking else (None, None, None))
    driven, over = crossings.over_rocks(s, field)
    over = over & (driven <= (1 - crossings.LAG) * s.speed * s.time)  # what a rover that is behind crosses too
    return [
        *shared[:-1],
        metric(
            "rock_load_share", "1", "vertical force of rocks on the wheels over the rover's weight, mean",
            *_at_least(over.mean(), "share of the wheels' path length that lies over rocks"),
        ),
        metric(
            "parallel_share", "1", "share of the drive in which sand and rocks both carry the rover",
            *_at_least(over.any(axis=0).mean(), "share of the path length on which some wheel is over a rock"),
        ),
        metric("sinkage_max_m", "m", "largest sinkage of a wheel below the undisturbed sand", *_sinkage(s)),
        shared[-1],
    ]  # fmt: skip


def _at_least(share: float, reason: str) -> tuple[Any, Any, Any]:
    """A wheel over a rock stands on it, and the others on sand. It touches the rock before and after too."""
    if not share > 0:
        return None, None, None
    return None, {"min": float(share)}, f"{OUTLOOK}: both models in parallel; geometry: {reason}"


def _sinkage(s: RocksAndSand) -> tuple[Any, Any, Any]:
    """Bounds from the closed form of a rolling wheel, which knows neither rocks, lugs nor mounds: hence wide bounds."""
    if s.laws != "default" or s.movable_below > 0:  # a wheel that pushes a rock ahead digs in
        return None, None, None
    p, soil = s.parameters, s.soil.resolve()
    weight = p.mass * s.gravity
    try:
        least, most = (
            rolling_wheel(soil, radius=p.wheel_radius, width=p.wheel_width, load=share * weight, slip=0.0).sinkage
            for share in (LIGHTEST, HEAVIEST)
        )
    except InputError:  # beyond the theory
        return None, None, None
    return None, {"min": least, "max": most}, f"{OUTLOOK}: wheels on sand; rigid wheel integrals (docs/theory/soil.md)"


def figures(s: RocksAndSand) -> list[dict[str, Any]]:
    outlines = rocky.rock_outlines(s, rocky.field_of(s, s.movable_below))
    ahead = s.speed * s.time + 1.1
    return [
        *rocky.shared_figures(outlines),
        {
            "name": "carried", "title": "Load on sand and rocks", "kind": "lines", "y": ["weight/share"],
            "ylabel": "share of the weight [1]",
            "caption": "Vertical force of sand and of rocks on all wheels; their sum is the weight.",
        },
        {
            "name": "sinkage", "title": "Sinkage of the wheels", "kind": "lines",
            "y": [f"soil/sinkage[{name}]" for name in BODIES], "ylabel": "sinkage [m]",
            "caption": "Below the undisturbed sand; less on a rock.",
        },
        {
            "name": "soil", "title": "Sand and rocks from above", "kind": "map", "field": "sinkage", "time": "end",
            "region": [-1.0, ahead, -0.85, 0.85], "overlay": [outlines],
            "caption": "Height above the undisturbed surface, and the rocks: ruts end where a wheel is on a rock.",
        },
    ]  # fmt: skip


def measure(s: RocksAndSand, recording: Recording) -> dict[str, Any]:
    driving = recording.time >= SETTLING
    sinkage = np.column_stack([recording[f"soil/sinkage[{name}]"][driving] for name in BODIES])
    return {
        **rocky.shared_measures(recording),
        "rock_load_share": float(recording["weight/share[rocks]"][driving].mean()),
        "parallel_share": float((recording["weight/share"][driving] > 0).all(axis=1).mean()),
        "sinkage_max_m": float(sinkage.max()),
    }


SCENARIO = scenario_of(
    __name__, RocksAndSand, duration=rocky.duration, rate=rocky.RATE,
    summary="a six-wheel rover on sand with rocks: soil and polygonal contact under the same wheels",
    source=f"{PICTURE}; {rocky.PAPER}, Table 1",
)  # fmt: skip
