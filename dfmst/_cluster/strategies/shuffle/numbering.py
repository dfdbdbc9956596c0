"""One numbering of the vertices of all groups: ids go by their hash to owners that number them, and numbers come back.

Where all ids are dense integers, they are the numbers, and these tasks have nothing to do.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from dfmst._cluster.hashing import id_words
from dfmst._cluster.local_files import local_directory
from dfmst._cluster.solve import task_engine
from dfmst._cluster.strategies.shuffle.edges import GroupEdges, Survey
from dfmst._columns.dictionary import Dictionary
from dfmst._columns.id_words import plain
from dfmst._slices.cuts import read_spans
from dfmst._slices.stored import StoredArray, StoredIds
from dfmst.typing import Array

__all__ = ["Numbering", "Question", "ask", "number_ids", "settle", "total_of"]

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class Question(NamedTuple):
    """Ids of some of a group's vertices, which one owner numbers."""

    vertices: StoredArray
    ids: StoredIds


class Numbering(NamedTuple):
    """Number of each of a group's vertices (``None``: its own), and how many numbers there are in all."""

    numbers: StoredArray | None
    total: int


def ask(edges: GroupEdges, found: Survey, owners: int) -> list[Question | None]:
    """Return what each owner is to number (a task)."""
    if found.dense is not None or not edges.runs:
        return [None] * owners
    encoder = edges.encoder()
    occurs = np.zeros(encoder.count, bool)
    for rows in read_spans(edges.runs, [(0, len(run)) for run in edges.runs]):
        occurs[rows.source] = True
        occurs[rows.target] = True
    vertices = np.flatnonzero(occurs).astype(np.uint32)
    ids = _plain(encoder.decode(vertices))
    owner = ((id_words(ids) * _FACTOR) >> np.uint64(32)) % np.uint64(owners)
    questions: list[Question | None] = []
    for place in range(owners):
        own = np.flatnonzero(owner == place)
        directory = local_directory()
        questions.append(Question(StoredArray(directory, vertices[own]), StoredIds(directory, ids.take(pa.array(own)))))
    return questions


def number_ids(questions: list[Question | None]) -> list[Any]:
    """Number an owner's ids (a task): how many there are, then each group's numbers."""
    dictionary = Dictionary(task_engine())
    numbers: list[StoredArray | None] = []
    for question in questions:
        if question is None:
            numbers.append(None)
            continue
        found = dictionary.look_up(question.ids.load(), extend=True)
        numbers.append(StoredArray(local_directory(), found))
    return [dictionary.count, *numbers]


def settle(
    edges: GroupEdges,
    found: Survey,
    questions: list[Question | None],
    counts: list[int],
    numbers: list[StoredArray | None],
) -> Numbering:
    """Put the numbers of a group's vertices together (a task)."""
    if found.dense is not None:
        return Numbering(None, found.dense)
    first = np.cumsum([0, *counts])
    own: Array = np.zeros(edges.encoder().count, np.uint32)
    for place, (question, answer) in enumerate(zip(questions, numbers, strict=True)):
        if question is not None and answer is not None:
            own[question.vertices.load()] = answer.load() + np.uint32(first[place])
    return Numbering(StoredArray(local_directory(), own), int(first[-1]))


def total_of(numbering: Numbering) -> int:
    """Return how many numbers there are (a task)."""
    return numbering.total


def _plain(ids: pa.Array) -> pa.Array:
    """Integers of 64 bits, as all tasks have them (huge ones wrap around); other ids as a dictionary takes them."""
    return pa.array(ids.to_numpy().astype(np.int64)) if pa.types.is_integer(ids.type) else plain(ids)
