"""Trained models inside the cluster: numbered versions that do not change, and their labels."""
