"""Why a task ended, in one line and in full, from its exit status and the end of its output."""

import re
import signal

# Of the output, read to find a traceback.
TAIL_BYTES = 64 * 1024
LAST_LINES = 30
MAX_TRACEBACK_CHARACTERS = 16 * 1024
MAX_LINE_CHARACTERS = 500

_HEADER = re.compile(r"^[ +|]*(Exception Group )?Traceback \(most recent call last\):\s*$")
_CHAINED = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
_EXCEPTION = re.compile(r"^([A-Za-z_]\w*\.)*[A-Z]\w*(: .*)?$")
_SYNTAX_EXCEPTION = re.compile(r"^([A-Za-z_]\w*\.)*\w*(Error|Exception|Interrupt|Exit)(: .*)?$")


def describe(who: str, exit_code: int, tail: str) -> tuple[str, str]:
    """One line and the traceback.

    Args:
        who: The task, as text: `worker 1`.
        exit_code: Negative: the number of the signal that ended it.
        tail: The end of its output.
    """
    if exit_code < 0:
        happened = f"{who} was ended by signal {-exit_code} ({_signal_name(-exit_code)}), which its agent did not send"
    else:
        happened = f"{who} exited with code {exit_code}"
    text, exception = find_traceback(tail)
    return (f"{happened}: {exception}" if exception else happened), text


def find_traceback(tail: str) -> tuple[str, str]:
    """The last traceback with those it is chained to, else the last lines; and its exception line, if there is one."""
    lines = tail.replace("\r\n", "\n").rstrip().split("\n")
    headers = [number for number, line in enumerate(lines) if _HEADER.match(line)]
    if not headers:
        last = lines[-LAST_LINES:]
        return _bounded("\n".join(last)), _last_match(_SYNTAX_EXCEPTION, last)
    first = headers.pop()
    exception = next((line for line in lines[first + 1 :] if _EXCEPTION.match(line)), "")
    while headers and _is_chained(lines[headers[-1] : first]):
        first = headers.pop()
    return _bounded("\n".join(lines[first:])), exception[:MAX_LINE_CHARACTERS]


def _is_chained(between: list[str]) -> bool:
    told = [line for line in between if line.strip()]
    return bool(told) and told[-1].strip() in _CHAINED


def _last_match(pattern: re.Pattern[str], lines: list[str]) -> str:
    return next((line[:MAX_LINE_CHARACTERS] for line in reversed(lines) if pattern.match(line)), "")


def _bounded(text: str) -> str:
    if len(text) <= MAX_TRACEBACK_CHARACTERS:
        return text
    cut = "\n[…]\n"
    head = MAX_TRACEBACK_CHARACTERS // 4
    return text[:head] + cut + text[head + len(cut) - MAX_TRACEBACK_CHARACTERS :]


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "real-time"
