"""A command that reads one table and writes another: what all of them do around their own step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfmst.cli.console import Progress, Stopwatch, note, plural, print_json
from dfmst.cli.inputs import load_libraries, read_inputs
from dfmst.cli.outputs import check_output, output_path, write_rows

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["write_result"]


def write_result(
    inputs: tuple[Path, ...],
    format: str | None,
    columns: dict[str, str | None],
    doing: str,
    compute: Callable[[pa.Table], pa.Table],
    summarise: Callable[[pa.Table], tuple[dict[str, Any], str]],
    output: Path | None,
    to: str | None,
    json: bool,
    read: Callable[[Progress], pa.Table] | None = None,
) -> None:
    """Read the inputs as one table, compute a table of them, write it, and say what it is."""
    watch = Stopwatch()
    path = output_path(output, json)
    with watch.step("import"):
        check_output(path, to, inputs)
        load_libraries()
    with Progress() as progress:
        with watch.step("read"):
            table = read(progress) if read else read_inputs(inputs, format, progress, columns)
        progress.show(f"{doing} {plural(table.num_rows, 'row')}")
        with watch.step("solve"):
            result = compute(table)
        progress.show("writing")
        with watch.step("write"):
            if path or not json:
                write_rows(result, path, to)
    figures, text = summarise(result)
    if json:
        about = {
            "input": [str(name) for name in inputs],
            "output": None if output is None else str(output),
            "input_rows": table.num_rows,
        }
        print_json({**about, **figures, "seconds": watch.seconds()})
    else:
        note(f"{text}, {watch.seconds()['total']:.2f} s" + ("" if path is None else f" -> {path}"))
