"""Columns that the folders of files are, such as year of ``year=2026``."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

import pyarrow as pa
from pyarrow import dataset as arrow

from tensorflow_ignite.data.loading.casting import Casting
from tensorflow_ignite.data.loading.source import below

_INTEGER = re.compile(r"-?\d{1,18}")


class FolderColumns:
    """The columns of the folders, which the files themselves do not have.

    Attributes:
        fields: Their fields: integers if all values are, else text.
        notes: By column, which number has lost zeros.
    """

    def __init__(self, paths: Sequence[str], base: str | None, casting: Casting, taken: Collection[str] = ()) -> None:
        """Reads the names of the folders.

        Args:
            paths: The files.
            base: The folder below which folders are columns; None: no folder is one.
            casting: The types that the caller wants: then the values are text, which is cast.
            taken: The columns that the files have.
        """
        texts = {path: _values(path, base) for path in paths}
        names = list(dict.fromkeys(name for found in texts.values() for name in found))
        self.fields: list[pa.Field] = []
        self.notes: dict[str, str] = {}
        self._values: dict[str, list[str | int | None]] = {path: [] for path in paths}
        for name in names:
            if name in taken:
                continue
            values: dict[str, str | int | None] = {path: found.get(name) for path, found in texts.items()}
            kind = pa.string()
            given = [text for text in values.values() if isinstance(text, str)]
            if given and all(map(_INTEGER.fullmatch, given)) and casting.types.get(name) is None:
                kind = pa.int32() if all(-(1 << 31) <= int(text) < 1 << 31 for text in given) else pa.int64()
                changed = next((text for text in given if str(int(text)) != text), None)
                if changed is not None:
                    self.notes[name] = lost(name, changed, int(changed))
                values = {path: None if text is None else int(text) for path, text in values.items()}
            self.fields.append(pa.field(name, kind))
            for path, value in values.items():
                self._values[path].append(value)

    def schema(self, of_files: pa.Schema) -> pa.Schema:
        """The columns of the files, and these."""
        return pa.schema([*of_files, *self.fields])

    def add(self, batch: pa.RecordBatch, path: str) -> pa.RecordBatch:
        """A batch of a file with these columns."""
        if not self.fields:
            return batch
        constants = [
            pa.repeat(pa.scalar(value, field.type), batch.num_rows)
            for value, field in zip(self._values[path], self.fields, strict=True)
        ]
        return pa.RecordBatch.from_arrays([*batch.columns, *constants], schema=self.schema(batch.schema))


def lost(name: str, text: str, number: float) -> str:
    """The note of a column in which a number is not what the text says."""
    return f"is a number, and loses characters: {text} is {number}; --schema {name}=string keeps them"


def _values(path: str, base: str | None) -> dict[str, str | None]:
    if base is None:
        return {}
    found = below(path, base)
    names = dict.fromkeys(part.partition("=")[0] for part in found.split("/")[:-1] if "=" in part)
    fields = pa.schema([(name, pa.string()) for name in names])
    values = arrow.get_partition_keys(arrow.partitioning(fields, flavor="hive").parse(found))
    return {name: values.get(name) for name in names}
