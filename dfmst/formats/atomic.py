"""Output files that are either complete or absent."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dfmst.errors import OutputError

__all__ = ["atomic_path"]


@contextmanager
def atomic_path(target: str | os.PathLike[str], token: str | None = None) -> Iterator[Path]:
    """Give a temporary file beside the target, and rename it to the target at the end.

    Parameters
    ----------
    target
        Where the output shall be. An older file there stays until the new one is complete; a
        symbolic link stays and its file is replaced; a device or a pipe is written directly.
    token
        Names the temporary file, so that a run that goes on after a killed one writes over what that left; ``None``
        draws a name.

    Yields
    ------
    pathlib.Path
        The file to write; it exists and is empty.

    Raises
    ------
    OutputError
        Where the target is a directory, or its directory is missing or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_path(Path(folder) / "edges.csv") as path:
    ...         count = path.write_text("source,target")
    ...     sorted(file.name for file in Path(folder).iterdir())
    ['edges.csv']
    """
    final = Path(os.path.realpath(target))
    if final.is_dir():
        raise OutputError(f"{target} is a directory", "name a file in it")
    if final.exists() and not final.is_file():
        # Renaming over a device such as /dev/null would replace the device.
        yield final
        return
    part = final.with_name(f".{final.name}.{token or secrets.token_hex(6)}.part")
    if token:
        part.unlink(missing_ok=True)
    _create(part, target)
    try:
        yield part
        part.replace(final)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _create(part: Path, target: str | os.PathLike[str]) -> None:
    try:
        # Not tempfile: its files are readable by their owner alone, and so would be the output.
        part.touch(exist_ok=False)
    except OSError as error:
        if not part.parent.is_dir():
            raise OutputError(
                f"cannot write {target}: there is no directory {part.parent}", "create it first"
            ) from error
        reason = error.strerror or str(error)
        raise OutputError(f"cannot write {target}: {reason}", "write to a directory of your own") from error
