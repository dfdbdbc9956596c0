"""Names of the package for type checkers; at run time `__init__.py` loads them at first use."""

import dfmst.datasets  # noqa: F401 - tables to try are in no list of names
from dfmst import (
    algorithms as algorithms,
    arrays as arrays,
    errors as errors,
    forest as forest,
    formats as formats,
    generate as generate,
    interop as interop,
    stream as stream,
)
from dfmst._drive.plan import plan as plan
from dfmst._drive.strategies import Plan as Plan
from dfmst._engines import release_memory as release_memory
from dfmst._report.report import Report as Report, report as report
from dfmst._trees import components as components
from dfmst._trees.bottlenecks import bottlenecks as bottlenecks
from dfmst._trees.bridges import bridges as bridges
from dfmst._trees.certificate import Certificate as Certificate, verify as verify
from dfmst._trees.clusters import clusters as clusters, relabel as relabel, single_linkage as single_linkage
from dfmst._trees.components import connected_components as connected_components
from dfmst._trees.density import condensed_tree as condensed_tree, hdbscan as hdbscan
from dfmst._trees.linked import linked_rows as linked_rows
from dfmst._trees.partition import partition as partition
from dfmst._trees.points.forest import (
    correlation_forest as correlation_forest,
    euclidean_forest as euclidean_forest,
    knn_edges as knn_edges,
    points_forest as points_forest,
)
from dfmst._trees.rooted import newick as newick, path as path, rooted as rooted
from dfmst._trees.steiner import steiner_tree as steiner_tree
from dfmst._trees.update import in_forest as in_forest, update as update
from dfmst._trees.windows import windows as windows
from dfmst.errors import (
    CapacityError as CapacityError,
    ClusterError as ClusterError,
    ColumnNotFoundError as ColumnNotFoundError,
    DeviceError as DeviceError,
    DfmstError as DfmstError,
    EngineUnavailableError as EngineUnavailableError,
    FormatError as FormatError,
    InvalidEdgesError as InvalidEdgesError,
    MissingFileError as MissingFileError,
    OutputError as OutputError,
    UnsupportedFrameError as UnsupportedFrameError,
)
from dfmst.forest import (
    maximum_spanning_forest as maximum_spanning_forest,
    minimum_spanning_forest as minimum_spanning_forest,
    spanning_forest as spanning_forest,
)
from dfmst.formats import read_edges as read_edges
from dfmst.interop import (
    from_igraph as from_igraph,
    from_matrix as from_matrix,
    from_sparse as from_sparse,
    to_igraph as to_igraph,
    to_sparse as to_sparse,
)

__version__: str
__all__: list[str]
FRAME_FUNCTIONS: tuple[str, ...]
