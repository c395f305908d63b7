"""Test files that share a cluster must not use the same cache: which file runs beside which is not fixed."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

INTEGRATION = Path(__file__).parents[1] / "integration"
# Functions that create a cache of a given name.
CREATORS = {"made", "load", "create_cache", "get_or_create_cache"}
# Fixtures of the cluster that all files share.
SHARED = {"cluster", "client"}


def test_files_that_share_a_cluster_have_caches_of_their_own() -> None:
    files = defaultdict(set)
    for path in sorted(INTEGRATION.glob("test_*.py")):
        for name in _created(ast.parse(path.read_text())):
            files[name].add(path.name)
    assert len(files) > 50, "caches are created in another way: this test does not see them"
    assert not {name: sorted(found) for name, found in files.items() if len(found) > 1}


def _created(module: ast.Module) -> Iterator[str]:
    functions = [function for function in module.body if isinstance(function, ast.FunctionDef)]
    # A helper gets the cluster from a test, which may have one of its own.
    shared = SHARED - {function.name for function in functions}
    for function in functions:
        if function.name.startswith("test_") and shared & {argument.arg for argument in function.args.args}:
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and _called(call) in CREATORS:
                    texts = [argument for argument in call.args if isinstance(argument, ast.Constant)]
                    yield from (text.value for text in texts[:1] if isinstance(text.value, str))


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
