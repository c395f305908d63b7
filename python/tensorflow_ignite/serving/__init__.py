"""The model process: one version of a model in memory, which answers batches of its node on a Unix socket."""
