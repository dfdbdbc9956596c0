"""Fixtures and markers that every test may use; functions that tests share are in `tests.support`."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.lanes import FAST_LANE, in_fast_lane, missing_gpu, use_fast_lane
from tests.support.shared_data import SHARED

ROOT = str(Path(__file__).resolve().parents[1])
# The package under test is the installed one. The source folder dfmst/, which has no compiled kernels, would come
# before it in `python -m pytest`, which puts the working directory first on the path, and in any `python -c` or
# `python -m` that a test starts. Whoever wants the source folder names it in PYTHONPATH.
if ROOT in sys.path and ROOT not in os.environ.get("PYTHONPATH", "").split(os.pathsep):
    sys.path.remove(ROOT)
os.environ["PYTHONSAFEPATH"] = "1"

# In these, as in a test, pytest shows both sides of an assertion that fails.
pytest.register_assert_rewrite("tests.support.dask_frames", "tests.support.truth")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let fuzzers run longer than in the suite."""
    about = "how long each fuzzer runs, from new seeds (default: a few batches, always the same examples)"
    parser.addoption("--fuzz-seconds", type=float, help=about)
    about = "seed of each fuzzer's first batch, the next ones counting up from it (default: new ones)"
    parser.addoption("--fuzz-seed", type=int, help=about)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real graphs that stands beside the repository on the project's own machines."""
    if not SHARED.is_dir():
        pytest.skip(f"no folder of shared data at {SHARED.parent.name}/{SHARED.name} beside the repository")
    return SHARED


@pytest.fixture(scope="session", autouse=True)
def many_processors() -> Generator[None, None, None]:
    """Let the algorithms be those for all threads that a test names, whatever the machine has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dfmst._engines.processors", lambda: 64)
        yield


@pytest.fixture(scope="session", autouse=True)
def signals_of_a_terminal() -> None:
    """Let programs that tests start be interrupted: they inherit signals that a background shell or nohup ignores."""
    for name, handler in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
        number = getattr(signal, name, None)  # Windows has no SIGHUP
        if number is not None and signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_configure(config: pytest.Config) -> None:
    """Draw fewer examples in the fast lane, and let a pytest that a test starts be one process without options."""
    # Not before: pytest reads the variable again once it knows the options above, and so does every worker.
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        os.environ.pop("PYTEST_ADDOPTS", None)
    if config.option.markexpr == FAST_LANE:
        use_fast_lane()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without a slow test where only those run: to import all takes seconds in each process."""
    if config.option.markexpr != "slow" or not collection_path.name.startswith("test_"):
        return None
    return True if "mark.slow" not in collection_path.read_text(encoding="utf-8") else None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Do not look for garbage among fifteen thousand tests, neither while they are collected nor while they run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    """Let all be found that is left: libraries look for what leaks as the process ends."""
    gc.unfreeze()


def seconds_of(item: pytest.Item) -> float:
    """How long a test takes, roughly: what its marker says, or a few seconds where it is slow."""
    marker = item.get_closest_marker("slow")
    seconds: float = 0.0 if marker is None else marker.kwargs.get("seconds", 3.0)
    return seconds


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the fast lane does not run; long tests first; skip `gpu` where there is no GPU."""
    # Side by side, a long test that begins last would keep the others' cores waiting.
    items.sort(key=seconds_of, reverse=True)
    if config.option.markexpr == FAST_LANE:
        config.hook.pytest_deselected(items=[item for item in items if not in_fast_lane(item)])
        items[:] = [item for item in items if in_fast_lane(item)]
    marked = [item for item in items if item.get_closest_marker("gpu")]
    reason = missing_gpu() if marked else None
    if reason is not None:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=reason))
