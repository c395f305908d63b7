"""Reads caches of a cluster that does not run our service, any Ignite 2.x, by its thin client port.

Each row is decoded in Python, one by one: some hundred thousand small rows a second at most, whatever the number of
nodes. Where the service runs, Flight and shared memory are faster by far.
"""

from tensorflow_ignite.data.thin.reading import BatchStream, describe

__all__ = ["BatchStream", "describe"]
