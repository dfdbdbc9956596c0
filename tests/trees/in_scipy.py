"""Runs SciPy's own tests of its hierarchies with dfmst's single linkage in place of SciPy's.

    python tests/trees/in_scipy.py [options of pytest]

The tests are those of the installed package; where its wheel has none, the script says so and ends with code 5.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist

import dfmst

TESTS = "scipy.cluster.tests.test_hierarchy"
theirs: Any = vars(hierarchy)["linkage"]
calls = 0


def linkage(y: Any, method: str = "single", metric: Any = "euclidean", optimal_ordering: bool = False) -> Any:
    """SciPy's function; where the method is single linkage, the merges are dfmst's."""
    global calls
    expected = theirs(y, method, metric, optimal_ordering)  # raises what SciPy raises
    if method != "single":
        return expected
    calls += 1
    distance = np.asarray(y, float) if np.ndim(y) == 1 else pdist(np.asarray(y, float), metric)
    source, target = np.triu_indices(len(expected) + 1, 1)
    table = pa.table({"source": source, "target": target, "weight": distance})
    matrix, _ = dfmst.single_linkage(table, as_scipy=True)
    return hierarchy.optimal_leaf_ordering(matrix, distance) if optimal_ordering else matrix


class InPlace:
    """Puts dfmst in place once the tests are loaded, and fails a run in which it was not asked."""

    def pytest_collection_finish(self) -> None:
        """Replace the function in the package, and where the tests have imported it."""
        modules: list[Any] = [hierarchy, sys.modules[TESTS]]
        for module in modules:
            module.linkage = linkage

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Say how often dfmst was called."""
        print(f"\ndfmst merged {calls} times")
        if not calls:
            session.exitstatus = 1


if __name__ == "__main__":
    if importlib.util.find_spec("scipy.cluster.tests") is None:
        print("this SciPy was installed without its tests")
        sys.exit(5)
    sys.exit(pytest.main(["--pyargs", TESTS, "-q", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[InPlace()]))
