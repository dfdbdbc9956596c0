"""From a frame's columns to an edge table: ids, weights, vertices."""
