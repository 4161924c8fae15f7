"""The audit: trees are believed only where they answer as the user's own model does, on rows that no table holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.tables import read_table, recombine
from granite_xai.trees.ensembles import Ensemble

if TYPE_CHECKING:
    from granite_xai.models import Predictor
    from granite_xai.tables import Table

HYBRIDS = 64
"""Random recombined rows."""
NEIGHBORS = 64
"""Rows with a value on a threshold or next to it, at most."""


class Audit(NamedTuple):
    """How far the trees are from the model: on how many rows, the largest difference, what rounding explains."""

    rows: int
    difference: float
    tolerance: float

    @property
    def passed(self) -> bool:
        """Whether rounding explains every difference."""
        return self.difference <= self.tolerance


def audit(predictor: Predictor, table: Table, ensemble: Ensemble, seed: int = 0) -> Audit:
    """Compare trees and model on random recombined rows, with missing values and neighbours of thresholds among them.

    The model is called once; its rows count as any others.
    """
    generator = np.random.default_rng(seed)
    rows = audit_rows(table, ensemble, generator)
    kinds = dict(zip(table.names, table.kinds, strict=True))
    found = ensemble.on(read_table(rows, kinds=kinds, missing="allow")).predictions()
    expected = predictor(rows)
    precision = 2.0**-23 if predictor.native_float32 else 2.0**-52
    return Audit(len(expected), float(np.max(np.abs(found - expected))), precision * _amplified(ensemble, expected))


def _amplified(ensemble: Ensemble, expected: FloatArray) -> float:
    """Rounding of a sum of T leaves in any order grows like the root of T; a link stretches it by its slope."""
    n_trees = sum(forest.n_trees for forest in ensemble.forests)
    reach = sum(forest.reach for forest in ensemble.forests)
    scale = reach if ensemble.is_sum else (1.0 + reach) * max(1.0, float(np.max(np.abs(expected))))
    return float(8 * np.sqrt(n_trees + 1) * scale)


def audit_rows(table: Table, ensemble: Ensemble, generator: np.random.Generator) -> Any:
    """The rows of an audit, in the user's own container."""
    count = HYBRIDS + NEIGHBORS
    base, donors = (generator.integers(table.n_rows, size=count) for _ in range(2))
    own = np.arange(count)
    kinds = dict(zip(table.names, table.kinds, strict=True))
    mixed = table.take(base)
    for j in range(table.n_columns):
        source = np.where(generator.random(count) < 0.5, donors, base)
        missing = np.flatnonzero(table.columns[j].missing)
        if len(missing):  # every fourth row at least
            source[::4] = generator.choice(missing, size=len(source[::4]))
        mixed = read_table(recombine(mixed, own, table, source, [j]), kinds=kinds, missing="allow")
    native = mixed.native
    for row, (column, value) in zip(own[HYBRIDS:], _neighbors(table, ensemble, generator), strict=False):
        _put(native, int(row), column, value)
    return native


def _neighbors(table: Table, ensemble: Ensemble, generator: np.random.Generator) -> list[tuple[int, float]]:
    """Columns and values: a threshold, and the numbers next to it in double and in single precision."""
    found: list[tuple[int, float]] = []
    for forest in ensemble.forests:
        plain = np.setdiff1d(np.flatnonzero(forest.feature >= 0), list(forest.categories))
        plain = plain[np.isfinite(forest.threshold[plain])]
        for node in generator.permutation(plain)[: NEIGHBORS // 5 + 1]:
            limit = forest.threshold[node]
            single = np.float32(limit)
            values = [limit, *(np.nextafter(limit, end) for end in (-np.inf, np.inf))]
            values += [np.nextafter(single, np.float32(end)) for end in (-np.inf, np.inf)]
            found += [(int(forest.feature[node]), float(value)) for value in values]
    numbers = {column.position for column in table.columns if column.kind == "numeric" and not column.integer}
    return [(column, value) for column, value in found if column in numbers and np.isfinite(value)]


def _put(native: Any, row: int, column: int, value: float) -> None:
    """Write one number where the container can be written to and its dtype takes fractions."""
    if isinstance(native, np.ndarray):
        if native.dtype.kind == "f":
            native[row, column] = value
    elif hasattr(native, "iloc") and native.dtypes.iloc[column].kind == "f":
        native.iat[row, column] = value
