"""Points: their nearest neighbors, and the spanning trees of the complete graph of them."""
