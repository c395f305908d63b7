"""What this operating system has, and how it writes paths; the only module that distinguishes Linux, macOS and Windows.

Nodes and tasks run on Linux only; their modules use Linux directly. The modules of a client ask here.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from pathlib import Path
from typing import Any

#: ``linux``, ``darwin``, ``win32`` and others.
NAME = sys.platform
#: Nodes and tasks run here.
IS_LINUX = NAME == "linux"
#: Processes fork, and `os.register_at_fork` exists.
HAS_FORK = hasattr(os, "register_at_fork")
#: Files have an owner and a mode; Windows has lists of access in their place.
HAS_OWNERS = hasattr(os, "geteuid")
#: A file may exist in memory only, and /proc has its path.
HAS_MEMORY_FILES = hasattr(os, "memfd_create")
#: A flag of `os.open`: a pipe is opened without a wait for its writer.
NONBLOCK = getattr(os, "O_NONBLOCK", 0)

_IS_WINDOWS = NAME == "win32"
# Windows writes a:b into a hidden stream of the file a, and what is written to NUL is lost.
_NO_NAME_ON_WINDOWS = re.compile(
    r'[<>:"/\\|?*\x00-\x1f]|[ .]\Z|\A(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\.|\Z)', re.IGNORECASE
)
_STANDARD_OUTPUT, _STANDARD_ERROR = -11, -12
_ENABLE_VIRTUAL_TERMINAL_PROCESSING = 4


def settings_folder() -> Path:
    """The folder of the settings of programs, which may begin with ``~``."""
    roaming = os.environ.get("APPDATA") if _IS_WINDOWS else None
    return Path(roaming or "~/.config")


def slashed(path: str) -> str:
    """A path of this machine with ``/`` between its parts, which Windows also reads."""
    return path.replace("\\", "/") if _IS_WINDOWS else path


def can_name_file(name: str) -> bool:
    """Whether a file here can have this name, which is a name on Linux."""
    return not (_IS_WINDOWS and _NO_NAME_ON_WINDOWS.search(name))


def enable_colours() -> None:
    """Has the console of Windows show colours, and not their control sequences."""
    windll: Any = getattr(ctypes, "windll", None)
    for number in (_STANDARD_OUTPUT, _STANDARD_ERROR) if windll else ():
        handle, mode = windll.kernel32.GetStdHandle(number), ctypes.c_ulong()
        if windll.kernel32.GetConsoleMode(handle, ctypes.byref(mode)):
            windll.kernel32.SetConsoleMode(handle, mode.value | _ENABLE_VIRTUAL_TERMINAL_PROCESSING)
