"""``dfmst demo``."""

from __future__ import annotations

import shlex
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dfmst.cli.console import Progress, Stopwatch
from dfmst.cli.inputs import load_libraries
from dfmst.cli.options import debug_option
from dfmst.errors import DfmstError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["aligned", "cities_path", "demo"]

LONGEST = 5


def cities_path() -> Path:
    """Return where the links between the world's cities lie.

    Raises
    ------
    DfmstError
        The installation lacks them.
    """
    package = Path(__file__).parents[1]
    # Beside the package in a source tree, where an editable installation reads it.
    places = (package / "data" / "cities.parquet", package.parent / "examples" / "data" / "cities.parquet")
    for place in places:
        if place.is_file():
            return place
    raise DfmstError(f"the demo data is missing: {places[0]}", "install dfmst again")


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Return the lines of a table whose columns are as wide as their widest entry.

    Parameters
    ----------
    rows
        The entries.
    right
        Columns that are set flush right.

    Examples
    --------
    >>> print(*aligned([("a", "1"), ("bcd", "20")], right=(1,)), sep="|")
    a     1|bcd  20
    """
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = []
        for at, (entry, width) in enumerate(zip(row, widths, strict=True)):
            blank = " " * (width - _width(entry))
            cells.append(blank + entry if at in right else entry + blank)
        lines.append("  ".join(cells).rstrip())
    return lines


def _width(text: str) -> int:
    """Columns that a text takes on a terminal."""
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text
    )


@click.command(short_help="Show a minimum spanning forest of the world's cities.")
@debug_option
def demo() -> None:
    """Find and verify the minimum spanning forest of the links between the world's cities.

    The data is installed with dfmst: every city of more than 15,000 people and its nearest neighbours, from
    GeoNames (https://www.geonames.org, CC BY 4.0). Nothing is written.
    """
    import pyarrow.parquet as pq

    import dfmst

    path = cities_path()
    load_libraries()
    watch = Stopwatch()
    with Progress() as progress:
        progress.show("reading the cities")
        links = pq.read_table(path)
        progress.show("finding the forest")
        with watch.step("solve"):
            forest = dfmst.minimum_spanning_forest(links, "source", "target", "km")
        progress.show("verifying the forest")
        with watch.step("verify"):
            certificate = dfmst.verify(links, forest, "source", "target", "km")
    if not certificate.ok:
        message = f"a fault of dfmst: {certificate}"
        raise RuntimeError(message)
    seconds = watch.seconds()
    facts = [
        ("cities", f"{forest.num_rows + certificate.components:,}", "of more than 15,000 people (GeoNames, CC BY 4.0)"),
        ("links", f"{links.num_rows:,}", "from each city to its nearest neighbours"),
        ("forest", f"{forest.num_rows:,}", f"links, found in {seconds['solve']:.3f} s"),
        ("length", f"{certificate.total_weight:,.2f}", "km, the least that keeps connected what was connected"),
        ("trees", f"{certificate.components:,}", "that no link joins"),
        ("verified", "yes", f"every link that was left out is the longest of a cycle ({seconds['verify']:.3f} s)"),
    ]
    _print("The world's cities, linked by a minimum spanning forest", aligned(facts, right=(1,)))
    _print(f"The {LONGEST} longest links of the forest", aligned(_longest(forest), right=(2,)))
    _print("Now try", _commands(path))


def _longest(forest: pa.Table) -> list[tuple[str, str, str]]:
    longest = forest.sort_by([("km", "descending")]).slice(0, LONGEST).to_pylist()
    return [("source", "target", "km"), *((row["source"], row["target"], f"{row['km']:,.2f}") for row in longest)]


def _commands(path: Path) -> list[str]:
    data = shlex.quote(str(path))
    return [
        f"dfmst forest {data} -w km -o forest.parquet",
        f"dfmst verify {data} forest.parquet -w km",
        f"dfmst components {data} -o components.csv",
        "dfmst forest --help",
    ]


def _print(title: str, lines: list[str]) -> None:
    # A terminal that cannot show a name's letters shows question marks rather than an error.
    encoding = sys.stdout.encoding or "utf-8"
    text = "\n".join([title, *(f"  {line}" for line in lines), ""])
    click.echo(text.encode(encoding, errors="replace").decode(encoding))
