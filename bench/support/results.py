"""Options of the command line, and result files."""

from __future__ import annotations

import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parents[1]
RESULTS = BENCH / "results"
BUSY: dict[str, Any] = {"action": "store_true", "help": "leave wall times out: the machine does other work as well"}


def parser(text: str | None, result: str = "", **defaults: float | str) -> ArgumentParser:
    """A parser with an option for each default, and ``-o`` for the result file (or the folder of results)."""
    made = ArgumentParser(description=text, formatter_class=RawDescriptionHelpFormatter)
    for name, value in defaults.items():
        made.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value, help="default: %(default)s")
    made.add_argument("-o", "--output", type=Path, default=RESULTS / result, help="default: %(default)s")
    return made


def read(path: Path) -> dict[str, Any]:
    """The content of a result file; empty if there is none."""
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return result


def write(path: Path, result: Any) -> None:
    """Write a result file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
