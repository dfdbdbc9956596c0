"""Predictions of memory, bytes moved and rounds, for streams and clusters."""
