"""What a run took of its workers: bytes from one to another, and the most memory of one."""

from __future__ import annotations

from typing import Any, NamedTuple

from dfmst._common.progress import peak_memory
from dfmst._drive.cluster.dask_internals import bytes_sent


class Usage(NamedTuple):
    """Of each worker that answers, by address.

    Attributes
    ----------
    sent
        Bytes sent to other workers since it was first asked.
    peak
        Bytes that its process took at most since its start.
    """

    sent: dict[str, int]
    peak: dict[str, int]

    def since(self, before: Usage) -> tuple[int | None, int | None]:
        """Return the bytes sent by all since then, and the most that one took; ``None``: no worker says."""
        sent = [count - before.sent.get(address, 0) for address, count in self.sent.items()]
        return (sum(sent) if sent else None), max(self.peak.values(), default=None)


def usage(client: Any) -> Usage:
    """Ask the workers; one that is lost meanwhile does not answer."""
    told: dict[str, Any] = client.run(_of_worker, on_error="ignore")
    sent = {address: one[0] for address, one in told.items() if one[0] is not None}
    return Usage(sent, {address: one[1] for address, one in told.items() if one[1] is not None})


def _of_worker(dask_worker: Any) -> tuple[int | None, int | None]:
    return bytes_sent(dask_worker), peak_memory()
