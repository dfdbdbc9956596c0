"""Configuration of Sphinx: ``sphinx-build -W -b html docs docs/_build``; the extra ``docs`` installs its packages."""

from __future__ import annotations

import sys
from pathlib import Path

import dfmst

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "dfmst"
copyright = "the authors of dfmst, Apache-2.0"
version = release = dfmst.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "gallery",
    "generated_pages",
    "results",
]
html_theme = "pydata_sphinx_theme"
html_title = "dfmst"
html_static_path = ["_static"]
templates_path = ["_templates"]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_sidebars: dict[str, list[str]] = {"start": []}
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False, "header_links_before_dropdown": 6}
html_show_sourcelink = False
exclude_patterns = ["_build", "_ext", "_templates"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
