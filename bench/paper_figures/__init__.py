"""The papers' figures, measured again: one function a figure, listed in `FIGURES` of every paper's module."""
