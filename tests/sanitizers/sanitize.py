"""Run the CPU kernels under GCC's sanitizers: ``python tests/sanitizers/sanitize.py [address] [thread]``.

``address``
    AddressSanitizer and UndefinedBehaviorSanitizer: the kernel and engine tests, with the compiled kernels replaced.
``thread``
    ThreadSanitizer, which does not see through Python: a driver of its own launches every kernel.

Any report fails the run, and so does the program.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "dfmst" / "_engines" / "kernels" / "cpu" / "native.cpp"
DRIVER = ROOT / "tests" / "sanitizers" / "tsan_driver.cpp"
TESTS = ("tests/engines",)
#: They start compilers or read texts; they launch no kernel.
WITHOUT = ("test_sanitizers.py", "test_nvrtc.py", "test_driver.py", "test_cuda_on_host.py")

#: Runs pytest; fails too where the tests have not used the library they should have. Of a test on several numbers of
#: threads the fewest and the most remain: those between cut the same columns into chunks, and read the same words.
CHILD = """
import os, re, sys, pytest

class Extremes:
    def pytest_collection_modifyitems(self, items):
        numbers = {}
        for item in items:
            drawn = re.search(r"threads=(\\d+)", item.name)
            if drawn:
                numbers.setdefault((item.path, item.originalname), []).append((int(drawn[1]), item))
        for drawn in numbers.values():
            ends = {min(number for number, _ in drawn), max(number for number, _ in drawn)}
            for number, item in drawn:
                if number not in ends:
                    items.remove(item)

status = pytest.main(sys.argv[1:], [Extremes()])
if os.environ["DFMST_KERNELS"] not in open("/proc/self/maps").read():
    sys.exit("the tests did not load the sanitized kernels")
sys.exit(status)
"""


def missing() -> str | None:
    """Why the sanitizers cannot run here; None where they can."""
    if not sys.platform.startswith("linux"):
        return "the sanitizers run on Linux only"
    try:
        absent = [name for name in ("libasan.so", "libubsan.so", "libtsan.so") if _library(name) is None]
    except FileNotFoundError:
        return "needs g++"
    return f"needs {' and '.join(absent)} of g++" if absent else None


def _library(name: str) -> Path | None:
    """Where g++ keeps a library; None where it has none (it then repeats the bare name)."""
    command = ["g++", f"-print-file-name={name}"]
    path = Path(subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip())
    return path if path.is_absolute() else None


def build(source: Path, output: Path, sanitizer: str) -> Path:
    """Compile one file: a shared library where `output` ends in ``.so``, else a program."""
    kind = ["-shared", "-fPIC"] if output.suffix == ".so" else []
    # -g1: lines for the reports, without the variables, whose description takes a third of the compilation.
    options = ["-std=c++17", "-O1", "-g1", "-pthread", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"]
    subprocess.run(["g++", *options, *kind, source, "-o", output], check=True)
    return output


def python(library: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python code that loads `library`, built with the address sanitizer.

    Kernels work on NumPy's columns, each of which is a ``malloc`` of its own, with its own red zones. Python's small
    objects are not (``PYTHONMALLOC=malloc`` would double the time).
    """
    # libstdc++ too: AddressSanitizer must find the real `throw` when it starts.
    preload = " ".join(str(_library(name)) for name in ("libasan.so", "libubsan.so", "libstdc++.so"))
    # -P: the installed dfmst, not the source folder in the working directory.
    return _run(
        [sys.executable, "-P", "-c", code, *arguments],
        LD_PRELOAD=preload,
        ASAN_OPTIONS="detect_leaks=0",  # the interpreter leaks by design
        UBSAN_OPTIONS="print_stacktrace=1",
        DFMST_KERNELS=str(library),
    )


def program(path: Path) -> subprocess.CompletedProcess[str]:
    """Run a program built with the thread sanitizer."""
    done = _run([path], TSAN_OPTIONS="halt_on_error=1")
    if "unexpected memory mapping" in done.stdout:  # GCC before 14 beside a kernel that randomises more address bits
        done = _run(["setarch", "--addr-no-randomize", path], TSAN_OPTIONS="halt_on_error=1")
    return done


def _run(command: list[str | Path], **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def address(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the kernel tests on kernels that check every access."""
    library = build(KERNELS, folder / "_kernels.so", "address,undefined")
    ignored = (f"--ignore-glob=*/{file}" for file in WITHOUT)
    return python(library, CHILD, "-q", "-m", "not slow and not gpu", "-p", "no:cacheprovider", *ignored, *TESTS)


def thread(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the driver with kernels that check every pair of accesses."""
    return program(build(DRIVER, folder / "driver", "thread"))


RUNS = {"address": address, "thread": thread}


def start(folder: Path, names: list[str]) -> dict[str, Future[subprocess.CompletedProcess[str]]]:
    """Compile and run the named sanitizers side by side: each is one process most of the time."""
    pool = ThreadPoolExecutor(len(names))
    runs = {name: pool.submit(RUNS[name], folder) for name in names}
    pool.shutdown(wait=False)
    return runs


def main(names: list[str]) -> int:
    """Run the named sanitizers, or all."""
    reason = missing()
    if reason is not None:
        raise SystemExit(reason)
    failed = False
    with tempfile.TemporaryDirectory(prefix="dfmst-sanitize-") as folder:
        for name, run in start(Path(folder), names or [*RUNS]).items():
            done = run.result()
            print(done.stdout, flush=True)
            print(f"{name}: {'failed' if done.returncode else 'clean'}", flush=True)
            failed = failed or done.returncode != 0
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
