"""Slices of the total order over sorted runs on the workers' disks, for forests that do not fit one worker."""
