"""The first program of a task's process: it ties the process to its agent, sets limits, and executes the command.

Run as a file by `python -IS launch.py AGENT_PID[,LIMIT=NUMBER...] COMMAND ARGUMENT...`, in a process that leads its own
session; LIMIT is the end of a name of `resource`, such as NOFILE. Only the process that shall receive a death signal
can set it. A hook in the agent between fork and exec could do so too, but there gRPC's threads make Python unsafe.
After the exec nothing of this file is left: `__main__`, its traceback and its signals belong to the task.
"""

import ctypes
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Executes the command; exits with 125 if the agent has ended, and with 127 if the command cannot be executed."""
    agent, *limits = sys.argv[1].split(",")
    agent_pid, command = int(agent), sys.argv[2:]
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        print(f"cannot tie the task to its agent: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
        os._exit(125)
    if os.getppid() != agent_pid:
        # The agent died before the death signal was set, so no signal would end this task.
        os._exit(125)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        # Signals that the agent ignores (SIGINT) would stay ignored in the task.
        if signal.getsignal(number) not in (signal.SIG_DFL, None):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # Only this user may read a task's files, and its memory, with rows and its token, is written to no core file.
    os.umask(0o077)
    # 1 byte is too small for a core file, and is the only limit with which the kernel also pipes no core to a program.
    _limit(resource.RLIMIT_CORE, 1, hard=False)
    for limit in limits:
        name, _, amount = limit.partition("=")
        # Hard limits: the script cannot raise them.
        _limit(getattr(resource, f"RLIMIT_{name}"), int(amount), hard=True)
    try:
        os.execv(command[0], command)
    except OSError as error:
        print(f"cannot run {command[0]}: {error.strerror}", file=sys.stderr)
        os._exit(127)


def _limit(kind: int, requested: int, hard: bool) -> None:
    highest = resource.getrlimit(kind)[1]
    number = requested if highest == resource.RLIM_INFINITY else min(requested, highest)
    # At the soft limit of processor time a process gets SIGXCPU, which names the cause; at the hard limit SIGKILL.
    above = number + 1 if kind == resource.RLIMIT_CPU else number
    if highest != resource.RLIM_INFINITY:
        above = min(above, highest)
    resource.setrlimit(kind, (number, above if hard else highest))


main()
