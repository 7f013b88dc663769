"""What is drawn travels in the recording."""

import mujoco
import numpy as np
import pytest

from grouser.errors import InputError
from grouser.module import Channel, Shape
from grouser.recording import Recording, RecordingWriter, build_header, repair
from grouser.simulation import Simulation

CORNERS = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], float)
FACES = np.array([(0, 1, 2), (0, 1, 3)])
MODEL = """
<mujoco>
  <worldbody>
    <geom name="step" type="box" pos="3 0 0" size="1 1 0.1" rgba="0 1 0 1"/>
    <geom type="plane" size="5 5 1" group="3"/>
    <body name="cart" pos="0 0 1">
      <freejoint/>
      <geom type="box" size="0.5 0.2 0.1" rgba="1 0 0 1"/>
      <body pos="0 0 0.3" quat="0.7071067811865476 0 0 0.7071067811865476">
        <geom type="sphere" size="0.1" pos="1 0 0" rgba="1 0 0 1" mass="0.1"/>
      </body>
      <geom type="sphere" size="2" rgba="1 0 0 0" mass="0"/>
    </body>
  </worldbody>
</mujoco>
"""


def header():
    return build_header(scenario="test", settings={}, step=0.01, duration=1.0)


def channels(count=2):
    return [
        Channel("body/pose", "m, 1", (1, 7), kind="pose", labels=("cart",), read=lambda: np.ones((1, 1, 7))),
        Channel("track/links", "m, 1", (count, 7), kind="pose", read=lambda: np.ones((1, count, 7))),
    ]


def test_shapes_come_back_and_survive_a_repair(tmp_path):
    given = [
        Shape("hull", CORNERS, FACES, "body/pose[cart]", (1, 0, 0, 0.5)),
        Shape("link", CORNERS, FACES, "track/links"),
        Shape("wall", 2 * CORNERS, FACES),
    ]
    path = tmp_path / "recording.h5"
    with RecordingWriter(path, header(), channels(), shapes=given) as writer:
        writer.append(0.0)
    for source in (path, repair(path)):
        with Recording(source) as recording:
            found = recording.shapes()
            assert [(s.name, s.follows, s.colour) for s in found] == [(s.name, s.follows, s.colour) for s in given]
            np.testing.assert_array_equal(found[2].vertices, 2 * CORNERS)
            np.testing.assert_array_equal(found[0].triangles, FACES)
            kept = recording.file["display/0/vertices"], recording.file["display/1/vertices"]
            assert kept[0] == kept[1], "equal meshes are kept once"


@pytest.mark.parametrize("follows", ["body/pose[car]", "body/poses", "track"])
def test_a_shape_follows_what_is_recorded(tmp_path, follows):
    with pytest.raises(InputError, match="hull"):
        RecordingWriter(tmp_path / "r.h5", header(), channels(), shapes=[Shape("hull", CORNERS, FACES, follows)])
    assert not list(tmp_path.iterdir())


def test_geoms_are_drawn_where_mujoco_draws_them(tmp_path):
    sim = Simulation(mujoco.MjSpec.from_string(MODEL), step=2e-3)
    sim.add_shape(Shape("mark", CORNERS, FACES, "body/pose[cart]"))
    shapes = {(shape.follows, shape.colour[:3]): shape for shape in sim.shapes()}
    step, cart, mark = (
        shapes["", (0, 1, 0)], shapes["body/pose[cart]", (1, 0, 0)], shapes["body/pose[cart]", Shape.colour[:3]],
    )  # fmt: skip
    assert len(shapes) == 3, "hidden groups and what is transparent are left out"
    np.testing.assert_allclose(step.vertices.mean(axis=0), (3, 0, 0), atol=1e-6)
    assert mark.name == "mark"
    # the ball sits on an unnamed body that is fixed to the cart and turned by 90 degrees: at (0, 1, 0.3)
    ball = cart.vertices[cart.vertices[:, 1] > 0.5]
    np.testing.assert_allclose((ball.min(axis=0) + ball.max(axis=0)) / 2, (0, 1, 0.3), atol=1e-3)
