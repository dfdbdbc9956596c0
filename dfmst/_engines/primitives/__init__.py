"""Columnar steps that algorithms, folds and certificates are made of, over any engine."""
