"""Install dfmst from its source distribution, on a machine without compiler, CMake, make or ninja, and use the outcome.

The tools on ``PATH`` are a shell and a few of coreutils: pip must bring the rest from PyPI. Any Python runs this: it
needs no package, and its environments are its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("sh", "cat", "chmod", "cp", "env", "ln", "ls", "mkdir", "mv", "rm", "uname")
PACK = "import sys; sys.path.insert(0, 'build_support'); import backend; print(backend.build_sdist(sys.argv[1]))"
USE = """
import numpy as np
from dfmst._engines.cpu import CpuEngine, library_path
numbers = np.zeros(1000, np.uint32)
CpuEngine(threads=2).launch("number_places", 1000, numbers, grain=100)
assert numbers.tolist() == list(range(1000)), numbers
print("kernels run from", library_path())
"""


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
    """Install into a fresh environment and launch a kernel."""
    with tempfile.TemporaryDirectory(prefix="dfmst-bare-") as folder:
        bare = Path(folder) / "bin"
        bare.mkdir()
        for tool in TOOLS:
            found = shutil.which(tool)
            if found is None:
                raise SystemExit(f"{tool} is missing")
            (bare / tool).symlink_to(found)
        named = {"CC", "CXX", "CMAKE_ARGS", "CMAKE_GENERATOR", "CMAKE_EXECUTABLE", "CMAKE_MAKE_PROGRAM"}
        environment = {name: value for name, value in os.environ.items() if name not in named} | {"PATH": str(bare)}
        venv = Path(folder) / "venv"
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        start = time.monotonic()
        source = source_distribution(venv / "bin" / "python", Path(folder))
        subprocess.run([venv / "bin" / "pip", "install", "--quiet", source], check=True, env=environment)
        print(f"installed without a compiler in {time.monotonic() - start:.0f} s", flush=True)
        subprocess.run([venv / "bin" / "python", "-c", USE], check=True, env=environment, cwd=folder)
        subprocess.run(
            [venv / "bin" / "dfmst", "demo"], check=True, env=environment, cwd=folder, stdout=subprocess.DEVNULL
        )
        if not (Path(folder) / "cities.html").is_file():
            raise SystemExit("dfmst demo has drawn no map")


if __name__ == "__main__":
    main()
