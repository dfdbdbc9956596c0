"""Forests of tables that one machine does not hold: tasks over partitions, and the graphs they are put into.

The forest of a union is the forest of the parts' forests, so partitions are solved apart and only their forests
travel, as tables of four columns (:mod:`dfmst._drive.cluster.tables`). Every row has a locator, its partition and its
position there; the order (weight, locator) is total, and the same as that of the frame in memory.
"""
