"""Errors keep their class, code and text on their way between processes.

Promise (code): An error says what to do, and keeps its class and code between processes.
"""

import pickle
import re
from pathlib import Path

import pytest

from tensorflow_ignite import errors
from tensorflow_ignite.v1 import job_pb2

ROOT = Path(__file__).parents[2]


def test_every_code_of_the_contract_has_its_own_class() -> None:
    names = {name.removeprefix("ERROR_CODE_") for name in job_pb2.ErrorCode.DESCRIPTOR.values_by_name} - {"UNSPECIFIED"}
    assert set(errors.CODES) == names
    assert len(set(errors.CODES.values())) == len(names)
    assert all(error.code == name for name, error in errors.CODES.items())


@pytest.mark.parametrize("name", sorted(errors.CODES))
def test_an_error_comes_back_from_its_description(name: str) -> None:
    sent = errors.CODES[name]("cache 'a [b]' is gone. It must exist. Load it.")
    received = errors.from_description(sent.description)
    assert type(received) is type(sent)
    assert str(received) == str(sent)
    assert received.code == name


@pytest.mark.parametrize("text", ["boom", "[code=CACHE_EMPTY] stands before this"])
def test_a_description_without_suffix_gives_the_fallback(text: str) -> None:
    assert not errors.has_code(text)
    error = errors.from_description(text, errors.ConnectionFailedError)
    assert type(error) is errors.ConnectionFailedError
    assert str(error) == text
    assert error.code is None


def test_a_code_of_a_newer_node_is_kept_and_not_shown() -> None:
    error = errors.from_description("no such shoe [code=SHOE_NOT_FOUND]")
    assert type(error) is errors.InternalError
    assert (str(error), error.code) == ("no such shoe", "SHOE_NOT_FOUND")
    assert errors.InternalError.code == "INTERNAL_ERROR"


def test_every_class_stands_in_the_docstring() -> None:
    classes = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, errors.TensorFlowIgniteError)
    }
    drawn = {line.split("── ")[1].split()[0] for line in errors.__doc__.splitlines() if "── " in line}
    assert drawn == classes


def test_errors_are_also_what_python_calls_them() -> None:
    assert issubclass(errors.RequestTimeoutError, TimeoutError)
    assert issubclass(errors.ConnectionFailedError, ConnectionError)
    assert issubclass(errors.CacheNotFoundError, LookupError)


def test_errors_survive_pickling() -> None:
    error = pickle.loads(pickle.dumps(errors.from_description("gone [code=JOB_NOT_FOUND]")))
    assert (type(error), str(error), error.code) == (errors.JobNotFoundError, "gone", "JOB_NOT_FOUND")
    assert pickle.loads(pickle.dumps(errors.JobFailedError("failed", job=None))).job is None


def test_no_error_ends_with_an_empty_remedy() -> None:
    sources = [*(ROOT / "java/src/main").rglob("*.java"), *(ROOT / "python/tensorflow_ignite").rglob("*.py")]
    bare = re.compile(r"""\b(?:change|correct) (?:it|them|that)\.?["']\s*[,);]""", re.IGNORECASE)
    assert len(sources) >= 300
    assert [str(path) for path in sources if bare.search(path.read_text())] == []
