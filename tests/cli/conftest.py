"""What the command line's tests share: a way to run it, and small files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result

from dfmst.cli import main
from tests.support.forked import Forked

PROGRAM = (sys.executable, "-P", "-c", "from dfmst.cli import main; main(prog_name='dfmst')")

#: A square with its diagonals and a pair apart; ties, a parallel row and a self-loop among them.
ROADS = {
    "source": ["a", "b", "c", "d", "a", "b", "x", "a", "c"],
    "target": ["b", "c", "d", "a", "c", "d", "y", "b", "c"],
    "weight": [4, 2, 2, 3, 2, 9, 7, 4, 0],
    "name": ["ab", "bc", "cd", "da", "ac", "bd", "xy", "ab again", "cc"],
}


@pytest.fixture(autouse=True)
def _own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every test run in an empty directory, so that messages hold short names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DFMST_DEBUG", raising=False)


@pytest.fixture
def dfmst() -> Callable[..., Result]:
    """Run the command line in this process, and expect an exit status."""

    def run(*arguments: Any, code: int = 0) -> Result:
        result = CliRunner().invoke(main, [str(argument) for argument in arguments], prog_name="dfmst")
        assert result.exit_code == code, result.stderr
        return result

    return run


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start the command line in a process of its own, after the Python lines `before`."""
    running: list[subprocess.Popen[bytes]] = []

    def run(*arguments: Any, before: str = "", env: Any = None, **options: Any) -> subprocess.Popen[bytes]:
        program = (*PROGRAM[:-1], f"{before}\n{PROGRAM[-1]}")
        command = [*program, *(str(argument) for argument in arguments)]
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        running.append(subprocess.Popen(command, env={**os.environ, **(env or {})}, **options))
        return running[-1]

    yield run
    for process in running:
        process.kill()
        process.wait(60)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


@pytest.fixture
def fork(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Forked]]:
    """Start the command line as `start` does, but without the time of its imports, and with its outputs in files."""
    running: list[Forked] = []

    def run(*arguments: Any, before: str = "") -> Forked:
        words = [str(argument) for argument in arguments]
        running.append(Forked(f"{before}\n{PROGRAM[-1]}", words, tmp_path_factory.mktemp("outputs")))
        return running[-1]

    yield run
    for process in running:
        process.kill()
        process.wait(60)


@pytest.fixture
def parquet() -> Callable[..., Path]:
    """Write columns, or a table, to a Parquet file in the current directory."""

    def write(name: str, columns: dict[str, Any] | pa.Table) -> Path:
        pyarrow.parquet.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), name)
        return Path(name)

    return write


@pytest.fixture
def roads(parquet: Callable[..., Path]) -> Path:
    return parquet("roads.parquet", ROADS)


@pytest.fixture
def rows() -> Callable[[str | Path], dict[str, list[Any]]]:
    """Read a Parquet file back."""

    def read(name: str | Path) -> dict[str, list[Any]]:
        return pyarrow.parquet.read_table(name).to_pydict()

    return read


@pytest.fixture
def picked() -> Callable[[list[int]], dict[str, list[Any]]]:
    """Give the rows of ROADS at these positions."""
    return lambda positions: {name: [values[row] for row in positions] for name, values in ROADS.items()}
