"""dfmst next to cuGraph's minimum spanning tree: both from the edge table of one cuDF frame to the tree's edges.

    python bench gpu/cugraph [--graphs rmat22,grid-2e20] [--shrink 0] [--repeat 5] [--seconds 25] [-o FOLDER]

Weights are ``float32``. Both times have all that a user waits for: cuGraph's has its graph from the frame's edges, and
dfmst's the rows of the frame. The total weight of both is compared. Exit code 77 if cuGraph is not installed.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from typing import Any

from support.inside import Engine, select_engine
from support.machine import describe_device
from support.results import parser, write
from support.timing import interleaved

import dfmst
from gpu import in_time, measured, require
from gpu.graphs import DeviceGraph, generate

GRAPHS = "rmat22,grid-2e20,dense-10k-10m,road-24m-29m"


def measure(engine: Engine, cugraph: Any, cudf: Any, graph: DeviceGraph, repeat: int) -> dict[str, Any]:
    """Median seconds of both, and both total weights; an error of cuGraph is recorded."""
    columns = {"source": graph.source.astype("int32"), "target": graph.target.astype("int32")}
    frame = cudf.DataFrame({**columns, "weight": graph.weights("float32")})

    def waiting(run: Callable[[], Any]) -> Callable[[], None]:
        def waited() -> None:
            run()
            engine.xp.cuda.get_current_stream().synchronize()

        return waited

    def theirs() -> Any:
        made = cugraph.Graph()
        made.from_cudf_edgelist(frame, source="source", destination="target", edge_attr="weight", renumber=False)
        return cugraph.minimum_spanning_tree(made).view_edge_list()

    def ours() -> Any:
        return dfmst.minimum_spanning_forest(frame)

    record: dict[str, Any] = {"edges": len(graph), "vertices": graph.vertices}
    try:
        record["cugraph_total"] = float(theirs()["weight"].astype("float64").sum())
        runs: dict[str, Any] = {"cugraph": theirs, "dfmst": ours}
    except Exception as error:  # it refuses or fails on some graphs
        record["cugraph_error"] = f"{type(error).__name__}: {error}"
        runs = {"dfmst": ours}
    record["dfmst_total"] = float(ours()["weight"].astype("float64").sum())
    timed = {name: waiting(run) for name, run in runs.items()}
    record |= {f"{name}_s": round(run.seconds, 5) for name, run in interleaved(timed, repeat).items()}
    if "cugraph_s" in record:
        record["times_faster"] = round(record["cugraph_s"] / record["dfmst_s"], 2)
    return record


def solve(engine: Engine, options: argparse.Namespace, cugraph: Any, cudf: Any) -> dict[str, Any]:
    """A record for each graph; none begins after ``--seconds``."""
    names = options.graphs.split(",")
    made = (measure(engine, cugraph, cudf, generate(engine, name, options.shrink), options.repeat) for name in names)
    graphs = {}
    for name, record in zip(names, in_time(made, options.seconds), strict=False):
        graphs[name] = record
        print(name, json.dumps(record), flush=True)
    return graphs


def main() -> int:
    options = parser(__doc__, "", graphs=GRAPHS, repeat=5)
    options.add_argument("--shrink", type=int, default=0, help="divide the graphs' sizes by 2 to this power")
    options.add_argument("--seconds", type=float, default=math.inf, help="begin no graph after this time")
    chosen = options.parse_args()
    cugraph, cudf = require("cugraph", "cudf")
    engine = select_engine("cuda")
    device = describe_device(engine.xp)
    result = {"device": device, "cugraph": cugraph.__version__, "graphs": solve(engine, chosen, cugraph, cudf)}
    write(chosen.output / device["folder"] / "cugraph.json", result)
    return measured([*result["graphs"]], [name for name in chosen.graphs.split(",") if name not in result["graphs"]])
