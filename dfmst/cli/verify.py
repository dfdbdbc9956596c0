"""``dfmst verify`` and ``dfmst update``: commands on a file that holds a forest."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import dfmst
from dfmst.cli import options as shared
from dfmst.cli.console import figure, note, plural
from dfmst.cli.drivers import in_batches
from dfmst.cli.job import Job, Run, check_inputs, command, load_libraries, print_run, read_inputs, weight_name
from dfmst.cli.program import FAILURE
from dfmst.errors import InvalidEdgesError

if TYPE_CHECKING:
    import pyarrow as pa

    from dfmst.formats import Provenance

_CONDITIONS = ("by", "keep", "drop")


@command(
    "Check that a file holds the minimum spanning forest of another.",
    click.argument("edges", metavar="EDGES", callback=shared.to_path),
    click.argument("forest", metavar="FOREST", callback=shared.to_path),
    shared.format_option,
    shared.vertex_options,
    shared.weight_options,
    shared.condition_options,
    shared.engine_options,
    shared.invalid_option,
    shared.memory_option,
    shared.json_option,
)
def verify(job: Job) -> None:
    """Check that FOREST, made by any program, is the minimum spanning forest of EDGES.

    Exit status 0 if it does, 1 if not; the first violation goes to standard error. EDGES that exceed
    --memory-limit are read in batches if FOREST is a Parquet file of dfmst, which says which rows it holds.
    A file of dfmst also says which columns, conditions and order it was made with; options come first.

    \b
      dfmst verify roads.parquet forest.parquet
      dfmst verify roads.parquet forest.csv -w km
    """  # noqa: D301 - click's mark for lines that stay as they are
    edges, forest = job.edges, job.forest
    given = vars(job).copy()
    job.weight, job.inputs = weight_name(job, job.maximum), (edges,)
    run = Run(job)
    check_inputs((edges, forest))
    with run.step("import"):
        load_libraries()
        from dfmst.formats import detect_format, open_edges, read_provenance
    with run.progress as progress:
        with run.step("read"):
            kind = detect_format(forest)
            record = read_provenance(open_edges(forest).schema, None) if kind in ("arrow", "parquet") else None
        if record is not None:
            _use_record(job, record, given)
        columns = job.edge_columns(*_CONDITIONS)
        batches = in_batches(job)
        says_rows = kind == "parquet" and record is not None and record.locator is not None
        if batches is not None and (says_rows or not batches.reason):
            chosen = {**job.arguments(dfmst.stream.verify), "progress": progress.bar()}
            with run.step("verify"):
                check: Any = dfmst.stream.verify  # its edges and its forest are arguments of the job
                certificate = batches.run(lambda _, limit: check(**{**chosen, "memory_limit": limit}), progress)
        else:
            with run.step("read"):
                table = read_inputs((edges,), job.format, progress, columns)
                claimed = read_inputs((forest,), None, progress, _roles(columns, table.schema), sep=False)
                claimed = _with_texts(claimed, table.schema)
            progress.show("verifying")
            with run.step("verify"):
                certificate = dfmst.verify(**{**job.arguments(dfmst.verify), "edges": table, "forest": claimed})
    violation = None if certificate.first_violation is None else certificate.first_violation.message
    if job.json or violation is None:
        total = certificate.total_weight
        figures = {"edges": edges, "forest": forest, **asdict(certificate), "first_violation": violation}
        kind = "spanning" if job.weight is None else "maximum spanning" if job.maximum else "minimum spanning"
        weight = "" if total is None else f"total weight {figure(total)}, "
        rows, parts = plural(certificate.rows, "row"), plural(certificate.components, "component")
        print_run(job.json, figures, f"{forest} is a {kind} forest of {edges}: {rows}, {weight}{parts}", run)
    if violation is not None:
        note(f"{forest} is wrong: {violation}")
        click.get_current_context().exit(FAILURE)


def _with_texts(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table with texts again where all texts of a file were written as numbers are."""
    import pyarrow as pa

    for at, field in enumerate(table.schema):
        kind = schema.field(field.name).type if field.name in schema.names else pa.null()
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        if (pa.types.is_string(kind) or pa.types.is_large_string(kind)) and pa.types.is_primitive(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(kind))
    return table


def _roles(columns: dict[str, Any], schema: pa.Schema) -> dict[str, Any]:
    """Return the columns that a forest is read with: weights of text only if the edges' are no numbers."""
    import pyarrow as pa

    weights = [columns.get("weight")] if isinstance(columns.get("weight"), str) else columns.get("weight") or []
    kinds = [schema.field(name).type for name in weights if name in schema.names]
    numbers = all(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) for kind in kinds
    )
    return columns if numbers else {name: value for name, value in columns.items() if name != "weight"}


def _use_record(job: Job, record: Provenance, given: dict[str, Any]) -> None:
    """Take the columns and conditions that the forest's file names, if no option names others."""
    source_of = click.get_current_context().get_parameter_source
    for end, name in zip(("source", "target"), record.names, strict=False):
        if source_of(end) != ParameterSource.COMMANDLINE:
            setattr(job, end, name)
    if given["weight"] is None and not given["unweighted"]:
        job.weight = record.names[2]
    if not any(given[name] for name in _CONDITIONS):
        vars(job).update(record.condition_columns())
    job.maximum = job.maximum or record.maximum


@command(
    "Add new rows to a forest.",
    click.argument("forest", metavar="FOREST", callback=shared.to_path),
    click.argument("inputs", nargs=-1, required=True, metavar="NEW...", callback=shared.to_path),
    shared.output_options,
    shared.format_option,
    shared.algorithm_option,
    shared.engine_options,
    shared.invalid_option,
    shared.json_option,
)
def update(job: Job) -> None:
    """Write the forest of all rows, old and new, from FOREST and the rows of NEW alone.

    FOREST is a Parquet or Arrow file that dfmst has written. It says which columns it was made with, whether it is a
    minimum or a maximum spanning forest, and which rows it holds; the new rows come after all of them.

    \b
      dfmst forest monday.parquet -w km -o forest.parquet
      dfmst update forest.parquet tuesday.parquet -o forest.parquet
    """  # noqa: D301 - click's mark for lines that stay as they are
    forest, inputs = job.forest, job.inputs
    check_inputs((forest, *inputs))
    with job.running() as run:  # OUT may be FOREST, which is read first
        from dfmst.forest import total_weight
        from dfmst.formats import check_same_columns, read_provenance

        with run.step("read"):
            old = read_inputs((forest,), None, run.progress, {}, sep=False)
            record = read_provenance(old.schema, old.num_rows)
            if record is None:
                message = f"{forest} does not say how it was made"
                raise InvalidEdgesError(message, "use a Parquet or Arrow file that dfmst forest has written")
            columns = dict(zip(("source", "target", "weight"), record.names, strict=True))
            new = _with_texts(read_inputs(inputs, job.format, run.progress, _roles(columns, old.schema)), old.schema)
            if {*old.column_names} != {*new.column_names}:
                check_same_columns(forest, old.schema, inputs[0], new.schema)
        run.progress.show(f"adding {plural(new.num_rows, 'row')} to {plural(old.num_rows, 'row')}")
        with run.step("solve"):
            given = columns | {"forest": old, "new_edges": new, "maximum": record.maximum}
            rows = dfmst.update(**{**job.arguments(dfmst.update), **given})
        run.write(job, rows)
        total = None if not isinstance(record.names[2], str) else total_weight(rows[record.names[2]])
        order, all_rows = "maximum" if record.maximum else "minimum", record.rows + new.num_rows
        counts = {"old_rows": old.num_rows, "new_rows": new.num_rows, "rows": rows.num_rows, "all_rows": all_rows}
        run.figures = {"order": order, **counts, "total_weight": total}
        run.text = f"{order} spanning forest: {plural(rows.num_rows, 'row')} of {all_rows:,}"
        run.text += "" if total is None else f", total weight {figure(total)}"
