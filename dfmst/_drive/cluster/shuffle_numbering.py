"""One numbering of the vertices of all groups: ids go by their hash to owners that number them, and numbers come back.

Where all ids are dense integers, they are the numbers, and these tasks have nothing to do. Other integers are numbered
on a GPU where a group's edges wait there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._common.types import Array
from dfmst._drive.cluster.devices import TaskColumns, register_for_gpus
from dfmst._drive.cluster.shuffle_edges import GroupEdges, Survey, waits_on_gpu, where_they_wait
from dfmst._drive.cluster.shuffle_runs import (
    LeftArray,
    LeftIds,
    ids_on_host,
    ids_there,
    leave,
    leave_ids,
    load,
    local_directory,
    on_side,
)
from dfmst._drive.plan.plan import id_words
from dfmst._edges.dictionary import Dictionary, plain
from dfmst._edges.encode import DeviceDictionary, DeviceEncoder
from dfmst._engines import Engine
from dfmst._fold.runs import StoredArray, StoredIds
from dfmst._fold.slices import read_spans

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@register_for_gpus
class Question(NamedTuple):
    """Ids of some of a group's vertices, which one owner numbers."""

    vertices: LeftArray
    ids: LeftIds


@register_for_gpus
class Numbering(NamedTuple):
    """Number of each of a group's vertices (``None``: its own), and how many numbers there are in all."""

    numbers: LeftArray | None
    total: int


def ask(edges: GroupEdges, found: Survey, owners: int) -> list[Question | None]:
    """Return what each owner is to number (a task)."""
    if found.dense is not None or not edges.runs:
        return [None] * owners
    return where_they_wait(waits_on_gpu(edges), lambda engine: _ask(engine, edges, owners))


def _ask(engine: Engine, edges: GroupEdges, owners: int) -> list[Question | None]:
    encoder = edges.encoder(engine)
    occurs = engine.xp.zeros(encoder.count, np.bool_)
    for rows in read_spans(edges.runs, [(0, len(run)) for run in edges.runs]):
        for ends in on_side(engine, rows)[:2]:
            occurs[ends] = True
    vertices = engine.xp.flatnonzero(occurs).astype(np.uint32)
    if isinstance(encoder, DeviceEncoder):
        ids = encoder.decode_there(vertices).astype(np.int64, copy=False)
        owner = _owner(ids.view(np.uint64), owners)
        own = (engine.xp.flatnonzero(owner == np.uint64(place)) for place in range(owners))
        return [Question(leave(engine, vertices[each]), leave_ids(engine, ids[each])) for each in own]
    vertices = engine.to_host(vertices)
    texts = _plain(encoder.decode(vertices))
    owner = _owner(id_words(texts), owners)
    questions: list[Question | None] = []
    for place in range(owners):
        each = np.flatnonzero(owner == place)
        directory = local_directory()
        stored = StoredIds(directory, texts.take(pa.array(each)))
        questions.append(Question(StoredArray(directory, vertices[each]), stored))
    return questions


def _owner(word: Array, owners: int) -> Array:
    """Which task numbers an id: the same in every process, on either side."""
    owner: Array = ((word * _FACTOR) >> np.uint64(32)) % np.uint64(owners)
    return owner


def number_ids(questions: list[Question | None]) -> list[Any]:
    """Number an owner's ids (a task): how many there are, then each group's numbers."""
    waiting = any(question is not None and isinstance(question.ids, TaskColumns) for question in questions)
    return where_they_wait(waiting, lambda engine: _number_ids(engine, questions))


def _number_ids(engine: Engine, questions: list[Question | None]) -> list[Any]:
    dictionary = Dictionary(engine) if engine.on_host else DeviceDictionary(engine)
    numbers: list[LeftArray | None] = []
    for question in questions:
        if question is None:
            numbers.append(None)
        elif isinstance(dictionary, DeviceDictionary):  # one of the questions is of integers: all are
            numbers.append(leave(engine, dictionary.numbers(ids_there(engine, question.ids))))
        else:
            numbers.append(leave(engine, dictionary.look_up(ids_on_host(question.ids), extend=True)))
    return [dictionary.count, *numbers]


def settle(
    edges: GroupEdges,
    found: Survey,
    questions: list[Question | None],
    counts: list[int],
    numbers: list[LeftArray | None],
) -> Numbering:
    """Put the numbers of a group's vertices together (a task)."""
    if found.dense is not None:
        return Numbering(None, found.dense)
    arguments = (edges, questions, counts, numbers)
    return where_they_wait(waits_on_gpu(edges), lambda engine: _settle(engine, *arguments))


def _settle(
    engine: Engine,
    edges: GroupEdges,
    questions: list[Question | None],
    counts: list[int],
    numbers: list[LeftArray | None],
) -> Numbering:
    first = np.cumsum([0, *counts])
    own: Array = engine.xp.zeros(edges.vertices, np.uint32)
    for place, (question, answer) in enumerate(zip(questions, numbers, strict=True)):
        if question is not None and answer is not None:
            own[load(engine, question.vertices)] = load(engine, answer) + np.uint32(first[place])
    return Numbering(leave(engine, own), int(first[-1]))


def total_of(numbering: Numbering) -> int:
    """Return how many numbers there are (a task)."""
    return numbering.total


def _plain(ids: pa.Array) -> pa.Array:
    """Integers of 64 bits, as all tasks have them (huge ones wrap around); other ids as a dictionary takes them."""
    return pa.array(ids.to_numpy().astype(np.int64)) if pa.types.is_integer(ids.type) else plain(ids)
