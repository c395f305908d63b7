"""The files of Keras' ``CSVLogger``, which it empties at the begin of each ``fit``: after a restart they go on."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

from tensorflow_ignite.base.libraries import is_keras


def keep(callbacks: Iterable[Any]) -> list[Any]:
    """Makes loggers append to their files, before ``fit`` begins.

    Returns:
        The loggers that would have emptied their files.
    """
    import tensorflow as tf

    loggers = [each for each in callbacks if _is_logger(each) and not each.append]
    for logger in loggers:
        # An earlier fit may have appended, and so set it to False.
        logger.append_header = True
    kept = [logger for logger in loggers if tf.io.gfile.exists(logger.filename)]
    for logger in kept:
        logger.append = True
    return kept


def begin(loggers: Iterable[Any], epoch: int | None) -> None:
    """Removes the epochs from the files that ``fit`` will repeat; a ``fit`` that begins anew empties the files.

    Args:
        loggers: The result of `keep`, after their begin.
        epoch: Number of finished epochs; None: ``fit`` begins anew.
    """
    for logger in loggers:
        if epoch is None:
            logger.append_header, logger.append = True, False
            _reopen(logger)
            continue
        header = _remove_after(logger, epoch)
        logger.append = False
        # Otherwise the first epoch that goes on decides: with validation_freq= it may have other logs.
        logger.keys = header[1:] or None


def size(callback: Any) -> int | None:
    """Bytes of the file to which a logger appends, perhaps after other trainings; None: it is no such logger."""
    import tensorflow as tf

    appends = _is_logger(callback) and callback.append and tf.io.gfile.exists(callback.filename)
    return int(tf.io.gfile.stat(callback.filename).length) if appends else None


def cut(logger: Any, size: int) -> None:
    """Removes what a logger that appends has written since its file had a size, in bytes."""
    import tensorflow as tf

    if not logger.append:
        return
    with tf.io.gfile.GFile(logger.filename, "rb") as file:
        content = file.read()
    if len(content) <= size:
        return
    logger.csv_file.close()
    with tf.io.gfile.GFile(logger.filename, "wb") as file:
        file.write(content[:size])
    _reopen(logger)


def _is_logger(callback: Any) -> bool:
    return is_keras(callback, "CSVLogger")


def _remove_after(logger: Any, epoch: int) -> list[str]:
    """Removes the lines of epochs that are trained again, since the checkpoint is an earlier one.

    Returns:
        The names of the columns.
    """
    import tensorflow as tf

    with tf.io.gfile.GFile(logger.filename, "r") as file:
        text = file.read()
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=logger.sep))
    left = [row for row in rows if row and not (row[0].isdecimal() and int(row[0]) >= epoch)]
    header = left[0] if left and not left[0][0].isdecimal() else []
    if left == rows:
        return header
    logger.csv_file.close()
    with tf.io.gfile.GFile(logger.filename, "w") as file:
        lines = io.StringIO(newline="")
        csv.writer(lines, delimiter=logger.sep).writerows(left)
        file.write(lines.getvalue())
    _reopen(logger)
    return header


def _reopen(logger: Any) -> None:
    logger.csv_file.close()
    logger.on_train_begin()
