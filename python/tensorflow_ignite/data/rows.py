"""What readers of epochs have in common: their arguments as a request, and a row as features, label and weight."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

from tensorflow_ignite.data import arguments
from tensorflow_ignite.data.options import RowArguments
from tensorflow_ignite.data.request import WEIGHT_COLUMN, Request, make_request

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


def requested_rows(given: RowArguments) -> Rows:
    """Checks the arguments of :func:`tensorflow_ignite.dataset`, and resolves them against the cluster.

    Raises:
        InvalidRequestError: If an argument breaks a rule.
        TensorFlowIgniteError: Any error of a node; if no node answers.
    """
    labels = arguments.labels(given.label, given.columns, given.key)
    request = make_request(given)
    arguments.check_labels(labels, [column.name for column in request.layout], request.cache)
    return Rows(request, labels)
