"""The audit: whether the trees that were read answer as the model does."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice, product
from typing import Any, NamedTuple

import numpy as np

from granite_xai.models import Predictor
from granite_xai.tables import Table, read_table, recombine
from granite_xai.trees.additive import AdditiveModel
from granite_xai.trees.ensembles import Ensemble

OwnParts = Ensemble | AdditiveModel  # what a model is a sum of
FEWEST_HYBRIDS = 64  # random recombined rows: a quarter of the table's rows, within these limits
MOST_HYBRIDS = 512
NEIGHBORS = 64  # rows with a value on a threshold or next to it, at most
VALUES_OF_THRESHOLD = 5  # itself, and its neighbours in double and in single precision
EXTREMES = 64  # columns whose two ends are tried, and pairs of columns whose corners are, at most
MIXED_GROUPS = 16  # groups of columns that are recombined independently of each other


class Audit(NamedTuple):
    """How far the trees are from the model."""

    rows: int = 0  # on which they were compared
    difference: float = 0.0  # the largest
    tolerance: float = 0.0  # what rounding explains


def audit(predictor: Predictor, table: Table, ensemble: OwnParts, seed: int = 0) -> Audit:
    """Compare trees and model, in one call, on recombined rows.

    Among them are missing values, neighbours of thresholds, and extremes of columns.
    """
    rows = audit_rows(table, ensemble, np.random.default_rng(seed))
    by_trees = ensemble.on(read_table(rows, kinds=table.kinds, missing="allow")).predictions()
    by_model = predictor(rows)
    # Rounding of a sum of T leaves in any order grows like the root of T; a link stretches it by its slope.
    scale = ensemble.reach
    if not ensemble.is_sum:
        scale = (1.0 + ensemble.reach) * max(1.0, float(np.max(np.abs(by_model))))
    precision = 2.0**-23 if predictor.native_float32 else 2.0**-52
    return Audit(
        rows=len(by_model),
        difference=float(np.max(np.abs(by_trees - by_model))),
        tolerance=precision * float(8 * np.sqrt(ensemble.n_sums + 1) * scale),
    )


def audit_rows(table: Table, ensemble: OwnParts, generator: np.random.Generator) -> Any:
    """The rows of an audit, in the user's own container: hybrids, neighbours of thresholds, corners."""
    n_hybrids = int(np.clip(table.n_rows // 4, FEWEST_HYBRIDS, MOST_HYBRIDS))
    corners = _corners(table, generator)
    native = _mixed_rows(table, n_hybrids + NEIGHBORS + len(corners), generator)
    neighbors = _threshold_neighbors(table, ensemble, generator)[:NEIGHBORS]
    for row, (column, value) in enumerate(neighbors, start=n_hybrids):
        _put_number(native, row, column, value)
    for row, corner in enumerate(corners, start=n_hybrids + NEIGHBORS):
        for column, level in corner.items():
            donor = int(np.argmax(table.columns[column].codes == level))
            _put_cell_of(table.native, donor, native, row, column)
    return native


def _corners(table: Table, generator: np.random.Generator) -> list[dict[int, int]]:
    """Levels by column: the first and the last of columns, and the four corners of pairs of columns."""
    last_level = {}
    for position in generator.permutation(table.n_columns).tolist():
        n_levels = len(table.columns[position].levels)
        if n_levels > 1:
            last_level[position] = n_levels - 1
    corners: list[dict[int, int]] = []
    for column in islice(last_level, EXTREMES):
        corners += [{column: 0}, {column: last_level[column]}]
    for first, second in islice(combinations(last_level, 2), EXTREMES):
        ends = product((0, last_level[first]), (0, last_level[second]))
        corners += [{first: one, second: two} for one, two in ends]
    return corners


def _mixed_rows(table: Table, count: int, generator: np.random.Generator) -> Any:
    """Rows whose groups of columns come from one of two random rows, or from one with missing values."""
    base = generator.integers(table.n_rows, size=count)
    donors = generator.integers(table.n_rows, size=count)
    mixed = table.take(base)
    n_groups = min(MIXED_GROUPS, table.n_columns)
    for group in np.array_split(generator.permutation(table.n_columns), n_groups):
        source = np.where(generator.random(count) < 0.5, donors, base)
        flags = [table.columns[column].missing for column in group]
        with_missing = np.flatnonzero(np.any(flags, axis=0))
        if len(with_missing):  # every fourth row at least
            source[::4] = generator.choice(with_missing, size=len(source[::4]))
        recombined = recombine(mixed, np.arange(count), table, source, group.tolist())
        mixed = read_table(recombined, kinds=table.kinds, missing="allow")
    return mixed.native


def _threshold_neighbors(
    table: Table, ensemble: OwnParts, generator: np.random.Generator
) -> list[tuple[int, float]]:
    """Columns and values: a threshold, and the numbers next to it in double and in single precision."""
    limits = ensemble.limits()
    n_limits = NEIGHBORS // VALUES_OF_THRESHOLD + 1
    neighbors = []
    for place in generator.permutation(len(limits.values))[:n_limits]:
        column = int(limits.columns[place])
        limit = float(limits.values[place])
        of_fractions = table.columns[column].kind == "numeric" and not table.columns[column].integer
        if of_fractions:
            values = [value for value in _next_to(limit) if np.isfinite(value)]
            neighbors += [(column, value) for value in values]
    return neighbors


def _next_to(limit: float) -> Iterator[float]:
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


def _put_cell_of(source: Any, source_row: int, native: Any, row: int, column: int) -> None:
    """Write a cell of another container of the same kind, where this one can be written to."""
    if isinstance(native, np.ndarray):
        native[row, column] = source[source_row, column]
    elif hasattr(native, "iat"):
        native.iat[row, column] = source.iat[source_row, column]
