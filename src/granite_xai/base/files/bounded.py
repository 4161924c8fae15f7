"""JSON from an unknown source, read in bounded time and memory; text written completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import re
import secrets
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import FormatError, InputError, ResourceError

MAX_BYTES = 2**28
MAX_DEPTH = 24
MAX_CONTAINERS = 2**18  # an empty list takes 2 bytes in a file and 64 in memory
MAX_VALUES = 2**23  # a number 2 and 32: both are counted before they are made

# What may be a long list of numbers (an array takes less than twice its text), a bracket, a constant that is not JSON,
# or a text with all of these in it; a text that is never closed ends with the file.
_TOKENS = re.compile(
    rb'(?s)(?P<numbers>\[[-+\d.eEnul,\s]{256,}+\])|(?P<constant>NaN|Infinity)|[\[\]{}]|"(?:[^"\\]+|\\.?)*+(?:"|\Z)'
)
_WHOLE = rb"\s*+-?(?:0|[1-9]\d{0,17})\s*+"
_REAL = rb"\s*+(?:-?(?:0|[1-9]\d*+)(?:\.\d++(?:[eE][-+]?\d++)?|[eE][-+]?\d++)|null)\s*+"
_LISTS = {
    kind: re.compile(rb"%s(?:,%s)*+" % (item, item)) for kind, item in (("i", _WHOLE), ("f", _REAL))
}
# Whole numbers take as few bytes as their digits need.
_WIDTHS = (
    (re.compile(rb"\d{3}"), np.int8),
    (re.compile(rb"\d{5}"), np.int16),
    (re.compile(rb"\d{10}"), np.int32),
)
_BLOCK = 2**16
# Pickles of every protocol, and what joblib, NumPy and archives begin with.
_PICKLES = re.compile(
    rb"\x80|PK|\x1f\x8b|BZh|\xfd7zXZ|\]\x00\x00|\x04\x22\x4d\x18|\x93NUMPY|\x89HDF|ZF|x[\x01\x5e\x9c\xda]"
)
_FIRST_OPCODES = b"(])}cFGIJKLMNSTUVX"  # of the oldest two protocols
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def read_json(path: str | os.PathLike[str], check: Callable[[bytes], None] | None = None) -> Any:
    """Read a JSON file that may be hostile: a FormatError names the place; ``check`` looks at the bytes first."""
    if not stat.S_ISREG(
        Path(path).stat().st_mode
    ):  # before it is opened: a pipe would wait for a writer
        raise _refused(f"{path} is not a regular file.")
    with Path(path).open("rb") as file:
        facts = os.fstat(file.fileno())
        if facts.st_size > MAX_BYTES:
            raise _refused(f"{path} has {facts.st_size:,} bytes; at most {MAX_BYTES:,} are read.")
        return parse_json(file.read(facts.st_size), str(path), check)


def parse_json(
    raw: bytes, name: str = "the file", check: Callable[[bytes], None] | None = None
) -> Any:
    """Parse JSON after counting what it would become; long lists of numbers become arrays, with NaN for null."""
    if not raw.lstrip().startswith(b"{"):
        if _PICKLES.match(raw) or (raw.endswith(b".") and raw[0] in _FIRST_OPCODES):
            use = "use granite_xai.load for files that granite_xai.save wrote"
            message = (
                f"{name} is a pickle, a joblib file or an archive: pickle can run code; {use}."
            )
            raise FormatError(message, code="F06", argument="path")
        what = "does not begin with an object" if raw.strip() else "is empty"
        raise FormatError(f"{name} {what} at byte 0.", code="F04", argument="path")
    arrays: list[NDArray[Any]] = []
    rest = check_size(raw, name, arrays)
    if check is not None:
        check(raw)
    del raw
    try:
        text = rest.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(
            f"{name} is not UTF-8 text at byte {error.start:,}.", code="F04", argument="path"
        ) from error
    del rest

    def whole(number: str) -> int:
        if len(number) > 20:
            raise _refused(f"{name} holds a whole number of {len(number)} digits.")
        return int(number)

    def real(number: str) -> float:
        value = float(number)
        if not math.isfinite(value):
            raise _refused(f"{name} holds the number {number[:30]}, which is not finite.")
        return value

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(items)
        if len(made) < len(items):
            twice = Counter(key for key, _ in items).most_common(1)[0][0]
            raise _refused(f"{name} has the key {twice[:60]!r} twice in one object.")
        return made

    longs = iter(arrays)  # the only constants: all others were refused before
    hooks: dict[str, Any] = {
        "parse_constant": lambda _: next(longs),
        "parse_int": whole,
        "parse_float": real,
    }
    try:
        return json.loads(text, object_pairs_hook=pairs, **hooks)
    except json.JSONDecodeError as error:
        message = f"{name} breaks off or is not JSON at line {error.lineno}, column {error.colno} ({error.msg})."
        raise FormatError(message, code="F04", argument="path") from error


def check_size(
    raw: bytes, name: str = "the file", arrays: list[NDArray[Any]] | None = None
) -> bytes:
    """Refuse text that is too large or too deep (F05); return it with NaN where a list of numbers moved to arrays."""
    sizes = {
        "bytes": (len(raw), MAX_BYTES),
        "lists and objects": (raw.count(b"[") + raw.count(b"{"), MAX_CONTAINERS),
    }
    sizes["values"] = max(raw.count(b","), (raw.count(b'"') + 1) // 2), MAX_VALUES
    for what, (count, most) in sizes.items():
        if count > most:
            raise _refused(f"{name} has more than {most:,} {what}.")
    depth = last = 0
    kept: list[bytes] = []
    for token in _TOKENS.finditer(raw):
        first, (start, end) = raw[token.start()], token.span()
        if token.lastgroup == "constant":
            raise _refused(f"{name} holds {token[0].decode()}, which is not a number.")
        if token.lastgroup == "numbers":
            found = None if arrays is None else _numbers(raw, start + 1, end - 1, name)
            if arrays is not None and found is not None:
                arrays.append(found)
                kept += [raw[last:start], b"NaN"]
                last = end
            continue
        depth += 1 if first in b"[{" else -1 if first in b"]}" else 0
        if depth > MAX_DEPTH:
            raise _refused(f"{name} is nested more than {MAX_DEPTH} deep.")
    return b"".join([*kept, raw[last:]]) if kept else raw


def _numbers(raw: bytes, start: int, end: int, name: str) -> NDArray[Any] | None:
    """The numbers of a list, block by block so that little is copied; None: whole numbers and others, or no numbers."""
    kind = "i" if re.compile(rb"[.eEnul]").search(raw, start, end) is None else "f"
    narrow = (width for digits, width in _WIDTHS if digits.search(raw, start, end) is None)
    found = np.empty(
        raw.count(b",", start, end) + 1, dtype=next(narrow, np.int64) if kind == "i" else np.float64
    )
    filled = 0
    while start < end:
        stop = raw.find(b",", start + _BLOCK, end)
        block = raw[start : end if stop < 0 else stop]
        if _LISTS[kind].fullmatch(block) is None:
            return None
        part = np.fromstring(
            block.replace(b"null", b"nan"), dtype=np.int64 if kind == "i" else np.float64, sep=","
        )
        if np.isinf(part).any():
            raise _refused(f"{name} holds a number which is not finite.")
        found[filled : filled + len(part)] = part
        filled, start = filled + len(part), start + len(block) + 1
    return found


def _refused(message: str) -> FormatError:
    return FormatError(message, code="F05", argument="path")


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write text as UTF-8 with its own line ends, replacing an existing file in one step, or not at all (F01, F02)."""
    data = text.encode("utf-8", errors="backslashreplace")  # a lone surrogate becomes an escape
    with _beside(Path(path), len(data)) as (file, temporary, target):
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
        file.close()
        with contextlib.suppress(FileNotFoundError):
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)  # noqa: PTH105 - tests put a failing disk in its place
    with contextlib.suppress(
        OSError
    ):  # the new name too; where folders cannot be opened the system does that itself
        folder = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    return Path(path)


def require_writable(path: str | os.PathLike[str]) -> None:
    """Try whether a file could be written there, before work is spent on its content (F02)."""
    with _beside(Path(path), 0):
        pass


@contextlib.contextmanager
def _beside(path: Path, size: int) -> Iterator[tuple[IO[bytes], Path, Path]]:
    """A new hidden file beside the target, with the rights that any new file gets there; afterwards it is gone."""
    target = Path(os.path.realpath(path))  # a symbolic link stays one
    temporary = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}.tmp")
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(temporary, flags, 0o666), "wb") as file:
            yield file, temporary, target
    except OSError as error:
        if error.errno in _FULL:
            message = f"{path} could not be written: no room for {size:,} bytes. What was there is unchanged."
            hint = "Free some space, or choose another folder."
            raise ResourceError(message, code="F01", argument="path", hint=hint) from error
        message = f"{path} cannot be written ({error.strerror or type(error).__name__})."
        hint = "Choose a file in a folder that you may write to."
        raise InputError(message, code="F02", argument="path", hint=hint) from error
    finally:  # also after an interrupt
        with contextlib.suppress(OSError):
            temporary.unlink()
