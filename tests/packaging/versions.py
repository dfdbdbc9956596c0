"""Run tests with other versions of all dependencies than the environment that runs this.

`lowest`: the lowest versions that pyproject.toml allows, on the oldest Python, and tests of frames and files. `newest`:
the newest versions that have wheels, on the newest Python, and the fast tests that depend on them. Python is taken from
the machine, if it has that one. dfmst is copied from the environment that runs this: one build serves every Python.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = ("dask", "networkx", "sklearn")
#: Of the extra `test`: frames and peers that the tests compare with, and the test run.
TEST = {"duckdb", "hypothesis", "igraph", "pandas", "polars", "pytest", "scipy"}
#: Every algorithm on every frame, every kind of column, the golden forests, streams, Dask, files and other libraries.
TESTS = (
    "tests/algorithms/test_dataframe.py",
    "tests/drive/cluster/test_rows.py",
    "tests/equality",
    "tests/formats/test_columnar.py",
    "tests/formats/test_write.py",
    "tests/edges/test_id_kinds.py",
    "tests/edges/test_kinds.py",
    "tests/edges/test_odd_columns.py",
    "tests/trees/test_density.py",
    "tests/interop",
    "tests/drive/stream/test_rows.py",
    "tests/drive/test_one_forest.py",
)
#: Folders whose tests `newest` leaves out. They launch kernels from NumPy's columns, or run code for GPUs on stand-ins,
#: or look at benchmarks and pages of this repository: no version of Python or of a dependency decides on them.
WITHOUT = ("bench", "cuda", "docs", "engines/kernels", "engines/primitives", "ptx")
#: Of the extra `test`: tools and compilers, which those tests and the checks use.
TOOLS = re.compile(r"import-linter|mypy|nvidia|ruff|.*-stubs|pytest-cov")
BOUND = re.compile(r"(?P<name>[\w.-]+)(?:\[[^]]*\])?>=(?P<version>[\w.]+)")


class Environment:
    """A virtual environment in a folder."""

    def __init__(self, python: str, folder: str) -> None:
        self.folder, self.python = folder, str(Path(folder) / "venv" / "bin" / "python")
        self.pip = [sys.executable, "-m", "pip", "--python", self.python]  # a pip of its own takes seconds to install
        subprocess.run([python, "-m", "venv", "--without-pip", Path(folder) / "venv"], check=True)

    def install(self, *requirements: str, check: bool = True) -> str:
        """Install packages; return what pip said if it failed and need not succeed."""
        install = [*self.pip, "install", "--quiet", "--no-compile", *requirements]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise SystemExit(done.stderr)
        return done.stderr if done.returncode else ""

    def copy_dfmst(self) -> None:
        """Copy the package that is installed next to this script's Python, and run its demo."""
        ask = [self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
        site = Path(subprocess.check_output(ask, text=True).strip())
        for file in metadata.files("dfmst") or []:
            if ".." not in file.parts and "__pycache__" not in file.parts:
                (site / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file.locate(), site / file)
        subprocess.run([self.python, "-m", "dfmst", "demo"], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)

    def pytest(self, *options: str, capture: bool = False) -> subprocess.CompletedProcess[str]:
        """Run tests; a caller's options do not reach them."""
        # Of a new environment each process would compile all that it imports, if none of them might write bytecode.
        left_out = ("PYTEST_ADDOPTS", "PYTHONDONTWRITEBYTECODE")
        variables = {name: value for name, value in os.environ.items() if name not in left_out}
        run = [self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        return subprocess.run(run, cwd=ROOT, env=variables, check=False, text=True, capture_output=capture)


def requirements(*extras: str) -> list[str]:
    """Return the dependencies, and those of extras."""
    entries = [
        *PROJECT["dependencies"],
        *(entry for extra in extras for entry in PROJECT["optional-dependencies"][extra]),
    ]
    return [entry for entry in entries if not entry.startswith("dfmst[")]


def lowest_versions() -> dict[str, str]:
    """Return the lower bound of each dependency."""
    bounds: dict[str, str] = {}
    for entry in requirements(*EXTRAS):
        bound = BOUND.fullmatch(entry)
        if bound is None:
            raise SystemExit(f"{entry} has no lower bound")
        bounds[bound["name"]] = bound["version"]
    for bound in filter(None, map(BOUND.match, requirements("test"))):
        if bound["name"] in TEST:
            bounds[bound["name"]] = bound["version"]
    return bounds


def newest_python() -> str:
    """Return the newest Python of the classifiers, on PATH or of pyenv, that is newer than this one; else this one."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    folders = [*map(Path, os.environ["PATH"].split(os.pathsep)), *pyenv.glob("*/bin")]
    named = {int(minor) for minor in re.findall(r"Python :: 3\.(\d+)", " ".join(PROJECT["classifiers"]))}
    for minor in sorted(named - set(range(sys.version_info.minor + 1)), reverse=True):
        for path in (folder / f"python3.{minor}" for folder in folders):
            works = [str(path), "-c", "import ctypes, ssl, venv"]  # a shim of pyenv may stand for nothing
            if path.is_file() and not subprocess.run(works, capture_output=True, check=False).returncode:
                return str(path)
    return sys.executable


def lowest(folder: str) -> int:
    """Run tests of frames and files with the lowest versions."""
    oldest = PROJECT["requires-python"].removeprefix(">=")
    environment = Environment(shutil.which(f"python{oldest}") or sys.executable, folder)
    exact = [f"{name}=={version}" for name, version in lowest_versions().items()]
    environment.install(*requirements(*EXTRAS), *exact)
    environment.copy_dfmst()
    # Old versions warn of each other.
    return environment.pytest("-m", "not slow", "-W", "default", *TESTS).returncode


def newest(folder: str) -> int:
    """Run the fast tests that depend on versions with the newest ones."""
    start, environment = time.monotonic(), Environment(newest_python(), folder)
    entries = [entry for entry in requirements("dask", "networkx", "sklearn", "test") if not TOOLS.match(entry)]
    wanted = ["--only-binary", ":all:", *entries]
    left_out = environment.install(*wanted, check=False) and [
        f"{entry}: {error.strip().splitlines()[-1]}"
        for entry in entries
        if (error := environment.install(*wanted[:2], entry, check=False))
    ]
    environment.copy_dfmst()
    subprocess.run([environment.python, "-VV"], check=True)
    subprocess.run([*environment.pip, "list", "--format", "freeze"], check=True)
    options = [f"--ignore=tests/{folder}" for folder in WITHOUT]
    listed = environment.pytest("--co", *options, capture=True).stdout if left_out else ""
    files = re.findall(r"^ERROR (\S+)", listed, re.M)
    print(f"installed in {time.monotonic() - start:.0f} s", *left_out, *files, sep="\nleft out: ", flush=True)
    options += [f"--ignore={file}" for file in files]
    return environment.pytest("-n", "auto", "--dist", "worksteal", *options).returncode


def main() -> None:
    """Run the tests with the versions that the argument names."""
    with tempfile.TemporaryDirectory(prefix="dfmst-versions-") as folder:
        raise SystemExit({"lowest": lowest, "newest": newest}[sys.argv[1]](folder))


if __name__ == "__main__":
    main()
