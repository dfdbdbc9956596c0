"""Forests that do not fit the memory: rows in sorted runs on disk, read back in slices of the total order."""
