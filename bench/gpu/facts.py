"""The GPU's name, memory and driver, and CuPy's version, in a result file of their own.

python bench gpu/facts [-o FOLDER]
"""

from __future__ import annotations

import json

from support.machine import describe_device
from support.results import parser, write

from gpu import require


def main() -> None:
    chosen = parser(__doc__).parse_args()
    device = describe_device(*require("cupy"))
    write(chosen.output / device["folder"] / "device.json", device)
    print(json.dumps(device))
