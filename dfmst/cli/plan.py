"""``dfmst plan``."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import click

import dfmst
from dfmst.cli.console import Progress, note, print_json, print_text
from dfmst.cli.drivers import memory_bytes
from dfmst.cli.job import Job, check_inputs, command, open_inputs
from dfmst.cli.options import GroupedCommand, choice, json_option, to_path, vertex_options
from dfmst.cli.program import FAILURE

_STREAMS = ("stream", "spill", "components", "clusters")
_count = partial(click.option, type=click.IntRange(1, (1 << 63) - 1))


class _Plan(GroupedCommand):
    """The command, whose limits are those of the workers."""

    groups: ClassVar[dict[str, tuple[str, ...]]] = {
        "Graph": ("n_vertices", "n_edges", "partitions", "largest_partition", "id_bytes", "source", "target", "weight"),
        "Cluster": ("workers", "memory_limit", "disk_limit", "gpus", "gpu_memory_limit", "strategy"),
    }


@command(
    "Say what a forest takes on a cluster, or streamed.",
    click.argument("inputs", nargs=-1, metavar="[IN]...", callback=to_path),
    _count("--n-vertices", metavar="N", help="Number of vertices (of IN: from its footers)."),
    _count("--n-edges", metavar="M", help="Number of rows (of IN: from its footers)."),
    _count("--partitions", metavar="P", help="Number of partitions (default: the files of IN)."),
    _count("--largest-partition", metavar="ROWS", help="Rows of the largest partition (of IN: from its footers)."),
    _count("--workers", metavar="W", help="Number of processes (default: 2; of a stream 1)."),
    click.option(
        "--memory-limit",
        metavar="SIZE",
        help="Limit of memory for each worker (default: 4GiB; with GPUs twice a GPU's).",
    ),
    click.option("--disk-limit", metavar="SIZE", help="Space on the disk of each worker (default: enough)."),
    _count("--gpus", metavar="G", help="Workers with a GPU each, in place of --workers."),
    click.option("--gpu-memory-limit", metavar="SIZE", help="Memory of each GPU."),
    choice(
        "--strategy",
        *("auto", "merge", "shuffle", "labels", *_STREAMS),
        help="Strategy to plan; of one process: stream, spill (rows on disk), components, clusters.",
    ),
    _count(
        "--id-bytes",
        metavar="B",
        help="Bytes of an id: 4 for dense integers, 8 for other integers, 8 + length for strings.",
    ),
    vertex_options,
    click.option("-w", "--weight", metavar="COLUMN", help="Column with the weight; IN must have it."),
    json_option,
    cls=_Plan,
)
def plan(job: Job) -> None:
    """Predict memory, disk, traffic and CPU time of a forest on a cluster, or of a stream, and show the formulas.

    A quantity that passes its limit comes first.

    The size comes from --n-vertices, --n-edges and --partitions, or from the footers of Parquet files. The exit status
    is 1 if it does not fit.

    \b
      dfmst plan --n-vertices 1_700_000_000 --n-edges 62_000_000_000 --partitions 8000 --workers 8 --memory-limit 256GiB
      dfmst plan edges/ --workers 4 --memory-limit 8GiB
      dfmst plan edges/ --gpus 8 --gpu-memory-limit 141GB
    """  # noqa: D301 - click's mark for lines that stay as they are
    if not job.inputs and None in (job.n_vertices, job.n_edges):
        raise click.UsageError("Name Parquet files, or give --n-vertices and --n-edges.")
    streams = job.strategy in _STREAMS
    if (job.gpus is None) != (job.gpu_memory_limit is None) or (job.gpus and streams):
        raise click.UsageError("--gpus and --gpu-memory-limit go together, and with a strategy of a cluster.")
    job.workers = job.workers or (1 if streams else 2)
    if job.workers > 1 and job.strategy in ("stream", "spill"):
        raise click.UsageError(f"--strategy {job.strategy} is one process: leave --workers out.")
    job.memory_limit = memory_bytes(job, "memory_limit", auto=streams)
    job.disk_limit = memory_bytes(job, "disk_limit")
    job.gpu_memory_limit = memory_bytes(job, "gpu_memory_limit")
    check_inputs(job.inputs)
    options = {name: value for name, value in vars(job).items() if name not in ("inputs", "weight", "json")}
    prediction = dfmst.plan(files=job.inputs, **options)
    if job.weight is not None and job.inputs:
        with Progress() as progress:
            open_inputs(job.inputs, None, progress, job.pick("weight")).close()
    if job.json:
        print_json(prediction.to_dict())
    else:
        print_text(repr(prediction))
    if not prediction.fits:
        note("it does not fit: take more or larger workers")
        click.get_current_context().exit(FAILURE)
