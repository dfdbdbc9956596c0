"""The house: no circles of modules, few rooms and arrows, and one vocabulary in all public signatures."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

from tests.packaging.test_public_names import PUBLIC, public_module

PACKAGE = Path(__file__).resolve().parents[2] / "dfmst"
FRAMES = {"edges", "forest", "points", "new_edges", "pairs", "terminals", "matrix", "graph", "table", "column", "path"}
#: What a parameter must not be called, and the name that it has everywhere.
OTHER_NAMES = {
    "memory": "memory_limit",
    "gpu_memory": "gpu_memory_limit",
    "device_memory": "gpu_memory_limit",
    "core_k": "min_samples",
    "selection": "cluster_selection_method",
    "n": "n_vertices",
    "u": "source",
    "v": "target",
    "w": "weight",
    "neighbours": "neighbors",
    "colours": "colors",
}


@cache
def imports() -> dict[str, set[str]]:
    """Module -> modules of the package that it imports, at its top or when a function runs; not for types alone."""
    files = {path.with_suffix("").relative_to(PACKAGE.parent): path for path in PACKAGE.rglob("*.py")}
    modules = {".".join(name.parts).removesuffix(".__init__"): path for name, path in files.items()}
    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        named = {target for node in _running(ast.parse(path.read_text(encoding="utf-8"))) for target in _named(node)}
        found = {_longest(target, modules) for target in named if target.split(".")[0] == "dfmst"}
        graph[name] = found - {name, "dfmst"}
    return graph


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes of a tree without those that only a type checker reads."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _running(child)


def _named(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [f"{node.module}.{alias.name}" for alias in node.names] if isinstance(node, ast.ImportFrom) else []


def _longest(name: str, modules: dict[str, Path]) -> str:
    while name not in modules:
        name = name.rpartition(".")[0]
    return name


def test_no_circle_of_modules() -> None:
    try:
        TopologicalSorter(imports()).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(error.args[1]))


def test_few_rooms_and_arrows() -> None:
    def room(module: str) -> str:
        return (*module.split("."), "__init__")[1]

    arrows = {(room(one), room(other)) for one, others in imports().items() for other in others}
    assert len({room(module) for module in imports()}) <= 26
    assert len({(one, other) for one, other in arrows if one != other}) <= 110


def functions() -> list[Any]:
    """Public functions, constructors of public classes, of which a frozen one has its fields, and their methods."""
    found: dict[Any, str] = {}
    for module in sorted(set(PUBLIC) - {"dfmst.typing"}):
        try:
            exported = public_module(module)
        except pytest.skip.Exception:
            continue
        for name in exported.__all__:
            value = getattr(exported, name)
            if inspect.isclass(value):
                methods = {f"{name}.{own}": one for own, one in vars(value).items() if not own.startswith("_")}
                found |= {one: f"{module}.{own}" for own, one in methods.items() if inspect.isfunction(one)}
            if inspect.isroutine(value) or (inspect.isclass(value) and not issubclass(value, Exception)):
                found[value] = f"{module}.{name}"
    return [pytest.param(value, id=name) for value, name in found.items()]


@pytest.mark.parametrize("function", functions())
def test_one_vocabulary(function: Any) -> None:
    parameters = inspect.signature(function).parameters
    known = {"n"} if function.__name__ == "partition" else set()  # a number of parts, not of vertices
    assert not {name: OTHER_NAMES[name] for name in set(parameters) - known if name in OTHER_NAMES}
    if {"source", "target"} <= set(parameters) and FRAMES & set(parameters):
        places = [place for place, name in enumerate(parameters) if name in ("source", "target", "weight")]
        before = list(parameters)[: places[0]]
        assert set(before) <= FRAMES | {"shape", "files"} or parameters["source"].kind is inspect.Parameter.KEYWORD_ONLY
        assert places == list(range(places[0], places[0] + len(places)))
    for name in ("vertices", "edges"):
        if name in parameters and parameters[name].annotation in ("int", "int | None"):
            pytest.fail(f"{name} is a count: call it n_{name}")
