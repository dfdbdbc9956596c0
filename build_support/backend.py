"""The build backend: scikit-build-core, and a C++ compiler from PyPI for machines that have none.

Where no C++ compiler works, the ``ziglang`` wheel joins the build requirements and CMake is
pointed at ``zig c++``. Everywhere else this module changes nothing.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scikit_build_core import build as _inner
from scikit_build_core.build import (
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

ConfigSettings = dict[str, list[str] | str] | None

#: Capped: zig is not at 1.0, and `zig c++` is a feature that its authors may move elsewhere.
ZIG = "ziglang>=0.13,<0.18"
#: In CMake's own order.
COMPILERS = ("c++", "g++", "clang++")
PROBE = "#include <thread>\nint main() { std::thread([] {}).join(); }\n"


def get_requires_for_build_wheel(config_settings: ConfigSettings = None) -> list[str]:
    """What the build needs from PyPI on this machine."""
    return _inner.get_requires_for_build_wheel(config_settings) + compiler_requires()


def get_requires_for_build_editable(config_settings: ConfigSettings = None) -> list[str]:
    """What an editable build needs from PyPI on this machine."""
    return _inner.get_requires_for_build_editable(config_settings) + compiler_requires()


def build_wheel(
    wheel_directory: str, config_settings: ConfigSettings = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel with the machine's compiler, or with zig."""
    with compiler():
        return _inner.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: ConfigSettings = None, metadata_directory: str | None = None
) -> str:
    """Build the library into the source folder, and a wheel that points there."""
    with compiler():
        return _inner.build_editable(wheel_directory, config_settings, metadata_directory)


def compiler_requires() -> list[str]:
    """What replaces a missing compiler; nothing where there is one."""
    if has_compiler():
        return []
    return [ZIG, "ninja"] if platform.system() == "Windows" else [ZIG]


def has_compiler() -> bool:
    """Whether a C++17 compiler that can build a threaded program is at hand; ``CXX`` is taken at its word."""
    if os.environ.get("CXX"):
        return True
    if platform.system() == "Windows":
        return False  # the kernels use GCC's and Clang's atomics, which cl lacks
    if platform.system() == "Darwin" and subprocess.run(["xcode-select", "-p"], capture_output=True).returncode:
        return False  # /usr/bin/c++ is then a stub that opens a dialog
    # CMake takes the first that is there, so that is the one to ask.
    found = next(filter(None, map(shutil.which, COMPILERS)), None)
    return found is not None and _compiles(found)


def _compiles(cxx: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="dfmst-probe-") as folder:
        command = [cxx, "-std=c++17", "-pthread", "-x", "c++", "-", "-o", str(Path(folder) / "probe")]
        return subprocess.run(command, input=PROBE.encode(), capture_output=True).returncode == 0


@contextlib.contextmanager
def compiler() -> Iterator[None]:
    """Run the block with a compiler: as it is where one works, else with ``CXX`` set to zig."""
    if has_compiler():
        yield
        return
    try:
        import ziglang
    except ImportError:
        raise SystemExit(f"dfmst: no working C++ compiler found. Install one, or: pip install '{ZIG}'") from None
    print("dfmst: no working C++ compiler found, building with zig (this takes about a minute)", flush=True)
    zig = Path(ziglang.__file__).with_name("zig.exe" if platform.system() == "Windows" else "zig")
    saved = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="dfmst-zig-") as folder:
        os.environ.setdefault("ZIG_GLOBAL_CACHE_DIR", folder)  # leave nothing behind
        os.environ.setdefault("ZIG_LOCAL_CACHE_DIR", folder)
        os.environ["CXX"] = str(_wrapper(Path(folder), zig))
        if platform.system() == "Windows":
            os.environ.setdefault("CMAKE_GENERATOR", "Ninja")
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(saved)


def _wrapper(folder: Path, zig: Path) -> Path:
    """Write a script that CMake takes for a compiler: zig, told never to use this host's own CPU features."""
    # These for CMake's trial programs too: zig builds its C++ runtime anew for each kind of output, a minute each.
    words = [str(zig), "c++", *target(), "-mcpu=baseline", "-shared", "-O3", "-s"]
    if platform.system() == "Windows":
        script = folder / "zig-c++.cmd"
        script.write_text(f"@{subprocess.list2cmdline(words)} %*\n")
    else:
        script = folder / "zig-c++"
        script.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        script.chmod(0o755)
    return script


def target() -> list[str]:
    """Options naming this machine for zig; none (zig's own guess) where the name is not certain."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine().lower())
    if machine not in ("x86_64", "aarch64") or sys.maxsize < 2**32:
        return []
    if platform.system() == "Linux":
        musl = "musl" in (sysconfig.get_config_var("HOST_GNU_TYPE") or "")
        # Named, so that zig brings libc's headers along instead of looking for the machine's.
        return ["-target", f"{machine}-linux-musl" if musl else f"{machine}-linux-gnu.2.28"]
    if platform.system() == "Windows":
        return ["-target", f"{machine}-windows-gnu"]
    return []
