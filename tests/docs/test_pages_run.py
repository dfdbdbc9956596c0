"""Pages as written: each runs by itself, in a fresh process and an empty folder.

These are README, the first page, and guides that need GPUs or a bucket. The build of the documentation runs the other
pages so, and shows their results: ``test_site.py``.

Blocks of Python and of the shell run in order, and nothing is supplied to them but a bucket, `s3://lake`, to those that
name it. Blocks that install, that start workers with a GPU, and that run this repository's benchmarks are left out. The
page about GPUs runs on the stand-ins.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from dfmst.cli import main
from tests.support.object_store import KEY, SECRET, running_store

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs").glob("*/*.md"))]
BLOCK = re.compile(r"^```([\w{}-]*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LEFT_OUT = re.compile(r"\bpip install\b|\bbench[/ ]|^sphinx-build|^dfmst forest .* --gpus\b", re.MULTILINE)
OUTPUT = re.compile(
    r"""(?:\s-o\s|--(?:report|checkpoint)\s|output=|checkpoint=|(?:save|to_csv|to_parquet|sink_parquet)\()["']?([\w./:-]+)"""
)
ON_STANDIN = ROOT / "tests" / "support" / "gpu" / "on_standin.py"
#: Runs the blocks of a page, of which every one begins at its line of the page.
RUN = """\
import __main__, json, subprocess, sys
for _line, _language, _text in json.loads(open(sys.argv[1], encoding="utf-8").read()):
    if _language == "python":
        exec(compile("\\n" * (_line - 1) + _text, sys.argv[2], "exec"), vars(__main__))
    else:
        print(f"line {_line}: {_text}", flush=True)
        subprocess.run(["sh", "-euc", sys.argv[3] + _text], check=True)
"""


def blocks(page: Path) -> list[tuple[int, str, str]]:
    """Line, language and text of every block of Python and of the shell."""
    text = page.read_text(encoding="utf-8")
    found = [(text.count("\n", 0, block.start()) + 2, block[1], block[2]) for block in BLOCK.finditer(text)]
    return [block for block in found if block[1] in ("python", "sh")]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


WITH_BLOCKS = [page for page in PAGES if blocks(page) and "pages" not in page.parts]
RUNS = [
    pytest.param(page, id=name_of(page), marks=[] if page.name in ("README.md", "start.md") else pytest.mark.slow)
    for page in WITH_BLOCKS
    if page.name in ("README.md", "start.md", "gpus.md") or any("s3://lake" in text for *_, text in blocks(page))
]


@pytest.fixture
def lake() -> Iterator[dict[str, str]]:
    """The environment of a user who has a bucket `lake`."""
    pytest.importorskip("moto")
    with running_store() as store:
        store.filesystem.create_dir("lake")
        place = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{store.port}", "AWS_EC2_METADATA_DISABLED": "true"}
        yield {
            **os.environ,
            **place,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1",
        }


@pytest.mark.parametrize("page", RUNS)
def test_a_page_runs_by_itself(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    for name in ("pandas", "polars", "duckdb", "igraph", "networkx", "sklearn", "distributed"):
        pytest.importorskip(name)
    python = [sys.executable, "-P", *([str(ON_STANDIN)] if page.name == "gpus.md" else [])]
    command = " ".join(f"'{word}'" for word in python)
    shell = f'dfmst() {{ {command} -m dfmst "$@"; }}\n'
    folder = tmp_path / "page"
    folder.mkdir()
    (tmp_path / "run.py").write_text(RUN, encoding="utf-8")
    run = [block for block in blocks(page) if not LEFT_OUT.search(block[2])]
    (tmp_path / "blocks.json").write_text(json.dumps(run), encoding="utf-8")
    done = subprocess.run(
        [*python, tmp_path / "run.py", tmp_path / "blocks.json", page, shell],
        cwd=folder,
        env=request.getfixturevalue("lake") if any("s3://lake" in text for *_, text in run) else None,
        text=True,
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=name_of)
def test_a_page_imports_and_assigns_what_it_uses(page: Path) -> None:
    """Also in blocks that are left out."""
    text = "".join(text for _, language, text in blocks(page) if language == "python")
    command = [sys.executable, "-P", "-m", "ruff", "check", "--isolated", "--select", "F821"]
    command += ["--output-format", "concise", "-"]
    done = subprocess.run(command, input=text, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_outputs_do_not_collide() -> None:
    """No page writes a file twice, and no page writes what another one reads or writes as a folder."""
    folders: dict[str, str] = {}
    for page in PAGES:
        text = "".join(text for _, _, text in blocks(page) if not LEFT_OUT.search(text))
        found = [name for name in OUTPUT.findall(text) if name != "-"]
        assert len(found) == len(set(found)), (page.name, sorted(found))
        for name in found:
            if name.endswith("/"):
                assert folders.setdefault(name, page.name) == page.name, (name, page.name, folders[name])


def test_every_block_has_a_language() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        languages = {block[1] for block in BLOCK.finditer(text) if not block[1].startswith("{")}
        assert languages <= {"python", "sh", "text"}, (page.name, languages)
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150


def test_each_odd_file_of_the_guide_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "guides" / "files.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| [^|`]+ \| (`.*`) \| `([^`]*dfmst [^`]*)`[^|]* \|$", page, re.MULTILINE)
    assert len(rows) == 15
    for lines, command in rows:
        text = "".join(f"{line}\n" for line in re.findall("`([^`]+)`", lines)).replace(r"\|", "|")
        Path("roads.csv").write_text(text, encoding="latin1" if "latin1" in command else "utf-8")
        first, _, last = command.replace(r"\|", "|").rpartition(" | ")
        given = subprocess.run(["sh", "-c", first or "true"], capture_output=True, check=True).stdout
        done = CliRunner().invoke(main, shlex.split(last)[1:], input=given)
        assert done.exit_code == 0, f"{command}: {done.output}"
        assert len(done.stdout.splitlines()) > 1, command
