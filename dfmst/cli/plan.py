"""``dfmst plan``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import click

from dfmst.cli.console import Progress, note, print_json, print_text
from dfmst.cli.drivers import memory_bytes
from dfmst.cli.inputs import check_inputs, open_inputs
from dfmst.cli.options import GroupedCommand, json_option, to_path, vertex_options
from dfmst.cli.program import FAILURE

_STREAMS = ("stream", "spill", "components", "clusters")
_COUNT = click.IntRange(1, (1 << 63) - 1)


class _Plan(GroupedCommand):
    """The command, whose limits are those of the workers."""

    groups: ClassVar[dict[str, tuple[str, ...]]] = {
        "Graph": ("n_vertices", "n_edges", "partitions", "id_bytes", "source", "target", "weight"),
        "Cluster": ("workers", "memory_limit", "gpus", "gpu_memory_limit", "protocol", "strategy"),
    }


@click.command(cls=_Plan, short_help="Say what a forest takes on a cluster, or streamed.")
@click.argument("inputs", nargs=-1, metavar="[IN]...", callback=to_path)
@click.option("--n-vertices", type=_COUNT, metavar="N", help="Number of vertices (of IN: from its footers).")
@click.option("--n-edges", type=_COUNT, metavar="M", help="Number of rows (of IN: from its footers).")
@click.option("--partitions", type=_COUNT, metavar="P", help="Number of partitions (default: the files of IN).")
@click.option("--workers", type=_COUNT, default=2, show_default=True, metavar="W", help="Number of processes.")
@click.option(
    "--memory-limit", metavar="SIZE", help="Limit of memory for each worker (default: 4GiB; with GPUs twice a GPU's)."
)
@click.option("--gpus", type=_COUNT, metavar="G", help="Workers with a GPU each, in place of --workers.")
@click.option("--gpu-memory-limit", metavar="SIZE", help="Memory of each GPU.")
@click.option(
    "--protocol",
    type=click.Choice(["tcp", "ucx"]),
    default="tcp",
    show_default=True,
    help="How workers with GPUs send columns: through both hosts, or from GPU to GPU.",
)
@click.option(
    "--strategy",
    type=click.Choice(["auto", "two-pass", "merge", "shuffle", "labels", *_STREAMS]),
    default="auto",
    show_default=True,
    help="Strategy to plan; one process with this limit: stream, spill (rows on disk), components, clusters.",
)
@click.option(
    "--id-bytes",
    type=_COUNT,
    metavar="B",
    help="Bytes of an id: 4 for dense integers, 8 for other integers, 8 + length for strings.",
)
@vertex_options
@click.option("-w", "--weight", metavar="COLUMN", help="Column with the weight; IN must have it.")
@json_option
@click.pass_context
def plan(ctx: click.Context, /, inputs: tuple[Path, ...], weight: str | None, json: bool, **options: Any) -> None:
    """Predict strategy, bytes moved and peak memory of a forest on a cluster, or of a stream, and show the formulas.

    The size comes from --n-vertices, --n-edges and --partitions, or from the footers of Parquet files. The exit status
    is 1 if it does not fit.

    \b
      dfmst plan --n-vertices 1_700_000_000 --n-edges 62_000_000_000 --partitions 8000 --workers 8 --memory-limit 256GiB
      dfmst plan edges/ --workers 4 --memory-limit 8GiB
      dfmst plan edges/ --gpus 8 --gpu-memory-limit 141GB
    """  # noqa: D301 - click's mark for lines that stay as they are
    import dfmst

    if not inputs and None in (options["n_vertices"], options["n_edges"]):
        raise click.UsageError("Name Parquet files, or give --n-vertices and --n-edges.")
    gpus, limit = options["gpus"], options["gpu_memory_limit"]
    if (gpus is None) != (limit is None) or (gpus and options["strategy"] in _STREAMS):
        raise click.UsageError("--gpus and --gpu-memory-limit go together, and with a strategy of a cluster.")
    for name in ("memory_limit", "gpu_memory_limit"):
        if options[name] is not None:
            auto = options["strategy"] in _STREAMS
            options[name] = memory_bytes(options[name], f"--{name.replace('_', '-')}", auto=auto)
    check_inputs(inputs)
    prediction = dfmst.plan(files=inputs, **options)
    if weight is not None and inputs:
        with Progress() as progress:
            open_inputs(inputs, None, progress, {"weight": weight}).close()
    if json:
        print_json(prediction.to_dict())
    else:
        print_text(repr(prediction))
    if not prediction.fits:
        note("it does not fit: take more or larger workers")
        ctx.exit(FAILURE)
