"""Starts the tasks of a job by hand: real TensorFlow processes with the environment that a node would give them."""

from __future__ import annotations

import json
import os
import re
import threading
from pathlib import Path

from forks import TensorFlowForks
from google.protobuf import json_format

from tensorflow_ignite.agent.ports import ReservedPort
from tensorflow_ignite.base.messages import to_json
from tensorflow_ignite.testing.patience import patiently
from tensorflow_ignite.v1 import agent_pb2, job_pb2

SECONDS = patiently(300)
_reserved: list[ReservedPort] = []


class Task:
    """One process, ended at the latest after SECONDS."""

    def __init__(self, forks: TensorFlowForks, command: list[str], environment: dict[str, str], log: Path) -> None:
        self._log = log
        self.printed: list[str] = []
        self.process = forks.start(command, {**os.environ, "TF_GRPC_REUSE_PORT": "true", **environment}, log)
        self._watchdog = threading.Timer(SECONDS, self.process.kill)
        self._watchdog.daemon = True
        self._watchdog.start()

    def until(self, pattern: str) -> re.Match[str]:
        """The first line from now on that matches."""
        for line in self.process.stdout:
            self.printed.append(line.rstrip("\n"))
            match = re.search(pattern, line)
            if match:
                return match
        raise AssertionError(f"{pattern!r} was never printed:\n{self.output()}")

    def finish(self) -> str:
        """What it printed, once it has ended well."""
        self.printed += self.process.stdout.read().splitlines()
        assert self.process.wait() == 0, self.output()
        self.close()
        return "\n".join(self.printed)

    def kill(self) -> None:
        """As a machine that loses its power."""
        self.process.kill()
        self.close()

    def close(self) -> None:
        """Ends it, if it has not ended."""
        self._watchdog.cancel()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def output(self) -> str:
        return "\n".join([*self.printed, f"[{self.process.poll()}]", self._log.read_text()[-4000:]])


class Job:
    """A mirrored job whose attempts a test starts itself."""

    def __init__(self, forks: TensorFlowForks, folder: Path, checkpoints: Path | str) -> None:
        self._forks = forks
        self._folder = folder
        self._checkpoints = str(checkpoints)
        self.tasks: list[Task] = []

    def start_workers(self, command: list[str], count: int, attempt: int) -> list[Task]:
        """Starts the workers of one attempt."""
        addresses = {"worker": free_addresses(count)}
        return [self._start(command, addresses, index, attempt) for index in range(count)]

    def _start(self, command: list[str], addresses: dict[str, list[str]], index: int, attempt: int) -> Task:
        name = f"{attempt}-worker{index}"
        context = agent_pb2.TaskContext(
            job_id="7f3a",
            attempt=attempt,
            role="ROLE_WORKER",
            index=index,
            kind="JOB_KIND_MULTI_WORKER_MIRRORED",
            checkpoint_directory=self._checkpoints,
        )
        for worker in range(len(addresses["worker"])):
            context.workers.add(index=worker, node_id=f"node{worker}", rows=100)
        path = self._folder / f"{name}.json"
        path.write_text(to_json(context))
        environment = {
            "TENSORFLOW_IGNITE_CONTEXT": str(path),
            "TENSORFLOW_IGNITE_PROGRESS": str(self._folder / f"{name}.progress"),
            "TENSORFLOW_IGNITE_COMMAND": str(self._folder / f"{name}.command"),
            "TF_CONFIG": json.dumps({"cluster": addresses, "task": {"type": "worker", "index": index}}),
            "TMPDIR": str(self._folder),
        }
        self.tasks.append(Task(self._forks, command, environment, self._folder / f"{name}.log"))
        return self.tasks[-1]

    def progress(self, name: str) -> job_pb2.Progress:
        """The last progress that a task reported: ``<attempt>-worker<index>``."""
        return json_format.Parse((self._folder / f"{name}.progress").read_text(), job_pb2.Progress())

    def close(self) -> None:
        for task in self.tasks:
            task.close()


def free_addresses(count: int) -> list[str]:
    """Addresses whose ports belong to this process as long as it lives; servers of tasks share them, as in a job."""
    ports = [ReservedPort("127.0.0.1") for _ in range(count)]
    _reserved.extend(ports)
    return [f"127.0.0.1:{port.number}" for port in ports]
