"""``dfmst clusters``, ``linkage``, ``components`` and ``newick``: tables and trees of the forest."""

from __future__ import annotations

import json
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli import options as shared
from dfmst.cli.console import Progress, Stopwatch, note, plural, print_run, standard_output
from dfmst.cli.drivers import Batches, in_batches, label_stream
from dfmst.cli.inputs import columns_by_option, load_libraries
from dfmst.cli.job import named_after, weight_name
from dfmst.cli.outputs import TableJob, call, check_output, output_path, table_command, write_rows

if TYPE_CHECKING:
    import pyarrow as pa


def _distance(text: str) -> float:
    """Read a distance; one without a fraction stays an integer, so that large ones are exact."""
    for kind in (int, float):
        with suppress(ValueError):
            if (number := kind(text)) == number:
                return number
    raise click.BadParameter(f"{text!r} is not a number.")


@click.command(short_help="Cut the forest into clusters.")
@table_command
@shared.vertex_options
@shared.weight_options
@shared.count_option("-k", "--clusters", "counts", multiple=True, metavar="N", help="Number of clusters.")
@click.option(
    "-d", "--distance", "distances", type=_distance, multiple=True, metavar="D", help="Heaviest weight to join."
)
@shared.path_option("--report", metavar="FILE", help="Write a page with the forest in the clusters' colors (HTML).")
@shared.algorithm_option
@shared.invalid_option
@shared.memory_option
@shared.checkpoint_option
@shared.spill_option
def clusters(
    job: TableJob,
    source: str,
    target: str,
    weight: str | None,
    unweighted: bool,
    maximum: bool,
    counts: tuple[int, ...],
    distances: tuple[float, ...],
    report: Path | None,
    memory_limit: str,
    checkpoint: Path | None,
    spill_dir: Path | None,
    **options: Any,
) -> None:
    """Cut the forest of IN into clusters, and write the cluster of every vertex.

    Give -k or -d. The columns are vertex and cluster, in the order of the vertices; a cluster is called after its
    smallest vertex. With several -k, or several -d, there is a column for each: k2, k3, d5, d10. With --maximum,
    weights are similarities, and -d is the lightest weight to join.

    \b
      dfmst clusters roads.parquet -k 10 -o clusters.parquet
      dfmst clusters roads.parquet -d 5 -d 10 -d 20 -o clusters.csv
      dfmst clusters part-*.parquet -d 5 -o clusters.parquet --memory-limit 2GiB
      dfmst clusters roads.parquet -k 10 -o clusters.csv --report clusters.html

    The page of --report shows the clusters of the first -k or -d. Files that exceed --memory-limit
    are read in batches; --checkpoint and --spill-dir are those of `dfmst forest`.
    """  # noqa: D301 - click's mark for lines that stay as they are
    if bool(counts) == bool(distances):
        both = "not both" if counts else "one of them"
        raise click.UsageError(f"Give -k N (number of clusters) or -d D (heaviest weight to join), {both}.")
    column = weight_name(weight, unweighted)
    if column is None and distances:
        raise click.UsageError("-d and --unweighted cannot be combined.")
    wanted: list[Any] = [*counts, *distances]
    options["n_clusters" if counts else "distance"] = wanted[0] if len(wanted) == 1 else wanted
    options["maximum"] = maximum
    named = columns_by_option(source, target, column)
    limits: dict[str, Any] = {"format": job.format, "checkpoint": checkpoint, "spill_dir": spill_dir}
    batches = in_batches(job.inputs, memory_limit, named, **limits, in_memory="--report" if report else None)
    if report is not None:
        _check_page(job, report)
    if batches is not None:
        options |= {"checkpoint": checkpoint, "spill_dir": spill_dir}
        label_stream(
            job,
            "fold_clusters",
            named,
            lambda labels: _cluster_words(labels.vertices, labels.groups),
            batches,
            **options,
        )
        return
    cut = call("clusters", source, target, column, **options)
    columns = {"source": source, "target": target, "weight": column, "maximum": maximum}

    def cut_and_draw(table: pa.Table) -> Any:
        labels = cut(table)
        if report is not None:
            _draw_clusters(job, table, labels, report, {**columns, "invalid": options["invalid"]})
        return labels

    job.run(named, "finding the clusters of", cut_and_draw, _cluster_summary)


def _check_page(job: TableJob, page: Path) -> None:
    """Raise before any file is read if the page cannot be written."""
    if job.output is not None and job.output.resolve() == page.resolve():
        raise click.UsageError("--report names the file of the page, another one than -o.")
    check_output(page, "csv", job.inputs)


def _draw_clusters(job: TableJob, table: pa.Table, labels: pa.Table, page: Path, columns: dict[str, Any]) -> None:
    """Write the page of a forest in the colors of its clusters."""
    import dfmst

    title = named_after(job.inputs)
    note_ = f"Made by dfmst {dfmst.__version__} from {title}"
    dfmst.report(table, **columns, color=labels, title=title, note=note_).save(page)


def _cluster_summary(labels: pa.Table) -> tuple[dict[str, Any], str]:
    import pyarrow.compute as pc

    found = {name: pc.count_distinct(labels[name]).as_py() for name in labels.column_names[1:]}
    return _cluster_words(labels.num_rows, found)


def _cluster_words(vertices: int, found: dict[str, int]) -> tuple[dict[str, Any], str]:
    counts = [f"{plural(count, 'cluster')}" + (f" ({name})" if len(found) > 1 else "") for name, count in found.items()]
    return {"vertices": vertices, "clusters": found}, f"{', '.join(counts)} of {plural(vertices, 'vertex')}"


@click.command(short_help="Write the single-linkage dendrogram.")
@table_command
@shared.vertex_options
@shared.distance_option
@click.option("--join", type=float, metavar="D", help="Join components at this distance in the end (inf is allowed).")
@click.option("--labels", callback=shared.to_path, metavar="FILE", help="Write the vertices by their numbers.")
@shared.algorithm_option
@shared.invalid_option
def linkage(job: TableJob, source: str, target: str, weight: str, labels: Path | None, **options: Any) -> None:
    """Write the single-linkage dendrogram of IN, one row a merge.

    The columns are left, right, distance and size, as SciPy has them: of n vertices, 0 to n - 1 are the vertices in
    ascending order (as `dfmst components` lists them), and n + r is the cluster that row r makes.

    \b
      dfmst linkage roads.parquet -o linkage.parquet --labels vertices.csv
    """  # noqa: D301 - click's mark for lines that stay as they are
    found: list[pa.Table] = []

    def merge(table: pa.Table) -> Any:
        if labels is not None:
            found.append(_numbered(call("connected_components", source, target, invalid=options["invalid"])(table)))
        return call("single_linkage", source, target, weight, **options)(table)

    def write(merges: pa.Table, path: Path | None, format: str | None) -> None:
        if labels is not None:
            write_rows(found[0], labels, None)
        write_rows(merges, path, format)

    columns = columns_by_option(source, target, weight)
    if labels is not None:
        check_output(labels, None, job.inputs)
    job.run(columns, "finding the dendrogram of", merge, _linkage_summary, write)


def _numbered(components: pa.Table) -> pa.Table:
    """The vertices, and their numbers in a dendrogram."""
    import numpy as np
    import pyarrow as pa

    return pa.table({"number": np.arange(components.num_rows), "vertex": components["vertex"]})


def _linkage_summary(merges: pa.Table) -> tuple[dict[str, Any], str]:
    return {"merges": merges.num_rows}, plural(merges.num_rows, "merge")


@click.command(short_help="Write the connected component of every vertex.")
@table_command
@shared.vertex_options
@shared.engine_options
@shared.invalid_option
@shared.memory_option
@shared.checkpoint_option
@shared.spill_option
def components(
    job: TableJob,
    source: str,
    target: str,
    memory_limit: str,
    checkpoint: Path | None,
    spill_dir: Path | None,
    **options: Any,
) -> None:
    """Write the connected component of every vertex of IN.

    The columns are vertex and component, in the order of the vertices; a component is called after its
    smallest vertex. Several IN are read as one table.

    \b
      dfmst components roads.parquet -o components.parquet
      dfmst components part-*.parquet -o components.parquet --memory-limit 1GiB --checkpoint saved

    Files that exceed --memory-limit are read once, in batches: 256 MiB and 5 bytes a vertex are enough for dense
    integers. With --checkpoint, the same command resumes a run that was interrupted. With --spill-dir, other ids are
    spilled to that directory, and 8 bytes a vertex are enough.
    """  # noqa: D301 - click's mark for lines that stay as they are
    named = columns_by_option(source, target)
    limits: dict[str, Any] = {"checkpoint": checkpoint, "spill_dir": spill_dir}
    batches = in_batches(job.inputs, memory_limit, named, format=job.format, **limits)
    if batches is not None:
        names = {"source": source, "target": target}

        def summarize(labels: Any) -> tuple[dict[str, Any], str]:
            return _component_words(labels.vertices, labels.groups["component"], labels.largest)

        label_stream(job, "fold_components", names, summarize, batches, **limits, **options)
        return
    label = call("connected_components", source, target, **options)
    job.run(named, "labelling the vertices of", label, _component_summary)


def _component_summary(labels: pa.Table) -> tuple[dict[str, Any], str]:
    sizes = labels["component"].value_counts().field("counts").to_pylist()
    return _component_words(labels.num_rows, len(sizes), max(sizes, default=0))


def _component_words(vertices: int, components: int, largest: int) -> tuple[dict[str, Any], str]:
    text = f"{plural(components, 'component')} of {plural(vertices, 'vertex')}"
    text += f", the largest of {plural(largest, 'vertex')}" if vertices else ""
    return {"vertices": vertices, "components": components, "largest": largest}, text


@click.command(short_help="Find the groups of records that share a value, and keep one record of each.")
@table_command
@click.option(
    "-k", "--key", "keys", multiple=True, required=True, metavar="COLUMN", help="Key; COLUMN,COLUMN: one key of both."
)
@shared.count_option("--max-group", metavar="N", help="A value that more than N rows have links nothing.")
@click.option(
    "--keep",
    default="first",
    show_default=True,
    metavar="ROWS",
    help="Rows of a group to keep: first, all, max:COLUMN or min:COLUMN.",
)
@click.option("--empty-links", is_flag=True, help="Texts that are empty, or all white space, link rows as well.")
@shared.threads_option
@shared.memory_option
def dedupe(
    job: TableJob, keys: tuple[str, ...], max_group: int | None, keep: str, memory_limit: str, **options: Any
) -> None:
    """Find the groups of records in IN, and write one record of each.

    Records are in one group if they share a value of any key, directly or through other records. Nulls and blank texts
    link nothing. The rows have one more column, group: the number of the first row of the group. --keep all writes all
    rows.

    \b
      dfmst dedupe people.csv -k email -k phone -k first,born -o people-once.csv
      dfmst dedupe "documents/" -k bands --keep max:length --memory-limit 8GiB -o unique.parquet
    """  # noqa: D301 - click's mark for lines that stay as they are
    on = [key.split(",") if "," in key else key for key in keys]
    options |= {"max_group": max_group, "keep": _kept(keep)}
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_: note(str(message))
        batches = in_batches(job.inputs, memory_limit, format=job.format)
        if batches is not None:
            _dedupe_stream(job, on, batches, **options)
        else:
            ordered = None if keep in ("first", "all") else options["keep"][0]
            columns = {"on": [column for key in keys for column in key.split(",")], "ordered": ordered}
            link = call("linked_rows", on, **options)
            job.run(columns, "linking", link, lambda rows: _group_summary(rows.schema, len(rows)))


def _dedupe_stream(job: TableJob, on: list[Any], batches: Batches, **options: Any) -> None:
    """Link the rows of Parquet files within a memory limit."""
    watch, path = Stopwatch(), output_path(job.output, job.json)
    with watch.step("import"):
        check_output(path, job.to, job.inputs)
        load_libraries()
        import dfmst
    with Progress() as progress, watch.step("solve"):
        target = path if job.to is None else None
        link: Any = partial(dfmst.stream.linked_rows, on=on, output=target, progress=progress.bar(), **options)
        rows = batches.run(lambda edges, limit: link(edges, memory_limit=limit), progress)
        if target is None and (path or not job.json):
            write_rows(rows, path, job.to)
    figures: dict[str, Any] = {"input": job.inputs, "output": job.output}
    more, text = dict[str, Any](), "linked"
    if target is None:
        more, text = _group_summary(rows.schema, len(rows))
    elif dfmst.formats.format_of_suffix(target) == "parquet":
        from pyarrow.parquet import read_metadata

        footer = read_metadata(target)
        more, text = _group_summary(footer.schema.to_arrow_schema(), footer.num_rows)
    print_run(job.json, {**figures, **more}, text, watch, path)


def _kept(text: str) -> Any:
    """Read the rows of a group to keep."""
    which, _, column = text.partition(":")
    if which in ("max", "min") and column:
        return column, which
    if text not in ("first", "all"):
        raise click.UsageError(f"--keep {text}: write first, all, max:COLUMN or min:COLUMN.")
    return text if text == "first" else None


def _group_summary(schema: pa.Schema, rows: int) -> tuple[dict[str, Any], str]:
    """Return the figures of linked rows; the schema has those of the groups."""
    found = json.loads((schema.metadata or {})[b"linked_rows"])
    return {"rows": rows, **found}, f"{plural(rows, 'row')} of {plural(found['groups'], 'group')}"


@click.command(short_help="Write the trees, or a dendrogram, in the Newick format.")
@shared.inputs_argument
@shared.path_option("-o", "--output", metavar="OUT", help="File to write (default, and -: standard output).")
@shared.format_option
@shared.vertex_options
@shared.weight_options
@click.option("--linkage", is_flag=True, help="Write the dendrogram of the rows, not their forest.")
@shared.invalid_option
def newick(
    inputs: tuple[Path, ...],
    output: Path | None,
    format: str | None,
    source: str,
    target: str,
    weight: str | None,
    unweighted: bool,
    maximum: bool,
    linkage: bool,
    invalid: Any,
) -> None:
    """Write the trees of IN's forest in the Newick format, one line a tree.

    A tree's root is its smallest vertex. With --linkage the vertices are leaves, and the text is the single-linkage
    dendrogram, which tools of phylogenetics draw.

    \b
      dfmst newick roads.parquet -o forest.nwk
      dfmst newick roads.parquet --linkage -o dendrogram.nwk
    """  # noqa: D301 - click's mark for lines that stay as they are
    column = weight_name(weight, unweighted, maximum)
    if linkage and (column is None or maximum):
        raise click.UsageError(f"--linkage and --{'maximum' if maximum else 'unweighted'} cannot be combined.")

    def draw(table: pa.Table) -> str:
        import dfmst

        if not linkage:
            return str(dfmst.newick(table, source, target, column, maximum=maximum, invalid=invalid))
        merges = dfmst.single_linkage(table, source, target, column, invalid=invalid)
        vertices = dfmst.connected_components(table, source, target, invalid=invalid)["vertex"]
        return str(dfmst.newick(merges, names=vertices))

    job = TableJob(inputs, output, "csv", format)  # CSV is text, too: any name of a file will do
    columns = columns_by_option(source, target, column)
    job.run(columns, "writing the trees of", draw, _newick_summary, write=_write_text)


def _newick_summary(text: str) -> tuple[dict[str, Any], str]:
    return {}, plural(text.count(";\n") + text.endswith(";"), "tree")


def _write_text(text: str, path: Path | None, _: str | None) -> None:
    from dfmst.formats import atomic_path

    lines = text + "\n" if text else ""
    if path is None:
        standard_output().write(lines.encode())
        standard_output().flush()
        return
    with atomic_path(path) as temporary:
        temporary.write_text(lines, encoding="utf-8")
