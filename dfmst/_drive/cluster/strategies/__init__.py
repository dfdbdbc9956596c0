"""How a forest is found on a cluster: merges, two passes, or a shuffle."""
