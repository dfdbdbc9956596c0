"""Every kernel of a GPU runs as PTX, on the tests of tests/engines/kernels and on those below."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dfmst
from dfmst._edges.edge_table import edge_statistics
from dfmst._edges.vertices import IdColumns
from dfmst._edges.weights import WeightColumn
from dfmst._engines import CpuEngine
from dfmst._engines.cuda import OPTIONS
from dfmst._engines.kernels import kernels, translation_units
from dfmst.algorithms import BSP, Kruskal, Mastiff, Prim
from dfmst.algorithms.filter_boruvka import threads_for
from tests.support.gpu import standin
from tests.support.gpu.ptx.engine import PtxEngine
from tests.support.gpu.ptx.faults import SCHEDULES, is_found, sown
from tests.support.gpu.ptx.machine import Program
from tests.support.gpu.ptx.modules import Card, programs, ptx_of, real_ptx
from tests.support.solving import check_table_of_ids, forest_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
# ---- all kernels --------------------------------------------------------------------------------------------------

#: A run of pytest, of single kernels as PTX; it ends with the variants that ran.
TOLD = """
import json, sys, pytest

class AsPtx:
    def pytest_collection(self):
        from tests.support import columns
        from tests.support.gpu.ptx.engine import PtxEngine
        columns.ENGINES[:] = [PtxEngine()]

code = pytest.main(sys.argv[1:], [AsPtx()])
from tests.support.gpu.ptx.modules import ran
print("ran:", json.dumps(sorted(ran)))
sys.exit(code)
"""
#: Tests of many threads that meet for long are left to the CPU: the interpreter takes minutes for each.
LONG = "walks_meet or contention or short_paths or of_a_hub or reach_a_vertex or test_a_tree or beside_each_other"
SERVING = "algorithms and int32 or generators or certificates or other_ or two_lists or table_of_ids or survey_of"
SERVING += " or within_warps"
#: Kernels of the tree of points on a GPU, which test_points.py runs as PTX.
OF_POINTS = {"bound_nodes", "morton_codes", "nearest_points"}
#: Kernels that only the host launches, though CUDA compiles them.
ON_HOST = {"count_members", "flag_joined", "flag_picked", "leading_bits"}
#: Tests of single kernels; those of a GPU; those of this folder that run algorithms.
RUNS = [
    ["tests/engines/kernels", "-m", "not slow", "-k", f"threads and not ({LONG})"],
    ["tests/cuda/test_trees.py", "-m", "not slow"],
    ["tests/ptx", "-m", "slow", "-k", SERVING],
]


@pytest.mark.slow(seconds=400)
def test_every_kernel_of_a_gpu_runs_as_ptx():
    """The tests of single kernels, on the interpreter in place of threads, and tests of what launches the others."""
    environment = {**os.environ, "DFMST_TEST_PTX": "1"}
    ran: set[str] = set()
    for chosen in RUNS:
        command = [sys.executable, "-c", TOLD, *chosen, "-q", "-p", "no:cacheprovider", "-n", "0"]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        ran |= {*json.loads(next(line for line in done.stdout.splitlines() if line.startswith("ran:"))[4:])}
    names = {variant: name for name, kernel in kernels().items() for variant in kernel.variants()}
    on_device = {name for name, kernel in kernels().items() if not kernel.on_host}
    assert sorted(on_device - {names[variant] for variant in ran if variant in names} - ON_HOST - OF_POINTS) == []


# ---- kernels that serve a call ------------------------------------------------------------------------------------


def surveyed(card):
    """Whether a survey of many threads finds the extremes of all rows; the largest id is not in the last row."""
    rng = np.random.default_rng(2)
    source, target = rng.integers(0, 10**9, (2, 5000)).astype(np.uint32)
    source[17] = 4 * 10**9
    weight = rng.normal(size=5000).astype(np.float32)
    weight[40] = np.nan
    with real_ptx(card) as engine:
        ids = IdColumns(engine.from_host(source), engine.from_host(target), None, None)
        found = edge_statistics(engine, ids, WeightColumn(engine.from_host(weight), None))
    return found is not None and (found.largest, found.missing) == (4 * 10**9, True)


@pytest.mark.parametrize("seed", SCHEDULES)
def test_a_survey_of_all_rows(seed):
    assert surveyed(Card(seed=seed))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("{ atomicMax(p, value); }", "{ *(volatile T*)p = value; }"),
        ("if (other > value) value = other;", "value = other;"),
        ("__shfl_sync(~0u, value, lane ^ reach)", "__shfl_sync(~0u, value, lane)"),
    ],
)
def test_a_fault_in_the_survey_is_found(right, wrong):
    assert is_found(surveyed, sown(right, wrong))


@pytest.mark.parametrize("algorithm", [Mastiff(drop_inside=True), Prim(form="queues"), BSP(rounds=1)], ids=repr)
def test_other_forms_of_algorithms(algorithm):
    rng = np.random.default_rng(6)
    source, target = rng.integers(0, 60, (2, 200)).astype(np.uint32)
    weight = rng.integers(0, 40, 200).astype(np.int32)
    expected = forest_of(CpuEngine(1), Kruskal(), source, target, weight, 60)
    with real_ptx(Card()) as engine:
        np.testing.assert_array_equal(forest_of(engine, algorithm, source, target, weight, 60), expected)


def test_other_coordinates():
    """Points on a sphere, and arcs of chords: the CPU's floats to the last bit."""
    rng, found = np.random.default_rng(7), []
    latitude, longitude = rng.uniform(-90, 90, 70), rng.uniform(-400, 400, 70)
    chords = np.concatenate([rng.uniform(0, 2 * 6371008.8, 66), [0, 1e-3, 9e6, 2 * 6371008.8]])
    for engine in (CpuEngine(1), PtxEngine()):
        column, arcs = np.zeros(210), chords.copy()
        engine.launch("place_on_sphere", 70, latitude, longitude, 70, column)
        engine.launch("arcs_of_chords", 70, arcs)
        found.append(np.concatenate([column, arcs]))
    np.testing.assert_array_equal(found[0], found[1])


@pytest.mark.parametrize("weight", ["float32", "hash24"])
def test_other_weights_of_generators(weight):
    with standin.installed(), real_ptx(Card()):
        drawn = dfmst.generate.erdos_renyi(40, 90, weight=weight, engine="cuda")
    assert drawn.equals(dfmst.generate.erdos_renyi(40, 90, weight=weight, engine="cpu"))


@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize("seed", SCHEDULES)
def test_a_table_of_ids(texts, seed):
    with real_ptx(Card(seed=seed)) as engine:
        check_table_of_ids(engine, texts, (0, 70, 900), 500)


# ---- lists that are too long --------------------------------------------------------------------------------------


def overflowing(card):
    """Whether a list of more records than its buffer holds is left alone, for the host to make room."""
    engine, rng = PtxEngine(card), np.random.default_rng(1)
    vertices, edges, capacity = 50, 400, 60
    source, target = rng.integers(0, vertices, (2, edges)).astype(np.uint32)
    weight = rng.random(edges).astype(np.float32)
    parent, best = np.arange(vertices, dtype=np.uint32), np.full(2 * vertices, 2**64 - 1, np.uint64)
    records, counters = [np.zeros(2 * capacity, np.uint64) for _ in range(2)], np.zeros(8, np.uint32)
    flags, last = np.zeros(-(-edges // 64), np.uint64), 2**64 - 1
    lists = (best[:vertices], records[0], capacity, counters[:1])
    side = last, last, 0, 0, 0, None, None
    threads = threads_for(edges, "TAKEN_EACH")
    engine.launch("take_edges", threads, source, target, 1, weight, 0, edges, *side, *lists)
    listed = int(counters[0])
    columns = (parent, best, vertices, flags, len(flags), counters)
    engine.launch("finish_records", capacity, counters[6:], *records, capacity, weight, 0, 0, *columns)
    return listed == np.count_nonzero(source != target) and not flags.any() and not counters[1:6].any()


@pytest.mark.parametrize("seed", SCHEDULES)
def test_a_list_that_is_too_long_is_left_alone(seed):
    assert overflowing(Card(seed=seed))


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("if (counters[FIRST] > capacity) return;", ""),
        ("if (places.end > capacity) return;", ""),
        ("if (counters[FIRST] > capacity) return;", "if (counters[FIRST] < capacity) return;"),
    ],
)
def test_a_fault_in_the_check_of_a_list_is_found(right, wrong):
    assert is_found(overflowing, sown(right, wrong))  # or an illegal address, as on a card


# ---- the text of barriers -----------------------------------------------------------------------------------------

STEPPED = sorted(
    (variant, unit) for kernel in kernels().values() if kernel.in_steps for variant, unit in kernel.variants().items()
)


def barriers(program: Program) -> list[list[str]]:
    """What threads do between the two barriers of their block: fences, atomics, and loads past the cache."""
    found: list[list[str]] = [[]]
    for step in program.code:
        opcode = step.instruction.opcode
        if opcode[0] == "bar":
            found.append([])
        elif opcode[0] in ("membar", "fence"):
            found[-1].append(".".join(opcode))
        elif opcode[0] in ("atom", "red") and "add" in opcode:
            found[-1].append("add")
        elif opcode[0] == "ld" and "volatile" in opcode:
            found[-1].append("volatile")
        elif opcode[0] == "nanosleep":
            found[-1].append("sleep")
    return found[1::2]


@pytest.mark.parametrize(("variant", "unit"), STEPPED)
def test_every_barrier_has_its_fences(variant, unit):
    """The interpreter's memory needs no fence, so that only the text shows them."""
    assert fenced(variant, unit, str)


def fenced(variant, unit, edit):
    program = programs(ptx_of(translation_units()[unit], OPTIONS, Card(edit=edit)))[variant]
    found = barriers(program)
    waits = {"volatile", "sleep"}
    order = [each[:2] == ["membar.gl", "add"] and each[-1] == "membar.gl" and {*each[2:-1]} == waits for each in found]
    return bool(found) and all(order)


FENCE_FAULTS = {
    "no fence before": ("__threadfence();\n      const u32 before", "const u32 before"),
    "no fence behind": ("__nanosleep(20);\n      __threadfence();", "__nanosleep(20);"),
    "a fence of the block alone": ("__threadfence();", "__threadfence_block();"),
    "a load that the cache answers": ("(before ^ load(met))", "(before ^ *met)"),
    "no load asks memory": ("return *(const volatile T*)p;", "return *p;"),
    "no pause": ("__nanosleep(20);", ";"),
}


@pytest.mark.parametrize("name", FENCE_FAULTS)
def test_a_fault_of_a_barrier_is_found(name):
    assert not fenced("finish_records_f32", "filter_boruvka_f32", sown(*FENCE_FAULTS[name]))


def plain(name, edit):
    """Whether a kernel loads, and whether it stores, by instructions that may keep a word of another thread's."""
    ((variant, unit),) = kernels()[name].variants().items()
    program = programs(ptx_of(translation_units()[unit], OPTIONS, Card(edit=edit)))[variant]
    opcodes = [step.instruction.opcode for step in program.code]
    return [any(op[0] == kind and "global" in op and "volatile" not in op for op in opcodes) for kind in ("ld", "st")]


#: Kernels -> whether they load columns that no thread changes; none stores a word that no other thread reads.
SHARING = {"halve_paths": False, "flatten": False, "break_cycles": False, "hook": True, "unite_neighbors": True}
VOLATILE_FAULTS = {
    "a load": ("halve_paths", "return *(const volatile T*)p;", "return *p;"),
    "a store": ("flatten", "{ *(volatile T*)p = value; }", "{ *p = value; }"),
    "a load of a root": ("halve_paths", "load_cached(&parent[up]) : load(&parent[up])", "0 : parent[up]"),
    "a store of a path": ("unite_neighbors", "store(&parent[vertex], above);", "parent[vertex] = above;"),
    "a store of a hook": ("hook", "store(&parent[root], other);", "parent[root] = other;"),
    "a load of a parent": ("flatten", "u32 top = load(&parent[i]);", "u32 top = parent[i];"),
}


@pytest.mark.parametrize("name", SHARING)
def test_words_that_threads_share_are_volatile(name):
    """The interpreter's memory has no registers that hold a word, so that only the text shows it."""
    assert plain(name, str) == [SHARING[name], False]


@pytest.mark.parametrize("fault", VOLATILE_FAULTS)
def test_a_word_that_is_not_volatile_is_found(fault):
    name, *texts = VOLATILE_FAULTS[fault]
    assert plain(name, sown(*texts)) != [SHARING[name], False]


@pytest.mark.parametrize(
    ("variant", "unit", "expected"),
    [
        ("offer_records_f32", "filter_boruvka_f32", True),
        ("join_records", "filter_boruvka", False),
        ("unite_u32", "sets_u32", False),
    ],
)
def test_finds_read_the_first_level_cache_if_no_root_is_hooked(variant, unit, expected):
    """The interpreter has no cache, which would hold a root that another multiprocessor has hooked since."""
    program = programs(ptx_of(translation_units()[unit], OPTIONS, Card()))[variant]
    opcodes = [step.instruction.opcode for step in program.code]
    assert any(opcode[0] == "ld" and "ca" in opcode for opcode in opcodes) == expected
