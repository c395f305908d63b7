"""Fills build/docs/source, from which the site is built: the documents as they are, and a reference of the sources.

The documents keep their relative paths, so their links work in the repository and in the site. The reference is made of
what the programs know themselves: options and help of the command line, Javadoc of the bean, comments of proto/.
"""

from __future__ import annotations

import inspect
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from tensorflow_ignite.cli.app import PROGRAM, app

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "build" / "docs" / "source"
# Documents, and the files that they link to.
COPIED = ("*.md", "docs/*.md", "docs/*.png", "examples/*", "java/config/*", "LICENSE")
# The public names, by the modules that define them.
PYTHON = {
    "Jobs": ("jobs.client.connect", "jobs.client.Client", "jobs.handle.JobHandle", "jobs.archive.pack"),
    "Rows": ("data.dataset.dataset", "data.batches.batches", "data.table.read_table", "data.loading.load.load"),
    "In a task": (
        "train.context.context",
        "train.distribution.strategy",
        "train.callback.CheckpointCallback",
        "train.rounds.rounds",
        "train.training_round.Round",
        "train.checkpoint.checkpoint",
        "train.checkpoint.TrainCheckpoint",
        "train.progress.report",
        "train.progress.busy",
        "task.Task",
    ),
    "Files": ("storage.filesystem.IgniteFileSystem",),
    "Values": (
        "spec.Job",
        "spec.JobSpec",
        "spec.Attempt",
        "spec.TaskStatus",
        "spec.Progress",
        "spec.RoundProgress",
        "spec.Publication",
        "spec.Node",
    ),
    "Credentials": ("net.credentials.Credentials",),
    "Nodes": ("node.host.run_node", "testing.cluster.LocalCluster"),
    "Errors": ("errors",),
}
# A service, message or enum of proto/ with the comment above it.
_BLOCK = re.compile(r"^((?://[^\n]*\n)*)(service|message|enum) (\w+) \{(?:\}|.*?\n\})", re.DOTALL | re.MULTILINE)


def main() -> None:
    """Fills the folder."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    for pattern in COPIED:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file():
                target = SOURCE / path.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, target)
    reference = SOURCE / "reference"
    reference.mkdir()
    for name, lines in {"cli": command_line(), "python": python(), "bean": bean(), "proto": proto()}.items():
        (reference / f"{name}.md").write_text("\n".join(lines) + "\n")


def command_line() -> Iterator[str]:
    """Every command with its options."""
    yield "# Command line\n"
    yield "`COMMAND --help` prints the same. Options of the program come before the command.\n"
    yield from _command(PROGRAM, typer.main.get_command(app))


def _command(path: str, command: Any) -> Iterator[str]:
    yield f"## {path}\n" if path == PROGRAM or path.count(" ") == 1 else f"### {path}\n"
    text, _, examples = inspect.cleandoc(command.help or "").replace("\b\n", "").partition("Examples:\n")
    yield text.strip() + "\n"
    if examples:
        yield "```\n" + inspect.cleandoc(examples) + "\n```\n"
    rows = []
    for parameter in command.params:
        is_option = parameter.param_type_name == "option"
        names = (
            " ".join([*parameter.opts, *parameter.secondary_opts])
            if is_option
            else (parameter.metavar or parameter.name)
        )
        value = f" {parameter.metavar}" if is_option and parameter.metavar and not parameter.is_flag else ""
        if names != "--help":
            rows.append(f"| `{_cell(names + value)}` | {_cell(getattr(parameter, 'help', None) or '')} |")
    if rows:
        yield "\n".join(["| option | meaning |", "| --- | --- |", *rows]) + "\n"
    for name, below in getattr(command, "commands", {}).items():
        yield from _command(f"{path} {name}", below)


def python() -> Iterator[str]:
    """Directives for mkdocstrings."""
    yield "# Python\n"
    yield "`import tensorflow_ignite as tfi` has the names of *Jobs* and *Rows*, `Credentials`, and the modules"
    yield "`train`, `errors`, `spec` and `testing`.\n"
    for title, names in PYTHON.items():
        yield f"# {title}\n"
        for name in names:
            yield f"::: tensorflow_ignite.{name}\n"


def bean() -> Iterator[str]:
    """The setters of TensorFlowService."""
    yield "# Settings of the bean TensorFlowService\n"
    yield "The same on every node of a cluster. [Defaults](../docs/install.md#settings-of-the-cluster).\n"
    yield "| property | type | meaning |"
    yield "| --- | --- | --- |"
    text = (ROOT / "java/src/main/java/io/tensorflowignite/TensorFlowService.java").read_text()
    setter = r"/\*\*((?:(?!\*/).)*)\*/\s+public void set(\w+)\(([\w\[\]<>., ]+?) \w+\)"
    for comment, name, kind in re.findall(setter, text, re.DOTALL):
        words = " ".join(re.sub(r"^\s*\* ?", "", comment, flags=re.MULTILINE).split())
        words = re.sub(r"\{@(?:link|code) ([^}]*)\}", r"`\1`", words)
        yield f"| `{name[0].lower()}{name[1:]}` | `{_cell(kind)}` | {_cell(words)} |"


def proto() -> Iterator[str]:
    """The files of proto/, block by block."""
    yield "# Contract\n"
    yield "Messages and calls between clients, nodes and agents: [architecture](../ARCHITECTURE.md).\n"
    for path in sorted((ROOT / "proto").rglob("*.proto")):
        yield f"## {path.name}\n"
        for found in _BLOCK.finditer(path.read_text()):
            yield f"### {found[2]} {found[3]}\n"
            yield f"```protobuf\n{found[0].strip()}\n```\n"


def _cell(text: str) -> str:
    return (
        " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;") if "`" not in text else " ".join(text.split())
    )


if __name__ == "__main__":
    main()
