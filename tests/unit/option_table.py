"""The table of a job's options in docs/jobs.md, made of the rules beside their fields in job.proto.

`python tests/unit/option_table.py` writes it.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from tensorflow_ignite.base.messages import enum_text
from tensorflow_ignite.jobs import options
from tensorflow_ignite.spec import JobSpec
from tensorflow_ignite.v1 import job_pb2

PAGE = Path(__file__).parents[2] / "docs/jobs.md"
BEGIN, END = "<!-- options: made of proto/tensorflow_ignite/v1/job.proto -->\n", "<!-- options end -->\n"


def rule_of(field: Any) -> Any:
    return field.GetOptions().Extensions[job_pb2.rule]


def table() -> str:
    """The options, one in a line, in the order of the message."""
    lines = ["| option | meaning | from, to | kinds of job |", "| --- | --- | --- | --- |"]
    for field in dataclasses.fields(JobSpec):
        described = job_pb2.JobSpec.DESCRIPTOR.fields_by_name[field.name]
        if field.name in options.GROUPS:
            lines.append(_line(f"**{field.name}**", described))
            lines += [_line(f"`{field.name}.{each.name}`", each) for each in described.message_type.fields]
        elif rule_of(described).help:
            lines.append(_line(f"`{field.name}`", described))
    return "\n".join(lines) + "\n"


def _line(name: str, field: Any) -> str:
    rule = rule_of(field)
    values = ""
    if rule.most:
        values = f"{rule.least:,g}, {rule.most:,g}" if rule.most != 31_536_000 else f"{rule.least:g} s, a year"
    elif rule.least:
        values = f"{rule.least:g}"
    elif field.enum_type is not None and field.name != "kind":
        message = field.containing_type._concrete_class
        values = ", ".join(enum_text(message(**{field.name: number}), field.name) for number in _numbers(field))
    kinds = job_pb2.JobKind.DESCRIPTOR.values_by_number
    named = [kinds[kind].name.removeprefix("JOB_KIND_").lower().replace("_", "-") for kind in rule.kinds]
    every = {number for number in kinds if number}
    missing = sorted(every - set(rule.kinds)) if named else []
    if len(missing) == 1:
        named = [f"all but {kinds[missing[0]].name.removeprefix('JOB_KIND_').lower().replace('_', '-')}"]
    line = f"| {name} | {rule.help} | {values} | {', '.join(named)}"
    return f"{line.rstrip('| ')} |"


def _numbers(field: Any) -> list[int]:
    return [value.number for value in field.enum_type.values if value.number]


def write() -> None:
    """Puts the table into the page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{table()}{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    write()
