"""``dfmst plan``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli.console import Progress, note, print_json, print_text
from dfmst.cli.inputs import check_inputs, open_inputs
from dfmst.cli.options import json_option, to_path, vertex_options
from dfmst.cli.program import FAILURE
from dfmst.errors import FormatError

if TYPE_CHECKING:
    from dfmst import Plan


_COUNT = click.IntRange(1, (1 << 63) - 1)


@click.command(short_help="Say what a forest takes on a cluster, or streamed.")
@click.argument("inputs", nargs=-1, metavar="[IN]...", callback=to_path)
@click.option("--n-vertices", type=_COUNT, metavar="N", help="Vertices (of IN: from its footers).")
@click.option("--edges", type=_COUNT, metavar="M", help="Rows (of IN: from its footers).")
@click.option("--partitions", type=_COUNT, metavar="P", help="Files (of IN: as many as there are).")
@click.option("--workers", type=_COUNT, default=2, show_default=True, metavar="W", help="Processes.")
@click.option(
    "--memory-limit", metavar="SIZE", help="Limit of memory for each worker (default: 4GiB; with GPUs twice a GPU's)."
)
@click.option("--gpus", type=_COUNT, metavar="G", help="Workers with a GPU each, in place of --workers.")
@click.option("--gpu-memory-limit", metavar="SIZE", help="Memory of each GPU.")
@click.option(
    "--strategy",
    type=click.Choice(["auto", "two-pass", "merge", "shuffle", "stream", "spill"]),
    default="auto",
    show_default=True,
    help="For which strategy; stream and spill: one process with this limit, and with rows on disk.",
)
@click.option(
    "--id-bytes",
    type=_COUNT,
    metavar="B",
    help="Bytes of an id: 4 dense integers, 8 others, 8 + length text.",
)
@vertex_options
@click.option("-w", "--weight", metavar="COLUMN", help="Column with the weight; it must be there.")
@json_option
@click.pass_context
def plan(ctx: click.Context, /, **options: Any) -> None:
    """Predict strategy, bytes moved and peak memory of a forest on a cluster, or of a stream, and show the formulas.

    The size comes from --n-vertices, --edges and --partitions, or from the footers of Parquet files. The exit status is
    1 if it does not fit.

    \b
      dfmst plan --n-vertices 1_700_000_000 --edges 62_000_000_000 --partitions 8000 --workers 8 --memory-limit 256GiB
      dfmst plan edges/ --workers 4 --memory-limit 8GiB
      dfmst plan edges/ --gpus 8 --gpu-memory-limit 141GB
    """  # noqa: D301 - click's mark for lines that stay as they are
    as_json = options.pop("json")
    weight = options.pop("weight")
    prediction = _predict(**options)
    if weight is not None and options["inputs"]:
        with Progress() as progress:
            open_inputs(options["inputs"], None, progress, {"-w": weight}).close()
    if as_json:
        figures = asdict(prediction)
        del figures["memory"]
        print_json(figures)
    else:
        _show(prediction)
    if not prediction.fits:
        ctx.exit(FAILURE)


def _predict(
    inputs: tuple[Path, ...],
    n_vertices: int | None,
    memory_limit: str | None,
    gpus: int | None,
    gpu_memory_limit: str | None,
    **options: Any,
) -> Plan:
    import dfmst

    if not inputs and None in (n_vertices, options["edges"]):
        raise click.UsageError("Name Parquet files, or give --n-vertices and --edges.")
    check_inputs(inputs)
    edges = options.pop("edges")
    limits = {"memory_limit": memory_limit, "gpus": gpus, "gpu_memory_limit": gpu_memory_limit}
    try:
        return dfmst.plan(n_vertices, edges, files=inputs, **limits, **options)  # type: ignore[arg-type]
    except FormatError:
        raise
    except ValueError:  # click has checked all other values
        if (gpus is None) != (gpu_memory_limit is None) or options["strategy"] in ("stream", "spill"):
            message = "--gpus and --gpu-memory-limit go together, and with a strategy of a cluster."
            raise click.UsageError(message) from None
        sizes = {"--memory-limit": memory_limit, "--gpu-memory-limit": gpu_memory_limit}
        given = " and ".join(f"{name} {size}" for name, size in sizes.items() if size is not None)
        raise click.UsageError(f"{given}: write it as 8GiB, 700MB or a number of bytes.") from None


def _show(plan: Plan) -> None:
    print_text(f"n = {plan.vertices:,} vertices, m = {plan.edges:,} edges, P = {plan.partitions:,} partitions")
    gpus = f", with a GPU of {plan.gpu_memory / 1e9:,.1f} GB" if plan.gpu_memory else ""
    print_text(f"W = {plan.workers:,} workers, M = {plan.memory / 1e9:,.1f} GB each{gpus}")
    print_text(f"strategy     {plan.strategy}")
    print_text(f"reads        {plan.reads}, and one to write the rows")
    if plan.rounds:
        print_text(f"slices       {plan.rounds}, one after the other")
    print_text(f"bytes moved  {plan.bytes_moved / 1e9:,.2f} GB = {plan.formulas['bytes_moved']}")
    if plan.bytes_on_disk:
        print_text(f"on disk      {plan.bytes_on_disk / 1e9:,.2f} GB = {plan.formulas['bytes_on_disk']}")
    print_text(f"peak memory  {plan.peak_memory / 1e9:,.2f} GB a worker = {plan.formulas['peak_memory']}")
    if plan.gpu_memory:
        print_text(f"GPU memory   {plan.peak_gpu_memory / 1e9:,.2f} GB a GPU = {plan.formulas['peak_gpu_memory']}")
        print_text(f"over the bus {plan.bytes_over_bus / 1e9:,.2f} GB = {plan.formulas['bytes_over_bus']}")
    if not plan.fits:
        note("it does not fit: take more or larger workers")
