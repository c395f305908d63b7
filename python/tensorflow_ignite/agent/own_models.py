"""A script of a job with several workers that trains a model of its own on each of them."""

from __future__ import annotations

import re
from pathlib import Path

from tensorflow_ignite.v1 import agent_pb2, job_pb2

_TRAINS = re.compile(r"\.fit\(|\bGradientTape\b")
_TRAINS_TOGETHER = re.compile(r"\btensorflow_ignite\b|\bdistribute\b|\bTF_CONFIG\b")
_MAX_CODE_BYTES = 16 << 20


def warning(context: agent_pb2.TaskContext, code: Path) -> str:
    """A line for the output of the first worker; empty: the code trains nothing, or may train one model together."""
    workers = len(context.workers)
    if context.kind != job_pb2.JOB_KIND_MULTI_WORKER_MIRRORED or workers < 2 or context.index:
        return ""
    files = [path for path in code.rglob("*.py") if path.is_file()]
    if sum(path.stat().st_size for path in files) > _MAX_CODE_BYTES:
        return ""
    text = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in files)
    if not _TRAINS.search(text) or _TRAINS_TOGETHER.search(text):
        return ""
    return (
        f"tensorflow_ignite: warning: the script does not import tensorflow_ignite, so each of the {workers} workers "
        "trains a model of its own. They train one model under a strategy. Add the lines of README.md, or submit with "
        "--strategy one\n"
    )
