"""Nodes: which ones, who calls them, connections to them, and calls."""
