"""The document of a saved object.

Schema, version and checksum stand in front, times at the end.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from granite_xai import __version__
from granite_xai.base.errors import FormatError
from granite_xai.base.files import entry, require
from granite_xai.estimator import Granite
from granite_xai.explanation.result import Explanation
from granite_xai.fitting.evaluation import Evaluation
from granite_xai.regions import Partition

VERSION = 3
"""Version of the schemas that are written."""

OLDEST = 2
"""Files of every version from this one on are read."""

TIMES = "times"
"""The last entry: seconds of a fit, of which the checksum knows nothing."""

UNSIGNED = "0" * 64
"""Stands where the checksum comes."""

Saved = Partition | Explanation | Evaluation | Granite

KINDS: dict[str, type[Any]] = {
    "partition": Partition,
    "explanation": Explanation,
    "evaluation": Evaluation,
    "granite": Granite,
}
"""What can be saved, by its name in the schema."""

_PREFIX = "granite-xai/"
_CHECKSUM = re.compile(rb'"sha256": "([0-9a-f]{64})"')
_HEAD = 1000  # bytes of a file within which its checksum stands
_BEFORE_TIMES = f', "{TIMES}": {{'.encode()


def head(kind: str) -> dict[str, Any]:
    """The first entries of a document, without its checksum yet."""
    return {
        "schema": _PREFIX + kind,
        "version": VERSION,
        "package": __version__,
        "sha256": UNSIGNED,
    }


def kind_of(data: object) -> str:
    """Which object a file holds, once its version is one that is read.

    Raises
    ------
    FormatError
        F07: another version; F04: no file of ours.
    """
    schema = entry(data, "schema", str, "the file")
    version = entry(data, "version", int, "the file")
    package = entry(data, "package", str, "the file")
    is_ours = schema.startswith(_PREFIX) and version >= 1
    if is_ours and not OLDEST <= version <= VERSION:
        raise _other_version(schema, version, package)
    kind = schema.removeprefix(_PREFIX)
    what = f"has the schema {schema[:60]!r}, version {version}, which is not known"
    require(is_ours and kind in KINDS, "the file", what)
    return kind


def _other_version(schema: str, version: int, package: str) -> FormatError:
    message = (
        f"the file has version {version} of {schema[:60]!r}, "
        f"written by granite-xai {package[:30]}; this is granite-xai {__version__}, "
        f"which reads versions from {OLDEST} up to {VERSION}."
    )
    if version < OLDEST:
        hint = "Load it with the granite-xai that wrote it, or fit again."
    else:
        hint = "Install a newer granite-xai."
    return FormatError(message, code="F07", argument="path", hint=hint)


def checksum(raw: bytes) -> str:
    """SHA-256 of a file with zeros where its checksum stands.

    Times, and line ends at the end of the file, do not count.
    """
    # Three pieces are hashed: up to the checksum, with zeros in its place; what follows it; the last bracket.
    match = _CHECKSUM.search(raw, 0, _HEAD)
    head_part = b""
    end_of_checksum = 0
    if match is not None:
        head_part = raw[: match.start(1)] + UNSIGNED.encode()
        end_of_checksum = match.end(1)
    times = raw.rfind(_BEFORE_TIMES)
    if times < 0:
        end = _last_byte(raw)
        bracket = raw[end : end + 1]
    else:  # as if the file closed before its times
        end = times
        bracket = b"}"
    total = hashlib.sha256(head_part)
    total.update(memoryview(raw)[end_of_checksum:end])  # without a copy of a large file
    total.update(bracket)
    return total.hexdigest()


def _last_byte(raw: bytes) -> int:
    """Position of the last byte that is no line end."""
    tail = raw[-8:]
    return len(raw) - len(tail) + len(tail.rstrip()) - 1


def without_unit(saved: dict[str, Any], name: str) -> dict[str, Any]:
    """Leave out the entry by which earlier versions told the unit of very large or small figures.

    Such predictions are refused now (N06); so is a file about them (F07).
    """
    unit = saved.get(name)
    is_plain_unit = unit is None or (type(unit) is int and unit == 0)
    if not is_plain_unit:
        raise FormatError(
            "the file is about predictions beyond 1e-70 or 1e70 in size, "
            "which are no longer explained.",
            code="F07",
            argument="path",
            hint="Rescale the predictions and fit again.",
        )
    return {key: value for key, value in saved.items() if key != name}
