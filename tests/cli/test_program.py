"""The program around the commands: help, version, tracebacks, surprises."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys

import pytest

import dfmst as package


@pytest.fixture
def broken(monkeypatch):
    """Let solving fail with an error of choice."""

    def install(error):
        def fail(*_, **__):
            raise error

        monkeypatch.setattr("dfmst.forest.solve", fail)

    return install


def test_version(dfmst):
    assert dfmst("--version").stdout == f"dfmst {package.__version__}\n"


def test_help(dfmst):
    text = dfmst("--help").stdout
    commands = re.findall(r"^  ([a-z]+) {2,}", text.partition("\nCommands:\n")[2], re.MULTILINE)
    assert {"forest", "components", "verify", "convert", "demo", "report"} < set(commands)
    for command in commands:
        assert dfmst(command, "-h").stdout.startswith(f"Usage: dfmst {command} ")


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("forest ro", "file,ro"),
        ("report roads.csv -o pag", "file,pag"),
        ("forest roads.csv --algorithm bor", "plain,boruvka"),
        ("forest roads.csv --engine c", "plain,cpu\nplain,cuda"),
        ("con", "plain,convert"),
    ],
)
def test_the_shell_completes(start, words, completed):
    given = f"dfmst {words}"
    env = {"_DFMST_COMPLETE": "bash_complete", "COMP_WORDS": given, "COMP_CWORD": str(given.count(" "))}
    assert start(env=env).communicate(timeout=60)[0].decode().strip() == completed


def test_help_loads_no_library(start):
    check = "import sys, dfmst.cli; print(sorted({'numpy', 'pyarrow', 'narwhals', 'pandas'} & sys.modules.keys()))"
    process = start("--help", before=check)
    output, _ = process.communicate(timeout=60)
    assert output.startswith(b"[]\nUsage: dfmst ")


#: What takes long to load, and is of no use to a command that reads a table and writes its forest.
UNUSED = {"dask", "narwhals", "numpy.ma", "pandas", "polars", "pyarrow.compute", "pyarrow.dataset"}


@pytest.mark.parametrize("name", ["forest.csv", "forest.parquet"])
def test_a_command_loads_nothing_that_it_does_not_use(start, roads, tmp_path, name):
    check = f"import atexit, sys; atexit.register(lambda: print(sorted({UNUSED} & sys.modules.keys())))"
    for rows in (roads, tmp_path / name):  # a forest is its own forest
        process = start("forest", rows, "-o", tmp_path / name, "--verify", before=check)
        output, _ = process.communicate(timeout=60)
        assert output == b"[]\n"


def test_a_command_on_a_csv_loads_no_other_format_and_no_other_algorithm(start, tmp_path):
    used = {"formats.delimited", "algorithms.filter_kruskal"}
    unused = {
        "formats.metis",
        "formats.columnar",
        "algorithms.prim",
        "algorithms.frame_forest",
        "_verification.certificate",
    }
    names = {f"dfmst.{name}" for name in used | unused} | {"pyarrow.compute", "pyarrow.parquet"}
    check = f"import atexit, sys; atexit.register(lambda: print(sorted({names} & sys.modules.keys())))"
    (tmp_path / "roads.csv").write_text("source,target,weight\n0,1,3\n1,2,1\n0,2,2\n")
    process = start("forest", tmp_path / "roads.csv", "-o", tmp_path / "forest.csv", before=check)
    output, _ = process.communicate(timeout=60)
    assert output.decode() == f"{sorted(f'dfmst.{name}' for name in used)}\n"


def test_a_process_that_goes_on_keeps_pandas(roads):
    # Called by a program that uses PyArrow with pandas, a command does not hide pandas from it.
    program = (
        "import sys; from dfmst.cli import main; main.main(sys.argv[1:], standalone_mode=False)\n"
        "import pandas as pd, pyarrow as pa; print(pa.array(pd.Series([1.0, None])).null_count)"
    )
    command = [sys.executable, "-c", program, "forest", str(roads), "--json"]
    assert subprocess.run(command, capture_output=True, check=True, timeout=60).stdout.endswith(b"\n1\n")


@pytest.mark.parametrize(
    ("error", "message"), [(ValueError("strange\nand more"), "ValueError: strange"), (RuntimeError(), "RuntimeError")]
)
def test_surprise(dfmst, roads, broken, error, message):
    broken(error)
    result = dfmst("forest", roads, code=1)
    hint = "this should not happen; run again with --debug for the traceback, and please report it"
    assert result.stderr == f"Error: {message}\nHint: {hint}\n"
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "no space left on device"),
        (OSError(errno.EIO, "Input/output error", "roads.parquet"), "roads.parquet: input/output error"),
        (MemoryError(), "out of memory\nHint: leave out columns that you do not need, or use a larger machine"),
    ],
)
def test_failure_of_the_machine(dfmst, roads, broken, error, words):
    broken(error)
    assert dfmst("forest", roads, code=1).stderr == f"Error: {words}\n"


@pytest.mark.parametrize("arguments", [["--debug", "forest"], ["forest", "--debug"]])
def test_debug(dfmst, roads, broken, arguments):
    broken(ValueError("strange"))
    text = dfmst(*arguments, roads, code=1).stderr
    assert text.startswith("Traceback (most recent call last):\n")
    assert "\nValueError: strange\nError: ValueError: strange\n" in text


@pytest.mark.parametrize(("value", "shown"), [("1", True), ("0", False), ("", False)])
def test_debug_by_environment(dfmst, monkeypatch, value, shown):
    monkeypatch.setenv("DFMST_DEBUG", value)
    text = dfmst("forest", "none.parquet", code=2).stderr
    assert ("Traceback" in text) is shown
    assert "Error: none.parquet: no such file or directory\n" in text


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_no_file(dfmst, roads, monkeypatch, number):
    before = signal.signal(number, signal.SIG_DFL)
    monkeypatch.setattr("pathlib.Path.replace", lambda *_: signal.raise_signal(number))
    try:
        assert dfmst("forest", roads, "-o", "out.csv", code=128 + number).stderr == ""
        assert signal.getsignal(number) == signal.SIG_DFL  # handlers are removed at the end
    finally:
        signal.signal(number, before)
    assert os.listdir() == ["roads.parquet"]


def test_a_lost_reader_of_the_output(dfmst, roads, broken):
    broken(BrokenPipeError(errno.EPIPE, "Broken pipe"))
    assert dfmst("forest", roads, code=1).output == ""


def test_broken_pipe_is_quiet(start, roads):
    reading, writing = os.pipe()
    os.close(reading)
    process = start("forest", roads, stdout=writing)
    os.close(writing)
    _, text = process.communicate(timeout=60)
    assert process.returncode == 1
    assert text == b""
