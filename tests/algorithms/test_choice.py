"""Names and objects select an algorithm, and wrong ones are refused."""

from __future__ import annotations

import dataclasses

import pytest

from dfmst._engines import CpuEngine
from dfmst.algorithms import REGISTRY, Boruvka, FilterKruskal
from dfmst.algorithms.solve import resolve
from tests.support.cases import ALGORITHMS


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


def test_boruvka_refuses_other_levels():
    with pytest.raises(ValueError, match="contract is 'all'; it must be 'none', 'loops' or 'parallel'"):
        Boruvka("all")  # type: ignore[arg-type]


@pytest.mark.parametrize("light", [0, -1, float("nan")])
def test_filter_kruskal_refuses_no_light_edges(light):
    with pytest.raises(ValueError, match="it must be above 0, or None"):
        FilterKruskal(light)
