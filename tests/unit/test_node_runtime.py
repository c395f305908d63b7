"""What a node's JVM is started with."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tensorflow_ignite.node.runtime import NodeStartError, jvm_options


@pytest.mark.parametrize(
    ("given", "heap"),
    [
        ((), ["-Xms1g", "-Xmx1g"]),
        (("-Xmx4g",), ["-Xms4g", "-Xmx4g", "-Xmx4g"]),
        (("-Xmx4g", "-Xmn1g", "-Xmx2g"), ["-Xms2g", "-Xmx2g", "-Xmx4g", "-Xmx2g"]),
        (("-Xms512m", "-Xmx4g"), ["-Xms512m", "-Xmx4g"]),
        (("-Xms512m",), ["-Xms512m"]),
    ],
)
def test_a_heap_has_its_full_size_from_the_start_unless_an_option_changes_it(
    tmp_path: Path, given: tuple[str, ...], heap: list[str]
) -> None:
    (tmp_path / "add-opens.txt").touch()
    options = jvm_options(service={}, extra=given, jars=tmp_path)
    assert [option for option in options if option.startswith(("-Xms", "-Xmx"))] == heap


def test_a_machine_without_a_folder_for_temporary_files_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "add-opens.txt").touch()
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: [str(tmp_path / "missing")])
    with pytest.raises(NodeStartError, match=r"no folder for temporary files: No usable temporary directory .*missing"):
        jvm_options(service={}, jars=tmp_path)
