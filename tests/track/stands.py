"""Stands for one track without an engine: links put where a test wants them, forces read at that very state."""

from __future__ import annotations

import numpy as np

from grouser.track import FlatGround, Layout, Track, TrackModule, WheelContact, mount
from tests.rig import ManufacturedMotion

FAR = 500.0  # [m] where links that take no part are kept
INSTANT = 1e-9  # [s] a step in which nothing moves


def one_track(layout: Layout | None = None, *, links=46, tension=0.0, contact=None, offset=(0.0, 0.0, 0.0)) -> Track:
    layout = layout or Layout()
    wheels, chain = layout.close(links=links, tension=tension)
    sprocket = wheels[0].centre
    origins = {"frame": (0, 0, 0), "front_frame": (0, 0, 0), "sprocket": (sprocket[0], 0, sprocket[1])}
    return Track("only", layout.link, mount(wheels, origins), chain, "frame", offset, contact or WheelContact())


class Stand:
    """A track whose bodies stand as assembled; `links` may be moved at will."""

    def __init__(self, track: Track, ground=None, *, step=INSTANT, scheme="explicit", substeps=1, gravity=0.0, **more):
        self.track = track
        self.module = TrackModule([track], ground, scheme=scheme, substeps=substeps, gravity=gravity, **more)
        self.rig = ManufacturedMotion(self.module, step=step)
        origin = np.zeros((len(self.module.bodies), 3))
        sprocket = track.wheels[0]
        origin[self.module.bodies.index("sprocket")] = (sprocket.centre[0], 0.0, sprocket.centre[1])
        self.rig.place(position=origin, rotation=[0, 0, 0, 1], velocity=np.zeros(3), spin=np.zeros(3))
        self.module.commit(step)

    def __getattr__(self, name: str) -> np.ndarray:
        """A field of the committed state, (link or …, …), to be written through."""
        return getattr(self.module._committed, name).numpy()[0]

    def scatter(self) -> None:
        """Every link far away from everything, and from the others."""
        count = len(self.position)
        self.position[:] = FAR + 10.0 * np.arange(count)[:, None]
        self.position[:, 2] = FAR
        self.velocity[:] = self.angular_velocity[:] = 0.0
        self.rotation[:] = (0, 0, 0, 1)

    def forces(self) -> np.ndarray:
        """(link, 3) [N] on the links now, joints apart."""
        self.rig.evaluate()
        out = np.zeros_like(self.position)
        contacts = self.module._contacts.contact.numpy()[0, : self.contacts()]
        np.add.at(out, contacts["link"], contacts["force"])
        return out

    def keep(self) -> None:
        """Take over what the shoes remember; the links stay where they are, at rest."""
        for name in ("position", "rotation", "velocity", "angular_velocity"):
            getattr(self.module._trial, name).numpy()[0][:] = getattr(self, name)
        self.module.commit(self.rig.step)

    def contacts(self) -> int:
        return int(self.module._contacts.found.numpy()["count"][0, 0])


FLAT = FlatGround()
