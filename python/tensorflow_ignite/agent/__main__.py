"""The agent's main program: it runs tasks for its service until the service ends, and leaves no process or file.

`python -m tensorflow_ignite.agent` reads one AgentStart as a line of JSON from its standard input, and writes one
AgentReady as a line of JSON to its standard output. It ends at the end of its input, on SIGTERM and on SIGHUP.
Exit codes: 0 after one of these ends, 1 if a process of a task could not be ended, 2 if the agent could not start.
"""

import os
import signal
import sys


def main() -> int:
    """Runs the agent; returns the exit code."""
    _detach_from_terminal()
    # Only this user may read code, output and tokens of tasks.
    os.umask(0o077)
    # Slow imports come last: until the process has left the terminal, a Ctrl-C for the service would end it.
    from tensorflow_ignite.agent import lifecycle

    return lifecycle.run()


def _detach_from_terminal() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.getpid() != os.getpgrp():
        os.setsid()


if __name__ == "__main__":
    sys.exit(main())
