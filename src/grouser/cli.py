"""Parser of the command line. The commands themselves are in grouser.commands, the exit status in its exit_status."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import Abort

import grouser
from grouser.commands import exit_status


class Commands(TyperGroup):
    """All commands; Typer would turn Ctrl-C into a status without a word."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Abort from None


app = typer.Typer(
    cls=Commands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Simulate robots on soil, rocks, stairs and rough ground.",
    epilog="Start with: grouser list; grouser run single-wheel --out first; grouser view first",
)


def example(line: str) -> str:
    """Text at the end of a command's help."""
    return f"Example: grouser {line}"


def _scenario_names(incomplete: str) -> list[str]:
    """Scenario names for shell completion."""
    from grouser.scenarios.registry import NAMES

    return [name for name in NAMES if name.startswith(incomplete)]


Host = Annotated[
    str,
    typer.Option("--host", metavar="ADDRESS", help="Address to serve the page on; any but localhost needs a token."),
]
Port = Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="0: any free port.")]
Foxglove = Annotated[bool, typer.Option("--foxglove", help="To Foxglove as ROS 2 messages; port 8765, not 8080.")]
Token = Annotated[
    str | None,
    typer.Option("--token", metavar="TEXT", help="Required from viewers. [default: random if one is needed]"),
]
Field = Annotated[
    str, typer.Option("--ground", metavar="FIELD", help="Colour of the ground: sinkage, height, pressure or plain.")
]
Place = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run, or its recording.")]
Workers = Annotated[
    int | None, typer.Option("--workers", metavar="N", help="Number of parallel processes. [default: one per core]")
]
On = Annotated[
    str, typer.Option("--on", metavar="local|ray|ray://HOST:PORT", help="Where runs are made; see docs/cluster.md.")
]


def _short(name: str, metavar: str, text: str) -> Any:
    return typer.Option(name, metavar=metavar, help=text)


def _setting(example: str) -> Any:
    return typer.Option("--set", metavar="PATH=VALUE", help=f"Change a setting, such as {example}; repeatable.")


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where in the code an error came from.")] = False,
) -> None:
    if version:
        print(grouser.__version__)
    elif context.invoked_subcommand is None:
        print(context.get_help())


@app.command("list", epilog=example("list"))
def list_scenarios() -> int:
    """List the scenarios."""
    from grouser.commands import catalogue

    return catalogue.list_scenarios()


@app.command(epilog=example("run single-wheel --set soil=clay --set slip=0.2 --out my-run --view"))
def run(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME|FILE.yaml", help="A scenario, or a YAML file that names one.", autocompletion=_scenario_names
        ),
    ] = None,
    set_: Annotated[list[str] | None, _setting("soil.k_c=900")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for the results. [default: runs/NAME-TIME]")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the results in a DIR that is not empty.")] = False,
    rate: Annotated[
        float | None, typer.Option("--rate", metavar="HZ", help="Frames recorded per second (default: the scenario's).")
    ] = None,
    report: Annotated[bool, typer.Option("--report/--no-report", help="Draw figures and report.")] = True,
    view: Annotated[bool, typer.Option("--view", help="Show the run in a browser while it runs.")] = False,
    foxglove: Foxglove = False,
    host: Host = "127.0.0.1",
    port: Port = 8080,
    robot: Annotated[str | None, _short("--robot", "FILE", "Run your own robot instead: MJCF or URDF.")] = None,
    bodies: Annotated[str | None, _short("--bodies", "PATTERN", "Bodies that touch soil. [default: all]")] = None,
    drive: Annotated[
        list[str] | None, _short("--drive", "PATTERN=VALUE", "Control value of motors; repeatable.")
    ] = None,
    soil: Annotated[str | None, _short("--soil", "NAME", "Same as --set soil=NAME.")] = None,
    time: Annotated[str | None, _short("--time", "S", "Duration of a run with --robot. [default: 10]")] = None,
    gravity: Annotated[str | None, _short("--gravity", "M/S2", "Gravity, downwards. [default: the model's]")] = None,
    slope: Annotated[str | None, _short("--slope", "DEG", "Slope of the ground along x, with --robot.")] = None,
    terrain: Annotated[str | None, _short("--terrain", "FILE", "Ground for --robot: GeoTIFF, PNG, mesh, …")] = None,
    at: Annotated[str | None, _short("--at", "X,Y[,DEG]", "Where --robot starts, and its heading.")] = None,
    spacing: Annotated[str | None, _short("--spacing", "M", "Spacing of the soil grid.")] = None,
    step: Annotated[str | None, _short("--step", "S", "Time step of the simulation.")] = None,
    controller: Annotated[
        str | None, _short("--controller", "NAME|FILE.py", "Of a vehicle, or control(time, data) of a robot.")
    ] = None,
    pin_core: Annotated[
        int | None, typer.Option("--pin-core", metavar="N", help="Run the dynamics on processor core N only.")
    ] = None,
    checkpoints: Annotated[
        float | None,
        typer.Option("--checkpoints", metavar="S", min=0, help="Wall time between checkpoints. [default: 60]"),
    ] = None,
    go_on: Annotated[
        Path | None, typer.Option("--continue", metavar="DIR", help="Go on with the run in DIR that ended early.")
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option("--samples", metavar="N", help="Run in N soils drawn from a soil.file of identify; intervals."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", help="Parallel processes of --samples. [default: all cores]")
    ] = None,
    on: On = "local",
) -> int:
    """Run a scenario or your robot; leaves recording.h5, summary.json, figures and report.html in DIR."""
    from grouser.commands import console

    short = {
        "robot": robot, "soil": soil, "bodies": bodies, "time": time, "gravity": gravity, "slope_deg": slope,
        "terrain": terrain, "at": at, "spacing": spacing, "step": step, "controller": controller,
    }  # fmt: skip
    watched = (host, port, foxglove) if view or foxglove else None
    if samples is not None:
        return console.run_samples(target, set_ or [], out, force, drive or [], short, samples, workers, on)
    return console.run(
        target, set_ or [], out, force, rate, report, drive or [], short, watched, pin_core, checkpoints, go_on
    )


@app.command(epilog=example("sweep examples/wheel-design.yaml --workers 2"))
def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE.yaml", help="The sweep file; see docs/sweeps.md.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for the results. [default: runs/FILE]")
    ] = None,
    workers: Workers = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the results in DIR instead of continuing.")] = False,
    on: On = "local",
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="S", help="End a case that takes longer; it fails.")
    ] = None,
    worlds: Annotated[
        int | None,
        typer.Option("--worlds", metavar="N", help="Cases that a worker takes at a time, as worlds of one batch."),
    ] = None,
    device: Annotated[str, _short("--device", "NAME", "Where such a batch runs: cuda, cuda:1, cpu.")] = "cuda",
) -> int:
    """Run many cases of a scenario; goes on where an interrupted sweep ended."""
    from grouser.commands import console

    return console.sweep(file, out, workers, force, on, time_limit, worlds, device)


@app.command(epilog=example("validate ding2011 --also friction=mohr-coulomb --out scores"))
def validate(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME|FILE.yaml][:SET]...",
            help="Measured wheels: data files, or names in benchmarks/wheels. [default: all of a checkout]",
        ),
    ] = None,
    set_: Annotated[list[str] | None, _setting("spacing=0.005")] = None,
    also: Annotated[
        list[str] | None,
        typer.Option("--also", metavar="'PATH=VALUE ...'", help="Run all again with these settings too; repeatable."),
    ] = None,
    soil: Annotated[
        str | None, _short("--soil", "NAME|FILE.yaml[:NAME]", "Soil for wheels whose source gives none.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for the results. [default: runs/validate-TIME]")
    ] = None,
    workers: Workers = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the results in a DIR that is not empty.")] = False,
    on: On = "local",
) -> int:
    """Compare with measured wheels: a table of errors, validation.json and figures; see docs/measured-wheels.md."""
    from grouser.commands import console

    return console.validate(names or [], set_ or [], also or [], soil, out, workers, force, on)


@app.command(epilog=example("identify bevameter.yaml --out our-sand"))
def identify(
    file: Annotated[Path, typer.Argument(metavar="DATA.yaml", help="Measurements of a soil; see docs/identify.md.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder for the results. [default: runs/identify-TITLE]")
    ] = None,
    constants: Annotated[
        str | None, _short("--constants", "A,B,...", "Constants to identify, the others stay. [default: all]")
    ] = None,
    runs: Annotated[int, typer.Option("--runs", metavar="N", help="Runs of wheels for their emulators.")] = 900,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the sampler.")] = 0,
    workers: Workers = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the results in a DIR that is not empty.")] = False,
    on: On = "local",
) -> int:
    """Find the constants of a soil from plates, shear tests and wheels, with uncertainty; see docs/identify.md."""
    from grouser.commands import console

    return console.identify(file, out, constants, runs, seed, workers, force, on)


@app.command(epilog=example("report my-run"))
def report(
    place: Place,
    replay: Annotated[bool, typer.Option("--replay/--no-replay", help="Put a replay into the page.")] = True,
) -> int:
    """Draw the figures and the report of a recording again: settings, metrics, figures, replay in one page."""
    from grouser.commands import export as export_command

    return export_command.report(place, replay)


@app.command(epilog=example("export my-run --format html --format csv"))
def export(
    place: Place,
    formats: Annotated[
        list[str] | None, typer.Option("--format", metavar="html|csv|mcap", help="Repeatable. [default: html]")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Output file. [default: next to the recording]")
    ] = None,
    field: Field = "sinkage",
) -> int:
    """Write a replay as one HTML page, tables as CSV, or a ROS 2 bag as MCAP."""
    from grouser.commands import export as export_command

    return export_command.export(place, formats or [], out, field)


@app.command(epilog=example("video my-run --out drive.mp4 --camera follow --camera wheel --speed 2"))
def video(
    place: Place,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Output file: .mp4, .webm or .gif. [default: video.mp4 next to it]"),
    ] = None,
    camera: Annotated[
        list[str] | None,
        typer.Option(
            "--camera", metavar="NAME", help="follow, wheel, top or driver; repeat it to show several side by side."
        ),
    ] = None,
    size: Annotated[str, _short("--size", "WxH", "Size of the image of each camera.")] = "960x540",
    rate: Annotated[float, typer.Option("--rate", metavar="HZ", help="Frames per second.")] = 25.0,
    speed: Annotated[float, typer.Option("--speed", metavar="X", help="Simulated seconds per second of video.")] = 1.0,
    start: Annotated[float | None, typer.Option("--from", metavar="S", help="Start time.")] = None,
    end: Annotated[float | None, typer.Option("--to", metavar="S", help="End time.")] = None,
    field: Field = "sinkage",
    forces: Annotated[bool, typer.Option("--forces/--no-forces", help="Draw arrows.")] = True,
) -> int:
    """Make a film of a recording."""
    from grouser.commands import export as export_command

    whole = (start is None) and (end is None)
    span = None if whole else (start or 0.0, float("inf") if end is None else end)
    return export_command.video(place, out, camera or [], size, rate, speed, span, field, forces)


@app.command(epilog=example("view my-run --open"))
def view(
    place: Place,
    host: Host = "127.0.0.1",
    port: Port = 8080,
    token: Token = None,
    foxglove: Foxglove = False,
    texture: Annotated[Path | None, _short("--texture", "FILE", "Image to put on the ground.")] = None,
    browse: Annotated[bool, typer.Option("--open/--no-open", help="Open a browser on this machine.")] = False,
) -> int:
    """Show a recording in a browser, finished or still growing."""
    from grouser.commands import view

    return view.foxglove(place, host, port) if foxglove else view.view(place, host, port, token, texture, browse)


@app.command(epilog=example("drive rover-course --set soil=dry-sand"))
def drive(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME|FILE.yaml", help="A scenario that has wheels to drive.", autocompletion=_scenario_names
        ),
    ] = None,
    set_: Annotated[list[str] | None, _setting("speed=0.07")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder for the results. [default: runs/NAME-drive-TIME]"),
    ] = None,
    time: Annotated[
        float, typer.Option("--time", metavar="S", min=0.1, help="Longest duration of the drive.")
    ] = 3600.0,
    robot: Annotated[str | None, _short("--robot", "FILE", "Drive your own robot instead: MJCF or URDF.")] = None,
    bodies: Annotated[str | None, _short("--bodies", "PATTERN", "Bodies that touch soil. [default: all]")] = None,
    soil: Annotated[str | None, _short("--soil", "NAME", "Same as --set soil=NAME.")] = None,
    terrain: Annotated[str | None, _short("--terrain", "FILE", "Ground for --robot: GeoTIFF, PNG, mesh, …")] = None,
    at: Annotated[str | None, _short("--at", "X,Y[,DEG]", "Where --robot starts, and its heading.")] = None,
    wheels: Annotated[
        str | None, _short("--wheels", "PATTERN", "Joints or motors of driven wheels. [default: found]")
    ] = None,
    steer: Annotated[
        str | None, _short("--steer", "PATTERN", "Joints or motors that steer wheels. [default: found]")
    ] = None,
    speed: Annotated[
        float, typer.Option("--speed", metavar="M/S", min=1e-3, help="Speed of --robot at full input.")
    ] = 0.2,
    controller: Annotated[
        str | None, _short("--controller", "FILE.py", "control(time, data, wanted) that moves a robot with legs.")
    ] = None,
    host: Host = "127.0.0.1",
    port: Port = 8080,
    token: Token = None,
) -> int:
    """Drive a machine or your robot from a browser, with keys, buttons or a gamepad; recorded like any run."""
    from grouser.commands import drive
    from grouser.commands.robot import scenario_name

    name = scenario_name(target, robot)
    given = {"robot": robot, "bodies": bodies, "soil": soil, "terrain": terrain, "at": at, "controller": controller}
    options = [*(set_ or []), *(f"{key}={value}" for key, value in given.items() if value is not None)]
    chosen = drive.RobotDrive(wheels, steer, speed)
    return drive.drive(name, options, out, host, port, token, time, chosen)


@app.command(epilog=example("robots examples/robots --soil dry-sand"))
def robots(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder with MJCF or URDF files, at any depth.")],
    soil: Annotated[
        list[str] | None, _short("--soil", "NAME", "Repeatable. [default: dry-sand, clay, lunar-nominal]")
    ] = None,
    bodies: Annotated[
        str | None, _short("--bodies", "PATTERN", "Bodies that touch soil. [default: those that stand on the ground]")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Also write robots.md and robots.json there.")
    ] = None,
) -> int:
    """Stand every robot of a folder on soils: a table of weights carried and sinkage."""
    from grouser.commands import robot_table

    return robot_table.robots(folder, soil or [], bodies, out)


@app.command(epilog=example("compare my-run another-run"))
def compare(
    first: Annotated[Path, typer.Argument(metavar="A", help="Folder of a run, or its recording.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Folder of another.")],
) -> int:
    """Show how settings, metrics and channels of two runs differ."""
    from grouser.commands import console

    return console.compare(first, second)


@app.command(epilog=example("repair my-run"))
def repair(
    place: Annotated[Path, typer.Argument(metavar="FILE", help="A recording, or the folder it is in.")],
) -> int:
    """Make a normal file of the recording a killed run left."""
    from grouser.commands import console

    return console.repair(place)


@app.command(epilog=example("doctor --warm"))
def doctor(
    warm: Annotated[bool, typer.Option("--warm", help="Compile the kernels of all scenarios too.")] = False,
) -> int:
    """Say what is installed and what works here."""
    from grouser.commands import doctor

    return doctor.doctor(warm)


@app.command(epilog=example("bench rover"))
def bench(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Cases.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Exit with status 1 if a bar is missed.")] = False,
) -> int:
    """Run the benchmarks of a checkout."""
    from grouser.commands import bench

    return bench.bench(names or [], check)


@app.command(epilog=example("schema single-wheel > single-wheel.schema.json"))
def schema(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A scenario.", autocompletion=_scenario_names)],
) -> int:
    """Print the JSON Schema of a scenario's YAML file, for editors."""
    from grouser.commands import catalogue

    return catalogue.print_schema(name)


def main() -> None:
    sys.exit(exit_status.run_process(status))


def status(arguments: list[str]) -> int:
    """Run one command line and return its exit status. Every error is printed as one line."""
    return exit_status.status_of(app, arguments)
