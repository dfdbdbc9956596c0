"""``dfmst demo``."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dfmst.cli.console import Progress, Stopwatch, aligned, print_text
from dfmst.cli.job import load_libraries
from dfmst.errors import OutputError

if TYPE_CHECKING:
    import pyarrow as pa

    from dfmst.forest import Forest

LONGEST = 5
_COMMANDS = (
    "forest demo:cities -w km -o forest.parquet",
    "verify demo:cities forest.parquet -w km",
    "clusters demo:cities -w km -k 50 -o clusters.csv",
    "report demo:cities -w km --points demo:points --coordinates lon lat",
    "forest --help",
)
PAGE = Path("cities.html")


@click.command(short_help="Show a minimum spanning forest of the world's cities.")
def demo() -> None:
    """Find and verify the minimum spanning forest of the links between the world's cities.

    The data is installed with dfmst: every city of more than 15,000 people and its nearest neighbors, from
    GeoNames (https://www.geonames.org, CC BY 4.0). The map of the forest is written to cities.html.
    """
    import dfmst
    from dfmst.forest import solve

    load_libraries()
    watch = Stopwatch()
    with Progress() as progress:
        progress.show("reading the cities")
        links = dfmst.datasets.links()
        progress.show("finding the forest")
        solution = solve(links, "source", "target", "km", return_trace=True, step=watch.step)
        with watch.step("gather"):
            forest = solution.frame
        progress.show("verifying the forest")
        with watch.step("verify"):
            certificate = dfmst.verify(links, forest, "source", "target", "km")
        progress.show("drawing the map")
        drawn = _draw(solution, watch, certificate.ok)
    if not certificate.ok:
        raise RuntimeError(f"a fault of dfmst: {certificate}")
    seconds = watch.seconds()
    finding = sum(seconds[step] for step in ("prepare", "solve", "gather"))
    facts = [
        ("cities", f"{forest.num_rows + certificate.components:,}", "of more than 15,000 people (GeoNames, CC BY 4.0)"),
        ("links", f"{links.num_rows:,}", "from each city to its nearest neighbors"),
        ("forest", f"{forest.num_rows:,}", f"links, found in {finding:.3f} s"),
        ("length", f"{certificate.total_weight:,.2f}", "km, the least that keeps connected what was connected"),
        ("trees", f"{certificate.components:,}", "without a link between them"),
        ("verified", "yes", f"every link that was left out is the longest of a cycle ({seconds['verify']:.3f} s)"),
    ]
    _print("The world's cities, linked by a minimum spanning forest", aligned(facts, right=(1,)))
    _print(f"The {LONGEST} longest links of the forest", aligned(_longest(forest), right=(2,)))
    _print("The map of the forest", [drawn])
    _print("Now try", [f"{_called()} {command}" for command in _COMMANDS])


def _called() -> str:
    """Return the command as the user typed it, since it may be on no path: ``.venv/bin/dfmst``."""
    typed = Path(sys.argv[0])
    if typed.name == "__main__.py":
        return "python -m dfmst"
    found = shutil.which("dfmst")
    return "dfmst" if typed.name != "dfmst" or (found and typed.samefile(found)) else str(typed)


def _longest(forest: pa.Table) -> list[tuple[str, str, str]]:
    longest = forest.sort_by([("km", "descending")]).slice(0, LONGEST).to_pylist()
    return [("source", "target", "km"), *((row["source"], row["target"], f"{row['km']:,.2f}") for row in longest)]


def _draw(solution: Forest, watch: Stopwatch, verified: bool) -> str:
    """Write the page with the map; return its address, or why it was not written."""
    import dfmst

    if PAGE.is_file() and 'content="dfmst ' not in PAGE.read_text(encoding="utf-8", errors="replace")[:1000]:
        return f"not written: {PAGE} exists, and dfmst did not make it"
    run = {"seconds": watch.seconds(), "verified": verified}
    page = dfmst.report(
        solution,
        points=dfmst.datasets.cities(),
        coordinates=("lon", "lat"),
        title="the world's cities",
        note="Made by dfmst demo. Cities: GeoNames (https://www.geonames.org), CC BY 4.0.",
        run=run,
    )
    try:
        page.save(PAGE)
    except OutputError as error:
        return f"not written: {error.message}"
    return f"{PAGE.resolve().as_uri()} (open it in a browser)"


def _print(title: str, lines: list[str]) -> None:
    print_text("\n".join([title, *(f"  {line}" for line in lines), ""]))
