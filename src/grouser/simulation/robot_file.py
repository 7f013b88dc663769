"""Read a robot file as an MjSpec. MJCF is read as MuJoCo does; for URDF the base is kept and mesh files are located."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np

from grouser.errors import InputError
from grouser.files import is_file

READABLE = (".stl", ".obj", ".msh")  # mesh files MuJoCo reads
XACRO = ("http://www.ros.org/wiki/xacro", "http://ros.org/wiki/xacro")
SCHEMES = ("package://", "model://")


@dataclass
class RobotModel:
    """The spec of a user's robot, and notes on the changes made to it."""

    spec: mujoco.MjSpec
    loose: bool = False  # its base may be meant to be free although it has no joint: URDF cannot describe that
    notes: list[str] = field(default_factory=list)
    weighed: bool = False  # masses come from the file only; MuJoCo computes none from volumes


def load_robot(robot: str | Path | mujoco.MjSpec) -> RobotModel:
    """Read a robot from a file, or copy an MjSpec."""
    if not isinstance(robot, str | Path):
        return RobotModel(robot.copy())
    path = Path(robot)
    if not is_file(path):
        raise InputError(f"robot: no file {str(path)!r}; give an MJCF or URDF file")
    tree = _urdf(path)
    try:
        with _no_nan(path):
            if tree is None:
                return RobotModel(mujoco.MjSpec.from_file(str(path)))
            return _from_urdf(path, tree)
    except ValueError as error:
        raise InputError(f"robot {str(path)!r}: {' '.join(str(error).split())}") from None


@contextmanager
def _no_nan(path: Path) -> Iterator[None]:
    """Raise an InputError for a file with a NaN. MuJoCo only warns and treats the number as not given."""
    before, heard = mujoco.get_mju_user_warning(), []
    mujoco.set_mju_user_warning(heard.append)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)
    if any("NaN" in text for text in heard):
        raise InputError(f"robot {str(path)!r}: a number in it is nan: allowed are finite numbers")
    if before is not None:
        for text in heard:
            before(text)


def _urdf(path: Path) -> ElementTree.Element | None:
    """Read a URDF. Returns None for other files, which MuJoCo reads, or rejects, itself."""
    if path.suffix == ".mjz":
        return None
    try:
        root = ElementTree.parse(path).getroot()
    except (ElementTree.ParseError, UnicodeDecodeError, LookupError):
        return None
    if root.tag != "robot":
        return None
    if any(element.tag.startswith(tuple(f"{{{space}}}" for space in XACRO)) for element in root.iter()):
        raise InputError(f"robot {str(path)!r} is xacro: convert it to URDF first (xacro {path.name} > robot.urdf)")
    return root


def _from_urdf(path: Path, root: ElementTree.Element) -> RobotModel:
    notes: list[str] = []
    for link in root.iter("link"):
        notes += _drop_visuals(path, link)
    compiler = _compiler(root)
    for mesh, link in _meshes(root):
        mesh.set("filename", str(_mesh_file(path, mesh.get("filename", ""), link, compiler.get("meshdir", ""))))
    # Keep fixed links as separate bodies, visual shapes of links without other shapes, and full paths.
    compiler.attrib |= {"fusestatic": "false", "discardvisual": "false", "strippath": "false"}
    # A link without <inertial> has no mass. By default MuJoCo would compute one at the density of water.
    compiler.attrib.setdefault("inertiafromgeom", "false")
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(root, encoding="unicode"))
    anchored = any(link.get("name") == "world" for link in root.iter("link"))
    weighed = compiler.get("inertiafromgeom") == "false"
    if weighed:
        notes += _massless(spec)
    return RobotModel(spec, not anchored, notes, weighed)


def _massless(spec: mujoco.MjSpec) -> list[str]:
    """Notes on links that have a shape but no mass."""
    for body in spec.bodies:
        if not body.mass >= 0 or np.isinf(body.mass):
            raise InputError(
                f"link {body.name!r} has a mass of {body.mass:g} kg: allowed is a finite number, 0 or more"
            )
    names = [b.name for b in spec.bodies if b.mass == 0 and b is not spec.worldbody and b.geoms]
    least = spec.compiler.boundmass
    made = f"; its boundmass makes it {least:g} kg" if least > 0 else ", and none is assumed"
    return [f"no mass: {', '.join(names)} (the file gives none{made})"] if names else []


def check_moving_masses(robot: RobotModel) -> None:
    """Raise an InputError for a moving link if neither it nor any link fixed to it has a mass."""
    bounded = robot.spec.compiler.boundmass > 0  # the file sets a minimum mass for all bodies
    if not robot.weighed or bounded:
        return
    for body in robot.spec.bodies:
        if body.joints and not _rigid_mass(body) > 0:
            raise InputError(
                f"link {body.name!r} moves (joint {body.joints[0].name!r}) and has no mass: give it, or a link fixed "
                "to it, an <inertial> with a mass above 0"
            )


def _rigid_mass(body: Any) -> float:
    """Mass [kg] of a body and all bodies fixed to it."""
    return float(body.mass) + sum(_rigid_mass(child) for child in body.bodies if not child.joints)


def _compiler(root: ElementTree.Element) -> ElementTree.Element:
    """The <compiler> element of a URDF's <mujoco> section; added if missing."""
    section = root.find("mujoco")
    section = ElementTree.SubElement(root, "mujoco") if section is None else section
    compiler = section.find("compiler")
    return ElementTree.SubElement(section, "compiler") if compiler is None else compiler


def _drop_visuals(path: Path, link: ElementTree.Element) -> list[str]:
    """Remove visual shapes if the link has collision shapes or MuJoCo cannot read the mesh. Returns notes."""
    solid, notes = link.find("collision") is not None, []
    for visual in link.findall("visual"):
        mesh = visual.find("geometry/mesh")
        unreadable = mesh is not None and Path(mesh.get("filename", "")).suffix.lower() not in READABLE
        if solid or unreadable:
            link.remove(visual)
        if unreadable and not solid and mesh is not None:
            name = Path(mesh.get("filename", "")).name
            notes.append(f"link {link.get('name')!r} has no shape: MuJoCo does not read {name}")
    return notes


def _meshes(root: ElementTree.Element) -> Iterator[tuple[ElementTree.Element, str]]:
    for link in root.iter("link"):
        for mesh in link.iter("mesh"):
            yield mesh, link.get("name", "")


def _mesh_file(urdf: Path, written: str, link: str, folder: str) -> Path:
    """Locate a mesh file of a URDF. package:// is searched in the folders above the URDF and in ROS_PACKAGE_PATH."""
    where = f"robot {str(urdf)!r}: mesh {written!r} of link {link!r}"
    if Path(written).suffix.lower() not in READABLE:
        raise InputError(f"{where}: MuJoCo does not read it; allowed are {', '.join(READABLE)}")
    for place in _places(urdf.absolute().parent, written, folder):
        if is_file(place):
            return place
    remedy = "set ROS_PACKAGE_PATH to where its package is" if written.startswith(SCHEMES) else "the file is missing"
    raise InputError(f"{where}: not found near {str(urdf.parent)!r}; {remedy}")


def _places(home: Path, written: str, folder: str) -> Iterator[Path]:
    if not written.startswith(SCHEMES):
        plain = Path(written.removeprefix("file://"))
        yield from (home / folder / plain, home / folder / plain.name, home / plain)
        return
    package, _, rest = written.split("://", 1)[1].partition("/")
    for parent in (home, *home.parents):
        yield parent / package / rest
        yield parent / rest
    for root in filter(None, os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep)):
        yield Path(root) / package / rest
        yield Path(root) / rest
