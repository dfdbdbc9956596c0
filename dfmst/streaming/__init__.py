"""Forests of more rows than the memory holds: sources, their first and second pass, checkpoints, the memory's plan.

:mod:`dfmst.stream` is the face of it.
"""
