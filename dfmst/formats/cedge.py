"""Road networks in ``.cedge`` files: ``edge_id start end length``."""

from __future__ import annotations

import pyarrow as pa

from dfmst.formats.edge_list import END_POINTS, stream_rows
from dfmst.formats.source import Source
from dfmst.formats.text.layout import NUMBER, WHOLE, Field, Layout

__all__ = ["open_cedge"]


def open_cedge(source: Source) -> pa.RecordBatchReader:
    """Stream a road network.

    Parameters
    ----------
    source
        The file.

    Returns
    -------
    pyarrow.RecordBatchReader
        ``source``, ``target`` (int64), ``weight`` (int64 or float64) and ``edge_id`` (int64).

    Raises
    ------
    FormatError
        Where the file breaks the format.
    """
    fields = (Field("edge_id", WHOLE), *END_POINTS, Field("weight", NUMBER))
    return stream_rows(source, Layout(fields, comments=b"#", order=("source", "target", "weight", "edge_id")))
