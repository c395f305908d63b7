"""Whatever an archive holds, what is unpacked lies inside of its directory, or nothing is there."""

from __future__ import annotations

import os
import stat
import struct
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_agent_unpack import pack

from tensorflow_ignite.agent import unpack as unpacking
from tensorflow_ignite.agent.unpack import BadArchiveError, unpack

_SETTINGS = settings(max_examples=150)
_PARTS = st.one_of(
    st.sampled_from(["a", "b.py", "..", ".", "", "\0", "c:", "~", "-rf", "a\nb", "\\", "CON", "é", "A", "x" * 256]),
    st.text(max_size=6),
)
_NAMES = st.builds(
    lambda parts, first, last: first + "/".join(parts) + last,
    st.lists(_PARTS, min_size=1, max_size=5),
    st.sampled_from(["", "", "/", "//", "./"]),
    st.sampled_from(["", "", "/"]),
)
_KINDS = st.sampled_from([0, stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFSOCK])


def _everything(top: Path) -> set[Path]:
    return set(top.rglob("*"))


def _unpack_and_check(folder: Path, source: Path) -> None:
    before = _everything(folder)
    target = folder / "in" / "code"
    try:
        unpack(source, target)
    except BadArchiveError:
        assert _everything(folder) - before <= {folder / "in"}
        return
    for path in _everything(folder) - before:
        assert path == folder / "in" or path == target or target in path.parents
        assert stat.S_IFMT(os.lstat(path).st_mode) in (stat.S_IFREG, stat.S_IFDIR)
        assert not os.lstat(path).st_mode & 0o7000


@_SETTINGS
@given(entries=st.lists(st.tuples(_NAMES, _KINDS, st.binary(max_size=20)), max_size=6))
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_no_name_and_no_kind_of_entry_leaves_the_directory(entries: list[tuple[str, int, bytes]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            source = pack(Path(folder) / "c.zip", *entries)
        except (UnicodeEncodeError, ValueError):
            return  # such a name cannot be written
        _unpack_and_check(Path(folder), source)


@_SETTINGS
@given(data=st.data())
def test_a_mutated_archive_is_unpacked_inside_or_refused(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        method = data.draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
        entries = [("a.py", 0, b"a" * 50), ("d/", 0, b""), ("d/b.py", 0, b"b")]
        source = pack(Path(folder) / "c.zip", *entries, method=method)
        content = bytearray(source.read_bytes())
        for _ in range(data.draw(st.integers(1, 4))):
            place = data.draw(st.integers(0, len(content) - 1))
            content[place] = data.draw(st.integers(0, 255))
        source.write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
        _unpack_and_check(Path(folder), source)


def test_an_archive_with_an_entry_before_its_first_byte_is_refused(tmp_path: Path) -> None:
    source = pack(tmp_path / "c.zip", ("a.py", 0, b"a" * 50))
    content = bytearray(source.read_bytes())
    place_of_list = content.rindex(b"PK\x05\x06") + 16
    (place,) = struct.unpack_from("<L", content, place_of_list)
    struct.pack_into("<L", content, place_of_list, place + 10)
    source.write_bytes(content)
    with pytest.raises(BadArchiveError, match=r"contains the position -10, .* It must be a zip archive"):
        unpack(source, tmp_path / "code")


def test_a_list_of_very_many_entries_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\x01\x02", 20, 3, 20, 0, 0, 0, 0, 33, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    count = 200_000
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count & 0xFFFF, count & 0xFFFF, len(entry) * count, 0, 0)
    (tmp_path / "c.zip").write_bytes(entry * count + end)
    monkeypatch.setattr(zipfile.ZipFile, "infolist", lambda self: pytest.fail("its entries were read"))
    with pytest.raises(BadArchiveError, match=r"has too many entries\. At most 20000"):
        unpack(tmp_path / "c.zip", tmp_path / "code")
    assert _everything(tmp_path) == {tmp_path / "c.zip"}


def test_directories_that_stand_in_names_only_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MAX_PATHS", 50)
    source = pack(tmp_path / "c.zip", *((f"{n}/" + "d/" * 20 + "f.py", 0, b"") for n in range(3)))
    with pytest.raises(BadArchiveError, match="more than 50 files and directories"):
        unpack(source, tmp_path / "code")
    deep = pack(tmp_path / "d.zip", ("d/" * 64 + "f.py", 0, b""))
    with pytest.raises(BadArchiveError, match="too deep"):
        unpack(deep, tmp_path / "code")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_rare_ways_of_compression_are_refused(tmp_path: Path, method: int) -> None:
    source = pack(tmp_path / "c.zip", ("a.py", 0, b"a" * 100), method=method)
    with pytest.raises(BadArchiveError, match="compressed by an unsupported method"):
        unpack(source, tmp_path / "code")
