"""Programs in processes of their own, for tests that start many: a server imports what they need once, and forks."""

from __future__ import annotations

import multiprocessing
from multiprocessing.process import BaseProcess
from pathlib import Path

__all__ = ["start"]

#: Most of what the programs import; what is not installed is left out.
_IMPORTS = [
    "pytest",
    "dfmst.cli.forest",
    "dfmst.stream",
    "pyarrow.parquet",
    "dfmst.dask",
    "distributed.cli.dask_worker",
]

#: Begins every program: what it says goes into a file.
_PROLOGUE = """
import os, sys
sys.argv = {arguments!r}
log = os.open({log!r}, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
os.dup2(log, 1)
os.dup2(log, 2)
"""


def start(program: str, arguments: list[str], log: Path) -> BaseProcess:
    """Run Python code as the main program, with a command line; what it prints goes into `log`.

    Kill it, wait for it by ``join``, and read its exit status from ``exitcode``: minus the signal's number where one
    ended it, as for `subprocess`.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_IMPORTS)
    code = _PROLOGUE.format(arguments=["", *arguments], log=str(log)) + program
    process = context.Process(target=exec, args=(code, {"__name__": "__main__"}))
    process.start()
    return process
