"""Memory copied by one thread, from one place to another."""

from __future__ import annotations

import numpy as np

import rows
from answer import serve

BLOCK_ROWS = 64


def main() -> None:
    """Answers."""
    args = rows.parser(__doc__).parse_args()
    blocks = max(1, args.large // BLOCK_ROWS)
    source = np.ones(BLOCK_ROWS * rows.LARGE_BYTES, np.uint8)
    target = np.zeros_like(source)

    def one_pass() -> tuple[int, int, None]:
        for _ in range(blocks):
            np.copyto(target, source)
        return blocks * BLOCK_ROWS, blocks * source.nbytes, None

    serve({"memcpy": one_pass})


if __name__ == "__main__":
    main()
