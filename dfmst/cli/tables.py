"""Commands from table to table.

Of edges: ``clusters``, ``linkage``, ``components`` and ``newick``. Of points: ``points-forest``, ``knn-edges``
and ``hdbscan``. Of any rows: ``linked-rows`` and ``convert``.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import dfmst
from dfmst.cli import options as shared
from dfmst.cli.console import counted, note, standard_output
from dfmst.cli.drivers import Batches, in_batches, label_in_batches
from dfmst.cli.job import (
    Job,
    Summary,
    call,
    check_output,
    command,
    lines_for,
    named_after,
    weight_name,
    write_rows,
)
from dfmst.errors import ColumnNotFoundError, InvalidEdgesError, or_points

if TYPE_CHECKING:
    import pyarrow as pa


def _distance(text: str) -> float:
    """Read a distance; one without a fraction stays an integer, so that large ones are exact."""
    for kind in (int, float):
        with suppress(ValueError):
            if (number := kind(text)) == number:
                return number
    raise click.BadParameter(f"{text!r} is not a number.")


@command(
    "Cut the forest into clusters.",
    shared.table_options,
    shared.vertex_options,
    shared.weight_options,
    shared.count_option("-k", "--n-clusters", "counts", multiple=True, metavar="N", help="Number of clusters."),
    click.option(
        "-d", "--distance", "distances", type=_distance, multiple=True, metavar="D", help="Heaviest weight to join."
    ),
    shared.path_option("--report", metavar="FILE", help="Write a page with the forest in the clusters' colors (HTML)."),
    shared.algorithm_option,
    shared.invalid_option,
    shared.memory_option,
    shared.checkpoint_option,
    shared.spill_option,
)
def clusters(job: Job) -> None:
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
    if bool(job.counts) == bool(job.distances):
        both = "not both" if job.counts else "one of them"
        raise click.UsageError(f"Give -k N (number of clusters) or -d D (heaviest weight to join), {both}.")
    job.weight = weight_name(job)
    if job.weight is None and job.distances:
        raise click.UsageError("-d and --unweighted cannot be combined.")
    wanted: list[Any] = [*job.counts, *job.distances]
    cuts = {"n_clusters" if job.counts else "distance": wanted[0] if len(wanted) == 1 else wanted}
    columns = job.edge_columns()
    batches = in_batches(job, columns, in_memory="--report" if job.report else None)
    if job.report is not None:
        check_output(job.report, "html", job.inputs)
    if batches is not None:
        label_in_batches(
            job, "fold_clusters", lambda labels: _cluster_words(labels.vertices, labels.groups), batches, **cuts
        )
        return
    cut = call("clusters", job, **cuts)

    def cut_and_draw(table: pa.Table) -> Any:
        labels = cut(table)
        if job.report is not None:
            title = named_after(job.inputs)
            about = {"title": title, "note": f"Made by dfmst {dfmst.__version__} from {title}"}
            call("report", job, color=labels, algorithm="auto", **about)(table).save(job.report)
        return labels

    job.run(columns, "finding the clusters of", cut_and_draw, _cluster_summary)


def _cluster_summary(labels: pa.Table) -> Summary:
    import pyarrow.compute as pc

    found = {name: pc.count_distinct(labels[name]).as_py() for name in labels.column_names[1:]}
    return _cluster_words(labels.num_rows, found)


def _cluster_words(vertices: int, found: dict[str, int]) -> Summary:
    counts = [
        f"{counted(count, 'cluster')}" + (f" ({name})" if len(found) > 1 else "") for name, count in found.items()
    ]
    return {"vertices": vertices, "clusters": found}, f"{', '.join(counts)} of {counted(vertices, 'vertex')}"


@command(
    "Write the single-linkage dendrogram.",
    shared.table_options,
    shared.vertex_options,
    shared.distance_option,
    click.option(
        "--join", type=float, metavar="D", help="Join components at this distance in the end (inf is allowed)."
    ),
    click.option("--labels", callback=shared.to_path, metavar="FILE", help="Write the vertices by their numbers."),
    shared.algorithm_option,
    shared.invalid_option,
)
def linkage(job: Job) -> None:
    """Write the single-linkage dendrogram of IN, one row a merge.

    The columns are left, right, distance and size, as SciPy has them: of n vertices, 0 to n - 1 are the vertices in
    ascending order (as `dfmst components` lists them), and n + r is the cluster that row r makes.

    \b
      dfmst linkage roads.parquet -o linkage.parquet --labels vertices.csv
    """  # noqa: D301 - click's mark for lines that stay as they are
    found: list[pa.Table] = []
    columns = job.edge_columns()
    if job.labels is not None:
        check_output(job.labels, None, job.inputs)

    def merge(table: pa.Table) -> Any:
        if job.labels is not None:
            import numpy as np
            import pyarrow as pa

            vertices = dfmst.connected_components(table, job.source, job.target, invalid=job.invalid)["vertex"]
            found.append(pa.table({"number": np.arange(len(vertices)), "vertex": vertices}))
        return call("single_linkage", job)(table)

    def write(merges: pa.Table, path: Path | None, format: str | None) -> None:
        if job.labels is not None:
            write_rows(found[0], job.labels, None)
        write_rows(merges, path, format)

    def summarize(merges: pa.Table) -> Summary:
        return {"merges": merges.num_rows}, counted(merges.num_rows, "merge")

    job.run(columns, "finding the dendrogram of", merge, summarize, write)


@command(
    "Write the connected component of every vertex.",
    shared.table_options,
    shared.vertex_options,
    shared.engine_options,
    shared.invalid_option,
    shared.memory_option,
    shared.checkpoint_option,
    shared.spill_option,
)
def components(job: Job) -> None:
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
    columns = job.edge_columns()
    batches = in_batches(job, columns)
    if batches is not None:

        def summarize(labels: Any) -> Summary:
            return _component_words(labels.vertices, labels.groups["component"], labels.largest)

        label_in_batches(job, "fold_components", summarize, batches)
        return
    job.run(columns, "labelling the vertices of", call("connected_components", job), _component_summary)


def _component_summary(labels: pa.Table) -> Summary:
    sizes = labels["component"].value_counts().field("counts").to_pylist()
    return _component_words(labels.num_rows, len(sizes), max(sizes, default=0))


def _component_words(vertices: int, components: int, largest: int) -> Summary:
    text = f"{counted(components, 'component')} of {counted(vertices, 'vertex')}"
    text += f", the largest of {counted(largest, 'vertex')}" if vertices else ""
    return {"vertices": vertices, "components": components, "largest": largest}, text


@command(
    "Find the groups of records that share a value, and keep one record of each.",
    shared.table_options,
    click.option(
        "--on",
        "keys",
        multiple=True,
        required=True,
        metavar="COLUMN",
        help="Key; a record of a group shares any. COLUMN,COLUMN: one key of both together.",
    ),
    shared.count_option("--max-group", metavar="N", help="A value that more than N rows have links nothing."),
    click.option(
        "--keep",
        default="first",
        show_default=True,
        metavar="ROWS",
        help="Rows of a group to keep: first, last, all, max:COLUMN or min:COLUMN.",
    ),
    click.option("--empty-links", is_flag=True, help="Texts that are empty, or all white space, link rows as well."),
    shared.threads_option,
    shared.memory_option,
)
def linked_rows(job: Job) -> None:
    """Find the groups of records in IN, and write one record of each.

    Records are in one group if they share a value of any key, directly or through other records. Of a key of several
    columns they share all values. Nulls and blank texts link nothing. The rows have one more column, group: the number
    of the first row of the group. --keep all writes all rows.

    \b
      dfmst linked-rows people.csv --on email --on phone --on first,born -o people-once.csv
      dfmst linked-rows "documents/" --on bands --keep max:length --memory-limit 8GiB -o unique.parquet
    """  # noqa: D301 - click's mark for lines that stay as they are
    on = [key.split(",") if "," in key else key for key in job.keys]
    ordered = job.keep.partition(":")[2] or None
    job.keep = _kept(job.keep)
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_: note(str(message))
        batches = in_batches(job)
        if batches is not None:
            _linked_stream(job, on, batches)
            return
        columns = {"on": [column for key in job.keys for column in key.split(",")], "ordered": ordered}
        link = call("linked_rows", job, on=on)

        def link_keys(table: pa.Table) -> Any:
            _check_keys(job, table.column_names)
            return link(table)

        job.run(columns, "linking", link_keys, lambda rows: _group_summary(job, rows.schema, len(rows)))


def _check_keys(job: Job, names: list[str]) -> None:
    """Raise for a key that is the name of a column, and names of columns with commas between them."""
    for key in job.keys:
        if "," in key and {key, *key.split(",")} <= set(names):
            message = f"--on {key} is a column of {job.inputs[0]}, and a key of its columns {', '.join(key.split(','))}"
            raise InvalidEdgesError(message, f"rename the column {key!r}, or leave it out")


def _linked_stream(job: Job, on: list[Any], batches: Batches) -> None:
    """Link the rows of Parquet files within a memory limit."""
    with job.running() as run, run.step("solve"):
        _check_keys(job, job.open({}).schema.names)
        target = run.path if job.to is None else None
        rows = batches.run(dfmst.stream.linked_rows, job, run, on=on, output=target)
        if target is None and (run.path or not job.json):
            write_rows(rows, run.path, job.to)
        run.text = _keys_in_words(job)
        if target is None:
            run.figures, run.text = _group_summary(job, rows.schema, len(rows))
        elif dfmst.formats.format_of_suffix(target) == "parquet":
            from pyarrow.parquet import read_metadata

            with target.open("rb") as file:
                footer = read_metadata(file)
            run.figures, run.text = _group_summary(job, footer.schema.to_arrow_schema(), footer.num_rows)


def _kept(text: str) -> Any:
    """Read the rows of a group to keep."""
    which, _, column = text.partition(":")
    if which in ("max", "min") and column:
        return column, which
    if text not in ("first", "last", "all"):
        raise click.UsageError(f"--keep {text}: write first, last, all, max:COLUMN or min:COLUMN.")
    return None if text == "all" else text


def _group_summary(job: Job, schema: pa.Schema, rows: int) -> Summary:
    """Return the figures of linked rows, and words; the schema has the figures of the groups."""
    found = json.loads((schema.metadata or {})[b"linked_rows"])
    text = f"{counted(rows, 'row')} of {counted(found['groups'], 'group')}, {_keys_in_words(job)}"
    return {"rows": rows, **found}, text


def _keys_in_words(job: Job) -> str:
    keys = ("by " + key.replace(",", " and ") + " together" * ("," in key) for key in job.keys)
    return f"linked {', or '.join(keys)}"


@command(
    "Write the trees, or a dendrogram, in the Newick format.",
    shared.inputs_argument,
    shared.path_option("-o", "--output", metavar="OUT", help="File to write (default, and -: standard output)."),
    shared.format_option,
    shared.vertex_options,
    shared.weight_options,
    click.option("--linkage", is_flag=True, help="Write the dendrogram of the rows, not their forest."),
    shared.invalid_option,
)
def newick(job: Job) -> None:
    """Write the trees of IN's forest in the Newick format, one line a tree.

    A tree's root is its smallest vertex. With --linkage the vertices are leaves, and the text is the single-linkage
    dendrogram, which tools of phylogenetics draw.

    \b
      dfmst newick roads.parquet -o forest.nwk
      dfmst newick roads.parquet --linkage -o dendrogram.nwk
    """  # noqa: D301 - click's mark for lines that stay as they are
    job.weight = weight_name(job, job.maximum)
    if job.linkage and (job.weight is None or job.maximum):
        raise click.UsageError(f"--linkage and --{'maximum' if job.maximum else 'unweighted'} cannot be combined.")
    columns = job.edge_columns()

    def draw(table: pa.Table) -> str:
        if not job.linkage:
            return str(call("newick", job)(table))
        merges, vertices = (call(name, job)(table) for name in ("single_linkage", "connected_components"))
        return str(dfmst.newick(merges, names=vertices["vertex"]))

    def summarize(text: str) -> Summary:
        return {}, counted(text.count(";\n") + text.endswith(";"), "tree")

    job.to, job.json = "csv", False  # CSV is text, too: any name of a file will do
    job.run(columns, "writing the trees of", draw, summarize, _write_text)


def _write_text(text: str, path: Path | None, _: str | None) -> None:
    lines = text + "\n" if text else ""
    if path is None:
        standard_output().write(lines.encode())
        standard_output().flush()
        return
    with dfmst.formats.atomic_path(path) as temporary:
        temporary.write_text(lines, encoding="utf-8")


class _WithFormats(shared.GroupedCommand):
    """A command whose help ends with the formats; they are looked up only then."""

    rarely = "ignore_counts node_labels thousands storage_options"

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the formats."""
        from dfmst.formats import FORMATS, WRITABLE_FORMATS

        for title, names in (("read", FORMATS), ("written", WRITABLE_FORMATS)):
            with formatter.section(f"Formats {title}"):
                indent = " " * formatter.current_indent
                lines = wrap(", ".join(names), formatter.width - len(indent), break_on_hyphens=False)
                formatter.write("".join(f"{indent}{line}\n" for line in lines))


@command(
    "Convert edge tables from one format to another.",
    shared.inputs_argument,
    shared.output_options,
    shared.format_option,
    shared.column_options,
    shared.json_option,
    cls=_WithFormats,
)
def convert(job: Job) -> None:
    """Write the rows of IN in another format, all columns in their order.

    The rows are read in batches, so that files may be larger than memory. Several IN become one. In text, -s, -t and
    --by name ids, which are whole numbers if all are written as such, and -w names numbers. Other columns become
    numbers only if that loses nothing. If no end is named, the usual names in the header are known.

    \b
      dfmst convert USA-road-d.NY.gr.gz -o roads.parquet
      dfmst convert roads.csv -s from_id -t to_id -w km -o roads.parquet
      dfmst convert part-*.csv -o all.parquet
    """  # noqa: D301 - click's mark for lines that stay as they are
    if job.json and job.output is None:
        raise click.UsageError("--json needs a file to write: name it with -o.")
    with job.running("dfmst.formats") as run:
        import pyarrow as pa

        sizes: list[int] = []
        columns = job.pick("source", "target", "weight", "by")
        reader = job.open(columns, run.progress, lines_for(job))
        write_rows(pa.RecordBatchReader.from_batches(reader.schema, _counted(reader, sizes)), run.path, job.to)
        types = {field.name: str(field.type) for field in reader.schema if not field.name.startswith("\x1f")}
        run.figures, run.text = {"rows": sum(sizes), "columns": types}, counted(sum(sizes), "row")


def _counted(batches: Iterable[pa.RecordBatch], sizes: list[int]) -> Iterator[pa.RecordBatch]:
    """Pass the batches on, and list their sizes."""
    for batch in batches:
        sizes.append(batch.num_rows)
        yield batch


@command(
    "Write the minimum spanning tree of points.",
    shared.table_options,
    shared.point_options,
    shared.count_option("--min-samples", metavar="K", help="Weigh pairs by mutual reachability."),
    shared.threads_option,
)
def points_forest(job: Job) -> None:
    """Write the minimum spanning tree of the points in IN, one row an edge.

    The columns are source, target and distance, over the columns -c. With --min-samples K, a pair weighs at least the
    distance of either end from its K-th nearest neighbor, as in HDBSCAN.

    \b
      dfmst points-forest towns.parquet -c x -c y --ids name -o tree.parquet
      dfmst points-forest cities.csv -c lat -c lon --metric haversine -o tree.parquet
      dfmst clusters tree.parquet -w distance -k 5 -o clusters.parquet
    """  # noqa: D301 - click's mark for lines that stay as they are
    job.run(job.pick("ids", "columns"), "finding the tree of", call("points_forest", job), _tree_summary)


def _tree_summary(tree: pa.Table) -> Summary:
    import pyarrow.compute as pc

    length = pc.sum(tree["distance"]).as_py() or 0.0
    read, words = _degrees(tree)
    text = f"{counted(tree.num_rows, 'row')}, total distance {length:.9g}{words}"
    return {"rows": tree.num_rows, "total": length, **read}, text


def _degrees(result: pa.Table) -> tuple[dict[str, str], str]:
    """Return the columns that were read as degrees, and words about them."""
    about = result.schema.metadata or {}
    read = {side: about[side.encode()].decode() for side in ("latitude", "longitude") if side.encode() in about}
    return read, f" ({', '.join(f'{side} {name}' for side, name in read.items())})" if read else ""


@command(
    "Join every point with its nearest neighbors.",
    shared.table_options,
    shared.point_options,
    shared.count_option("-k", default=10, show_default=True, metavar="K", help="Number of neighbors."),
    shared.threads_option,
)
def knn_edges(job: Job) -> None:
    """Join every point of IN with its K nearest others, and write an edge table.

    The columns are source, target and distance, one row a pair. `dfmst points-forest` finds the tree of all pairs; the
    tree of these rows differs from it if K is too small.

    \b
      dfmst knn-edges towns.parquet -c x -c y --ids name -k 5 -o pairs.parquet
    """  # noqa: D301 - click's mark for lines that stay as they are

    def summarize(pairs: pa.Table) -> Summary:
        read, words = _degrees(pairs)
        return {"rows": pairs.num_rows, **read}, counted(pairs.num_rows, "row") + words

    job.run(job.pick("ids", "columns"), "finding the neighbors of", call("knn_edges", job), summarize)


@command(
    "Cluster edges or points by density.",
    shared.table_options,
    shared.vertex_options,
    shared.distance_option,
    shared.point_options,
    shared.count_option(
        "--min-samples", metavar="K", help="Neighbors of a core (default: of points the minimum size, of edges none)."
    ),
    shared.count_option(
        "--min-cluster-size",
        type=click.IntRange(min=2),
        default=5,
        show_default=True,
        metavar="N",
        help="Smaller groups of vertices are noise.",
    ),
    shared.choice(
        "--cluster-selection-method", "eom", "leaf", help="Clusters of the largest excess of mass, or the smallest."
    ),
    click.option(
        "--epsilon",
        type=click.FloatRange(min=0),
        default=0.0,
        metavar="DISTANCE",
        help="Clusters that split at a smaller distance stay together.",
    ),
    shared.count_option("--max-cluster-size", metavar="N", help="Larger clusters are not selected."),
    click.option("--allow-single-cluster", is_flag=True, help="All vertices may be one cluster."),
    shared.invalid_option,
    shared.threads_option,
)
def hdbscan(job: Job) -> None:
    """Cluster the edges in IN, or points if -c names coordinates, by density.

    The columns are vertex, label, probability and outlier_score: clusters are numbered from 0 on, -1 is noise.

    \b
      dfmst hdbscan towns.parquet -c x -c y --ids name --min-cluster-size 10 -o labels.parquet
      dfmst hdbscan roads.parquet -s a -t b -w km -o labels.parquet
    """  # noqa: D301 - click's mark for lines that stay as they are
    if not job.columns and (job.ids or job.metric is not None or job.box):
        raise click.UsageError("--ids, --metric and --box are for points; name their coordinates with -c.")
    named = job.pick("ids", "columns") if job.columns else job.edge_columns()
    ends = (None, None, None) if job.columns else (job.source, job.target, job.weight)
    if job.columns:  # options of edges have defaults
        source_of = click.get_current_context().get_parameter_source
        for name in ("source", "target", "weight", "invalid"):
            if source_of(name) == ParameterSource.COMMANDLINE:
                raise click.UsageError(f"--{name} is for edges, and -c names the coordinates of points.")
        del job.source, job.target, job.weight, job.invalid
    try:
        job.run(named, "clustering", call("hdbscan", job), _summary)
    except ColumnNotFoundError as error:
        raise or_points(error, ends) from None


def _summary(labels: pa.Table) -> Summary:
    import pyarrow.compute as pc

    most = pc.max(labels["label"]).as_py()
    clusters = 0 if most is None else most + 1
    noise = pc.sum(pc.less(labels["label"], 0)).as_py() or 0
    read, words = _degrees(labels)
    figures = {"vertices": labels.num_rows, "clusters": clusters, "noise": noise, **read}
    text = f"{counted(clusters, 'cluster')} of {counted(labels.num_rows, 'vertex')}, {noise:,} of them noise{words}"
    return figures, text
