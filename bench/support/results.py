"""Options of the command line, and result files."""

from __future__ import annotations

import json
import tempfile
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

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


#: A run by its name: a function of the folder of its files and of the options, and defaults of the options.
Plans: TypeAlias = Mapping[str, tuple[Callable[[Path, Namespace], dict[str, Any]], dict[str, Any]]]


def run_plan(made: ArgumentParser, plans: Plans) -> tuple[Namespace, dict[str, Any]]:
    """Parse the command line of a benchmark of graphs in files, and return its options and the figures of its plan."""
    made.add_argument("plan", choices=plans)
    for name in ("vertices", "rows", "files"):
        made.add_argument(f"--{name}", type=int)
    made.add_argument("--limit")
    made.add_argument("--folder", type=Path, help="the files are made and kept in it (default: temporary)")
    chosen = made.parse_args()
    run, defaults = plans[chosen.plan]
    for name, value in defaults.items():
        setattr(chosen, name, value if getattr(chosen, name) is None else getattr(chosen, name))
    with tempfile.TemporaryDirectory() as temporary:
        return chosen, run((chosen.folder or Path(temporary)) / "edges", chosen)


def read(path: Path) -> dict[str, Any]:
    """The content of a result file; empty if there is none."""
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return result


def write(path: Path, result: Any) -> None:
    """Write a result file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
