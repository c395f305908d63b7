"""What the documents name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
JAVA_TESTS = (ROOT / "java/src/test/java", ROOT / "java/src/integrationTest/java")
DOCUMENTS = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_test_that_a_document_names_exists(document: Path) -> None:
    text = document.read_text()
    for file, name in re.findall(r"(tests/\w+/\w+\.py)::(\w+)", text):
        assert f"def {name}(" in (ROOT / file).read_text(), f"{file}::{name}"
    for name, method in re.findall(r"`(It[A-Z]\w+|[A-Z]\w+Test)\.(\w+)`", text):
        (file,) = [path for folder in JAVA_TESTS for path in folder.rglob(f"{name}.java")]
        assert f"public void {method}(" in file.read_text(), f"{name}.{method}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_a_document_links_to_exists(document: Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)[^):]*\)", document.read_text()):
        assert (document.parent / link).exists(), link


def test_the_guarantees_of_storage_are_each_shown_by_a_test() -> None:
    table = (ROOT / "docs/storage.md").read_text().partition("## What is guaranteed")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 15
    for event, _, _, shown in rows:
        assert re.search(r"::test_|It[A-Z]\w+\.", shown), event


def test_every_threat_has_a_defence_that_a_test_shows() -> None:
    tables = (ROOT / "SECURITY.md").read_text().partition("## Threats, defences, tests")[2]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in tables.splitlines() if line.startswith("|")]
    rows = [row for row in lines if row != ["threat", "defence", "test"] and set("".join(row)) - set("- ")]
    assert len(rows) >= 25
    for row in rows:
        assert len(row) == 3, row
        threat, defence, shown = row
        assert threat, row
        assert defence, row
        assert re.fullmatch(r"(`(tests/\w+/\w+\.py::test_\w+|(It[A-Z]\w*|[A-Z]\w*Test)\.\w+)`(, )?)+", shown), row
