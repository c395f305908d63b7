"""URLs of files: ``ignite://[host:port[,host:port]]/path``.

Nothing in a path is escaped: ``%``, ``#``, ``?`` and blanks are ordinary characters of a name. The scheme may be in
upper case, except in calls of TensorFlow, which does not know it.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Collection
from dataclasses import dataclass

from tensorflow_ignite.errors import InvalidRequestError
from tensorflow_ignite.net.addresses import parse_addresses

PROTOCOL = "ignite"
SCHEME = f"{PROTOCOL}://"
_PATH_BYTES = 4096
_NAME_BYTES = 255


@dataclass(frozen=True)
class Location:
    """A path in a cluster.

    Attributes:
        addresses: One ``"host:port"`` for each node that may be called; None: see `net.resolve`.
        path: The path, normalized.
    """

    addresses: tuple[str, ...] | None
    path: str

    @property
    def url(self) -> str:
        """The URL, with the addresses if there are any."""
        return format_url(self.addresses, self.path)


def parse(url: str | os.PathLike[str]) -> Location:
    """Parses a URL, or a path that begins with a slash.

    Args:
        url: ``ignite://[host:port[,host:port]]/path``. The default port is 10820.

    Returns:
        The addresses (None if the URL has no host) and the path.

    Raises:
        InvalidRequestError: The text is neither a URL nor an absolute path, or a host or the path breaks a rule.
    """
    text = os.fspath(url)
    if text.startswith("/"):
        return Location(None, normalize(text))
    if not is_url(text):
        raise InvalidRequestError(
            f"{text!r} is not a URL of a file in the cluster. A URL is ignite://[host:port[,host:port]]/path. "
            f"Write {SCHEME}/{text.lstrip('/')} to use the cluster of this job, or of the environment."
        )
    hosts, _, path = text[len(SCHEME) :].partition("/")
    return Location(parse_addresses(hosts) if hosts else None, normalize("/" + path))


def is_url(text: str) -> bool:
    """Whether a text begins with ``ignite://``, in upper or lower case."""
    return text[: len(SCHEME)].lower() == SCHEME


def normalize(path: str) -> str:
    """Checks a path, and returns its normal form.

    Args:
        path: A path that begins with a slash. Repeated and trailing slashes and ``.`` are removed, and ``..`` removes
            the part before it.

    Returns:
        The path; ``"/"`` is the root.

    Raises:
        InvalidRequestError: The path does not begin with a slash, is longer than 4,096 bytes of UTF-8, has a part of
            more than 255 bytes, or contains a NUL or half a surrogate pair.
    """
    if not path.startswith("/"):
        raise InvalidRequestError(f"path {path!r} is not absolute. A path begins with a slash. Write {'/' + path!r}.")
    result = posixpath.normpath("/" + path.lstrip("/"))
    try:
        encoded = result.encode()
    except UnicodeEncodeError:
        raise InvalidRequestError(
            f"path {path!r} is not valid Unicode. Paths are stored as UTF-8. Rename the file."
        ) from None
    longest = max(encoded.split(b"/"), key=len)
    if len(encoded) > _PATH_BYTES or len(longest) > _NAME_BYTES or b"\0" in encoded:
        raise InvalidRequestError(
            f"path {path!r} has {len(encoded)} bytes, and its longest part {len(longest)}. A path has at most "
            f"{_PATH_BYTES} bytes of UTF-8, each part at most {_NAME_BYTES}, and no NUL. Use another path."
        )
    return result


def join(directory: str, name: str) -> str:
    """The path of an entry of a directory."""
    return f"{directory.rstrip('/')}/{name}"


def parent(path: str) -> str:
    """Returns the directory of a normalized path; for the root, the root."""
    return path.rpartition("/")[0] or "/"


def is_in(path: str, others: Collection[str]) -> bool:
    """Whether a normalized path is one of others, or below one of them."""
    while path not in others and path != "/":
        path = parent(path)
    return path in others


def format_url(addresses: tuple[str, ...] | None, path: str) -> str:
    """The URL of a path."""
    return f"{SCHEME}{','.join(addresses or ())}{path}"
