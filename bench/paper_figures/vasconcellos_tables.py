"""Vasconcellos et al. (2018): the numbers of tables 6 to 10."""

from __future__ import annotations

from typing import NamedTuple


class Printed(NamedTuple):
    """A row of table 7, with the speedups of tables 8 and 9 (other machines)."""

    iterations: int
    seconds: float  # of their CPU implementation
    epmst: float  # seconds
    faster: float  # their CPU implementation's speedup over EPMST
    faster8: float
    faster9: float


class Road(NamedTuple):
    """A road network of table 6, and its row of table 7."""

    vertices: int
    edges: int
    printed: Printed


DENSITIES = (0.02, 0.05, 0.10, 0.15, 0.20, 0.50, 0.75)
#: Thousands of vertices -> rows by density.
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
        Printed(3, 14.474, 61.792, 4.269, 3.007, 4.615),
        Printed(3, 18.050, 153.033, 8.478, 6.180, 8.907),
    ),
    25: (
        Printed(5, 5.950, 1.257, 0.211, 0.143, 0.224),
        Printed(4, 10.845, 9.700, 0.894, 0.606, 0.953),
        Printed(4, 20.116, 52.785, 2.624, 1.843, 2.805),
        Printed(2, 13.251, 151.694, 11.447, 8.483, 12.147),
        Printed(3, 28.272, 414.316, 14.655, 9.681, 12.912),
    ),
    30: (
        Printed(6, 10.176, 2.657, 0.261, 0.171, 0.270),
        Printed(5, 18.385, 20.321, 1.105, 0.748, 1.153),
        Printed(3, 22.840, 104.559, 4.578, 3.117, 4.063),
        Printed(3, 33.143, 332.890, 10.044, 6.773, 8.717),
        Printed(3, 40.840, 988.326, 24.200, 15.434, 18.475),
    ),
}
ROADS = {
    "NY": Road(264_346, 366_648, Printed(9, 0.158, 0.082, 0.515, 0.569, 0.511)),
    "BAY": Road(321_270, 399_652, Printed(10, 0.167, 0.080, 0.480, 0.495, 0.498)),
    "COL": Road(435_666, 527_767, Printed(9, 0.209, 0.084, 0.403, 0.421, 0.424)),
    "FLA": Road(1_070_376, 1_354_681, Printed(10, 0.540, 0.520, 0.964, 0.945, 0.927)),
    "NW": Road(1_207_945, 1_417_704, Printed(10, 0.559, 0.332, 0.593, 0.613, 0.611)),
    "NE": Road(1_524_453, 1_946_326, Printed(10, 0.819, 0.760, 0.927, 0.887, 0.934)),
    "CAL": Road(1_890_815, 2_325_452, Printed(11, 0.984, 0.955, 0.970, 0.911, 0.923)),
    "LKS": Road(2_758_119, 3_438_289, Printed(11, 1.466, 1.766, 1.204, 1.221, 1.166)),
    "E": Road(3_598_623, 4_382_787, Printed(11, 1.831, 2.584, 1.411, 1.393, 1.365)),
    "W": Road(6_262_104, 7_609_574, Printed(11, 3.233, 5.224, 1.616, 1.623, 1.571)),
    "CTR": Road(14_081_816, 17_120_937, Printed(12, 9.778, 26.405, 2.700, 2.356, 2.695)),
    "USA": Road(23_947_347, 29_120_580, Printed(12, 12.599, 71.107, 5.644, 5.114, 4.969)),
}
#: Table 10: seconds of Manoochehri et al. (2017), seconds of their own program on a GPU, and the speedup.
TABLE10 = {
    "NY": (0.217, 0.924, 0.235),
    "FLA": (0.736, 1.027, 0.717),
    "E": (1.959, 1.504, 1.302),
    "W": (3.451, 1.981, 1.742),
    "USA": (13.407, 5.493, 2.441),
}
