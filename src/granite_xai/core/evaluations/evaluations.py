"""What the model is asked: every row with some columns moved to the values that stand for them.

For a set S of columns, ``E_S[n, u]`` is the prediction for row n with S at its value u. All
distinct values are asked (the paper), or a few that a pilot chooses by what the model does there.
"""

from __future__ import annotations

from collections.abc import Mapping, Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from granite_xai.core.rows import Rows

MOST_ROWS_AT_ONCE = 2**18  # sent to the model

Coalition = frozenset


class Cells(NamedTuple):
    """Values that stand for one column: each stands for the values from ``first`` up to the next
    cell.
    """

    first: np.ndarray  # (U,) ascending
    standing: np.ndarray  # (U,)

    def of(self, values: np.ndarray) -> np.ndarray:
        """Number of the cell of each value; one between two known values joins the lower."""
        return np.maximum(np.searchsorted(self.first, values, side="right") - 1, 0)


class Matrix(NamedTuple):
    """``E_S``."""

    values: np.ndarray  # (n, U) row n with S at value u
    codes: np.ndarray  # (n,) the row's own value

    def take(self, places: np.ndarray) -> Matrix:
        """Some rows, and only the values that they have."""
        present, codes = np.unique(self.codes[places], return_inverse=True)
        values = self.values[places]
        if len(present) < values.shape[1]:
            values = values[:, present]
        return Matrix(values, codes)

    def own(self) -> np.ndarray:
        """The prediction of each row at its own value, (n,)."""
        return self.values[np.arange(len(self.codes)), self.codes]


@dataclass(frozen=True)
class Evaluations:
    """What the model said about n rows; every array has its rows first.

    Parameters
    ----------
    f : array of shape (n,)
        Predictions, less their mean.
    weights : array of shape (n,)
    y : array of shape (n,), optional
        The target, less the same number.
    matrices : dict of coalition to Matrix
    bins : dict of coalition to array of shape (n,)
        For conditional masking, by the visible columns; none: all rows share one bin.
    n_columns : int
    """

    f: np.ndarray
    weights: np.ndarray
    y: np.ndarray | None
    matrices: dict[Coalition, Matrix]
    n_columns: int
    bins: dict[Coalition, np.ndarray] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.f)

    @property
    def everything(self) -> Coalition:
        """All columns."""
        return Coalition(range(self.n_columns))

    def take(self, places: np.ndarray) -> Evaluations:
        """The same about some of the rows."""
        return replace(
            self,
            f=self.f[places],
            weights=self.weights[places],
            y=None if self.y is None else self.y[places],
            matrices={columns: matrix.take(places) for columns, matrix in self.matrices.items()},
            bins={columns: bins[places] for columns, bins in self.bins.items()},
        )


class Model:
    """A fitted estimator or a function, and how many rows it was asked about."""

    def __init__(self, predict, like, labels=None) -> None:
        self._predict = getattr(predict, "predict", predict)
        self._columns = getattr(like, "columns", None)
        self._dtypes = getattr(like, "dtypes", None)
        self._labels = labels or {}
        self.n_rows = 0

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Predictions (n,) of rows (n, d)."""
        self.n_rows += len(x)
        if self._columns is None:
            return np.asarray(self._predict(x), dtype=float)
        import pandas as pd

        table = pd.DataFrame(x, columns=self._columns)
        for position, labels in self._labels.items():
            column = pd.Categorical.from_codes(x[:, position].astype(int), labels)
            table[self._columns[position]] = column.astype(self._dtypes.iloc[position])
        return np.asarray(self._predict(table), dtype=float)


def evaluate(
    model: Model,
    rows: Rows,
    coalitions: AbstractSet[Coalition],
    cells: Mapping[int, Cells],
) -> Evaluations:
    """Ask the model once about everything that some coalitions of visible columns need.

    Parameters
    ----------
    model : Model
    rows : Rows
    coalitions : set of coalitions
        ``F_T`` is read from ``E_T`` or from ``E`` of the other columns, whichever has fewer values.
    cells : mapping of column to Cells
        Columns without cells are asked at all their values.
    """
    f = model(rows.x)
    offset = float(rows.weights @ f / rows.weights.sum())
    matrices = {}
    for pair in asked_pairs(coalitions, rows.x.shape[1]):
        columns, values, codes = min(
            (_values_of(rows, columns, cells) for columns in pair),
            key=lambda found: len(found.values),
        )
        predictions = recombined(model, rows.x, sorted(columns), values)
        matrices[columns] = Matrix(predictions - offset, codes)
    return Evaluations(
        f=f - offset,
        weights=rows.weights,
        y=None if rows.y is None else rows.y - offset,
        matrices=matrices,
        n_columns=rows.x.shape[1],
    )


def asked_pairs(
    coalitions: AbstractSet[Coalition], n_columns: int
) -> list[tuple[Coalition, Coalition]]:
    """Each coalition with the columns that it hides, of which one is asked; the smaller comes
    first.
    """
    everything = Coalition(range(n_columns))
    pairs = set()
    for visible in coalitions:
        if visible and visible != everything:
            pairs.add(tuple(sorted([visible, everything - visible], key=_size_and_columns)))
    return sorted(pairs, key=lambda pair: _size_and_columns(pair[0]))


def _size_and_columns(columns: Coalition) -> tuple[int, list[int]]:
    return len(columns), sorted(columns)


class _Values(NamedTuple):
    """The values of a set of columns, and which of them each row has."""

    columns: Coalition
    values: np.ndarray  # (U, columns)
    codes: np.ndarray  # (n,)


def _values_of(rows: Rows, columns: Coalition, cells: Mapping[int, Cells]) -> _Values:
    first_column = min(columns)
    if len(columns) == 1 and first_column in cells:
        of_column = cells[first_column]
        codes = of_column.of(rows.x[:, first_column])
        return _Values(columns, of_column.standing[:, None], codes)
    values, codes = distinct(rows, columns)
    return _Values(columns, values, codes)


def distinct(rows: Rows, columns: Coalition) -> tuple[np.ndarray, np.ndarray]:
    """Distinct rows of some columns (U, columns), and which of them each row has (n,)."""
    values, codes = np.unique(rows.x[:, sorted(columns)], axis=0, return_inverse=True)
    return values, codes.reshape(-1)


def recombined(model: Model, x: np.ndarray, columns: list[int], values: np.ndarray) -> np.ndarray:
    """Predictions of every row with some columns at each of their values, (n, U)."""
    n = len(x)
    evaluations = np.empty((n, len(values)))
    step = max(1, MOST_ROWS_AT_ONCE // n)
    for start in range(0, len(values), step):
        block = values[start : start + step]
        sent = np.tile(x, (len(block), 1))
        sent[:, columns] = np.repeat(block, n, axis=0)
        evaluations[:, start : start + step] = model(sent).reshape(len(block), n).T
    return evaluations


def error_of_one_prediction(model: Model, x: np.ndarray) -> float:
    """How far an answer moves when nothing, or next to nothing, changes (C4); x are a few rows."""
    first = model(x)
    repeated = np.max(np.abs(model(x) - first))
    reordered = np.max(np.abs(model(x[:7][::-1])[::-1] - first[:7]))
    is_whole = np.all(x == np.rint(x), axis=0)  # counts and codes carry no rounding
    moved = 0.0
    for direction in (np.inf, -np.inf):
        nudged = np.where(is_whole, x, np.nextafter(x, direction))
        moved = max(moved, np.median(np.abs(model(nudged) - first)))
    is_single = np.all(first == first.astype(np.float32)) and np.any(first != np.rint(first))
    epsilon = 2.0**-23 if is_single else 2.0**-52
    round_off = 8 * epsilon * np.max(np.abs(first))
    return float(max(round_off, repeated, reordered, moved))
