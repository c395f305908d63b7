"""Reads caches of a cluster without our service, any Ignite 2.x, by its thin client port.

Python decodes the rows one by one, whatever the number of nodes. Measured: one core decodes 100 to 200 thousand small
objects per second (10 fields, or an image of 784 bytes and a label), and some 600 thousand values that are no objects,
while the node needs another core. With the service, Flight and shared memory are much faster.
"""
