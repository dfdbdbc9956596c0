"""README and guides as written: of each page every block of Python and every command runs, in order, in a fresh folder.

Blocks that install, use a GPU or run this repository's benchmarks are left out. A cluster of one worker stands in for
``tcp://host:8786``.
"""

from __future__ import annotations

import gzip
import re
import shlex
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dfmst
from dfmst.cli import main

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
#: Pages of drawings, and those that a build makes.
NOT_RUN = ("docs/architecture.md", "docs/algorithms/pages", "docs/benchmarks/pages")
BLOCK = re.compile(r"^```([\w{}-]*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LEFT_OUT = re.compile(
    r"\bpip install\b|^import cudf|^python bench/|^dfmst .* --gpus\b|engine[= ]\"?cuda\b", re.MULTILINE
)
ADDRESS = "tcp://host:8786"


def blocks(page: Path) -> list[tuple[int, str, str]]:
    """Line, language (nothing: the shell) and text of every block of a page that runs."""
    text = page.read_text(encoding="utf-8")
    # What stands in braces is Sphinx's.
    found = [block for block in BLOCK.finditer(text) if not block[1].startswith("{") and not LEFT_OUT.search(block[2])]
    return [(text.count("\n", 0, block.start()) + 2, block[1], block[2]) for block in found]


def pages() -> list[str]:
    """Pages with a block that runs."""
    names = ["README.md", *sorted(page.relative_to(ROOT).as_posix() for page in (ROOT / "docs").glob("**/*.md"))]
    return [name for name in names if not name.startswith(NOT_RUN) and blocks(ROOT / name)]


def roads(seed: int, rows: int = 40) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    ends = {"a": draw.integers(0, 12, rows), "b": draw.integers(0, 12, rows)}
    return pd.DataFrame({**ends, "km": draw.random(rows), "operator": "north"})


def prepare(folder: Path) -> dict[str, Any]:
    """Write the files, and return the variables, that the pages take as known."""
    for name, count in (("edges", 3), ("parts", 2), ("saved", 0)):
        (folder / name).mkdir()
        for part in range(count):
            roads(part).to_parquet(folder / name / f"{part}.parquet")
    (folder / "saved").rmdir()
    for number, name in enumerate(("edges", "part-1", "part-2", "tuesday")):
        roads(number).to_parquet(folder / f"{name}.parquet")
    roads(7).to_csv(folder / "edges.csv.gz", index=False)
    roads(8).to_csv(folder / "roads.csv", index=False)
    towns = pd.DataFrame({"town": range(12), "lon": np.linspace(5, 9, 12), "lat": np.linspace(47, 54, 12)})
    towns.to_csv(folder / "towns.csv", index=False)
    points = pd.DataFrame({"name": range(40), **dict(zip("xy", np.random.default_rng(0).random((2, 40)), strict=True))})
    points.to_csv(folder / "points.csv", index=False)
    (folder / "USA-road-d.NY.gr.gz").write_bytes(gzip.compress(b"c roads\np sp 3 2\na 1 2 5\na 2 3 6\n"))
    return {"monday": roads(1), "tuesday": roads(2), "roads": roads(8), "pd": pd, "dfmst": dfmst}


def shell(command: str, place: str) -> None:
    """Run a line of a shell block; `dfmst` is the package under test."""
    if ADDRESS in command or not command.startswith("dfmst "):
        status, said = _in_a_process(command)
    else:
        words = shlex.split(command)[1:]
        found = [sorted(map(str, Path().glob(word))) if "*" in word else [word] for word in words]
        result = CliRunner().invoke(main, [word for words in found for word in words], prog_name="dfmst")
        status, said = result.exit_code, f"{result.output}{result.exception or ''}"
    assert status == 0, f"{place}: {command}\n{said}"


def _in_a_process(command: str) -> tuple[int, str]:
    command = re.sub(r"^dfmst\b", f"{sys.executable} -P -m dfmst", command)
    arguments: list[str] = ["sh", "-c", command]
    if ADDRESS in command:
        # A scheduler and a worker that end with the command.
        start = "from distributed import LocalCluster\nimport subprocess, sys\n"
        run = "sys.exit(subprocess.call(sys.argv[1].replace({!r}, cluster.scheduler_address), shell=True))"
        program = f"""{start}if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        {run.format(ADDRESS)}
"""
        Path("with_scheduler.py").write_text(program)
        arguments = [sys.executable, "with_scheduler.py", command]
    done = subprocess.run(arguments, text=True, capture_output=True, timeout=300, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("name", pages())
def test_a_page_runs_in_order(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    variables = prepare(tmp_path)
    if "networkx" in sys.modules:  # a page sets NetworkX's backend, for the rest of a process
        monkeypatch.setattr(sys.modules["networkx"].config, "backend_priority", [])
    for line, language, text in blocks(ROOT / name):
        if language == "python":
            code = compile("\n" * (line - 1) + text, name, "exec")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(code, variables)
        else:
            assert not language, f"{name}, line {line}: a block of {language}"
            for command in text.splitlines():
                shell(command, f"{name}, block at line {line}")


def test_pages_have_blocks() -> None:
    assert {"README.md", "docs/start.md", "docs/guides/files.md", "docs/guides/frames.md"} <= set(pages())
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150
