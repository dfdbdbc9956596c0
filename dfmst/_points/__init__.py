"""Points: their nearest neighbours, and the spanning trees of the complete graph of them."""
