"""Old and new rows of Dask frames as one frame."""

from __future__ import annotations

from typing import Any

import dask.dataframe as dd
import pandas as pd
from dask.dataframe.utils import make_meta

from dfmst._edges.host_frame import FrameView
from dfmst._edges.open import open_frame
from dfmst._edges.stack import check_stackable
from dfmst.errors import UnsupportedFrameError


def stacked(forest: Any, new_edges: Any) -> Any:
    """Return a Dask frame of the rows of `forest`, then those of `new_edges`."""
    if not isinstance(forest, dd.DataFrame) and not isinstance(new_edges, dd.DataFrame):
        message = f"forest is a {type(forest).__name__} and new_edges a {type(new_edges).__name__}, no Dask frames"
        raise UnsupportedFrameError(message, "call dfmst.update for frames in memory")
    frames = [_on_dask(name, frame) for name, frame in (("forest", forest), ("new_edges", new_edges))]
    views = [open_frame(make_meta(frame)) for frame in frames]
    if all(isinstance(view, FrameView) for view in views):
        check_stackable(("forest", views[0]), ("new_edges", views[1]))  # type: ignore[arg-type]
    return dd.concat([frames[0], frames[1][list(frames[0].columns)]])


def _on_dask(name: str, frame: Any) -> Any:
    if isinstance(frame, dd.DataFrame):
        return frame
    if isinstance(frame, pd.DataFrame):
        return dd.from_pandas(frame, npartitions=1, sort=False)
    raise UnsupportedFrameError(f"{name} is a {type(frame).__name__}", "pass a Dask frame, or a frame of pandas")
