"""Graph files in and out: many formats to one table of edges, and tables to files.

``read_edges`` and ``open_edges`` find the format and the compression out by themselves, and take several files as one
table; every error names the file and the line. ``FORMATS`` lists the names that ``format=`` takes.
"""

from dfmst.formats.atomic import atomic_path, check_file, check_page as check_page
from dfmst.formats.detect import detect_format, format_of_suffix
from dfmst.formats.files import Roles as Roles, check_same_columns
from dfmst.formats.provenance import Provenance, read_provenance
from dfmst.formats.read import FORMATS, bytes_to_solve, open_edges, open_table as open_table, read_all, read_edges
from dfmst.formats.stores import Access as Access  # for the command line, as `Roles` and `open_table` are
from dfmst.formats.write import WRITABLE_FORMATS, write_edges

__all__ = [
    "FORMATS",
    "WRITABLE_FORMATS",
    "Provenance",
    "atomic_path",
    "bytes_to_solve",
    "check_file",
    "check_same_columns",
    "detect_format",
    "format_of_suffix",
    "open_edges",
    "read_all",
    "read_edges",
    "read_provenance",
    "write_edges",
]
