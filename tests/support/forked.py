"""Programs in processes of their own, for tests that start many: a server imports what they need once, and forks."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
from pathlib import Path

#: Most of what the programs import; what is not installed is left out.
_IMPORTS = [
    "pytest",
    "dfmst.cli.forest",
    "dfmst.stream",
    "pyarrow.parquet",
    "dfmst.dask",
    "distributed.cli.dask_worker",
]

#: Begins every program: the server has another working directory and other outputs.
_PROLOGUE = """
import os, sys
sys.argv = {arguments!r}
os.chdir({directory!r})
for descriptor, path in enumerate({outputs!r}, 1):
    os.dup2(os.open(path, os.O_WRONLY), descriptor)
"""


class Forked:
    """A Python program in a process of its own, with the methods of `subprocess.Popen` that tests use.

    Parameters
    ----------
    code
        The program.
    arguments
        Its command line.
    folder
        Gets the files ``stdout`` and ``stderr``, which it prints into.
    """

    def __init__(self, code: str, arguments: list[str], folder: Path) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_IMPORTS)
        self._outputs = (folder / "stdout", folder / "stderr")
        for path in self._outputs:
            path.write_bytes(b"")
        outputs = [str(path.resolve()) for path in self._outputs]
        prologue = _PROLOGUE.format(arguments=["", *arguments], directory=os.getcwd(), outputs=outputs)
        self._process = context.Process(target=exec, args=(prologue + code, {"__name__": "__main__"}))
        self._process.start()

    @property
    def returncode(self) -> int | None:
        """Exit status; minus the signal's number where one ended the process; ``None`` while it runs."""
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal."""
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def wait(self, timeout: float) -> int:
        """Wait for so many seconds at most; return the exit status."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("a forked program", timeout)
        return self._process.exitcode

    def communicate(self, timeout: float) -> tuple[bytes, bytes]:
        """Wait for so many seconds at most; return what the program printed to its two outputs."""
        self.wait(timeout)
        output, errors = (path.read_bytes() for path in self._outputs)
        return output, errors
