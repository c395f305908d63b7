"""The rounds of a continuous job as a file in the cluster, which its chief replaces and its other workers read."""

from __future__ import annotations

import gzip

from google.protobuf import json_format

from tensorflow_ignite.errors import StoredFileNotFoundError
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
        try:
            with self._files.open_reader(self._path) as reader:
                text = gzip.decompress(reader.read(0, reader.bytes))
        except StoredFileNotFoundError:
            return job_pb2.RoundState()
        return json_format.Parse(text, job_pb2.RoundState(), ignore_unknown_fields=True)

    def write(self, state: job_pb2.RoundState) -> None:
        """Replaces the rounds, in one step.

        Raises:
            AttemptSupersededError: A later attempt of the job runs.
        """
        del state.rounds[:-MOST_ROUNDS]
        # Positions compress well: so the file is small, and on every node.
        text = gzip.compress(json_format.MessageToJson(state, indent=None).encode())
        with self._files.open_writer(self._path, parents=True) as writer:
            writer.write(text)
