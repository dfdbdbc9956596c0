"""A forest or labels of Parquet files on a fresh Dask cluster: CPU-seconds, bytes moved, memory and disk of workers."""

from __future__ import annotations

import tempfile
import threading
from collections import Counter
from collections.abc import Callable
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


class DiskWatch(threading.Thread):
    """The most bytes of the files in the directories of workers, measured ten times a second."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self._folder, self._done = folder, threading.Event()
        self.most, self.most_of_a_worker = 0, 0

    def run(self) -> None:
        """Measure until stopped."""
        while not self._done.wait(0.1):
            sizes: Counter[str] = Counter()
            for path in self._folder.rglob("*"):
                worker = next((name for name in path.parts if name.startswith("worker-")), "")
                sizes[worker] += size_of(path)
            self.most = max(self.most, sizes.total())
            self.most_of_a_worker = max(self.most_of_a_worker, *sizes.values(), 0)

    def stop(self) -> None:
        """Stop."""
        self._done.set()
        self.join()


def size_of(path: Path) -> int:
    """Bytes of a file; 0 if it is gone, or a directory."""
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:
        return 0


def on_workers(run: Callable[[Any], Any], cluster: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Call `run` with the client of workers of one thread each; `cluster` goes to Dask's `LocalCluster`.

    Returns the figures of the workers, and what `run` returns.
    """
    from distributed import Client, LocalCluster

    with tempfile.TemporaryDirectory(dir=cluster.pop("local_directory", None)) as local:
        options = {"threads_per_worker": 1, "dashboard_address": ":0", "local_directory": local, **cluster}
        with LocalCluster(**options) as workers, Client(workers) as client:
            client.run(count_sent)
            before, disk = client.run(usage), DiskWatch(Path(local))
            disk.start()
            figures, value = spent(lambda: run(client))
            disk.stop()
            after, moved = client.run(usage), sum(client.run(sent).values())
    peaks = [round(used["peak"] / 1e6, 1) for used in after.values()]
    cpu = [round(used["cpu"] - before[worker]["cpu"], 2) for worker, used in after.items()]
    return {
        "seconds": round(figures["seconds"], 2),
        "cpu_seconds": round(sum(cpu), 2),
        "cpu_seconds_by_worker": cpu,
        "mb_moved": round(moved / 1e6, 1),
        "peak_mb": max(peaks),
        "peak_mb_by_worker": peaks,
        "mb_on_disk": round(disk.most / 1e6, 1),
        "mb_on_disk_of_a_worker": round(disk.most_of_a_worker / 1e6, 1),
    }, value


def forest_on_workers(folder: Path, output: Path, cluster: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Run `dfmst.dask.forest_of_files` on workers (see :func:`on_workers`)."""
    figures, written = on_workers(
        lambda client: dfmst.dask.forest_of_files(folder, output, client=client, **options), cluster
    )
    return {"forest_rows": written.rows, **figures}
