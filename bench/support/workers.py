"""A forest of Parquet files on a fresh Dask cluster: seconds, CPU-seconds, bytes moved and peak memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dfmst.dask
from support.timing import spent, usage


def count_sent(dask_worker: Any) -> None:
    """Count the bytes that a worker writes to other workers; Dask counts estimates of its objects."""
    from distributed.comm.tcp import TCP

    write, scheduler = TCP.write, dask_worker.scheduler.address
    dask_worker.bytes_sent = 0

    async def counted(self: Any, *arguments: Any, **options: Any) -> int:
        size: int = await write(self, *arguments, **options)
        if self.peer_address != scheduler:
            dask_worker.bytes_sent += size
        return size

    TCP.write = counted


def sent(dask_worker: Any) -> int:
    """Bytes that a worker has sent to other workers."""
    return int(dask_worker.bytes_sent)


def forest_on_workers(folder: Path, output: Path, cluster: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Run `dfmst.dask.forest_of_files` on workers of one thread each; `cluster` goes to Dask's `LocalCluster`."""
    from distributed import Client, LocalCluster

    with LocalCluster(threads_per_worker=1, dashboard_address=":0", **cluster) as workers, Client(workers) as client:
        client.run(count_sent)
        before = client.run(usage)
        figures, written = spent(lambda: dfmst.dask.forest_of_files(folder, output, client=client, **options))
        after = client.run(usage)
        moved = sum(client.run(sent).values())
    cpu = sum(used["cpu"] - before[worker]["cpu"] for worker, used in after.items())
    return {
        "forest_rows": written.rows,
        "seconds": round(figures["seconds"], 2),
        "cpu_seconds": round(cpu, 2),
        "mb_moved": round(moved / 1e6, 1),
        "peak_mb": round(max(used["peak"] for used in after.values()) / 1e6, 1),
    }
