"""How weight types, adversarial orders and kinds of ids change time and memory.

    python bench solver/conditions [--parts weights,orders,ids,memory] [--repeat 7] [-o RESULT.json]

Times are medians in milliseconds, interleaved; ratios are to the first entry of each group.
"""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from support.graphs import GRAPHS, Graph, erdos_renyi, ranks
from support.machine import describe
from support.results import parser, write
from support.timing import interleaved, milliseconds, peak_memory

import dfmst
from dfmst.arrays import forest_rows

PATH = 1_000_000  # vertices


def _ratios(times: dict[str, float]) -> dict[str, Any]:
    first = next(iter(times.values()))
    return {name: {"ms": value, "ratio": round(value / first, 2)} for name, value in times.items()}


def weights(repeat: int) -> dict[str, Any]:
    """er1M with every type of weight, and with equal ones."""
    graph = GRAPHS["er1M"]()
    u, v = graph.source.astype(np.uint32), graph.target.astype(np.uint32)
    rank = ranks(graph.weight)
    columns = {"uint32": rank, **{name: rank.astype(name) for name in ("int32", "int64", "uint64")}}
    columns |= {"float32": graph.weight.astype(np.float32), "float64": graph.weight}
    columns |= {"all equal, uint32": np.full(len(rank), 7, np.uint32), "all equal, float64": np.full(len(rank), 0.7)}
    columns |= {"ten values": rank % np.uint32(10), "wide int64": rank.astype(np.int64) << 30}
    runs = {name: lambda w=w: forest_rows(u, v, w) for name, w in columns.items()}
    return _ratios(milliseconds(interleaved(runs, repeat)))


def _trees(factor: int) -> tuple[Any, Any, Any]:
    """Blocks of vertices merge `factor` at a time, the lighter levels first, always by their last vertices."""
    source, target, weight = [], [], []
    size, level = 1, 0
    while size < PATH:
        starts = np.arange(0, PATH, size * factor)
        for number in range(1, factor):
            ends = starts + size * number - 1, starts + size * (number + 1) - 1
            inside = ends[1] < PATH
            source.append(ends[0][inside])
            target.append(ends[1][inside])
            weight.append(np.full(int(inside.sum()), level, np.uint32))
        size, level = size * factor, level + 1
    return np.concatenate(source), np.concatenate(target), np.concatenate(weight)


def orders(repeat: int) -> dict[str, Any]:
    """The same graph with weights in adversarial row orders; paths, stars and merging trees next to a random tree."""
    draw = np.random.default_rng(0)
    graph = erdos_renyi(PATH, 5 * PATH)
    ascending = np.arange(len(graph.source), dtype=np.uint32)
    organ_pipe = np.concatenate([ascending[::2], ascending[1::2][::-1]])
    named = {"random": draw.permutation(ascending), "sorted": ascending, "reverse-sorted": ascending[::-1].copy()}
    named |= {"organ pipe": organ_pipe, "all equal": np.zeros_like(ascending)}
    u, v = graph.source.astype(np.uint32), graph.target.astype(np.uint32)
    runs = {name: lambda w=w: forest_rows(u, v, w) for name, w in named.items()}
    edge, shuffled = np.arange(PATH - 1), draw.permutation(PATH - 1)
    random = draw.permutation(PATH - 1).astype(np.uint32)
    equal = np.ones(PATH - 1, np.uint32)
    label = draw.permutation(PATH)
    parent = (draw.random(PATH - 1) * (edge + 1)).astype(np.int64)
    trees = {
        "random tree, random weights": (label[parent], label[edge + 1], random),
        "path, random order": (label[shuffled], label[shuffled + 1], random),
        "path, equal weights": (edge, edge + 1, equal),
        "path, equal weights, backwards": (edge[::-1], edge[::-1] + 1, equal),
        "path, equal weights, shuffled": (shuffled, shuffled + 1, equal),
        "star": (np.zeros(PATH - 1, np.int64), edge + 1, random),
        "star, equal weights": (np.full(PATH - 1, PATH - 1), edge, equal),
        **{f"merging by {factor}": _trees(factor) for factor in (2, 4, 16)},
    }
    small = {name: (a.astype(np.uint32), b.astype(np.uint32), w) for name, (a, b, w) in trees.items()}
    grown = {name: lambda t=t: forest_rows(*t) for name, t in small.items()}
    return {
        "Erdos-Renyi, 1 M / 5 M": _ratios(milliseconds(interleaved(runs, repeat))),
        "trees of 1 M vertices": _ratios(milliseconds(interleaved(grown, repeat))),
    }


def ids(repeat: int) -> dict[str, Any]:
    """Ids that must be numbered first, next to the frame library's own factorize of the two columns."""
    graph: Graph = erdos_renyi(200_000, 2_000_000)
    dense = pd.DataFrame({"source": graph.source, "target": graph.target, "weight": graph.weight})
    names = np.array([f"v{number}" for number in range(graph.vertices)], object)
    text = dense.assign(source=names[graph.source], target=names[graph.target]).astype(
        {"source": "str", "target": "str"}
    )
    sparse = dense.assign(source=dense["source"] * 7919**3 + 1, target=dense["target"] * 7919**3 + 1)
    table = pa.Table.from_pandas(text, preserve_index=False)
    ends = pa.chunked_array(table["source"].chunks + table["target"].chunks)
    times = milliseconds(
        interleaved(
            {
                "dense int64": lambda: dfmst.minimum_spanning_forest(dense),
                "text in pandas": lambda: dfmst.minimum_spanning_forest(text),
                "pandas.factorize, text": lambda: pd.factorize(pd.concat([text["source"], text["target"]])),
                "sparse int64": lambda: dfmst.minimum_spanning_forest(sparse),
                "pandas.factorize, int64": lambda: pd.factorize(pd.concat([sparse["source"], sparse["target"]])),
                "text in Arrow": lambda: dfmst.minimum_spanning_forest(table),
                "Arrow dictionary_encode, text": ends.dictionary_encode,
            },
            repeat,
        )
    )
    pairs = {"text in pandas": "pandas.factorize, text", "sparse int64": "pandas.factorize, int64"}
    pairs["text in Arrow"] = "Arrow dictionary_encode, text"
    extra = {name: round((times[name] - times["dense int64"]) / times[own], 2) for name, own in pairs.items()}
    return {"ms": times, "extra_time_as_a_multiple_of_factorize": extra}


def _grown(id_type: str, weight_type: str) -> dict[str, float]:
    """Peak memory of one call on er1M, in a process that does nothing else."""
    graph = GRAPHS["er1M"]()
    columns = (graph.source.astype(id_type), graph.target.astype(id_type), graph.weight.astype(weight_type))
    forest_rows(*(column[:1000].copy() for column in columns))
    given, output = sum(column.nbytes for column in columns), 8 * (graph.vertices - 1)
    grown = peak_memory(lambda: forest_rows(*columns)) or 0
    return {
        "input_megabytes": round(given / 1e6, 1),
        "output_megabytes": round(output / 1e6, 1),
        "grown_by_megabytes": round(grown / 1e6, 1),
        "ratio_of_peak_to_input_and_output": round((given + grown) / (given + output), 2),
    }


def memory(repeat: int) -> dict[str, Any]:
    """Peak memory on er1M, next to the input columns and the output."""
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as fresh:
        return {
            f"{ids} ids, {weights} weights": fresh.submit(_grown, ids, weights).result()
            for ids, weights in (("uint32", "float32"), ("int64", "float64"))
        }


PARTS = {"weights": weights, "orders": orders, "ids": ids, "memory": memory}


def main() -> None:
    chosen = parser(__doc__, "cpu/conditions.json", parts=",".join(PARTS), repeat=7).parse_args()
    result: dict[str, Any] = {"machine": describe("pyarrow")}
    for part in chosen.parts.split(","):
        result[part] = PARTS[part](chosen.repeat)
        print(part, json.dumps(result[part]), flush=True)
        write(chosen.output, result)
