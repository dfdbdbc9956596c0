"""Functions of forests: components, clusters, dendrograms, rooted trees, updates and certificates."""
