"""One job of a cluster: its state, output, history and profile; its end and removal."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from tensorflow_ignite import errors
from tensorflow_ignite.base.messages import enum_text
from tensorflow_ignite.jobs import checks
from tensorflow_ignite.jobs.display import html
from tensorflow_ignite.jobs.logs import LineAssembler, LogLine
from tensorflow_ignite.kinds import runs_script
from tensorflow_ignite.net.rpc import NodeConnection
from tensorflow_ignite.spec import ROLES, Event, Job, Node, Role, TaskProfile
from tensorflow_ignite.v1 import job_pb2

if TYPE_CHECKING:
    from tensorflow_ignite.jobs.profiles import Profile
    from tensorflow_ignite.storage.files import Files


class JobHandle:
    """One job of a cluster; returned by `Client.submit` and `Client.job`.

    Attributes:
        id: The job's full id.
    """

    def __init__(self, connection: NodeConnection, job: Job) -> None:
        """Sets the connection and the present state of the job."""
        self._connection = connection
        self._status = job
        self.id = job.id

    def __repr__(self) -> str:
        """Returns id and state."""
        return f"JobHandle(id={self.id!r}, state={self._status.state!r})"

    def _repr_html_(self) -> str:
        """Shows the job's present state in a notebook; its newest known one if no node answers."""
        with contextlib.suppress(errors.TensorFlowIgniteError):
            self.refresh()
        return html(self._status)

    @property
    def status(self) -> Job:
        """The newest state that a method of this handle has received; `refresh` gets the present one."""
        return self._status

    def files(self) -> Files:
        """The files of the job's cluster, with the addresses and the credentials of this client."""
        from tensorflow_ignite.storage.files import Files

        return Files.at(self._connection.addresses, credentials=self._connection.credentials)

    def refresh(self) -> Job:
        """Gets the present state of the job from the cluster."""
        request = job_pb2.GetJobRequest(job_id=self.id)
        self._status = Job.from_proto(self._connection.call("GetJob", lambda: request).job)
        return self._status

    def watch(self, timeout: float | None = None) -> Iterator[Job]:
        """Yields the job now, and again after each change, until its state is final.

        Args:
            timeout: Seconds until the state is final; None: no limit.

        Yields:
            The job; the last one is in a final state.

        Raises:
            RequestTimeoutError: The state was not final in time.
        """
        last: Job | None = None
        request = job_pb2.WatchJobRequest(job_id=self.id)
        messages = self._connection.follow(
            "WatchJob", request, timeout=timeout, is_complete=lambda: last is not None and last.is_over
        )
        try:
            for message in messages:
                job = Job.from_proto(message.job)
                if job != last:  # a stream that was opened again begins with the present state
                    self._status = last = job
                    yield job
                if job.is_over:
                    return
        except errors.RequestTimeoutError:
            raise self._not_over(timeout) from None

    def wait(self, timeout: float | None = None, *, raise_on_failure: bool = True) -> Job:
        """Waits until the job is in a final state, and its processes are proven gone.

        Args:
            timeout: Seconds; None: no limit.
            raise_on_failure: Raise an error if the job did not succeed.

        Returns:
            The job in its final state.

        Raises:
            JobFailedError: The job failed; the error carries the job, and its text the first traceback.
            JobStoppedError: The job was stopped.
            RequestTimeoutError: The state was not final in time; the job continues.
        """
        for _ in self.watch(timeout):
            pass
        if raise_on_failure and self._status.state != "succeeded":
            raise _failure(self._status)
        return self._status

    def logs(
        self,
        *,
        follow: bool = False,
        role: str | None = None,
        index: int | None = None,
        attempt: int | None = None,
    ) -> Iterator[LogLine]:
        """Yields the output of the job's tasks, line by line, from the first line on, also after the job's end.

        Args:
            follow: Continue until the job is in a final state and its output is complete; otherwise end with the output
                so far.
            role: Only tasks of this role, which may be a role that a custom job has named.
            index: Only tasks of this index.
            attempt: Only this attempt, counted from 1.

        Yields:
            The lines: of one task in order, of different tasks in the order of their arrival.

        Raises:
            InvalidRequestError: There is no such role or index.
        """
        # The cluster counts the tasks of all named roles together.
        named = [
            (name, number)
            for name, count in sorted(self._status.spec.strategy.roles.items())
            for number in range(count)
        ]
        if role is not None:
            checks.choice("role", role, (*ROLES, *self._status.spec.strategy.roles))
        if index is not None:
            checks.count("index", index, 0)
        name = role if role not in ROLES else None
        if name is not None:
            role = "named"
            if index is not None:
                # A task that does not exist has no output, like the tasks of other roles.
                index = named.index((name, index)) if (name, index) in named else len(named)
        if attempt is not None:
            checks.count("attempt", attempt, 1)
        request = job_pb2.StreamLogsRequest(
            job_id=self.id,
            follow=follow,
            role=f"ROLE_{role.upper()}" if role else None,
            index=index,
            attempt=attempt or 0,
        )
        lines = (_with_name(line, named) for line in self._lines(request))
        return (line for line in lines if name in (None, line.role_name))

    def events(self, *, follow: bool = False) -> Iterator[Event]:
        """Yields the job's history, oldest first; the cluster keeps the newest 500 events of a job.

        Args:
            follow: Continue until the job is in a final state; otherwise end with the events so far.

        Yields:
            Each event once.
        """
        newest = 0
        for job in self.watch() if follow else (self.refresh(),):
            for event in job.events:
                if event.number > newest:
                    newest = event.number
                    yield event

    def profile(self, task: str | None = None, *, seconds: float = 5.0) -> Profile:
        """Records a running task with the profiler of TensorFlow or of JAX, and waits for the result.

        Args:
            task: ``"ROLE:INDEX"``, such as ``"worker:0"``; None: the first task that runs the script.
            seconds: Length of the profile, from 0.1 to 60.

        Returns:
            The share of waiting for input, the operations that take the most time, and where the trace is.

        Raises:
            InvalidRequestError: The job has no such task that runs, or the seconds are out of range.
            JobFinishedError: The job is over.
            PermissionDeniedError: The caller may not stop the job, or may not read its files.
            RequestTimeoutError: The task stored no profile within this time and 60 s.
            TensorFlowIgniteError: The task could not record: for example, its script uses the profiler itself.
        """
        from tensorflow_ignite.jobs.profiles import await_profile

        length = checks.profile_seconds(seconds)
        # A caller without permission for the files of the job is refused before anything is recorded.
        self.files().exists(f"/jobs/{self.id}")
        requested = self._request_profile(task, length)
        before = self._status.attempt
        profiled = [each for each in before.tasks if each.name.replace(" ", "-") == requested.name] if before else []

        def goes_on() -> bool:
            status = self.refresh()
            now = status.attempt
            if status.is_over or now is None or before is None or now.number != before.number:
                return False
            # A job goes on without one of its tasks, or starts it again.
            return any(
                each.name == task.name and each.incarnation == task.incarnation and each.status.state == "running"
                for each in now.tasks
                for task in profiled
            )

        return await_profile(self.files(), requested, self.id, length, goes_on)

    def _request_profile(self, task: str | None, seconds: float) -> TaskProfile:
        status = self.refresh()
        running = [each for each in status.attempt.tasks if each.status.state == "running"] if status.attempt else []
        name = checks.text("task", task).replace(":", " ") if task is not None else ""
        found = next(
            (
                each
                for each in running
                if (each.name in (name, f"{name} 0") if name else runs_script(status.spec.strategy.kind, each.role))
            ),
            None,
        )
        if found is None and not status.is_over:
            names = ", ".join(each.name.replace(" ", ":") for each in running)
            raise errors.InvalidRequestError(
                f"job {self.id} is {status.state}, and {task or 'no task with its script'} does not run. Only a task "
                f"that runs has a profile. {f'Name one of these: {names}' if names else 'Wait until its tasks run'}"
            )
        request = job_pb2.ProfileTaskRequest(
            job_id=self.id,
            role=f"ROLE_{found.role.upper()}" if found else None,
            index=found.index if found else 0,
            seconds=seconds,
        )
        return TaskProfile.from_proto(self._connection.call("ProfileTask", lambda: request))

    def stop(self, *, force: bool = False, save: bool = False, wait: bool = True, timeout: float | None = None) -> Job:
        """Stops the job.

        Args:
            force: End it although processes of it may still run, if their end is not proven within the stop grace, two
                leases and 10 s. The nodes without a proof get no task of any job until they have proven it.
            save: The tasks save a checkpoint after a common step before they end. They have the stop grace for it; then
                they end without, and the job's history says so. Only a script with `tensorflow_ignite.train.checkpoint`
                or `tensorflow_ignite.train.CheckpointCallback` can save.
            wait: Wait until its processes are proven gone.
            timeout: Seconds to wait; None: no limit.

        Returns:
            The job: in its final state, or without ``wait`` in its present one.

        Raises:
            JobFinishedError: The job is already in a final state.
            RequestTimeoutError: Its processes were not proven gone in time.
        """
        request = job_pb2.StopJobRequest(job_id=self.id, force=force, save=save)
        self._status = Job.from_proto(self._connection.call("StopJob", lambda: request).job)
        return self.wait(timeout, raise_on_failure=False) if wait else self._status

    def accept_quorum(self) -> tuple[Node, ...]:
        """Lets the job continue without the nodes that are missing now, although the remaining nodes are no majority.

        Call this only if no task of the job runs on the missing nodes: they are permanently off. From now on, the job's
        nodes are the nodes of the cluster that answers. After a cut of the network, the other side may still train.

        Returns:
            The missing nodes, in the order in which they joined; none if all nodes of the job are here.

        Raises:
            JobFinishedError: The job is already in a final state.
            PermissionDeniedError: The caller may not stop the job.
        """
        request = job_pb2.AcceptQuorumRequest(job_id=self.id)
        response = self._connection.call("AcceptQuorum", lambda: request)
        self._status = Job.from_proto(response.job)
        return tuple(sorted((Node.from_proto(node) for node in response.missing), key=lambda node: node.order))

    def remove(self, *, force: bool = False) -> None:
        """Removes a job in a final state with its files: its checkpoints in the cluster, output and code.

        The cluster removes each job itself after the retention time. Checkpoints outside the cluster stay. May be
        repeated.

        Args:
            force: Also remove a job whose row the node cannot read, or a later version has written; its tasks end.

        Raises:
            JobUnreadableError: The node cannot read the job's row, or a later version has written it, and ``force`` is
                not set.
            JobNotFinishedError: The job is not in a final state, or another job that is not in a final state keeps its
                checkpoints among the job's files.
        """
        request = job_pb2.RemoveJobRequest(job_id=self.id, force=force)
        # The job existed when this handle was made: another caller, or an earlier attempt of this call, removed it.
        with contextlib.suppress(errors.JobNotFoundError):
            self._connection.call("RemoveJob", lambda: request)

    def _lines(self, request: job_pb2.StreamLogsRequest) -> Iterator[LogLine]:
        assembler = LineAssembler()
        pieces = self._connection.follow(
            "StreamLogs",
            request,
            # A node that shuts down may end its streams regularly; the output is complete only after the job.
            is_complete=lambda: not request.follow or self.refresh().is_over,
            on_restart=assembler.restart,
        )
        for piece in pieces:
            task_role = cast("Role", enum_text(piece, "role"))
            yield from assembler.add(
                piece.attempt, task_role, piece.index, piece.data, piece.dropped_bytes, piece.incarnation
            )
        yield from assembler.finish()

    def _not_over(self, timeout: float | None) -> errors.RequestTimeoutError:
        job = self._status
        waiting = f", waiting for {job.waiting_for}" if job.waiting_for else ""
        return errors.RequestTimeoutError(
            f"job {job.id} is not over after {timeout:g} s: it is {job.state}{waiting}. The wait has ended at its "
            f"timeout, and the job continues. See its state: tensorflow-ignite describe {job.id}"
        )


def _failure(job: Job) -> errors.JobFailedError:
    how, kind = ("was stopped", errors.JobStoppedError) if job.state == "stopped" else ("failed", errors.JobFailedError)
    text = f"job {job.id} {how} (exit code {job.exit_code}): {job.cause or 'no cause was reported'}"
    text += f"\nSee: tensorflow-ignite describe {job.id}"
    return kind(f"{text}\n\n{job.traceback.rstrip()}" if job.traceback else text, job=job)


def _with_name(line: LogLine, named: Sequence[tuple[str, int]]) -> LogLine:
    if line.role != "named" or line.index >= len(named):
        return line
    name, index = named[line.index]
    return replace(line, role_name=name, role_index=index)
