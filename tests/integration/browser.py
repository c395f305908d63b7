"""A headless Chromium, which a test controls over two pipes by the DevTools protocol, without further packages."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from tensorflow_ignite.testing.patience import patiently

#: The browser; None: there is none.
PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_SECONDS = patiently(120.0)
_POLL = 0.1
# Chromium reads commands from descriptor 3 and writes to descriptor 4.
_SHELL = 'exec "$0" "$@" 3<&{commands} 4>&{answers}'
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--remote-debugging-pipe",
)


class Browser:
    """One window. `faults` are the exceptions of its scripts, and what the policy of a page has refused."""

    def __init__(self) -> None:
        """Starts the browser, with a profile of its own."""
        assert PROGRAM is not None
        # It aborts if the path of its socket has more than 107 bytes, as below the folder of a test run.
        self._folder = tempfile.TemporaryDirectory(prefix="browser-", dir="/tmp")
        self.faults: list[str] = []
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self._process = subprocess.Popen(
            [
                "/bin/bash",
                "-c",
                _SHELL.format(commands=commands, answers=answers),
                PROGRAM,
                *_OPTIONS,
                f"--user-data-dir={self._folder.name}",
            ],
            pass_fds=(commands, answers),
            start_new_session=True,
            env={**os.environ, "TMPDIR": self._folder.name},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)

    def __enter__(self) -> Browser:
        try:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Log"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
        # Its processes end one after the other, and may still write.
        shutil.rmtree(self._folder.name, ignore_errors=True)
        self._folder.cleanup()

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of a method of the protocol."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer}"
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def open(self, url: str) -> None:
        self.call("Page.navigate", url=url)

    def run(self, script: str) -> Any:
        """The value of an expression, or of its promise, in the page."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def text(self, selector: str) -> str:
        """The text that people see of the first such element; empty: there is none."""
        found = self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")
        assert isinstance(found, str)
        return found

    def await_text(self, selector: str, part: str) -> str:
        """Waits until an element has a text; gives its whole text."""
        deadline = time.monotonic() + _SECONDS
        while part not in (found := self.text(selector)):
            assert time.monotonic() < deadline, f"{part!r} is not in {selector}: {found!r}; {self.faults}"
            # The page sends no event.
            time.sleep(_POLL)
        return found

    def click(self, selector: str) -> None:
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def press(self, key: str) -> None:
        """Presses a key that has no text, such as Tab."""
        for kind in ("rawKeyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode={"Tab": 9}[key])

    def look(self, width: int, scheme: str, height: int = 900) -> None:
        """Sets the width of the window, and whether the user prefers "light" or "dark"."""
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Stores a picture of the window, or of the whole page, as PNG."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._answers, 1 << 16)
            assert part, f"the browser has ended: {self._process.poll()}"
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def _note(self, event: dict[str, Any]) -> None:
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.faults.append(str(parameters["exceptionDetails"]))
        elif event.get("method") == "Log.entryAdded" and parameters["entry"]["source"] in ("security", "javascript"):
            self.faults.append(parameters["entry"]["text"])
