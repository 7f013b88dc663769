"""Robots for the tests, of Gymnasium (not written for Grouser) and small ones, and what is asked of all of them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from grouser import InputError, on_soil

G = 9.81


def gymnasium_robot(name: str) -> Path:
    """The MJCF of a Gymnasium environment; the package itself is not imported."""
    spec = importlib.util.find_spec("gymnasium")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "envs" / "mujoco" / "assets" / f"{name}.xml"


def rover_urdf(effort: str = "", more: str = "", extra_link: str = "") -> str:
    """A rover of 16 kg on four wheels of 0.1 m as URDF has it: cylinders about z turned by `rpy`, no motors."""
    inertia = '<inertia ixx="{0}" iyy="{1}" izz="{0}" ixy="0" ixz="0" iyz="0"/>'
    parts = [
        '<link name="base_footprint"/>',
        '<joint name="foot" type="fixed"><parent link="base_footprint"/><child link="base_link"/></joint>',
        f'<link name="base_link"><inertial><mass value="12"/>{inertia.format(0.2, 0.3)}</inertial>'
        '<collision><origin xyz="0 0 0.08"/><geometry><box size="0.5 0.25 0.08"/></geometry></collision></link>',
    ]
    for name, x, y in (("fl", 0.2, 0.2), ("fr", 0.2, -0.2), ("rl", -0.2, 0.2), ("rr", -0.2, -0.2)):
        parts.append(
            f'<link name="wheel_{name}"><inertial><mass value="1"/>{inertia.format(0.003, 0.005)}</inertial>'
            '<collision><origin rpy="1.5708 0 0"/><geometry><cylinder radius="0.1" length="0.06"/></geometry>'
            f'</collision></link><joint name="axle_{name}" type="continuous"><parent link="base_link"/>'
            f'<child link="wheel_{name}"/><origin xyz="{x} {y} 0"/><axis xyz="0 1 0"/>{effort}</joint>'
        )
    return f'<robot name="rover">{"".join(parts)}{extra_link}{more}</robot>'


def ball(height: float = 0.12, world: str = "", more: str = "", mass: float = 8.0, radius: float = 0.12) -> str:
    """A free ball named `ball`, as MJCF."""
    return f"""<mujoco model="ball"><worldbody>{world}<body name="ball" pos="0 0 {height}"><freejoint/>
        <geom name="ball" size="{radius}" mass="{mass}"/></body></worldbody>{more}</mujoco>"""


def refusal(*arguments, **options) -> str:
    with pytest.raises(InputError) as caught:
        on_soil(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def notes(sim, word: str) -> list[str]:
    return [note for note in sim.notes if word in note]


def lowest(sim, name: str) -> float:
    body, surface = sim.data.body(name), sim.soil.surfaces[name]
    return float((surface.vertices @ body.xmat.reshape(3, 3).T + body.xpos)[:, 2].min())


def urdf(folder: Path, text: str, name: str = "robot.urdf") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path
