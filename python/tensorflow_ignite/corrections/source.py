"""Recognises the code that a correction changes or relies on by its digest, without comments and docstrings.

The file `tried.json` has the digests of the versions in constraints.txt; `python tests/unit/correction_table.py` writes
it. A digest does not depend on the version of Python that computes it.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import io
import json
import pkgutil
import sys
import tokenize
from collections.abc import Iterator, Sequence
from typing import Any

_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@functools.cache
def tried() -> dict[str, Any]:
    """The content of `tried.json`: by package its versions, by module the digests of files, by code its digests."""
    content = pkgutil.get_data("tensorflow_ignite.corrections", "tried.json")
    assert content is not None
    found: dict[str, Any] = json.loads(content)
    return found


def other_code(change: Any) -> str:
    """The first code of a change that is not the code that was tried, as ``module:name``; empty: there is none.

    Args:
        change: A `tensorflow_ignite.corrections.table.Change` whose module is loaded.
    """
    for module, names in change.by_module().items():
        text = _text(module)
        if text is None:
            return f"{module}:{names[0]}"
        if digest(text) in tried()["files"].get(module, ()):
            # The whole file of a version that was tried: it need not be parsed.
            continue
        found = digests(text, names)
        for name in names:
            if found[name] not in tried()["code"].get(f"{module}:{name}", ()):
                return f"{module}:{name}"
    return ""


def _text(module: str) -> str | None:
    """The source of a module that is loaded; None: it has none."""
    loader: Any = getattr(getattr(sys.modules.get(module), "__spec__", None), "loader", None)
    try:
        text: str | None = loader.get_source(module)
    except (AttributeError, ImportError, OSError):
        return None
    return text


def digest(text: str) -> str:
    """The digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def digests(text: str, names: Sequence[str]) -> dict[str, str]:
    """The digests of functions and classes of a module; empty: it has none of this name.

    Args:
        text: The source of the module.
        names: Such as ``function`` and ``Class.method``.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return dict.fromkeys(names, "")
    lines = text.splitlines(keepends=True)
    found = {name: "".join(_code(node, lines) for node in _find(tree.body, name.split("."))) for name in names}
    return {name: digest(code) if code else "" for name, code in found.items()}


def _find(body: Sequence[ast.stmt], path: Sequence[str]) -> Iterator[_Definition]:
    """The definitions of a name: a property has one for its setter, too."""
    for node in body:
        if isinstance(node, _DEFINITIONS) and node.name == path[0]:
            if len(path) == 1:
                yield node
            else:
                yield from _find(node.body, path[1:])


def _code(node: _Definition, lines: Sequence[str]) -> str:
    """The lines of a definition without its margin, comments, docstrings, empty lines, and spaces at the ends."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    last = node.end_lineno or first
    kept = list(lines[first - 1 : last])
    for token in tokenize.generate_tokens(io.StringIO("".join(kept)).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            kept[row - 1] = kept[row - 1][:column]
    for each in ast.walk(node):
        if isinstance(each, _DEFINITIONS) and ast.get_docstring(each, clean=False) is not None:
            text = each.body[0]
            if text.lineno > each.lineno:
                kept[text.lineno - first : (text.end_lineno or text.lineno) - first + 1] = [""] * (
                    (text.end_lineno or text.lineno) - text.lineno + 1
                )
    margin = node.col_offset
    stripped = [line[margin:] if not line[:margin].strip() else line for line in kept]
    return "".join(f"{line.rstrip()}\n" for line in stripped if line.strip())
