"""What is installed and what ships is complete, and the files that build, describe and publish it agree."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
from importlib import metadata
from importlib.resources import files
from pathlib import Path

import index_page
import pytest
import rattler_build
import yaml
from packaging.requirements import Requirement

import dfmst

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT, TOOLS = PYPROJECT["project"], PYPROJECT["tool"]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
BUILD = "import sys; sys.path.insert(0, 'build_support'); import backend; print(backend.build_sdist(sys.argv[1]))"
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


def test_all_files_name_one_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    stated = {metadata.version("dfmst"), RECIPE["context"]["version"], citation["version"]}
    assert stated == {dfmst.__version__}
    assert citation["license"] in PROJECT["license"]
    assert TOOLS["scikit-build"]["metadata"]["version"]["input"] == "dfmst/__init__.py"
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


def build_sdist(source: Path, target: Path) -> Path:
    target.mkdir()
    command = [sys.executable, "-c", BUILD, str(target)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target / done.stdout.split()[-1]


@pytest.mark.slow
def test_the_source_distribution_builds_itself_in_a_clean_folder(tmp_path):
    # .ci/run installs from such a one, on a machine without a compiler (tests/packaging/without_compiler.py).
    first = build_sdist(ROOT, tmp_path / "first")
    assert first.name == f"dfmst-{dfmst.__version__}.tar.gz"
    with tarfile.open(first) as archive:
        archive.extractall(tmp_path / "clean", filter="data")
        names = set(archive.getnames())
    second = build_sdist(tmp_path / "clean" / first.name.removesuffix(".tar.gz"), tmp_path / "second")
    with tarfile.open(second) as archive:
        assert set(archive.getnames()) == names
    inside = {name.partition("/")[2] for name in names}
    needed = {
        "CMakeLists.txt",
        "LICENSE",
        "README.md",
        "build_support/backend.py",
        "build_support/index_page.py",
        "dfmst/_engines/kernels/cpu/native.cpp",
    }
    needed |= {f"examples/data/{name}.parquet" for name in ("cities", "city_points")}
    needed |= {f"dfmst/_report/templates/{name}" for name in ("report.html", "style.css")}
    assert needed <= inside
    unwanted = (".so", ".pyc", ".o")
    assert not [
        name for name in inside if name.endswith(unwanted) or name.startswith(("docs/_build", ".venv", "build/"))
    ]
    assert first.stat().st_size < 8_000_000


def test_one_wheel_a_platform_serves_every_python():
    assert TOOLS["scikit-build"]["wheel"]["py-api"] == "py3"
    config = TOOLS["cibuildwheel"]
    least = re.sub(r"\D", "", PROJECT["requires-python"])
    assert config["build"] == f"cp{least}-*"
    assert config["test-command"] == "dfmst demo"
    assert not re.search("musllinux", str(config.get("skip", "")))


def test_what_is_published_has_passed_everything():
    jobs = WORKFLOW["jobs"]
    assert set(jobs["publish"]["needs"]) == {"tests", "fast-lane", "wheels", "sdist", "docs"}
    assert "refs/tags/v" in jobs["publish"]["if"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}  # trusted publishing: no secret
    assert WORKFLOW["permissions"] == {"contents": "read"}
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert "secrets." not in text
    uses = re.findall(r"uses: (\S+)", text)
    assert uses
    assert all(re.fullmatch(r"[\w./-]+@v\d[\w.]*", action) for action in uses)
    assert jobs["publish-docs"]["if"] == "github.ref == 'refs/heads/main'"  # the rules of Pages refuse tags
    runs = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    assert ".ci/run" in runs


def test_links_of_the_index_page_are_absolute(monkeypatch):
    # Two cases of the provider first, then the page that a build writes.
    text = "![map](docs/a.png) [start](docs/start.md#top) [top](#top) [index](https://example.org)"
    expected = (
        "![map](R/raw/v1/docs/a.png) [start](R/blob/v1/docs/start.md#top) [top](#top) [index](https://example.org)"
    )
    assert index_page.absolute_links(text, "R", "v1") == expected
    monkeypatch.chdir(ROOT)
    assert TOOLS["scikit-build"]["metadata"]["readme"]["provider"] == index_page.__name__
    page = index_page.dynamic_metadata("readme", {})
    links = re.findall(r"\]\(([^)]+)\)", page["text"])
    assert len(links) > 20
    assert all(link.startswith(("https://", "#")) for link in links)
    assert f"{PROJECT['urls']['Repository']}/blob/v{dfmst.__version__}/docs/start.md" in links
    assert page["content-type"] == "text/markdown"


def test_all_files_name_one_repository():
    owner = PROJECT["urls"]["Repository"].removeprefix("https://github.com/").removesuffix("/dfmst")
    assert re.fullmatch(r"[\w-]+", owner)
    listed = [ROOT / name for name in ("CITATION.cff", "conda/recipe.yaml", "CHANGELOG.md", "pyproject.toml")]
    for path in listed:
        named = re.findall(r"github\.com/([\w-]+)/dfmst|([\w-]+)\.github\.io", path.read_text(encoding="utf-8"))
        assert {first or second for first, second in named} == {owner}, path.name
    assert RECIPE["extra"]["recipe-maintainers"] == [owner]


def test_rattler_build_reads_the_conda_recipe():
    # It refuses a key that it does not know. To build, it would need conda-forge, whose settings name the C library.
    variants = rattler_build.VariantConfig.from_yaml("c_stdlib: [sysroot]\nc_stdlib_version: ['2.28']")
    (variant,) = rattler_build.Stage0Recipe.from_file(str(ROOT / "conda" / "recipe.yaml")).render(variants)
    recipe = variant.recipe
    assert recipe.build.to_dict()["python"] == {"version_independent": True}
    assert f"{recipe.about.homepage}".rstrip("/") == PROJECT["urls"]["Repository"]
    assert str(recipe.package.name) == "dfmst"
    assert str(recipe.package.version) == dfmst.__version__
    assert recipe.about.license == PROJECT["license"]
