"""``dfmst forest`` and ``dfmst verify`` on more rows than the memory holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dfmst.cli.console import Progress, Stopwatch, plural, standard_output
from dfmst.cli.planned import beside_plan
from dfmst.errors import DfmstError

if TYPE_CHECKING:
    from dfmst import Certificate
    from dfmst.cli.job import ForestJob
    from dfmst.stream import StreamForest

_OPTIONS = (
    "source",
    "target",
    "weight",
    "maximum",
    "checkpoint",
    "spill_dir",
    "algorithm",
    "engine",
    "invalid",
    "threads",
)


def is_streamed(
    inputs: Sequence[Path], memory_limit: str | None, checkpoint: Path | None = None, spill_dir: Path | None = None
) -> bool:
    """Say whether the inputs are streamed: a limit that they do not fit, or a checkpoint, asks for it.

    A directory for rows stands for the usual limit where none is given.
    """
    if memory_limit is None and checkpoint is None and spill_dir is None:
        return False
    from dfmst import stream
    from dfmst.cli.inputs import check_inputs
    from dfmst.formats import detect_format

    check_inputs(inputs)
    limit = memory_bytes(memory_limit)
    for path in inputs:
        if not path.is_dir() and detect_format(path) != "parquet":
            message = f"{path} is no Parquet file, and only Parquet is read within a memory limit"
            raise DfmstError(message, f"convert it first: dfmst convert {path} -o edges.parquet")
    return checkpoint is not None or not stream.fits(inputs, limit)


def memory_bytes(text: str | None, option: str = "--memory-limit") -> int:
    """Read ``--memory-limit``, or another option of that kind."""
    from dfmst import stream

    try:
        return stream.parse_memory(text or "2GiB")
    except ValueError:
        raise click.UsageError(f"{option} {text}: write it as 2GiB, 700MB or a number of bytes.") from None


def row_progress(progress: Progress) -> bool:
    """Return what tells of rows: a bar on terminals, elsewhere nothing."""
    return progress.bar()


def stream_forest(job: ForestJob, target: Path | None, watch: Stopwatch, progress: Progress) -> dict[str, Any]:
    """Fold, verify, gather and write; return what there is to tell."""
    from dfmst import stream

    if job.trace:
        raise click.UsageError("--trace needs the rows in memory; leave --memory-limit and --checkpoint out.")
    limit = memory_bytes(job.memory_limit)
    options: dict[str, Any] = {name: getattr(job, name) for name in _OPTIONS}
    saved = _Saved(job.checkpoint, progress)
    with saved.interrupted_in_words():
        with watch.step("fold"):
            forest = stream.fold(
                list(job.inputs),
                memory_limit=limit,
                progress=row_progress(progress),
                on_checkpoint=saved.tell,
                **options,
            )
        with closing(forest):
            _deliver(job, target, forest, watch, progress)
            summary = _summary(job, forest, watch)
            return summary if job.report is None else {**summary, "plan": _beside_plan(job, forest)}


class _Saved:
    """What a run tells of its checkpoints."""

    def __init__(self, folder: Path | None, progress: Progress) -> None:
        self._folder, self._progress = folder, progress
        self._kept = False  # whether there is one
        self._told = False  # where they are

    def tell(self, event: str, rows: int) -> None:
        """Print the rows that are skipped, and once where checkpoints are."""
        self._kept = True
        if event == "resumed":
            self._progress.note(f"going on after {plural(rows, 'row')} that an earlier run has done ({self._folder})")
        elif not self._told:
            self._told = True
            again = "after an interruption, give the same command again to go on"
            self._progress.note(f"saving what is done to {self._folder}: {again}")

    @contextmanager
    def interrupted_in_words(self) -> Iterator[None]:
        """Say what an interrupt leaves."""
        try:
            yield
        except KeyboardInterrupt:
            kept = "nothing is kept (with --checkpoint DIR, what is done would be)"
            if self._kept:
                kept = f"what is done is kept in {self._folder}: give the same command again to go on"
            elif self._folder is not None:
                kept = f"nothing was saved to {self._folder} yet"
            self._progress.note(f"Interrupted: {kept}")
            raise


def streamed_certificate(
    edges: Path,
    forest: Path,
    names: tuple[str, str, str | None],
    memory_limit: str | None,
    options: dict[str, Any],
    progress: Progress,
) -> Certificate:
    """Verify a forest's file against a stream."""
    from dfmst import stream

    limit = memory_bytes(memory_limit)
    return stream.verify(edges, forest, *names, memory_limit=limit, progress=row_progress(progress), **options)


def _deliver(job: ForestJob, target: Path | None, forest: StreamForest, watch: Stopwatch, progress: Progress) -> None:
    """Verify and write, in one pass where both are asked for."""
    output: Any = target
    if target is None and not job.json:
        output = standard_output()
    form = job.to or ("csv" if target is None else None)
    if job.verify:
        with watch.step("verify"):
            if output is None:
                certificate = forest.verify(row_progress(progress))
            else:
                certificate = forest.write_verified(output, form, row_progress(progress))
        if certificate.first_violation is not None:
            message = f"the forest is wrong, which is a fault of dfmst: {certificate.first_violation.message}"
            raise RuntimeError(message)
    elif output is not None:
        progress.show("gathering and writing")
        with watch.step("write"):
            forest.write(output, form)
    if output is None:
        forest.discard_checkpoint()


def _summary(job: ForestJob, forest: StreamForest, watch: Stopwatch) -> dict[str, Any]:
    return {
        "kind": job.kind,
        "input": [str(path) for path in job.inputs],
        "output": None if job.output is None else str(job.output),
        "input_rows": forest.source_rows,
        "dropped_rows": forest.dropped,
        "rows": forest.rows,
        "vertices": forest.vertices,
        "components": forest.components,
        "total_weight": forest.total_weight,
        "verified": True if job.verify else None,
        "algorithm": job.algorithm,
        "engine": forest.engine,
        "threads": forest.threads,
        "streamed": True,
        "memory_limit": forest.memory_limit,
        "peak_memory": forest.peak_memory,
        "seconds": watch.seconds(),
    }


def _beside_plan(job: ForestJob, forest: StreamForest) -> list[tuple[str, str, str]]:
    strategy = "stream" if job.spill_dir is None else "spill"
    return beside_plan(
        job,
        (strategy, strategy),
        (forest.source_rows, forest.rows),
        memory=forest.memory_limit,
        vertices=forest.vertices,
        peak=forest.peak_memory,
    )
