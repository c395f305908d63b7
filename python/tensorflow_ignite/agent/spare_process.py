"""The program of a spare: it imports TensorFlow, waits for a task, and becomes the task's script.

Run as a file by `python -u spare_process.py DESCRIPTOR [''...]`, below a keeper (launch.py), by the interpreter of the
task. The descriptor is a socket to the agent (SOCK_SEQPACKET). The spare sends `ready` after its imports, and waits
without work. The agent sends one message with two descriptors: the task's output, and a file of memory with the task as
JSON. The answer is `taken`, after which the script runs, or `unfit REASON`, after which the agent ends the spare.

The script finds what it finds after a start by `python -u SCRIPT`: the same arguments, `sys.path`, variables, working
directory, limits and output, and a new `__main__`, which Python's own function for main programs runs. So exit codes,
tracebacks, signals and the end of the process are Python's too. No process is forked after the imports: their threads,
locks and random numbers belong to one process. The empty arguments keep space for its command line.
"""

import builtins
import contextlib
import ctypes
import importlib
import json
import os
import resource
import runpy
import signal
import socket
import sys
import types
from typing import Any

_SITE_FOLDERS = ("site-packages", "dist-packages")
_SOURCES = (".py", ".pyc", ".so")
# Modules that Python imports at its start, before any other module.
_STARTUP_MODULES = {"sitecustomize", "usercustomize"}
# A spare must import TensorFlow. The other modules, which tensorflow_ignite imports, save time if they are installed.
# tensorflow_ignite itself is not imported: it changes TensorFlow, also for a script that does not import it.
_NEEDED = ("numpy", "tensorflow")
_USEFUL = ("google.protobuf.json_format", "grpc", "pyarrow.flight", "psutil", "cryptography.x509")
_OUTPUT_BYTES = 1 << 20
_ARG_START_FIELD = 45
_MAX_MESSAGE = 64


def await_task() -> "dict[str, Any]":
    """Imports TensorFlow, and waits for a task; returns it when this process is ready for its script."""
    # Python has put the folder of this file there, unless PYTHONSAFEPATH is set.
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]
    control = socket.fromfd(int(sys.argv[1]), socket.AF_UNIX, socket.SOCK_SEQPACKET)
    os.close(int(sys.argv[1]))
    # SIGTERM is for the script. Threads that the imports start inherit the mask, so that the main thread gets it.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    _import_modules()
    imported = _signatures()
    control.send(b"ready")
    message, descriptors, _, _ = socket.recv_fds(control, _MAX_MESSAGE, 2)
    if not message:
        # The agent has ended, and the keeper ends this process.
        os._exit(0)
    output, description = descriptors
    with open(description, "rb") as opened:
        task: dict[str, Any] = json.load(opened)
    reason = _mismatch(imported, task)
    if reason:
        control.send(f"unfit {reason}".encode()[:_OUTPUT_BYTES])
        os._exit(0)
    _take(task, output)
    control.send(b"taken")
    control.close()
    return task


def _import_modules() -> None:
    for name in _NEEDED:
        importlib.import_module(name)
    for name in _USEFUL:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    with contextlib.suppress(Exception):
        # TensorFlow imports Keras when it is first used.
        sys.modules["tensorflow"].keras.Model  # noqa: B018


def _signatures() -> "dict[str, tuple[int, int] | None]":
    """What the imports have read: files of modules, folders of packages, and the configuration of Keras."""
    # Not by getattr, which makes some modules import what they stand for.
    dictionaries = [getattr(module, "__dict__", {}) for module in list(sys.modules.values())]
    paths = {str(path) for dictionary in dictionaries if (path := dictionary.get("__file__"))}
    paths |= {entry for entry in sys.path if os.path.basename(entry) in _SITE_FOLDERS}
    keras = os.environ.get("KERAS_HOME") or os.path.join(os.path.expanduser("~"), ".keras")
    paths.add(os.path.join(keras, "keras.json"))
    return {path: _signature(path) for path in paths}


def _signature(path: str) -> "tuple[int, int] | None":
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _mismatch(imported: "dict[str, tuple[int, int] | None]", task: "dict[str, Any]") -> str:
    """Why a script would find other modules after a start by Python; empty: it would not."""
    for path, signature in imported.items():
        if _signature(path) != signature:
            return f"{path} has changed since it was imported"
    known = {name.partition(".")[0] for name in sys.modules} - {"__main__"} | _STARTUP_MODULES
    for folder in {str(task["code"]), _script_folder(task)}:
        for entry in os.scandir(folder):
            if entry.name.partition(".")[0] in known and (entry.name.endswith(_SOURCES) or entry.is_dir()):
                return f"{entry.name} of the job's code has the name of a module that was imported"
    return ""


def _take(task: "dict[str, Any]", output: int) -> None:
    """Makes this process the task's, up to its script."""
    code, environment, limits, arguments = (task[name] for name in ("code", "environment", "limits", "arguments"))
    os.chdir(str(code))
    os.environ.update(environment)
    for kind, soft, hard in limits:
        resource.setrlimit(kind, (soft, hard))
    if task["nice"]:
        _lower_priority(task["priority"], task["nice"])
    # What the imports have printed belongs to the task, as after any other start.
    written = os.pread(1, _OUTPUT_BYTES, 0)
    while written:
        written = written[os.write(output, written) :]
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    entries = [str(code)] + ([] if getattr(sys.flags, "safe_path", False) else [_script_folder(task)])
    for entry in entries:
        sys.path.insert(0, entry)
    sys.argv = list(arguments)
    command = [*sys.orig_argv[:2], *(["-m", str(task["module"]), *sys.argv[1:]] if task["module"] else sys.argv)]
    sys.orig_argv = command
    _show_command(command)
    if "tempfile" in sys.modules:
        vars(sys.modules["tempfile"])["tempdir"] = None
    if "multiprocessing.process" in sys.modules:
        vars(sys.modules["multiprocessing.process"])["ORIGINAL_DIR"] = str(code)
    # A SIGTERM that came meanwhile was sent to all processes of the node, not to this task.
    signal.sigtimedwait({signal.SIGTERM}, 0)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})


def _lower_priority(priority: int, nice: int) -> None:
    """Gives all threads a priority, which Linux has for each of them; as launch.py does for other tasks."""
    changed = True
    while changed:
        changed = False
        # A thread that is made meanwhile by one with the old priority has the old priority.
        for thread in map(int, os.listdir("/proc/self/task")):
            with contextlib.suppress(OSError):
                if os.getpriority(os.PRIO_PROCESS, thread) < priority:
                    os.setpriority(os.PRIO_PROCESS, thread, priority)
                    changed = True
    with contextlib.suppress(OSError):
        with open("/proc/sys/kernel/sched_autogroup_enabled") as setting:
            is_grouped = setting.read(1) == "1"
        if is_grouped:
            with open("/proc/self/autogroup", "w") as group:
                group.write(str(nice))


def _script_folder(task: "dict[str, Any]") -> str:
    if task["module"]:
        return str(task["code"])
    return os.path.dirname(os.path.realpath(str(task["arguments"][0])))


def _show_command(command: "list[str]") -> None:
    """Makes `ps` show the script's command line, as far as it fits into the memory of the present one."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/self/stat", "rb") as opened:
        start, end = map(int, opened.read().rpartition(b")")[2].split()[_ARG_START_FIELD : _ARG_START_FIELD + 2])
        size = end - start
        if start > 0 and size > 1:
            text = b"".join(os.fsencode(argument) + b"\0" for argument in command)[: size - 1]
            ctypes.memmove(start, text.ljust(size, b"\0"), size)


def begin_main() -> None:
    """Makes a new `__main__`, as Python makes it."""
    module = types.ModuleType("__main__")
    vars(module)["__builtins__"] = builtins
    if sys.version_info < (3, 14):
        vars(module)["__annotations__"] = {}
    sys.modules["__main__"] = module


def open_script(path: str) -> int:
    """Opens a script as a file of C; exits as Python does if that fails."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.fopen.restype = ctypes.c_void_p
    opened = libc.fopen(os.fsencode(path), b"rbe")
    if not opened:
        print(f"{sys.executable}: can't open file {path!r}: {os.strerror(ctypes.get_errno())}", file=sys.stderr)
        sys.exit(2)
    return int(opened)


run_file = ctypes.pythonapi.PyRun_SimpleFileExFlags
run_file.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p]

if __name__ == "__main__":
    # Here and not in a function: stacks of threads, which Python writes at a fatal signal, have one line of this file.
    accepted = await_task()
    begin_main()
    if accepted["module"]:
        runpy.__dict__["_run_module_as_main"](accepted["module"])
    # The function prints the traceback of an exception, without a line of this file; SystemExit ends the process in it.
    # After KeyboardInterrupt, Python ends the process by SIGINT when this file has ended.
    elif (
        run_file(open_script(sys.argv[0]), os.fsencode(sys.argv[0]), 1, None)
        and getattr(sys, "last_type", None) is not KeyboardInterrupt
    ):
        sys.exit(1)
