"""Rows of a cache as they are put: read from the owners of its partitions, without an end."""
