"""The audit: whether the trees that were read answer as the model does.

Both are asked about rows that are recombined from the table, in three groups one after the other:

    hybrids      groups of columns from random rows, some of them with missing values
    neighbours   hybrids with one number that lies on a threshold of the trees, or next to it
    corners      hybrids with one column, or two, at an end of their range
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice
from typing import Any, NamedTuple

import numpy as np

from granite_xai.models import Predictor
from granite_xai.tables import Column, Table, read_table, recombine
from granite_xai.trees.additive import AdditiveModel
from granite_xai.trees.ensembles import Ensemble

ReadModel = Ensemble | AdditiveModel  # a model as the sum of its own parts
FEWEST_HYBRIDS = 64  # a quarter of the table's rows, within these limits
MOST_HYBRIDS = 512
NEIGHBORS = 64  # rows with a value on a threshold or next to it, at most
VALUES_OF_THRESHOLD = 5  # itself, and its neighbours in double and in single precision
EXTREMES = 64  # columns whose two ends are tried, and pairs of columns whose corners are, at most
MIXED_GROUPS = 16  # groups of columns that are recombined independently of each other
EVERY_MISSING = 4  # of so many rows one has missing values, at least, where the table has any
SINGLE_PRECISION = 2.0**-23
DOUBLE_PRECISION = 2.0**-52


class Audit(NamedTuple):
    """How far the trees are from the model."""

    rows: int = 0  # on which they were compared
    difference: float = 0.0  # the largest
    tolerance: float = 0.0  # what rounding explains


class ThresholdNeighbor(NamedTuple):
    """A number on a threshold, or next to it."""

    column: int
    value: float


Corner = dict[int, int]  # levels by column


def audit(predictor: Predictor, table: Table, ensemble: ReadModel, seed: int = 0) -> Audit:
    """Compare trees and model, in one call, on recombined rows.

    Parameters
    ----------
    predictor : Predictor
        The model.
    table : Table
        Rows that are recombined.
    ensemble : Ensemble or AdditiveModel
        What was read of the model.
    seed : int
        Draws the rows.
    """
    rows = audit_rows(table, ensemble, np.random.default_rng(seed))
    by_trees = ensemble.on(read_table(rows, kinds=table.kinds, missing="allow")).predictions()
    by_model = predictor(rows)
    # Rounding of a sum of T leaves in any order grows like the root of T; a link stretches it by its slope.
    scale = ensemble.reach
    if not ensemble.is_sum:
        scale = (1.0 + ensemble.reach) * max(1.0, float(np.max(np.abs(by_model))))
    precision = SINGLE_PRECISION if predictor.native_float32 else DOUBLE_PRECISION
    return Audit(
        rows=len(by_model),
        difference=float(np.max(np.abs(by_trees - by_model))),
        tolerance=precision * float(8 * np.sqrt(ensemble.n_sums + 1) * scale),
    )


def audit_rows(table: Table, ensemble: ReadModel, generator: np.random.Generator) -> Any:
    """The rows of an audit, in the user's own container: hybrids, then neighbours, then corners."""
    n_hybrids = int(np.clip(table.n_rows // 4, FEWEST_HYBRIDS, MOST_HYBRIDS))
    corners = _corners(table, generator)
    native = _mixed_rows(table, n_hybrids + NEIGHBORS + len(corners), generator)
    neighbors = _threshold_neighbors(table, ensemble, generator)[:NEIGHBORS]
    for row, neighbor in enumerate(neighbors, start=n_hybrids):
        _put_number(native, row, neighbor.column, neighbor.value)
    for row, corner in enumerate(corners, start=n_hybrids + NEIGHBORS):
        for column, level in corner.items():
            donor = int(np.argmax(table.columns[column].codes == level))
            _copy_cell(table.native, donor, native, row, column)
    return native


def _corners(table: Table, generator: np.random.Generator) -> list[Corner]:
    """The first and the last level of columns, and the four corners of pairs of columns."""
    last_level = {}
    for position in generator.permutation(table.n_columns).tolist():
        n_levels = len(table.columns[position].levels)
        if n_levels > 1:
            last_level[position] = n_levels - 1
    corners: list[Corner] = []
    for column in islice(last_level, EXTREMES):
        corners += [{column: 0}, {column: last_level[column]}]
    for first, second in islice(combinations(last_level, 2), EXTREMES):
        last_of_first = last_level[first]
        last_of_second = last_level[second]
        corners += [
            {first: 0, second: 0},
            {first: 0, second: last_of_second},
            {first: last_of_first, second: 0},
            {first: last_of_first, second: last_of_second},
        ]
    return corners


def _mixed_rows(table: Table, count: int, generator: np.random.Generator) -> Any:
    """Rows whose groups of columns come from one of two random rows, or from one with missing values."""
    base = generator.integers(table.n_rows, size=count)
    donors = generator.integers(table.n_rows, size=count)
    mixed = table.take(base)
    n_groups = min(MIXED_GROUPS, table.n_columns)
    for group in np.array_split(generator.permutation(table.n_columns), n_groups):
        source = np.where(generator.random(count) < 0.5, donors, base)
        is_missing = [table.columns[column].missing for column in group]
        rows_with_missing = np.flatnonzero(np.any(is_missing, axis=0))
        if len(rows_with_missing):
            replaced = source[::EVERY_MISSING]
            source[::EVERY_MISSING] = generator.choice(rows_with_missing, size=len(replaced))
        recombined = recombine(mixed, np.arange(count), table, source, group.tolist())
        mixed = read_table(recombined, kinds=table.kinds, missing="allow")
    return mixed.native


def _threshold_neighbors(
    table: Table, ensemble: ReadModel, generator: np.random.Generator
) -> list[ThresholdNeighbor]:
    """Thresholds, and the numbers next to them in double and in single precision."""
    limits = ensemble.limits()
    n_limits = NEIGHBORS // VALUES_OF_THRESHOLD + 1
    neighbors = []
    for place in generator.permutation(len(limits.values))[:n_limits]:
        column = int(limits.columns[place])
        if not _holds_fractions(table.columns[column]):
            continue
        values = [value for value in _next_to(float(limits.values[place])) if np.isfinite(value)]
        neighbors += [ThresholdNeighbor(column, value) for value in values]
    return neighbors


def _holds_fractions(column: Column) -> bool:
    return column.kind == "numeric" and not column.integer


def _next_to(limit: float) -> Iterator[float]:
    """A number, and its neighbours below and above, in double and in single precision."""
    yield limit
    for end in (-np.inf, np.inf):
        yield float(np.nextafter(limit, end))
    for end in (-np.inf, np.inf):
        yield float(np.nextafter(np.float32(limit), np.float32(end)))


def _put_number(native: Any, row: int, column: int, value: float) -> None:
    """Write a number where the container and its dtype take it."""
    if isinstance(native, np.ndarray):
        if native.dtype.kind == "f":
            native[row, column] = value
    elif hasattr(native, "iat") and native.dtypes.iloc[column].kind == "f":
        native.iat[row, column] = value


def _copy_cell(source: Any, source_row: int, native: Any, row: int, column: int) -> None:
    """Write a cell of another container of the same kind, where this one can be written to."""
    if isinstance(native, np.ndarray):
        native[row, column] = source[source_row, column]
    elif hasattr(native, "iat"):
        native.iat[row, column] = source.iat[source_row, column]
