"""Small things that every room uses: argument checks, dispatch on the kind of a frame, progress, types."""
