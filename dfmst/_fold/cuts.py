"""Where sorted runs are cut so that the spans between two cuts hold about so many rows, all before the next spans'."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dfmst._common.types import Array
from dfmst._fold.buffer import Rows
from dfmst._fold.runs import Run

Span = tuple[int, int]

_PIECE = 1 << 18  # rows read at a time


class Cut(NamedTuple):
    """A place in the total order: before row `place` of run `number`, whose key is `key`."""

    key: int
    number: int
    place: int

    def place_in(self, run: Run, number: int) -> int:
        """Rows of a run that come before. Of equal keys those in earlier runs, and earlier in their run, come first."""
        return self.place if number == self.number else run.place(self.key, after_equal=number < self.number)


class RunIndex(NamedTuple):
    """Keys of every `grain` rows of a run."""

    key: Array
    grain: int

    @classmethod
    def of_run(cls, run: Run) -> RunIndex:
        """Take a run's index."""
        return cls(run.index, run.grain)


def cuts_of(runs: Sequence[RunIndex], rows: int) -> list[Cut]:
    """Choose cuts between which about so many rows lie: not more, unless that is below the grain of all runs together.

    The order is total, so that masses of equal keys are cut as any others.
    """
    if not runs:
        return []
    key = np.concatenate([run.key for run in runs])
    number = np.repeat(np.arange(len(runs)), [len(run.key) for run in runs])
    place = np.concatenate([np.arange(len(run.key)) * run.grain for run in runs])
    order = np.lexsort((place, number, key))
    step = max(1, rows // max(run.grain for run in runs) - len(runs))
    chosen = order[step::step]
    columns = (key[chosen].tolist(), number[chosen].tolist(), place[chosen].tolist())
    return [Cut(*entry) for entry in zip(*columns, strict=True)]


def cut_runs(runs: Sequence[Run], rows: int) -> Iterator[list[Span]]:
    """Yield slices of all runs in ascending order: a span of each run, of at most so many rows in all."""
    begins = [0] * len(runs)
    cuts = cuts_of([RunIndex.of_run(run) for run in runs], rows)
    for cut in [*cuts, None]:
        ends = [len(run) if cut is None else cut.place_in(run, number) for number, run in enumerate(runs)]
        if ends != begins:
            yield list(zip(begins, ends, strict=True))
        begins = ends


def read_spans(runs: Sequence[Run], spans: Sequence[Span]) -> Iterator[Rows]:
    """Read a slice, run after run, a bounded number of rows at a time."""
    for run, (begin, end) in zip(runs, spans, strict=True):
        marks = [*range(begin, end, _PIECE), end]
        yield from (run.part(*span) for span in pairwise(marks))


def concat_spans(runs: Sequence[Run], spans: Sequence[Span]) -> Rows:
    """Read a slice that is not empty, run after run, into one."""
    return Rows(*map(runs[0].xp.concatenate, zip(*(rows.arrays for rows in read_spans(runs, spans)), strict=True)))
