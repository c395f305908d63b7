"""First moments of a task: tie it to its agent, then become its real command.

Run as a file by `python -IS launch.py AGENT_PID COMMAND ARGUMENT...`, in a process that already leads a session of its
own. The death signal has to be asked for by the process that shall receive it, and before the agent could have died
unnoticed; fork hooks in the agent would do that between fork and exec, where gRPC's threads make Python unsafe.
The exec leaves nothing of this file behind: `__main__`, its traceback and its signals are the task's own.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Becomes the command, or exits with 125 when the agent is gone and 127 when the command cannot be run."""
    agent_pid, command = int(sys.argv[1]), sys.argv[2:]
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
    try:
        os.execv(command[0], command)
    except OSError as error:
        print(f"cannot run {command[0]}: {error.strerror}", file=sys.stderr)
        os._exit(127)


main()
