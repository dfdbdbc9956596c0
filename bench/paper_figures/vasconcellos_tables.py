"""What Vasconcellos et al. (2018) print in tables 7 to 10, for the graphs that two cores and our copies can hold."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DENSITIES", "RANDOM", "ROADS", "TABLE10", "Printed"]


class Printed(NamedTuple):
    """A row of table 7, and of the tables 8 and 9 what other machines change."""

    iterations: int
    seconds: float  # of their CPU implementation
    epmst: float  # seconds
    faster: float  # their CPU implementation's speedup over EPMST
    faster8: float
    faster9: float


DENSITIES = (0.02, 0.05, 0.10, 0.15, 0.20, 0.50, 0.75)
#: Thousands of vertices -> rows by density, as far as there are any.
RANDOM = {
    10: (
        Printed(5, 0.858, 0.068, 0.079, 0.077, 0.079),
        Printed(4, 1.852, 0.260, 0.140, 0.127, 0.145),
        Printed(3, 2.568, 1.301, 0.507, 0.446, 0.531),
        Printed(4, 4.445, 3.908, 0.879, 0.678, 0.927),
        Printed(3, 4.686, 9.517, 2.031, 1.485, 2.147),
    ),
    15: (
        Printed(5, 2.397, 0.414, 0.173, 0.126, 0.091),
        Printed(5, 4.676, 1.262, 0.270, 0.191, 0.278),
        Printed(3, 5.884, 6.807, 1.157, 0.814, 1.228),
        Printed(3, 8.322, 19.812, 2.381, 1.691, 2.525),
        Printed(3, 10.524, 48.508, 4.609, 3.327, 4.492),
        Printed(2, 15.070, 92.278, 6.123, 4.615, 4.890),
        Printed(2, 22.122, 205.924, 9.309, 7.123, 7.782),
    ),
    20: (
        Printed(5, 3.993, 0.527, 0.132, 0.090, 0.136),
        Printed(4, 7.458, 4.057, 0.544, 0.363, 0.566),
        Printed(4, 12.533, 20.737, 1.655, 1.177, 1.738),
    ),
    25: (Printed(5, 5.950, 1.257, 0.211, 0.143, 0.224),),
    30: (Printed(6, 10.176, 2.657, 0.261, 0.171, 0.270),),
}
ROADS = {
    "NY": Printed(9, 0.158, 0.082, 0.515, 0.569, 0.511),
    "BAY": Printed(10, 0.167, 0.080, 0.480, 0.495, 0.498),
}
#: Table 10, New York: seconds of Manoochehri et al. (2017), seconds of their own, and the speedup.
TABLE10 = (0.217, 0.924, 0.235)
