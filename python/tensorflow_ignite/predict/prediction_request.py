"""What a prediction in bulk does; it travels to the tasks as the arguments of their script."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from typing import Any

from tensorflow_ignite.data.queries import Parameter

#: Rows of a call of the model, unless the caller sets their number. Measured: larger ones are not faster.
BATCH_ROWS = 8192


@dataclass(frozen=True)
class PredictionRequest:
    """The model or script, the rows that it reads, and the cache for its results.

    Attributes:
        into: The cache for the results.
        model: The version of the model, ``NAME:NUMBER``; empty: the script predicts.
        signature: The signature of the model; empty: its default one.
        script: The caller's script, as a path inside the code; empty: the model predicts.
        columns: The columns that the model or script takes; empty: chosen by the inputs of the model, or all.
        keep: Columns that are copied into the results.
        where: Condition in SQL; empty: every row.
        parameters: Values for the question marks of ``where``.
        batch_size: Rows of a call.
    """

    into: str
    model: str = ""
    signature: str = ""
    script: str = ""
    columns: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    where: str = ""
    parameters: tuple[Parameter, ...] = ()
    batch_size: int = BATCH_ROWS

    @property
    def source(self) -> str:
        """What predicts, as the results name it: ``NAME:NUMBER``, or the name of the script."""
        return self.model or self.script

    def to_arguments(self) -> tuple[str, ...]:
        """The arguments of the script of each task, which people read too."""
        given = {
            "--model": [self.model],
            "--signature": [self.signature],
            "--script": [self.script],
            "--into": [self.into],
            "--column": self.columns,
            "--keep": self.keep,
            "--where": [self.where],
            "--parameters": [json.dumps(self.parameters) if self.parameters else ""],
        }
        # As one text, a value may begin with a dash.
        options = [f"{name}={value}" for name, values in given.items() for value in values if value]
        return (*options, f"--batch-size={self.batch_size}")

    @classmethod
    def from_arguments(cls, arguments: list[str] | None = None) -> PredictionRequest:
        """The value of :meth:`to_arguments`; None: the arguments of this process."""
        parser = argparse.ArgumentParser(allow_abbrev=False)
        for name in ("model", "signature", "script", "where"):
            parser.add_argument(f"--{name}", default="")
        parser.add_argument("--into", required=True)
        parser.add_argument("--column", action="append", default=[], dest="columns")
        parser.add_argument("--keep", action="append", default=[])
        parser.add_argument("--parameters", type=json.loads, default=[])
        parser.add_argument("--batch-size", type=int, required=True)
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in vars(parser.parse_args(arguments)).items()
        }
        return cls(**given)
