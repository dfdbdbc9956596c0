"""Names and objects select an algorithm, and wrong ones are refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from dfmst._edges.edge_table import EdgeTable
from dfmst._engines import CpuEngine
from dfmst.algorithms import (
    BSP,
    EPMST,
    PMA,
    REGISTRY,
    BaderCong,
    Boruvka,
    Dataframe,
    FilterBoruvka,
    FilterKruskal,
    Kruskal,
    Mastiff,
    Prim,
)
from dfmst.algorithms.solve import resolve
from tests.support.cases import ALGORITHMS
from tests.support.solving import counts, traced

NO_LIGHT = (0, -1, float("nan"))


def choose(algorithm):
    return resolve(algorithm, CpuEngine(1))


def test_every_algorithm_has_cases():
    assert {type(algorithm) for algorithm in ALGORITHMS} >= set(REGISTRY.values())


@pytest.mark.parametrize("name", REGISTRY)
def test_a_name_selects_the_default_object(name):
    assert choose(name) == REGISTRY[name]()


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=repr)
def test_an_object_is_itself(algorithm):
    assert choose(algorithm) is algorithm


def test_auto_chooses():
    assert isinstance(choose("auto"), tuple(REGISTRY.values()))


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=repr)
def test_algorithms_are_frozen(algorithm):
    assert dataclasses.replace(algorithm) == algorithm
    assert hash(dataclasses.replace(algorithm)) == hash(algorithm)
    for field in dataclasses.fields(algorithm):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(algorithm, field.name, None)


def test_unknown_name():
    with pytest.raises(ValueError, match="unknown algorithm 'kruskall'; known: 'auto', 'boruvka'"):
        choose("kruskall")


@pytest.mark.parametrize("algorithm", [None, 3, Boruvka])
def test_neither_name_nor_object(algorithm):
    with pytest.raises(TypeError, match=r"it must be a name or an object of dfmst\.algorithms"):
        choose(algorithm)


REFUSED: list[tuple[type, dict[str, Any], str]] = [
    (Boruvka, {"contract": "all"}, "contract is 'all'; it must be 'none', 'loops' or 'parallel'"),
    *((kind, {"light": light}, "above 0, or None") for kind in (FilterKruskal, FilterBoruvka) for light in NO_LIGHT),
    (BaderCong, {"trees": 0}, "trees is 0; it must be at least 1, or None"),
    (BSP, {"rounds": -1}, "rounds is -1"),
    (BSP, {"rounds": "log n"}, "rounds is 'log n'; it must be at least 0, 'log p', or None"),
    (Dataframe, {"form": "prim"}, "form is 'prim'; it must be 'boruvka', 'mastiff' or 'bsp'"),
    *((EPMST, {"sample": sample}, "it must be above 0 and at most 1") for sample in (*NO_LIGHT, 1.5)),
    (EPMST, {"seed": -1}, "seed is -1; it must be at least 0, or None"),
    (Kruskal, {"helpers": -1}, "helpers is -1; it must be at least 0"),
    (PMA, {"lightest": "max"}, "lightest is 'max'; it must be 'min', 'sort' or 'hybrid'"),
    (PMA, {"search": "list"}, "search is 'list'; it must be 'heap' or 'scan'"),
    (PMA, {"max_subtree": 1}, "max_subtree is 1; it must be at least 2, or None"),
    (Prim, {"form": "heap"}, "form is 'heap'; it must be 'queues', 'reduction' or None"),
    (Prim, {"queues": 0}, "queues is 0; it must be at least 1"),
    (Prim, {"hub": 0}, "hub is 0"),
    (Prim, {"lanes": -1}, "lanes is -1"),
    (Prim, {"lists": "matrix"}, "lists is 'matrix'; it must be 'pairs' or 'columns'"),
]


@pytest.mark.parametrize(("kind", "parameters", "message"), REFUSED)
def test_wrong_parameters(kind, parameters, message):
    with pytest.raises(ValueError, match=message):
        kind(**parameters)


LIKE_ONE_THREAD = [BSP(), Mastiff(), Mastiff(drop_inside=True), Kruskal(1), Kruskal(7)]


@pytest.mark.parametrize("algorithm", LIKE_ONE_THREAD, ids=repr)
def test_the_trace_does_not_depend_on_the_threads(algorithm):
    rng = np.random.default_rng(5)
    source, target = rng.integers(0, 3_000, (2, 40_000), np.uint32)
    table = EdgeTable(source, target, rng.integers(0, 12, 40_000, np.int32), 3_000)
    one, *others = (counts(traced(algorithm, table, CpuEngine(threads))[1]) for threads in (1, 2, 4))
    assert [one, one] == others
