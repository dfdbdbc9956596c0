"""Helpers of all benchmarks: graphs, files, clocks, result files."""
