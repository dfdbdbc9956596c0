"""What the GPU is: its name, memory, driver, and CuPy's version; a result file of its own.

python bench/gpu_facts.py [-o FOLDER]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from machine import describe_device

from dfmst._engines import select_engine

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    """Ask, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, default=RESULTS, help="the device's folder is made there")
    options = parser.parse_args()
    device = describe_device(select_engine("cuda").xp)
    path = options.output / device["folder"] / "device.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(device, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(device))


if __name__ == "__main__":
    main()
