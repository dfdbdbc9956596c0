"""``import dfmst.cudf`` registers ``DataFrame.mst`` for cuDF: forests of frames on a GPU, without leaving it.

Use it as ``dfmst.cudf.read_parquet("roads.parquet").mst.minimum("a", "b", "km")``. :func:`read_parquet` and
:func:`write_parquet` are cuDF's, with dfmst's checks and errors.

Forests and components are found on the GPU. Clusters, dendrograms and rooted trees are made on the host, from the
forest's ids and weights and the list of vertices; the result is a cuDF frame.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import cudf
import cupy
import numpy as np
import pyarrow as pa
from cudf.api.extensions import register_dataframe_accessor

import dfmst
from dfmst._engines import select_engine
from dfmst.accessor import ForestAccessor
from dfmst.errors import DfmstError, UnsupportedFrameError
from dfmst.formats import atomic_path, check_same_columns, open_edges

__all__ = ["clusters", "read_parquet", "rooted", "single_linkage", "write_parquet"]

_SOLVING = ("algorithm", "engine", "threads", "invalid")  # options of the forest
_ON_HOST = ("max_size", "one_per", "by")  # options that need a frame on the host
_POSITIONS = {"edge", "heaviest"}  # columns of a rooted tree


register_dataframe_accessor("mst")(ForestAccessor)


def _of_forest(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for cuDF frames: made on the host of the forest's rows; a table goes back to the GPU."""

    @wraps(function)
    def call(edges: Any, source: Any = "source", target: Any = "target", weight: Any = "weight", **options: Any) -> Any:
        for name in _ON_HOST:
            if options.pop(name, None) is not None:
                raise UnsupportedFrameError(f"{name}= is not read with a frame on a GPU", "pass edges.to_arrow()")
        found_by = {name: options.pop(name) for name in _SOLVING if name in options}
        forest = dfmst.forest.solve(edges, source, target, weight, maximum=options.get("maximum", False), **found_by)
        names = list(dict.fromkeys(name for name in (source, target, weight) if name is not None))
        if options.get("vertices") is None:  # a vertex whose rows are all self-loops is in no row of the forest
            labels = dfmst.connected_components(edges, source, target, invalid=found_by.get("invalid", "raise"))
            options["vertices"] = labels["vertex"].to_arrow()
        rows = pa.table({name: forest.frame[name].to_arrow() for name in names})
        result = function(rows, source, target, weight, **options)
        if not isinstance(result, pa.Table):
            return result
        positions = np.append(cupy.asnumpy(forest.positions), -1)  # in the frame, instead of in its forest
        for name in _POSITIONS.intersection(result.column_names if function is dfmst.rooted else ()):
            column = pa.array(positions[np.asarray(result[name])])
            result = result.set_column(result.column_names.index(name), name, column)
        return cudf.DataFrame.from_arrow(result)

    return call


clusters = _of_forest(dfmst.clusters)
rooted = _of_forest(dfmst.rooted)
single_linkage = _of_forest(dfmst.single_linkage)


def read_parquet(path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Any:
    """Read Parquet files of equal columns into one cuDF frame.

    Parameters
    ----------
    path
        The file, or a list of files, which are read one after the other.

    Returns
    -------
    cudf.DataFrame
        All columns. An index in a file becomes a column under its name in the file.

    Raises
    ------
    InvalidEdgesError
        A file is not Parquet, or has other columns than the first, or does not exist: the error is a
        ``FileNotFoundError`` as well.
    EngineUnavailableError
        No GPU was found.
    CapacityError
        The GPU is out of memory.
    DfmstError
        cuDF cannot read a file.
    """
    paths = [Path(path)] if isinstance(path, (str, os.PathLike)) else list(map(Path, path))
    schemas = [open_edges(name, "parquet").schema for name in paths]
    for name, schema in zip(paths, schemas, strict=True):
        check_same_columns(paths[0], schemas[0], name, schema)
    try:
        with select_engine("cuda").guard():
            return _with_index_as_columns(cudf.read_parquet([str(name) for name in paths]))
    except DfmstError:
        raise
    except Exception as error:  # cuDF has no error class of its own
        names = ", ".join(map(str, paths))
        option = "engine='cpu'", "--engine cpu"
        hint = "read on the host with engine='cpu'"
        raise DfmstError(f"cuDF cannot read {names}: {error}", hint, option=option) from error


def _with_index_as_columns(frame: Any) -> Any:
    if isinstance(frame.index, cudf.RangeIndex):
        return frame
    frame.index.names = [
        f"__index_level_{level}__" if name is None else name for level, name in enumerate(frame.index.names)
    ]
    return frame.reset_index()


def write_parquet(frame: Any, path: str | os.PathLike[str]) -> None:
    """Write a cuDF frame to a Parquet file, which appears whole or not at all; the index is not written.

    Parameters
    ----------
    frame
        A :class:`cudf.DataFrame`.
    path
        The file.

    Raises
    ------
    OutputError
        The directory is missing or cannot be written.
    CapacityError
        The GPU is out of memory.
    """
    with select_engine("cuda").guard(), atomic_path(path) as part:
        frame.to_parquet(str(part), index=False)
