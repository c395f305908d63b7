"""What may be requested together with since=, follow= and deletions=."""

from __future__ import annotations

from tensorflow_ignite.data.cache_position import CachePosition
from tensorflow_ignite.errors import InvalidRequestError


def parse(since: CachePosition | str | None) -> CachePosition | None:
    """The position of the argument ``since``, which may be its text.

    Raises:
        InvalidRequestError: It is no position.
    """
    if since is None or isinstance(since, CachePosition):
        return since
    if isinstance(since, str):
        return CachePosition.from_json(since)
    raise InvalidRequestError(
        f"since={since!r} is no position. It is what tfi.position(cache) returns, or its text (to_json()). "
        f"Leave it out to read all rows"
    )


def check(
    *,
    cache: str,
    since: CachePosition | None,
    follow: bool,
    deletions: bool,
    query: bool,
    refusal: str,
    exact: bool,
    shuffle: bool,
    snapshot: bool,
    nulls: str,
) -> None:
    """Checks arguments of a dataset before any node is called.

    Args:
        cache: Name of the cache, for error texts.
        since: The position after which rows are read.
        follow: Whether reading goes on with what is put later.
        deletions: Whether removed rows are read too.
        query: Whether a condition or SELECT chooses the rows.
        refusal: Why the transport cannot read by changes, for the error text; empty: it can.
        exact: Whether the number of rows is fixed.
        shuffle: Whether rows are shuffled.
        snapshot: Whether the script requested a snapshot.
        nulls: How nulls are treated.

    Raises:
        InvalidRequestError: A rule is broken.
    """
    if since is None and not follow:
        if deletions:
            raise InvalidRequestError(
                f"deletions=True needs a position for cache {cache!r}: a removed row is one that existed then. Add "
                f"since=tfi.position(cache) to tfi.Changes(...), or follow=True"
            )
        return
    name = "follow=True" if follow else "since="
    problem = ""
    if query:
        problem = (
            "where= or sql=. The nodes notice the keys of changed rows, and not which rows a query would select. Read "
            "all rows, and filter them: dataset(...).filter(...)"
        )
    elif refusal:
        problem = refusal
    elif exact:
        problem = "exact=True. How many rows have changed is not known before they are read. Remove exact="
    elif follow and shuffle:
        problem = "shuffle=. Rows come as they are put. Shuffle some of them: dataset(...).shuffle(10_000)"
    elif follow and snapshot:
        problem = "snapshot=. A dataset without an end has no later epoch. Remove snapshot="
    if problem:
        raise InvalidRequestError(f"cache {cache!r} cannot be read with {name} and {problem}")
    if deletions and nulls == "error":
        raise InvalidRequestError(
            f"deletions=True of cache {cache!r} needs a rule for nulls: a removed row has a key and no values. Add "
            f'nulls="default", or nulls="mask"'
        )


def check_cache(since: CachePosition | None, cache: str) -> None:
    """Checks that a position is one of the cache that is read.

    Raises:
        InvalidRequestError: It is one of another cache.
    """
    if since is not None and since.cache != cache:
        raise InvalidRequestError(
            f"the position of cache {since.cache!r} is no position of cache {cache!r}. Each cache numbers its own "
            f"changes. Use a position of this cache: tfi.position({cache!r})"
        )
