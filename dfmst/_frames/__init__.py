"""Dataframes of any kind, on the host and on a GPU: columns out, rows in."""
