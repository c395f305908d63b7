"""When TensorFlow is imported, its scheme is registered; tried with a package that only looks like TensorFlow."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., list[str]]
PACKAGES = Path(__file__).resolve().parents[2] / "python"

TENSORFLOW = """
import threading, time
loaded = []
if {fails}:
    raise ImportError("broken")
time.sleep({seconds})
class experimental:
    @staticmethod
    def register_filesystem_plugin(path):
        loaded.append(path)
        {refuses}
"""
# In place of the extension: it records its calls.
PLUGIN = """
import sys, types
plugin = types.ModuleType("tensorflow_ignite.storage.tf._plugin")
plugin.__file__ = "plugin.so"
plugin.bound = []
plugin.bind = plugin.bound.append
plugin.raise_later = lambda error: None
plugin.ended = []
plugin.end = lambda seconds: plugin.ended.append("end") or True
plugin.defer_collection = plugin.resume_collection = lambda: None
plugin.end_writers = lambda: plugin.ended.append("writers")
sys.modules[plugin.__name__] = plugin
"""


@pytest.fixture
def python(tmp_path: Path) -> Run:
    """Runs code in a process that has such a package; what it prints, in words."""

    def run(code: str, *, seconds: float = 0, fails: bool = False, refuses: str = "", plugin: bool = True) -> list[str]:
        text = TENSORFLOW.format(seconds=seconds, fails=fails, refuses=refuses or "pass")
        (tmp_path / "tensorflow").mkdir(exist_ok=True)
        (tmp_path / "tensorflow" / "__init__.py").write_text(text)
        (tmp_path / "tensorflow" / "below.py").write_text("")
        run = subprocess.run(
            [sys.executable, "-W", "always", "-c", (PLUGIN if plugin else "import sys") + code],
            env={"PYTHONPATH": f"{tmp_path}:{PACKAGES}"},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        return (run.stdout + run.stderr).split()

    return run


def test_the_order_of_the_imports_does_not_matter(python: Run) -> None:
    after = "; print(tensorflow.loaded, len(plugin.bound))"
    assert python("import tensorflow_ignite, tensorflow" + after) == ["['plugin.so']", "1"]
    assert python("import tensorflow, tensorflow_ignite" + after) == ["['plugin.so']", "1"]
    assert python("import tensorflow_ignite, tensorflow.below, tensorflow" + after) == ["['plugin.so']", "1"]


def test_the_finder_is_removed_and_the_module_is_unchanged(python: Run) -> None:
    code = """
import importlib.util, sys
before = list(sys.meta_path)
import tensorflow_ignite
with_ours = len(before) + 1
assert len(sys.meta_path) == with_ours
assert importlib.util.find_spec("tensorflow").origin.endswith("__init__.py")
assert len(sys.meta_path) == with_ours  # nobody has imported it yet
import tensorflow
assert len(sys.meta_path) == with_ours - 1
assert type(tensorflow.__loader__).__name__ == type(tensorflow.__spec__.loader).__name__ == "SourceFileLoader"
import importlib.resources, inspect
assert "register_filesystem_plugin" in inspect.getsource(tensorflow)
importlib.reload(tensorflow)
print(tensorflow.loaded)
"""
    assert python(code) == ["[]"]  # the module that was loaded anew; TensorFlow's C++ has not forgotten


def test_a_tensorflow_that_fails_to_import_fails_as_ever_and_may_be_imported_later(python: Run, tmp_path: Path) -> None:
    code = """
import sys, tensorflow_ignite
try:
    import tensorflow
except ImportError as error:
    print(error)
import importlib, pathlib
path = pathlib.Path(next(entry for entry in sys.path if entry.endswith(%r)), "tensorflow", "__init__.py")
path.write_text(path.read_text().replace("if True", "if False"))
importlib.invalidate_caches()
import tensorflow
print(tensorflow.loaded)
"""
    assert python("import sys; sys.dont_write_bytecode = True" + code % tmp_path.name, fails=True) == [
        "broken",
        "['plugin.so']",
    ]


def test_threads_that_import_at_once_register_once(python: Run) -> None:
    code = """
import threading
def both(order):
    for name in order:
        __import__(name)
threads = [
    threading.Thread(target=both, args=[["tensorflow", "tensorflow_ignite"][:: 1 if number % 2 else -1]])
    for number in range(16)
]
for thread in threads: thread.start()
for thread in threads: thread.join(20)
import tensorflow
print(tensorflow.loaded, len(plugin.bound), any(thread.is_alive() for thread in threads))
"""
    assert python(code, seconds=0.3) == ["['plugin.so']", "1", "False"]


def test_a_missing_extension_breaks_no_import_and_the_warning_has_a_remedy(python: Run) -> None:
    code = """
sys.modules["tensorflow_ignite.storage.tf._plugin"] = None
import tensorflow_ignite, tensorflow
from tensorflow_ignite.storage.tf import scheme
try:
    scheme.require()
except tensorflow_ignite.errors.TensorFlowIgniteError as error:
    print(error)
"""
    printed = " ".join(python(code, plugin=False))
    assert printed.count("SchemeUnavailableWarning") >= 1
    # Once as a warning, once as an error.
    assert printed.count("pip install --force-reinstall") == 2


def test_a_refusal_of_tensorflow_is_reported_with_its_reason(python: Run) -> None:
    code = "\nimport tensorflow_ignite, tensorflow"
    printed = " ".join(python(code, refuses="raise RuntimeError('wrong ABI')"))
    assert "RuntimeError: wrong ABI" in printed
    assert "2.20 and 2.21" in printed


def test_other_modules_are_left_alone(python: Run) -> None:
    code = """
import sys, types
sys.modules["tensorflow"] = types.ModuleType("tensorflow")
import tensorflow_ignite
"""
    assert "SchemeUnavailableWarning" in " ".join(python(code))


def test_the_end_of_the_process_ends_the_writers_after_functions_of_atexit_of_tensorflow(python: Run) -> None:
    code = """
import atexit
import tensorflow_ignite, tensorflow
atexit.register(lambda: print("theirs", plugin.ended))
import sys
end = plugin.end_writers
plugin.defer_collection = plugin.resume_collection = lambda: None
plugin.end_writers = lambda: print("ours", plugin.ended)
"""
    assert python(code) == ["theirs", "[]", "ours", "['end']"]
