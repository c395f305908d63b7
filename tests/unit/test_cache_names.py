"""Test files that share a cluster must not use the same cache: which file runs beside which is not fixed."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

INTEGRATION = Path(__file__).parents[1] / "integration"
EXAMPLES = Path(__file__).parents[2] / "examples"
# Functions that create a cache of a given name, and arguments that name a cache to create.
CREATORS = {"made", "load", "create_cache", "get_or_create_cache"}
ARGUMENTS = {"into"}
# Fixtures of the cluster that all files share.
SHARED = {"cluster", "client"}


def test_files_that_share_a_cluster_have_caches_of_their_own() -> None:
    files = defaultdict(set)
    for path in sorted(INTEGRATION.glob("test_*.py")):
        for name in _created_by_tests(ast.parse(path.read_text())):
            files[name].add(path.name)
    # test_examples.py runs the examples on the shared cluster.
    for path in sorted(EXAMPLES.glob("*.py")):
        for name in _created(ast.parse(path.read_text())):
            files[name].add("test_examples.py")
    assert len(files) > 50, "caches are created in another way: this test does not see them"
    assert not {name: sorted(found) for name, found in files.items() if len(found) > 1}


def _created_by_tests(module: ast.Module) -> Iterator[str]:
    functions = [function for function in module.body if isinstance(function, ast.FunctionDef)]
    # A helper gets the cluster from a test, which may have one of its own.
    shared = SHARED - {function.name for function in functions}
    for function in functions:
        if function.name.startswith("test_") and shared & {argument.arg for argument in function.args.args}:
            yield from _created(function)


def _created(tree: ast.AST) -> Iterator[str]:
    for call in ast.walk(tree):
        if isinstance(call, ast.Call):
            named = call.args if _called(call) in CREATORS else []
            # The first text among the arguments is the name.
            yield from [text for argument in named if (text := _text(argument))][:1]
            yield from (text for given in call.keywords if given.arg in ARGUMENTS and (text := _text(given.value)))


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
