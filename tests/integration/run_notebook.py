"""Runs the code cells of a notebook in this process, and prints what they print and what their last lines are.

usage: run_notebook.py NOTEBOOK

As in Jupyter, the cells are the module ``__main__``, and a cell's last expression is shown: as HTML if it can be.
"""

from __future__ import annotations

import ast
import json
import linecache
import sys
import types
from pathlib import Path

main = sys.modules["__main__"] = types.ModuleType("__main__")
cells = json.loads(Path(sys.argv[1]).read_text())["cells"]
for number, cell in enumerate(cells):
    if cell["cell_type"] != "code":
        continue
    source, name = "".join(cell["source"]), f"cell-{number}.py"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None  # type: ignore[attr-defined]
    exec(compile(tree, name, "exec"), vars(main))
    value = None if last is None else eval(compile(last, name, "eval"), vars(main))
    if value is not None:
        print(value._repr_html_() if hasattr(value, "_repr_html_") else repr(value), flush=True)
