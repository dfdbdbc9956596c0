"""What is installed is complete, and the files that describe it agree."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from importlib.resources import files
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import dfmst

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
KERNELS = sorted((ROOT / "dfmst" / "_engines" / "kernels").glob("*.cuh"))
#: Import names of what may be absent; a folder of that name on sys.path would pass for it.
OPTIONAL = {"cudf", "cupy", "dask", "dask_cuda", "dask_cudf", "distributed", "matplotlib", "networkx", "polars"}


def test_the_tests_import_the_installed_package():
    origin = json.loads(metadata.distribution("dfmst").read_text("direct_url.json") or "{}")
    if not origin.get("dir_info", {}).get("editable"):
        assert not Path(dfmst.__file__).is_relative_to(ROOT / "dfmst")


@pytest.mark.slow
def test_python_m_pytest_imports_the_installed_package_too():
    itself = "tests/packaging/test_distribution.py::test_the_tests_import_the_installed_package"
    tests = [itself, "tests/engines/primitives"]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests, "-k", "installed or adjacency"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout


@pytest.mark.parametrize("file", ["py.typed", *(f"_engines/kernels/{path.name}" for path in KERNELS)])
def test_package_data_is_installed(file):
    assert files("dfmst").joinpath(file).is_file()


def test_the_command_is_installed():
    (command,) = metadata.distribution("dfmst").entry_points.select(group="console_scripts")
    assert command.name == "dfmst"
    assert callable(command.load())


def test_there_is_one_version():
    assert metadata.version("dfmst") == dfmst.__version__ == RECIPE["context"]["version"]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## \[(\d.+?)\]", changes, re.MULTILINE).group(1) == dfmst.__version__


def test_conda_and_pip_install_the_same():
    wanted = set(PROJECT["dependencies"])
    run = {entry.replace(" ", "") for entry in RECIPE["requirements"]["run"]}
    assert run == wanted | {f"python{PROJECT['requires-python']}"}


#: Names of pip -> other names of conda-forge.
CONDA_NAMES = {"duckdb": "python-duckdb", "igraph": "python-igraph", "matplotlib": "matplotlib-base"}


@pytest.mark.parametrize("environment", ["environment-cpu.yaml", "environment-rapids.yaml"])
def test_conda_s_environments_hold_the_requirements_of_the_tests(environment):
    entries = yaml.safe_load((ROOT / "conda" / environment).read_text(encoding="utf-8"))["dependencies"]
    listed = [name for entry in entries for name in (entry["pip"] if isinstance(entry, dict) else [entry])]
    parsed = [Requirement(re.sub(r" =(?=\d)", " ==", entry)) for entry in listed]
    held = {entry.name: entry.specifier for entry in parsed}
    extras = PROJECT["optional-dependencies"]
    extras = [entry for name in ("networkx", "sklearn", "docs", "test") for entry in extras[name]]
    for entry in map(Requirement, extras):  # click's bound is the tests', which is the higher one
        if entry.name != "dfmst" and not (entry.name == "pandas" and "rapids" in environment):  # RAPIDS pins its own
            assert held[CONDA_NAMES.get(entry.name, entry.name)] == entry.specifier, entry.name


def test_rapids_comes_with_dask_cuda_and_ucxx():
    entries = yaml.safe_load((ROOT / "conda" / "environment-rapids.yaml").read_text(encoding="utf-8"))["dependencies"]
    names = {entry.split()[0] for entry in entries if isinstance(entry, str)}
    assert {"cudf", "cupy", "dask-cuda", "dask-cudf", "distributed-ucxx"} <= names


def test_no_folder_of_helpers_passes_for_an_optional_package(pytestconfig):
    folders = pytestconfig.getini("pythonpath")
    assert {folder.name for folder in folders} == {"build_support", "sanitizers"}
    assert not OPTIONAL & {path.stem for folder in folders for path in folder.iterdir()}
