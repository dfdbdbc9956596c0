"""The build backend asks for a compiler from PyPI exactly where the machine has none."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from types import SimpleNamespace

import backend
import pytest

ROOT = Path(__file__).resolve().parents[2]
POSIX = pytest.mark.skipif(os.name != "posix", reason="shell scripts stand in for programs")


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The only folder on PATH, empty."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CXX", raising=False)
    return folder


def test_a_bare_machine_gets_zig_and_what_cmake_needs(bare, monkeypatch):
    monkeypatch.chdir(ROOT)
    for requires in (backend.get_requires_for_build_wheel(), backend.get_requires_for_build_editable()):
        assert backend.ZIG in requires
        assert {"cmake", "ninja"} <= {word.partition(">")[0] for word in requires}


def test_a_compiler_that_is_named_is_used(bare, monkeypatch):
    monkeypatch.setenv("CXX", "my-compiler")
    assert backend.compiler_requires() == []


@POSIX
@pytest.mark.parametrize("name", backend.COMPILERS)
def test_a_compiler_that_does_not_work_is_none(bare, name):
    script(bare / name, "exit 1")
    assert backend.compiler_requires() == [backend.ZIG]


@pytest.mark.skipif(not any(map(shutil.which, backend.COMPILERS)), reason="no C++ compiler here")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows always builds with zig")
def test_a_compiler_that_works_is_used(monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    assert backend.compiler_requires() == []
    with backend.compiler():
        assert "CXX" not in os.environ


def test_windows_needs_ninja_beside_zig(bare, monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "Windows")
    assert backend.compiler_requires() == [backend.ZIG, "ninja"]


def test_no_compiler_at_all_says_what_to_do(bare, monkeypatch):
    monkeypatch.setitem(sys.modules, "ziglang", None)
    with pytest.raises(SystemExit, match="pip install 'ziglang"), backend.compiler():
        pass


@POSIX
def test_zig_is_told_to_build_for_any_processor(bare, monkeypatch, tmp_path):
    home = tmp_path / "a folder"
    home.mkdir()
    script(home / "zig", 'for word in "$@"; do echo "$word"; done')
    monkeypatch.setitem(sys.modules, "ziglang", SimpleNamespace(__file__=str(home / "__init__.py")))
    before = dict(os.environ)
    with backend.compiler():
        wrapper = os.environ["CXX"]
        said = subprocess.run([wrapper, "-c", "two words.cpp"], capture_output=True, check=True, text=True).stdout
    words = said.splitlines()
    assert words[0] == "c++"
    assert [word for word in words if word.startswith(("-mcpu", "-march"))] == ["-mcpu=baseline"]
    assert words[-2:] == ["-c", "two words.cpp"]
    assert dict(os.environ) == before
    assert not Path(wrapper).exists()


@pytest.mark.parametrize(
    ("system", "machine", "target"),
    [
        ("Linux", "x86_64", ["-target", "x86_64-linux-gnu.2.28"]),
        ("Linux", "aarch64", ["-target", "aarch64-linux-gnu.2.28"]),
        ("Linux", "riscv64", []),
        ("Windows", "AMD64", ["-target", "x86_64-windows-gnu"]),
        ("Darwin", "arm64", []),
    ],
)
def test_target(system, machine, target, monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(sysconfig, "get_config_var", lambda _: None)
    assert backend.target() == target


def test_musl_is_not_glibc(monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(sysconfig, "get_config_var", lambda _: "x86_64-unknown-linux-musl")
    assert backend.target() == ["-target", "x86_64-linux-musl"]
