"""docs/architecture.md says what is there: its layers are the import contract's, its paths exist."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

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
