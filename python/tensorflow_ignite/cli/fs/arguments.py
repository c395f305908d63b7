"""Arguments of the command line that name files: paths of the cluster, paths of this machine, and URLs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import typer

from tensorflow_ignite.base import system
from tensorflow_ignite.cli.credentials import address_of, resolve_credentials
from tensorflow_ignite.cli.errors import CommandLineError
from tensorflow_ignite.cli.fs.location import Location, is_pattern
from tensorflow_ignite.errors import InvalidRequestError, StorageError, StoredFileNotFoundError

SCHEME = "ignite"


class Locations:
    """Reads the arguments of a command; each cluster that they name is connected once."""

    def __init__(self, context: typer.Context, address: str | None, *, timeout: float = 30.0, ask: bool = True) -> None:
        """Makes no call yet.

        Args:
            context: Of the command; an address may also stand before it.
            address: The address option of the command; None: see `address_of`.
            timeout: Seconds for each call.
            ask: Whether the terminal may prompt for a password that is nowhere else.
        """
        self._address = address_of(context, address)
        self._context = context
        self._ask = ask
        self._timeout = timeout
        self._clusters: dict[str, Any] = {}

    def parse(self, text: str) -> Location:
        """The location that an argument names, also if nothing exists there.

        Raises:
            CommandLineError: It cannot be read.
        """
        scheme, colon, rest = text.partition(":")
        if colon and scheme.lower() == SCHEME:
            return self._in_cluster(text, rest)
        if scheme == "file" and rest.startswith("///"):
            has_drive = os.path.splitdrive(rest[3:])[0]
            text = rest[3:] if has_drive else rest[2:]
        elif colon and (rest.startswith("//") or "::" in text):
            return _at_url(text)
        if not text:
            raise CommandLineError(
                "an argument is empty. It must name a file or directory. Leave it out or fill it in."
            )
        from tensorflow_ignite.cli.fs.local import LocalFiles

        path = system.slashed(os.path.expanduser(text))
        stripped = path.rstrip("/")
        if stripped != path and not os.path.splitdrive(stripped)[1]:
            stripped += "/"  # the root, or that of a drive
        return Location(LocalFiles(), stripped, names_directory=path.endswith("/"))

    def expand(self, texts: Sequence[str]) -> list[Location]:
        """The locations that arguments name, patterns expanded, in the order given.

        Raises:
            CommandLineError: An argument cannot be read.
            StoredFileNotFoundError: A pattern matches nothing.
        """
        found: list[Location] = []
        for text in texts:
            location = self.parse(text)
            matches = location.expand() if is_pattern(location.path) else [location]
            if not matches:
                raise StoredFileNotFoundError(
                    f"nothing matches {location.url}. In a pattern * stands for any characters but a slash, ? for one, "
                    "[ab] for one of these, ** for any number of directories. List the directory: "
                    f"tensorflow-ignite fs ls {_directory_above(location).url}"
                )
            found += matches
        return found

    def in_cluster(self, texts: Sequence[str], *, command: str) -> list[Location]:
        """The same for a command that works on the cluster's files only.

        Raises:
            CommandLineError: An argument is not a path of the cluster.
        """
        for text in texts:
            if text.partition(":")[0].lower() != SCHEME:
                raise CommandLineError(
                    f"{text!r} is no path of the cluster. `fs {command}` is for files inside the cluster, whose paths "
                    f"begin with ignite:///. Write: tensorflow-ignite fs {command} ignite:///{text.lstrip('/')}"
                )
        return self.expand(texts)

    def _in_cluster(self, text: str, rest: str) -> Location:
        if not rest.startswith("//"):
            raise CommandLineError(
                f"{text!r} cannot be read. A path of the cluster is ignite:///path, or ignite://HOST:PORT/path. "
                f"Write: ignite:///{rest.lstrip('/')}"
            )
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        from tensorflow_ignite.net.addresses import parse_addresses
        from tensorflow_ignite.net.resolve import resolve
        from tensorflow_ignite.storage.filesystem import IgniteFileSystem
        from tensorflow_ignite.storage.paths import parse

        try:
            parsed = parse(text)
        except InvalidRequestError as error:
            raise CommandLineError(str(error)) from None
        addresses = parsed.addresses or (parse_addresses(self._address) if self._address else None)
        prefix = f"{SCHEME}://{rest[2:].partition('/')[0]}"
        if prefix not in self._clusters:
            credentials = resolve_credentials(self._context, addresses or resolve(), ask=self._ask)
            self._clusters[prefix] = IgniteFileSystem(
                ",".join(addresses) if addresses else None, self._timeout, credentials=credentials
            )
        return Location(self._clusters[prefix], parsed.path, prefix, text.endswith("/"))


def _at_url(text: str) -> Location:
    try:
        from fsspec.core import url_to_fs

        filesystem, path = url_to_fs(text)
    except ImportError as error:
        raise CommandLineError(
            f"{text!r} cannot be reached: {error}. Each kind of URL has its Python package, beside this program. "
            "Install it with pip."
        ) from None
    except ValueError as error:
        raise CommandLineError(
            f"{text!r} cannot be read: {error}. A URL begins with the scheme of a file system of fsspec; paths of the "
            "cluster begin with ignite:///. Write a URL with one of these schemes."
        ) from None
    except Exception as error:
        # The first URL of a chain opens the file that the next one names.
        raise StorageError(
            f"{text} cannot be opened: {type(error).__name__}: {error}. The URL behind a :: names a file in which the "
            "URL before it finds the path. Check that file."
        ) from error
    return Location(filesystem, path.rstrip("/") or path, names_directory=text.endswith("/"))


def _directory_above(pattern: Location) -> Location:
    """The directory below which a pattern begins."""
    parts = pattern.path.split("/")
    literal = next(number for number, part in enumerate(parts) if is_pattern(part))
    return pattern.at("/".join(parts[:literal]) or "/")
