"""Connections to nodes without our service, by pyignite, and the requests over them.

pyignite does handshake, login, encryption and framing; pages of rows are returned undecoded. pyignite would decode a
page into a dict, and lose rows whose keys are equal in Python (1, 1.0 and True), and the type of numbers. A connection
belongs to one thread; only :meth:`ThinConnection.cut` may be called from others.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyignite import Client
from pyignite.api import cache_get_node_partitions, cache_get_size
from pyignite.api.binary import get_binary_type
from pyignite.api.cache_config import cache_get_configuration
from pyignite.connection import Connection
from pyignite.datatypes.key_value import PeekModes
from pyignite.exceptions import AuthenticationError, ParseError
from pyignite.queries.cache_info import CacheInfo
from pyignite.queries.op_codes import OP_QUERY_SCAN, OP_QUERY_SCAN_CURSOR_GET_PAGE, OP_RESOURCE_CLOSE
from pyignite.utils import cache_id

from tensorflow_ignite import errors
from tensorflow_ignite.data.transport.thin import failures
from tensorflow_ignite.net import sockets
from tensorflow_ignite.net.credentials import Credentials

_REQUEST = struct.Struct("<ihq")
_SCAN = struct.Struct("<iBBiiB")
_FLAG_ERROR, _FLAG_TOPOLOGY = 1, 2
_NULL = 101
_PAUSE_SECONDS = 0.05
_PRIMARY = bytes([PeekModes.PRIMARY])

# Without any handler, pyignite prints the stack of each error, which is raised anyway.
logging.getLogger("pyignite").addHandler(logging.NullHandler())


@dataclass(frozen=True)
class BinaryType:
    """The metadata of a cluster about the objects of one type.

    Attributes:
        name: Name of the class.
        fields: Name and type code of each field, in the order of the type's versions.
        names: Name of a field by its number.
        schemas: For each version of the type, the numbers of its fields in the order of its footer.
        constants: Names of the constants of an enum by ordinal; empty for other types.
    """

    name: str
    fields: dict[str, int]
    names: dict[int, str]
    schemas: dict[int, tuple[int, ...]]
    constants: dict[int, str]


@dataclass(frozen=True)
class Page:
    """Rows of one message, not decoded.

    Attributes:
        data: Bytes of the whole message.
        start: Position of the first row.
        rows: Number of rows.
    """

    data: bytearray
    start: int
    rows: int


class _Link(Connection):  # type: ignore[misc]
    """Does not reconnect: a new connection would not have the cursors of the old one."""

    def reconnect(self) -> None:
        self.close(on_reconnect=True)


class ThinConnection:
    """A connection to one node, for one thread."""

    def __init__(self, address: str, credentials: Credentials | None, failure: str) -> None:
        """Opens nothing.

        Args:
            address: ``host:port`` of a node's thin client port.
            credentials: Credentials of the caller.
            failure: First part of error texts, such as "cache 'x' was not read to its end".
        """
        host, _, port = address.rpartition(":")
        self.address = address
        self._credentials = credentials
        self._failure = failure
        self._client = Client(partition_aware=False)
        self._cut = False
        with self._translated():
            self._link = _Link(
                self._client,
                host.strip("[]"),
                int(port),
                timeout=failures.SECONDS_TO_ANSWER,
                handshake_timeout=failures.SECONDS_TO_CONNECT,
                **_login(credentials),
            )

    @property
    def node(self) -> str:
        """Id of the node; empty if its version of Ignite does not send it."""
        return str(self._link.uuid or "")

    def __enter__(self) -> ThinConnection:
        """Connects.

        Raises:
            TensorFlowIgniteError: If the node does not answer, is no thin client port, or rejects the credentials.
        """
        with self._translated():
            try:
                # pyignite supports IPv4 only, and its error for a closed port has no reason.
                sockets.connect(f"{self._link.host}:{self._link.port}", failures.SECONDS_TO_CONNECT).close()
                self._link.connect()
                if self._cut:
                    raise ConnectionAbortedError("cut while it was made")
            except BaseException:
                self._link.close()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the connection; the node closes its cursors."""
        self._link.close()

    def cut(self) -> None:
        """Ends the connection, so that a waiting thread gets an error; returns at once."""
        self._cut = True
        stream = self._link._socket
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.shutdown(socket.SHUT_RDWR)

    def configuration(self, cache: str) -> dict[str, Any]:
        """The configuration of a cache, in the form of pyignite."""
        with self._translated(cache):
            return dict(_value(cache_get_configuration(self._link, self._info(cache))))

    def size(self, cache: str) -> int:
        """Number of rows of a cache on all nodes, without backups."""
        with self._translated(cache):
            return int(_value(cache_get_size(self._link, self._info(cache), list(_PRIMARY))))

    def owners(self, cache: str) -> dict[str, set[int]]:
        """Primary partitions by node id; empty if the cluster does not send them for this cache."""
        if not self._client.protocol_context.is_partition_awareness_supported():
            return {}
        with self._translated(cache):
            answer = self._owners_once_joined(cache)
            mapping = answer["partition_mapping"].get(cache_id(cache), {}).get("node_mapping") or {}
            return {str(node): set(partitions) for node, partitions in mapping.items()}

    def _owners_once_joined(self, cache: str) -> Any:
        """Repeats the call: before a node has joined, it accepts clients, and fails with a NullPointerException."""
        deadline = time.monotonic() + failures.SECONDS_TO_JOIN
        while True:
            try:
                return _value(cache_get_node_partitions(self._link, cache_id(cache)))
            except failures.RequestRejected as refusal:
                if refusal.status != failures.FAILED or time.monotonic() >= deadline:
                    raise
            time.sleep(_PAUSE_SECONDS)

    def has_partition(self, cache: str, number: int) -> bool:
        """Whether a cache has a partition with this number."""
        try:
            with self._translated(cache, refusals=False):
                self._first_page(cache, number, 1)
        except failures.RequestRejected as refusal:
            if "partition" in str(refusal).lower():
                return False
            raise self._error(refusal, cache) from refusal
        return True

    def binary_type(self, number: int | str) -> BinaryType | None:
        """The metadata of a type, by its number or name; None if the cluster has none."""
        with self._translated():
            answer = _value(get_binary_type(self._link, number))
        if not answer["type_exists"]:
            return None
        schemas = {schema: tuple(numbers) for schema, numbers in answer["schema"].items()}
        # The answer has no order of fields; the versions of the type have one.
        order = {field: place for place, field in enumerate(dict.fromkeys(sum(schemas.values(), ())))}
        fields = sorted(answer["binary_fields"], key=lambda field: order.get(field["field_id"], len(order)))
        return BinaryType(
            name=answer["type_name"],
            fields={field["field_name"]: field["type_id"] for field in fields},
            names={field["field_id"]: field["field_name"] for field in fields},
            schemas=schemas,
            constants={one["type_id"]: one["literal"] for one in answer["enums"]} if answer["is_enum"] else {},
        )

    def pages(self, cache: str, partitions: Sequence[int], rows: int) -> Iterator[Page]:
        """The rows of partitions in pages of ``rows`` rows; the next page is requested before one is returned."""
        waiting = iter(partitions)
        with self._translated(cache):
            operation = self._ask_for(cache, next(waiting, None), rows)
            cursor = 0
            while operation is not None:
                data, start = self._receive()
                if operation == OP_QUERY_SCAN:
                    (cursor,) = struct.unpack_from("<q", data, start)
                    start += 8
                page, more = self._page(data, start)
                if more:
                    operation = OP_QUERY_SCAN_CURSOR_GET_PAGE
                    self._send(operation, struct.pack("<q", cursor))
                else:
                    operation = self._ask_for(cache, next(waiting, None), rows)
                yield page

    def _ask_for(self, cache: str, partition: int | None, rows: int) -> int | None:
        if partition is None:
            return None
        self._send(OP_QUERY_SCAN, _SCAN.pack(cache_id(cache), 0, _NULL, rows, partition, False))
        return int(OP_QUERY_SCAN)

    def first_page(self, cache: str, partition: int, rows: int) -> Page:
        """The first rows of one partition, at most ``rows``."""
        with self._translated(cache):
            return self._first_page(cache, partition, rows)

    def _first_page(self, cache: str, partition: int, rows: int) -> Page:
        self._ask_for(cache, partition, rows)
        data, start = self._receive()
        (cursor,) = struct.unpack_from("<q", data, start)
        page, more = self._page(data, start + 8)
        if more:
            self._send(OP_RESOURCE_CLOSE, struct.pack("<q", cursor))
            self._receive()
        return page

    def _page(self, data: bytearray, start: int) -> tuple[Page, bool]:
        (rows,) = struct.unpack_from("<i", data, start)
        return Page(data, start + 4, rows), data[-1] != 0

    def _send(self, operation: int, content: bytes) -> None:
        self._link.send(_REQUEST.pack(_REQUEST.size - 4 + len(content), operation, 1) + content, reconnect=False)

    def _receive(self) -> tuple[bytearray, int]:
        """A message and the position of its content."""
        data: bytearray = self._link.recv(reconnect=False)
        # The buffer of pyignite may be longer than the message.
        del data[4 + struct.unpack_from("<i", data, 0)[0] :]
        if self._client.protocol_context.is_status_flags_supported():
            (flags,) = struct.unpack_from("<h", data, 12)
            start = 14 + (12 if flags & _FLAG_TOPOLOGY else 0)
            status = struct.unpack_from("<i", data, start)[0] if flags & _FLAG_ERROR else 0
            start += 4 if status else 0
        else:
            (status,) = struct.unpack_from("<i", data, 12)
            start = 16
        if status:
            (length,) = struct.unpack_from("<i", data, start + 1)
            raise failures.RequestRejected(status, data[start + 5 : start + 5 + length].decode(errors="replace"))
        return data, start

    def _info(self, cache: str) -> CacheInfo:
        return CacheInfo(cache_id=cache_id(cache), protocol_context=self._client.protocol_context)

    @contextmanager
    def _translated(self, cache: str = "", refusals: bool = True) -> Iterator[None]:
        """Translates errors of pyignite and of the node into errors of this package."""
        try:
            yield
        except failures.RequestRejected as refusal:
            if not refusals:
                raise
            raise self._error(refusal, cache) from refusal
        except errors.TensorFlowIgniteError:
            raise
        # If another thread cuts the connection, pyignite may raise any of these errors.
        except (OSError, EOFError, AuthenticationError, ParseError, AttributeError, ValueError, struct.error) as error:
            raise self._error(error, cache) from error

    def _error(self, error: Exception, cache: str) -> errors.TensorFlowIgniteError:
        return failures.translate(error, self.address, self._failure, cache)


def _value(result: Any) -> Any:
    if result.status:
        raise failures.RequestRejected(result.status, result.message)
    return result.value


def _login(credentials: Credentials | None) -> dict[str, Any]:
    if credentials is not None and credentials.token:
        raise errors.InvalidRequestError(
            "credentials with a token were given for transport='thin'. Ignite's thin client port knows users and "
            "passwords only. Give credentials=(user, password), or read through the service tensorflow-ignite"
        )
    if credentials is None:
        return {}
    if not f"{credentials.username}{credentials.password}".isascii():
        raise errors.InvalidRequestError(
            "a user or password with letters beyond ASCII was given for transport='thin'. pyignite sends a wrong "
            "length for them. Give credentials of ASCII only, or run the service tensorflow-ignite on the cluster"
        )
    login: dict[str, Any] = {"username": credentials.username, "password": credentials.password}
    if credentials.encrypted:
        login |= {
            "use_ssl": True,
            "ssl_cert_reqs": ssl.CERT_REQUIRED if credentials.verify else ssl.CERT_NONE,
            "ssl_ca_certfile": credentials.cafile or ssl.get_default_verify_paths().cafile,
            "ssl_certfile": credentials.certfile,
            "ssl_keyfile": credentials.keyfile,
            "ssl_keyfile_password": credentials.key_password,
        }
    return login
