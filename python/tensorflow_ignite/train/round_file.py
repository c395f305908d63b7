"""The rounds of a continuous job as a file in the cluster, which its chief replaces and its other workers read."""

from __future__ import annotations

import gzip

from google.protobuf import json_format

from tensorflow_ignite.storage.files import Files
from tensorflow_ignite.v1 import job_pb2

# Of the rounds that the file has, and that the job shows.
MOST_ROUNDS = 20


class RoundFile:
    """The file of one job."""

    def __init__(self, job_id: str) -> None:
        """Makes no call yet."""
        self._files = Files.at(None)
        self._path = f"/jobs/{job_id}/rounds.json.gz"

    def read(self) -> job_pb2.RoundState:
        """The rounds; none before the first one.

        Raises:
            FileLostError: The file is lost with the nodes that had it.
        """
        content = self._files.read_if_there(self._path)
        if content is None:
            return job_pb2.RoundState()
        return json_format.Parse(gzip.decompress(content), job_pb2.RoundState(), ignore_unknown_fields=True)

    def write(self, state: job_pb2.RoundState) -> None:
        """Replaces the rounds, in one step.

        Raises:
            AttemptSupersededError: A later attempt of the job runs.
        """
        del state.rounds[:-MOST_ROUNDS]
        # Positions compress well: so the file is small, and on every node.
        self._files.write_file(self._path, gzip.compress(json_format.MessageToJson(state, indent=None).encode()))
