"""ECL-MST next to dfmst: its input file from a graph of ours, and the time that it prints.

The program is the caller's own build; nothing of it is part of dfmst. It reads a symmetric graph as 32-bit integers:
the number of vertices, the number of directed edges, the first edge of each vertex (and the end of the last ones), the
neighbors, the weights.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
from support.inside import Engine

from gpu.graphs import DeviceGraph

#: Its output: the time of the filtered (+) or the plain (-) program, and whether a host's Kruskal agrees.
_TIME = re.compile(r"Dev[+-]:\s*([0-9.]+) s")
_CHECKED = 4_000_000  # edges up to which its own check is waited for: it sorts all edges on one thread


def write(engine: Engine, graph: DeviceGraph, path: Path) -> None:
    """Write a graph, both directions of every edge, with its ``int32`` weights."""
    xp = engine.xp
    source = xp.concatenate([graph.source, graph.target])
    order = xp.argsort(source)
    weight = graph.weights("int32")
    begin = xp.searchsorted(source[order], xp.arange(graph.vertices + 1, dtype=np.uint32))
    target = xp.concatenate([graph.target, graph.source])[order]
    with path.open("wb") as file:
        np.array([graph.vertices, len(source)], np.int32).tofile(file)
        for column in (begin, target, xp.concatenate([weight, weight])[order]):
            engine.to_host(column.astype(np.int32)).tofile(file)


def measure(program: Path, path: Path, edges: int, repeat: int, seconds: float) -> dict[str, Any]:
    """Milliseconds of each run, and their median; the verdict of its own check if the graph is small.

    For a large graph the program is ended as soon as it has printed its time.
    """
    times, verdict, end = [], None, time.monotonic() + seconds
    for _ in range(repeat):
        text = _run(program, path, edges <= _CHECKED, end)
        found = _TIME.search(text)
        if found is None:
            break
        times.append(1e3 * float(found[1]))
        verdict = "all good" in text if edges <= _CHECKED else None
    if not times:
        return {"error": "no time was printed"}
    return {"milliseconds": round(float(np.median(times)), 4), "runs": times, "agrees_with_its_kruskal": verdict}


def _run(program: Path, path: Path, to_the_end: bool, end: float) -> str:
    """Its output as far as it is needed. On a terminal, so that each line comes at once."""
    ours, theirs = pty.openpty()
    # Loading kernels as they are first launched would count as time of the solver.
    environment = os.environ | {"CUDA_MODULE_LOADING": "EAGER"}
    process = subprocess.Popen([program, path], stdin=subprocess.DEVNULL, stdout=theirs, env=environment)
    os.close(theirs)
    os.set_blocking(ours, False)
    text = ""
    while time.monotonic() < end and (to_the_end or not _TIME.search(text)):
        running = process.poll() is None
        try:
            text += os.read(ours, 1 << 16).decode(errors="replace")
        except BlockingIOError:
            time.sleep(0.02)
        except OSError:  # the other end is closed: there is no more to come
            break
        else:
            continue
        if not running:
            break
    process.kill()
    process.wait()
    os.close(ours)
    return text
