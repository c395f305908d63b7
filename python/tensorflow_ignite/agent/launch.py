"""First moments of a task: tie it to its agent, limit what it may use, then become its real command.

Run as a file by `python -IS launch.py AGENT_PID[,LIMIT=NUMBER...] COMMAND ARGUMENT...`, in a process that already leads
a session of its own; LIMIT is the end of a name of `resource`, such as NOFILE. The death signal has to be asked for by
the process that shall receive it, and before the agent could have died unnoticed; fork hooks in the agent would do that
between fork and exec, where gRPC's threads make Python unsafe. The exec leaves nothing of this file behind: `__main__`,
its traceback and its signals are the task's own.
"""

import ctypes
import os
import resource
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Becomes the command, or exits with 125 when the agent is gone and 127 when the command cannot be run."""
    agent, *limits = sys.argv[1].split(",")
    agent_pid, command = int(agent), sys.argv[2:]
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        print(f"cannot tie the task to its agent: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
        os._exit(125)
    if os.getppid() != agent_pid:
        # It died before the death signal was set: nobody would end this task.
        os._exit(125)
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        # What the agent ignores (SIGINT) would stay ignored in the task.
        if signal.getsignal(number) not in (signal.SIG_DFL, None):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # What a task makes is its user's alone, and its memory, which holds rows and its token, is left in no file.
    os.umask(0o077)
    # One byte: too little for a file, and the one number at which a program gets none that they are piped to.
    _limit(resource.RLIMIT_CORE, 1, hard=False)
    for limit in limits:
        name, _, amount = limit.partition("=")
        # What user code could raise again would be no limit.
        _limit(getattr(resource, f"RLIMIT_{name}"), int(amount), hard=True)
    try:
        os.execv(command[0], command)
    except OSError as error:
        print(f"cannot run {command[0]}: {error.strerror}", file=sys.stderr)
        os._exit(127)


def _limit(kind: int, wanted: int, hard: bool) -> None:
    highest = resource.getrlimit(kind)[1]
    number = wanted if highest == resource.RLIM_INFINITY else min(wanted, highest)
    # At the hard limit of its processor time a process gets SIGKILL; the signal that says why comes before.
    above = number + 1 if kind == resource.RLIMIT_CPU else number
    if highest != resource.RLIM_INFINITY:
        above = min(above, highest)
    resource.setrlimit(kind, (number, above if hard else highest))


main()
