"""What a page says of the run, from a solution or from the summary of a run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from dfmst._common.progress import peak_memory
from dfmst._report.run_facts import RunFacts, Steps, bandwidth
from dfmst._trees.forest import Forest


def run_of_solution(solution: Forest, steps: Steps, summary: Mapping[str, Any]) -> RunFacts:
    """Read the run from a solution and its steps; what the summary says comes first."""
    trace = {} if solution.records is None else _used_only(solution.records.columns(), solution)
    return _run_facts({"seconds": steps.seconds, **summary}, _ran(solution), trace)


def run_of_summary(summary: Mapping[str, Any]) -> RunFacts:
    """Read the run from its summary."""
    return _run_facts(summary, _words(summary), {})


def _used_only(trace: dict[str, list[Any]], solution: Forest) -> dict[str, list[Any]]:
    """Take unused integers between the ids, which a trace counts as vertices without edges, out of its counts."""
    last = trace.get("components", [None])[-1]
    unused = 0 if last is None else last - solution.components
    if unused <= 0 or trace["vertices"][0] - unused != solution.vertices:
        return trace
    counts = {
        name: [None if one is None else one - unused for one in trace[name]] for name in ("vertices", "components")
    }
    return {**trace, **counts}


def _ran(solution: Forest) -> tuple[str, ...]:
    names = {"cpu": "CPU", "cuda": "CUDA"}
    weight = solution.columns.weight
    words = [] if weight in (None, "weight") else [f"weight {weight}"]
    threads = f"{solution.threads} thread{'' if solution.threads == 1 else 's'}"
    return (*words, solution.algorithm, threads, names.get(solution.engine, solution.engine), _when())


def _words(summary: Mapping[str, Any]) -> tuple[str, ...]:
    """What a summary says ran."""
    words = [f"strategy {summary['strategy']}"] if "strategy" in summary else []
    if summary.get("streamed"):
        words.append("streamed")
    if summary.get("threads"):
        words.append(f"{summary['threads']} threads")
    return (*words, _when())


def _when() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"


def _run_facts(summary: Mapping[str, Any], about: tuple[str, ...], trace: Mapping[str, list[Any]]) -> RunFacts:
    return RunFacts(
        about=about,
        seconds=summary.get("seconds", {}),
        trace=trace,
        peak=summary.get("peak_memory", peak_memory()),
        limit=summary.get("memory_limit"),
        bandwidth=bandwidth(),
        verified=bool(summary.get("verified")),
        plan=tuple(summary.get("plan", ())),
    )
