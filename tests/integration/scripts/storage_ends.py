"""A process that uses files in every way that can go wrong at a fork or at its end; it exits with 7.

Arguments: a directory that is there, and the address of a parameter server.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time

import tensorflow as tf

from tensorflow_ignite.storage.tf import scheme  # after TensorFlow: that way round it must work as well

gfile = tf.io.gfile


def main(root: str, server: str) -> None:
    """Does everything, and returns with most of it still open."""
    with gfile.GFile(f"{root}/file", "w") as file:
        file.write("content")
    inherited = gfile.GFile(f"{root}/inherited", "w")
    inherited.write("of the parent")
    enough = threading.Event()
    readers = [threading.Thread(target=read_on, args=[f"{root}/file", enough]) for _ in range(4)]
    for reader in readers:
        reader.start()
    for number in range(3):
        fork(root, inherited, number)
    enough.set()
    abandon_iterators(root)
    collect_while_summary_writers_are_made(root)
    write_on(server, f"{root}/by-the-server")
    print(f"after {time.process_time():.1f} s of CPU: forked, abandoned, written elsewhere", flush=True)

    checkpoint = tf.train.Checkpoint(value=tf.Variable(tf.ones([1000, 1000])))
    checkpoint.save(f"{root}/async/ckpt", options=tf.train.CheckpointOptions(enable_async=True))
    left = gfile.GFile(f"{root}/left", "w")
    left.write("never closed")
    threading.Thread(target=read_on, args=[f"{root}/file", threading.Event()], daemon=True).start()
    main.kept = [checkpoint, left, inherited, forever(root)]  # what a module keeps is there until the very end
    next(main.kept[-1])


def read_on(path: str, enough: threading.Event) -> None:
    while not enough.is_set():
        try:
            with gfile.GFile(path) as file:
                assert file.read() == "content"
        except tf.errors.UnavailableError:
            return  # the process ends


def fork(root: str, inherited: gfile.GFile, number: int) -> None:
    """A child uses files at once, while other threads of its parent are in the middle of using them."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            with gfile.GFile(f"{root}/file") as file:
                assert file.read() == "content"
            with gfile.GFile(f"{root}/child-{number}", "w") as file:
                file.write("of a child")
            try:
                inherited.write("of the child")
                inherited.flush()
            except tf.errors.FailedPreconditionError:
                code = 0
        finally:
            if number == 0:
                sys.exit(code)  # the functions of atexit are called; the parent's files are not the child's to close
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert status == 0, status
    with gfile.GFile(f"{root}/child-{number}") as file:
        assert file.read() == "of a child"
    assert not gfile.exists(f"{root}/inherited")


def forever(root: str) -> tf.data.Iterator:
    """Reads records in threads of TensorFlow's, and never ends."""
    names = tf.data.Dataset.list_files(f"{root}/records-*")
    records = names.interleave(tf.data.TFRecordDataset, cycle_length=4, num_parallel_calls=4)
    return iter(records.repeat().batch(16).prefetch(4))


def abandon_iterators(root: str) -> None:
    """Forgets iterators whose threads are reading."""
    for number in range(4):
        with tf.io.TFRecordWriter(f"{root}/records-{number}") as writer:
            for row in range(200):
                writer.write(bytes([row]) * 1000)
    for _ in range(5):
        next(forever(root))


def collect_while_summary_writers_are_made(root: str) -> None:
    """TensorFlow makes them under the lock that a tensor of a resource takes when it goes."""
    calls = scheme._calls
    open_writer, thresholds = calls.open_writer, gc.get_threshold()

    def open_and_collect(url: str, mode: str) -> object:
        gc.set_threshold(1)  # from here on everything that is made asks for a collection
        try:
            return open_writer(url, mode)
        finally:
            gc.set_threshold(1_000_000)

    gc.set_threshold(1_000_000)
    calls.open_writer = open_and_collect
    for number in range(3):
        cycle = [tf.Variable(1.0)]
        cycle.append(cycle)
        del cycle
        tf.summary.create_file_writer(f"{root}/logs-{number}").close()
    del calls.open_writer
    gc.set_threshold(*thresholds)


def write_on(server: str, path: str) -> None:
    """Lets a parameter server write and read a file: that is where checkpoints of its variables are written."""
    # A function that is collected later is removed on the server too, where it is unknown; then the next operation
    # fails.
    gc.collect()
    tf.config.experimental_connect_to_host(server, job_name="ps")
    with tf.device("/job:ps/replica:0/task:0/device:CPU:0"):
        tf.io.write_file(path, "elsewhere")
        assert tf.io.read_file(path).numpy() == b"elsewhere"


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.exit(7)
