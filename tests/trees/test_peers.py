"""Single-linkage trees of points: those of SciPy, scikit-learn and hdbscan on one real set."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.cluster.hierarchy import cophenet, linkage

import dfmst

#: Merges of equal distance may come in any order; what distance joins two points may not differ.
IRIS = pytest.importorskip("sklearn.datasets").load_iris().data


def joining_distances(min_samples: int | None) -> np.ndarray:
    tree = dfmst.euclidean_forest(IRIS, min_samples=min_samples)
    return cophenet(dfmst.single_linkage(tree, weight="distance", as_scipy=True)[0])


def test_scipy():
    np.testing.assert_allclose(joining_distances(None), cophenet(linkage(IRIS, "single")), rtol=1e-14)


@pytest.mark.parametrize("min_samples", [1, 4])
def test_scikit_learn(min_samples):
    from sklearn.cluster import HDBSCAN

    # Its min_samples counts the point itself.
    theirs = HDBSCAN(min_samples=min_samples + 1, algorithm="brute", copy=True).fit(IRIS)._single_linkage_tree_
    matrix = np.column_stack([theirs[name].astype(float) for name in theirs.dtype.names])
    np.testing.assert_allclose(joining_distances(min_samples), cophenet(matrix), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("min_samples", [1, 4])
def test_hdbscan(min_samples):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = pytest.importorskip("hdbscan")
        theirs = package.HDBSCAN(min_samples=min_samples, algorithm="generic").fit(IRIS).single_linkage_tree_.to_numpy()
    np.testing.assert_allclose(joining_distances(min_samples), cophenet(theirs), rtol=1e-12)


@pytest.mark.slow
def test_scipys_own_tests(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, str(Path(__file__).with_name("in_scipy.py")), "-c", "pytest.ini"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    if run.returncode == 5:
        pytest.skip(run.stdout.strip())
    assert not run.returncode, run.stdout + run.stderr
    assert "dfmst merged" in run.stdout
