"""What tests of several folders share: oracles, graphs, frames, and stand-ins for CuPy and cuDF."""
