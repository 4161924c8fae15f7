"""Both sides of a split in words that every possible row reaches exactly one of (C14)."""

from __future__ import annotations

from typing import Any

import numpy as np

from granite_xai.base.typing import BoolArray, IntArray
from granite_xai.regions import (
    Condition,
    Side,
    cut,
    grouping,
    missing_or_present,
)
from granite_xai.search.candidates import Candidate
from granite_xai.search.thresholds import date_threshold, threshold
from granite_xai.tables import Column

BothSides = tuple[Condition, Condition]


def conditions(column: Column, candidate: Candidate, rows: IntArray, missing: bool) -> BothSides:
    """The conditions of both sides of a cut.

    Levels the node never saw go with the larger child (more rows; on a tie the left one). Missing
    values go where the candidate sends them; at a node that saw none, in a fit that allowed them, with
    the larger child (C14).

    Parameters
    ----------
    column : Column
        Of all fitting rows.
    candidate : Candidate
    rows : array
        Rows of the node.
    missing : bool
        Whether the fit allowed missing values.
    """
    counts = np.bincount(column.codes[rows] + 1, minlength=len(column.levels) + 1)
    n_left = int(counts[candidate.left].sum())
    larger_side = _side(n_left >= len(rows) - n_left)
    present = np.flatnonzero(counts[1:])
    goes_left = candidate.left[1:][present]
    missing_side: Side | None = larger_side if missing else None
    if counts[0] > 0:
        missing_side = _side(bool(candidate.left[0]))
        if goes_left.all() or not goes_left.any():
            return _missing_alone(present_go_left=bool(goes_left.all()))
    return _sides_of_levels(column, present, goes_left, missing_side, larger_side)


def _side(is_left: bool) -> Side:
    if is_left:
        return "left"
    return "right"


def _missing_alone(present_go_left: bool) -> BothSides:
    """Missing values on one side; a cut of other rows may leave them alone on the right."""
    is_missing, is_present = missing_or_present()
    if present_go_left:
        return is_present, is_missing
    return is_missing, is_present


def _sides_of_levels(
    column: Column,
    present: IntArray,
    goes_left: BoolArray,
    missing_side: Side | None,
    larger_side: Side,
) -> BothSides:
    """The conditions of both sides, from which of the levels that are present go left."""
    if column.kind in ("nominal", "boolean"):
        labels = column.levels[present]
        return grouping(
            labels[goes_left].tolist(),
            labels[~goes_left].tolist(),
            larger=larger_side,
            missing=missing_side,
        )
    below = column.levels[present[goes_left][-1]]
    above = column.levels[present[~goes_left][0]]
    separating = _separating(column.kind, below, above)
    return cut(separating, order=column.order, missing=missing_side, larger=larger_side)


def _separating(kind: str, below: Any, above: Any) -> Any:
    """The simplest value that separates two neighbouring ones; of labels the lower one."""
    if kind == "numeric":
        return threshold(below, above)
    if kind == "date":
        return date_threshold(below, above)
    return below
