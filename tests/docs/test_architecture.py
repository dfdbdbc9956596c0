"""docs/architecture.md says what is there: layers are the import contract's, paths exist, and walks are short."""

from __future__ import annotations

import re
import sys
import threading
import tomllib
from pathlib import Path
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
    """The rooms that a call enters (folders, and files next to them), and the pairs of rooms in which one calls up."""
    rooms, climbs = set(), set()

    def room_of(frame):
        path = Path(frame.f_code.co_filename)
        if not path.is_relative_to(PACKAGE):
            return None
        inside = path.relative_to(PACKAGE)
        return inside.stem if inside.parent == Path() else inside.parent.as_posix()

    def note(frame, event, _):
        room, caller = room_of(frame) if event == "call" else None, frame.f_back
        if room is None:
            return
        while caller is not None and room_of(caller) is None:
            caller = caller.f_back
        rooms.add(room)
        above = FLOORS.get(room.partition("/")[0], 0)
        if caller is not None and FLOORS.get(room_of(caller).partition("/")[0], 0) > above:
            climbs.add((room_of(caller), room))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return rooms, climbs


@pytest.mark.parametrize("driver", ["memory", "stream", "command", "dask"])
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
    rooms, climbs = walk(call)
    assert len(rooms) <= 15, sorted(rooms)
    assert len(climbs) <= 3, sorted(climbs)
