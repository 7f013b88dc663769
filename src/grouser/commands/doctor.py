"""`grouser doctor`: reports what is installed and what works on this machine. It never fails."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import TYPE_CHECKING, get_args

import grouser
from grouser.quiet_warp import start_warp

if TYPE_CHECKING:
    from grouser.scenarios.scenario import Settings

PACKAGES = (
    "numpy",
    "mujoco",
    "warp-lang",
    "h5py",
    "pydantic",
    "ruamel.yaml",
    "matplotlib",
    "trimesh",
    "pint",
)
EXTRAS = {  # package: extra that installs it
    "mujoco-warp": "batch",
    "ray": "cluster",
    "pyarrow": "cluster",
    "coal": "convex",
    "coacd": "convex",
    "rasterio": "geo",
    "foxglove-sdk": "foxglove",
    "emcee": "identify",
    "scikit-learn": "identify",
    "threadpoolctl": "identify",
    "gymnasium": "rl",
    "cloudpickle": "rl",
    "rosbags": "ros",
    "imageio-ffmpeg": "video",
    "viser": "view",
}
GL_PACKAGES = {"egl": "libegl1", "osmesa": "libosmesa6"}  # Debian
KERNEL_SETTINGS = ("dtype", "scheme")  # settings of scenarios; each value needs its own kernels
Row = tuple[str, str]


def doctor(warm: bool = False) -> int:
    """Print one line for each check."""
    for check in (_platform, _packages, _warp, _hdf5, _gl, *([_kernels] if warm else [])):
        for name, text in _safely(check):
            print(f"{name:14} {text}", flush=True)
    return 0


def _safely(check: Callable[[], Iterator[Row]]) -> Iterator[Row]:
    try:
        yield from check()
    except Exception as error:  # report any fault of the installation
        yield check.__name__.strip("_"), f"failed: {type(error).__name__}: {_first_line(error)}"


def _platform() -> Iterator[Row]:
    yield "grouser", grouser.__version__
    yield "python", f"{platform.python_version()} ({sys.executable})"
    yield "platform", f"{platform.platform()}, {os.cpu_count()} cores"


def _packages() -> Iterator[Row]:
    for name in (*PACKAGES, *EXTRAS):
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name, "not installed" + (f": pip install 'grouser[{EXTRAS[name]}]'" if name in EXTRAS else "")


def _warp() -> Iterator[Row]:
    import warp

    start_warp()
    for device in warp.get_devices():
        yield "device", f"{device.alias}: {device.name}"
    if not warp.is_cuda_available():
        yield "device", "no CUDA: needs an NVIDIA GPU with its driver"
    yield "kernel cache", str(warp.config.kernel_cache_dir)


def _hdf5() -> Iterator[Row]:
    import h5py

    yield "HDF5", h5py.version.hdf5_version


def _gl() -> Iterator[Row]:
    """Check each way to render without a display in a subprocess, as a bad driver may crash it."""
    from grouser.viewer.video import backend_works

    for backend, package in GL_PACKAGES.items():
        yield (
            f"GL {backend}",
            "works" if backend_works(backend) else f"does not work; on Debian: apt-get install {package}",
        )


def _kernels() -> Iterator[Row]:
    """Build every scenario and take one step, with its defaults and with each setting that needs other kernels."""
    from grouser.scenarios import registry

    for name in registry.NAMES:
        scenario = registry.scenario(name)
        for changes in ({}, *_other_kernels(scenario.settings)):
            case = ", ".join([name, *(f"{setting} {value}" for setting, value in changes.items())])
            start = time.perf_counter()
            try:
                scenario.build(scenario.settings(**changes)).step()
                yield "kernels", f"{case}: ready after {time.perf_counter() - start:.1f} s"
            except Exception as error:
                yield "kernels", f"{case}: failed: {type(error).__name__}: {_first_line(error)}"


def _other_kernels(settings: type[Settings]) -> Iterator[dict[str, str]]:
    """Every value, except the default, of the settings that choose kernels."""
    for name in KERNEL_SETTINGS:
        field = settings.model_fields.get(name)
        for value in get_args(field.annotation) if field else ():
            if field and value != field.default:
                yield {name: value}


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "")
