"""Output becomes numbered chunks: in order, bounded, at line ends, the same when sent again."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tensorflow_ignite.agent.output import CHUNK_BYTES, TAIL_BYTES, Output


@pytest.fixture
def output(tmp_path: Path) -> Iterator[Output]:
    made = Output(tmp_path / "log", limit=4 * TAIL_BYTES)
    yield made
    made.close()


def data(output: Output) -> list[bytes]:
    return [output.chunk(number).data for number in range(output.count)]


def test_lines_become_chunks_at_once_and_the_rest_of_a_line_with_it(output: Output) -> None:
    os.write(output.fd, b"one\ntwo\nthr")
    assert output.waiting_bytes == 11
    assert output.advance()
    assert output.waiting_bytes == 0
    assert data(output) == [b"one\ntwo\n"]
    os.write(output.fd, b"ee\n")
    assert output.advance()
    assert data(output) == [b"one\ntwo\n", b"three\n"]
    assert not output.advance()


CHATTER = (
    b"WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
    b"I0000 00:00:1795604746.413464   11324 port.cc:153] oneDNN custom operations are on.\n"
)


def test_lines_that_tensorflow_prints_when_it_is_imported_are_skipped_for_who_wants_that(output: Output) -> None:
    os.write(output.fd, CHATTER)
    output.advance()
    output.skip_chatter()
    os.write(output.fd, CHATTER)
    assert not output.advance()
    os.write(output.fd, CHATTER + b"Epoch 1\n" + CHATTER)
    output.complete()
    assert data(output) == [CHATTER, b"Epoch 1\n" + CHATTER]
    assert [output.chunk(number).dropped_bytes for number in range(output.count)] == [0, 0]
    assert output.bytes == sum(map(len, data(output)))
    assert output.dropped_bytes == 0


def test_lines_that_tensorflow_does_not_print_when_it_is_imported_are_kept(output: Output) -> None:
    output.skip_chatter()
    own = b"I1125 13:24:09.413464 1234 trainer.cc:12] epoch 7 loss=0.5\n" * 3
    os.write(output.fd, CHATTER + own)
    output.advance()
    assert data(output) == [own]


def test_what_follows_a_whole_block_of_skipped_lines_is_kept(output: Output) -> None:
    output.skip_chatter()
    line = CHATTER.splitlines(keepends=True)[1]
    blocks = 3 * CHUNK_BYTES // len(line) * line
    os.write(output.fd, blocks + line[:-1].ljust(3 * CHUNK_BYTES - len(blocks) - 1, b".") + b"\nhello\n")
    output.complete()
    assert data(output) == [b"hello\n"]


def test_line_without_an_end_becomes_a_chunk_at_the_second_poll(output: Output) -> None:
    os.write(output.fd, b"\r10 %")
    assert not output.advance()
    assert output.advance()
    os.write(output.fd, b"\r20 %")
    assert not output.advance()
    assert output.advance()
    assert data(output) == [b"\r10 %", b"\r20 %"]


def test_long_output_is_cut_at_line_ends_into_bounded_chunks_and_so_is_a_long_line(output: Output) -> None:
    written = b"".join(b"line %d\n" % number for number in range(30_000))
    os.write(output.fd, written)
    output.advance()
    chunks = data(output)
    assert len(chunks) > 1
    assert all(len(chunk) <= CHUNK_BYTES and chunk.endswith(b"\n") for chunk in chunks)
    assert b"".join(chunks) == written
    os.write(output.fd, b"x" * (CHUNK_BYTES + 1))
    output.advance()
    output.complete()
    assert [len(chunk) for chunk in data(output)[len(chunks) :]] == [CHUNK_BYTES, 1]


def test_beyond_the_limit_the_last_part_is_kept_and_the_disk_is_released(output: Output, tmp_path: Path) -> None:
    limit = 4 * TAIL_BYTES
    line = b"0123456789abcde\n"
    written = 16 * TAIL_BYTES
    for _ in range(16):
        os.write(output.fd, line * (TAIL_BYTES // len(line)))
        output.advance()
    os.write(output.fd, b"the end")
    output.advance()
    assert output.dropped_bytes == written + 7 - limit
    assert (tmp_path / "log").stat().st_blocks * 512 < written - 4 * TAIL_BYTES
    live = output.count
    output.complete()
    chunks = data(output)
    assert b"".join(chunks).count(line) * len(line) + 7 == len(b"".join(chunks))
    assert chunks[-1].endswith(b"the end")
    assert [number for number in range(output.count) if output.chunk(number).dropped_bytes] == [live]
    assert output.chunk(live).dropped_bytes == output.dropped_bytes
    assert sum(map(len, chunks)) + output.dropped_bytes == written + 7
    assert limit - CHUNK_BYTES <= sum(map(len, chunks)) <= limit


def test_limit_smaller_than_a_chunk_still_keeps_the_last_part(tmp_path: Path) -> None:
    output = Output(tmp_path / "log", limit=8)
    os.write(output.fd, b"abcdefghijklmnop")
    output.advance()
    output.complete()
    assert data(output) == [b"abcd", b"mnop"]
    assert output.chunk(1).dropped_bytes == output.dropped_bytes == 8
    output.close()


def test_no_output_is_no_chunk(output: Output) -> None:
    assert not output.advance()
    output.complete()
    assert (output.count, output.dropped_bytes, output.tail(100)) == (0, 0, "")


def test_output_goes_on_after_a_process_of_the_task_has_emptied_the_file(output: Output) -> None:
    os.write(output.fd, b"first\nsecond\npart")
    output.advance()
    # As a shell does for `> /dev/stderr`.
    with open(f"/proc/self/fd/{output.fd}", "wb") as emptied:
        emptied.write(b"shell\n")
    os.write(output.fd, b"third\n")
    assert output.advance()
    assert output.chunk(output.count - 1).data == b"shell\nthird\n"
    os.ftruncate(output.fd, 0)
    os.write(output.fd, b"Error: why")
    output.complete()
    assert output.chunk(output.count - 1).data == output.tail(1000).encode() == b"Error: why"
    assert output.dropped_bytes == 0
