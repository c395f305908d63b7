"""A model process: `python -m tensorflow_ignite.serving.process NAME NUMBER FILES OWN MAX_ANSWER_BYTES`.

FILES is the directory of the version's files with its metadata. OWN is the directory of this process, and its working
directory. Answers larger than MAX_ANSWER_BYTES are errors; 0 is no limit. The process loads the model, calls it once,
serves on the socket OWN/socket, and then writes its signatures into OWN/ready.json. If this fails, it writes the reason
into OWN/error and exits with 3. If the model has kept too much memory of its requests, the process writes the reason
and exits with 4. Its agent ends it.
"""

from __future__ import annotations

import logging
import os
import queue
import sys
from collections.abc import Mapping
from concurrent import futures
from pathlib import Path
from typing import Any

import grpc

from tensorflow_ignite.base.messages import to_json
from tensorflow_ignite.errors import InvalidRequestError, TensorFlowIgniteError
from tensorflow_ignite.models import loading, source, tensors
from tensorflow_ignite.models.loading import LoadedModel
from tensorflow_ignite.models.signature import Array
from tensorflow_ignite.models.version import KERAS_FILE
from tensorflow_ignite.serving.headroom import Headroom, lacks_memory
from tensorflow_ignite.serving.warming import warm
from tensorflow_ignite.v1 import predict_pb2, predict_pb2_grpc

#: Exit code of a process whose model cannot be used.
UNUSABLE = 3
#: Exit code of a process whose model has kept too much memory to go on.
FULL = 4
#: Batches at a time: the next one is decoded while one is computed.
THREADS = 2
_MAX_MESSAGE_BYTES = 1 << 30
_STOP_SECONDS = 1.0
_OOM_SCORE = Path("/proc/self/oom_score_adj")
_FIRST_TO_END = "1000"
# Relative, since the whole path may exceed the limit of a socket's path.
_SOCKET = "socket"

_log = logging.getLogger(__name__)


def main() -> int:
    """Serves until it is ended; returns the exit code if it cannot."""
    name, number, files, own = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]), Path(sys.argv[4])
    max_answer_bytes = int(sys.argv[5])
    # Where a machine has no memory left, the kernel ends this process, and not the node beside it.
    _OOM_SCORE.write_text(_FIRST_TO_END, encoding="ascii")
    try:
        model = _load(name, number, files)
    except TensorFlowIgniteError as error:
        (own / "error").write_text(str(error), encoding="utf-8")
        print(error, file=sys.stderr)
        return UNUSABLE
    full = queue.SimpleQueue[str]()
    server = _serve(_Service(model, max_answer_bytes, full))
    ready = predict_pb2.ModelStatus(signatures=tensors.to_signatures(model.signatures))
    part = own / "ready.json.part"
    part.write_text(to_json(ready), encoding="utf-8")
    part.rename(own / "ready.json")
    loss = full.get()
    (own / "error").write_text(
        f"model {name}:{number} {loss}, and a request lacked memory. Deploy it with more memory (--memory), or free "
        "what it keeps",
        encoding="utf-8",
    )
    server.stop(_STOP_SECONDS).wait(_STOP_SECONDS)
    # A call that is in the model may never end.
    os._exit(FULL)


def _load(name: str, number: int, files: Path) -> LoadedModel:
    try:
        content = (files / source.METADATA_FILE).read_bytes()
    except OSError as error:
        raise source.unreadable_metadata(name, number, error) from error
    version = source.read_metadata(name, number, content)
    found = files / KERAS_FILE if version.format == "keras" else files
    source.check_digest(version, source.files_of(found, version.format))
    model = loading.load(files, version.format, f"model {version.reference}")
    warm(model, files)
    return model


def _serve(service: _Service) -> grpc.Server:
    options = [("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES), ("grpc.max_send_message_length", -1)]
    server = grpc.server(futures.ThreadPoolExecutor(THREADS), options=options)
    predict_pb2_grpc.add_PredictServiceServicer_to_server(service, server)  # type: ignore[no-untyped-call]
    server.add_insecure_port(f"unix:{_SOCKET}")
    # Only the user of the node may open it.
    os.chmod(_SOCKET, 0o600)
    server.start()
    return server


class _Service(predict_pb2_grpc.PredictServiceServicer):
    def __init__(self, model: LoadedModel, max_answer_bytes: int, full: queue.SimpleQueue[str]) -> None:
        self._model = model
        self._max_answer_bytes = max_answer_bytes
        self._full = full
        self._memory = Headroom()

    def Ping(self, request: predict_pb2.PingRequest, context: grpc.ServicerContext) -> predict_pb2.PingResponse:
        return predict_pb2.PingResponse()

    def Predict(
        self, request: predict_pb2.PredictRequest, context: grpc.ServicerContext
    ) -> predict_pb2.PredictResponse:
        try:
            outputs = self._model.predict(tensors.to_arrays(request.inputs), request.signature)
            self._verify_size(outputs, context)
            return predict_pb2.PredictResponse(
                outputs=[tensors.to_tensor(name, array) for name, array in outputs.items()]
            )
        except InvalidRequestError as error:
            _abort(context, grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except (MemoryError, TensorFlowIgniteError) as error:
            if not lacks_memory(error):
                _abort(context, grpc.StatusCode.FAILED_PRECONDITION, str(error))
            # A request that is too large gives its memory back; a model that has kept it will lack it again.
            if loss := self._memory.loss():
                self._full.put(loss)
            _abort(context, grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))
        raise AssertionError("unreachable")

    def _verify_size(self, outputs: Mapping[str, Array], context: grpc.ServicerContext) -> None:
        """Refuses an answer that the node would not take, before it is copied: a copy may end the process."""
        size = sum(map(_size, outputs.values()))
        if 0 < self._max_answer_bytes < size:
            text = f"the answer has {size} bytes, and the node takes at most {self._max_answer_bytes}"
            _abort(context, grpc.StatusCode.RESOURCE_EXHAUSTED, text)


def _size(array: Array) -> int:
    """Bytes of the values; for texts, the sum of their lengths in bytes."""
    return sum(map(len, array.flat)) if array.dtype == object else array.nbytes


def _abort(context: Any, code: grpc.StatusCode, text: str) -> None:
    context.abort(code, text)


if __name__ == "__main__":
    sys.exit(main())
