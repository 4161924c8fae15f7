"""Saving an object as a JSON document."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from granite_xai.base.errors import FormatError, InputError
from granite_xai.base.files import check_size, write_text
from granite_xai.estimator import Granite
from granite_xai.fitting.fitted_view import fitted_view
from granite_xai.persistence.document import KINDS, TIMES, UNSIGNED, Saved, checksum, head
from granite_xai.persistence.fitted import granite_to_dict
from granite_xai.persistence.forms import structure
from granite_xai.persistence.times import times_in
from granite_xai.regions import Partition
from granite_xai.tables import outline_to_dict, require_rows, rows_to_dict


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
    >>> from granite_xai import Partition, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = save(Partition.from_rules(["x0 ≤ 1", "x0 > 1"]), Path(folder) / "regions.json")
    ...     load(path)
    <Partition of 2 regions: x0 ≤ 1; x0 > 1>
    """
    kind = type(obj).__name__.lower()
    if KINDS.get(kind) is not type(obj):
        names = ", ".join(saved_type.__name__ for saved_type in KINDS.values())
        message = f"a {type(obj).__name__} cannot be saved; a {names} can."
        raise InputError(message, code="P01", argument="obj")
    document = {**head(kind), **_content(obj, kind, include_data)}
    if isinstance(obj, Granite) and not reproducible:
        times = times_in(obj.diagnostics_)
        if times:
            document[TIMES] = times
    text = json.dumps(document, allow_nan=False)
    raw = text.encode("ascii")
    _require_readable(raw)
    return write_text(path, text.replace(UNSIGNED, checksum(raw), 1) + "\n")


def _content(obj: Saved, kind: str, include_data: bool) -> dict[str, Any]:
    """The entries of a document: the table, its rows if wanted, the object."""
    if isinstance(obj, Partition):
        return {kind: obj.to_dict()}
    if isinstance(obj, Granite):
        table = fitted_view(obj, several=True).result.table
    else:
        table = obj.table
    if include_data:
        require_rows(table, "include_data=True")
    if isinstance(obj, Granite):
        content = granite_to_dict(obj, include_data)
    else:
        content = structure(table).write(obj, type(obj), kind)
    return {
        "table": outline_to_dict(table, with_values=isinstance(obj, Granite)),
        "rows": rows_to_dict(table) if include_data else None,
        kind: content,
    }


def _require_readable(raw: bytes) -> None:
    """Refuse a document that `load` would find too large."""
    try:
        check_size(raw, "what would be saved")
    except FormatError as error:
        hint = "Save fewer rows or values."
        raise InputError(error.message, code="F05", argument="obj", hint=hint) from None
