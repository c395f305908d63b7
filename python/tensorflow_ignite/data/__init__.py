"""Rows of Ignite caches as tensors, and tensors as rows of Ignite caches."""
