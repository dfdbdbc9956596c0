"""Certificates: whether rows are the minimum spanning forest, found without solving anything."""
