"""Where sorted runs are cut so that the spans between two cuts hold about so many rows, all before the next spans'."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dfmst._slices.runs import GRAIN, Run

__all__ = ["cut_runs"]

Span = tuple[int, int]


def cut_runs(runs: Sequence[Run], rows: int) -> Iterator[list[Span]]:
    """Yield slices of all runs in ascending order: a span of each run.

    Of equal keys those in earlier runs, and earlier in their run, come first. The order is total, so that masses of
    equal keys are cut as any others, and no slice has more than `rows` rows (or ``1 + len(runs)`` times ``GRAIN``).
    """
    key = np.concatenate([run.index for run in runs]) if runs else np.zeros(0, np.uint64)
    number = np.repeat(np.arange(len(runs)), [len(run.index) for run in runs])
    place = np.concatenate([np.arange(len(run.index)) * GRAIN for run in runs]) if runs else number
    order = np.lexsort((place, number, key))
    step = max(1, rows // GRAIN - len(runs))
    begins = [0] * len(runs)
    for at in order[step::step].tolist():
        ends = _cut(runs, int(key[at]), int(number[at]), int(place[at]))
        if ends != begins:
            yield list(zip(begins, ends, strict=True))
        begins = ends
    if begins != list(map(len, runs)):
        yield list(zip(begins, map(len, runs), strict=True))


def _cut(runs: Sequence[Run], key: int, number: int, place: int) -> list[int]:
    """Rows of each run before row `place` of run `number`, whose key is `key`."""
    return [place if other == number else run.place(key, after_equal=other < number) for other, run in enumerate(runs)]
