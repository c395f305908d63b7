"""The keeper of a task, the first program of its process: it starts the script, and ends everything that comes from it.

Run as a file by `python -IS launch.py AGENT_PID[,LIMIT=SOFT:HARD...][,NICE=NUMBER][,FD=NUMBER] COMMAND ARGUMENT...`,
in a process that leads its own session; LIMIT is the end of a name of `resource`, such as NOFILE. NICE is added to the
nice value of the script, but not of the keeper, which must be able to kill in time. FD is a descriptor that the script
inherits, and the keeper closes. Its standard input is a socket to the agent (SOCK_SEQPACKET). The agent sends the ends
of the attempt's lease, in nanoseconds of CLOCK_MONOTONIC; the keeper sends `pid PID`, `exit CODE` (negative: a signal),
and `lease` before it kills at the end of the lease.

The keeper forks, and the child becomes the script. A process of the task that loses its parent becomes a child of the
keeper (PR_SET_CHILD_SUBREAPER), whatever its session and its environment. So nothing of the task is left when the
keeper has no child. It kills all of them when the agent has ended or closes the socket, and at the end of the lease.
If the keeper is killed, the script is killed too (PR_SET_PDEATHSIG), and orphans become children of the agent.

After the exec nothing of this file is left in the script: `__main__`, its traceback and its signals belong to the task.
A hook in the agent between fork and exec could do all this too, but there gRPC's threads make Python unsafe.
"""

import ctypes
import os
import resource
import select
import signal
import sys
import time
import traceback

# The agent kills at the end of a lease itself. The keeper does so this time later, if the agent has not.
LEASE_DELAY_NANOS = 300_000_000
_CONTROL = 0
_FIRST_PAUSE_MS, _LONGEST_PAUSE_MS = 10, 1000
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_UNCATCHABLE = {signal.SIGKILL, signal.SIGSTOP}

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Exits with 0 when nothing of the task is left; with 125 before its start if the agent has ended."""
    agent_argument, *arguments = sys.argv[1].split(",")
    agent, values = int(agent_argument), [argument.partition("=")[::2] for argument in arguments]
    limits = [_parse_limit(name, value) for name, value in values if name not in ("FD", "NICE")]
    nice = sum(int(value) for name, value in values if name == "NICE")
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    # The end of the socket says the same; SIGTERM is for a socket that another process still has open.
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != agent:
        # The agent died before the death signal was set, so no signal would end this task.
        os._exit(125)
    wakeup = _catch_signals()
    keeper = os.getpid()
    script = os.fork()
    if script == 0:
        _become_script(keeper, limits, nice, sys.argv[2:])
    try:
        # The output and the socket belong to the script and to the agent.
        null = os.open("/dev/null", os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
        for name, value in values:
            if name == "FD":
                os.close(int(value))
        _send(f"pid {script}")
        _keep(agent, script, wakeup)
    finally:
        _end_all(script, wakeup)
        os._exit(0)


def _keep(agent: int, script: int, wakeup: int) -> None:
    """Returns when everything of the task must end."""
    poller = select.poll()
    poller.register(_CONTROL, select.POLLIN)
    poller.register(wakeup, select.POLLIN)
    lease_end = 0
    while os.getppid() == agent:
        left = lease_end + LEASE_DELAY_NANOS - time.monotonic_ns() if lease_end else None
        if left is not None and left <= 0:
            _send("lease")
            _kill_stopped(agent)
            return
        ready = {fd for fd, _ in poller.poll(None if left is None else left // 1_000_000 + 1)}
        if wakeup in ready:
            os.read(wakeup, 512)
            _reap(script)
        if _CONTROL in ready:
            message = _receive()
            if not message:
                return
            lease_end = max(lease_end, int(message))


def _end_all(script: int, wakeup: int) -> None:
    """Kills all descendants; returns when none is left."""
    pause = _FIRST_PAUSE_MS
    poller = select.poll()
    poller.register(wakeup, select.POLLIN)
    while True:
        for pid in _descendants():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                # It has ended, or it has become another user's, and will be waited for.
                continue
        if not _reap(script):
            return
        if poller.poll(pause):
            os.read(wakeup, 512)
        pause = min(2 * pause, _LONGEST_PAUSE_MS)


def _reap(script: int) -> bool:
    """Takes the exit codes of children that have ended; returns whether a child is left."""
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == script:
                _send(f"exit {os.waitstatus_to_exitcode(status)}")
            if pid == 0:
                return True
    except ChildProcessError:
        return False


def _descendants() -> set[int]:
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        fields = _stat(name) if name.isdigit() else None
        if fields is not None:
            parents[int(name)] = int(fields[1])
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {os.getpid()}


def _kill_stopped(agent: int) -> None:
    """An agent that is stopped (SIGSTOP) cannot end, not even when its node has ended."""
    fields = _stat(str(agent))
    if fields is not None and fields[0] == b"T":
        os.kill(agent, signal.SIGKILL)


def _stat(pid: str) -> "list[bytes] | None":
    """State, parent and so on of a process; None: it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as opened:
            return opened.read().rpartition(b")")[2].split()
    except OSError:
        return None


def _receive() -> bytes:
    try:
        return os.read(_CONTROL, 64)
    except OSError:
        return b""


def _send(message: str) -> None:
    try:
        os.write(_CONTROL, message.encode())
    except OSError:
        # The agent has ended.
        return


def _catch_signals() -> int:
    """Makes SIGCHLD and SIGTERM readable in a pipe, whose end is returned; other signals are ignored."""
    wakeup, written = os.pipe()
    os.set_blocking(wakeup, False)
    os.set_blocking(written, False)
    signal.set_wakeup_fd(written, warn_on_full_buffer=False)
    for number in signal.valid_signals() - _UNCATCHABLE:
        signal.signal(number, signal.SIG_IGN)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    return wakeup


def _become_script(keeper: int, limits: "list[tuple[int, int, int]]", nice: int, command: "list[str]") -> None:
    """Executes the command; exits with 127 if it cannot be executed."""
    try:
        # A signal to the groups of the script does not reach its keeper.
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != keeper:
            os._exit(125)
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals() - _UNCATCHABLE:
            # Signals that the keeper ignores would stay ignored in the script.
            signal.signal(number, signal.SIG_DFL)
        # Only this user may read a task's files, and its memory, with rows and its token, is written to no core file.
        os.umask(0o077)
        # With a limit of 1 byte the kernel neither writes a core file nor pipes a core to a program. With any other
        # limit, also 0, it may pipe a core.
        highest = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (1 if highest == resource.RLIM_INFINITY else min(1, highest), highest))
        for kind, soft, hard in limits:
            resource.setrlimit(kind, (soft, hard))
        if nice:
            _lower_priority(nice)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        os.execv(command[0], command)
    except OSError as error:
        print(f"cannot run {command[0]}: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(127)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(125)


def _lower_priority(nice: int) -> None:
    os.nice(nice)
    try:
        with open("/proc/sys/kernel/sched_autogroup_enabled") as setting:
            is_grouped = setting.read(1) == "1"
        if is_grouped:
            # The kernel then compares nice values only within a session; this is the one that it compares of sessions.
            with open("/proc/self/autogroup", "w") as group:
                group.write(str(nice))
    except OSError:
        return


def _parse_limit(name: str, value: str) -> "tuple[int, int, int]":
    soft, _, hard = value.partition(":")
    return getattr(resource, f"RLIMIT_{name}"), int(soft), int(hard)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        print(f"cannot keep the task: {os.strerror(ctypes.get_errno())}", file=sys.stderr, flush=True)
        os._exit(125)


main()
