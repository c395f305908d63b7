"""Starts the tasks of a job by hand: real TensorFlow processes with the environment that a node would give them."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from pathlib import Path

from forks import TensorFlowForks
from google.protobuf import json_format

from tensorflow_ignite.agent.command import CommandFile
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
        """For messages."""
        return "\n".join([*self.printed, f"[{self.process.poll()}]", self._log.read_text()[-4000:]])


class Job:
    """A job whose attempts a test starts itself."""

    def __init__(self, forks: TensorFlowForks, folder: Path, kind: str, checkpoints: Path | str) -> None:
        self._forks = forks
        self._folder = folder
        self._kind = kind
        self._checkpoints = str(checkpoints)
        self.tasks: list[Task] = []

    def start(
        self,
        command: list[str],
        addresses: dict[str, list[str]],
        role: str,
        index: int = 0,
        *,
        attempt: int = 1,
        incarnation: int = 0,
    ) -> Task:
        """Starts one task; ``role`` is its role in TensorFlow's cluster."""
        name = f"{attempt}-{role}{index}-{incarnation}"
        context = agent_pb2.TaskContext(
            job_id="7f3a",
            attempt=attempt,
            role="ROLE_CLIENT" if role == "chief" else f"ROLE_{role.upper()}",
            index=index,
            incarnation=incarnation,
            kind=f"JOB_KIND_{self._kind}",
            checkpoint_directory=self._checkpoints,
        )
        for worker in range(len(addresses.get("worker", ()))):
            context.workers.add(index=worker, node_id=f"node{worker}", rows=100)
        path = self._folder / f"{name}.json"
        path.write_text(to_json(context))
        environment = {
            "TENSORFLOW_IGNITE_CONTEXT": str(path),
            "TENSORFLOW_IGNITE_PROGRESS": str(self._folder / f"{name}.progress"),
            "TENSORFLOW_IGNITE_COMMAND": str(self._folder / f"{name}.command"),
            "TF_CONFIG": json.dumps({"cluster": addresses, "task": {"type": role, "index": index}}),
            "TMPDIR": str(self._folder),
        }
        self.tasks.append(Task(self._forks, command, environment, self._folder / f"{name}.log"))
        return self.tasks[-1]

    def start_workers(self, command: list[str], count: int, attempt: int) -> list[Task]:
        """Starts the workers of one attempt."""
        addresses = {"worker": free_addresses(count)}
        return [self.start(command, addresses, "worker", index, attempt=attempt) for index in range(count)]

    def progress(self, name: str) -> job_pb2.Progress:
        """The last progress that a task reported: ``<attempt>-<role><index>-<incarnation>``."""
        return json_format.Parse((self._folder / f"{name}.progress").read_text(), job_pb2.Progress())

    def plan_end(self, *names: str) -> int:
        """Does what the job's service does until these tasks have saved together; returns the step of the agreement."""
        commands = [CommandFile(self._folder / f"{name}.command") for name in names]
        step, agreed = 0, False
        for command in commands:
            command.plan(step, agreed)
        deadline = time.monotonic() + SECONDS
        while True:
            ends = [self.progress(name).end for name in names]
            if all(end.saved for end in ends):
                return step
            assert time.monotonic() < deadline, ends
            proposals = [end.step for end in ends]
            if not agreed and (max(proposals) > step or set(proposals) == {step} != {0}):
                step, agreed = max(proposals), set(proposals) == {max(proposals)}
                for command in commands:
                    command.plan(step, agreed)
            time.sleep(0.01)

    def close(self) -> None:
        """Ends what still runs."""
        for task in self.tasks:
            task.close()


def free_addresses(count: int) -> list[str]:
    """Addresses whose ports belong to this process as long as it lives; servers of tasks share them, as in a job."""
    ports = [ReservedPort("127.0.0.1") for _ in range(count)]
    _reserved.extend(ports)
    return [f"127.0.0.1:{port.number}" for port in ports]
