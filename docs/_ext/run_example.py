"""Run an example, and draw its last clusters or its largest forest: ``run_example.py SCRIPT FOLDER``."""

from __future__ import annotations

import inspect
import re
import runpy
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow as pa

import dfmst

FORESTS = ("minimum_spanning_forest", "maximum_spanning_forest")
found: list[dict[str, Any]] = []  # arguments of reports


def recorded(name: str) -> Any:
    """Return a function that also notes the forest that its namesake returns or cuts."""
    function = getattr(dfmst, name)
    parameters = list(inspect.signature(function).parameters)

    def call(*positional: Any, **options: Any) -> Any:
        result = function(*positional, **options)
        given = dict(zip(parameters, positional, strict=False)) | options
        columns: dict[str, Any] = {key: given[key] for key in ("source", "target", "weight") if key in given}
        if isinstance(weight := columns.get("weight"), list):
            columns["weight"] = weight[0]
        if name == "clusters":
            found.append({"edges": given["edges"], **columns, "color": result})
        elif name == "linked_rows":
            groups = list(result["group"])
            found.append({"edges": pa.table({"source": range(len(groups)), "target": groups}), "weight": None})
        elif not hasattr(result, "compute") and not hasattr(result, "fetchall"):  # in memory
            found.append({"edges": result, **columns})
        return result

    return call


def drawing(arguments: dict[str, Any]) -> str:
    """Return the picture of a report as SVG that stands alone."""
    page = dfmst.report(**arguments).html
    section = page[page.index('<section class="card mapcard"') :]
    shape, style = re.search("<svg.*?</svg>", section, re.DOTALL), files("dfmst._report") / "templates" / "style.css"
    assert shape
    few = " few" if 'class="map layout few' in section else ""
    text = style.read_text(encoding="utf-8").replace("color-scheme:light dark", "color-scheme:light", 1)
    head = f'<svg class="map{few}" width="480" height="300" style="background:#fff"'
    return shape[0].replace("<svg", head, 1).replace(">", f"><style>{text}</style>", 1)


def main() -> None:
    """Run the script."""
    script, folder = sys.argv[1:]
    for name in (*FORESTS, "clusters", "linked_rows"):
        setattr(dfmst, name, recorded(name))
    sys.argv = [script, folder]
    runpy.run_path(script, run_name="__main__")
    if found and not list(Path(folder).glob("*.png")):
        cut = [one for one in found if "color" in one]
        chosen = cut[-1] if cut else max(found, key=lambda one: len(one["edges"]))
        Path(folder, "forest.svg").write_text(drawing(chosen), encoding="utf-8")


if __name__ == "__main__":
    main()
