"""Run telling tests with the lowest versions of all dependencies that pyproject.toml allows.

pip installs them and dfmst into an environment of its own. These versions have wheels for the oldest Python that
dfmst supports, so that one is taken if the machine has it. Any Python runs this.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
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
    "tests/interop/networkx/test_backend.py",
    "tests/drive/stream/test_rows.py",
)
BOUND = re.compile(r"(?P<name>[\w.-]+)(?:\[[^]]*\])?>=(?P<version>[\w.]+)")


def lowest_versions() -> tuple[str, dict[str, str]]:
    """Return the oldest Python, and the lower bound of each dependency."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    bounds: dict[str, str] = {}
    for entry in [*project["dependencies"], *(entry for extra in EXTRAS for entry in optional[extra])]:
        bound = BOUND.fullmatch(entry)
        if bound is None:
            raise SystemExit(f"{entry} has no lower bound")
        bounds[bound["name"]] = bound["version"]
    for bound in filter(None, map(BOUND.match, optional["test"])):
        if bound["name"] in TEST:
            bounds[bound["name"]] = bound["version"]
    return project["requires-python"].removeprefix(">="), bounds


def main() -> None:
    """Install the lowest versions, and run the demo, which draws a report, and the tests."""
    oldest, bounds = lowest_versions()
    with tempfile.TemporaryDirectory(prefix="dfmst-lowest-") as folder:
        programs = Path(folder) / "venv" / "bin"
        subprocess.run([shutil.which(f"python{oldest}") or sys.executable, "-m", "venv", programs.parent], check=True)
        exact = [f"{name}=={version}" for name, version in bounds.items()]
        install = [str(programs / "pip"), "install", "--quiet", f"{ROOT}[{','.join(EXTRAS)}]", *exact]
        subprocess.run(install, check=True)
        subprocess.run([programs / "dfmst", "demo"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
        # Old versions warn of each other.
        options = ["-q", "-m", "not slow", "-W", "default", "-p", "no:cacheprovider"]
        run = [str(programs / "pytest"), *options, *TESTS]
        raise SystemExit(subprocess.run(run, cwd=ROOT, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
