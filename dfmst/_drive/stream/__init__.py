"""Streams: edges in batches, on one machine, within a limit of memory."""
