"""``dfmst points``, ``neighbors`` and ``hdbscan``: edges and clusters of points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from dfmst.cli import options as shared
from dfmst.cli.console import plural
from dfmst.cli.job import Job, Summary, call, command
from dfmst.errors import ColumnNotFoundError, or_points

if TYPE_CHECKING:
    import pyarrow as pa


@command(
    "Write the minimum spanning tree of points.",
    shared.table_options,
    shared.point_options,
    shared.count_option("--min-samples", metavar="K", help="Weigh pairs by mutual reachability."),
    shared.threads_option,
)
def points(job: Job) -> None:
    """Write the minimum spanning tree of the points in IN, one row an edge.

    The columns are source, target and distance, over the columns -c. With --min-samples K, a pair weighs at least the
    distance of either end from its K-th nearest neighbor, as in HDBSCAN.

    \b
      dfmst points towns.parquet -c x -c y --id name -o tree.parquet
      dfmst points cities.csv -c lat -c lon --metric haversine -o tree.parquet
      dfmst clusters tree.parquet -w distance -k 5 -o clusters.parquet
    """  # noqa: D301 - click's mark for lines that stay as they are
    job.run(job.pick("ids", "columns"), "finding the tree of", call("points_forest", job), _tree_summary)


def _tree_summary(tree: pa.Table) -> Summary:
    import pyarrow.compute as pc

    length = pc.sum(tree["distance"]).as_py() or 0.0
    read, words = _degrees(tree)
    text = f"{plural(tree.num_rows, 'row')}, total distance {length:.9g}{words}"
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
def neighbors(job: Job) -> None:
    """Join every point of IN with its K nearest others, and write an edge table.

    The columns are source, target and distance, one row a pair. `dfmst points` finds the tree of all pairs; the tree of
    these rows differs from it if K is too small.

    \b
      dfmst neighbors towns.parquet -c x -c y --id name -k 5 -o pairs.parquet
    """  # noqa: D301 - click's mark for lines that stay as they are

    def summarize(pairs: pa.Table) -> Summary:
        read, words = _degrees(pairs)
        return {"rows": pairs.num_rows, **read}, plural(pairs.num_rows, "row") + words

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
      dfmst hdbscan towns.parquet -c x -c y --id name --min-cluster-size 10 -o labels.parquet
      dfmst hdbscan roads.parquet -s a -t b -w km -o labels.parquet
    """  # noqa: D301 - click's mark for lines that stay as they are
    if not job.columns and (job.ids or job.metric is not None or job.box):
        raise click.UsageError("--id, --metric and --box are for points; name their coordinates with -c.")
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
    text = f"{plural(clusters, 'cluster')} of {plural(labels.num_rows, 'vertex')}, {noise:,} of them noise{words}"
    return figures, text
