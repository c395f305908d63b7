"""Corrections of TensorFlow, Keras and tf_keras: when they are installed, what they leave alone, what the page says.

Most tests run a process in which a package of one file stands for TensorFlow. It has the code of the installed one.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import correction_table
import pytest

from tensorflow_ignite import corrections
from tensorflow_ignite.agent.inherited import inherited
from tensorflow_ignite.corrections import source
from tensorflow_ignite.corrections.table import CORRECTIONS, NONE_REPORTED
from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.train import empty_batches

Run = Callable[..., str]
MODULES = {change.module for each in CORRECTIONS for change in each.changes}
DEVICES = "tensorflow.python.data.ops.multi_device_iterator_ops"
FUNCTION = "_create_device_dataset"
needs_tensorflow = pytest.mark.skipif(importlib.util.find_spec("tensorflow") is None, reason="needs its source")
# What stands in sys.meta_path for the corrections, besides the finder of ignite://.
COUNT = """
import sys
def count():
    return sum(type(each).__module__ == "tensorflow_ignite.base.after_import" for each in sys.meta_path)
"""


def _code() -> str:
    """The function that a correction changes, as the installed TensorFlow has it."""
    _, read = correction_table.installed("tensorflow")
    text = read(DEVICES)
    assert text is not None
    found = next(node for node in ast.parse(text).body if getattr(node, "name", "") == FUNCTION)
    segment = ast.get_source_segment(text, found)
    assert segment is not None
    return segment


def test_keras_on_another_backend_needs_no_tensorflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    batch = object()
    assert empty_batches._dense(batch, (None, 4)) is batch


@pytest.fixture
def python(tmp_path: Path) -> Run:
    """Runs code in a process whose TensorFlow has one module with a function; returns what it prints and logs."""

    def run(code: str, function: str = "", **environment: str) -> str:
        folder = tmp_path
        for name in DEVICES.split(".")[:-1]:
            folder /= name
            folder.mkdir(exist_ok=True)
            (folder / "__init__.py").write_text("")
        (folder / "multi_device_iterator_ops.py").write_text(function)
        ran = subprocess.run(
            [sys.executable, "-c", COUNT + code],
            env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{tmp_path}:{correction_table.ROOT / 'python'}"}
            | environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return (ran.stdout + ran.stderr).strip()

    return run


def test_the_import_alone_installs_the_scheme_and_no_correction(python: Run) -> None:
    assert python("import tensorflow_ignite; print(count())") == "1"


@pytest.mark.parametrize(
    "use",
    [
        "tensorflow_ignite.train",
        "from tensorflow_ignite.train import context",
        "tensorflow_ignite.dataset",
        "from tensorflow_ignite import task; task.adopt(task.Task(in_job=True))",
    ],
)
def test_the_first_use_of_training_installs_them_once(python: Run, use: str) -> None:
    code = f"""
import types, tensorflow_ignite
# It needs more of TensorFlow than its stand-in has.
sys.modules["tensorflow_ignite.data.dataset"] = types.SimpleNamespace(dataset=None)
{use}
first = count()
import tensorflow_ignite.train
print(first, count())
"""
    expected = 1 + len(MODULES)
    assert python(code) == f"{expected} {expected}"


def test_in_a_task_the_import_installs_them_and_loads_nothing_heavy(python: Run) -> None:
    code = """
import tensorflow_ignite
heavy = {"tensorflow", "keras", "grpc", "pyarrow", "google.protobuf", "numpy", "dataclasses", "inspect"}
print(count(), sorted(heavy & {*sys.modules}))
"""
    assert python(code, TENSORFLOW_IGNITE_CONTEXT="/not/read/yet") == f"{1 + len(MODULES)} []"


@needs_tensorflow
@pytest.mark.parametrize("order", [("tensorflow_ignite.train", DEVICES), (DEVICES, "tensorflow_ignite.train")])
def test_the_order_of_the_imports_does_not_matter(python: Run, order: tuple[str, str]) -> None:
    code = f"import {order[0]}, {order[1]}; print(hasattr({DEVICES}.{FUNCTION}, '__wrapped__'))"
    assert _last(python(code, _code())) == "True"


def _last(printed: str) -> str:
    """The last line of a process, whose stand-in for TensorFlow has no scheme."""
    return next(line for line in printed.splitlines() if line in ("True", "False"))


@needs_tensorflow
def test_comments_and_docstrings_make_no_other_code(python: Run) -> None:
    lines = _code().splitlines()
    changed = "\n".join(["# A comment", lines[0], *lines[1:2], '  """Another text.', '  """', *lines[3:], "", "# End"])
    assert "Uses _prototype" in lines[2]
    code = f"import tensorflow_ignite.train, {DEVICES}; print(hasattr({DEVICES}.{FUNCTION}, '__wrapped__'))"
    assert _last(python(code, changed)) == "True"


@pytest.mark.parametrize(
    "function", [f"def {FUNCTION}(*arguments):\n  return 1\n", "", f"exec('def {FUNCTION}(): pass')"]
)
def test_other_code_is_left_alone_and_the_log_says_once_what_does_not_work(python: Run, function: str) -> None:
    code = f"""
import importlib, tensorflow_ignite.train, {DEVICES} as module
print(hasattr(getattr(module, "{FUNCTION}", None), "__wrapped__"))
importlib.reload(module)
"""
    printed = python(code, function)
    assert _last(printed) == "False"
    warning = f"the correction device-iterators does not change {DEVICES} of tensorflow "
    assert printed.count(warning) == 1
    assert re.search(re.escape(warning) + r"\S+: \S+ has other code than version [\d.]+, with", printed)
    without = next(each.without for each in CORRECTIONS if each.name == "device-iterators")
    assert f"Without the correction: {without}." in printed
    assert "TENSORFLOW_IGNITE_CORRECTIONS=-device-iterators" in printed


def test_a_digest_knows_methods_decorators_and_structure() -> None:
    text = '''
class A:
    """Text."""

    @property
    def b(self):  # comment
        """Text."""
        return 1

    @b.setter
    def b(self, value):
        if value:
            x = "# no comment"
        y = 2
'''
    same = text.replace('"""Text."""', '"""Other\n    text."""').replace("# comment", "").replace("\n\n", "\n\n\n")
    names = ["A", "A.b", "A.c"]
    found = source.digests(text, names)
    assert source.digests(same, names) == found
    assert found["A.c"] == ""
    for old, new in [("@property", "@cached"), ("y = 2", "    y = 2"), ("no comment", "comment"), ("y = 2", "y = 3")]:
        assert source.digests(text.replace(old, new), names)["A.b"] != found["A.b"], new


@needs_tensorflow
@pytest.mark.parametrize(("value", "is_on"), [("off", False), ("-adapt, -device-iterators", False), ("-adapt", True)])
def test_the_environment_switches_corrections_off(python: Run, value: str, is_on: bool) -> None:
    code = f"import tensorflow_ignite.train, {DEVICES}; print(hasattr({DEVICES}.{FUNCTION}, '__wrapped__'))"
    assert _last(python(code, _code(), TENSORFLOW_IGNITE_CORRECTIONS=value)) == str(is_on)


@pytest.mark.parametrize("value", ["on", "adapt", "-adopt", "off,-adapt", "-adapt,x"])
def test_a_wrong_name_is_an_error_that_has_all_names(value: str) -> None:
    names = [each.name for each in CORRECTIONS]
    with pytest.raises(
        InvalidRequestError, match=r"TENSORFLOW_IGNITE_CORRECTIONS=.* switches no correction off"
    ) as said:
        corrections.switched_off(value, names)
    assert all(name in str(said.value) for name in names)


def test_a_wrong_name_fails_each_use_of_training_but_no_import_outside_jobs(python: Run) -> None:
    code = """
import tensorflow_ignite
for _ in range(2):
    try:
        tensorflow_ignite.train
    except ValueError as error:
        print("wrong" in str(error))
"""
    assert python(code, TENSORFLOW_IGNITE_CORRECTIONS="-wrong") == "True\nTrue"


def test_the_variable_of_a_node_is_not_for_its_tasks() -> None:
    assert inherited({corrections.VARIABLE: "off", "PATH": "/bin"}, ["*"]) == {"PATH": "/bin"}


def test_each_line_of_the_table_is_whole() -> None:
    assert [name for name, times in Counter(each.name for each in CORRECTIONS).items() if times > 1] == []
    for each in CORRECTIONS:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", each.name)
        assert each.issue == NONE_REPORTED or re.fullmatch(r"https://github\.com/[\w/-]+/issues/\d+", each.issue)
        assert not each.without.endswith(".")
        for change in each.changes:
            file, function = change.function.split(".")
            assert callable(getattr(importlib.import_module(f"tensorflow_ignite.train.{file}"), function))


def test_the_data_is_of_the_versions_in_constraints_txt_and_of_the_code_in_the_table() -> None:
    # If this fails: python tests/unit/correction_table.py WHEEL...
    data = json.loads(correction_table.DATA.read_text())
    assert data["versions"] == correction_table.pinned()
    names = {f"{module}:{name}" for module, names in correction_table.code().items() for name in names}
    assert set(data["code"]) == names
    assert set(data["files"]) == set(correction_table.code())


@pytest.mark.parametrize("package", correction_table.PACKAGES)
def test_the_installed_version_has_the_code_that_was_tried(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    data = json.loads(correction_table.DATA.read_text())
    version, read = correction_table.installed(package)
    if version not in data["versions"][package]:
        pytest.skip(f"{package} {version} is not the version of constraints.txt")
    files, code = correction_table.digests_of(package, read)
    assert {name: value for name, value in files.items() if value not in data["files"][name]} == {}
    assert {name: value for name, value in code.items() if value not in data["code"][name]} == {}


def test_the_page_is_made_of_the_table() -> None:
    # If this fails: python tests/unit/correction_table.py WHEEL...
    page = correction_table.PAGE.read_text()
    assert correction_table.generated() in page
    assert len(page.encode()) <= 4_000
