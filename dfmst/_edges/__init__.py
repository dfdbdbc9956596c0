"""Frames of any library, read into edge tables: checked ids, weights without rounding, dense vertices."""
