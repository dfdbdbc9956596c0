"""Odd names, formats and numbers: exit status 2 with a message, never "this should not happen"."""

from __future__ import annotations

import errno
import gzip
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from dfmst.cli import main
from dfmst.formats import FORMATS, write

LONG = "x" * 300


@pytest.mark.parametrize("command", ["forest", "components", "convert"])
@pytest.mark.parametrize("name", ["a\0.csv", f"{LONG}.csv", "\udcff\0"])
def test_names_that_no_file_has(dfmst, roads, command, name):
    for arguments in ([roads, "-o", name], [name]):
        result = dfmst(command, *arguments, code=2)
        assert "is no name of a file: it " in result.stderr
    assert [path.name for path in Path().iterdir()] == ["roads.parquet"]


@pytest.mark.parametrize("option", ["--trace", "--checkpoint"])
def test_names_of_other_outputs(dfmst, roads, option):
    assert "it is too long" in dfmst("forest", roads, option, LONG, code=2).stderr


def test_the_longest_name(dfmst, roads):
    name = "x" * 251 + ".csv"
    dfmst("forest", roads, "-o", name)
    assert sorted(path.name for path in Path().iterdir()) == ["roads.parquet", name]


FULL = {
    errno.ENOSPC: "no space left on device\nHint: free some space, or write to another disk\n",
    errno.EDQUOT: "disk quota exceeded\nHint: free some space, or write to another disk\n",
    errno.EFBIG: "file too large\nHint: raise the limit, for example: ulimit -f unlimited, or write to another disk\n",
}


@pytest.fixture(params=FULL)
def full(monkeypatch, request):
    """Let a function fail as if the disk was full, a quota used up, or the file too long."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(request.param, os.strerror(request.param))

    def arrange(owner: object, name: str) -> str:
        monkeypatch.setattr(owner, name, fail)
        return FULL[request.param]

    return arrange


def test_a_full_disk_is_a_failure(dfmst, roads, full):
    words = full(write, "open_native")
    for arguments in (["-o", "forest.csv"], []):
        result = dfmst("forest", roads, *arguments, code=1)
        assert f": {words}" in result.stderr
    assert not Path("forest.csv").exists()


@pytest.mark.parametrize("command", ["newick", "report"])
def test_a_full_disk_of_a_text(dfmst, roads, full, command):
    words = full(Path, "write_text")
    result = dfmst(command, roads, "-o", "out", code=1)
    assert result.stderr == f"Error: cannot write out: {words}"
    assert not Path("out").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_device_is_a_failure(dfmst, roads):
    result = dfmst("forest", roads, "-o", "/dev/full", "--to", "csv", code=1)
    assert result.stderr.startswith("Error: cannot write /dev/full: no space left on device\n")


TOO_LONG = {
    "forest edges.parquet": tempfile.gettempdir(),
    "newick edges.parquet": "to standard output",
    "forest edges.parquet -o out.csv": "out.csv",
    "forest edges.parquet -o out.csv.xz": "out.csv.xz",
    "forest edges.parquet -o out.tsv.gz": "out.tsv.gz",
    "forest edges.parquet -o out.tsv.bz2": "out.tsv.bz2",
    "components edges.parquet -o out.parquet": "out.parquet",
    "convert edges.parquet -o out.arrow": "out.arrow",
    "forest words.parquet -o out.arrow": "out.arrow",
    "forest edges.parquet --memory-limit 1GiB --checkpoint saved -o out.csv": "a checkpoint to saved",
    "forest edges.parquet --memory-limit 1GiB --spill-dir spill -o out.csv": "out.csv",
    "forest -": "temporary files in ",
    "forest packed.gz": "temporary files in ",
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of files")
@pytest.mark.sampled(4)
@pytest.mark.parametrize("command", TOO_LONG)
def test_a_file_beyond_the_limit_of_the_shell(parquet, command):
    """Nothing is cut in silence, also by a standard output without a buffer."""
    ends = np.arange(20_000) * 12_345_678_901
    columns = {"source": ends, "target": ends + 1, "weight": ends / 7}
    packed = gzip.compress(parquet("edges.parquet", columns).read_bytes())
    Path("packed.gz").write_bytes(packed)
    parquet("words.parquet", {**columns, "word": pa.array(ends.astype(str)).dictionary_encode()})
    limited = ["bash", "-c", 'ulimit -f 40; exec "$@" < edges.parquet > out', "bash"]
    program = [sys.executable, "-P", "-c", "from dfmst.cli import main; main(prog_name='dfmst')"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    options: Any = {"env": environment, "stderr": subprocess.PIPE, "text": True, "check": False}
    done = subprocess.run([*limited, *program, *command.split()], **options)
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith(f"Error: cannot write {TOO_LONG[command]}")
    assert ": file too large; the limit is 40,960 bytes (ulimit -f)\nHint: raise the limit" in done.stderr


@pytest.mark.parametrize("step", ["touch", "replace"])
def test_no_room_for_the_file_itself(dfmst, roads, full, step):
    words = full(Path, step)
    Path("older.csv").write_text("older")
    for output in ("forest.csv", "older.csv"):
        assert dfmst("forest", roads, "-o", output, code=1).stderr == f"Error: cannot write {output}: {words}"
    assert sorted(os.listdir()) == ["older.csv", "roads.parquet"]
    assert Path("older.csv").read_text() == "older"


@pytest.mark.parametrize(
    ("arguments", "suggestion"),
    [
        (["forest", "roads.parquet", "-w", "wieght"], "did you mean -w weight?"),
        (["forest", "roads.parquet", "-s", "sorce", "--checkpoint", "saved"], "did you mean -s source?"),
        (["components", "roads.parquet", "-t", "Target"], "did you mean -t target?"),
        (["forest", "roads.parquet", "--algorithm", "boruvk"], "Did you mean 'boruvka'?"),
        (["forest", "roads.parquet", "--format", "parket"], "did you mean 'parquet'?"),
        (["forest", "roads.parquet", "--to", "parquett"], "did you mean 'parquet'?"),
        (["plan", "roads.parquet", "-s", "sources"], "did you mean -s source?"),
        (["plan", "roads.parquet", "-w", "weights"], "did you mean -w weight?"),
        (["forst", "roads.parquet"], "Did you mean 'forest'?"),
        (["forest", "roads.parquet", "--algoritm", "x"], "--algorithm"),
    ],
)
def test_misspelt_names(dfmst, roads, arguments, suggestion):
    assert suggestion in dfmst(*arguments, code=2).stderr


def test_older_click_suggests_commands_too(dfmst, roads, monkeypatch):
    import click

    def refuse(self, ctx, args):
        raise click.UsageError(f"No such command {args[0]!r}.", ctx)

    monkeypatch.setattr(click.Group, "resolve_command", refuse)
    assert "No such command 'forst'. Did you mean 'forest'?" in dfmst("forst", roads, code=2).stderr


def test_columns_are_checked_before_workers_start(dfmst, parquet, monkeypatch):
    pytest.importorskip("distributed")
    parquet("roads.parquet", {"source": [1], "target": [2], "weight": [3]})
    monkeypatch.setattr("dfmst._drive.files.cluster_client", lambda *_: pytest.fail("a cluster was started"))
    result = dfmst("forest", "roads.parquet", "-w", "wieght", "-o", "out", "--workers", "1", code=2)
    assert result.stderr == (
        "Error: roads.parquet has no column 'wieght'; its columns: 'source', 'target', 'weight'\n"
        "Hint: did you mean -w weight?\n"
    )


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_a_plan_that_does_not_fit_is_a_failure(dfmst, json):
    size = ["--n-vertices", "1_000_000_000", "--n-edges", "9_000_000_000", "--partitions", "9"]
    dfmst("plan", *size, "--memory-limit", "1GiB", "--strategy", "merge", *json, code=1)
    dfmst("plan", *size, "--memory-limit", "4TiB", "--strategy", "merge", *json)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--n-vertices", "9" * 400, "--n-edges", 9], "is not in the range"),
        (["--n-vertices", 9, "--n-edges", 9, "--gpus", 1], "--gpus and --gpu-memory-limit go together"),
        (
            ["--n-vertices", 9, "--n-edges", 9, "--gpus", 1, "--gpu-memory-limit", "1GB", "--strategy", "stream"],
            "--gpus and --gpu-memory-limit go together",
        ),
    ],
)
def test_plans_of_no_run(dfmst, arguments, message):
    assert message in dfmst("plan", *arguments, code=2).stderr


def test_help_of_convert_lists_the_formats(dfmst):
    text = " ".join(dfmst("convert", "--help").stdout.split())
    for name in FORMATS:
        assert name in text.partition("Formats read:")[2]


def test_counts_can_be_ignored(dfmst):
    Path("a.txt").write_text("# Nodes: 3 Edges: 9\n1 2 5\n")
    result = dfmst("forest", "a.txt", "-o", "out.csv", code=2)
    assert result.stderr.endswith("or read it as it is with --ignore-counts\n")
    for command in ("forest", "components", "convert"):
        dfmst(command, "a.txt", "--ignore-counts", "-o", f"{command}.csv")
    dfmst("verify", "a.txt", "forest.csv", "--ignore-counts")


def test_labels_of_nodes(dfmst, rows):
    text = 'graph [ node [ id 0 label "{}" ] node [ id 1 label "{}" ] edge [ source 0 target 1 weight 5 ] ]'
    Path("a.gml").write_text(text.format("Ann", "Bob"))
    Path("b.gml").write_text(text.format("Bob", "Eve"))
    result = dfmst("forest", "a.gml", "b.gml", "-o", "out.csv", code=2)
    assert result.stderr.endswith("--labels (of linkage: --node-labels), or the ids as they are with --no-labels\n")
    dfmst("convert", "a.gml", "b.gml", "--no-labels", "-o", "ids.parquet")
    assert rows("ids.parquet")["target"] == [1, 1]
    dfmst("forest", "a.gml", "b.gml", "--labels", "-o", "out.parquet")
    assert rows("out.parquet")["target"] == ["Bob", "Eve"]
    dfmst("verify", "a.gml", "--labels", "out.parquet", code=1)
    dfmst("forest", "a.gml", "--labels", "-o", "a.csv")
    dfmst("verify", "a.gml", "a.csv", "--labels")
    dfmst("linkage", "a.gml", "b.gml", "--node-labels", "--labels", "names.parquet", "-o", "merges.csv")
    assert rows("names.parquet")["vertex"] == ["Ann", "Bob", "Eve"]


def test_what_is_skipped_among_the_rows_is_told(dfmst):
    Path("a.txt").write_text("# a comment\n1 2 5\n#2 3 5\n3 4 5\n")
    for command in ("forest", "convert"):
        result = dfmst(command, "a.txt", "-o", f"{command}.csv")
        assert result.stderr.startswith("a.txt: skipped 1 comments or blank lines among the rows\n")


def test_the_package_runs_as_a_program():
    result = subprocess.run(
        [sys.executable, "-P", "-m", "dfmst", "--version"], capture_output=True, check=True, timeout=60
    )
    assert result.stdout.startswith(b"dfmst ")


INTERRUPTED = """
import sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from dfmst.__main__ import run
run()
"""


def test_an_interrupt_while_the_program_is_loaded():
    result = subprocess.run([sys.executable, "-P", "-c", INTERRUPTED], capture_output=True, timeout=60)
    assert (result.returncode, result.stdout, result.stderr) == (130, b"", b"")


def test_files_whose_names_are_no_utf8(dfmst):
    name = os.fsdecode(b"caf\xe9.parquet")
    table = pa.table({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})
    try:
        with open(name, "wb") as file:
            pyarrow.parquet.write_table(table, file)
    except OSError as error:
        pytest.skip(f"this file system takes no such name: {error}")
    kept = os.fsdecode(b"\xe9")
    dfmst("forest", name, "-o", "in memory.csv")
    dfmst("forest", name, "-o", "out.csv", "--memory-limit", "1GiB", "--checkpoint", kept)
    assert Path("out.csv").read_bytes() == Path("in memory.csv").read_bytes()
    forest = os.fsdecode(b"for\xeat.parquet")
    dfmst("forest", name, "-o", forest, "--checkpoint", kept)
    assert "is a minimum spanning forest" in dfmst("verify", name, forest).output
    assert "is a minimum spanning forest" in dfmst("verify", name, forest, "--memory-limit", "257MiB").output
    assert "merge: fits" in dfmst("plan", name, "--strategy", "merge").output


def test_a_link_to_itself(dfmst):
    os.symlink("loop", "loop")
    pyarrow.parquet.write_table(pa.table({"source": [0], "target": [1], "weight": [3]}), "edges.parquet")
    for option in ("-o", "--trace", "--checkpoint"):
        outputs = ["-o", "out.csv"] if option != "-o" else []
        assert "loop" in dfmst("forest", "edges.parquet", *outputs, option, "loop", code=2).stderr


CLOSED = [
    ("forest", "roads.parquet"),
    ("forest", "roads.parquet", "-o", "-"),
    ("components", "roads.parquet", "-o", "out.csv", "--json"),
    ("newick", "roads.parquet"),
    ("report", "roads.parquet", "-o", "-"),
    ("verify", "roads.parquet", "roads.parquet", "--json"),
    ("plan", "--n-vertices", "1000", "--n-edges", "5000"),
]


@pytest.mark.parametrize("arguments", CLOSED)
def test_a_closed_standard_output(capsys, monkeypatch, roads, arguments):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as ended:
        main.main(arguments, prog_name="dfmst")
    assert ended.value.code == 2
    errors = capsys.readouterr().err
    assert errors.startswith("Error: cannot write to standard output: it is closed\nHint: name a file with -o")
    assert os.listdir() == ["roads.parquet"]


def test_a_closed_standard_error(fork, roads):
    process = fork("forest", roads, "-o", "out.csv", before="import sys; sys.stderr = None")
    assert process.wait(60) == 0
    assert Path("out.csv").exists()


def test_standard_output_by_its_name(dfmst, roads):
    assert dfmst("forest", roads, "-o", "/dev/stdout").stdout == dfmst("forest", roads).stdout


@pytest.mark.parametrize("command", ["report", "newick", "forest"])
def test_a_terminal_that_lacks_letters(parquet, command):
    ids = {"source": ["Łódź"], "target": ["\u6771"], "weight": [1]}
    name = parquet("edges.parquet", ids)
    result = CliRunner(charset="latin-1").invoke(main, [command, str(name), "-o", "-"])
    assert result.exit_code == 0, result.stderr
    assert "Łódź" in result.stdout_bytes.decode()


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("km [m]", "'km [m]'"),
        ("[x]", "'[x]'"),
        ("x]'y", """'x]'"'"'y'"""),
        ("it's", """'it'"'"'s'"""),
        ('q"d', """'q"d'"""),
        ("back\\", "'back\\'"),
    ],
)
def test_hints_name_columns_with_brackets_and_quotes(dfmst, name, option):
    for first, words in ((1.0, "or keep them as text with"), ("a", "or keep both as they are with")):
        ends = [first, 2.5 if first == 1.0 else "a "]
        pa_csv.write_csv(pa.table({name: ends, "t": [2, 3], "weight": [3, 4]}), "in.csv")
        shown = dfmst("forest", "in.csv", "-s", name, "-t", "t", code=2).stderr
        assert f"{words} --text {option}" in shown or f"{words} --text t --text {option}" in shown


@pytest.mark.parametrize("column", ["counts=", "text='q'", "labels=True"])
def test_hints_keep_columns_named_like_arguments(dfmst, column):
    Path("in.csv").write_text(f"source,target,weight,{column}\n1,2,3,4\n")
    shown = dfmst("convert", "in.csv", "--text", f"z{column}", code=2).stderr
    assert shown.endswith(f"Hint: did you mean --text {shlex.quote(column)}?\n")
