"""Drivers decide where folds run and where rows wait: in batches of a stream, or in tasks of a cluster."""
