"""Follows docs/tutorial.md word by word: `python follow_tutorial.py TUTORIAL`, in an empty folder, with only the wheel.

A comment before a block of the page says what to do with it: `file: NAME` writes it, `run` runs it, `fails: TEXT` runs
it and expects a failure that says TEXT. Only the standard library: it runs where nothing else is.
"""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

SECONDS_TO_START = 180
SECONDS_TO_RUN = 600
_BLOCK = re.compile(r"<!-- (file|run|fails)(?:: ([^\n]*?))? -->\n```\w*\n(.*?)```", re.DOTALL)


def main() -> None:
    """Raises when a step does not do what the page says."""
    steps = _BLOCK.findall(Path(sys.argv[1]).read_text(encoding="utf-8"))
    assert len(steps) == 10, f"{sys.argv[1]} has {len(steps)} steps, and not the 10 that this program knows"
    environment = {**os.environ, "TENSORFLOW_IGNITE_HTTP_PORT": "8501"}
    with open("node.log", "w", encoding="utf-8") as log:
        node = subprocess.Popen(["tensorflow-ignite", "node"], env=environment, stdout=log, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + SECONDS_TO_START
        while "is ready" not in Path("node.log").read_text(encoding="utf-8"):
            assert node.poll() is None, Path("node.log").read_text(encoding="utf-8")
            assert time.monotonic() < deadline, "the node is not ready"
            time.sleep(0.2)
        printed = ""
        for kind, argument, text in steps:
            if kind == "file":
                Path(argument).write_text(text, encoding="utf-8")
            else:
                printed = _run(text.strip(), expected=argument if kind == "fails" else None)
        assert "kind 0" in printed, "the model does not know the flower"
        assert "tensorflow-ignite" in _page(""), "the page does not come"
        deadline = time.monotonic() + SECONDS_TO_START
        while 'tensorflow_ignite_jobs{state="stopped"} 1' not in (found := _page("metrics")):
            assert time.monotonic() < deadline, found
            time.sleep(0.2)
    finally:
        node.send_signal(signal.SIGINT)
        node.wait(60)
    assert node.returncode == 130, node.returncode
    print("tutorial: ok")


def _page(path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:8501/{path}", timeout=SECONDS_TO_RUN) as answer:
        return str(answer.read(), "utf-8")


def _run(command: str, expected: "str | None") -> str:
    print(f"$ {command}", flush=True)
    done = subprocess.run(
        ["sh", "-e", "-c", command],
        capture_output=True,
        text=True,
        timeout=SECONDS_TO_RUN,
        check=False,
        encoding="utf-8",
    )
    printed = done.stdout + done.stderr
    print(printed, end="", flush=True)
    if expected is None:
        assert done.returncode == 0, f"{command}: exit code {done.returncode}"
    else:
        assert done.returncode != 0, f"{command} did not fail"
        assert expected in printed, f"{command} did not say {expected}"
    return printed


if __name__ == "__main__":
    main()
