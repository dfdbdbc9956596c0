"""The README as the package index shows it: links to files of the repository are absolute, and name the version."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["absolute_links", "dynamic_metadata"]

#: A link or a picture of Markdown to a file of the repository.
LINK = re.compile(r"(?P<picture>!?)(?P<text>\[[^][]*\])\((?!https?:|mailto:|#)(?P<path>[^()\s]+)\)")


def dynamic_metadata(field: str, settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the README for scikit-build-core, which builds in the folder of pyproject.toml."""
    urls = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    (version,) = re.findall(
        r'^__version__ = "(.+)"', Path("dfmst/__init__.py").read_text(encoding="utf-8"), re.MULTILINE
    )
    text = absolute_links(Path("README.md").read_text(encoding="utf-8"), urls["Repository"], f"v{version}")
    return {"content-type": "text/markdown", "text": text}


def absolute_links(text: str, repository: str, tag: str) -> str:
    """Let links to files of the repository name its address: pages for files, the files themselves for pictures."""

    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if link["picture"] else "blob"
        return f"{link['picture']}{link['text']}({repository}/{kind}/{tag}/{link['path']})"

    return LINK.sub(absolute, text)
