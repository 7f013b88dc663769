"""What each extra of the package promises: a command that needs it, and the line without it.

`make package-test` runs `promise` in an empty environment with the extra, and `promise` again without it, where one
line must name the extra. Files that the commands name are made by `test_extras.py`. Another extra is one more entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import starmap

GROUSER = "grouser"
PYTHON = "python"


@dataclass(frozen=True)
class Extra:
    name: str
    promise: tuple[str, ...]  # a command line, begun by GROUSER or PYTHON
    leaves: str = ""  # file that the command leaves, if it does
    least: int = 1  # [bytes] its least size
    also: str = ""  # Python that reads the result with the packages of the extra


def python(code: str) -> tuple[str, ...]:
    """A call of Python that says what is missing as the command line does."""
    told = "except InputError as error:\n    print(f'error: {error}', file=sys.stderr)\n    sys.exit(2)\n"
    inner = "".join(f"    {line}\n" for line in code.strip().splitlines())
    return (PYTHON, "-c", f"import sys\nfrom grouser.errors import InputError\ntry:\n{inner}{told}")


READ_BAG = """
from pathlib import Path
from rosbags.highlevel import AnyReader
with AnyReader([Path("shared/bag")]) as bag:
    assert bag.message_count > 10, bag.message_count
"""
READ_TABLE = """
import pyarrow.parquet
table = pyarrow.parquet.read_table("swept/table.parquet")
assert table.num_rows == 2, table
"""
TWO_WORLDS = """
import mujoco
from grouser.engine.mujoco_warp import MujocoWarp
spec = mujoco.MjSpec.from_string("<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>")
engine = MujocoWarp(spec, [], 0.002, worlds=2, device="cpu")
assert engine.qpos.shape == (2, 7), engine.qpos.shape
"""
MAKE_ROVERS = """
import grouser.envs
import gymnasium
env = gymnasium.make_vec("Grouser/RoverGoal-v0", num_envs=2, spacing=0.03)
assert env.reset(seed=0)[0].shape[0] == 2
"""
SERVE_FOXGLOVE = """
from grouser.viewer.foxglove_server import FoxgloveServer
with FoxgloveServer("run/recording.h5", port=0) as server:
    assert server.address.startswith("ws://127.0.0.1:"), server.address
"""
TWO_CASES = "two-cases.yaml"
RUN, DEM, CART, PLATES = "run", "dem.tif", "cart.xml", "bevameter.yaml"

EXTRAS = tuple(
    starmap(
        Extra,
        [
            ("view", (GROUSER, "export", RUN, "--format", "html", "--out", "shared"), "shared/replay.html", 100_000),
            ("video", (GROUSER, "video", RUN, "--out", "film.mp4", "--size", "160x120"), "film.mp4", 1000),
            (
                "ros",
                (GROUSER, "export", RUN, "--format", "mcap", "--out", "shared"),
                "shared/bag/metadata.yaml", 100, READ_BAG,
            ),
            ("foxglove", python(SERVE_FOXGLOVE)),
            (
                "geo",
                (GROUSER, "run", "--robot", CART, "--bodies", "wheel.*", "--terrain", DEM, "--time", "0.05",
                 "--no-report", "--out", "on-dem"),
                "on-dem/recording.h5",
            ),
            ("convex", (GROUSER, "run", "box-on-stairs", "--no-report", "--out", "box"), "box/recording.h5"),
            ("batch", python(TWO_WORLDS)),
            ("rl", python(MAKE_ROVERS)),
            ("identify", (GROUSER, "identify", PLATES, "--out", "our-sand"), "our-sand/soil.yaml", 100),
            (
                "cluster",
                (GROUSER, "sweep", TWO_CASES, "--on", "ray", "--workers", "1", "--out", "swept"),
                "swept/table.parquet", 100, READ_TABLE,
            ),
        ],
    )
)  # fmt: skip
