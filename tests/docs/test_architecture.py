"""docs/architecture.md says what is there: layers are the import contract's, paths exist, and walks are short."""

from __future__ import annotations

import ast
import re
import sys
import threading
import tomllib
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

import dfmst
from dfmst.cli import main

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
LAYERS = CONTRACTS[0]["layers"]
PATHS = sorted(
    set(re.findall(r"`((?:dfmst|tests|_\w+|algorithms)/[\w./]+)`", TEXT))
    - {"dfmst/algorithms/NAME.py", "dfmst/formats/NAME.py"}
)


def test_the_layers_are_those_of_the_contract():
    assert "\n".join(["```text", *LAYERS, "```"]) in TEXT


@pytest.mark.parametrize("path", PATHS)
def test_every_path_exists(path):
    assert (ROOT / path).exists() or (ROOT / "dfmst" / path).exists()


@pytest.mark.parametrize("layer", [name for layer in LAYERS for name in layer.split(" | ")])
def test_every_room_is_named(layer):
    assert layer in TEXT.split("## The layers")[0]
    assert (ROOT / "dfmst" / layer).is_dir() or (ROOT / "dfmst" / f"{layer}.py").is_file()


PACKAGE = Path(dfmst.__file__).parent
FLOORS = {room: floor for floor, line in enumerate(LAYERS) for room in line.split(" | ")}


def walk(call):
    """The files and rooms (folders, and files next to them) that a call enters, and the pairs of rooms that call up."""
    files, climbs = set(), set()

    def file_of(frame):
        path = Path(frame.f_code.co_filename)
        return path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else None

    def room_of(file):
        return file.stem if file.parent == Path() else file.parent.as_posix()

    def note(frame, event, _):
        file, caller = file_of(frame) if event == "call" else None, frame.f_back
        if file is None:
            return
        while caller is not None and file_of(caller) is None:
            caller = caller.f_back
        files.add(file)
        if caller is None:
            return
        room, before = room_of(file), room_of(file_of(caller))
        if FLOORS.get(before.partition("/")[0], 0) > FLOORS.get(room.partition("/")[0], 0):
            climbs.add((before, room))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return files, set(map(room_of, files)), climbs


#: Driver -> files that a walk enters at most.
MOST_FILES = {"memory": 22, "stream": 34, "command": 48, "dask": 36}


@pytest.mark.parametrize("driver", MOST_FILES)
def test_a_walk_enters_few_rooms_and_calls_up_rarely(driver, tmp_path):
    # The contract sees imports only; these see callbacks, decorators and properties too.
    frame: Any = pd.DataFrame({"source": [0, 1, 0] * 30, "target": [1, 2, 2] * 30, "weight": range(90)})
    frame.to_parquet(tmp_path / "edges.parquet")
    frame.to_csv(tmp_path / "edges.csv", index=False)
    command = ["forest", str(tmp_path / "edges.csv"), "-o", str(tmp_path / "forest.csv")]
    if driver == "dask":
        frame = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3)
    call = {
        "memory": lambda: dfmst.minimum_spanning_forest(frame),
        "dask": lambda: dfmst.minimum_spanning_forest(frame).compute(scheduler="synchronous"),
        "stream": lambda: dfmst.stream.minimum_spanning_forest(tmp_path / "edges.parquet"),
        "command": lambda: CliRunner().invoke(main, command, catch_exceptions=False),
    }[driver]
    call()  # imports
    files, rooms, climbs = walk(call)
    assert len(files) <= MOST_FILES[driver], sorted(files)
    assert len(rooms) <= 15, sorted(rooms)
    assert len(climbs) <= 3, sorted(climbs)


#: Folder -> lines and files of Python at most, so that what is added shows.
MOST = {"dfmst": (48_260, 158), "tests": (47_300, 301)}


@pytest.mark.parametrize("folder", MOST)
def test_the_house_does_not_grow(folder):
    lengths = [len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / folder).rglob("*.py")]
    print(f"{folder}: {sum(lengths):,} lines in {len(lengths)} files")
    lines, files = MOST[folder]
    assert sum(lengths) <= lines
    assert len(lengths) <= files


def test_files_and_functions_can_be_read_at_a_time():
    paths = list((ROOT / "dfmst").rglob("*.py"))
    lengths = [len(path.read_text(encoding="utf-8").splitlines()) for path in paths]
    assert max(lengths) <= 700
    assert 200 <= median(lengths) <= 350
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                documented = len((ast.get_docstring(node, clean=False) or "").splitlines())
                assert (node.end_lineno or 0) - node.lineno + 1 - documented <= 60, f"{path.name}: {node.name}"


def test_a_name_has_one_meaning():
    homes: dict[str, set[str]] = {}
    for path in (ROOT / "dfmst").rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, set()).add(path.name)
    public = {*dfmst.__all__, *dfmst.stream.__all__}
    assert {name for name, paths in homes.items() if len(paths) > 1} - public - {"mst", "solve"} == set()
