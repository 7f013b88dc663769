"""`grouser robots FOLDER`: stand every robot of a folder on soils and tabulate who carries it and how deep it sinks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from xml.etree import ElementTree

import mujoco
import numpy as np

from grouser.engine.mujoco_cpu import compile_spec
from grouser.errors import GrouserError, InputError
from grouser.files import write_atomically
from grouser.simulation import Simulation, on_soil
from grouser.simulation.adapt import masses, name_all
from grouser.simulation.impacts import DEPTHS, Skin, bekker_force
from grouser.simulation.robot_file import load_robot
from grouser.simulation.shapes import body_surface
from grouser.simulation.soil_robot import chosen_bodies
from grouser.terrain import soils

SOILS = ("dry-sand", "clay", "lunar-nominal")
WITHIN = 0.01  # of the weight, by which the load on soil may differ from it
NO_SOIL = "touches no soil"  # remark
STANDING, SHARE = 0.015, 0.1  # [m], of its height above its lowest point: bodies this low stand on the ground (assumed)


@dataclass
class Row:
    """One robot on one soil. Values that are not known are None."""

    robot: str
    soil: str
    bodies: list[str] = field(default_factory=list)
    mass: float | None = None  # [kg]
    carried: float | None = None  # force of the soil over the weight
    sinkage: float | None = None  # [m] of the body with the largest load
    plate: float | None = None  # [m] Bekker's for that body, its shape and its load
    remark: str = ""  # why it does not stand, or is refused
    notes: int = 0

    @property
    def missed(self) -> bool:
        """Whether it stands, but the soil carries another weight than its own."""
        return self.carried is not None and not self.remark and abs(self.carried - 1) > WITHIN


def robot_files(folder: Path) -> list[Path]:
    """MJCF and URDF files below a folder that describe a robot; scenes that include one are left out."""
    if not folder.is_dir():
        raise InputError(f"robots: {str(folder)!r} is no folder")
    found = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in (".xml", ".urdf") and _is_robot(path)]
    if not found:
        raise InputError(f"robots: no MJCF or URDF in {str(folder)!r}")
    return found


def _is_robot(path: Path) -> bool:
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError:
        return True  # the table says what is wrong with it
    return root.tag == "robot" or (root.tag == "mujoco" and root.find("worldbody/body") is not None)


def standing_bodies(path: Path) -> list[str]:
    """Moving bodies that reach down to the lowest point of their kinematic tree, at the robot's first keyframe."""
    loaded = load_robot(path)
    name_all(loaded)
    model = compile_spec(loaded.spec)
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_kinematics(model, data)
    spans: dict[int, dict[str, tuple[float, float]]] = {}  # [m] lowest and highest point of each body, by root
    for name in chosen_bodies(model, ".*", loaded.loose):
        body = model.body(name).id
        heights = body_surface(model, name).vertices @ data.xmat[body].reshape(3, 3)[2] + data.xpos[body, 2]
        spans.setdefault(int(model.body_rootid[body]), {})[name] = float(heights.min()), float(heights.max())
    out = []
    for parts in spans.values():
        ground, top = min(low for low, _ in parts.values()), max(high for _, high in parts.values())
        out += [name for name, (low, _) in parts.items() if low - ground < min(STANDING, SHARE * (top - ground))]
    return out


def stand(path: Path, name: str, soil: str, bodies: str | None) -> Row:
    """Stand a robot on soil. Whatever goes wrong is its remark."""
    row = Row(name, soil)
    try:
        _stand(path, row, bodies)
    except GrouserError as error:
        row.remark = f"refused: {' '.join(str(error).split())}"
    except Exception as error:  # a table of many robots goes on with the next one
        row.remark = f"failed: {type(error).__name__}: {' '.join(str(error).split())}"
    row.remark = row.remark.replace("|", "/")  # a cell of a table
    return row


def _stand(path: Path, row: Row, bodies: str | None) -> None:
    sim = on_soil(path, row.soil, bodies) if bodies else _on_all_feet(path, row.soil)
    row.bodies, row.notes = list(sim.soil.bodies), len(sim.notes)
    measure(sim, row)
    said = [note for note in sim.notes if note.startswith("not set down: ")]
    if said:
        row.remark = said[0].removeprefix("not set down: ").split(";")[0]
    held = [note for note in sim.notes if note.startswith("no joint of the model lets ")]
    if held and row.remark == NO_SOIL:
        row.remark = held[0]


def _on_all_feet(path: Path, soil: str) -> Simulation:
    """Stand a robot on its lowest bodies, and on those that come to rest on the hard floor as it tips or sinks."""
    chosen = standing_bodies(path)
    while True:
        sim = on_soil(path, soil, chosen)
        if sim.loads is None:
            return sim
        more = [name for name, load in zip(sim.loads.others, sim.loads.floor_load[0], strict=True) if load > 0]
        if not more:
            return sim
        chosen = [*chosen, *more]


def measure(sim: Simulation, row: Row) -> None:
    """Fill in masses, loads and sinkage of a robot that has been set down."""
    m, seen = sim.model, sim.observe()
    ids = [m.body(name).id for name in sim.soil.bodies]
    row.mass, on_ground = masses(m, sim.soil.bodies)
    force = seen["soil/force"][0]
    loads = force[:, 2]
    weight = on_ground * float(np.linalg.norm(m.opt.gravity))
    held = sim.loads.floor_load[0].sum() if sim.loads is not None else 0.0
    row.carried = float(loads.sum() / weight) if weight > 0 else None
    if weight > 0 and held > WITHIN * weight:
        row.remark = row.remark or f"{100 * held / weight:.3g} % stand on the hard floor"
    most = int(loads.argmax())
    if loads[most] <= 0:
        row.remark = row.remark or NO_SOIL
        return
    surface = sim.soil.surfaces[sim.soil.bodies[most]]
    down = -sim.data.xmat[ids[most]].reshape(3, 3)[2]
    curve = bekker_force(Skin(surface), soils.soil(row.soil), down)
    row.sinkage, row.plate = float(seen["soil/sinkage"][0, most]), float(np.interp(loads[most], curve, DEPTHS))


def table(rows: Iterable[Row]) -> str:
    """The rows as a Markdown table."""
    lines = ["| robot | soil | kg | bodies on soil | carried % | sinkage mm | plate mm | notes | |", "|" + " --- |" * 9]
    for row in rows:
        bodies = ", ".join(row.bodies[:3]) + (f" and {len(row.bodies) - 3} more" if len(row.bodies) > 3 else "")
        numbers = [
            _text(row.mass, "{:.4g}"), bodies, _text(row.carried, "{:.2f}", 100), _text(row.sinkage, "{:.2f}", 1e3),
            _text(row.plate, "{:.2f}", 1e3), str(row.notes), row.remark + ("missed" if row.missed else ""),
        ]  # fmt: skip
        lines.append(f"| {' | '.join([row.robot, row.soil, *numbers])} |")
    return "\n".join(lines)


def _text(value: float | None, form: str, factor: float = 1.0) -> str:
    return "" if value is None else form.format(factor * value)


def robots(folder: Path, chosen: Sequence[str], bodies: str | None, out: Path | None) -> int:
    """Print the table; with `out`, write robots.md and robots.json there. Exit status 1 if a weight is missed or a case
    fails. Rows are printed and written as they come, so an interrupted run leaves those it has.
    """
    files = robot_files(folder)
    rows: list[Row] = []
    print(table(rows), flush=True)
    for path in files:
        for soil in chosen or SOILS:
            rows.append(stand(path, path.relative_to(folder).with_suffix("").as_posix(), soil, bodies))
            print(table(rows[-1:]).splitlines()[-1], flush=True)
            if out is not None:
                _write(rows, out)
    standing = [row for row in rows if row.sinkage is not None and not row.remark]
    missed, failed = sum(row.missed for row in rows), sum(row.remark.startswith("failed: ") for row in rows)
    end = f", {failed} failed" if failed else ""
    print(f"{len(files)} robots, {len(rows)} cases: {len(standing)} stand, {missed} carried off by more than 1 %{end}")
    return 1 if missed or failed else 0


def _write(rows: Sequence[Row], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    write_atomically(out / "robots.md", table(rows) + "\n")
    write_atomically(out / "robots.json", json.dumps([asdict(row) for row in rows], indent=1) + "\n")
