"""Tracks: chains of links around the wheels of any machine, as one force module."""

from grouser.track.assembly import Assembly, assemble
from grouser.track.ground import FlatGround, GridGround, MeshGround, SoilGround
from grouser.track.layouts import Layout, mount
from grouser.track.model import Track, TrackModule
from grouser.track.parts import (
    Link,
    PinBushing,
    Rail,
    Shoe,
    SoilValues,
    Sprocket,
    TrackWheel,
    WheelContact,
    collared,
    flanged,
    hunting_sprocket,
    rounded_sprocket,
    spline_sprocket,
)

__all__ = [
    "Assembly",
    "FlatGround",
    "GridGround",
    "Layout",
    "Link",
    "MeshGround",
    "PinBushing",
    "Rail",
    "Shoe",
    "SoilGround",
    "SoilValues",
    "Sprocket",
    "Track",
    "TrackModule",
    "TrackWheel",
    "WheelContact",
    "assemble",
    "collared",
    "flanged",
    "hunting_sprocket",
    "mount",
    "rounded_sprocket",
    "spline_sprocket",
]
