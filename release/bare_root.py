"""Installs dist/'s wheel where nothing else is; runs the quickstart and the tutorial there: ``make release-test``.

Where root, in a new Debian of the smallest kind: no clone, no compiler, no Java, no network, as a user without rights.
Elsewhere in a new environment in an empty folder, whose PATH has nothing but it. The packages come from a folder, which
pip fills before.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
INDEX = ROOT / "build" / "release" / "index"
EXTRAS = "tensorflow-ignite[cpu,jre]"
TOOLS = ("gcc", "cc", "java", "javac", "gradle", "git", "make")


def main() -> None:
    """Runs the test; raises when a command fails."""
    wheels = list((ROOT / "dist").glob("*-manylinux*.whl"))
    if len(wheels) != 1:
        raise SystemExit(
            f"dist/ holds {len(wheels)} wheels for Linux; the test installs the one there. Build it: make release"
        )
    _fill_index(wheels[0])
    with tempfile.TemporaryDirectory(prefix="bare-", dir=ROOT / "build" / "release") as folder:
        if os.geteuid() == 0 and shutil.which("debootstrap"):
            _in_a_bare_root(Path(folder))
        else:
            print("not root, or no debootstrap: a new environment instead of a new system", flush=True)
            _in_an_empty_folder(Path(folder))
    print("make release-test: ok")


def _fill_index(wheel: Path) -> None:
    INDEX.mkdir(parents=True, exist_ok=True)
    for old in INDEX.glob("tensorflow_ignite-*"):
        old.unlink()
    # `wheel`, not `download`: pyignite has no wheel for Python 3.12 and later, and is built here, without a compiler.
    extras = EXTRAS.removeprefix("tensorflow-ignite")
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet")
    subprocess.run([*pip, "--wheel-dir", INDEX, "--find-links", INDEX, f"{wheel}{extras}"], check=True)


def _script(index: str, pages: str) -> str:
    return f"""
set -eu
cd "$HOME"
for tool in {" ".join(TOOLS)}; do
  if command -v $tool >/dev/null; then echo "$tool is here: this root is not bare" >&2; exit 1; fi
done
python3 -m venv env
env/bin/pip install --quiet --no-index --find-links {index} '{EXTRAS}'
env/bin/pip check
env/bin/tensorflow-ignite --version
env/bin/tensorflow-ignite quickstart
mkdir tutorial
cd tutorial
PATH="$HOME/env/bin:$PATH" python {pages}/follow_tutorial.py {pages}/tutorial.md
"""


def _in_a_bare_root(folder: Path) -> None:
    suite = _output("sh", "-c", ". /etc/os-release && echo $VERSION_CODENAME")
    listed = _output("apt-get", "indextargets", "--format", "$(CODENAME) $(REPO_URI)", "Created-By: Packages")
    mirror = next(uri for line in listed.splitlines() for code, uri in [line.split()] if code == suite)
    root = folder / "root"
    print(f"a bare Debian {suite} is made", flush=True)
    options = ("--variant=minbase", "--include=python3-venv")
    with (folder / "debootstrap.log").open("w") as log:
        subprocess.run(["debootstrap", *options, suite, root, mirror], check=True, stdout=log)
    subprocess.run(["chroot", root, "useradd", "--create-home", "--shell", "/bin/sh", "stranger"], check=True)
    (root / "wheels").mkdir()
    _copy_pages(root / "pages")
    found = _output("chroot", root, "python3", "-c", "import sys; print(*sys.version_info[:2], sep='.')")
    if found != f"{sys.version_info[0]}.{sys.version_info[1]}":
        raise SystemExit(f"The bare root has Python {found}; the wheels in {INDEX} are for {sys.version_info[:2]}.")
    # Mounts and the network of their own, which end with the last process.
    inside = f"""
set -eu
ip link set lo up
mount --make-rprivate /
mount -t proc proc '{root}/proc'
mount --rbind /dev '{root}/dev'
mount -t tmpfs -o mode=1777 tmpfs '{root}/dev/shm'
mount --bind -o ro '{INDEX}' '{root}/wheels'
exec chroot --userspec=stranger:stranger '{root}' /usr/bin/env -i HOME=/home/stranger PATH=/usr/bin:/bin LANG=C.UTF-8 \
  COLUMNS=80 sh -c "$SCRIPT"
"""
    subprocess.run(
        ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-c", inside],
        check=True,
        env={**os.environ, "SCRIPT": _script("/wheels", "/pages")},
    )


def _in_an_empty_folder(folder: Path) -> None:
    _copy_pages(folder / "pages")
    commands = folder / "bin"
    commands.mkdir()
    (commands / "python3").symlink_to(sys.executable)
    for name in ("mkdir", "sh", "uname"):
        (commands / name).symlink_to(str(shutil.which(name)))
    environment = {"HOME": str(folder), "PATH": str(commands), "LANG": "C.UTF-8", "COLUMNS": "80"}
    subprocess.run(["/bin/sh", "-c", _script(str(INDEX), str(folder / "pages"))], check=True, env=environment)


def _copy_pages(target: Path) -> None:
    target.mkdir()
    for path in (ROOT / "docs" / "tutorial.md", ROOT / "release" / "follow_tutorial.py"):
        shutil.copy2(path, target / path.name)


def _output(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as failed:
        raise SystemExit(f"make release-test: {failed.cmd[0]} ended with {failed.returncode}; see above") from None
