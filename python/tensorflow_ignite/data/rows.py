"""What readers of epochs have in common: their arguments as a request, and a row as features, label and weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from tensorflow_ignite.data import arguments, changes_rules, queries
from tensorflow_ignite.data.epochs.rows_per_worker import UNEVEN
from tensorflow_ignite.data.request import WEIGHT_COLUMN, Request, make_request
from tensorflow_ignite.data.schema_argument import parse_schema
from tensorflow_ignite.net import credentials as net_credentials

_T = TypeVar("_T")


class Rows(NamedTuple):
    """The rows that a caller requests.

    Attributes:
        request: Which rows.
        labels: The column, or the columns, that are labels; None: rows have no label.
    """

    request: Request
    labels: str | tuple[str, ...] | None

    def element(self, row: dict[str, _T], weights: _T | None) -> Any:
        """An element of a dataset: a dict of columns, or a pair with the label, and the weights if there are some.

        Args:
            row: The columns by name; labels are taken out of it.
            weights: The weight of each row; None: they have none.
        """
        if self.labels is None:
            return row if weights is None else {**row, WEIGHT_COLUMN: weights}
        names = (self.labels,) if isinstance(self.labels, str) else self.labels
        targets = {name: row.pop(name) for name in names}
        label = targets[self.labels] if isinstance(self.labels, str) else targets
        return (row, label) if weights is None else (row, label, weights)


def requested_rows(
    cache: str,
    *,
    columns: Sequence[str] | None,
    key: bool,
    label: Any,
    schema: Any,
    where: str | None,
    sql: str | None,
    parameters: Sequence[Any],
    partitions: Any,
    shuffle: Any,
    seed: Any,
    nulls: Any,
    on_mismatch: Any,
    uneven: Any,
    snapshot: Any,
    since: Any,
    deletions: Any,
    replay: Any,
    validation_split: Any,
    subset: Any,
    memory: Any,
    transport: Any,
    address: str | None,
    credentials: Any,
    batch_bytes: int,
    accept_data_loss: Any,
    read_rate: Any,
    exact: Any = False,
    follow: Any = False,
) -> Rows:
    """Checks the arguments of :func:`tensorflow_ignite.dataset`, and resolves them against the cluster.

    Raises:
        InvalidRequestError: If an argument breaks a rule.
        TensorFlowIgniteError: Any error of a node; if no node answers.
    """
    labels = arguments.labels(label, columns, key)
    condition, select, values = queries.checked(where, sql, parameters, columns, key)
    request = make_request(
        cache,
        columns=columns,
        key=key,
        partitions=partitions,
        address=address,
        batch_bytes=batch_bytes,
        window=arguments.window(shuffle),
        seed=arguments.seed(seed),
        nulls=arguments.one_of("nulls", nulls, ("error", "default", "mask")),
        on_mismatch=arguments.one_of("on_mismatch", on_mismatch, ("error", "skip")),
        uneven=arguments.one_of("uneven", uneven, UNEVEN),
        snapshot=arguments.snapshot(snapshot),
        exact=bool(arguments.flag("exact", exact)),
        memory=arguments.memory(memory),
        transport=arguments.one_of("transport", transport, ("auto", "shared", "tcp", "flight", "thin")),
        where=condition,
        sql=select,
        parameters=values,
        schema=parse_schema(schema),
        # In this process, under a random name for a graph.
        credentials=net_credentials.store(net_credentials.from_argument(credentials)),
        accept_data_loss=arguments.flag("accept_data_loss", accept_data_loss),
        read_rate=arguments.read_rate(read_rate),
        since=changes_rules.parse(since),
        follow=bool(arguments.flag("follow", follow)),
        deletions=bool(arguments.flag("deletions", deletions)),
        replay=arguments.replay(replay),
        keys=arguments.key_range(validation_split, subset),
    )
    arguments.check_labels(labels, [column.name for column in request.layout], request.cache)
    return Rows(request, labels)
