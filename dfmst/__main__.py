"""``dfmst`` and ``python -m dfmst``: the command line."""

from __future__ import annotations

import os
import sys

from dfmst._common.machine import has_threads

_INTERRUPTED = 130


def run() -> None:
    """Run the command; an interrupt while it is still being loaded ends it as quietly as a later one."""
    try:
        if not has_threads():
            os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy's library would end the process
        from dfmst.cli import main
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    main(prog_name="dfmst")


if __name__ == "__main__":
    run()
