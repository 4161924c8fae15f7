"""The kind of a column when the user or the fit says what it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from granite_xai.tables.cells import Cells, UnreadableError, from_labels
from granite_xai.tables.columns import Kind

KINDS: dict[str, Kind] = {
    "numeric": "numeric",
    "ordinal": "ordinal",
    "nominal": "nominal",
    "boolean": "boolean",
    "date": "date",
}


def as_kind(cells: Cells, kind: Kind) -> Cells:
    """Read cells as another kind, or refuse what would need a guess.

    Examples
    --------
    >>> as_kind(Cells("numeric", np.array([2.0, 1.0]), integer=True), "nominal").values
    array([2, 1], dtype=object)
    """
    if cells.kind == kind:
        return cells
    if _nothing_there(cells):
        return Cells(kind, _empty(kind, len(cells.values)))
    if cells.kind == "date" or kind == "date":
        raise UnreadableError("P03", f"is {cells.kind} and cannot be read as {kind}", "Convert the column.")
    return _TO[kind](cells)


def _numeric(cells: Cells) -> Cells:
    labels = [label for label in cells.values if label is not None]
    if any(isinstance(label, str) for label in labels):
        raise UnreadableError(
            "P03", f"is {cells.kind} with text labels and cannot be read as numeric", "Convert the column."
        )
    whole = all(isinstance(label, int) for label in labels)
    values = np.array([np.nan if label is None else float(label) for label in cells.values])
    return Cells("numeric", values, integer=whole)


def _boolean(cells: Cells) -> Cells:
    labels = _labels(cells)
    odd = [
        row for row, label in enumerate(labels) if label is not None and (isinstance(label, str) or label not in (0, 1))
    ]
    if odd:
        reason = f"holds {labels[odd[0]]!r} and cannot be read as boolean"
        raise UnreadableError("P03", reason, "A boolean column holds True, False, 1 or 0.", odd)
    missing = np.array([label is None for label in labels])
    return from_labels([bool(label) for label in labels], missing, kind="boolean")


def _ordinal(cells: Cells) -> Cells:
    return Cells("ordinal", _labels(cells), cells.declared, text=cells.text)


def _nominal(cells: Cells) -> Cells:
    return Cells("nominal", _labels(cells), cells.declared, text=cells.text)


def _labels(cells: Cells) -> Any:
    if cells.kind != "numeric":
        return cells.values
    turn = int if cells.integer else float
    missing = np.isnan(cells.values)
    values = np.empty(len(missing), dtype=object)
    # + 0.0: one label for both zeros
    values[~missing] = [turn(value + 0.0) for value in cells.values[~missing]]
    return values


def _nothing_there(cells: Cells) -> bool:
    if cells.kind == "numeric":
        return bool(np.isnan(cells.values).all())
    if cells.kind == "date":
        return bool(np.isnat(cells.values).all())
    return all(label is None for label in cells.values)


def _empty(kind: Kind, n: int) -> Any:
    if kind == "numeric":
        return np.full(n, np.nan)
    return np.full(n, np.datetime64("NaT", "s")) if kind == "date" else np.full(n, None, dtype=object)


_TO: dict[str, Callable[[Cells], Cells]] = {
    "numeric": _numeric,
    "boolean": _boolean,
    "ordinal": _ordinal,
    "nominal": _nominal,
}
