"""Graph files in and out: many formats to one table of edges, and tables to files.

``read_edges`` and ``open_edges`` find the format and the compression out by themselves; every error
names the file and the line. ``FORMATS`` lists the names that ``format=`` takes.
"""

from dfmst.formats.atomic import atomic_path
from dfmst.formats.read import FORMATS, open_edges, read_edges
from dfmst.formats.write import WRITABLE_FORMATS, write_edges

__all__ = ["FORMATS", "WRITABLE_FORMATS", "atomic_path", "open_edges", "read_edges", "write_edges"]
