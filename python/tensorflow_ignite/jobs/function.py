"""A function as the code of a job: pickled by value, and called by a small script."""

from __future__ import annotations

import inspect
import linecache
import os
import pickle
import re
import site
import sys
import sysconfig
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from tensorflow_ignite.errors import CodeInvalidError
from tensorflow_ignite.jobs.archive import Archive, pack_files

_PICKLE = "function.pickle"
_SCRIPT = '''"""Calls {name}, which was submitted as a function of Python {version}."""

import linecache
import os
import pickle
import sys

if "{version}" != "%d.%d" % sys.version_info[:2]:
    raise RuntimeError(
        "the function {name} was submitted from Python {version}, and this node has %d.%d. A function contains the "
        "instructions of one version of Python. Submit a script, or use the node's version" % sys.version_info[:2]
    )
folder = os.path.dirname(os.path.abspath(__file__))
source = os.path.join(folder, {source!r})
if os.path.isfile(source):
    # Tracebacks show the lines of the function, whose file does not exist here.
    with open(source, encoding="utf-8") as file:
        lines = file.readlines()
    linecache.cache[{filename!r}] = sum(map(len, lines)), None, lines, {filename!r}
with open(os.path.join(folder, "{pickle}"), "rb") as file:
    function, arguments = pickle.load(file)
function(*arguments)
'''


def pack_function(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    requirements: str | os.PathLike[str] | None = None,
    wheels: Sequence[str | os.PathLike[str]] = (),
) -> Archive:
    """Packs a function with its arguments, and with all that it uses of the notebook or script that defines it.

    Args:
        function: Any function. Installed packages that it uses are imported on the nodes, and not packed.
        arguments: Its positional arguments, of any type that can be pickled.
        requirements: As for `pack`.
        wheels: As for `pack`.

    Returns:
        The archive.

    Raises:
        CodeInvalidError: Something that the function uses cannot be pickled.
    """
    import cloudpickle

    name = name_of(function)
    # No import of the function finds it in place of a module with the function's name.
    script = f"submitted_{name}.py"
    module = inspect.getmodule(function)
    by_value = module is not None and module.__name__ != "__main__" and not _is_installed(module)
    try:
        if by_value:
            cloudpickle.register_pickle_by_value(module)
        pickled = cloudpickle.dumps((function, tuple(arguments)), protocol=pickle.DEFAULT_PROTOCOL)
    except Exception as error:  # objects may raise anything when they are pickled
        raise CodeInvalidError(
            f"the function {name} cannot be sent to the nodes: {error}. It is pickled with its arguments and with all "
            "global names that it uses. Make models, clients, files and datasets inside the function"
        ) from error
    finally:
        if by_value:
            cloudpickle.unregister_pickle_by_value(module)
    version = "{}.{}".format(*sys.version_info[:2])
    filename, source = _source(function)
    call = _SCRIPT.format(name=name, version=version, pickle=_PICKLE, source="".join(source), filename=filename)
    return pack_files({**source, _PICKLE: pickled, script: call.encode()}, script, requirements, wheels)


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function, as a part of a file's name."""
    return re.sub(r"\W+", "_", getattr(function, "__name__", type(function).__name__)).strip("_") or "function"


def _source(function: Callable[..., Any]) -> tuple[str, dict[str, bytes]]:
    """The path of the cell or file that defines the function, and its content by its name, for tracebacks."""
    code = getattr(function, "__code__", None)
    if code is None:
        return "", {}
    name = os.path.basename(code.co_filename)
    lines = linecache.getlines(code.co_filename)
    files = {name: "".join(lines).encode()} if lines and re.fullmatch(r"[\w.-]+\.py", name) else {}
    return code.co_filename, files


def _is_installed(module: ModuleType) -> bool:
    """Whether the nodes have the module if they have the same packages as this interpreter."""
    file = getattr(module, "__file__", None)
    if file is None:
        return True
    folders = [*site.getsitepackages(), site.getusersitepackages(), sysconfig.get_path("stdlib")]
    return any(os.path.realpath(file).startswith(os.path.realpath(folder) + os.sep) for folder in folders)
