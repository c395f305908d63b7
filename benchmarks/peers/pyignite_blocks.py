"""pyignite: the blocks of a checkpoint as values of a cache, put and got one by one by a client for each thread."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

from pyignite import Client
from pyignite.datatypes import ByteArrayObject
from pyignite.datatypes.cache_config import CacheAtomicityMode, CacheMode, WriteSynchronizationMode
from pyignite.datatypes.prop_codes import (
    PROP_BACKUPS_NUMBER,
    PROP_CACHE_ATOMICITY_MODE,
    PROP_CACHE_MODE,
    PROP_NAME,
    PROP_WRITE_SYNCHRONIZATION_MODE,
)

from answer import Pass, serve

BLOCK_BYTES = 2 << 20
THREADS = os.cpu_count() or 1


@contextmanager
def blocks(ports: list[int], backups: int, count: int) -> Iterator[tuple[Pass, Pass]]:
    """The passes that put and get this number of bytes in a cluster; each round replaces the value of each key."""
    with ExitStack() as ends:
        clients = [Client(timeout=60) for _ in range(THREADS)]
        for client in clients:
            ends.enter_context(client.connect([("127.0.0.1", port) for port in ports]))
        clients[0].get_or_create_cache(
            {
                PROP_NAME: "pyignite_blocks",
                PROP_CACHE_MODE: CacheMode.PARTITIONED,
                PROP_CACHE_ATOMICITY_MODE: CacheAtomicityMode.TRANSACTIONAL,
                PROP_WRITE_SYNCHRONIZATION_MODE: WriteSynchronizationMode.FULL_SYNC,
                PROP_BACKUPS_NUMBER: backups,
            }
        )
        caches = [client.get_cache("pyignite_blocks") for client in clients]
        value = os.urandom(BLOCK_BYTES)
        keys = [f"{'0' * 32}/{number}" for number in range(max(count // BLOCK_BYTES, 1))]
        pool = ends.enter_context(ThreadPoolExecutor(THREADS))

        def in_threads(act: Callable[[int, str], None]) -> Pass:
            def share(thread: int) -> None:
                for key in keys[thread::THREADS]:
                    act(thread, key)

            def one_pass() -> tuple[int, int, None]:
                list(pool.map(share, range(THREADS)))
                return len(keys), len(keys) * BLOCK_BYTES, None

            return one_pass

        def put(thread: int, key: str) -> None:
            caches[thread].put(key, value, value_hint=ByteArrayObject)

        def get(thread: int, key: str) -> None:
            if len(caches[thread].get(key)) != BLOCK_BYTES:
                raise RuntimeError(f"{key} is not what was put")

        yield in_threads(put), in_threads(get)


def main() -> None:
    """Connects, then answers."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--bytes", type=int, required=True, help="of all blocks")
    options.add_argument("--plain", type=int, nargs="+", required=True, metavar="PORT", help="without backups")
    options.add_argument("--backup", type=int, nargs="+", required=True, metavar="PORT", help="with one backup")
    args = options.parse_args()
    with (
        blocks(args.plain, 0, args.bytes) as (put, get),
        blocks(args.backup, 1, args.bytes) as (put_backup, get_backup),
    ):
        serve(
            {
                "pyignite_put": put,
                "pyignite_get": get,
                "pyignite_put_backup": put_backup,
                "pyignite_get_backup": get_backup,
            }
        )


if __name__ == "__main__":
    main()
