"""Words that no document, name, comment or text of the code uses, and what to write in their place."""

from __future__ import annotations

import re

#: Patterns of whole words, each with its replacements.
REPLACEMENTS = {
    r"told|tells?|telling": "the thing (row, report, metadata); report, notify, return; distinguish; the error says",
    r"so many": "the noun with its number: count, bytes, limit",
    r"whoever|whomever": "caller, owner, user, process",
    r"hopeless(?:ly)?|for good": "permanent, permanently",
    r"(?:un)?wanted": "requested (by a caller), expected (by a check), desired (state)",
    r"for ever": "forever, permanently, without end",
    r"hand(?:s|ed|ing)? (?:\w+ )?over": "pass, send, enqueue",
    r"(?:give|gives|given|gave|giving) (?:\w+ )?back": "return, release",
    r"let(?:s|ting)? (?:\w+ )?go": "release",
    r"judg(?:e|es|ed|ing|ement|ment)": "verify (credentials), authorize (permissions), validate (requests)",
}

_WORDS = re.compile(rf"(?i)\b(?:{'|'.join(REPLACEMENTS)})\b")
# A file's position has this name in Python and in TensorFlow.
_NAMES_OF_OTHERS = re.compile(r"\btell\)?\(|\.tell = tell")
# The end of a line, with what leads the next one: a comment's sign, or the quotes of a text that goes on.
_LINE_END = re.compile(r"\s*[\"']?\s*\n\s*(?:\+ )?(?:[#/*:]+|[fr]?[\"'])?\s*")


def in_prose(text: str) -> list[str]:
    """The words that a text uses."""
    return _WORDS.findall(_LINE_END.sub(" ", text))


def in_code(source: str) -> list[str]:
    """The words that code uses, also as parts of names."""
    text = _LINE_END.sub(" ", _NAMES_OF_OTHERS.sub("", source))
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text).replace("_", " ")
    return [text[max(0, found.start() - 30) : found.end() + 30] for found in _WORDS.finditer(text)]
