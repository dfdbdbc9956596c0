"""Folds: forests of rows that arrive in batches, in a buffer or in sorted runs on disk."""
