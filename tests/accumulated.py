"""Accumulated local effects of one column: how the prediction moves along the data, step by step.

    local effect   F(upper end, x_-j) - F(lower end, x_-j) of each row, in the row's own interval
    curve          running sum of the mean local effects

Nominal columns are walked in the order in which their levels resemble each other on the other columns.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from granite_xai.algebra import accumulated as masking
from granite_xai.base.errors import InputError
from granite_xai.base.text import column_text
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.models import accepts_missing, as_predictor
from granite_xai.tables import Column, Rows, Table, read_table

if TYPE_CHECKING:
    from granite_xai.models import Predictor


@dataclass(frozen=True, slots=True, eq=False)
class Accumulated:
    """A first-order ALE curve.

    Attributes
    ----------
    values : (k + 1,) array
        Ends of the intervals, or levels in the order they are walked.
    effects : (k + 1,) float
        The curve there; its mean over the data is 0.
    changes : (k,) float
        Mean local effect of each step.
    counts : (k,) int
        Rows behind each step.
    """

    values: NDArray[Any]
    effects: FloatArray
    changes: FloatArray
    counts: IntArray


def ale(
    model: Any, X: Any, feature: Hashable, *, output: Any = None, response: str = "auto"
) -> Accumulated:
    """Accumulated local effects of one column.

    Parameters
    ----------
    model, X, output, response
        As in `Granite`.
    feature : label
        The column. Ordered columns have at most ten intervals with the same number of rows; the others one step
        between neighbouring levels.

    Examples
    --------
    >>> found = ale(lambda X: 3 * X[:, 0], [[0.0, 1.0], [1.0, 1.0], [2.0, 0.0]], "x0")
    >>> found.changes
    array([3., 3.])
    """
    table = read_table(X, missing="allow" if accepts_missing(model) else "error")
    predictor = as_predictor(model, output=output, response=response)
    column = table.columns[table.resolve(feature, "feature")]
    if len(column.levels) < 2:
        where = column_text(column.name, column.position)
        raise InputError(f"X {where} is constant: it has no step.", code="D18", argument="feature")
    return (
        _nominal(predictor, table, column)
        if column.kind == "nominal"
        else _ordered(predictor, table, column)
    )


def _intervals(column: Column, table: Table) -> Any:
    """The intervals of a column; None where nothing moves along it."""
    visible = frozenset([column.position])
    learned = masking.Accumulated().learn(Rows.of(table, None, None, None), {visible}, seed=0)
    return learned.get(visible)


def local_effects(
    predictor: Predictor, table: Table, column: Column
) -> tuple[FloatArray, IntArray]:
    """Change of the prediction across each row's interval of an ordered column, and the interval (0: missing)."""
    steps = _intervals(column, table)
    if steps is None:
        return np.zeros(table.n_rows), np.zeros(table.n_rows, dtype=np.intp)
    intervals = steps.within(column)[1]
    rows = np.flatnonzero(intervals)
    ends_at = np.searchsorted(steps.parts, steps.edges)
    ends = [
        predictor.recombined(
            table, rows, steps.ends, ends_at[intervals[rows] - below], [column.position]
        )
        for below in (0, 1)
    ]
    effects = np.zeros(table.n_rows)
    effects[rows] = ends[0] - ends[1]
    return effects, intervals


def _ordered(predictor: Predictor, table: Table, column: Column) -> Accumulated:
    effects, intervals = local_effects(predictor, table, column)
    steps = _intervals(column, table)
    values = column.levels[steps.edges] if steps is not None else column.levels
    counts = np.bincount(intervals, minlength=len(values))[1:]
    changes = np.bincount(intervals, weights=effects, minlength=len(values))[1:] / np.maximum(
        counts, 1
    )
    curve = np.append(0.0, np.cumsum(changes))
    middle = (curve[:-1] + curve[1:]) / 2
    return Accumulated(
        values, curve - float(middle @ counts) / counts.sum(), changes, counts.astype(np.intp)
    )


def _nominal(predictor: Predictor, table: Table, column: Column) -> Accumulated:
    order = resembling_levels(table, column)
    carriers = table.take([int(np.flatnonzero(column.codes == code)[0]) for code in order])
    changes, counts = np.zeros(len(order) - 1), np.zeros(len(order) - 1, dtype=np.intp)
    for step, pair in enumerate(pairwise(order)):
        rows = np.flatnonzero(np.isin(column.codes, pair))
        ends = [
            predictor.recombined(
                table,
                rows,
                carriers,
                np.full(len(rows), step + up, dtype=np.intp),
                [column.position],
            )
            for up in (1, 0)
        ]
        changes[step], counts[step] = float(np.mean(ends[0] - ends[1])), len(rows)
    curve = np.append(0.0, np.cumsum(changes))
    shares = np.bincount(column.codes[column.codes >= 0], minlength=len(column.levels))[order]
    return Accumulated(
        column.levels[order], curve - float(curve @ shares) / shares.sum(), changes, counts
    )


def resembling_levels(table: Table, column: Column) -> IntArray:
    """Codes of a nominal column's levels along the first coordinate of their distances.

    The distance of two levels is the sum over the other columns of the largest gap between their distribution
    functions (ordered columns), or of half the summed gaps of their shares (nominal ones).
    """
    distances = np.zeros((len(column.levels), len(column.levels)))
    for other in table.columns:
        if other.position != column.position:
            distances += _distances(column, other)
    squared = np.square(distances)
    gram = (
        -(squared - squared.mean(axis=0) - squared.mean(axis=1, keepdims=True) + squared.mean()) / 2
    )
    vectors = np.linalg.eigh(gram)[1][:, -1]
    vectors = vectors if vectors[0] <= vectors[-1] else -vectors
    return np.lexsort((np.arange(len(vectors)), np.round(vectors, 9))).astype(np.intp)


def _distances(column: Column, other: Column) -> FloatArray:
    shares = np.zeros((len(column.levels), len(other.levels) + 1))
    present = column.codes >= 0
    np.add.at(shares, (column.codes[present], other.codes[present] + 1), 1.0)
    shares /= shares.sum(axis=1, keepdims=True)
    if other.kind in ("nominal", "boolean"):
        return np.asarray(np.abs(shares[:, None] - shares[None]).sum(axis=-1) / 2)
    below = np.cumsum(shares, axis=1)
    return np.asarray(np.abs(below[:, None] - below[None]).max(axis=-1))
