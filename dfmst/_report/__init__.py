"""A forest to look at: one HTML page with charts and a map, drawn as SVG, without a script."""
