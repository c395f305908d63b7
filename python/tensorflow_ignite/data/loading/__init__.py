"""Rows into a cache: what can be loaded, as record batches of one schema, and on their way."""
