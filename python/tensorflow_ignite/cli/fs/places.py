"""What an argument of the command line names: a path of the cluster, of this machine, or of another file system."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from tensorflow_ignite.cli.fs.globs import is_pattern
from tensorflow_ignite.cli.fs.stores import ClusterStore, Entry, Store
from tensorflow_ignite.cli.identity import address_of, caller
from tensorflow_ignite.cli.options import CommandLineError
from tensorflow_ignite.errors import InvalidRequestError, StoredFileNotFoundError, StoredNotADirectoryError

if TYPE_CHECKING:
    from tensorflow_ignite.storage.files import FileInfo

__all__ = ["ClusterPath", "Place", "Places"]

SCHEME = "ignite"


@dataclass(frozen=True)
class Place:
    """A path in a store.

    Attributes:
        store: Where.
        path: As the store writes it, without a slash at its end.
        is_directory: It was written with a slash at its end.
    """

    store: Store
    path: str
    is_directory: bool = False

    @property
    def url(self) -> str:
        """As a user would write it."""
        return self.store.url(self.path)

    def find(self) -> Entry | None:
        """What is there; None: nothing.

        Raises:
            StoredNotADirectoryError: It was written with a slash at its end, and is a file.
        """
        entry = self.store.find(self.path)
        if entry is not None and self.is_directory and not entry.is_directory:
            raise StoredNotADirectoryError(
                f"{self.url} is a file. A path with a slash at its end names a directory. Leave the slash out."
            )
        return entry


@dataclass(frozen=True)
class ClusterPath:
    """A path in the cluster."""

    store: ClusterStore
    path: str

    @property
    def url(self) -> str:
        """As a user would write it."""
        return self.store.url(self.path)

    def stat(self) -> FileInfo:
        """What is there."""
        return self.store.files.stat(self.path)


class Places:
    """Reads arguments; each cluster and each file system that they name is met once."""

    def __init__(
        self, context: typer.Context, address: str | None, *, timeout: float | None = None, ask: bool = True
    ) -> None:
        """Keeps which cluster ``ignite:///`` is.

        Args:
            context: Of the command; an address may also stand before it.
            address: That of the command.
            timeout: Seconds for each call; None: the default.
            ask: A password that is nowhere else may be asked for on the terminal.
        """
        self._address = address_of(context, address)
        self._context = context
        self._ask = ask
        self._timeout: dict[str, Any] = {} if timeout is None else {"timeout": timeout}
        self._clusters: dict[str, ClusterStore] = {}
        self._others: dict[Any, Store] = {}

    def of(self, text: str) -> Place:
        """The place that an argument names, whatever is there.

        Raises:
            CommandLineError: It cannot be read.
        """
        scheme, colon, rest = text.partition(":")
        if colon and scheme == SCHEME:
            return self._in_cluster(text, rest)
        if scheme == "file" and rest.startswith("///"):
            text = rest[2:]
        elif colon and (rest.startswith("//") or "::" in text):
            return self._elsewhere(text)
        if not text:
            raise CommandLineError(
                "an argument is empty. It must name a file or directory. Leave it out or fill it in."
            )
        store = self._others.get("")
        if store is None:
            from tensorflow_ignite.cli.fs.elsewhere import LocalStore

            store = self._others.setdefault("", LocalStore())
        return _place(store, os.path.expanduser(text))

    def all(self, texts: Sequence[str]) -> list[Place]:
        """The places that arguments name, patterns expanded; each in the order given.

        Raises:
            CommandLineError: One cannot be read.
            StoredFileNotFoundError: A pattern matches nothing.
        """
        found: list[Place] = []
        for text in texts:
            place = self.of(text)
            if not is_pattern(place.path):
                found.append(place)
                continue
            paths = place.store.expand(place.path)
            if not paths:
                raise StoredFileNotFoundError(
                    f"nothing matches {place.url}. In a pattern * stands for any characters but a slash, ? for one, "
                    "[ab] for one of these, ** for any number of directories. See what is there: "
                    f"tensorflow-ignite fs ls {_above(place)}"
                )
            found += [Place(place.store, path, place.is_directory) for path in paths]
        return found

    def in_cluster(self, texts: Sequence[str], *, command: str) -> list[ClusterPath]:
        """The same for a command that works on the cluster's files only.

        Raises:
            CommandLineError: One is not a path of the cluster.
        """
        for text in texts:
            if not text.startswith(f"{SCHEME}:"):
                raise CommandLineError(
                    f"{text!r} is no path of the cluster. `fs {command}` is for files inside the cluster, whose paths "
                    f"begin with ignite:///. Write: tensorflow-ignite fs {command} ignite:///{text.lstrip('/')}"
                )
        found = []
        for place in self.all(texts):
            assert isinstance(place.store, ClusterStore)
            found.append(ClusterPath(place.store, place.path))
        return found

    def _in_cluster(self, text: str, rest: str) -> Place:
        if not rest.startswith("//"):
            raise CommandLineError(
                f"{text!r} cannot be read. A path of the cluster is ignite:///path, or ignite://HOST:PORT/path. "
                f"Write: ignite:///{rest.lstrip('/')}"
            )
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        from tensorflow_ignite.addresses import parse_addresses
        from tensorflow_ignite.storage.files import Files
        from tensorflow_ignite.storage.paths import parse, resolve

        try:
            location = parse(text)
        except InvalidRequestError as error:
            raise CommandLineError(str(error)) from None
        addresses = location.addresses
        if addresses is None and self._address:
            addresses = parse_addresses(self._address)
        prefix = f"{SCHEME}://{rest[2:].partition('/')[0]}"
        store = self._clusters.get(prefix)
        if store is None:
            who = caller(self._context, resolve(addresses), ask=self._ask)
            store = self._clusters.setdefault(
                prefix, ClusterStore(Files.at(addresses, credentials=who, **self._timeout), prefix)
            )
        return Place(store, location.path, text.endswith("/"))

    def _elsewhere(self, text: str) -> Place:
        from tensorflow_ignite.cli.fs.elsewhere import UrlStore

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
                f"{text!r} cannot be read: {error}. A URL is that of a file system which fsspec knows; paths of the "
                "cluster begin with ignite:///. Change it."
            ) from None
        store = self._others.setdefault(filesystem, UrlStore(filesystem))
        return Place(store, path.rstrip("/") or path, text.endswith("/"))


def _place(store: Store, path: str) -> Place:
    return Place(store, path.rstrip("/") or "/", path.endswith("/"))


def _above(place: Place) -> str:
    """The directory below which a pattern begins."""
    parts = place.path.split("/")
    literal = next(number for number, part in enumerate(parts) if is_pattern(part))
    return place.store.url("/".join(parts[:literal]) or "/")
