"""Pieces of output become lines, each once, also when the stream begins again."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tensorflow_ignite.jobs.logs import LineAssembler, LogLine


def feed(assembler: LineAssembler, *pieces: bytes, dropped: int = 0, index: int = 0) -> list[str]:
    lines = []
    for piece in pieces:
        lines += [line.text for line in assembler.add(1, "worker", index, piece, dropped)]
        dropped = 0
    return lines


def test_lines_of_each_task_are_whole_however_the_pieces_fall_and_the_last_one_needs_no_end() -> None:
    assembler = LineAssembler()
    assert feed(assembler, b"on", b"e\ntw", b"o\r\n", b"\n", b"a", index=0) == ["one", "two", ""]
    assert feed(assembler, b"\xc3", b"\xbc\n", b"\xff\n", index=1) == ["ü", "�"]
    assert feed(assembler, b"c\nno end", index=0) == ["ac"]
    assert list(assembler.finish()) == [LogLine(1, "worker", 0, "no end")]
    assert list(LineAssembler().finish()) == []


def test_a_replaced_task_begins_an_output_of_its_own_and_ends_the_line_before() -> None:
    assembler = LineAssembler()
    assert feed(assembler, b"one\ncut") == ["one"]
    lines = list(assembler.add(1, "worker", 0, b"anew\n", 0, 1))
    assert lines == [LogLine(1, "worker", 0, "cut"), LogLine(1, "worker", 0, "anew", 0, 1)]
    assembler.restart()
    again = feed(assembler, b"one\ncut") + [line.text for line in assembler.add(1, "worker", 0, b"anew\nmore\n", 0, 1)]
    assert again + [line.text for line in assembler.finish()] == ["more"]


def test_dropped_output_is_reported_at_its_position() -> None:
    assembler = LineAssembler()
    first = list(assembler.add(1, "worker", 0, b"begun", 0))
    lines = first + list(assembler.add(1, "worker", 0, b"later\n", 100))
    assert lines == [LogLine(1, "worker", 0, "begun"), LogLine(1, "worker", 0, "later", 100)]
    list(assembler.add(1, "worker", 0, b"", 5))
    assert list(assembler.finish()) == [LogLine(1, "worker", 0, "", 5)]


def test_a_line_that_never_ends_is_handed_out_in_parts() -> None:
    assembler = LineAssembler()
    lines = feed(assembler, *["ü".encode() * 1000] * 100)
    assert len(lines) == 3
    assert "".join(lines) + "".join(line.text for line in assembler.finish()) == "ü" * 100_000


@given(
    text=st.text(alphabet="ab\nü\r", max_size=60),
    cuts=st.lists(st.integers(0, 80), max_size=6),
    again=st.lists(st.integers(0, 80), max_size=6),
    forgotten=st.integers(0, 40),
)
def test_a_stream_that_begins_again_gives_each_line_once(text, cuts, again, forgotten) -> None:
    data = text.encode()

    def pieces(places: list[int]) -> list[bytes]:
        bounds = sorted({0, len(data), *(place for place in places if place < len(data))})
        return [data[start:end] for start, end in pairwise(bounds)]

    plain = LineAssembler()
    expected = feed(plain, data) + [line.text for line in plain.finish()]

    assembler = LineAssembler()
    first = pieces(cuts)
    seen = feed(assembler, *first[: len(first) // 2])
    read = sum(map(len, first[: len(first) // 2]))
    assembler.restart()
    dropped = min(forgotten, read)  # the oldest output, which we have had, was dropped meanwhile
    rest = list(assembler.add(1, "worker", 0, data[dropped : dropped + 1], dropped))
    bounds = sorted({dropped + 1, len(data), *(place for place in again if dropped + 1 < place < len(data))})
    for start, end in pairwise(bounds):
        rest += assembler.add(1, "worker", 0, data[start:end], 0)
    rest += assembler.finish()
    assert seen + [line.text for line in rest] == expected
    assert all(line.dropped_bytes == 0 for line in rest)
