"""Writes what a node needs, with all that this needs in turn, as constraints.txt pins it: versions and SHA-256.

    python requirements.py EXTRA    # writes wheels.txt, and built.txt with what has wheels for some machines only

pip finds these packages; from a list of more packages it cannot install some of them and verify the SHA-256 of each.
Run it in the environment that they are for, in a folder with pyproject.toml and constraints.txt.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import tomllib

project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
# The package itself is built in this environment.
requirements = [*project["dependencies"], *project["optional-dependencies"][sys.argv[1]], "setuptools"]
pins = re.findall(r"(?m)^[a-z0-9].*(?:\n .*)*", Path("constraints.txt").read_text())
with tempfile.NamedTemporaryFile("w", suffix=".txt") as versions:
    versions.writelines(pin.partition("\\")[0] + "\n" for pin in pins)
    versions.flush()
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--no-build-isolation"]
    answer = subprocess.run(
        [*pip, "--report=-", "--constraint", versions.name, *requirements],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
names = {
    re.sub(r"[-_.]+", "-", each["metadata"]["name"]).lower()  # as constraints.txt writes it
    for each in json.loads(answer.stdout)["install"]
}
for file, chosen in {"wheels.txt": names - {"pyignite"}, "built.txt": names & {"pyignite"}}.items():
    Path(file).write_text("".join(f"{pin}\n" for pin in pins if pin.partition("==")[0] in chosen))
