"""What is public, and what is not: modules, names, and the names that the documentation uses."""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import dfmst
from dfmst.accessor import ForestAccessor

ROOT = Path(__file__).resolve().parents[2]
TOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
LAYERS, COMMAND = TOOLS["importlinter"]["contracts"]
ROOMS = {module.name for module in pkgutil.iter_modules(dfmst.__path__)}
INTERNAL = {name for name in ROOMS if name.startswith("_") and name != "__main__"}
PUBLIC = ["dfmst", *sorted(f"dfmst.{name}" for name in ROOMS - INTERNAL - {"__main__", "cli"})]
MADE = {"pages", "reference", "_build"}  # folders of what a build of the documentation makes
DOCUMENTS = [
    ROOT / "README.md",
    *(page for page in sorted((ROOT / "docs").glob("**/*.md")) if not MADE & {folder.name for folder in page.parents}),
]


def public_module(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        if (error.name or "dfmst").partition(".")[0] == "dfmst":
            raise
        pytest.skip(f"needs {error.name}")


def test_the_command_line_may_import_nothing_internal() -> None:
    forbidden = set(COMMAND["forbidden_modules"])
    assert {f"dfmst.{name}" for name in INTERNAL} <= forbidden
    # Of a public package, what it exports: not its modules.
    packages = {module.name for module in pkgutil.iter_modules(dfmst.__path__) if module.ispkg}
    assert {f"dfmst.{name}.*" for name in packages - INTERNAL - {"cli"}} <= forbidden


def test_the_layers_name_every_module_and_leave_none_free() -> None:
    assert LAYERS["exhaustive"]
    names = [name for layer in LAYERS["layers"] for name in layer.split(" | ")]
    assert sorted(names) == sorted(ROOMS)  # `a : b` would let both import each other


def test_few_public_modules_stand_at_the_top() -> None:
    assert (
        len(ROOMS - INTERNAL - {"__main__", "errors", "typing"}) <= 16
    )  # the rooms of the plan, interop, networkx and sklearn among them


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_module_exports_what_it_defines(name: str) -> None:
    module = public_module(name)
    exported = module.__all__
    assert len(exported) == len(set(exported))
    assert not [one for one in exported if one.startswith("_")]
    for one in exported:
        value = getattr(module, one)
        assert inspect.getdoc(value) or not (inspect.isclass(value) or inspect.isroutine(value)), one
    things = {one: value for one, value in vars(module).items() if inspect.isclass(value) or inspect.isfunction(value)}
    defined = {one for one, value in things.items() if value.__module__ == name and not one.startswith("_")}
    assert defined <= set(exported)


def test_type_checkers_read_the_names_that_are_loaded() -> None:
    tree = ast.parse((ROOT / "dfmst" / "__init__.pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    named = {alias.asname: (node.module, alias.name) for node in imports for alias in node.names}
    assert named.keys() == set(dfmst.__all__)
    for public, (module, name) in named.items():
        assert public == name
        assert getattr(import_module(str(module)), name) is getattr(dfmst, public)


def test_an_accessor_has_every_function_of_a_frame() -> None:
    frames = {"edges", "forest", "points", "table", "new"}
    functions = {name: getattr(dfmst, name) for name in dfmst.__all__ if inspect.isfunction(getattr(dfmst, name))}
    methods = {
        name
        for name, function in functions.items()
        if frames & {next(iter(inspect.signature(function).parameters), "")}
    }
    assert methods == set(dfmst.FRAME_FUNCTIONS)
    short = {"minimum", "maximum", "spanning", "components", "linkage", "plan"}
    shown = {name for name in dir(ForestAccessor) if not name.startswith("_")}
    assert shown == {name for name in methods if not name.endswith("spanning_forest")} | short
    for name in shown - short:
        assert inspect.getdoc(getattr(ForestAccessor, name)) == inspect.getdoc(functions[name])


def test_the_guide_of_frames_names_every_function_and_method() -> None:
    guide = (ROOT / "docs" / "guides" / "frames.md").read_text(encoding="utf-8")
    methods = guide.partition("- Every other method")[2].partition("\n- ")[0]
    missing = [name for name in dfmst.FRAME_FUNCTIONS if name not in ("connected_components", "single_linkage")]
    missing = [name for name in missing if not name.endswith("spanning_forest") and f"`{name}`" not in methods]
    table = guide.partition("## Choose a function")[2].partition("\n## ")[0]
    functions = [name for name in dfmst.__all__ if inspect.isfunction(getattr(dfmst, name))]
    assert missing + [name for name in functions if not re.search(rf"^\|.*`{name}\(.*\|", table, re.MULTILINE)] == []


def documented_names() -> list[str]:
    texts = [path.read_text(encoding="utf-8") for path in DOCUMENTS]
    return sorted({name for text in texts for name in re.findall(r"(?<![\w./-])dfmst(?:\.[a-zA-Z]\w*)+", text)})


@pytest.mark.parametrize("name", documented_names())
def test_a_documented_name_is_exported(name: str) -> None:
    if name not in PUBLIC:
        module, _, last = name.rpartition(".")
        assert module in PUBLIC
        assert last in public_module(module).__all__
