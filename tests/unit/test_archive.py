"""Code travels whole, the same everywhere, and never leaves its folder."""

import errno
import hashlib
import io
import os
import shutil
import stat
import struct
import time
import zipfile

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tensorflow_ignite.errors import CodeInvalidError, CodeNotFoundError
from tensorflow_ignite.jobs import archive


def names_in(packed: archive.Archive) -> list[str]:
    return zipfile.ZipFile(io.BytesIO(packed.data)).namelist()


def make_zip(path, entries, mode: int = 0):
    with zipfile.ZipFile(path, "w") as made:
        for name, data in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            made.writestr(info, data)
    return path


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    (folder / "pkg").mkdir(parents=True)
    (folder / "train.py").write_text("import pkg\n")
    (folder / "pkg" / "__init__.py").write_text("x = 1\n")
    return folder


def test_a_single_file_travels_alone(project) -> None:
    packed = archive.pack(project / "train.py")
    assert names_in(packed) == ["train.py"]
    assert packed.script == "train.py"
    assert packed.files == ("train.py",)
    assert packed.digest == hashlib.sha256(packed.data).hexdigest()


def test_the_same_code_gives_the_same_bytes_and_other_code_another_digest(project, tmp_path) -> None:
    first = archive.pack(project)
    other = tmp_path / "other"
    shutil.copytree(project, other)
    for path in other.rglob("*"):
        os.utime(path, (time.time() - 10_000, time.time() - 10_000))
    assert archive.pack(other).data == first.data
    (tmp_path / "code.zip").write_bytes(first.data)
    assert archive.pack(tmp_path / "code.zip").data == first.data
    (project / "pkg" / "__init__.py").write_text("x = 2\n")
    assert archive.pack(project).digest != first.digest


def test_exec_bits_travel_and_other_modes_do_not(project) -> None:
    (project / "tool.sh").write_text("#!/bin/sh\n")
    (project / "tool.sh").chmod(0o700)
    infos = {info.filename: info for info in zipfile.ZipFile(io.BytesIO(archive.pack(project).data)).infolist()}
    assert infos["tool.sh"].external_attr >> 16 == stat.S_IFREG | 0o755
    assert infos["train.py"].external_attr >> 16 == stat.S_IFREG | 0o644


def test_repositories_caches_and_environments_stay_at_home(project) -> None:
    for name in (".git", "pkg/__pycache__", ".venv/bin"):
        (project / name).mkdir(parents=True)
        (project / name / "file").write_text("x")
    (project / ".venv" / "bin" / "python").symlink_to("/usr/bin/python3")
    # An environment of any name.
    (project / "env" / "bin").mkdir(parents=True)
    (project / "env" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    (project / "env" / "bin" / "python").symlink_to("/usr/bin/python3")
    assert names_in(archive.pack(project)) == ["pkg/__init__.py", "train.py"]


def test_main_is_the_script_before_train_and_another_one_must_be_named(project) -> None:
    (project / "main.py").write_text("")
    assert archive.pack(project).script == "main.py"
    assert archive.pack(project, "train.py").script == "train.py"
    assert archive.pack(project, "./pkg//__init__.py").script == "pkg/__init__.py"
    (project / "main.py").unlink()
    (project / "train.py").rename(project / "fit.py")
    with pytest.raises(CodeNotFoundError, match=r"neither main\.py nor train\.py.*fit\.py"):
        archive.pack(project)


@pytest.mark.parametrize("script", ["fit.py", "/etc/passwd", "../project/train.py", "pkg", ""])
def test_a_script_that_is_not_inside_is_not_found_and_the_error_names_those_that_are(project, script) -> None:
    with pytest.raises(CodeNotFoundError, match=r"Python files in it: train\.py, pkg/__init__\.py\. Name one with"):
        archive.pack(project, script)


@pytest.mark.parametrize("name", ["nothing.py", "no/where", "nul\0name"])
def test_code_that_does_not_exist_is_not_found(tmp_path, name) -> None:
    with pytest.raises(CodeNotFoundError, match="cannot read"):
        archive.pack(tmp_path / name)


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        (b"x = 1\nfor y in\n", r"train\.py:2: SyntaxError: .* in: for y in\. .*this Python \(3\."),
        (b"return 1\n", r"train\.py"),
        (b"\tx=1\n  y=2\n", r"train\.py"),
        (b"x = '\xff'\n", r"train\.py"),
        (b"x\0", r"train\.py"),
        (b"(" * 5000, r"train\.py"),
    ],
)
def test_whatever_cannot_compile_is_refused_with_its_file(tmp_path, source, fault) -> None:
    script = tmp_path / "train.py"
    script.write_bytes(source)
    with pytest.raises(CodeInvalidError, match=f"does not compile: {fault}"):
        archive.pack(script)


def test_only_python_is_compiled_and_nothing_runs(tmp_path) -> None:
    (tmp_path / "run.sh").write_text("for y in\n")
    assert archive.pack(tmp_path, "run.sh").script == "run.sh"
    mark = tmp_path / "mark"
    (tmp_path / "train.py").write_text(f"open({str(mark)!r}, 'w')\n")
    archive.pack(tmp_path)
    assert not mark.exists()


def test_links_inside_the_folder_are_followed(project) -> None:
    (project / "link.py").symlink_to("pkg/__init__.py")
    (project / "again").symlink_to("pkg")
    assert names_in(archive.pack(project)) == ["again/__init__.py", "link.py", "pkg/__init__.py", "train.py"]


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda project: (project / "link").symlink_to("../secret"), r"'link' leads out of the folder, to .*secret"),
        (lambda project: (project / "pkg" / "up").symlink_to(".."), r"'pkg/up' leads to .* circle"),
        (lambda project: (project / "gone").symlink_to("nothing"), "'gone' leads nowhere"),
        (lambda project: (project / "self").symlink_to("self"), "'self' leads nowhere"),
        (lambda project: os.mkfifo(project / "pipe"), "'pipe', a device, pipe or socket"),
    ],
)
def test_links_that_leave_the_folder_and_what_is_no_file_are_refused_and_never_opened(project, make, fault) -> None:
    (project.parent / "secret").write_text("s")
    make(project)
    with pytest.raises(CodeInvalidError, match=fault):
        archive.pack(project)
    if (project / "pipe").exists():
        with pytest.raises(CodeInvalidError, match="neither a file nor a folder"):
            archive.pack(project / "pipe")


def test_too_many_files_are_refused_with_the_number(project, monkeypatch) -> None:
    assert (archive.MAX_FILES, archive.MAX_BYTES) == (20_000, 256 * 1024**2)
    monkeypatch.setattr(archive, "MAX_FILES", 2)
    archive.pack(project)
    (project / "z.txt").write_text("")
    with pytest.raises(CodeInvalidError, match=r"more than 2 files \(the last: 'z.txt'\)"):
        archive.pack(project)


def test_too_many_bytes_are_refused_with_the_number(project, monkeypatch) -> None:
    monkeypatch.setattr(archive, "MAX_BYTES", 1024**2)
    with (project / "data.bin").open("wb") as sparse:
        sparse.truncate(1024**2)
    with pytest.raises(CodeInvalidError, match=r"exceeds 1 MiB .* at most 1 MiB"):
        archive.pack(project)


def test_code_that_would_expand_like_a_bomb_is_refused_before_the_submission(project) -> None:
    with (project / "data.bin").open("wb") as sparse:
        sparse.truncate(17 * 1024**2)
    with pytest.raises(CodeInvalidError, match="expands at most 200 times"):
        archive.pack(project)


def test_a_zip_bomb_is_stopped_by_its_unpacked_size(tmp_path, monkeypatch) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("train.py", b"#" * (3 * 1024**2))
    data = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        struct.pack_into("<I", data, data.index(signature) + offset, 10)  # states that it unpacks to 10 bytes
    path.write_bytes(data)
    monkeypatch.setattr(archive, "MAX_BYTES", 1024**2)
    with pytest.raises(CodeInvalidError):
        archive.pack(path)


ESCAPING = ["/etc/passwd", "../x.py", "a/../../x.py", "C:/x.py", "C:x.py", "a\\b.py", "a\nb.py", "x\0.py", "a/.."]


@pytest.mark.parametrize("name", ESCAPING)
def test_names_in_a_zip_that_leave_it_are_refused(tmp_path, name) -> None:
    path = tmp_path / "code.zip"
    with zipfile.ZipFile(path, "w") as made:
        info = zipfile.ZipInfo("placeholder")
        info.filename = info.orig_filename = name
        made.writestr(info, b"")
        made.writestr("train.py", b"")
    with pytest.raises(CodeInvalidError, match="the code contains a file named"):
        archive.pack(path)


@pytest.mark.parametrize("mode", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK])
def test_links_and_devices_in_a_zip_are_refused(tmp_path, mode) -> None:
    with pytest.raises(CodeInvalidError, match=r"the archive contains (a link|a device, pipe or socket): 'train\.py'"):
        archive.pack(make_zip(tmp_path / "code.zip", [("train.py", b"x")], mode | 0o777))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("entries", "fault"),
    [
        ([("train.py", b""), ("train.py", b"x")], "twice"),
        ([("train.py", b""), ("./train.py", b"x")], "twice"),
        ([("train.py", b""), ("train.py/x", b"x")], "as a file and as the folder"),
    ],
)
def test_names_that_collide_in_a_zip_are_refused(tmp_path, entries, fault) -> None:
    with pytest.raises(CodeInvalidError, match=fault):
        archive.pack(make_zip(tmp_path / "code.zip", entries))


def test_a_zip_may_hold_folders(tmp_path) -> None:
    path = make_zip(tmp_path / "code.ZIP", [("a/", b""), ("a/train.py", b""), ("a/__pycache__/x.pyc", b"")])
    packed = archive.pack(path, "a/train.py")
    assert (packed.script, packed.files) == ("a/train.py", ("a/train.py",))


def test_a_damaged_zip_is_refused(tmp_path) -> None:
    path = make_zip(tmp_path / "code.zip", [("train.py", b"x = 1\n" * 100)])
    whole = path.read_bytes()
    damaged = bytearray(whole)
    damaged[60] ^= 0xFF
    for data in (b"", b"not a zip", whole[: len(whole) // 2], bytes(damaged)):
        path.write_bytes(data)
        with pytest.raises(CodeInvalidError, match=r"is not a zip archive that can be read"):
            archive.pack(path)


def test_an_encrypted_zip_is_refused(tmp_path) -> None:
    path = make_zip(tmp_path / "code.zip", [("train.py", b"x")])
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    data[data.index(b"PK\x03\x04") + 6] |= 1
    path.write_bytes(data)
    with pytest.raises(CodeInvalidError, match="encrypted"):
        archive.pack(path)


def test_a_file_that_cannot_be_read_is_named(project, monkeypatch) -> None:
    def refuse(path, mode):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))  # what users who are not root meet

    monkeypatch.setattr(archive.Path, "open", refuse)
    with pytest.raises(CodeInvalidError, match=r"cannot read .*__init__\.py': Permission denied"):
        archive.pack(project)


@example("./C:/x")
@given(st.text(max_size=40) | st.lists(st.sampled_from(["a", "..", ".", "", "b c", "ü", "\\", "C:"])).map("/".join))
def test_a_name_is_refused_or_stays_inside(name) -> None:
    try:
        clean = archive.check_name(name)
    except CodeInvalidError:
        return
    assert os.path.normpath("/root/" + clean) == "/root/" + clean
    assert os.path.normpath("/root/" + name) == "/root/" + clean
    assert archive.check_name(clean) == clean


@given(st.dictionaries(st.from_regex(r"[a-c]{1,3}(/[a-c]{1,3}){0,2}", fullmatch=True), st.binary(max_size=20)))
def test_packed_files_are_unpacked_unchanged(tmp_path_factory, files) -> None:
    folders = {name[:end] for name in files for end in range(len(name)) if name[end] == "/"}
    if folders & set(files):
        return
    path = tmp_path_factory.mktemp("code") / "code.zip"
    packed = archive.pack(make_zip(path, [("main.py", b""), *files.items()]))
    with zipfile.ZipFile(io.BytesIO(packed.data)) as opened:
        assert {name: opened.read(name) for name in opened.namelist()} == {"main.py": b"", **files}
        assert opened.namelist() == sorted(["main.py", *files])
