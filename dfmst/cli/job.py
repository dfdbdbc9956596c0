"""What ``dfmst forest`` was called with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

__all__ = ["ForestJob", "weight_name"]


@dataclass(frozen=True, slots=True)
class ForestJob:
    """What the command line asks for."""

    inputs: tuple[Path, ...]
    output: Path | None
    to: str | None
    format: str | None
    source: str
    target: str
    weight: str | None
    maximum: bool
    algorithm: str
    engine: str
    threads: int | None
    invalid: Any
    verify: bool
    trace: Path | None
    json: bool
    memory_limit: str | None = None
    checkpoint: Path | None = None
    spill_dir: Path | None = None
    by: tuple[str, ...] = ()
    keep: str | None = None
    drop: str | None = None
    report: Path | None = None
    points: Path | None = None
    id: str | None = None
    coordinates: tuple[str, str] | None = None

    @property
    def conditions(self) -> dict[str, Any]:
        """Groups, and columns of rows to keep or to drop."""
        return {"by": list(self.by) or None, "keep": self.keep, "drop": self.drop}

    def require_memory(self, option: str) -> None:
        """Raise where an option does not go with conditions."""
        for name, value in self.conditions.items():
            if value is not None:
                raise click.UsageError(f"--{name} needs the rows in memory; leave {option} out.")

    @property
    def kind(self) -> str:
        """What the forest is called."""
        if self.weight is None:
            return "spanning forest"
        return "maximum spanning forest" if self.maximum else "minimum spanning forest"


def weight_name(weight: str | None, unweighted: bool, maximum: bool = False) -> str | None:
    """Return the weight column's name, or ``None`` where all weights are equal."""
    if not unweighted:
        return "weight" if weight is None else weight
    for option, present in (("--weight", weight is not None), ("--maximum", maximum)):
        if present:
            raise click.UsageError(f"--unweighted and {option} cannot be combined.")
    return None
