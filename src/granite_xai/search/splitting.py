"""From a chosen candidate to the two conditions that a rule is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.typing import IntArray
from granite_xai.regions.conditions import Condition, Side, cut, grouping, missing_or_present
from granite_xai.search.candidates import Candidate
from granite_xai.search.thresholds import date_threshold, threshold

if TYPE_CHECKING:
    from granite_xai.tables import Column


def conditions(column: Column, candidate: Candidate, rows: IntArray, missing: bool) -> tuple[Condition, Condition]:
    """Both sides of a split, worded so that every possible row reaches exactly one of them.

    Levels the node never saw go with the larger child (more rows; on a tie the left one). Missing values go where the
    candidate sends them; at a node that saw none, in a fit that allowed them and had some in this column, with the
    larger child (C14).

    Parameters
    ----------
    column : Column
        On all fitting rows.
    candidate : Candidate
    rows : array of int
        The node's rows.
    missing : bool
        Whether the fit allowed missing values.
    """
    counts = np.bincount(column.codes[rows] + 1, minlength=len(column.levels) + 1)
    n_left = int(counts[candidate.left].sum())
    larger: Side = "left" if n_left >= len(rows) - n_left else "right"
    present = np.flatnonzero(counts[1:])
    goes_left = candidate.left[1:][present]
    side = _missing_side(column, candidate, bool(counts[0]), missing, larger)
    if counts[0] and not goes_left.any():
        return missing_or_present()
    if column.kind in ("nominal", "boolean"):
        labels = column.levels[present]
        return grouping(labels[goes_left].tolist(), labels[~goes_left].tolist(), larger=larger, missing=side)
    below, above = column.levels[present[goes_left][-1]], column.levels[present[~goes_left][0]]
    return cut(_between(column, below, above), order=column.order, missing=side, larger=larger)


def _missing_side(column: Column, candidate: Candidate, seen: bool, allowed: bool, larger: Side) -> Side | None:
    if seen:
        return "left" if candidate.left[0] else "right"
    return larger if allowed and bool((column.codes < 0).any()) else None


def _between(column: Column, below: Any, above: Any) -> Any:
    """The threshold: the shortest number (or date) that separates two neighbours; of labels the lower one."""
    if column.kind == "numeric":
        return threshold(float(below), float(above))
    return date_threshold(below, above) if column.kind == "date" else below
