"""The README as written: every block of Python and every command runs, in order, in a fresh folder.

Blocks that install, use a GPU or run this repository's benchmarks are left out. A cluster of one worker stands in for
``tcp://host:8786``.
"""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.slow

README = Path(__file__).resolve().parents[2] / "README.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LEFT_OUT = re.compile(r"\bpip install\b|^import cudf|^python bench/", re.MULTILINE)
ADDRESS = "tcp://host:8786"


def blocks() -> Iterator[tuple[int, str, str]]:
    """Line, language (nothing: the shell) and text of every block that runs."""
    text = README.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        if not LEFT_OUT.search(block[2]):
            yield text.count("\n", 0, block.start()) + 2, block[1], block[2]


def roads(seed: int, rows: int = 40) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    ends = {"a": draw.integers(0, 12, rows), "b": draw.integers(0, 12, rows)}
    return pd.DataFrame({**ends, "km": draw.random(rows), "operator": "north"})


def prepare(folder: Path) -> dict[str, Any]:
    """Write the files, and return the variables, that the README takes as known."""
    for name, count in (("edges", 3), ("parts", 2), ("saved", 0)):
        (folder / name).mkdir()
        for part in range(count):
            roads(part).to_parquet(folder / name / f"{part}.parquet")
    (folder / "saved").rmdir()
    for number, name in enumerate(("edges", "part-1", "part-2", "tuesday")):
        roads(number).to_parquet(folder / f"{name}.parquet")
    roads(7).to_csv(folder / "edges.csv.gz", index=False)
    (folder / "USA-road-d.NY.gr.gz").write_bytes(gzip.compress(b"c roads\np sp 3 2\na 1 2 5\na 2 3 6\n"))
    return {"monday": roads(1), "tuesday": roads(2)}


def shell(command: str, line: int) -> None:
    """Run a line of a shell block; `dfmst` is the package under test."""
    options = {"text": True, "capture_output": True, "timeout": 300, "check": False}
    if ADDRESS in command:
        # A scheduler and a worker that end with the command.
        start = "from distributed import LocalCluster\nimport subprocess, sys\n"
        run = "sys.exit(subprocess.call(sys.argv[1].replace({!r}, cluster.scheduler_address), shell=True))"
        program = f"""{start}if __name__ == "__main__":
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        {run.format(ADDRESS)}
"""
        Path("with_scheduler.py").write_text(program)
        arguments: Any = [sys.executable, "with_scheduler.py", _with_python(command)]
        result = subprocess.run(arguments, **options)  # type: ignore[call-overload]
    else:
        result = subprocess.run(_with_python(command), shell=True, **options)  # type: ignore[call-overload]
    assert result.returncode == 0, f"README.md, block at line {line}: {command}\n{result.stdout}{result.stderr}"


def _with_python(command: str) -> str:
    return re.sub(r"^dfmst\b", f"{sys.executable} -P -m dfmst", command)


def test_readme_runs_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    variables = prepare(tmp_path)
    ran = 0
    for line, language, text in blocks():
        if language == "python":
            code = compile("\n" * (line - 1) + text, str(README), "exec")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(code, variables)
        else:
            assert not language, f"line {line}: a block of {language}"
            for command in text.splitlines():
                shell(command, line)
        ran += 1
    assert ran > 5
