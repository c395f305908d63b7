"""Calls to the models that the nodes of a cluster serve."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from tensorflow_ignite.errors import (
    ConnectionFailedError,
    InvalidRequestError,
    ModelNotServedError,
    RequestTimeoutError,
)
from tensorflow_ignite.models import tensors
from tensorflow_ignite.models.signature import Array, as_array
from tensorflow_ignite.net.rpc import NodeConnection
from tensorflow_ignite.v1 import predict_pb2, predict_pb2_grpc

# Between calls while no process serves the model, such as after the end of one.
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.05, 1.0
# Of a host that does not answer at all. A node that is reached may take the whole time of a prediction.
_CONNECT_SECONDS = 3.0


class Predictions:
    """Predictions by the nodes of one cluster. Safe to use from several threads."""

    def __init__(self, addresses: tuple[str, ...], credentials: Any = None) -> None:
        """Makes no call yet.

        Args:
            addresses: ``"host:port"`` of the nodes that may be called.
            credentials: Credentials of the calls.
        """
        self._addresses = addresses
        self._credentials = credentials
        self._lock = threading.Lock()
        self._connection: NodeConnection | None = None

    def predict(self, model: str, inputs: Mapping[str, Any], signature: str, timeout: float) -> dict[str, Array]:
        """The outputs of one batch; a call that a node or a process has lost is made again.

        Args:
            model: ``"NAME"`` or ``"NAME:NUMBER"``.
            inputs: Arrays by the names of the inputs, each of shape [rows, ...].
            signature: Name of the function; empty: the default one.
            timeout: Seconds, for all attempts together.

        Raises:
            InvalidRequestError: The inputs have no names, or are no arrays.
            TensorFlowIgniteError: The error of a node; if no node answers.
            RequestTimeoutError: No answer came in time. The next call begins at another node.
        """
        if not isinstance(inputs, Mapping):
            raise InvalidRequestError(
                f"the inputs of model {model} are {type(inputs).__name__}. They are arrays by the names of inputs: "
                f"tensorflow-ignite model describe {model.partition(':')[0]} shows the names. Give a dict of them"
            )
        request = predict_pb2.PredictRequest(
            model=model,
            signature=signature,
            inputs=[tensors.to_tensor(name, as_array(name, array)) for name, array in inputs.items()],
        )
        deadline, pause = time.monotonic() + timeout, _FIRST_PAUSE_SECONDS
        connection = self._connected()
        while True:
            left = max(deadline - time.monotonic(), _FIRST_PAUSE_SECONDS)
            try:
                answer = connection.call("Predict", lambda: request, timeout=left, is_total=True)
                return tensors.to_arrays(answer.outputs)
            except RequestTimeoutError:
                raise RequestTimeoutError(
                    f"model {model} has not predicted within {timeout:g} s. The caller sets the time. Wait "
                    "longer (timeout=), send fewer rows at a time, or see its processes: "
                    f"tensorflow-ignite model describe {model.partition(':')[0]}"
                ) from None
            except (ModelNotServedError, ConnectionFailedError):
                # A prediction changes nothing, so it may be made twice.
                if time.monotonic() + pause >= deadline:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    def close(self) -> None:
        """Closes the connection; a later call opens it again."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _connected(self) -> NodeConnection:
        with self._lock:
            if self._connection is None:
                self._connection = NodeConnection(
                    self._addresses,
                    _LONGEST_PAUSE_SECONDS,
                    make_stub=predict_pb2_grpc.ModelServiceStub,
                    connect=False,
                    credentials=self._credentials,
                    connect_timeout=_CONNECT_SECONDS,
                )
            return self._connection
