"""A figure: measured rows with the published numbers, as a Parquet file and a plot."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from paper_figures.setting import Setting

METADATA = b"dfmst.paper"


class Row(NamedTuple):
    """One measured number.

    `published` is the number in the paper's text, ``None`` if there is none; a range goes up to `published_high`.
    `cited` is the place in the text.
    """

    panel: str
    series: str
    x: float | str
    value: float
    published: float | None = None
    published_high: float | None = None
    cited: str | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure, measured again.

    Attributes
    ----------
    figure
        Which one of which paper.
    x
        Name of the axis, and of the Parquet column.
    rows
        The numbers, by panel and series.
    published, ours
        Summary of the paper's text, and of our numbers.
    claims
        Claims of the paper's text, and whether the rows keep them, by :mod:`paper_figures.rules`; empty if the text
        has no claim that numbers can test.
    note
        Differences of size or method.
    """

    figure: str
    title: str
    x: str
    rows: list[Row]
    published: str
    ours: str
    claims: dict[str, bool]
    note: str

    @property
    def agrees(self) -> bool | None:
        """Whether every claim is kept; ``None`` without any."""
        return all(self.claims.values()) if self.claims else None


#: Measures a figure; ``None`` if its graphs are absent.
Measure = Callable[[Setting], Figure | None]


def _table(figure: Figure) -> pa.Table:
    columns = [list(column) for column in zip(*figure.rows, strict=True)]
    names = ["panel", "series", figure.x, *Row._fields[3:]]
    x = pa.array(columns[2], None if isinstance(columns[2][0], str) else pa.float64())
    numbers = [pa.array(column, pa.float64()) for column in columns[3:6]]
    texts = [pa.array(columns[at], pa.string()) for at in (0, 1, 6)]
    return pa.table([texts[0], texts[1], x, *numbers, texts[2]], names=names)


def write(name: str, figure: Figure, machine: dict[str, Any], spent: dict[str, float], folder: Path) -> None:
    """Write the Parquet file with the account of the run in its metadata; `spent`: its seconds, the load before."""
    texts = {
        field: getattr(figure, field) for field in ("figure", "title", "published", "ours", "agrees", "claims", "note")
    }
    account = {**texts, **spent, "machine": machine}
    table = _table(figure).replace_schema_metadata({METADATA: json.dumps(account, ensure_ascii=False)})
    pq.write_table(table, folder / f"{name}.parquet", compression="zstd")


def read_account(path: Path) -> dict[str, Any]:
    """The account in a file's metadata."""
    account: dict[str, Any] = json.loads(pq.read_schema(path).metadata[METADATA])
    return account
