"""What the documents name exists."""

from __future__ import annotations

import ast
import contextlib
import re
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import option_table
import promise_index
import pytest
import typer.main
import words

from tensorflow_ignite.cli.app import app

ROOT = Path(__file__).parents[2]
JAVA_TESTS = (ROOT / "java/src/test/java", ROOT / "java/src/integrationTest/java")
# Documents name files and classes of tests, so that single tests can be merged and renamed without them.
TEST = r"`(?:tests/\w+/test_\w+\.py|It[A-Z]\w*|[A-Z]\w*Test)`"
DOCUMENTS = [*sorted(ROOT.glob("*.md")), ROOT / "examples/README.md", *sorted((ROOT / "docs").glob("*.md"))]
EACH_DOCUMENT = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


@EACH_DOCUMENT
def test_what_a_document_names_or_links_to_exists_and_no_document_names_a_single_test(document: Path) -> None:
    text = document.read_text()
    for link in re.findall(r"\]\(([^)#:]+)[^):]*\)", text):
        assert (document.parent / link).exists(), link
    for file in re.findall(r"\btests/[\w/]+\.py\b", text):
        assert (ROOT / file).is_file(), file
    for name in re.findall(r"`(It[A-Z]\w*|[A-Z]\w*Test)`", text):
        files = [path for folder in JAVA_TESTS for path in folder.rglob(f"{name}.java")]
        assert len(files) == 1, f"{name} is in {files}"
        assert f"class {name} " in files[0].read_text(), name
    single = r"\w+\.py::\w+|\b(?:It[A-Z]\w*|[A-Z]\w*Test)[.#](?!java\b)[a-z]\w*"
    assert re.findall(single, text) == [], "name the file or the class alone"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"(?m)^#+ (.+)$", re.sub(r"(?ms)^```.*?^```", "", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@EACH_DOCUMENT
def test_every_anchor_that_a_document_links_to_exists(document: Path) -> None:
    for page, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", document.read_text()):
        assert anchor in anchors(document.parent / page if page else document), f"{page}#{anchor}"


def test_every_page_and_anchor_that_the_code_names_exists() -> None:
    sources = [path for folder in ("python", "java/src/main", "proto") for path in (ROOT / folder).rglob("*.*")]
    named = {
        name
        for path in sources
        if path.suffix in {".py", ".java", ".proto"}
        for name in re.findall(r"\bdocs/\w[\w-]*\.md(?:#[\w-]+)?", path.read_text())
    }
    assert len(named) >= 5
    for name in sorted(named):
        page, _, anchor = name.partition("#")
        assert (ROOT / page).is_file(), name
        assert not anchor or anchor in anchors(ROOT / page), name


def test_the_guarantees_of_storage_are_each_shown_by_a_test() -> None:
    table = (ROOT / "docs/storage.md").read_text().partition("## What is guaranteed")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in table.splitlines() if line.startswith("|")][2:]
    assert len(rows) >= 15
    for event, _, _, shown in rows:
        assert re.search(TEST, shown), event


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
        assert re.fullmatch(rf"{TEST}(, {TEST})*", shown), row


def test_the_page_of_promises_is_made_of_the_lines_beside_their_tests() -> None:
    # If this fails: python tests/unit/promise_index.py
    assert promise_index.PAGE.read_text() == promise_index.page()
    assert len(promise_index.PAGE.read_bytes()) <= 10_000, "join two promises, or shorten some"


def test_every_promise_is_one_short_sentence_about_a_known_subject_in_the_comment_of_its_file() -> None:
    found = promise_index.promises()
    assert len(found) >= 60
    for subject, sentence, path in found:
        assert subject in promise_index.SUBJECTS, f"{path.name}: {subject}"
        assert re.fullmatch(r"[A-Z`](?:[^.]|\.(?!\s|$))*\.", sentence), f"{path.name}: one sentence: {sentence!r}"
        assert len(sentence) <= 160, f"{path.name}: {sentence}"
    assert [sentence for sentence, times in Counter(each.sentence for each in found).items() if times > 1] == []
    read = Counter(each.path for each in found)
    for path in promise_index.test_files():
        labels = len(promise_index.LABEL.findall(path.read_text()))
        assert labels == read[path], f"{path.name}: a promise stands in the docstring of the file, or above its class"


def test_documented_limits_are_those_of_the_code() -> None:
    rows = re.findall(r"(?m)^\| [^|]+ \| (\d+) \| `(\w+)\.(\w+)` \| [^|]+ \|$", (ROOT / "docs/limits.md").read_text())
    assert len(rows) >= 20
    for number, name, constant in rows:
        (file,) = (ROOT / "java/src/main/java").rglob(f"{name}.java")
        declared = re.search(rf"(?m) {constant} =\s*(?:new \w+\()?([\d_]+)L?(?: << (\d+))?L?[;,]", file.read_text())
        assert declared, f"{name}.{constant}"
        assert int(number) == int(declared[1].replace("_", "")) << int(declared[2] or 0), f"{name}.{constant}"


def test_the_table_of_options_is_made_of_the_rules_beside_their_fields() -> None:
    # If this fails: python tests/unit/option_table.py
    assert f"{option_table.BEGIN}{option_table.table()}{option_table.END}" in option_table.PAGE.read_text()


def test_every_file_of_the_walks_exists_and_is_visited_once() -> None:
    section = (ROOT / "ARCHITECTURE.md").read_text().partition("## Walks")[2].partition("\n## ")[0]
    homes = {"python": ROOT / "python/tensorflow_ignite", "java": ROOT / "java/src/main/java/io/tensorflowignite"}
    for language, path in re.findall(r"`(python|java)/…/([^`]+)`", section):
        assert (homes[language] / path).is_file(), f"{language}/…/{path}"
    walks = re.split(r"^### ", section, flags=re.MULTILINE)[1:]
    assert len(walks) == 3
    for walk in walks:
        lines = [line for line in walk.splitlines() if line.startswith("| `")]
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
        files = [row[0] for row in rows]
        assert len(files) >= 6
        assert len(set(files)) == len(files), walk
        assert all(len(row) == 3 and all(row) for row in rows), walk


def test_all_pages_together_have_at_most_260_kib() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    assert sum(len(page.read_bytes()) for page in pages) <= 260 * 1024, "say each fact on one page, and link to it"


@EACH_DOCUMENT
def test_no_document_uses_words_that_the_glossary_replaces(document: Path) -> None:
    # The table of the words that are replaced.
    text = re.sub(r"Not this, but that\b.*?(?=\n## |\Z)", "", document.read_text(), flags=re.DOTALL)
    assert words.in_prose(re.sub(r"`[^`]*`", "", text)) == [], "see tests/unit/words.py"


def test_every_class_that_the_pages_for_developers_name_exists() -> None:
    text = "\n".join((ROOT / page).read_text() for page in ("ARCHITECTURE.md", "docs/job-states.md"))
    named = set(re.findall(r"`([A-Z][a-z]+(?:[A-Z]\w*)?)(?:\.\w+)?`", text))
    known = {path.stem for path in (ROOT / "java").rglob("*.java")}
    for folder, declared in {
        "python": r"(?m)^class (\w+)",
        "proto": r"(?m)^ *(?:message|enum|service|rpc) (\w+)",
    }.items():
        for path in [*(ROOT / folder).rglob("*.py"), *(ROOT / folder).rglob("*.proto")]:
            known.update(re.findall(declared, path.read_text()))
    assert len(named) >= 15
    assert sorted(named - known) == []


def command_lines(text: str) -> Iterator[list[str]]:
    """Every call of the command line in a document, as words."""
    for line in re.findall(r"(?m)^(?: {4,}|\$ )?(tensorflow-ignite [^\n`]+)$|`(tensorflow-ignite [^`\n]+)`", text):
        shown = re.sub(r"\s{2,}#.*| #.*|[;|].*|\bor\b.*", "", line[0] or line[1])
        with contextlib.suppress(ValueError):  # a quote without its end: the line goes on
            yield shlex.split(shown.rstrip("\\"))


@EACH_DOCUMENT
def test_every_command_and_option_that_a_document_shows_exists(document: Path) -> None:
    if document.name == "CHANGELOG.md":
        return
    program = typer.main.get_command(app)
    for call in command_lines(document.read_text()):
        command, below = program, iter(call[1:])
        for word in below:
            if word.startswith("-"):
                name = word.partition("=")[0]
                known = {
                    option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)
                }
                if command.context_settings.get("ignore_unknown_options") and name not in known:
                    break  # the options of another program
                assert name in known | {"--help", "-h"}, f"{name} of {' '.join(call)}"
                taking = [p for p in command.params if name in p.opts and not getattr(p, "is_flag", False)]
                if taking and "=" not in word:
                    next(below, None)
            elif word in getattr(command, "commands", {}):
                command = command.commands[word]
            elif command.name == "submit":
                break  # what follows the code belongs to the script


@EACH_DOCUMENT
def test_the_python_that_a_document_shows_compiles(document: Path) -> None:
    for source in re.findall(r"(?ms)^( *)```python\n(.*?)\n *```", document.read_text()):
        compile(textwrap.dedent(source[1]), str(document), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
