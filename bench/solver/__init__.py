"""Where the time inside dfmst goes, by step, size, thread and input."""
