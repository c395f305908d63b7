"""Names, comments and texts of the code use the project's words."""

from __future__ import annotations

from pathlib import Path

import words

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python/tensorflow_ignite"
FILES = [
    *(path for kind in ("py", "c", "h") for path in PACKAGE.rglob(f"*.{kind}") if PACKAGE / "v1" not in path.parents),
    *(
        path
        for folder in ("java", "proto", "examples", "benchmarks", "container", "dependencies", "release", "gradle")
        for kind in ("java", "proto", "py", "xml", "txt", "yaml", "ipynb", "gradle")
        for path in (ROOT / folder).rglob(f"*.{kind}")
    ),
    *(ROOT / name for name in ("Makefile", "build.gradle", "setup.py", "build_backend.py")),
    *(path for path in (ROOT / "tests").rglob("*.py") if path.stem not in ("words", "test_words")),
]


def test_no_code_uses_words_that_the_glossary_replaces() -> None:
    assert len(FILES) > 1_000
    found = {str(path.relative_to(ROOT)): words.in_code(path.read_text(encoding="utf-8")) for path in FILES}
    assert {file: parts for file, parts in found.items() if parts} == {}, "use the words of tests/unit/words.py"
