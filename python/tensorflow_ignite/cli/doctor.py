"""``doctor``: finds what keeps this machine or the cluster from training, step by step, each with its remedy."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from tensorflow_ignite.cli.credentials import address_of, addresses_of, resolve_credentials
from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.cli.options import Address, Discovery, Json, Python, option
from tensorflow_ignite.cli.render import count, paint, print_json
from tensorflow_ignite.errors import InvalidRequestError

if TYPE_CHECKING:
    from tensorflow_ignite.doctor import Finding

_MARKS = {"ok": ("✓", "ok"), "warning": ("!", "!"), "failed": ("✗", "FAILED")}
_COLOURS = {"ok": "green", "warning": "yellow", "failed": "red"}
_SECTIONS = {"machine": "this machine", "cluster": "the cluster"}
_FAILED = 1
_STEP_WIDTH = 20
# Two spaces, the mark, and a space on either side of the step.
_MARK_WIDTH = 5


def doctor(
    context: typer.Context,
    config: Annotated[
        str | None, option("--config", "FILE", "Ignite's Spring XML, as nodes here are started with.")
    ] = None,
    host: Annotated[str | None, option("--host", "ADDRESS", "The address that a node here would bind to.")] = None,
    port: Annotated[str | None, option("--port", "PORTS", "Of its API; 10820..10919 when left out.")] = None,
    discovery: Discovery = None,
    python: Python = None,
    deep: Annotated[bool, typer.Option("--deep", help="Import TensorFlow too, which takes seconds.")] = False,
    thin: Annotated[
        str | None,
        option(
            "--thin",
            "HOST:PORT",
            "A node's port for Ignite's thin clients, called when no API answers; port 10800 when left out.",
        ),
    ] = None,
    only: Annotated[str | None, option("--only", "SECTION", "machine or cluster; both when left out.")] = None,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Find what keeps nodes and jobs from running, step by step, with the remedy for each.

    First this machine: Java, jars, Python, TensorFlow, ports, memory. Then
    the cluster: whether it answers and is active, its nodes, their agents,
    what differs between them, whether each is reached from here.
    Changes nothing. The exit code is 1 when a step fails.

    \b
    Examples:
      tensorflow-ignite doctor
      tensorflow-ignite doctor --only machine --config node.xml --deep
      tensorflow-ignite doctor --only cluster --address node1:10820
      tensorflow-ignite doctor --json | jq -r '.findings[].remedy'
    """
    if only not in (None, *_SECTIONS):
        raise CommandLineError(f"--only {only!r} is no section. Sections are {', '.join(_SECTIONS)}. Name one of them.")
    # gRPC's own lines on stderr would stand between ours.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from tensorflow_ignite.doctor import Request, examine

    request = Request(
        sections=tuple(section for section in ("machine", "cluster") if only in (None, section)),
        config=config,
        host=host,
        port=port,
        discovery=discovery,
        python=python,
        deep=deep,
        address=address_of(context, address),
        thin=thin,
        credentials=resolve_credentials(context, addresses_of(context, address)),
    )
    try:
        findings = examine(request)
        found = list(findings) if json_output else _print(findings, sys.stdout)
    except InvalidRequestError as error:
        raise CommandLineError(str(error)) from None
    passed = all(finding.outcome != "failed" for finding in found)
    if json_output:
        print_json({"ok": passed, "findings": [finding.to_dict() for finding in found]})
    raise typer.Exit(0 if passed else _FAILED)


def _print(findings: Iterable[Finding], output: TextIO) -> list[Finding]:
    """Prints each finding as soon as it is known, and their summary at the end."""
    printed: list[Finding] = []
    for finding in findings:
        if not printed or printed[-1].section != finding.section:
            print(("\n" if printed else "") + paint(_SECTIONS[finding.section], "bold"), file=output)
        printed.append(finding)
        print(_text(finding, output), file=output, flush=True)
    print(f"\n{_summary(printed)}", file=output)
    return printed


def _text(finding: Finding, output: TextIO) -> str:
    mark = paint(_mark(finding, output), _COLOURS[finding.outcome], output)
    lines = _wrapped(finding.text, output)
    if finding.remedy:
        arrow = "→" if _can_show("→", output) else "->"
        lines += _wrapped(f"{arrow} {finding.remedy}", output)
    indent = "\n" + " " * (_STEP_WIDTH + _MARK_WIDTH)
    return f"  {mark} {finding.step.ljust(_STEP_WIDTH)} {indent.join(lines)}"


def _wrapped(text: str, output: TextIO) -> list[str]:
    """The text in lines that fit a terminal; in one line for files and pipes."""
    if not output.isatty():
        return [text]
    width = shutil.get_terminal_size().columns - _STEP_WIDTH - _MARK_WIDTH
    # Users copy paths, addresses and commands: no word is cut.
    return textwrap.wrap(text, max(width, 40), break_long_words=False, break_on_hyphens=False)


def _mark(finding: Finding, output: TextIO) -> str:
    sign, word = _MARKS[finding.outcome]
    return sign if _can_show(sign, output) else word


def _can_show(sign: str, output: TextIO) -> bool:
    try:
        sign.encode(output.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _summary(findings: list[Finding]) -> str:
    failures = sum(finding.outcome == "failed" for finding in findings)
    warnings = sum(finding.outcome == "warning" for finding in findings)
    rest = f", {count(warnings, 'warning')}" if warnings else ""
    if failures:
        return paint(f"{failures} of {count(len(findings), 'step')} failed", "red") + rest
    return paint(f"no step of {len(findings)} failed", "green") + rest
