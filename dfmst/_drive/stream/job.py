"""A run of a stream: its request, limits, source and directories, which are opened here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dfmst._common.directories import SpillDirectory
from dfmst._common.machine import showing
from dfmst._common.types import DType, Frame
from dfmst._drive.stream.sources import EdgeSource, on_device, open_source
from dfmst._edges.read import EdgeColumns
from dfmst._engines import Engine, host_engine, select_engine
from dfmst._fold.budget import Budget, parse_memory
from dfmst._fold.checkpoint import Checkpoint
from dfmst._fold.runs import Order, Run
from dfmst._trees.request import STREAM_MEMORY, Limits, Request
from dfmst.algorithms.solve import resolve


def ignore_progress(done: int, total: int | None) -> None:
    """Default progress callback: do nothing."""


@dataclass(frozen=True, slots=True)
class Job:
    """A run of a stream: the request, its engine, the limits in bytes, and its directories."""

    request: Request
    engine: Engine
    memory: int
    gpu_memory: int = 0  # if the engine is a GPU
    progress: Callable[[int, int | None], None] = ignore_progress  # called with rows done and all rows (None: unknown)
    spill: SpillDirectory | None = None  # for rows that do not fit the limit
    checkpoint: Checkpoint | None = None
    sets: bool = False  # whether only components are wanted
    dictionaries: int = 0  # bytes that a row group has at most
    columns: EdgeColumns = field(init=False)
    names: list[Any] = field(init=False)  # columns to read
    budget: Budget = field(init=False)  # of a run on the host

    def __post_init__(self) -> None:
        budget = Budget(self.memory, sets=self.sets, dictionaries=self.dictionaries)
        made = {"columns": self.request.columns, "names": self.request.columns.read_names, "budget": budget}
        for name, value in made.items():
            object.__setattr__(self, name, value)


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
