"""A run of a stream: its source and directories are opened, and its result is read or written whole at the end."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Unpack

import pyarrow as pa

from dfmst._common.deferred import cached_property
from dfmst._common.progress import showing
from dfmst._common.types import DType, Frame
from dfmst._drive.stream.batches import Job
from dfmst._drive.stream.parquet import find_files
from dfmst._drive.stream.sources import EdgeSource, input_names, on_device, open_source
from dfmst._edges.frames import open_frame
from dfmst._engines import host_engine, select_engine
from dfmst._fold.budget import parse_memory
from dfmst._fold.checkpoint import Checkpoint
from dfmst._fold.runs import Order, Run
from dfmst._trees.request import STREAM_MEMORY, Limits, Request
from dfmst._trees.result import File
from dfmst.algorithms.solve import resolve
from dfmst.formats import check_file
from dfmst.formats.directories import SpillDirectory
from dfmst.formats.stores import Access, Located, located
from dfmst.formats.write import check_format, write_table


class Delivered(ABC):
    """A result whose rows are made when they are read or written. The checkpoint of its run is then removed."""

    inputs: Sequence[Path] = ()  # files that are not written over
    checkpoint: Checkpoint | None = None
    spill: SpillDirectory | None = None
    ascending: ClassVar[str | None] = None  # column of which Parquet stores the differences

    @abstractmethod
    def _rows(self) -> Any:
        """Make the rows: a reader of batches, or a frame."""

    def _frame(self) -> Any:
        rows = self._rows()
        return rows.read_all() if isinstance(rows, pa.RecordBatchReader) else rows

    @cached_property
    def frame(self) -> Any:
        """The rows: a table of Arrow for files, otherwise a frame of the edges' kind."""
        with self.finished():
            return self._frame()

    def write(self, path: File, format: str | None = None, **options: Unpack[Located]) -> None:
        """Write the rows to a file, in pieces, and remove the checkpoint.

        Parameters
        ----------
        path, format, storage_options, filesystem
            As for :func:`dfmst.formats.write_edges`: a file, or a binary stream. An error leaves no file.
        """
        with self.finished():
            self.write_rows(self._rows(), located(path, **options), format)

    def write_rows(self, rows: object, path: File, format: str | None) -> None:
        """Write rows to a file that appears when it is complete."""
        if isinstance(path, (str, os.PathLike)):
            check_file(path, self.inputs)
        if not isinstance(rows, pa.RecordBatchReader):
            with suppress(pa.ArrowException):  # the writer names a frame that Arrow cannot hold
                rows = open_frame(rows).to_arrow()
        write_table(rows, path, format, self.ascending)

    @contextmanager
    def finished(self) -> Iterator[None]:
        """Context manager: hold the checkpoint's directory, and remove the checkpoint at the end."""
        with self.checkpoint.hold.busy() if self.checkpoint else nullcontext():
            yield
            self.discard_checkpoint()

    def discard_checkpoint(self) -> None:
        """Remove the checkpoint."""
        if self.checkpoint:
            self.checkpoint.clear()

    def close(self) -> None:
        """Remove files in ``spill_dir``, and let other runs use the directory of the checkpoint."""
        if self.checkpoint:
            self.checkpoint.hold.release()
        if self.spill is not None:
            self.spill.remove()


def memory_of(limits: Limits) -> tuple[int, int]:
    """Return the bytes of this process and of its GPU that a stream may use."""
    memory, gpu_memory = (STREAM_MEMORY if each is None else each for each in (limits.memory, limits.gpu_memory))
    return parse_memory(memory), parse_memory(gpu_memory, "gpu_memory_limit", auto=False)


@contextmanager
def opened_job(
    edges: Frame, request: Request, step: str, *, sets: bool = False, once: bool = False
) -> Iterator[tuple[EdgeSource, Job]]:
    """Context manager: open the source and the directories of a run; an error gives the directories back."""
    solver, limits = request.solver, request.limits
    engine = select_engine(solver.engine, solver.threads, on_device=on_device(edges))
    resolve(solver.algorithm, engine)
    memory, gpu_memory = memory_of(limits)
    with showing(limits.progress, step, memory) as tell:
        source = open_source(engine, edges, once=once, opened_by=limits.access)
        with ExitStack() as stack:  # an error may outlive this call, and keeps its frames
            spill = None if limits.spill_dir is None else SpillDirectory(limits.spill_dir)
            if spill is not None:
                stack.callback(spill.remove)
            job = Job(request, engine, memory, gpu_memory, tell, spill, sets=sets)
            if limits.checkpoint is not None:
                checkpoint = _open_checkpoint(Path(limits.checkpoint), source, job)
                stack.callback(checkpoint.hold.release)
                job = replace(job, checkpoint=checkpoint)
            source.require(request.columns.arguments)
            names = [] if sets or source.schema is None else source.schema.names
            rest = [name for name in names if name not in job.names]
            job = replace(job, dictionaries=max(source.dictionaries(job.names), source.dictionaries(rest)))
            with job.checkpoint.hold.busy() if job.checkpoint else nullcontext(), engine.guard():
                yield source, job
            stack.pop_all()


def _open_checkpoint(folder: Path, source: EdgeSource, job: Job) -> Checkpoint:
    """Open the checkpoint of a run over files; the number of threads and the limit may change between runs."""
    columns = job.columns
    fingerprint = {"files": source.fingerprint, "columns": list(columns.names), "maximum": columns.maximum}
    fingerprint |= {"invalid": columns.invalid, "conditions": columns.conditions.words}
    fingerprint["result"] = "components" if job.sets else "forest"

    def make_run(weight: DType) -> Run:
        assert job.spill is not None
        return Run(host_engine(job.engine), job.spill, Order("locator"), weight)

    tell = job.request.limits.on_checkpoint
    return Checkpoint(folder, fingerprint, tell, None if job.spill is None else make_run)


def deliver(
    find: Callable[[], Any], edges: Frame, output: str | os.PathLike[str] | None, options: Mapping[str, Any]
) -> Any:
    """Find a result of `edges`, and return its frame, or write it and return the path; `options` open addresses."""
    if output is not None:  # before rows are read
        access = Access(options.get("storage_options"), options.get("filesystem"))
        output = access.path(output)
        check_format(output)
        names = input_names(edges, access)
        check_file(output, [*find_files(names), *names])
    with closing(find()) as found:
        if output is None:
            return found.frame
        found.write(output)
        return output
