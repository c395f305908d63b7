"""``doctor``: what keeps this machine or the cluster from training, step by step, each with its remedy."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from tensorflow_ignite.cli.identity import address_of, addresses_of, caller
from tensorflow_ignite.cli.options import Address, CommandLineError, Json
from tensorflow_ignite.cli.render import count, paint, print_json
from tensorflow_ignite.errors import InvalidRequestError

if TYPE_CHECKING:
    from tensorflow_ignite.doctor import Finding

__all__ = ["doctor"]

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
        str | None,
        typer.Option("--config", metavar="FILE", help="Ignite's Spring XML, as nodes here are started with."),
    ] = None,
    host: Annotated[
        str | None, typer.Option("--host", metavar="ADDRESS", help="The address that a node here would bind to.")
    ] = None,
    port: Annotated[
        str | None, typer.Option("--port", metavar="PORTS", help="Of its API; 10820..10919 when left out.")
    ] = None,
    discovery: Annotated[
        str | None,
        typer.Option("--discovery", metavar="ADDRESS", help="Where the nodes of the cluster find each other."),
    ] = None,
    python: Annotated[
        str | None, typer.Option("--python", metavar="PATH", help="The interpreter that runs tasks; else this one.")
    ] = None,
    deep: Annotated[bool, typer.Option("--deep", help="Import TensorFlow too, which takes seconds.")] = False,
    thin: Annotated[
        str | None,
        typer.Option(
            "--thin",
            metavar="HOST:PORT",
            help="A node's port for Ignite's thin clients, asked when no API answers; port 10800 when left out.",
        ),
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", metavar="SECTION", help="machine or cluster; both when left out.")
    ] = None,
    address: Address = None,
    json_output: Json = False,
) -> None:
    """Look, step by step, for what keeps nodes and jobs from running, and tell the remedy.

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
    # gRPC's own lines on stderr would only stand between ours.
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
        credentials=caller(context, addresses_of(context, address)),
    )
    try:
        findings = examine(request)
        told = list(findings) if json_output else _tell(findings, sys.stdout)
    except InvalidRequestError as error:
        raise CommandLineError(str(error)) from None
    fit = all(finding.outcome != "failed" for finding in told)
    if json_output:
        print_json({"ok": fit, "findings": [finding.to_dict() for finding in told]})
    raise typer.Exit(0 if fit else _FAILED)


def _tell(findings: Iterable[Finding], output: TextIO) -> list[Finding]:
    """Prints each finding as soon as it is known, and the sum of them."""
    told: list[Finding] = []
    for finding in findings:
        if not told or told[-1].section != finding.section:
            print(("\n" if told else "") + paint(_SECTIONS[finding.section], "bold"), file=output)
        told.append(finding)
        print(_text(finding, output), file=output, flush=True)
    print(f"\n{_sum(told)}", file=output)
    return told


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
    # Paths, addresses and commands are to be copied: nothing is cut within a word.
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


def _sum(told: list[Finding]) -> str:
    failures = sum(finding.outcome == "failed" for finding in told)
    warnings = sum(finding.outcome == "warning" for finding in told)
    rest = f", {count(warnings, 'warning')}" if warnings else ""
    if failures:
        return paint(f"{failures} of {count(len(told), 'step')} failed", "red") + rest
    return paint(f"no step of {len(told)} failed", "green") + rest
