"""The client's only door to gRPC: calls of a node's services, over the addresses given, with errors in our classes.

A call has a deadline, and goes to the next address when the one asked does not answer. For the node API that is safe,
because every call may be repeated: reads change nothing, an upload is stored under its digest, a submission carries its
request id, and stopping twice is stopping once. A call that may not be repeated blindly says how to tell a refusal
that its own first try has caused. Calls are watched by keep-alive pings, so a node that died or froze without closing
its connection is noticed within 9 seconds (ping every 5, answer within 4). A child that was forked makes connections of
its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from tensorflow_ignite import errors, forks
from tensorflow_ignite.channels import grpc_channel
from tensorflow_ignite.credentials import Credentials
from tensorflow_ignite.handshake import Diagnosis, diagnose
from tensorflow_ignite.v1 import job_pb2, job_pb2_grpc

__all__ = ["FALLBACKS", "NodeConnection"]

_TRIES = 3
_STREAM_TRIES = 5
_FIRST_PAUSE = 0.2
# Seconds for which a node that did not answer is not the first to be asked.
_AVOIDED = 5.0
# Seconds after which no further address is asked why it was not reached.
_DIAGNOSIS_SECONDS = 2.0
# A stream that lived so long, in seconds, had really worked: the count of failures begins anew.
_HEALTHY = 10.0

_FOREIGN = "something answers there, but it does not serve the node API"
_NO_HOST = "no such host name"
# Reasons that have nothing to do with TLS.
_WITHOUT_TLS = {"connection refused", "no route to host", "network is unreachable", _NO_HOST, _FOREIGN}

#: The class of a status whose description names no code of ours.
FALLBACKS: dict[grpc.StatusCode, type[errors.TensorFlowIgniteError]] = {
    grpc.StatusCode.OK: errors.InternalError,
    grpc.StatusCode.CANCELLED: errors.ConnectionFailedError,
    grpc.StatusCode.UNKNOWN: errors.InternalError,
    grpc.StatusCode.INVALID_ARGUMENT: errors.InvalidRequestError,
    grpc.StatusCode.DEADLINE_EXCEEDED: errors.RequestTimeoutError,
    grpc.StatusCode.NOT_FOUND: errors.InternalError,
    grpc.StatusCode.ALREADY_EXISTS: errors.InternalError,
    grpc.StatusCode.PERMISSION_DENIED: errors.PermissionDeniedError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: errors.LimitExceededError,
    grpc.StatusCode.FAILED_PRECONDITION: errors.InvalidRequestError,
    grpc.StatusCode.ABORTED: errors.InternalError,
    grpc.StatusCode.OUT_OF_RANGE: errors.InvalidRequestError,
    grpc.StatusCode.UNIMPLEMENTED: errors.ConnectionFailedError,
    grpc.StatusCode.INTERNAL: errors.InternalError,
    grpc.StatusCode.UNAVAILABLE: errors.ConnectionFailedError,
    grpc.StatusCode.DATA_LOSS: errors.InternalError,
    grpc.StatusCode.UNAUTHENTICATED: errors.UnauthenticatedError,
}


class NodeConnection:
    """Calls of one service of the nodes; safe to use from several threads, and again after a fork."""

    def __init__(
        self,
        addresses: tuple[str, ...],
        timeout: float,
        *,
        make_stub: Callable[[grpc.Channel], Any] = job_pb2_grpc.NodeApiStub,
        connect: bool = True,
        credentials: Credentials | None = None,
    ) -> None:
        """Connects to the first address that answers.

        Args:
            addresses: One ``"host:port"`` for each node that may be asked.
            timeout: Seconds for connecting, all addresses together; and for each later call, at one address.
            make_stub: Makes what has the service's methods; the node API unless given.
            connect: Look now whether a node answers, and knows who calls; otherwise with the first call.
            credentials: Who calls; None: nobody in particular, and without TLS.

        Raises:
            ConnectionFailedError: No node answers at any of them.
            UnauthenticatedError: The node wants to know who calls, and was not told, or not truthfully.
            InvalidRequestError: A file of the credentials cannot be used.
        """
        self._addresses = addresses
        self._timeout = timeout
        self._credentials = credentials
        self._lock = threading.Lock()
        self._position = 0
        self._closed = False
        self._make_stub = make_stub
        self._channels: dict[str, grpc.Channel] = {}
        self._stubs: dict[str, Any] = {}
        # Nodes outside the addresses that did not answer, and until when they are not asked first again.
        self._avoided: dict[str, float] = {}
        forks.remember(self)
        if not connect:
            return
        try:
            self._connect()
        except BaseException:
            self.close()
            raise

    @property
    def address(self) -> str:
        """The address that is asked next."""
        return self._addresses[self._position]

    def close(self) -> None:
        """Ends every call and closes the connections; may be repeated."""
        with self._lock:
            self._closed = True
            channels, self._channels = self._channels, {}
            self._stubs = {}
        for channel in channels.values():
            channel.close()

    def after_fork(self) -> None:
        """In a forked child: what is connected belongs to the parent."""
        forks.leak((self._channels, self._stubs))
        self._lock = threading.Lock()
        self._channels = {}
        self._stubs = {}

    def call(
        self,
        method: str,
        make_request: Callable[[], Any],
        *,
        timeout: float | None = None,
        first: str | None = None,
        settle: Callable[[errors.TensorFlowIgniteError], Any] = lambda refusal: None,
    ) -> Any:
        """Makes one call, and repeats it elsewhere when nobody answers: at most 3 times, or once at each address.

        Args:
            method: Name of a method of the service that gives one response.
            make_request: Makes the request, or the stream of requests, for each try.
            timeout: Seconds for one address; None: those of the connection.
            first: The node to ask before those of the connection; it is left out for 5 s when it does not answer.
            settle: Asked when a repeat is refused: an earlier try, whose answer was lost, may be the reason. Returns
                the response if so, else None.

        Returns:
            The response.

        Raises:
            TensorFlowIgniteError: What the node answered, as the class for it.
            ConnectionFailedError: No node answers.
            RequestTimeoutError: A node is there, but its answer did not come in time.
        """
        timeout = timeout or self._timeout
        failures: dict[str, str] = {}
        if first is not None and not self.avoids(first):
            response, lost = self._ask(first, method, make_request(), timeout)
            if lost is None:
                return response
            failures[first] = lost
        deadline = time.monotonic() + timeout * len(self._addresses)
        tries = max(_TRIES, len(self._addresses))
        for number in range(1, tries + 1):
            address, stub = self._stub()
            allowed = max(min(timeout, deadline - time.monotonic()), 0.01)
            try:
                with forks.calling():
                    return getattr(stub, method)(make_request(), timeout=allowed)
            except grpc.RpcError as error:
                late = error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
                if not (late or _is_lost(error)):
                    refusal = _translate(error, address)
                    response = settle(refusal) if failures else None
                    if response is None:
                        raise refusal from None
                    return response
                failures[address] = f"no answer within {allowed:.1f} s" if late else _reason(error)
                if number == tries or time.monotonic() >= deadline:
                    if late:
                        raise _late(method, failures) from None
                    break
            self._advance(address)
            if failures.keys() >= set(self._addresses):
                time.sleep(min(_FIRST_PAUSE * number, max(deadline - time.monotonic(), 0)))
        raise self._unreachable(failures)

    def avoids(self, address: str) -> bool:
        """Whether a node did not answer in the last 5 s, as one that was to be asked first."""
        return self._avoided.get(address, 0.0) > time.monotonic()

    def ask(self, address: str, method: str, request: Any, timeout: float | None = None) -> Any | None:
        """Makes one call at one node, once.

        Args:
            address: Of the node, which need not be one of the connection's.
            method: Name of a method of the service that gives one response.
            request: The request.
            timeout: Seconds; None: those of the connection.

        Returns:
            The response; None when the node did not answer: it is left out for 5 s.

        Raises:
            TensorFlowIgniteError: What the node answered, as the class for it.
        """
        return self._ask(address, method, request, timeout or self._timeout)[0]

    def _ask(self, address: str, method: str, request: Any, timeout: float) -> tuple[Any | None, str | None]:
        """The response, or why there was none."""
        try:
            with forks.calling():
                return getattr(self._stub_at(address), method)(request, timeout=timeout), None
        except grpc.RpcError as error:
            late = error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            if not (late or _is_lost(error)):
                raise _translate(error, address) from None
            self._avoided[address] = time.monotonic() + _AVOIDED
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
        """Yields the messages of a stream, and opens it again elsewhere when its node is lost.

        Args:
            method: Name of a method of NodeApi that gives a stream.
            request: The request.
            timeout: Seconds for the whole stream; None: no limit.
            is_complete: Asked at a regular end; False: the node ended the stream too early, so it counts as lost.
            on_restart: Told before the stream is opened again, to begin with its first message.

        Yields:
            Each message.

        Raises:
            TensorFlowIgniteError: What the node answered, as the class for it.
            ConnectionFailedError: Lost 5 times in succession.
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
                if not _is_lost(error):
                    raise _translate(error, address) from None
                failures[address] = _reason(error)
            finally:
                call.cancel()
            lost = 1 if time.monotonic() - opened >= _HEALTHY else lost + 1
            if lost >= max(_STREAM_TRIES, len(self._addresses)):
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
            stub = job_pb2_grpc.NodeApiStub(self._channels[address])  # type: ignore[no-untyped-call]
            allowed = max(deadline - time.monotonic(), 0.01) / (len(self._addresses) - number)
            try:
                stub.ListNodes(job_pb2.ListNodesRequest(), timeout=allowed)
                return
            except grpc.RpcError as error:
                if error.code() is grpc.StatusCode.UNAUTHENTICATED:
                    raise _translate(error, address) from None
                late = error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
                if not late and FALLBACKS[error.code()] is not errors.ConnectionFailedError:
                    return  # a node answers, if only to say what it cannot do now
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
                    "the client is closed. It makes calls until close(), or until its `with` block ends. Connect anew."
                )
            if address not in self._stubs:
                self._channels[address] = grpc_channel(address, self._credentials)
                self._stubs[address] = self._make_stub(self._channels[address])
            return self._stubs[address]

    def _advance(self, failed: str) -> None:
        """Goes to the next address, unless another thread has already left the failed one."""
        with self._lock:
            if self._addresses[self._position] == failed:
                self._position = (self._position + 1) % len(self._addresses)


def _is_lost(error: Any) -> bool:
    """True when the node could not be asked, or ended meanwhile, which cancels its calls.

    A node that answers with a code of ours has been asked.
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
        # One is enough: nodes of a cluster are of one kind, and each look takes a while.
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


def _late(method: str, failures: dict[str, str]) -> errors.RequestTimeoutError:
    tried = ", ".join(f"{address} ({reason})" for address, reason in failures.items())
    return errors.RequestTimeoutError(
        f"{method} got no answer: {tried}. A call waits so long for each address. Check the node's log, name "
        "another node too (host:port,host:port), or allow more time: connect(timeout=)."
    )
