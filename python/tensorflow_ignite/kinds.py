"""The kinds of jobs: which tasks run the script, under which strategy. All Python code that depends on a kind uses it.

`tensorflow_ignite.groups` has a class for each kind that trains, with a description of the kind.

`KindRules` in Java is the same table for the nodes: roles, placement, and the consequence of the loss of a task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

JobKind = Literal[
    "multi-worker-mirrored", "parameter-server", "mirrored", "one", "central-storage", "custom", "predict"
]


@dataclass(frozen=True)
class Kind:
    """One kind of job.

    Attributes:
        strategy: Name of the class of its strategy in TensorFlow; empty: the script brings its own, or needs none.
        script_role: The role of the first task that runs the script.
        equal_steps: Whether its workers must take equal steps, each with rows of its own.
        several_workers: Whether it may have more than one worker.
        parameter_servers: Whether it has parameter servers.
        named_roles: Whether it may have roles with names of their own.
        predicts: Whether it writes a result for each row into another cache, and is submitted by `Client.predict`.
    """

    strategy: str = ""
    script_role: Literal["worker", "client"] = "worker"
    equal_steps: bool = False
    several_workers: bool = False
    parameter_servers: bool = False
    named_roles: bool = False
    predicts: bool = False


KINDS: dict[JobKind, Kind] = {
    "multi-worker-mirrored": Kind(strategy="MultiWorkerMirroredStrategy", equal_steps=True, several_workers=True),
    "parameter-server": Kind(
        strategy="ParameterServerStrategy", script_role="client", several_workers=True, parameter_servers=True
    ),
    "mirrored": Kind(strategy="MirroredStrategy"),
    "one": Kind(),
    "central-storage": Kind(strategy="CentralStorageStrategy"),
    "custom": Kind(equal_steps=True, several_workers=True, named_roles=True),
    "predict": Kind(several_workers=True, predicts=True),
}
#: The kinds of jobs that train, by a script of the caller.
TRAINING_KINDS: tuple[JobKind, ...] = tuple(name for name, kind in KINDS.items() if not kind.predicts)
#: The kind of a job that names none.
DEFAULT_KIND: JobKind = "multi-worker-mirrored"


def runs_script(kind: str, role: str) -> bool:
    """Whether tasks of this role train by the script of the job; true for a kind of a later version."""
    rules = KINDS.get(cast("JobKind", kind))
    return rules is None or role == rules.script_role or (rules.named_roles and role == "named")
