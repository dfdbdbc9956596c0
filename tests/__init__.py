"""The tests, one folder a package of dfmst; what they share is in `tests.support`."""
