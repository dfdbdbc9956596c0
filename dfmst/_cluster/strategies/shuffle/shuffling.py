"""``strategy="shuffle"``: rounds of Borůvka on partitioned tables, for forests that do not fit one worker.

The number of rounds is set when the graph is built; once the rest fits one worker, the rounds pass it on as it is, and
it is merged. Every component but the largest joins another one, so that each round at least halves them.

Sanders and Schimek: Engineering massively parallel MST algorithms. IPDPS 2023 (local contraction, then filtering).
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from dfmst._cluster.files import FileRows
from dfmst._cluster.graph import TaskGraph
from dfmst._cluster.marks import RowMarks, marks_by_partition
from dfmst._cluster.solve import solve, task_engine
from dfmst._cluster.strategies.merge import add_merge_tree
from dfmst._cluster.strategies.shuffle import rounds
from dfmst._cluster.strategies.shuffle.rounds import Report, Survey, split
from dfmst._cluster.strategies.shuffle.shard import Shard
from dfmst._cluster.strategies.shuffle.sharding import Sharding, concat_pieces, wide_ids
from dfmst._cluster.tables import concat
from dfmst._cluster.tasks import Group, pick
from dfmst._columns.read import EdgeColumns
from dfmst.algorithms.trace import Trace

__all__ = ["RECORD", "ShuffledForest", "add_shuffle", "no_records"]

#: Columns of the trace.
RECORD = ["round", "vertices", "edges", "chosen", "components", "bytes", "largest_partition"]
_JUMPS = 4  # pointers as long as 2**(jumps - 1) are resolved within their round


class ShuffledForest(NamedTuple):
    """References to tables that hold the forest's locators between them, to the trace, and to each group's marks."""

    forests: list[Any]
    trace: Any
    marks: list[Any]


def add_shuffle(
    graph: TaskGraph,
    groups: list[Group],
    columns: EdgeColumns,
    split_every: int,
    fit: int,
    count: int,
    sharding: Sharding,
) -> ShuffledForest:
    """Add the tasks of this strategy, and return references to the forest of all groups.

    Parameters
    ----------
    graph, groups, columns, split_every
        As for the other strategies.
    fit
        Vertices whose forest one worker holds: a rest of so many is merged.
    count
        Most rounds to take.
    sharding
        How vertices are spread.
    """
    network = _Network(graph, sharding, fit)
    pieces = [
        graph.add("distribute", number, distribute, *group.arguments(), columns, sharding, fit)
        for number, group in enumerate(groups)
    ]
    shards = [
        graph.add("shard", number, first_shard, number, mail)
        for number, mail in enumerate(network.exchange("send", 0, pieces, sharding.shards))
    ]
    surveys, reports, bytes_sent = [network.survey(0, shards)], [], []
    for number in range(1, count + 1):
        shards, report, counts = network.round(number, shards, surveys[-1])
        surveys.append(network.survey(number, shards))
        reports.append(report)
        bytes_sent += counts
    rest = [graph.add("rest", number, remaining, shard, sharding) for number, shard in enumerate(shards)]
    chosen = [graph.add("chosen", number, chosen_rows, shard) for number, shard in enumerate(shards)]
    trace = graph.add("trace", 0, records, surveys, reports, bytes_sent, fit)
    # Each group's marks wait where they were made.
    marks = [graph.add("marks", number, pick, source, sharding.shards) for number, source in enumerate(pieces)]
    return ShuffledForest([add_merge_tree(graph, rest, split_every), *chosen], trace, marks)


class _Network:
    """The rounds' tasks, and what travels between them."""

    def __init__(self, graph: TaskGraph, sharding: Sharding, fit: int) -> None:
        self._graph, self._sharding, self._fit = graph, sharding, fit

    def exchange(self, name: str, step: Any, sources: list[Any], count: int, skip: int = 0) -> list[list[Any]]:
        """What each of `count` receivers gets: entries of the sources' lists, the first `skip` left out."""
        return [
            [
                self._graph.add(f"{name}-part", (step, sender, place), pick, source, place + skip)
                for sender, source in enumerate(sources)
            ]
            for place in range(count)
        ]

    def each(self, name: str, step: Any, task: Any, *columns: list[Any], **options: Any) -> list[Any]:
        """One task a shard, on the shard's entry of each column."""
        function = partial(task, **options) if options else task
        return [
            self._graph.add(name, (step, number), function, *arguments)
            for number, arguments in enumerate(zip(*columns, strict=True))
        ]

    def survey(self, number: int, shards: list[Any]) -> Any:
        """Count the vertices and edges of all shards."""
        measures = self.each("measure", number, rounds.measure, shards, sharding=self._sharding)
        return self._graph.add("survey", number, rounds.survey, measures)

    def ask(self, step: Any, steps: list[Any], names: bool) -> tuple[list[Any], list[list[Any]]]:
        """Ask, and give the shards and the answers that each receives."""
        shards, sharding = len(steps), self._sharding
        asking = self.each("ask", step, rounds.ask, steps, sharding=sharding, names=names)
        steps = self._states("ask", step, asking)
        questions = self.exchange("ask", step, asking, shards, skip=1)
        answering = self.each("answer", step, rounds.answer, steps, questions)
        return steps, self.exchange("answer", step, answering, shards)

    def _states(self, name: str, step: Any, lists: list[Any]) -> list[Any]:
        return [
            self._graph.add(f"{name}-state", (step, number), pick, source, 0) for number, source in enumerate(lists)
        ]

    def round(self, number: int, shards: list[Any], survey: Any) -> tuple[list[Any], Any, list[Any]]:
        """One round: the shards after it, the report of all, and the bytes of edges that each shard sent."""
        count, sharding, fit = len(shards), self._sharding, self._fit
        steps = self.each("contract", number, rounds.open_round, shards, [survey] * count, fit=fit, sharding=sharding)
        for jump in range(_JUMPS):
            steps, answers = self.ask((number, jump), steps, names=False)
            options = {"sharding": sharding, "first": jump == 0}
            steps = self.each("shorten", (number, jump), rounds.shorten, steps, answers, **options)
        steps, answers = self.ask((number, "names"), steps, names=True)
        named = self.each("relabel", number, rounds.relabel, steps, answers, sharding=sharding)
        reports = [self._graph.add("report", (number, shard), pick, source, 1) for shard, source in enumerate(named)]
        most = self._graph.add("largest", number, rounds.largest, reports)
        options = {"fit": fit, "sharding": sharding}
        sending = self.each("send", number, rounds.send, named, [most] * count, [survey] * count, **options)
        states = self._states("send", number, sending)
        counts = [self._graph.add("sent", (number, shard), pick, source, 1) for shard, source in enumerate(sending)]
        pieces = self.exchange("send", number, sending, count, skip=2)
        return self.each("collect", number, rounds.collect, states, pieces), most, counts


def distribute(group: Group, frame: Any, columns: EdgeColumns, sharding: Sharding, fit: int) -> list[Any]:
    """Read a group of partitions, drop what cycles within a batch beat, and return each shard's edges (a task).

    The last entry holds the marks of each partition's edges; ``None`` for a file, which is known by its stamp.
    """
    engine = task_engine()
    parts = group.complete(frame).parts
    marks: list[RowMarks | None] = [None] * len(parts)
    pieces: list[list[pa.Table]] = [[] for _ in range(sharding.shards)]
    batch: list[pa.Table] = []

    def flush() -> None:
        forest = solve(engine, concat(batch))
        batch.clear()
        if not isinstance(parts[0], FileRows):
            for number, marked in marks_by_partition(forest):
                marks[number - group.first] = marked
        forest = wide_ids(forest)
        for place, piece in enumerate(split(forest, sharding, pa.array([]))[0]):
            pieces[place].append(piece)

    for table in group.tables(engine, columns, frame):
        batch.append(table)
        if sum(waiting.num_rows for waiting in batch) >= fit:
            flush()
    flush()
    return [*(concat_pieces(tables) for tables in pieces), marks]


def first_shard(number: int, pieces: list[pa.Table]) -> Shard:
    """Put a shard together (a task)."""
    return Shard(number, concat_pieces(pieces), np.zeros(0, np.uint64), pa.array([], pa.null()))


def remaining(shard: Shard, sharding: Sharding) -> pa.Table:
    """Return the forest of the edges that a shard answers for (a task)."""
    return solve(task_engine(), shard.own_edges(sharding))


def chosen_rows(shard: Shard) -> pa.Table:
    """Return the locators that a shard has chosen (a task)."""
    return pa.table({"row": shard.chosen})


def records(surveys: list[Survey], reports: list[Report], bytes_sent: list[int], fit: int) -> pd.DataFrame:
    """Return a frame with one record a round (a task); rounds after all fitted one worker have none."""
    shards = len(bytes_sent) // len(reports)
    trace = Trace()
    for number, (before, after) in enumerate(itertools.pairwise(surveys)):
        if before.vertices <= fit:
            break
        chosen = after.chosen - before.chosen - reports[number].doubles
        trace.round(vertices=before.vertices, edges=before.edges, chosen=chosen)
        moved = reports[number].bytes_sent + sum(bytes_sent[number * shards : (number + 1) * shards])
        trace.add(components=after.vertices, bytes=moved, largest_partition=before.largest_partition)
    return pd.DataFrame(trace.columns(), columns=RECORD, dtype="int64")


def no_records() -> pd.DataFrame:
    """Return the trace of a strategy without rounds (a task)."""
    return pd.DataFrame(columns=RECORD, dtype="int64")
