"""The card of the run: its steps as one bar, memory against its limit, rows a second against the memory's bandwidth."""

from __future__ import annotations

from typing import Any

from dfmst._report.run_facts import RunFacts, machine_memory
from dfmst._report.words import duration, label, percent, size

_ROW = 16  # bytes that a pass over the edges reads: two ids and a weight of 32 to 64 bits


def run_card(run: RunFacts, rows: int) -> dict[str, Any]:
    """Return what the card shows."""
    steps = [(name, value) for name, value in run.steps.items() if value > 0]
    note = f"{duration(run.total)} from start to end"
    covered = sum(value for _, value in steps)
    if len(steps) > 1 and run.total > covered * 1.005:
        note += f"; the steps add up to {duration(covered)}"
    shown = [
        {
            "name": label(name),
            "time": duration(value),
            "share": f"{max(value / run.total, 1e-4):.5f}",
            "kind": "won" if name in ("solve", "fold") else f"w{at % 7}" + (" patterned" if at % 2 else ""),
        }
        for at, (name, value) in enumerate(steps)
    ]
    plan = [[label(word) for word in row] for row in run.plan]
    return {"note": f"{note}.", "steps": shown, "facts": _facts(run, rows), "plan": plan}


def _facts(run: RunFacts, rows: int) -> list[dict[str, Any]]:
    facts: list[dict[str, Any]] = []
    if run.peak is not None:
        limit, of = (run.limit, "the limit") if run.limit else (machine_memory(), "this machine")
        text = f"{size(run.peak)} of the {size(limit)} of {of}" if limit else size(run.peak)
        share = round(min(100.0, 100 * run.peak / limit), 1) if limit else None
        facts.append({"name": "Peak memory of the process", "text": text, "share": share})
    solved = run.seconds.get("solve", run.seconds.get("fold"))
    if run.bandwidth and solved and rows:
        once = rows * _ROW / run.bandwidth
        text = f"{duration(once)} for the ids and weights, {percent(once, solved)} of the time to solve"
        facts.append({"name": f"One pass at {run.bandwidth / 1e9:.1f} GB/s", "text": text, "share": None})
    return facts
