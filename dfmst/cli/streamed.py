"""``dfmst forest`` on more rows than the memory holds."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli.console import Progress, Stopwatch, plain, plural
from dfmst.cli.outputs import write_rows
from dfmst.errors import DfmstError

if TYPE_CHECKING:
    from dfmst._verification.certificate import Certificate
    from dfmst.cli.job import ForestJob
    from dfmst.stream.batches import Job
    from dfmst.stream.fold import Forest
    from dfmst.stream.parquet import ParquetSource

__all__ = ["open_streamed", "row_progress", "stream_forest", "streamed_certificate"]

_IN_MEMORY = 40  # bytes a row that solving in memory takes beside the table


def open_streamed(
    inputs: tuple[Path, ...], memory_limit: str | None, checkpoint: Path | None = None
) -> ParquetSource | None:
    """Open the inputs as a stream, where there is a limit that they do not fit or a checkpoint is asked for.

    Returns
    -------
    source
        ``None``: the inputs are read into memory.

    Raises
    ------
    click.UsageError
        The limit is no number of bytes.
    DfmstError
        The inputs are not all Parquet.
    """
    if memory_limit is None and checkpoint is None:
        return None
    from dfmst.cli.inputs import check_inputs
    from dfmst.formats import detect_format
    from dfmst.stream.memory import FIXED
    from dfmst.stream.parquet import ParquetSource, find_files

    check_inputs(inputs)
    limit = memory_bytes(memory_limit)
    for path in inputs:
        if not path.is_dir() and detect_format(path) != "parquet":
            message = f"{path} is no Parquet file, and only Parquet is read within a memory limit"
            raise DfmstError(message, f"convert it first: dfmst convert {path} -o edges.parquet")
    source = ParquetSource(find_files(inputs))
    fits = FIXED + source.nbytes + _IN_MEMORY * source.rows <= limit
    return None if fits and checkpoint is None else source


def memory_bytes(text: str | None) -> int:
    """Read ``--memory-limit``."""
    from dfmst._folding.memory import parse_memory

    try:
        return parse_memory(text or "2GiB")
    except ValueError:
        raise click.UsageError(f"--memory-limit {text}: write it as 2GiB, 700MB or a number of bytes.") from None


def row_progress(progress: Progress, verb: str) -> Callable[[int, int | None], None]:
    """Return what tells of rows: a bar, rows a second, and the seconds that are left."""
    begin, first = time.monotonic(), -1

    def tell(done: int, total: int | None) -> None:
        nonlocal first
        first = done if first < 0 else first
        seconds = time.monotonic() - begin
        rate = (done - first) / seconds if seconds else 0.0
        text = f"{verb} {done:,} of {plural(total or done, 'row')}, {rate / 1e6:.1f} M rows/s"
        if total and rate:
            full = 20 * done // total
            text = f"[{'#' * full}{'-' * (20 - full)}] {text}, {max(0, total - done) / rate:.0f} s left"
        progress.update(text)

    return tell


def stream_forest(
    job: ForestJob, source: ParquetSource, target: Path | None, watch: Stopwatch, progress: Progress
) -> dict[str, Any]:
    """Fold, verify, gather and write; return what there is to tell."""
    from dfmst._engines import select_engine
    from dfmst.stream import open_checkpoint
    from dfmst.stream.batches import Job
    from dfmst.stream.fold import fold_source
    from dfmst.stream.gather import chosen_rows, recorded_schema

    if job.trace:
        raise click.UsageError("--trace needs the rows in memory; leave --memory-limit and --checkpoint out.")
    engine = select_engine(job.engine, job.threads)
    names = (job.source, job.target, job.weight)
    asked = Job(
        names,
        memory_bytes(job.memory_limit),
        engine,
        job.maximum,
        job.algorithm,
        job.invalid,
        row_progress(progress, "folded"),
    )
    saved = None if job.checkpoint is None else open_checkpoint(job.checkpoint, source, asked)
    with watch.step("fold"):
        forest = fold_source(source, asked, saved)
    if job.verify:
        with watch.step("verify"):
            _certify(source, asked, forest, progress)
    progress.show("gathering and writing")
    with watch.step("write"):
        if target or not job.json:
            schema = recorded_schema(source, forest, asked)
            rows = chosen_rows(source, forest, names, schema)
            write_rows(rows, target, job.to, token=saved.token if saved else None)
    if saved:
        saved.clear()
    return _summary(job, source, forest, asked, watch)


def streamed_certificate(
    source: ParquetSource,
    forest: Path,
    names: tuple[str, str, str | None],
    memory_limit: str | None,
    options: dict[str, Any],
    progress: Progress,
) -> Certificate:
    """Verify a forest's file against a stream."""
    from dfmst._engines import select_engine
    from dfmst._verification.certificate import Certificate
    from dfmst.stream.batches import Job
    from dfmst.stream.gather import forest_total
    from dfmst.stream.match import match_file

    source.require([name for name in names if name is not None])
    engine = select_engine(options["engine"], options["threads"])
    limit, told = memory_bytes(memory_limit), row_progress(progress, "verified")
    asked = Job(names, limit, engine, options["maximum"], invalid=options["invalid"], progress=told)
    verdict = match_file(source, forest, asked)
    rows, found = len(verdict.forest.rows), verdict.violation
    total = None if names[2] is None else forest_total(verdict.forest, source.schema.field(names[2]).type)
    return Certificate(found is None, rows, total, max(0, verdict.components), found)


def _certify(source: ParquetSource, asked: Job, forest: Forest, progress: Progress) -> None:
    from dataclasses import replace

    from dfmst.stream.certify import certify_source

    told = row_progress(progress, "verified")
    violation = certify_source(source, replace(asked, progress=told), forest).violation
    if violation is not None:
        message = f"the forest is wrong, which is a fault of dfmst: {violation.message}"
        raise RuntimeError(message)


def _summary(job: ForestJob, source: ParquetSource, forest: Forest, asked: Job, watch: Stopwatch) -> dict[str, Any]:
    from dfmst.stream.gather import forest_total

    rows = len(forest.rows)
    total = None if job.weight is None else forest_total(forest, source.schema.field(job.weight).type)
    return {
        "kind": job.kind,
        "input": [str(path) for path in job.inputs],
        "output": None if job.output is None else str(job.output),
        "input_rows": forest.source_rows,
        "dropped_rows": forest.dropped,
        "rows": rows,
        "vertices": forest.vertices,
        "components": forest.vertices - rows,
        "total_weight": plain(total),
        "verified": True if job.verify else None,
        "algorithm": job.algorithm,
        "engine": asked.engine.name,
        "threads": asked.engine.threads,
        "streamed": True,
        "memory_limit": asked.memory,
        "seconds": watch.seconds(),
    }
