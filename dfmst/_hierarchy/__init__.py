"""What follows from a forest: clusters, dendrograms."""
