"""Wrong input and wrong commands: the exact words, the exit status, and no output file left behind."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from dfmst.formats import write_edges

COLUMNS = {"source": [1, 2, 1], "target": [2, 3, 3], "weight": [3.0, 1.0, 2.0]}
NAN = float("nan")
PATHS = "check the name, and the directory you are in"
INVALID = "fill or remove those rows, or leave them out with --invalid drop"
IDS = "vertex ids must be integers, strings or categoricals"
WEIGHTS = "weights must be integers, floats, decimals, booleans, durations, dates or times"
EQUAL = "give all files the same columns, of the same types"
NAMES = "name your columns with -s, -t and -w; --unweighted if all weights are equal"
LINE = "repair or remove the line"
HAS, IF = "'source', 'target', 'cost'", "if all weights are equal"
COST = "name your columns, for example -w cost"
SUFFIX = "end it in .csv, .tsv, .parquet or .arrow, or choose one with --to: arrow, csv, parquet, tsv"


def table(**columns):
    """Write edges with some of the columns replaced."""
    changed = {**COLUMNS, **columns}
    pyarrow.parquet.write_table(
        pa.table({name: values for name, values in changed.items() if values is not None}), "in.parquet"
    )


def text(name: str, content: bytes | str = b"") -> None:
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)


def twins() -> None:
    """Write a Parquet file with two columns of one name."""
    arrays = [pa.array([1, 2]), pa.array([2, 3]), pa.array([2, 3])]
    pyarrow.parquet.write_table(pa.Table.from_arrays(arrays, ["source", "target", "target"]), "in.parquet")


CAST = "cast the column to a number, or use --unweighted to give all edges the same weight"
ONE_ID = "make one id of the fields, for example by joining them into a string"
TWO_KINDS = "column 'source' holds string ids and column 'target' holds int64 ids, which have no exact common type"
#: Case -> what prepares the input, or its columns; the message and the hint.
INPUTS: dict[str, tuple[Any, str, str]] = {
    "missing file": (lambda: None, "in.parquet: no such file or directory", PATHS),
    "zero bytes": (
        lambda: text("in.parquet"),
        "in.parquet, line 1: the file is empty",
        "fetch or write the file again",
    ),
    "empty directory": (
        lambda: Path("in.parquet").mkdir(),
        "in.parquet: a directory without a Parquet file",
        "their names end in .parquet, .parq, .pq",
    ),
    "two columns of one name": (
        twins,
        "in.parquet has 2 columns named 'target'",
        "rename them, so that each column has its own name",
    ),
    "missing source": (
        {"source": None},
        "in.parquet has no column 'source'; its columns: 'target', 'weight'",
        "name your columns with -s, -t and -w",
    ),
    "missing weight": ({"weight": None}, "in.parquet has no column 'weight'; its columns: 'source', 'target'", NAMES),
    "null id": ({"target": [2, None, None]}, "column 'target' has 2 null ids, the first in row 1", INVALID),
    "NaN weight": ({"weight": [1.0, NAN, 2.0]}, "column 'weight' has 1 weight that is NaN or null, in row 1", INVALID),
    "float ids": (
        {"source": [1.0, 2.0, 1.0]},
        f"column 'source' holds double values; {IDS}",
        "cast the column to int64 (pandas turns integer ids with gaps into floats)",
    ),
    "nested ids": ({"source": [{"a": 1}] * 3}, f"column 'source' holds struct<a: int64> values; {IDS}", ONE_ID),
    "text beside numbers": (
        {"source": ["a", "b", "c"]},
        TWO_KINDS,
        "cast both columns to one type, so that equal ids are equal",
    ),
    "string weight": ({"weight": ["1", "2", "3"]}, f"column 'weight' holds string values; {WEIGHTS}", CAST),
}


def prepared(case: str) -> tuple[str, str]:
    """Write the input of a case; return the message and the hint."""
    prepare, message, hint = INPUTS[case]
    if isinstance(prepare, dict):
        table(**prepare)
    else:
        prepare()
    return message, hint


def failure(result, message: str, hint: str) -> None:
    assert result.stderr == f"Error: {message}\nHint: {hint}\n"
    assert result.stdout == ""


def left_behind() -> list[str]:
    return sorted(path.name for path in Path().iterdir() if path.name not in ("in.parquet", "other.parquet"))


@pytest.mark.parametrize("case", INPUTS)
def test_wrong_input(dfmst, case):
    message, hint = prepared(case)
    failure(dfmst("forest", "in.parquet", "-o", "out.parquet", code=2), message, hint)
    assert left_behind() == []


@pytest.mark.parametrize("case", ["missing file", "zero bytes", "empty directory", "two columns of one name"])
@pytest.mark.parametrize("command", ["components", "convert"])
def test_wrong_input_of_other_commands(dfmst, command, case):
    message, hint = prepared(case)
    failure(dfmst(command, "in.parquet", "-o", "out.parquet", code=2), message, hint)
    assert left_behind() == []


@pytest.mark.parametrize("command", ["forest", "components", "convert"])
def test_damaged_parquet(dfmst, command):
    table()
    text("in.parquet", Path("in.parquet").read_bytes()[:-20])
    result = dfmst(command, "in.parquet", "-o", "out.parquet", code=2)
    # What stands in the brackets is PyArrow's.
    assert result.stderr.startswith("Error: in.parquet: not a Parquet file, or a damaged one (")
    assert result.stderr.endswith(")\nHint: fetch or write the file again\n")
    assert left_behind() == []


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        ("source,target,weight\n1,2\n", "in.csv, line 2: too few columns: 2 instead of 3: '1,2'", LINE),
        (
            "source,target,cost\n1,2,3\n",
            f"in.csv has no column 'weight'; its columns: {HAS}",
            f"{COST}; --unweighted {IF}",
        ),
    ],
)
def test_wrong_text(dfmst, content, message, hint):
    text("in.csv", content)
    failure(dfmst("forest", "in.csv", "-o", "out.parquet", code=2), message, hint)
    assert sorted(os.listdir()) == ["in.csv"]


NO_FORMAT = "no format to write follows from the name"
CREATE = "create the directory first, or name another"
OUTPUTS = {
    **{name: (f"cannot write {name}: {NO_FORMAT}", SUFFIX) for name in ("out", "out.xyz", "out.gml")},
    "none/out.csv": ("cannot write none/out.csv: the directory none does not exist", CREATE),
    "in.parquet/out.csv": ("cannot write in.parquet/out.csv: in.parquet is not a directory", CREATE),
    "in.parquet": ("in.parquet is also an input (in.parquet)", "write to another file"),
    "./sub/../in.parquet": ("sub/../in.parquet is also an input (in.parquet)", "write to another file"),
    "sub": ("cannot write sub: it is a directory", "name a file in it"),
}


@pytest.mark.parametrize("command", ["forest", "components", "convert"])
@pytest.mark.parametrize("output", OUTPUTS)
def test_wrong_output(dfmst, command, output):
    table()
    Path("sub").mkdir()
    before = Path("in.parquet").read_bytes()
    more = ["--to", "csv"] if output == "sub" else []
    failure(dfmst(command, "in.parquet", "-o", output, *more, code=2), *OUTPUTS[output])
    assert Path("in.parquet").read_bytes() == before
    assert left_behind() == ["sub"]


@pytest.mark.parametrize("how", [os.link, os.symlink])
def test_output_is_the_input_by_another_name(dfmst, how):
    table()
    how("in.parquet", "out.parquet")
    before = Path("in.parquet").read_bytes()
    result = dfmst("forest", "in.parquet", "-o", "out.parquet", code=2)
    failure(result, "out.parquet is also an input (in.parquet)", "write to another file")
    assert Path("in.parquet").read_bytes() == before


@pytest.mark.parametrize(
    "arguments", [["forest", "-o"], ["convert", "--to", "csv", "-o"], ["newick", "-o"], ["report", "-o"]]
)
def test_output_is_named_like_a_directory(dfmst, arguments):
    table()
    result = dfmst(arguments[0], "in.parquet", *arguments[1:], "x/", code=2)
    failure(result, "cannot write x/: that names a directory", "name a file in it")
    assert left_behind() == []


def test_output_in_the_input_directory(dfmst):
    table()
    Path("parts").mkdir()
    os.rename("in.parquet", "parts/0.parquet")
    result = dfmst("forest", "parts", "-o", "parts/forest.parquet", code=2)
    failure(result, "parts/forest.parquet is inside the input directory parts", "write to another directory")
    assert os.listdir("parts") == ["0.parquet"]


def test_wrong_trace(dfmst):
    table()
    result = dfmst("forest", "in.parquet", "-o", "out.csv", "--trace", "./out.csv", code=2)
    assert result.stderr.endswith("\nError: -o and --trace name the same file.\n")
    result = dfmst("forest", "in.parquet", "-o", "out.csv", "--trace", "trace.txt", code=2)
    failure(result, "cannot write trace.txt: no format to write follows from the name", SUFFIX)
    assert left_behind() == []


def test_column_that_the_format_cannot_hold(dfmst):
    table(tags=[["x"], ["y"], []])
    result = dfmst("forest", "in.parquet", "-o", "out.csv", code=2)
    assert result.stderr.startswith("Error: cannot write out.csv: ")
    assert result.stderr.endswith("\nHint: Parquet takes columns of any type\n")
    assert left_behind() == []


@pytest.mark.parametrize("command", ["forest", "components", "convert"])
def test_inputs_with_other_columns(dfmst, command):
    table()
    pyarrow.parquet.write_table(pa.table({"a": [1], "b": [2]}), "other.parquet")
    result = dfmst(command, "in.parquet", "other.parquet", "-o", "out.parquet", code=2)
    difference = "a, b instead of source, target, weight"
    failure(result, f"other.parquet has other columns than in.parquet: {difference}", EQUAL)
    assert left_behind() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["forest"], "Missing argument 'IN...'."),
        (["forest", "in.parquet", "--algorithm", "magic"], "Invalid value for '--algorithm': 'magic' is not one of "),
        (["forest", "in.parquet", "--threads", "0"], "Invalid value for '--threads': 0 is not in the range x>=1."),
        (["forest", "in.parquet", "--engine", "tpu"], "Invalid value for '--engine': 'tpu' is not one of "),
        (["forest", "in.parquet", "--invalid", "fix"], "Invalid value for '--invalid': 'fix' is not one of "),
        (["convert", "in.parquet", "--json"], "--json needs a file to write: name it with -o."),
        (["verify", "in.parquet"], "Missing argument 'FOREST'."),
        (["forest", ""], "Invalid value for 'IN...': the name is empty."),
        (["forest", "in.parquet", "-o", ""], "Invalid value for '-o' / '--output': the name is empty."),
        (["forest", "in.parquet", "-s", "a", "-t", "a"], "--source and --target both name the column 'a'."),
        (["components", "in.parquet", "-t", "source"], "--source and --target both name the column 'source'."),
        (["forest", "in.parquet", "-w", "km", "--weight", "cost"], "--weight is given 2 times, and names one column."),
        (["forest", "in.parquet", "-o", "a.csv", "-o", "b.csv"], "--output is given 2 times, and names one file."),
        (["prove"], "No such command 'prove'."),
    ],
)
def test_wrong_command(dfmst, arguments, message):
    result = dfmst(*arguments, code=2)
    assert result.stderr.startswith("Usage: dfmst ")
    assert f"\nError: {message}" in result.stderr


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_standard_input(tmp_path, start, suffix):
    table = pa.table({"source": ["a", "b", "a"], "target": ["b", "c", "c"], "weight": [1, 2, 3]})
    write_edges(table, tmp_path / f"in.{suffix}")
    with (tmp_path / f"in.{suffix}").open("rb") as file:
        out, err = start("forest", "-", stdin=file).communicate(timeout=60)
    assert out.splitlines() == [b"source,target,weight", b"a,b,1", b"b,c,2"], err


def test_standard_input_is_read_once(dfmst):
    reported = dfmst("forest", "-", "-", code=2).stderr
    assert "standard input cannot be read: it can be read once. Name a file." in reported


def test_unknown_format(dfmst):
    table()
    result = dfmst("forest", "in.parquet", "--format", "excel", code=2)
    assert result.stderr.startswith("Error: the format 'excel' is unknown\nHint: these are known: arrow, ")
    result = dfmst("forest", "in.parquet", "--to", "gml", code=2)
    failure(result, "the format 'gml' cannot be written", "these can be: arrow, csv, parquet, tsv")


def test_engine_that_is_not_there(dfmst, monkeypatch):
    def absent(name: str):
        raise ImportError(name)

    monkeypatch.setattr("dfmst._engines.cuda.import_module", absent)
    table()
    result = dfmst("forest", "in.parquet", "-o", "out.parquet", "--engine", "cuda", code=1)
    extra = "install dfmst with the extra for your driver (pip install 'dfmst[cu13]', or 'dfmst[cu12]')"
    failure(result, "engine='cuda' needs CuPy: cupy", f"{extra}, or use --engine cpu")
    assert left_behind() == []
