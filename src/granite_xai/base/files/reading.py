"""JSON from an unknown source, read in bounded time and memory.

Everything that a file would become is counted before it is made: ``json`` builds 64 bytes for the
two of an empty list, so a small file could fill the memory (F05). Long lists of numbers never become
Python objects: they are cut out of the text, parsed by NumPy, and put back as arrays.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from granite_xai.base.errors import FormatError

MAX_BYTES = 2**28
MAX_DEPTH = 24
MAX_CONTAINERS = 2**18  # an empty list takes 2 bytes in a file and 64 in memory
MAX_VALUES = 2**23  # a number takes 2 bytes in a file and 32 in memory
MAX_DIGITS = 20  # of a whole number; parsing takes quadratic time

# What may be a long list of numbers (an array takes less than twice its text), a bracket, a constant
# that is not JSON, or a text with all of these in it; a text that is never closed ends with the file.
_TOKENS = re.compile(
    rb"(?s)(?P<numbers>\[[-+\d.eEnul,\s]{256,}+\])"
    rb"|(?P<constant>NaN|Infinity)"
    rb"|(?P<open>[\[{])"
    rb"|(?P<close>[\]}])"
    rb'|"(?:[^"\\]+|\\.?)*+(?:"|\Z)'
)
_WHOLE_NUMBER = rb"\s*+-?(?:0|[1-9]\d{0,17})\s*+"
_REAL_NUMBER = rb"\s*+(?:-?(?:0|[1-9]\d*+)(?:\.\d++(?:[eE][-+]?\d++)?|[eE][-+]?\d++)|null)\s*+"
_WHOLE_NUMBERS = re.compile(rb"%s(?:,%s)*+" % (_WHOLE_NUMBER, _WHOLE_NUMBER))
_REAL_NUMBERS = re.compile(rb"%s(?:,%s)*+" % (_REAL_NUMBER, _REAL_NUMBER))
_MARK_OF_REAL_NUMBERS = re.compile(rb"[.eEnul]")
# Whole numbers take as few bytes as their digits need: fewer than 3 digits fit in one byte, and so on.
_WIDTHS = (
    (re.compile(rb"\d{3}"), np.int8),
    (re.compile(rb"\d{5}"), np.int16),
    (re.compile(rb"\d{10}"), np.int32),
)
_BLOCK = 2**16  # bytes of a list that are parsed at a time, so that little is copied
# Pickles of every protocol, and what joblib, NumPy and archives begin with.
_PICKLES = re.compile(
    rb"\x80|PK|\x1f\x8b|BZh|\xfd7zXZ|\]\x00\x00|\x04\x22\x4d\x18|\x93NUMPY|\x89HDF|ZF|x[\x01\x5e\x9c\xda]"
)
_FIRST_OPCODES = b"(])}cFGIJKLMNSTUVX"  # of the oldest two protocols


def read_json(path: str | os.PathLike[str], check: Callable[[bytes], None] | None = None) -> Any:
    """Read a JSON file that may be hostile.

    Parameters
    ----------
    path : str or path
        A regular file.
    check : callable, optional
        Looks at the bytes before they are parsed.

    Returns
    -------
    dict
        As `parse_json`.

    Raises
    ------
    FormatError
        F04 to F06, with the place.
    """
    # Before it is opened: a pipe would wait for a writer.
    if not stat.S_ISREG(Path(path).stat().st_mode):
        raise _too_much(f"{path} is not a regular file.")
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > MAX_BYTES:
            raise _too_much(f"{path} has {size:,} bytes; at most {MAX_BYTES:,} are read.")
        return parse_json(file.read(size), str(path), check)


def parse_json(
    raw: bytes, name: str = "the file", check: Callable[[bytes], None] | None = None
) -> Any:
    """Parse JSON after counting what it would become.

    Parameters
    ----------
    raw : bytes
        The text of an object.
    name : str
        What it is called in errors.
    check : callable, optional
        Looks at the bytes once they have been counted.

    Returns
    -------
    dict
        Long lists of numbers are arrays, with NaN for null.

    Raises
    ------
    FormatError
        F04: not JSON; F05: too large, too deep or ambiguous; F06: a pickle.
    """
    _require_object(raw, name)
    _check_counts(raw, name)
    without_lists, arrays = _move_numbers_to_arrays(raw, name)  # checks the depth on its way
    if check is not None:
        check(raw)
    del raw  # so that the bytes and the text are not held at once
    try:
        text = without_lists.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"{name} is not UTF-8 text at byte {error.start:,}."
        raise FormatError(message, code="F04", argument="path") from error
    del without_lists
    return _Parser(name, iter(arrays)).parse(text)


def check_size(raw: bytes, name: str = "the file") -> None:
    """Refuse text that is too large or too deep to be read again (F05).

    Raises
    ------
    FormatError
        F05, with what there is too much of.
    """
    _check_counts(raw, name)
    _check_depth(raw, name)


def _require_object(raw: bytes, name: str) -> None:
    if raw.lstrip().startswith(b"{"):
        return
    is_old_pickle = raw.endswith(b".") and raw[0] in _FIRST_OPCODES
    if _PICKLES.match(raw) or is_old_pickle:
        message = (
            f"{name} is a pickle, a joblib file or an archive: pickle can run code; "
            "use granite_xai.load for files that granite_xai.save wrote."
        )
        raise FormatError(message, code="F06", argument="path")
    what = "does not begin with an object" if raw.strip() else "is empty"
    raise FormatError(f"{name} {what} at byte 0.", code="F04", argument="path")


def _check_counts(raw: bytes, name: str) -> None:
    """Refuse more than we read (F05), by bounds on what the text can become.

    All values but the first of a container follow a comma, and every text has two quotation marks.
    """
    containers = raw.count(b"[") + raw.count(b"{")
    values = max(raw.count(b","), (raw.count(b'"') + 1) // 2)
    limits = (
        ("bytes", len(raw), MAX_BYTES),
        ("lists and objects", containers, MAX_CONTAINERS),
        ("values", values, MAX_VALUES),
    )
    for what, count, limit in limits:
        if count > limit:
            raise _too_much(f"{name} has more than {limit:,} {what}.")


def _check_depth(raw: bytes, name: str) -> None:
    """Refuse text that is nested too deep, or has constants that are not JSON (F05)."""
    for _ in _long_lists(raw, name):
        pass  # the walk itself raises


class _Span(NamedTuple):
    start: int
    end: int


def _long_lists(raw: bytes, name: str) -> Iterator[_Span]:
    """Walk through the brackets and yield where each long list of numbers stands.

    Raises for constants that are not JSON, and for text that is nested too deep.
    """
    depth = 0
    for token in _TOKENS.finditer(raw):
        if token.lastgroup == "constant":
            raise _too_much(f"{name} holds {token[0].decode()}, which is not a number.")
        if token.lastgroup == "numbers":
            yield _Span(*token.span())
        elif token.lastgroup == "open":
            depth += 1
        elif token.lastgroup == "close":
            depth -= 1
        if depth > MAX_DEPTH:
            raise _too_much(f"{name} is nested more than {MAX_DEPTH} deep.")


def _move_numbers_to_arrays(raw: bytes, name: str) -> tuple[bytes, list[NDArray[Any]]]:
    """The text with ``NaN``, which JSON does not have, in place of each long list; and the lists."""
    arrays: list[NDArray[Any]] = []
    pieces: list[bytes] = []
    end_of_last = 0
    for span in _long_lists(raw, name):
        array = _parse_numbers(raw, _Span(span.start + 1, span.end - 1), name)
        if array is not None:
            arrays.append(array)
            pieces += [raw[end_of_last : span.start], b"NaN"]
            end_of_last = span.end
    if not pieces:
        return raw, arrays
    pieces.append(raw[end_of_last:])
    return b"".join(pieces), arrays


def _parse_numbers(raw: bytes, span: _Span, name: str) -> NDArray[Any] | None:
    """The numbers of a list without its brackets, block by block.

    None: it mixes whole numbers with others, or holds something that is no number; ``json`` reads
    those.
    """
    start, end = span
    count = raw.count(b",", start, end) + 1
    if _MARK_OF_REAL_NUMBERS.search(raw, start, end) is None:
        grammar = _WHOLE_NUMBERS
        parsed_as: type[np.generic] = np.int64
        numbers: NDArray[Any] = np.empty(count, dtype=_narrowest_type(raw, span))
    else:
        grammar = _REAL_NUMBERS
        parsed_as = np.float64
        numbers = np.empty(count, dtype=np.float64)
    filled = 0
    while start < end:
        end_of_block = raw.find(b",", start + _BLOCK, end)
        if end_of_block < 0:
            end_of_block = end
        block = raw[start:end_of_block]
        if grammar.fullmatch(block) is None:
            return None
        part = np.fromstring(block.replace(b"null", b"nan"), dtype=parsed_as, sep=",")
        if np.isinf(part).any():
            raise _too_much(f"{name} holds a number which is not finite.")
        numbers[filled : filled + len(part)] = part
        filled += len(part)
        start = end_of_block + 1  # behind the comma
    return numbers


def _narrowest_type(raw: bytes, span: _Span) -> type[np.generic]:
    for too_long, width in _WIDTHS:
        if too_long.search(raw, span.start, span.end) is None:
            return width
    return np.int64


class _Parser(NamedTuple):
    """``json`` with stricter rules; every constant in the text stands for the next array."""

    name: str
    arrays: Iterator[NDArray[Any]]

    def parse(self, text: str) -> Any:
        try:
            return json.loads(
                text,
                object_pairs_hook=self.make_object,
                parse_constant=lambda _: next(self.arrays),
                parse_int=self.make_whole_number,
                parse_float=self.make_real_number,
            )
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno} ({error.msg})"
            message = f"{self.name} breaks off or is not JSON at {place}."
            raise FormatError(message, code="F04", argument="path") from error

    def make_object(self, items: list[tuple[str, Any]]) -> dict[str, Any]:
        entries = dict(items)
        if len(entries) < len(items):
            repeated = Counter(key for key, _ in items).most_common(1)[0][0]
            raise _too_much(f"{self.name} has the key {repeated[:60]!r} twice in one object.")
        return entries

    def make_whole_number(self, digits: str) -> int:
        if len(digits) > MAX_DIGITS:
            raise _too_much(f"{self.name} holds a whole number of {len(digits)} digits.")
        return int(digits)

    def make_real_number(self, digits: str) -> float:
        value = float(digits)
        if not math.isfinite(value):
            message = f"{self.name} holds the number {digits[:30]}, which is not finite."
            raise _too_much(message)
        return value


def _too_much(message: str) -> FormatError:
    return FormatError(message, code="F05", argument="path")
