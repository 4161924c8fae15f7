"""JSON from an unknown source, read in bounded time and memory."""

from __future__ import annotations

import json
import math
import os
import re
import stat
from pathlib import Path
from typing import Any

from granite_xai.base.errors import FormatError

MAX_BYTES = 2**28
MAX_DEPTH = 24
MAX_CONTAINERS = 2**18
MAX_VALUES = 2**23
"""An empty list takes 2 bytes in a file and 64 in memory, a number 2 and 32: both are counted before they are made."""

# A bracket, or a text with all the brackets in it; a text that is never closed ends with the file.
_TOKENS = re.compile(rb'[\[\]{}]|"(?:[^"\\]+|\\.?)*+(?:"|\Z)', re.DOTALL)
# Pickles of every protocol, and what joblib, NumPy and archives begin with.
_PICKLES = (
    b"\x80",
    b"PK",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ",
    b"]\x00\x00",
    b"\x04\x22\x4d\x18",
    b"\x93NUMPY",
    b"\x89HDF",
    b"ZF",
    b"x\x01",
    b"x\x5e",
    b"x\x9c",
    b"x\xda",
)

_FIRST_OPCODES = tuple(b"(])}cFGIJKLMNSTUVX"[i : i + 1] for i in range(18))  # of the oldest two protocols


def read_json(path: str | os.PathLike[str]) -> Any:
    """Read a JSON file that may be hostile; whatever is wrong with it is a FormatError that names the place.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.json"
    ...     _ = file.write_text('{"a": [1, 2.5]}', encoding="utf-8")
    ...     read_json(file)
    {'a': [1, 2.5]}
    """
    with Path(path).open("rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise _refused(f"{path} is not a regular file.")
        if facts.st_size > MAX_BYTES:
            raise _refused(f"{path} has {facts.st_size:,} bytes; at most {MAX_BYTES:,} are read.")
        raw = file.read(MAX_BYTES + 1)
    return parse_json(raw, str(path))


def parse_json(raw: bytes, name: str = "the file") -> Any:
    """Parse JSON after counting what it would become; duplicate keys, NaN and gigantic numbers are refused.

    Examples
    --------
    >>> parse_json(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    granite_xai.FormatError: F05: the file has the key 'a' twice in one object.
    """
    if not raw.lstrip().startswith(b"{"):
        raise _not_ours(raw, name)
    check_size(raw, name)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"{name} is not UTF-8 text at byte {error.start:,}.", code="F04", argument="path") from error
    reader = _Hooks(name)
    try:
        return json.loads(
            text,
            object_pairs_hook=reader.pairs,
            parse_constant=reader.constant,
            parse_int=reader.whole,
            parse_float=reader.real,
        )
    except json.JSONDecodeError as error:
        message = f"{name} breaks off or is not JSON at line {error.lineno}, column {error.colno} ({error.msg})."
        raise FormatError(message, code="F04", argument="path") from error


def check_size(raw: bytes, name: str = "the file") -> None:
    """Refuse text that is too large, too deep or made of too many pieces (F05).

    Examples
    --------
    >>> check_size(b"[" * 30)
    Traceback (most recent call last):
    ...
    granite_xai.FormatError: F05: the file is nested more than 24 deep.
    """
    if len(raw) > MAX_BYTES:
        raise _refused(f"{name} has more than {MAX_BYTES:,} bytes.")
    if raw.count(b"[") + raw.count(b"{") > MAX_CONTAINERS:
        raise _refused(f"{name} has more than {MAX_CONTAINERS:,} lists and objects.")
    if raw.count(b",") > MAX_VALUES or raw.count(b'"') > 2 * MAX_VALUES:
        raise _refused(f"{name} has more than {MAX_VALUES:,} values.")
    depth = 0
    for token in _TOKENS.finditer(raw):
        first = raw[token.start()]
        depth += 1 if first in b"[{" else -1 if first in b"]}" else 0
        if depth > MAX_DEPTH:
            raise _refused(f"{name} is nested more than {MAX_DEPTH} deep.")


class _Hooks:
    """What the parser asks about numbers and objects."""

    def __init__(self, name: str) -> None:
        self.name = name

    def pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise _refused(f"{self.name} has the key {twice[:60]!r} twice in one object.")
        return made

    def constant(self, text: str) -> Any:
        raise _refused(f"{self.name} holds {text}, which is not a number.")

    def whole(self, text: str) -> int:
        if len(text) > 20:
            raise _refused(f"{self.name} holds a whole number of {len(text)} digits.")
        return int(text)

    def real(self, text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            raise _refused(f"{self.name} holds the number {text[:30]}, which is not finite.")
        return value


def _not_ours(raw: bytes, name: str) -> FormatError:
    stopped = raw.endswith(b".") and raw[:1] in _FIRST_OPCODES
    if raw.startswith(_PICKLES) or stopped:
        message = (
            f"{name} is a pickle, a joblib file or an archive: pickle can run code; use granite_xai.load for files "
            "that granite_xai.save wrote."
        )
        return FormatError(message, code="F06", argument="path")
    what = "is empty" if not raw.strip() else "does not begin with an object"
    return FormatError(f"{name} {what} at byte 0.", code="F04", argument="path")


def _refused(message: str) -> FormatError:
    return FormatError(message, code="F05", argument="path")
