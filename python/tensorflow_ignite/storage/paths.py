"""``ignite://[host:port[,host:port]]/path``: the cluster's nodes and a path, as users write them.

Nothing in a path is escaped: a name with ``%``, ``#`` or ``?`` in it is written as it is.
"""

from __future__ import annotations

import os
import posixpath
from dataclasses import dataclass

from tensorflow_ignite.addresses import parse_addresses
from tensorflow_ignite.errors import InvalidRequestError

__all__ = ["PROTOCOL", "SCHEME", "Location", "format_url", "join", "normalize", "parent", "parse", "resolve"]

PROTOCOL = "ignite"
SCHEME = f"{PROTOCOL}://"
_PATH_BYTES = 4096
_NAME_BYTES = 255


@dataclass(frozen=True)
class Location:
    """A path in a cluster.

    Attributes:
        addresses: One ``"host:port"`` for each node that may be asked; None: see `resolve`.
        path: The path, normalized.
    """

    addresses: tuple[str, ...] | None
    path: str

    @property
    def url(self) -> str:
        """The URL, with the addresses if there are any."""
        return format_url(self.addresses, self.path)


def parse(url: str | os.PathLike[str]) -> Location:
    """Reads a URL, or a path that begins with a slash.

    Args:
        url: ``ignite://[host:port[,host:port]]/path``. The port is 10820 when left out.

    Returns:
        The addresses (None when the URL has no host) and the path.

    Raises:
        InvalidRequestError: It is neither; or a host, or a part of the path breaks a rule.
    """
    text = os.fspath(url)
    if text.startswith("/"):
        return Location(None, normalize(text))
    if not text.startswith(SCHEME):
        raise InvalidRequestError(
            f"{text!r} names no file of the cluster. A URL is ignite://[host:port[,host:port]]/path. "
            f"Write {SCHEME}/{text.lstrip('/')} to use the cluster of this job, or of the environment."
        )
    hosts, _, path = text[len(SCHEME) :].partition("/")
    return Location(parse_addresses(hosts) if hosts else None, normalize("/" + path))


def normalize(path: str) -> str:
    """Checks a path, and writes it in the one way in which the cluster knows it.

    Args:
        path: A path that begins with a slash. Repeated and trailing slashes and ``.`` go, ``..`` takes the part before
            it away.

    Returns:
        The path; ``"/"`` is the root.

    Raises:
        InvalidRequestError: It does not begin with a slash, is longer than 4,096 bytes of UTF-8, or a part is longer
            than 255, or has a NUL character or half a surrogate pair in it.
    """
    if not path.startswith("/"):
        raise InvalidRequestError(f"path {path!r} is not absolute. A path begins with a slash. Write {'/' + path!r}.")
    result = posixpath.normpath("/" + path.lstrip("/"))
    try:
        encoded = result.encode()
    except UnicodeEncodeError:
        raise InvalidRequestError(f"path {path!r} is no text. Paths are stored as UTF-8. Rename it.") from None
    longest = max(encoded.split(b"/"), key=len)
    if len(encoded) > _PATH_BYTES or len(longest) > _NAME_BYTES or b"\0" in encoded:
        raise InvalidRequestError(
            f"path {path!r} of {len(encoded)} bytes, its longest part of {len(longest)}, cannot be used. A path has at "
            f"most {_PATH_BYTES} bytes of UTF-8, each part at most {_NAME_BYTES}, and no NUL. Use a shorter one."
        )
    return result


def join(directory: str, name: str) -> str:
    """The path of an entry of a directory."""
    return f"{directory.rstrip('/')}/{name}"


def parent(path: str) -> str:
    """The directory that a normalized path is in; the root is in itself."""
    return path.rpartition("/")[0] or "/"


def format_url(addresses: tuple[str, ...] | None, path: str) -> str:
    """The URL of a path."""
    return f"{SCHEME}{','.join(addresses or ())}{path}"


def resolve(addresses: tuple[str, ...] | None) -> tuple[str, ...]:
    """The nodes that a URL means.

    Args:
        addresses: Those in the URL; None: in a job, the node that the task runs beside; else those in the environment
            variable TENSORFLOW_IGNITE_ADDRESS; else ``localhost:10820``.

    Returns:
        One ``"host:port"`` for each node that may be asked.

    Raises:
        InvalidRequestError: The environment variable cannot be read.
    """
    if addresses:
        return addresses
    from tensorflow_ignite.train.context import context

    return parse_addresses(context().node_address or None)
