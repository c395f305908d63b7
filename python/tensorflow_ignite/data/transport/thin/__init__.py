"""Reads caches of a cluster that does not run our service, any Ignite 2.x, by its thin client port.

Each row is decoded in Python, one by one, whatever the number of nodes. One core was measured to decode 100 to 200
thousand small objects in a second of its time (10 fields, or an image of 784 bytes and a label), and some 600 thousand
values that are no objects, while the node needs the other. Where the service runs, Flight and shared memory are faster
by far.
"""

from tensorflow_ignite.data.transport.thin.reading import BatchStream, describe

__all__ = ["BatchStream", "describe"]
