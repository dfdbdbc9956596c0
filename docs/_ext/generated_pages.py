"""Pages that a build of the documentation writes: one for each algorithm and each file of results; the reference."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from sphinx.application import Sphinx
from sphinx.ext.autosummary.generate import generate_autosummary_docs

import dfmst
from dfmst._common.options import LACKING, WORLDS
from dfmst._report.charts import read_rounds, round_chart
from dfmst.algorithms import REGISTRY, FilterBoruvka

__all__ = ["setup"]

#: When to use an algorithm.
WHEN = {
    "filter-kruskal": "The default on CPUs: it drops most rows unsorted. Use it unless you study another.",
    "filter-boruvka": "The default on GPUs: no step is sequential. On a CPU, for graphs with few rows a vertex.",
    "boruvka": "To see the plain rounds, and the gain from the contraction of loops and of parallel edges.",
    "kruskal": "For small tables, and to study helper threads that drop rows ahead of the scan.",
    "prim": "For dense graphs: it reads each row a few times and sorts nothing.",
    "pma": "To study partial Prim trees: its trace has the share of vertices that each round removes.",
    "mastiff": "For graphs with one giant component, such as web graphs: rounds skip the largest component.",
    "bsp": "To count the rounds of a coarse-grained parallel machine.",
    "bader-cong": "As a baseline of the papers: trees grow at the same time and stop when they meet.",
    "vineet": "As a baseline of the papers: Borůvka in steps of scans and sorts.",
    "epmst": "As a baseline of the papers: Kruskal on the lightest edges by a sampled pivot, Prim on the rest.",
    "dataframe": "If no kernel may run: the engine of the frame does all the work, also DuckDB, Dask and PySpark.",
}
#: Algorithms that have one round, and its reason.
ONE_ROUND = {
    "prim": "A tree grows by one edge after another, so the whole run is one record.",
}
#: Objects in place of the default ones, to show several rounds of a small graph.
SHOWN = {"filter-boruvka": FilterBoruvka(light=2)}
SKIPPED = {"machine", "packages"}
_NAMES = re.compile(
    r"^(## ([^\n:]*)[^\n]*\n\n```{eval-rst}\n(?:\.\. currentmodule:: dfmst\n)?)\.\. names:: (.*)$", re.MULTILINE
)
_CELLS = 8  # columns of a table; one with more is turned if that makes it narrower
_EXAMPLES = re.compile(r"\]\((?:\.\./)+examples/(\w+)\.py\)")
_RESULTS = re.compile(r"\]\((?:\.\./)+bench/results/cpu/(\w+)\.json\)")


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir)))
    app.connect("builder-inited", _write_reference)
    app.connect("source-read", _link_pages)
    return {"parallel_read_safe": True}


def _write_reference(app: Sphinx) -> None:
    """Write a page for each public name: autosummary does not see lists that are filled in while pages are read."""
    docs = Path(app.srcdir)
    with TemporaryDirectory() as folder:
        filled = Path(folder) / "api.md"
        filled.write_text(fill_reference((docs / "api.md").read_text(encoding="utf-8")), encoding="utf-8")
        generate_autosummary_docs([str(filled)], docs / "reference", app=app)


def _link_pages(app: Sphinx, name: str, source: list[str]) -> None:
    """Link the page of a result file or of an example in place of the file."""
    if name == "api":
        source[0] = fill_reference(source[0])
    text = _RESULTS.sub(r"](/benchmarks/pages/\1.md)", source[0])
    source[0] = _EXAMPLES.sub(r"](/examples/pages/\1.md)", text)


def fill_reference(text: str) -> str:
    """Put lists of the public names of modules, and the table of options, in place of their marks."""
    most = [".. autosummary::", "", *(f"   {name}" for name in used_most(10))]
    text = text.replace(".. used-most::", "\n".join(most))
    text = _NAMES.sub(lambda mark: mark[1] + "\n".join(_summary(mark[2], mark[3].split())), text)
    return text.replace("```{eval-rst}\n.. options::\n```", "\n".join(options_table()))


def used_most(count: int) -> list[str]:
    """Return the functions that the guides call most often."""
    pages = (Path(__file__).parents[1] / "guides").glob("*.md")
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    functions = [name for name in sorted(dfmst.__all__) if inspect.isroutine(getattr(dfmst, name))]
    return sorted(functions, key=lambda name: -len(re.findall(rf"\b(?:dfmst|stream|mst)\.{name}\(", text)))[:count]


def _summary(title: str, modules: list[str]) -> list[str]:
    """List functions and classes of `dfmst` that modules define, and those that only the modules export."""
    names = [name for module in modules for name, home in vars(dfmst)["_HOME"].items() if home == module]
    for module in modules:
        exported = import_module(f"dfmst.{module}")
        for name in [] if module.startswith("_") else exported.__all__:
            thing = getattr(exported, name)
            is_listed = thing is not getattr(dfmst, name, None) and not name.endswith("Error")
            if is_listed and (inspect.isclass(thing) or inspect.isroutine(thing)):
                names.append(f"{module}.{name}")
    options = ["   :toctree: reference", f"   :caption: {title}"]
    return [".. autosummary::", *options, "", *(f"   {name}" for name in names)]


def options_table() -> list[str]:
    """Table of the options that functions lack for a kind of data, and the reasons; a test compares it with them."""
    rows = [[f"`{option}`", *(_refusals(kind, option) for kind in WORLDS)] for option in LACKING]
    return _table(["option", *(f"not for a {name}" for name in WORLDS.values())], rows)


def _refusals(kind: str, option: str) -> str:
    """Say which functions lack an option for a kind of data, and why; all rules of the memory hold on a GPU."""
    refusals = []
    for entry, why in LACKING[option].items():
        places = [name.partition(".") for name in entry.split()]
        functions = [name and f"`{name}`: " for world, _, name in places if world in (kind, "memory" * (kind == "gpu"))]
        refusals += [f"{', '.join(functions).replace(': ,', ',')}{why}"] if functions else []
    return "; ".join(refusals)


def write_pages(docs: Path) -> None:
    """Write the pages of the algorithms and of the results."""
    for name, kind in REGISTRY.items():
        _write(docs / "algorithms" / "pages" / f"{name}.md", algorithm_page(name, kind))
    scripts = list_scripts((docs.parent / "bench" / "README.md").read_text(encoding="utf-8"))
    for path in sorted((docs.parent / "bench" / "results" / "cpu").glob("*.json")):
        about = scripts.get(path.stem, "")
        text = results_page(path.stem, json.loads(path.read_text(encoding="utf-8")), about)
        _write(docs / "benchmarks" / "pages" / f"{path.stem}.md", text)
    for path in sorted((docs.parent / "bench" / "results" / "papers").glob("*.parquet")):
        table = pq.read_table(path)
        account = json.loads(table.schema.metadata[b"dfmst.paper"])
        if "tally" in account:  # older files have no list of claims
            _write(docs / "benchmarks" / "pages" / "papers" / f"{path.stem}.md", paper_page(path.stem, table, account))


def _write(path: Path, text: str) -> None:
    """Write a page only if its text changes, so that Sphinx does not read it again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def list_scripts(text: str) -> dict[str, str]:
    """Return a sentence for each result file: the question of its script, and the command that writes it."""
    found: dict[str, str] = {}
    folder = ""
    for line in text.splitlines():
        if heading := re.match(r"## (?:`(\w+)/`)?", line):
            folder = heading[1] or ""
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| `") and len(cells) == 4:
            script = cells[0].strip("`")
            command = f"python bench {folder}/{script}" if folder else f"python bench/{script}"
            names = re.findall(r"(\w+)\.json", cells[3]) or [script.removesuffix(".py")]
            found |= dict.fromkeys(names, f"{cells[1]} `{command}` writes this file.")
    return found


def example_graph(name: str) -> pa.Table:
    """Generate the graph whose rounds a page shows: large enough for several rounds."""
    edges = 20_000 if name == "dataframe" else 400_000
    return dfmst.generate.erdos_renyi(edges // 20, edges, seed=7, engine="cpu")


def algorithm_page(name: str, kind: type[Any]) -> str:
    """Page of an algorithm: when to use it, its rounds on one graph, and its docstring."""
    graph = example_graph(name)
    forest, trace = dfmst.minimum_spanning_forest(graph, algorithm=SHOWN.get(name, name), return_trace=True)
    rounds = read_rounds(trace.to_pydict())
    size = f"{graph.num_rows:,} rows of an Erdős–Rényi graph, {forest.num_rows:,} rows in its forest"
    lines = [f"# {name}", "", WHEN[name], "", "## Its rounds", "", f"On {size}.", ""]
    if name in SHOWN:
        lines += [f"The object is `{SHOWN[name]}`: the default solves a small graph in one round.", ""]
    if rounds is not None:
        head, rows = rounds.table()
        if len(rows) > 1:
            lines += ["```{raw} html", f'<div class="rounds">{round_chart(rounds)}</div>', "```", ""]
        else:
            lines += [ONE_ROUND[name], ""]
        keep = [at for at, title in enumerate(head) if title != "ms"]  # times differ from build to build
        lines += _table([head[at] for at in keep], [[row[at] for at in keep] for row in rows])
    module = kind.__module__
    lines += ["", "## The object", "", "```{eval-rst}", f".. autoclass:: {module}.{kind.__name__}", "```", ""]
    return "\n".join(lines)


def results_page(name: str, results: dict[str, Any], what: str) -> str:
    """Page of a file of results: its question, the machine, and all tables."""
    machine = results.get("machine", {})
    words = {"date": "on {}", "commit": "commit {}", "processor": "{}", "cores": "{} cores"}
    about = [form.format(machine[key]) for key, form in words.items() if key in machine]
    lines = [f"# {name}.json", "", what, "", f"Measured {', '.join(about)}." if about else "", ""]
    for title, rows in _tables(results):
        names = list(dict.fromkeys(key for _, row in rows for key in row))
        heading = [f"## {title}", ""] if title else []
        cells = [["", *(key.replace("_", " ") for key in names)]]
        cells += [[label.replace("_", " "), *(_cell(row.get(key)) for key in names)] for label, row in rows]
        if len(names) > _CELLS and len(rows) < len(names):
            cells = [list(column) for column in zip(*cells, strict=True)]
        lines += [*heading, *_table(cells[0], cells[1:]), ""]
    return "\n".join(lines)


def paper_page(name: str, table: pa.Table, account: dict[str, Any]) -> str:
    """Page of a figure or table of a paper: its plot, claims, and the published numbers next to ours."""
    paper = name.partition("_")[0]
    lines = [f"# {paper}, {account['figure']}: {account['title']}", ""]
    lines += [f"![{account['title']}](../../../../bench/results/papers/{name}.png)", ""]
    about = [["the paper", account["published"]], ["here", account["ours"]], ["graphs", account["data"]]]
    lines += [*_table(["", ""], [*about, ["differences", account["note"]]]), ""]
    claims = [[claim[key] for key in ("text", "where", "verdict")] for claim in account["claims"]]
    if claims:
        lines += ["## Claims", "", *_table(["claim", "place", "here"], claims), ""]
    head = table.column_names[:3]
    rows = [row for row in table.to_pylist() if row["published"] is not None]
    if rows:
        cells = [[_cell(row[key]) for key in (*head, "published", "published_high", "value", "cited")] for row in rows]
        lines += ["## Numbers", "", *_table([*head, "published", "up to", "here", "cited"], cells), ""]
    return "\n".join(lines)


def _tables(value: Any, title: str = "") -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    """Yield a title and rows for each group of objects that hold plain values."""
    if isinstance(value, list):
        value = {f"{at + 1}": entry for at, entry in enumerate(value)}
    if not isinstance(value, dict):
        return
    entries = {key: entry for key, entry in value.items() if key not in SKIPPED}
    rows = [(key, flat) for key, entry in entries.items() if (flat := _flat(entry))]
    own = {key: entry for key, entry in entries.items() if _is_plain(entry)}
    if own and title:
        rows.insert(0, ("", own))
    if rows:
        yield title, rows
    for key, entry in entries.items():
        if isinstance(entry, (dict, list)) and not _flat(entry):
            yield from _tables(entry, f"{title}, {key}" if title else key)


def _flat(value: Any) -> dict[str, Any]:
    """Return the plain values of an object and of the objects in it; nothing if it is a table or nested deeper."""
    if not isinstance(value, dict) or all(isinstance(entry, dict) for entry in value.values()):
        return {}
    flat: dict[str, Any] = {}
    for key, entry in value.items():
        if _is_plain(entry):
            flat[key] = entry
        elif isinstance(entry, dict) and all(map(_is_plain, entry.values())):
            flat.update({f"{key}: {inner}": number for inner, number in entry.items()})
        elif not isinstance(entry, (dict, list)):
            return {}
    return flat


def _is_plain(value: Any) -> bool:
    return isinstance(value, (int, float, str, bool)) and len(str(value)) < 80


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    text = str(value)
    return text.replace("|", "\\|")


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
