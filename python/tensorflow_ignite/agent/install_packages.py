"""Makes the environment of a job's packages, unless it exists, and removes those that nobody has used for a week.

Run as a file by the interpreter of the tasks, in the folder of the code:
`python install_packages.py ENVIRONMENT [--requirement=FILE] [--wheel=FILE]...`. What it prints, pip's lines among them,
is part of the task's output. It imports nothing of this package: another interpreter may not have it.
"""

import contextlib
import fcntl
import os
import shutil
import site
import subprocess
import sys
import time

SECONDS_TO_KEEP = 7 * 24 * 3600.0
_DONE = "tensorflow-ignite-done"
# The first pip that installs into another environment.
_PIP_WITH_PYTHON = (22, 3)


def main() -> int:
    """Returns the exit code."""
    # The folder of this file, whose modules are the agent's.
    sys.path.pop(0)
    environment, arguments = os.path.abspath(sys.argv[1]), sys.argv[2:]
    directory = os.path.dirname(environment)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    done = os.path.join(environment, _DONE)
    if _use(done):
        return 0
    with open(f"{environment}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _use(done):
            # Another task of this node has made it meanwhile.
            return 0
        _remove_old(directory, environment)
        shutil.rmtree(environment, ignore_errors=True)
        began = time.monotonic()
        print(f"installing the packages of the job into {environment}", flush=True)
        code = _make(environment, arguments)
        if code:
            shutil.rmtree(environment, ignore_errors=True)
            return code
        with open(done, "w"):
            pass
        print(f"installed in {time.monotonic() - began:.1f} s; later jobs with the same packages use it", flush=True)
    return 0


def _use(done: str) -> bool:
    try:
        os.utime(done)
    except FileNotFoundError:
        return False
    return True


def _make(environment: str, arguments: "list[str]") -> int:
    ours = _pip_version() >= _PIP_WITH_PYTHON
    made = subprocess.run(
        [sys.executable, "-m", "venv", *(["--without-pip"] if ours else []), environment], check=False
    )
    if made.returncode:
        print(
            f"ERROR: {sys.executable} has no pip of version 22.3 or later, and cannot make an environment with one. A "
            "job with packages needs one of both. Install pip, or on Debian python3-venv, on this node",
            flush=True,
        )
        return made.returncode
    python = os.path.join(environment, "bin", "python")
    found = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    )
    below = [path for path in [*site.getsitepackages(), _user_site()] if path and os.path.isdir(path)]
    # Behind the packages of the environment; with the .pth files there.
    with open(os.path.join(found.stdout.strip(), "_interpreter_below.pth"), "w") as pth:
        pth.writelines(f"import site; site.addsitedir({path!r})\n" for path in below)
    requirements = [argument.partition("=")[2] for argument in arguments if argument.startswith("--requirement=")]
    wheels = [argument.partition("=")[2] for argument in arguments if argument.startswith("--wheel=")]
    pip = [sys.executable, "-m", "pip", "--python", python] if ours else [python, "-m", "pip"]
    command = [*pip, "install", "--no-input", "--disable-pip-version-check", "--progress-bar=off"]
    if wheels:
        command.append("--no-index")
        command += [f"--find-links={folder}" for folder in sorted({os.path.dirname(wheel) for wheel in wheels})]
    command += [f"--requirement={path}" for path in requirements]
    return subprocess.run([*command, *wheels], check=False).returncode


def _pip_version() -> "tuple[int, ...]":
    answer = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, text=True, check=False)
    words = answer.stdout.split()
    return tuple(int(part) for part in words[1].split(".")[:2] if part.isdigit()) if len(words) > 1 else ()


def _user_site() -> "str | None":
    return site.getusersitepackages() if site.ENABLE_USER_SITE else None


def _remove_old(directory: str, keep: str) -> None:
    for name in os.listdir(directory):
        environment = os.path.join(directory, name)
        if environment == keep or name.endswith(".lock"):
            continue
        with contextlib.suppress(OSError), open(f"{environment}.lock", "w") as lock:
            # Tasks that use it hold it.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.exists(os.path.join(environment, _DONE)):
                # Its installation was killed.
                shutil.rmtree(environment, ignore_errors=True)
            elif time.time() - os.path.getmtime(os.path.join(environment, _DONE)) > SECONDS_TO_KEEP:
                os.unlink(os.path.join(environment, _DONE))
                shutil.rmtree(environment, ignore_errors=True)
                os.unlink(lock.name)


if __name__ == "__main__":
    sys.exit(main())
