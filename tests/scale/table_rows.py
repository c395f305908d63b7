"""The sizes of rows in the service's tables, read by Ignite's own client."""

from __future__ import annotations

from usage import thin

from tensorflow_ignite.testing import LocalCluster

_PREFIX = "tensorflow-ignite-"
JOBS, FINISHED, HISTORY = (f"{_PREFIX}{name}" for name in ("jobs", "finished", "history"))


def row_bytes(cluster: LocalCluster, table: str) -> dict[str, int]:
    """The size of each row of a table, by its key."""
    with thin(cluster.nodes[0]) as client, client.get_cache(table).scan() as rows:
        return {key: len(value) for key, value in rows}
