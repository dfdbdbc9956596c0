"""Borůvka rounds over partitioned tables, for forests that do not fit one worker."""
