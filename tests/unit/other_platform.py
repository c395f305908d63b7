"""Makes this process one of Windows as far as the package can notice, then runs a program: what the tests start.

    python other_platform.py CODE [ARGUMENT ...]

Other packages and Python's own modules are imported before: they are those of Linux.
"""

from __future__ import annotations

import ctypes
import importlib
import mmap
import ntpath
import os
import select
import shutil
import signal
import socket
import sys
import time
from typing import Any

#: Modules that distinguish platforms when they are imported.
FOREIGN = (
    *("asyncio.subprocess", "getpass", "multiprocessing.connection", "tempfile"),
    *("cloudpickle", "fsspec.implementations.local", "grpc", "numpy", "psutil", "pyarrow.dataset", "pyarrow.csv"),
    *("pyarrow.flight", "pyarrow.json", "pyarrow.parquet", "pyignite", "rich.console", "rich.progress", "typer.main"),
    *("typer.rich_utils", "yaml", "zoneinfo"),
)
#: Modules of Python that do not exist on Windows.
MODULES = (
    *("fcntl", "grp", "posix", "pty", "pwd", "readline", "resource", "syslog", "termios", "tty"),
    *("_posixshmem", "_posixsubprocess", "multiprocessing.shared_memory"),
)
#: Names of modules that do exist there, without these names.
NAMES: tuple[tuple[Any, str], ...] = (
    (
        os,
        "chown chroot eventfd fchmod fchown fdatasync fork forkpty fstatvfs getegid geteuid getgid getgroups getpgid "
        "getpgrp getpriority getresuid getsid getuid killpg lchown memfd_create mkfifo mknod nice openpty "
        "pidfd_open pipe2 posix_fadvise posix_fallocate posix_spawn pread preadv pwrite pwritev register_at_fork "
        "sched_getaffinity sched_setaffinity sched_yield sendfile set_blocking get_blocking setegid seteuid setgid "
        "setgroups setpgid setpriority setsid setuid splice statvfs sync tcgetpgrp ttyname uname wait wait3 wait4 "
        "waitid WNOHANG MFD_CLOEXEC O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_SYNC",
    ),
    (
        signal,
        "SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1 SIGUSR2 SIGWINCH alarm "
        "pthread_kill pthread_sigmask setitimer sigpending sigtimedwait sigwait sigwaitinfo",
    ),
    (socket, "AF_UNIX CMSG_LEN MSG_DONTWAIT MSG_NOSIGNAL SO_REUSEPORT TCP_USER_TIMEOUT recv_fds send_fds"),
    (select, "epoll poll"),
    (time, "clock_gettime tzset"),
    (
        mmap,
        "MADV_DONTNEED MADV_HUGEPAGE MAP_ANON MAP_ANONYMOUS MAP_POPULATE MAP_PRIVATE MAP_SHARED PROT_READ PROT_WRITE",
    ),
)


def become_windows() -> None:
    for name in FOREIGN:
        importlib.import_module(name)
    shutil._USE_CP_SENDFILE = False  # type: ignore[attr-defined]
    for module, names in NAMES:
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    library = ctypes.CDLL

    def load(name: str | None, *arguments: Any, **options: Any) -> ctypes.CDLL:
        if name is None:
            raise TypeError("bad argument type for built-in operation")
        return library(name, *arguments, **options)

    ctypes.CDLL = load  # type: ignore[assignment,misc]
    os.path.splitdrive = ntpath.splitdrive  # type: ignore[assignment]
    sys.platform = "win32"


if __name__ == "__main__":
    become_windows()
    program = sys.argv.pop(1)
    exec(compile(program, "<program>", "exec"), {"__name__": "__main__"})
