"""Generates the Python of proto/ into python/, where it is kept under version control: ``make proto``.

With --check nothing is written; the program fails and names the files that differ.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

from grpc_tools import protoc

PROTO = Path(__file__).resolve().parent
PYTHON = PROTO.parent / "python"


def digest() -> str:
    """SHA-256 over proto/, in the order of the relative paths; gradle/proto.gradle and setup.py compute the same."""
    sha = hashlib.sha256()
    for path in _protos():
        sha.update((PROTO / path).read_bytes())
    return sha.hexdigest()


def generate(into: Path) -> None:
    """Writes the generated modules, their type stubs and the digest below a folder."""
    imports = Path(protoc.__file__).parent / "_proto"
    # In a process of its own: the compiler cannot share one with TensorFlow, whose protobuf is another.
    arguments = [sys.executable, "-m", "grpc_tools.protoc", f"--proto_path={PROTO}", f"--proto_path={imports}"]
    arguments += [f"--{kind}_out={into}" for kind in ("python", "pyi", "grpc_python")]
    if subprocess.run([*arguments, *_protos()], check=False).returncode != 0:
        raise SystemExit("protoc failed; see above")
    for folder in {Path(path).parent for path in _protos()}:
        (into / folder / "proto.sha256").write_text(digest() + "\n")


def differences() -> list[str]:
    """The generated files that are missing, outdated, or no longer made from any .proto file."""
    with tempfile.TemporaryDirectory(prefix="tensorflow-ignite-proto-") as folder:
        fresh = Path(folder)
        generate(fresh)
        made = {path.relative_to(fresh): path.read_bytes() for path in fresh.rglob("*") if path.is_file()}
    kept = {
        path.relative_to(PYTHON): path.read_bytes()
        for folder in {Path(path).parent for path in _protos()}
        for path in (PYTHON / folder).iterdir()
        if path.is_file() and path.name != "__init__.py"
    }
    return sorted(str(path) for path in made.keys() | kept.keys() if made.get(path) != kept.get(path))


def _protos() -> list[str]:
    return sorted(path.relative_to(PROTO).as_posix() for path in PROTO.rglob("*.proto"))


def main() -> None:
    """Generates, or checks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        generate(PYTHON)
        return
    if different := differences():
        files = "\n".join(f"  python/{path}" for path in different)
        sys.exit(f"The generated Python does not match proto/:\n{files}\nGenerate it again: make proto")


if __name__ == "__main__":
    main()
