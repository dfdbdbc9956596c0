"""A client for one run: of a cluster that is there, or of one on this machine."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from typing import Any

from dfmst.errors import ClusterError, EngineUnavailableError

__all__ = ["cluster_client"]


@contextmanager
def cluster_client(workers: int | None = None, scheduler: str | None = None) -> Iterator[Any]:
    """Give a client.

    Parameters
    ----------
    workers
        Processes to start on this machine, which share its processors and memory.
    scheduler
        Address of a scheduler to connect to instead.

    Raises
    ------
    ClusterError
        There is no scheduler at that address, or it or its workers are lost during the run.
    EngineUnavailableError
        Dask is not installed.
    """
    try:
        from distributed import Client, KilledWorker, LocalCluster
        from distributed.comm import CommClosedError
    except ImportError as error:
        raise EngineUnavailableError("a cluster needs Dask", "pip install 'dfmst[dask]'") from error
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters becomes an error of ours
    with ExitStack() as stack:
        try:
            if scheduler is not None:
                client = _connected(Client, scheduler)
            else:
                threads = max(1, (os.cpu_count() or 1) // (workers or 1))
                options = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}
                client = Client(stack.enter_context(LocalCluster(workers, threads_per_worker=threads, **options)))
            yield stack.enter_context(client)
        except KilledWorker as error:
            message = "the workers ended several times during one task"
            hint = "they may lack memory: use larger workers, or more and smaller files"
            raise ClusterError(message, hint) from error
        except (CommClosedError, CancelledError, asyncio.CancelledError, TimeoutError) as error:
            message = f"lost the scheduler at {scheduler or 'this machine'}"
            raise ClusterError(message, "start it again; what was checkpointed is kept") from error


def _connected(client: Any, address: str) -> Any:
    try:
        return client(address, timeout=10)
    except (OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        message = f"there is no scheduler at {address} ({reason})"
        raise ClusterError(message, "check the address; it looks like tcp://host:8786") from error
