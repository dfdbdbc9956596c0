"""What ships: the source distribution is complete, and the files that build wheels and publish them agree."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import index_page
import pytest
import rattler_build
import yaml

import dfmst
from tests.packaging.test_distribution import PROJECT, RECIPE, ROOT

TOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
BUILD = "import sys; sys.path.insert(0, 'build_support'); import backend; print(backend.build_sdist(sys.argv[1]))"


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


def test_all_files_name_one_version():
    assert "version" not in PROJECT
    assert PROJECT["dynamic"] == ["version", "readme"]
    provider = TOOLS["scikit-build"]["metadata"]["version"]
    assert provider["input"] == "dfmst/__init__.py"
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == dfmst.__version__
    assert citation["license"] in PROJECT["license"]


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
