"""Prediction in bulk: the rows of a cache beside each node, into a co-located cache of results."""
