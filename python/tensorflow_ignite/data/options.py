"""Groups of arguments that `dataset`, `batches`, `read_table` and `position` share, and all arguments as one value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from tensorflow_ignite.data.cache_position import CachePosition
from tensorflow_ignite.data.epochs.rows_per_worker import Uneven
from tensorflow_ignite.errors import InvalidRequestError

Transport = Literal["auto", "shared", "tcp", "flight", "thin"]

_G = TypeVar("_G")


@dataclass(frozen=True)
class ReadOptions:
    """From which nodes rows are read, in whose name, and how they travel.

    Attributes:
        transport: ``"auto"``: through memory shared with a node on the same host, else over separate TCP connections,
            else over Arrow Flight. ``"shared"``, ``"tcp"`` and ``"flight"`` require one of them. ``"thin"`` reads a
            cluster without our service by its thin client port, row by row, and slowly.
        memory: Bytes that all snapshots of this process may have together, such as ``"2GB"``; the oldest is removed
            first, and a dataset without memory is read anew each epoch. None: a quarter of the available memory of the
            machine, divided by the number of workers on this node. A table has no snapshot.
        batch_bytes: Size in bytes, about, of the batches that travel; 0: 4 MiB for rows of a fixed length below
            64 KiB, else 8 MiB.
        read_rate: The most that this process reads from each node in a second, for this dataset: ``"200MB"`` or
            ``"50000rows"``. None: as the job says (its ``read_rate``, for all its tasks together), outside a job no
            limit. In any case reading yields to the application's work on the node, unless the cluster is configured
            otherwise.
        address: ``host:port[,host:port]`` of any nodes; None: TENSORFLOW_IGNITE_ADDRESS, or IGNITE_DATASET_HOST and
            IGNITE_DATASET_PORT, or localhost:10820. A task of a job always calls the node of its agent.
        credentials: Identity of the caller and trusted authorities: `tensorflow_ignite.Credentials`,
            ``(user, password)``, or a dict with some of username, password, token, certfile, keyfile, key_password,
            cafile, tls, verify; None: those of the task, of the environment, or of a profile. They never leave this
            process: a remote worker uses its own. See docs/security.md.
    """

    transport: Transport = "auto"
    memory: int | str | None = None
    batch_bytes: int = 0
    read_rate: str | None = None
    address: str | None = None
    credentials: Any = field(default=None, repr=False)


@dataclass(frozen=True)
class Changes:
    """Rows that change: those that were put after a position, those that are put while they are read, or both.

    Attributes:
        since: What `tensorflow_ignite.position` has returned, or its text: only rows that were put later.
        follow: Go on with rows that are put later, without an end. `dataset` alone can do so.
        deletions: With ``since`` or ``follow``: rows that were removed come too, with the values that ``nulls`` sets,
            and True in a column ``_deleted``. Read the key (``key=True``) to know which they are.
        replay: With ``since``: the share of rows that have not changed, about: a sample that differs from dataset to
            dataset, which nodes choose by hashes of keys. 0.5: as many unchanged rows as changed ones.
    """

    since: CachePosition | str | None = None
    follow: bool = False
    deletions: bool = False
    replay: float = 0.0


@dataclass(frozen=True)
class HoldOut:
    """Rows that are held out of the training, by a hash of their keys.

    A row keeps its side always, whatever its values, also in other caches with the same keys.

    Attributes:
        validation_split: The share of rows that is held out, between 0 and 1.
        subset: ``"training"``: the other rows; ``"validation"``: the rows that are held out.
    """

    validation_split: float
    subset: Literal["training", "validation"]


@dataclass(frozen=True)
class RowArguments:
    """The arguments of `tensorflow_ignite.dataset`, as they were given; they are checked when they are resolved."""

    cache: str
    columns: Sequence[str] | None = None
    key: bool = False
    label: Any = None
    schema: Any = None
    where: str | None = None
    sql: str | None = None
    parameters: Sequence[Any] = ()
    partitions: Sequence[int] | str | None = None
    shuffle: bool | int | None = None
    seed: int | None = None
    nulls: str = "error"
    on_mismatch: str = "error"
    uneven: Uneven = "repeat"
    snapshot: Literal["refresh", "frozen"] | bool | None = None
    exact: bool = False
    accept_data_loss: bool | None = None
    changes: Changes | None = None
    hold_out: HoldOut | None = None
    options: ReadOptions | None = None


def group(name: str, value: _G | None, group_type: type[_G]) -> _G | None:
    """The group that is the value of an argument; None stays None.

    Raises:
        InvalidRequestError: It is something else.
    """
    if value is None or isinstance(value, group_type):
        return value
    example = {ReadOptions: 'transport="tcp"', Changes: "since=position", HoldOut: '0.1, "training"'}[group_type]
    raise InvalidRequestError(
        f"{name}={value!r} is no tfi.{group_type.__name__}. Use {name}=tfi.{group_type.__name__}({example})"
    )
