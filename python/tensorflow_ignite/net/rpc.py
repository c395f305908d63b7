"""All gRPC calls of the client: repeated at other addresses, with errors in the classes of this package.

A call has a deadline, and is repeated at the next address if a node does not answer. For the node API that is safe,
because every call may be repeated: reads change nothing, an upload is stored under its digest, a submission has a
request id, and a second stop changes nothing. Other calls pass `was_done`, which recognises an error that an earlier
attempt of the same call has caused. Keep-alive pings detect within 9 seconds (ping every 5, answer within 4) that a
node has died or frozen without closing its connection. A forked child makes its own connections.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from tensorflow_ignite import errors
from tensorflow_ignite.base import forks
from tensorflow_ignite.net.channels import grpc_channel
from tensorflow_ignite.net.credentials import Credentials
from tensorflow_ignite.net.handshake import Diagnosis, diagnose
from tensorflow_ignite.v1 import job_pb2, job_pb2_grpc

_MAX_ATTEMPTS = 3
_MAX_STREAM_FAILURES = 5
_FIRST_PAUSE = 0.2
# Seconds during which a node that did not answer is not called first again.
_SKIPPED_SECONDS = 5.0
# Seconds after which no further address is diagnosed.
_DIAGNOSIS_SECONDS = 2.0
# After a stream was open for this many seconds, the count of failures starts again at 0.
_HEALTHY_SECONDS = 10.0

_FOREIGN = "something answers there, but it does not serve the node API"
_NO_HOST = "no such host name"
# Reasons that have nothing to do with TLS.
_WITHOUT_TLS = {"connection refused", "no route to host", "network is unreachable", _NO_HOST, _FOREIGN}

#: The class for a status whose description has no code of this package.
FALLBACKS: dict[grpc.StatusCode, type[errors.TensorFlowIgniteError]] = dict.fromkeys(
    grpc.StatusCode, errors.InternalError
) | {
    grpc.StatusCode.CANCELLED: errors.ConnectionFailedError,
    grpc.StatusCode.INVALID_ARGUMENT: errors.InvalidRequestError,
    grpc.StatusCode.DEADLINE_EXCEEDED: errors.RequestTimeoutError,
    grpc.StatusCode.PERMISSION_DENIED: errors.PermissionDeniedError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: errors.LimitExceededError,
    grpc.StatusCode.FAILED_PRECONDITION: errors.InvalidRequestError,
    grpc.StatusCode.OUT_OF_RANGE: errors.InvalidRequestError,
    grpc.StatusCode.UNIMPLEMENTED: errors.ConnectionFailedError,
    grpc.StatusCode.UNAVAILABLE: errors.ConnectionFailedError,
    grpc.StatusCode.UNAUTHENTICATED: errors.UnauthenticatedError,
}


class NodeConnection:
    """Calls of one service of the nodes; safe to use from several threads, and after a fork."""

    def __init__(
        self,
        addresses: tuple[str, ...],
        timeout: float,
        *,
        make_stub: Callable[[grpc.Channel], Any] = job_pb2_grpc.NodeApiServiceStub,
        connect: bool = True,
        credentials: Credentials | None = None,
        connect_timeout: float | None = None,
    ) -> None:
        """Connects to the first address that answers.

        Args:
            addresses: One ``"host:port"`` for each node that may be called.
            timeout: Seconds to connect, for all addresses together; and for each later call, at one address.
            make_stub: Makes the stub of the service from a channel; default: the node API.
            connect: Check now that a node answers and accepts the credentials; otherwise at the first call.
            credentials: Credentials of the calls; None: none, and no TLS.
            connect_timeout: Seconds after which a call counts as lost if its node cannot be reached; None: 20.

        Raises:
            ConnectionFailedError: No node answers at any address.
            UnauthenticatedError: The node requires credentials, and these are missing or wrong.
            InvalidRequestError: A file of the credentials cannot be used.
        """
        self._addresses = addresses
        self._timeout = timeout
        self._credentials = credentials
        self._connect_timeout = connect_timeout
        self._lock = threading.Lock()
        self._position = 0
        self._closed = False
        self._make_stub = make_stub
        self._channels: dict[str, grpc.Channel] = {}
        self._stubs: dict[str, Any] = {}
        # For each node that did not answer a first call: the time until which it is skipped.
        self._skipped_until: dict[str, float] = {}
        forks.register(self)
        if not connect:
            return
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    @property
    def address(self) -> str:
        """The address of the next call."""
        return self._addresses[self._position]

    @property
    def addresses(self) -> tuple[str, ...]:
        """The nodes that may be called."""
        return self._addresses

    @property
    def credentials(self) -> Credentials | None:
        """The credentials of the calls."""
        return self._credentials

    def close(self) -> None:
        """Ends every call and closes the connections; may be repeated."""
        with self._lock:
            self._closed = True
            channels, self._channels = self._channels, {}
            self._stubs = {}
        for channel in channels.values():
            channel.close()

    def after_fork(self) -> None:
        """In a forked child: the connections belong to the parent."""
        forks.keep_until_exit((self._channels, self._stubs))
        self._lock = threading.Lock()
        self._channels = {}
        self._stubs = {}

    def call(
        self,
        method: str,
        make_request: Callable[[], Any],
        *,
        timeout: float | None = None,
        is_total: bool = False,
        first: str | None = None,
        was_done: Callable[[errors.TensorFlowIgniteError], Any] = lambda error: None,
    ) -> Any:
        """Makes one call, and repeats it if a node does not answer: 3 attempts, or more if there are more addresses.

        Args:
            method: Name of a method of the service with one response.
            make_request: Makes the request, or the stream of requests, for each attempt.
            timeout: Seconds at one address; None: the timeout of the connection.
            is_total: The timeout is for all attempts together. A node that is reached may take all of it.
            first: The node to call before the addresses; it is skipped for 5 s if it does not answer.
            was_done: Called if a repeated call fails: returns the response if an earlier attempt, whose answer was
                lost, has made the change and so caused the error; else None.

        Returns:
            The response.

        Raises:
            TensorFlowIgniteError: The error of the node, in its class.
            ConnectionFailedError: No node answers.
            RequestTimeoutError: A node accepts the call, but its answer did not come in time.
        """
        timeout = timeout or self._timeout
        failures: dict[str, str] = {}
        if first is not None and not self.skips(first):
            response, lost = self._call_once(first, method, make_request(), timeout)
            if lost is None:
                return response
            failures[first] = lost
        deadline = time.monotonic() + timeout * (1 if is_total else len(self._addresses))
        tries = max(_MAX_ATTEMPTS, len(self._addresses))
        for number in range(1, tries + 1):
            address, stub = self._stub()
            allowed = max(min(timeout, deadline - time.monotonic()), 0.01)
            try:
                with forks.call_in_progress():
                    return getattr(stub, method)(make_request(), timeout=allowed)
            except grpc.RpcError as error:
                late = error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
                if not (late or _is_connection_lost(error)):
                    failure = _translate(error, address)
                    response = was_done(failure) if failures else None
                    if response is None:
                        raise failure from None
                    return response
                failures[address] = f"no answer within {allowed:.1f} s" if late else _reason(error)
                if number == tries or time.monotonic() >= deadline:
                    if late:
                        # Another node may answer the next call.
                        self._advance(address)
                        raise _timed_out(method, failures) from None
                    break
            self._advance(address)
            if failures.keys() >= set(self._addresses):
                time.sleep(min(_FIRST_PAUSE * number, max(deadline - time.monotonic(), 0)))
        raise self._unreachable(failures)

    def skips(self, address: str) -> bool:
        """Whether a node is skipped, because it did not answer a first call in the last 5 s."""
        return self._skipped_until.get(address, 0.0) > time.monotonic()

    def call_once(self, address: str, method: str, request: Any, timeout: float | None = None) -> Any | None:
        """Makes one call at one node, without repeats.

        Args:
            address: Address of the node; it need not be one of the connection's.
            method: Name of a method of the service with one response.
            request: The request.
            timeout: Seconds; None: the timeout of the connection.

        Returns:
            The response; None if the node did not answer, which is then skipped for 5 s.

        Raises:
            TensorFlowIgniteError: The error of the node, in its class.
        """
        return self._call_once(address, method, request, timeout or self._timeout)[0]

    def _call_once(self, address: str, method: str, request: Any, timeout: float) -> tuple[Any | None, str | None]:
        """Returns the response, or the reason why there is none."""
        try:
            with forks.call_in_progress():
                return getattr(self._stub_at(address), method)(request, timeout=timeout), None
        except grpc.RpcError as error:
            late = error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            if not (late or _is_connection_lost(error)):
                raise _translate(error, address) from None
            self._skipped_until[address] = time.monotonic() + _SKIPPED_SECONDS
            return None, f"no answer within {timeout:.1f} s" if late else _reason(error)

    def follow(
        self,
        method: str,
        request: Any,
        *,
        timeout: float | None = None,
        is_complete: Callable[[], bool] = lambda: True,
        on_restart: Callable[[], None] = lambda: None,
    ) -> Iterator[Any]:
        """Yields the messages of a stream, and opens it again at another node if its node is lost.

        Args:
            method: Name of a streaming method of the service.
            request: The request.
            timeout: Seconds for the whole stream; None: no limit.
            is_complete: Called at a regular end; False: the node ended the stream too early, so it counts as lost.
            on_restart: Called before the stream is opened again from its first message.

        Yields:
            Each message.

        Raises:
            TensorFlowIgniteError: The error of the node, in its class.
            ConnectionFailedError: The stream was lost 5 times in succession.
            RequestTimeoutError: The stream did not end in time.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        failures: dict[str, str] = {}
        lost = 0
        while True:
            address, stub = self._stub()
            opened = time.monotonic()
            call = getattr(stub, method)(request, timeout=None if deadline is None else max(deadline - opened, 0))
            try:
                yield from call
                if is_complete():
                    return
                failures[address] = "the node ended the stream too early"
            except grpc.RpcError as error:
                if not _is_connection_lost(error):
                    raise _translate(error, address) from None
                failures[address] = _reason(error)
            finally:
                call.cancel()
            lost = 1 if time.monotonic() - opened >= _HEALTHY_SECONDS else lost + 1
            if lost >= max(_MAX_STREAM_FAILURES, len(self._addresses)):
                raise self._unreachable(failures)
            self._advance(address)
            if lost >= len(self._addresses):
                time.sleep(_FIRST_PAUSE * 2 ** (lost - len(self._addresses)))
            on_restart()

    def _connect(self) -> None:
        deadline = time.monotonic() + self._timeout
        failures: dict[str, str] = {}
        for number, _ in enumerate(self._addresses):
            address = self.address
            self._stub_at(address)
            stub = job_pb2_grpc.NodeApiServiceStub(self._channels[address])  # type: ignore[no-untyped-call]
            allowed = max(deadline - time.monotonic(), 0.01) / (len(self._addresses) - number)
            try:
                stub.ListNodes(job_pb2.ListNodesRequest(), timeout=allowed)
                return
            except grpc.RpcError as error:
                if error.code() is grpc.StatusCode.UNAUTHENTICATED:
                    raise _translate(error, address) from None
                late = error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
                if not late and FALLBACKS[error.code()] is not errors.ConnectionFailedError:
                    return  # the node answers, although with an error
                if errors.has_code(error.details() or ""):
                    return
                failures[address] = f"no answer within {allowed:.1f} s" if late else _reason(error)
            self._advance(address)
        raise self._unreachable(failures)

    def _unreachable(self, failures: dict[str, str]) -> errors.ConnectionFailedError:
        return _unreachable(failures, self._credentials)

    def _stub(self) -> tuple[str, Any]:
        address = self.address
        return address, self._stub_at(address)

    def _stub_at(self, address: str) -> Any:
        with self._lock:
            if self._closed:
                raise errors.TensorFlowIgniteError(
                    "the client is closed. It makes calls until close(), or until its `with` block ends. Connect "
                    "again: connect()."
                )
            if address not in self._stubs:
                self._channels[address] = grpc_channel(
                    address, self._credentials, connect_timeout=self._connect_timeout
                )
                self._stubs[address] = self._make_stub(self._channels[address])
            return self._stubs[address]

    def _advance(self, failed: str) -> None:
        """Selects the next address, unless another thread has already done so after the same failure."""
        with self._lock:
            if self._addresses[self._position] == failed:
                self._position = (self._position + 1) % len(self._addresses)


def _is_connection_lost(error: Any) -> bool:
    """Whether the node could not be reached, or ended during the call, which cancels its calls.

    A status with a code of this package comes from a node that was reached.
    """
    lost = error.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)
    return lost and not errors.has_code(error.details() or "")


def _translate(error: Any, address: str) -> errors.TensorFlowIgniteError:
    status = error.code()
    text = error.details() or f"the node at {address} answered {status.name} without a reason"
    if errors.has_code(text):
        return errors.from_description(text)
    if status is grpc.StatusCode.UNIMPLEMENTED:
        return _unreachable({address: _reason(error)}, None)
    return FALLBACKS[status](text)


def _reason(error: Any) -> str:
    text = str(error.details() or error.code().name)
    if error.code() is grpc.StatusCode.UNIMPLEMENTED:
        return _FOREIGN
    for sign in ("Connection refused", "No route to host", "Network is unreachable", "Connection reset"):
        if sign in text:
            return sign.lower()
    if "DNS" in text or "resolution" in text:
        return _NO_HOST
    if "watchdog" in text or "ping" in text:
        return "the node has stopped answering"
    return text


def _unreachable(failures: dict[str, str], credentials: Credentials | None) -> errors.ConnectionFailedError:
    found: Diagnosis | None = None
    reasons = dict(failures)
    deadline = time.monotonic() + _DIAGNOSIS_SECONDS
    for address, reason in failures.items():
        # One diagnosis is enough: the nodes of a cluster have the same configuration, and a diagnosis takes seconds.
        if found is None and reason not in _WITHOUT_TLS and time.monotonic() < deadline:
            found = diagnose(address, credentials)
            reasons[address] = found.cause if found else reason
    tried = ", ".join(f"{address} ({reason})" for address, reason in reasons.items())
    if found is not None:
        return errors.ConnectionFailedError(f"no connection to {tried}. {found.rule}. {found.remedy}")
    return errors.ConnectionFailedError(
        f"no node answers at {tried}. A client needs one node that answers, at host:port[,host:port] given to "
        "connect() or --address, else in TENSORFLOW_IGNITE_ADDRESS, else localhost:10820. Check that a node runs "
        "there (it prints its address when it starts), or start one: tensorflow-ignite node"
    )


def _timed_out(method: str, failures: dict[str, str]) -> errors.RequestTimeoutError:
    tried = ", ".join(f"{address} ({reason})" for address, reason in failures.items())
    return errors.RequestTimeoutError(
        f"{method} got no answer: {tried}. The timeout holds for each address. Check the node's log, give a second "
        "address (host:port,host:port), or a longer timeout: connect(timeout=)."
    )
