"""The agent's life: told what to do by its service, it runs tasks until its service is gone, and leaves nothing.

`python -m tensorflow_ignite.agent` reads one AgentStart as a line of JSON from its standard input, and answers with one
AgentReady as a line of JSON on its standard output. It ends with the end of its input, on SIGTERM and on SIGHUP.
Exit codes: 0 after such an end, 1 when something of its tasks could not be ended, 2 when it could not begin.
"""

import os
import signal
import sys


def main() -> int:
    """Lives once."""
    _leave_the_terminal()
    # Code, output and tokens of tasks are its user's alone.
    os.umask(0o077)
    # What takes time comes after the first moment, in which a Ctrl-C meant for the service would end this process.
    from tensorflow_ignite.agent import life

    return life.run()


def _leave_the_terminal() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if os.getpid() != os.getpgrp():
        os.setsid()


if __name__ == "__main__":
    sys.exit(main())
