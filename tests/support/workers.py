"""Worker processes of Dask that a test starts and kills."""

from __future__ import annotations

from pathlib import Path

from tests.support.forked import Forked

ROOT = str(Path(__file__).resolve().parents[2])
#: Functions of the tests run on workers, too.
_WORKER = f"import sys; sys.path.append({ROOT!r}); from distributed.cli.dask_worker import main; main()"


class Workers:
    """Worker processes without anyone who starts them again: the test kills them and starts others.

    Attributes
    ----------
    processes
        That run.
    """

    def __init__(self, address: str, folder: Path) -> None:
        self._arguments = [address, "--no-nanny", "--no-dashboard", "--nthreads", "1", "--memory-limit", "3GiB"]
        self._folder = folder
        self.processes: list[Forked] = []

    def start(self, before: str = "", *arguments: str) -> None:
        """Start one, which runs a text before, with more arguments."""
        self.processes.append(Forked(before + _WORKER, [*self._arguments, *arguments], self._folder))

    def kill(self, place: int) -> None:
        """End one at once."""
        process = self.processes.pop(place)
        process.kill()
        process.wait(60)
