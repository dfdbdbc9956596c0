"""Run a benchmark, or list all: ``python bench [NAME [ARGUMENT]...]``; NAME is ``peers``, ``solver/scale``, …"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int | None:
    if len(sys.argv) < 2 or not (HERE / sys.argv[1]).with_suffix(".py").is_file():
        print((HERE / "README.md").read_text(encoding="utf-8"))
        return 2 if sys.argv[1:] else 0
    name = Path(sys.argv.pop(1)).with_suffix("")
    sys.argv[0] = f"bench {name}"
    code: int | None = import_module(".".join(name.parts)).main()
    return code


if __name__ == "__main__":
    raise SystemExit(main())
