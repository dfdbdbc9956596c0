"""How much memory a run takes next to its limit, and what a killed run loses."""
