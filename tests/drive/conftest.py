"""A cluster of two worker processes for the tests of Dask frames; Dask's own warnings are left out by message."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("distributed")


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """Two processes of one thread and 3 GiB each; a worker that is killed is started again."""
    import dask
    from distributed import Client, LocalCluster

    # A worker that a test kills is gone at once; what it held is made anew, however often that is.
    settings = {"distributed.scheduler.allowed-failures": 20, "distributed.admin.log-format": "%(message)s"}
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=2, threads_per_worker=1, memory_limit="3GiB", dashboard_address=":0", silence_logs="CRITICAL"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
