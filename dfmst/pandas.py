"""``import dfmst.pandas`` registers ``DataFrame.mst``.

Examples
--------
>>> import pandas as pd
>>> import dfmst.pandas
>>> roads = pd.DataFrame({"a": ["x", "y", "x"], "b": ["y", "z", "z"], "km": [3, 1, 2]})
>>> roads.mst.minimum("a", "b", "km")
   a  b  km
1  y  z   1
2  x  z   2
"""

from __future__ import annotations

import pandas as pd
from pandas.api.extensions import register_dataframe_accessor

from dfmst.accessor import ForestAccessor

__all__ = ["mst"]

register_dataframe_accessor("mst")(ForestAccessor)


def mst(frame: pd.DataFrame) -> ForestAccessor[pd.DataFrame]:
    """Return ``frame.mst``: type checkers know its methods, but not the attribute of the frame.

    Examples
    --------
    >>> import pandas as pd
    >>> from dfmst.pandas import mst
    >>> mst(pd.DataFrame({"source": [0, 1, 0], "target": [1, 2, 2], "weight": [3, 1, 2]})).minimum().index.tolist()
    [1, 2]
    """
    return ForestAccessor(frame)
