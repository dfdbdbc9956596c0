"""Paste the README's first line in the source distribution, on a machine without compiler, CMake, make or ninja.

The tools on ``PATH`` are a shell and a few of coreutils: pip must bring the rest from PyPI. Any Python runs this: it
needs no package, and its environments are its own.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("sh", "cat", "chmod", "cp", "env", "ln", "ls", "mkdir", "mv", "rm", "uname")
PACK = "import sys; sys.path.insert(0, 'build_support'); import backend; print(backend.build_sdist(sys.argv[1]))"
MOST = 360  # CPU-seconds of the line: three minutes on two cores


def source_distribution(python: Path, folder: Path) -> Path:
    """Pack this repository as it would be published, by a Python with pip."""
    packer = folder / "packer"
    install = [str(python), "-m", "pip", "install", "--quiet", "--target", str(packer), "scikit-build-core"]
    subprocess.run(install, check=True)
    command = [str(python), "-c", PACK, str(folder)]
    environment = os.environ | {"PYTHONPATH": str(packer)}
    done = subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True, env=environment)
    return folder / done.stdout.split()[-1]


def main() -> None:
    """Unpack the distribution, paste the README's line, and look at the map that it draws."""
    lines = re.findall(r"^python3 -m venv .*$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    (line,) = (line for line in lines if line.endswith("dfmst demo"))
    with tempfile.TemporaryDirectory(prefix="dfmst-bare-") as folder:
        bare = Path(folder) / "bin"
        bare.mkdir()
        for tool in TOOLS:
            found = shutil.which(tool)
            if found is None:
                raise SystemExit(f"{tool} is missing")
            (bare / tool).symlink_to(found)
        (bare / "python3").symlink_to(sys.executable)
        named = {"CC", "CXX", "CMAKE_ARGS", "CMAKE_GENERATOR", "CMAKE_EXECUTABLE", "CMAKE_MAKE_PROGRAM"}
        environment = {name: value for name, value in os.environ.items() if name not in named} | {"PATH": str(bare)}
        subprocess.run([sys.executable, "-m", "venv", Path(folder) / "venv"], check=True)
        source = source_distribution(Path(folder) / "venv" / "bin" / "python", Path(folder))
        with tarfile.open(source) as archive:
            archive.extractall(folder, filter="data")
        clone = Path(folder) / source.name.removesuffix(".tar.gz")
        begun, start = cpu_seconds(), time.monotonic()
        subprocess.run(["sh", "-euc", line], check=True, cwd=clone, env=environment, stdout=subprocess.DEVNULL)
        taken = cpu_seconds() - begun
        print(
            f"installed and ran without a compiler in {time.monotonic() - start:.0f} s, {taken:.0f} CPU-s", flush=True
        )
        if taken > MOST:
            raise SystemExit(f"the line took {taken:.0f} CPU-s; it may take {MOST}")
        if not (clone / "cities.html").is_file():
            raise SystemExit("dfmst demo has drawn no map")


def cpu_seconds() -> float:
    """CPU time of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
