"""Files of the package's objects: one JSON document each, with schema, version and checksum in front; never pickle."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from granite_xai import __version__
from granite_xai.base.errors import FormatError, InputError
from granite_xai.base.files import check_size, entry, read_json, require, write_text
from granite_xai.estimator import Granite
from granite_xai.explanation.result import Explanation
from granite_xai.fitting.new_rows import Evaluation, fitted_view
from granite_xai.persistence.findings import check_findings
from granite_xai.persistence.fitted import (
    granite_from_dict,
    granite_to_dict,
    structure,
    without_unit,
)
from granite_xai.persistence.times import put_back, times_in
from granite_xai.regions.partition import Partition
from granite_xai.tables import (
    Table,
    outline_from_dict,
    outline_to_dict,
    require_rows,
    rows_from_dict,
    rows_to_dict,
)

__all__ = ["load", "save"]
OLDEST, VERSION = 2, 3  # of the schemas: files of every version between them are read
_PREFIX = "granite-xai/"
_KINDS: dict[str, type[Any]] = {
    kind.__name__.lower(): kind for kind in (Partition, Explanation, Evaluation, Granite)
}
_UNSIGNED = "0" * 64
_CHECKSUM = re.compile(rb'"sha256": "([0-9a-f]{64})"')
_TIMES = "times"  # the last entry: seconds of a fit, of which the checksum knows nothing
_BEFORE_TIMES = f', "{_TIMES}": {{'.encode()

Saved = Partition | Explanation | Evaluation | Granite


def save(
    obj: Saved,
    path: str | os.PathLike[str],
    include_data: bool = False,
    reproducible: bool = False,
) -> Path:
    """Save a partition, an explanation, an evaluation or a fitted Granite as JSON; a model is never saved.

    The file is written completely or not at all. Without its rows a saved Granite still holds the distinct values of
    each column, sorted and each column for itself, because its curves stand on them.

    Parameters
    ----------
    path : str or path
        Where; an existing file is replaced. This is what is returned.
    include_data : bool
        Keep the rows as well. Exact predictions, effects of several columns and baselines chosen in each region need
        the fitting rows. A partition has none.
    reproducible : bool
        Leave out the seconds that a fit took, so that equal fits have equal files, byte by byte. Without it they are
        the last entry of the file, of which the checksum knows nothing.

    Raises
    ------
    InputError or ResourceError
        F08: an object that JSON cannot hold, by name; F09: rows that are not there; F01: no room on the disk.

    Examples
    --------
    >>> import tempfile
    >>> from granite_xai import Partition
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save(Partition.from_rules(["x0 ≤ 1", "x0 > 1"]), Path(folder) / "regions.json")
    ...     load(path)
    <Partition of 2 regions: x0 ≤ 1; x0 > 1>
    """
    kind = type(obj).__name__.lower()
    if _KINDS.get(kind) is not type(obj):
        message = f"a {type(obj).__name__} cannot be saved; a {', '.join(k.__name__ for k in _KINDS.values())} can."
        raise InputError(message, code="P01", argument="obj")
    head = {
        "schema": _PREFIX + kind,
        "version": VERSION,
        "package": __version__,
        "sha256": _UNSIGNED,
    }
    content = _content(obj, kind, include_data)
    if isinstance(obj, Granite) and not reproducible:
        times = times_in(obj.diagnostics_)
        content |= {_TIMES: times} if times else {}
    text = json.dumps({**head, **content}, allow_nan=False)
    raw = text.encode("ascii")
    try:
        check_size(raw, "what would be saved")
    except FormatError as error:
        raise InputError(
            error.message, code="F05", argument="obj", hint="Save fewer rows or values."
        ) from None
    return write_text(path, text.replace(_UNSIGNED, _checksum(raw), 1) + "\n")


def load(path: str | os.PathLike[str], model: Any = None, verify: bool = True) -> Saved:
    """Load what `save` wrote. Nothing in a file is ever run, and what it holds is checked first.

    Parameters
    ----------
    model : object, optional
        The model of a saved Granite. It is asked about up to 1,000 rows, some of every region, and its predictions
        must be those it had; ``diagnostics_["loaded"]`` says how many were compared. Without it the object applies,
        prints and predicts from its curves, and everything that has to ask the model is an error.
    verify : bool
        Refuse a file that was changed after it was saved. The checksum notices accidents; it is no signature.

    Raises
    ------
    FormatError or ModelError
        F04 broken or changed file, F05 hostile file, F06 pickle, F07 file of another version; F09 another model.

    Examples
    --------
    >>> import tempfile
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy()
    >>> g = gx.Granite(toy.model, "ice-pdp").fit(toy.X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load(save(g, Path(folder) / "g.json"), model=toy.model)
    >>> [str(region.rule) for region in again.partition_]
    ['x2 ≤ 0', 'x2 > 0']
    """
    sums: list[str] = []
    data = read_json(path, lambda raw: sums.append(_checksum(raw)))
    kind = _kind(data)
    if verify and entry(data, "sha256", str, "the file") != sums[0]:
        message = f"{path} was changed after it was saved: its checksum is not that of its content."
        raise FormatError(
            message,
            code="F04",
            argument="path",
            hint="Save again, or pass verify=False to load it.",
        )
    content = entry(data, kind, dict, "the file")
    if model is not None and kind != "granite":
        message = f"the file holds a saved {kind}, which has no model."
        raise InputError(message, code="P03", argument="model", hint="Leave model out.")
    if kind == "partition":
        return Partition.from_dict(content)
    table = _table(data, kind)
    if kind == "granite":
        granite = granite_from_dict(content, model, table, kind)
        if _TIMES in data:
            require(list(data)[-1] == _TIMES, _TIMES, "are not the last entry of the file")
            put_back(granite.diagnostics_, data[_TIMES], _TIMES)
            check_findings(granite.diagnostics_, _TIMES)
        return granite
    content = without_unit(content, "ratios")
    found: Explanation | Evaluation = structure(table).read(content, _KINDS[kind], kind)
    _check(found, kind)
    return found


def _content(obj: Saved, kind: str, include_data: bool) -> dict[str, Any]:
    if isinstance(obj, Partition):
        return {kind: obj.to_dict()}
    table = fitted_view(obj, several=True).result.table if isinstance(obj, Granite) else obj.table
    if include_data:
        require_rows(table, "include_data=True")
    if isinstance(obj, Granite):
        content = granite_to_dict(obj, include_data)
    else:
        content = structure(table).write(obj, type(obj), kind)
    rows = rows_to_dict(table) if include_data else None
    return {
        "table": outline_to_dict(table, grids=isinstance(obj, Granite)),
        "rows": rows,
        kind: content,
    }


def _table(data: Any, kind: str) -> Table:
    outline = outline_from_dict(entry(data, "table", dict, "the file"), "table")
    if entry(data, "rows", object, "the file") is None:
        return outline
    table = rows_from_dict(data["rows"], outline, "rows")
    for column, known in zip(
        table.columns, outline.columns if kind == "granite" else (), strict=False
    ):
        same = known.passes or np.array_equal(column.levels, known.levels)
        require(same, "rows", f"have other levels in column {column.name!r} than the table")
    return table


def _checksum(raw: bytes) -> str:
    """SHA-256 of a file with zeros where its checksum stands; times and line ends at its end do not count."""
    found = _CHECKSUM.search(raw, 0, 1000)
    start, end = found.span(1) if found else (0, 0)
    closing = raw.rfind(_BEFORE_TIMES)  # where the file would close without its times
    if closing < 0:
        closing = len(raw) - len(raw[-8:]) + len(raw[-8:].rstrip()) - 1
        bracket = raw[closing : closing + 1]
    else:
        bracket = b"}"
    total = hashlib.sha256(raw[:start] + (_UNSIGNED.encode() if found else b""))
    total.update(memoryview(raw)[end:closing])
    total.update(bracket)
    return total.hexdigest()


def _kind(data: object) -> str:
    """Which object the file holds, once its version is one that is known (F07)."""
    schema, version = (
        entry(data, "schema", str, "the file"),
        entry(data, "version", int, "the file"),
    )
    package, kind = entry(data, "package", str, "the file"), schema.removeprefix(_PREFIX)
    ours = schema.startswith(_PREFIX) and version >= 1
    if ours and not OLDEST <= version <= VERSION:
        this = f"this is granite-xai {__version__}, which reads versions from {OLDEST} up to {VERSION}."
        message = f"the file has version {version} of {schema[:60]!r}, written by granite-xai {package[:30]}; {this}"
        old = "Load it with the granite-xai that wrote it, or fit again."
        hint = old if version < OLDEST else "Install a newer granite-xai."
        raise FormatError(message, code="F07", argument="path", hint=hint)
    known = ours and kind in _KINDS
    require(
        known, "the file", f"has the schema {schema[:60]!r}, version {version}, which is not known"
    )
    return kind


def _check(found: Explanation | Evaluation, place: str) -> None:
    """Numbers must be as many as what they are of."""
    if isinstance(found, Evaluation):
        count, counts = (len(found.rules),), found.counts
        right = len(counts) == count[0] > 0 and min(counts) >= 0 and sum(counts) > 0
        require(right, f"{place}.counts", "is not one number of rows for each rule")
        right = found.regional.shape == found.by_region.shape == count
        require(right, f"{place}.regional", "is not one number for each rule")
        return
    require(found.sets and found.parts, place, "has no sets or no parts")
    for i, part in enumerate(found.parts):
        rows = () if part.rows is None else part.rows.shape
        shape = (*rows, len(part.sets or found.sets))
        right = (
            part.region >= 0
            and len(rows) < 2
            and (part.rows is None or bool(np.all(part.rows >= 0)))
        )
        require(right, f"{place}.parts[{i}]", "has a region or a row below 0")
        right = part.values.shape == part.errors.shape == shape and part.base.shape == (
            rows or (1,)
        )
        require(
            right, f"{place}.parts[{i}].values", f"do not have the shape {shape} of rows and sets"
        )
