"""The page docs/promises.md, made of the lines `Promise (subject): sentence.` beside the tests that hold them.

The lines stand in the docstring of a Python test file, or in the Javadoc of a Java test class.
`python tests/unit/promise_index.py` writes the page.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/promises.md"
#: The subjects in the order of the page, each with its heading.
SUBJECTS = {
    "jobs": "Jobs",
    "processes": "Processes of a node",
    "nodes": "Nodes and versions",
    "rows": "Rows",
    "sql": "SQL",
    "training": "Training",
    "prediction": "Prediction",
    "files": "Files",
    "memory": "Memory",
    "security": "Security",
    "code": "Code",
}
HEAD = """\
# Promises

What stays true, and the test that shows it: a Python file below `tests/` or a Java class below `java/src/`.
`python tests/unit/promise_index.py` makes this page of the lines `Promise (subject): …` in these files.
"""
LABEL = re.compile(r"Promise \((\w+)\):\s")


class Promise(NamedTuple):
    """A line beside a test."""

    subject: str
    sentence: str
    path: Path


def test_files() -> list[Path]:
    """Every file that may have promises."""
    java = [path for folder in ("test", "integrationTest") for path in (ROOT / "java/src" / folder).rglob("*.java")]
    return sorted([*(ROOT / "tests").rglob("test_*.py"), *java])


def promises() -> list[Promise]:
    """All promises, in the order of their files."""
    return [Promise(subject, sentence, path) for path in test_files() for subject, sentence in read(_comment_of(path))]


def read(comment: str) -> Iterator[tuple[str, str]]:
    """The subject and the sentence of each promise in a comment.

    A sentence ends before a label, a tag or a blank line.
    """
    for paragraph in re.split(r"\n\s*(?:\n|(?=@))", comment):
        text = " ".join(paragraph.split())
        _, *parts = LABEL.split(text + " ")
        yield from zip(parts[::2], map(str.strip, parts[1::2]), strict=True)


def _comment_of(path: Path) -> str:
    """The docstring of a Python file, or the Javadoc of the class that a Java file is named after."""
    text = path.read_text()
    if path.suffix == ".py":
        return ast.get_docstring(ast.parse(text)) or ""
    found = re.search(
        rf"^/\*\*((?:(?!\*/).)*)\*/\s(?:@[^\n]*\n)*[\w ]*\bclass {path.stem}\b", text, re.MULTILINE | re.DOTALL
    )
    lines = re.sub(r"(?m)^ *\* ?(?:<p>)?", "", found[1] if found else "")
    return re.sub(r"\{@code ([^}]*)\}", r"`\1`", lines)


def page() -> str:
    found = promises()
    names = Counter(path.name for path in test_files())
    parts = [HEAD]
    for subject, heading in SUBJECTS.items():
        lines = [f"- {each.sentence} (`{_name(each.path, names)}`)\n" for each in found if each.subject == subject]
        parts.append(f"## {heading}\n\n{''.join(lines)}")
    return "\n".join(parts)


def _name(path: Path, names: Counter[str]) -> str:
    """The class or the file, with the folder where two folders have a file of this name."""
    if path.suffix == ".java":
        return path.stem
    return path.name if names[path.name] == 1 else f"{path.parent.name}/{path.name}"


if __name__ == "__main__":
    PAGE.write_text(page())
