"""Code archives come from anywhere: what leaves the directory, or fills the disk, is not unpacked."""

import stat
import zipfile
from pathlib import Path

import pytest

from tensorflow_ignite.agent import unpack as unpacking
from tensorflow_ignite.agent.unpack import BadArchiveError, unpack
from tensorflow_ignite.jobs import archive as archives


def pack(path: Path, *entries: tuple[str, int, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    """An archive of entries: their names, modes and data."""
    with zipfile.ZipFile(path, "w") as opened:
        for name, mode, data in entries:
            info = zipfile.ZipInfo("placeholder")
            # Set afterwards: the constructor would tidy the name.
            info.filename = info.orig_filename = name
            info.external_attr = mode << 16
            opened.writestr(info, b"" if name.endswith("/") else data, method)
    return path


FILE = stat.S_IFREG | 0o644


@pytest.mark.parametrize(
    ("name", "mode", "reason"),
    [
        ("../evil.py", FILE, "leaves the archive's directory"),
        ("a/../../evil.py", FILE, "leaves the archive's directory"),
        ("/evil.py", FILE, "leaves the archive's directory"),
        ("..\\evil.py", FILE, "not portable"),
        ("C:/evil.py", FILE, "not portable"),
        ("x" * 2000, FILE, "not portable"),
        ("link", stat.S_IFLNK | 0o777, "neither a file nor a directory"),
        ("device", stat.S_IFCHR | 0o644, "neither a file nor a directory"),
        ("fifo", stat.S_IFIFO | 0o644, "neither a file nor a directory"),
    ],
)
def test_entry_that_breaks_a_rule_unpacks_nothing(tmp_path: Path, name: str, mode: int, reason: str) -> None:
    archive = pack(tmp_path / "c.zip", ("good.py", FILE, b""), (name, mode, b"x"))
    with pytest.raises(BadArchiveError, match=reason):
        unpack(archive, tmp_path / "a" / "code")
    assert {path.name for path in tmp_path.rglob("*")} == {"c.zip", "a"}


def test_files_directories_and_execute_permission_arrive(tmp_path: Path) -> None:
    archive = pack(
        tmp_path / "c.zip",
        ("pkg/", stat.S_IFDIR | 0o755, b""),
        ("pkg/m.py", 0, b"m"),
        ("run.sh", stat.S_IFREG | 0o4755, b"r"),
    )
    unpack(archive, tmp_path / "code")
    assert (tmp_path / "code/pkg/m.py").read_bytes() == b"m"
    assert (tmp_path / "code/run.sh").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "code/pkg/m.py").stat().st_mode & 0o7777 == 0o644


@pytest.mark.parametrize(
    ("constant", "most", "text"),
    [
        ("MAX_ENTRIES", 2, r"has 3 entries\. At most 2 are unpacked"),
        ("MAX_BYTES", 1001, r"contains 1200 bytes or more\. At most 1001 are unpacked"),
    ],
)
def test_too_much_is_refused_with_the_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, constant: str, most: int, text: str
) -> None:
    monkeypatch.setattr(unpacking, constant, most)
    archive = pack(tmp_path / "c.zip", *((f"{n}.py", FILE, b"\0" * 400) for n in range(3)))
    with pytest.raises(BadArchiveError, match=text):
        unpack(archive, tmp_path / "code")


def test_entry_that_is_larger_than_it_says_is_not_unpacked(tmp_path: Path) -> None:
    archive = pack(tmp_path / "c.zip", ("bomb", FILE, b"\0" * 100_000))
    data = archive.read_bytes()
    size = (100_000).to_bytes(4, "little")
    assert data.count(size) == 2
    archive.write_bytes(data.replace(size, (10).to_bytes(4, "little")))
    with pytest.raises(BadArchiveError):
        unpack(archive, tmp_path / "code")
    assert not (tmp_path / "code").exists()


def test_a_small_archive_that_expands_very_much_is_refused(tmp_path: Path) -> None:
    zeros = b"\0" * unpacking.FREE_BYTES
    unpack(pack(tmp_path / "small.zip", ("zeros", FILE, zeros)), tmp_path / "small")
    bomb = pack(tmp_path / "c.zip", ("zeros", FILE, zeros), ("one more", FILE, b"\0"))
    with pytest.raises(BadArchiveError, match=r"expands at most 200 times, or to 16777216 bytes"):
        unpack(bomb, tmp_path / "code")
    assert not (tmp_path / "code").exists()


def test_entries_over_the_same_bytes_are_refused(tmp_path: Path) -> None:
    archive = pack(tmp_path / "c.zip", ("a", FILE, b"x" * 100), ("b", FILE, b"x" * 100))
    data = bytearray(archive.read_bytes())
    with zipfile.ZipFile(archive) as opened:
        second = opened.getinfo("b").header_offset
    place = data.rindex(b"PK\x01\x02") + 42
    assert int.from_bytes(data[place : place + 4], "little") == second
    data[place : place + 4] = bytes(4)
    archive.write_bytes(data)
    with pytest.raises(BadArchiveError, match="uses bytes of another entry"):
        unpack(archive, tmp_path / "code")


def test_bytes_are_counted_while_they_are_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = pack(tmp_path / "c.zip", *((f"{n}", FILE, b"\0" * 600) for n in range(2)))
    # As if the sizes in the list of entries were smaller than the entries.
    monkeypatch.setattr(unpacking, "_check_size", lambda archive, entries: None)
    monkeypatch.setattr(unpacking, "MAX_BYTES", 1000)
    with pytest.raises(BadArchiveError, match=r"contains 1200 bytes or more\. At most 1000"):
        unpack(archive, tmp_path / "code")
    assert {path.name for path in tmp_path.iterdir()} == {"c.zip"}


def test_the_limits_are_those_that_the_client_names() -> None:
    assert (unpacking.MAX_BYTES, unpacking.MAX_ENTRIES) == (archives.MAX_BYTES, archives.MAX_FILES)
    assert (unpacking.MAX_RATIO, unpacking.FREE_BYTES) == (archives._MAX_RATIO, archives._FREE_BYTES)


@pytest.mark.parametrize("names", [("a", "a/b.py"), ("a.py", "./a.py"), ("a", "a/")])
def test_contradicting_entries_are_refused(tmp_path: Path, names: tuple[str, str]) -> None:
    with pytest.raises(BadArchiveError):
        unpack(pack(tmp_path / "c.zip", *((name, 0, b"") for name in names)), tmp_path / "code")


@pytest.mark.parametrize("content", [b"", b"no zip at all", b"PK\x05\x06", b"PK\x06\x06", b"PK\x05\x06" + b"\0" * 17])
def test_a_file_that_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "c.zip").write_bytes(content)
    with pytest.raises(BadArchiveError, match="must be a zip archive"):
        unpack(tmp_path / "c.zip", tmp_path / "code")
