"""The text of an error on one line."""

from __future__ import annotations

LONGEST = 300  # characters of what a message repeats
TRACES = ("Stack trace", "Traceback")  # how the lines begin that no user needs
UNPRINTABLE = "�"  # instead of characters that act on a terminal


def error_text(error: Exception) -> str:
    """What an error says up to a stack trace: one line, short and printable."""
    try:
        text = str(error)
    except Exception:  # the text of an error can fail as well
        text = ""
    lines = []
    for line in text.strip().splitlines():
        stripped = line.strip()
        if stripped.startswith(TRACES):
            break
        if stripped:
            lines.append(stripped)
    joined = " ".join(lines)
    if not joined:
        return "(no message)"
    printable = "".join(map(_printable, joined))
    if len(printable) > LONGEST:
        return printable[: LONGEST - 1] + "…"
    return printable


def _printable(character: str) -> str:
    return character if character.isprintable() else UNPRINTABLE
