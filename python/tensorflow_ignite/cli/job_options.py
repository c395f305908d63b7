"""The options of a job on the command line: of a job file, of flags, and of ``--set``, each given once."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.jobs import options

_SUFFIXES = (".yaml", ".yml")
_OTHER_SUFFIXES = (".toml", ".json")
# The parser takes a second for 50 KiB.
_MAX_BYTES = 256 * 1024
# Paths of these are relative to the folder of the file.
_PATHS = ("environment.requirements", "environment.wheels")
_OF_FILE = ("code", "args")
_EXAMPLE = "for example:\n  code: train.py\n  cache: images\n  workers:\n    per_node: 2"


def is_job_file(code: str) -> bool:
    """Whether the code of a command is a job file.

    Raises:
        CommandLineError: It is a file of options that is not YAML.
    """
    if code.lower().endswith(_OTHER_SUFFIXES):
        raise CommandLineError(
            f"{code} is neither code nor a job file. A job file is YAML, and its name ends in .yaml or .yml, {_EXAMPLE}"
        )
    return code.lower().endswith(_SUFFIXES)


class JobOptions:
    """Options with the place that each comes from, which the errors name.

    Attributes:
        code: The code that a job file names; None: there is no file.
        args: The script's arguments in it; None: it has none.
    """

    def __init__(self) -> None:
        """Has none."""
        self.code: str | None = None
        self.args: list[str] | None = None
        self._values: dict[tuple[str, str], tuple[Any, str]] = {}

    def add(self, option: str, value: Any, place: str, key: str = "") -> None:
        """Adds an option.

        Args:
            option: Its name: ``workers.per_node``, or of a group alone with all defaults.
            value: Its value, of the option's type.
            place: Where it comes from: ``--name``.
            key: Of a mapping, the name of the entry.

        Raises:
            CommandLineError: It was added before.
        """
        earlier = self._values.get((option, key))
        if earlier is not None:
            name = f"{option}.{key}" if key else option
            raise CommandLineError(
                f"{name} is given twice: {earlier[1]}, and {place}. An option has one value. Give it once."
            )
        self._values[(option, key)] = value, place

    def add_text(self, option: str, text: str, place: str) -> None:
        """Adds an option whose value is a text of the command line.

        Raises:
            CommandLineError: The value is of another type, or the option was added before.
        """
        with self._at(place):
            self.add(option, options.read(option, text, options.names()[option]), place)

    def add_setting(self, setting: str) -> None:
        """Adds what ``--set`` gives: ``workers.per_node=2``; ``access.caches=a,b``; ``evaluator`` with all defaults.

        Raises:
            CommandLineError: There is no such option, its value is of another type, or it was added before.
        """
        name, equals, text = setting.partition("=")
        place = f"--set {name}"
        if equals and name == "strategy":
            name = "strategy.kind"
        if not equals:
            if name not in options.GROUPS:
                raise CommandLineError(
                    f"--set {setting!r} is not OPTION=VALUE, or the name of a group. For example: "
                    "--set workers.per_node=2"
                )
            self.add(name, None, place)
            return
        with self._at(place):
            option, key, hint = options.of_name(name)
            if options.is_mapping(hint) and not key:
                raise InvalidRequestError(
                    f"{name} has values by names. Give one name at a time. For example: --set {name}.NAME=VALUE"
                )
            if options.is_list(hint):
                self.add(option, tuple(filter(None, map(str.strip, text.split(",")))), place)
            else:
                self.add(option, options.read(name, text, hint), place, key)

    def add_file(self, path: str) -> None:
        """Adds the options of a job file.

        Raises:
            CommandLineError: It cannot be read, is not YAML, or breaks a rule; with the line.
        """
        import yaml

        try:
            with Path(path).open("rb") as file:
                content = file.read(_MAX_BYTES + 1)
            if len(content) > _MAX_BYTES:
                raise CommandLineError(
                    f"the job file {path} has more than {_MAX_BYTES:,} bytes. This is the most of a job file. Put long "
                    "lists into a file of the code, which the script reads."
                )
            text = content.decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandLineError(
                f"the job file {path} cannot be read: {error}. It is a text file in UTF-8."
            ) from None
        try:
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except (yaml.YAMLError, RecursionError, ValueError, OverflowError) as error:
            mark = getattr(error, "problem_mark", None)
            line = f" line {mark.line + 1}" if mark else ""
            reason = getattr(error, "problem", None) or getattr(error, "reason", error)
            raise CommandLineError(
                f"{path}{line} is not YAML: {reason}. A job file has options by their names, {_EXAMPLE}"
            ) from None
        for name, node, place in _entries(path, "the file", root):
            with self._at(place):
                self._add_node(path, name, node, place)
        if self.code is None:
            raise CommandLineError(f"{path} has no code. A job file names the code of its job, {_EXAMPLE}")

    def _add_node(self, path: str, name: str, node: Any, place: str) -> None:
        folder = Path(path).parent
        if name in _OF_FILE:
            if name == "code":
                text = _text(name, node)
                if is_job_file(text):
                    raise InvalidRequestError(
                        f"code is {text!r}, a job file. It is a script, a folder or a .zip archive. Name one."
                    )
                self.code = str(folder / text) if text else None
            else:
                self.args = _texts(name, node)
        elif name in options.GROUPS and not _is_scalar(node):
            if not node.value:
                self.add(name, None, place)
            for option, value, line in _entries(path, name, node):
                with self._at(line):
                    self._add_option(path, f"{name}.{option}", value, line)
        elif name == "strategy" and _text(name, node):
            self.add("strategy.kind", options.read(name, _text(name, node), options.names()["strategy.kind"]), place)
        elif name in options.GROUPS:
            if _text(name, node):
                raise InvalidRequestError(
                    f"{name} is {_text(name, node)!r}. It is a group of options. Indent its options below it."
                )
            self.add(name, None, place)
        else:
            self._add_option(path, name, node, place)

    def _add_option(self, path: str, name: str, node: Any, place: str) -> None:
        option, key, hint = options.of_name(name)
        if key:
            self.add(option, options.read(name, _text(name, node), hint), place, key)
        elif options.is_mapping(hint):
            for key, value, line in _entries(path, name, node):
                self.add(option, options.read(f"{name}.{key}", _text(f"{name}.{key}", value), hint), line, key)
        elif options.is_list(hint):
            self.add(option, tuple(_below(path, option, each) for each in _texts(name, node)), place)
        else:
            self.add(option, options.read(name, _below(path, option, _text(name, node)), hint), place)

    def arguments(self) -> dict[str, Any]:
        """The arguments of `tensorflow_ignite.Client.submit` for these options."""
        groups = {option: options.GROUPS[option]() for option, _ in self._values if option in options.GROUPS}
        values = {name: value for name, (value, _) in self._values.items() if name[0] not in options.GROUPS}
        return groups | options.arguments(values)

    @contextlib.contextmanager
    def placed(self) -> Iterator[None]:
        """Lets an error about an option say where the option comes from.

        Raises:
            CommandLineError: In place of an InvalidRequestError that begins with the name of an option that was given.
        """
        try:
            yield
        except InvalidRequestError as error:
            found = re.match(r"[a-z_]+(\.\w+)*", str(error))
            name = found[0] if found else ""
            places = [
                # An error about an entry of a mapping quotes its name.
                (f"'{key}'" not in str(error), place)
                for (option, key), (_, place) in self._values.items()
                if name and name in (option, f"{option}.{key}", option.partition(".")[0])
            ]
            if places:
                raise CommandLineError(f"{min(places, key=lambda each: each[0])[1]}: {error}") from None
            raise

    @contextlib.contextmanager
    def _at(self, place: str) -> Iterator[None]:
        try:
            yield
        except InvalidRequestError as error:
            raise CommandLineError(f"{place}: {error}") from None


def complete_setting(incomplete: str) -> list[str]:
    """Completes the name of an option, or of a group, for ``--set``."""
    names = [name for group in options.GROUPS for name in (group, *_settings(group))]
    return [name for name in names if name.startswith(incomplete)]


def _settings(group: str) -> Iterator[str]:
    for name, hint in options.names().items():
        if name.startswith(f"{group}."):
            yield f"{name}." if options.is_mapping(hint) else f"{name}="


def add_variables(given: JobOptions, items: Sequence[str] | None) -> None:
    """Adds the variables of ``--env``.

    Raises:
        CommandLineError: One is not NAME=VALUE, or was added before.
    """
    for item in items or []:
        name, equals, text = item.partition("=")
        if not equals or not name.rpartition(":")[2]:
            raise CommandLineError(
                f"--env {item!r} is not NAME=VALUE. For example: --env SEED=7, or for parameter servers: "
                "--env ps:SEED=7"
            )
        given.add("environment.variables", text, "--env", name)


def _entries(path: str, what: str, node: Any) -> Iterator[tuple[str, Any, str]]:
    """The entries of a mapping: name, node, and place."""
    if node is None or node.id != "mapping":
        line = f" line {node.start_mark.line + 1}" if node is not None else ""
        raise CommandLineError(f"{path}{line}: {what} has no options by their names, {_EXAMPLE}")
    seen: dict[str, int] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        name = _text("a name", key) if _is_scalar(key) else ""
        if not name:
            raise CommandLineError(
                f"{path} line {line}: {what} has an entry without a name. An entry is NAME: VALUE. Write a name."
            )
        if name in seen:
            raise CommandLineError(
                f"{path} line {line}: {name} is given twice, the first time in line {seen[name]}. An option has one "
                "value. Give it once."
            )
        seen[name] = line
        yield name, value, f"{path} line {line}"


def _is_scalar(node: Any) -> bool:
    return bool(node.id == "scalar")


def _text(name: str, node: Any) -> str:
    """The text of a scalar as it is in the file: the option's type decides the meaning, not YAML's type."""
    if not _is_scalar(node):
        raise InvalidRequestError(f"{name} has a list or options below it. It is one value. Write {name}: VALUE.")
    return "" if node.tag.endswith(":null") else str(node.value)


def _texts(name: str, node: Any) -> list[str]:
    if node.id != "sequence":
        raise InvalidRequestError(f"{name} is no list. It is a list, also of one value. Write {name}: [VALUE].")
    return [_text(name, each) for each in node.value]


def _below(path: str, option: str, text: str) -> str:
    return str(Path(path).parent / text) if option in _PATHS and text else text
