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


class Claim(NamedTuple):
    """A claim that the rows keep or not.

    `where` is the place in the paper; `OURS` if the paper does not make it. `kept` is ``None`` if this machine cannot
    test it. `why` explains a claim that is not kept.
    """

    text: str
    kept: bool | None
    where: str
    why: str = ""

    @property
    def verdict(self) -> str:
        """Whether ours agrees, and why not."""
        if self.kept:
            return "agrees"
        return ("not tested" if self.kept is None else "**differs**") + (f": {self.why}" if self.why else "")


OURS = "ours"


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
        Claims of the paper's text, and some of ours, by :mod:`paper_figures.rules`; empty if the text has no claim that
        numbers can test.
    data
        Graphs that stand for those of the paper.
    note
        Differences of method.
    """

    figure: str
    title: str
    x: str
    rows: list[Row]
    published: str
    ours: str
    claims: list[Claim]
    data: str
    note: str

    @property
    def tally(self) -> str:
        """How many of the paper's own claims agree."""
        own = [claim.kept for claim in self.claims if claim.where != OURS]
        if not own:
            return "no claim to test"
        return f"{sum(kept is True for kept in own)} of {len(own)} claims agree"


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
    fields = ("figure", "title", "published", "ours", "tally", "data", "note")
    texts = {field: getattr(figure, field) for field in fields}
    claims = [{**claim._asdict(), "verdict": claim.verdict} for claim in figure.claims]
    account = {**texts, "claims": claims, **spent, "machine": machine}
    table = _table(figure).replace_schema_metadata({METADATA: json.dumps(account, ensure_ascii=False)})
    pq.write_table(table, folder / f"{name}.parquet", compression="zstd")


def read_account(path: Path) -> dict[str, Any]:
    """The account in a file's metadata."""
    account: dict[str, Any] = json.loads(pq.read_schema(path).metadata[METADATA])
    return account
