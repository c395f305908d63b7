"""What a further option of a job costs.

Promise (jobs): An option is declared once: a field in proto/, an attribute in groups.py.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("grpc_tools")

ROOT = Path(__file__).parents[2]
FIELD = "  bool allow_data_loss = 5"
ATTRIBUTE = "    allow_data_loss: bool = False\n"
RULE = 'optional int32 patience = 50 [(rule) = {least: 1, most: 9, help: "Its sentence."}];'
SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
import option_table
from tensorflow_ignite.cli.job_options import JobOptions
from tensorflow_ignite.cli.submit import submit
from tensorflow_ignite.spec import JobSpec
from tensorflow_ignite.v1 import job_pb2

given, file = JobOptions(), JobOptions()
given.add_setting("restart.patience=7")
file.add_file(sys.argv[2])
wrong = ""
try:
    JobOptions().add_setting("restart.patience=seven")
except Exception as error:
    wrong = str(error)
message = JobSpec(cache="c", script="s", code_digest="", **given.arguments()).to_proto()
print(json.dumps({
    "setting": message.restart.patience,
    "file": file.arguments()["restart"].patience,
    "wrong": wrong,
    "help": "patience" in submit.__doc__,
    "described": JobSpec.from_proto(message).to_dict()["restart"]["patience"],
    "row": [line for line in option_table.table().splitlines() if "patience" in line],
}))
"""


def test_an_option_needs_a_field_and_an_attribute_and_nothing_else_to_be_given_checked_shown_and_documented(
    tmp_path: Path,
) -> None:
    shutil.copytree(ROOT / "proto", tmp_path / "proto")
    package = tmp_path / "python/tensorflow_ignite"
    shutil.copytree(ROOT / "python/tensorflow_ignite", package, ignore=shutil.ignore_patterns("jars", "__pycache__"))
    for path, before, added in (
        (tmp_path / "proto/tensorflow_ignite/v1/job.proto", FIELD, f"  {RULE}\n{FIELD}"),
        (package / "groups.py", ATTRIBUTE, f"{ATTRIBUTE}    patience: int | None = None\n"),
    ):
        text = path.read_text()
        assert text.count(before) == 1
        path.write_text(text.replace(before, added))
    subprocess.run([sys.executable, tmp_path / "proto/generate.py"], check=True)
    (tmp_path / "job.yaml").write_text("code: train.py\ncache: c\nrestart:\n  patience: 3\n")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(ROOT / "tests/unit"), str(tmp_path / "job.yaml")],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "python")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["setting"], found["file"], found["described"], found["help"]) == (7, 3, 7, True)
    assert "restart.patience" in found["wrong"]
    assert found["row"] == ["| `restart.patience` | Its sentence. | 1, 9 |"]
