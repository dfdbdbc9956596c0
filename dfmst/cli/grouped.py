"""Help whose options stand in groups."""

from __future__ import annotations

import click

__all__ = ["GROUPS", "GroupedCommand"]

#: Title of a group -> names of its parameters; what is in none of them comes last.
GROUPS = {
    "Input": ("format", "ignore_counts", "source", "target", "weight", "unweighted", "invalid", "by", "keep", "drop"),
    "Output": ("output", "to", "json", "trace", "report"),
    "Picture of the report": ("points", "id", "coordinates", "title"),
    "Algorithm": ("maximum", "algorithm", "engine", "threads", "verify"),
    "Files larger than memory": ("memory_limit", "checkpoint", "spill_dir"),
    "Cluster": ("workers", "scheduler", "strategy"),
}


class GroupedCommand(click.Command):
    """A command that lists its options by what they are for."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, group by group."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        entries = {param.name: param.get_help_record(ctx) for param in options}
        named = {name for names in GROUPS.values() for name in names}
        groups = {**GROUPS, "Other": tuple(name or "" for name in entries if name not in named)}
        for title, names in groups.items():
            rows = [record for name in names if (record := entries.get(name)) is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
