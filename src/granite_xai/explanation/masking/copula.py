"""A Gaussian copula on ranks: hidden columns drawn given the visible ones, smoothly, where bins are too coarse.

Every column becomes normal scores of its ranks. Given the visible scores, the hidden ones are a linear prediction plus
the residuals of a donor row; scores are turned back into values of the fitting rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from granite_xai.base.errors import InputError
from granite_xai.base.text import column_text
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.explanation.masking.bins import level_codes, ranks_among
from granite_xai.models import Predictor, Rows
from granite_xai.tables import Column, Table

CELLS = 2**18  # pairs of rows whose hidden values are made at once


@dataclass(frozen=True, slots=True, eq=False)
class Margin:
    """The distribution of one column on the fitting rows."""

    fitted: Column
    shares: FloatArray  # (levels,) float: share of the rows at or below each level

    def scores(self, column: Column) -> FloatArray:
        """Normal score of the middle of each row's rank."""
        known = level_codes if self.fitted.kind == "boolean" else partial(ranks_among, side="right")
        middles = ndtri((np.append(0.0, self.shares[:-1]) + self.shares) / 2)
        return np.asarray(middles[np.clip(known(column, self.fitted), 0, len(middles) - 1)])

    def values(self, scores: FloatArray) -> Any:
        """The fitting value at each score."""
        codes = np.searchsorted(self.shares, ndtr(scores), side="left")
        return self.fitted.levels[np.minimum(codes, len(self.shares) - 1)]


@dataclass(frozen=True, slots=True, eq=False)
class Copula:
    """Margins by position, and the correlations of their scores."""

    margins: dict[int, Margin]
    correlations: FloatArray

    def __post_init__(self) -> None:
        if self.correlations.shape != (len(self.margins),) * 2:
            raise ValueError("the correlations are not those of the columns")

    def scores(self, table: Table) -> FloatArray:
        """Normal scores of all cells, (n, d); columns without order, and missing values, are refused."""
        for column in table.columns:
            if column.kind == "nominal" or column.missing.any():
                fault = "has missing values" if column.missing.any() else "has no order"
                words = (
                    f"X {column_text(column.name, column.position)} {fault}; a copula needs ranks."
                )
                hint = "Use Conditional() with bins, which take any column."
                raise InputError(
                    words, code="P03", argument="masking", columns=[column.name], hint=hint
                )
        return np.column_stack(
            [margin.scores(table.columns[j]) for j, margin in sorted(self.margins.items())]
        )

    def predictions(
        self,
        predictor: Predictor,
        table: Table,
        visible: Coalition,
        carriers: IntArray,
    ) -> FloatArray:
        """F of the visible values of each carrier with hidden ones by every row's residuals, (carriers, n)."""
        shown, hidden = sorted(visible), [j for j in range(table.n_columns) if j not in visible]
        slopes = np.linalg.pinv(
            self.correlations[np.ix_(shown, shown)], rcond=1e-10, hermitian=True
        )
        slopes = slopes @ self.correlations[np.ix_(shown, hidden)]
        scores, n = self.scores(table), table.n_rows
        expected = scores[:, shown] @ slopes
        residuals = scores[:, hidden] - expected
        result = np.empty((len(carriers), n))
        step = max(1, CELLS // n)
        for start in range(0, len(carriers), step):
            rows = carriers[start : start + step]
            base, donors = np.repeat(rows, n), np.tile(np.arange(n), len(rows))

            def build(
                at: slice | IntArray, base: IntArray = base, donors: IntArray = donors
            ) -> Any:
                drawn = expected[base[at]] + residuals[donors[at]]
                made = [column.take(base[at]) for column in table.columns]
                for place, j in enumerate(hidden):
                    made[j] = replace(made[j], values=self.margins[j].values(drawn[:, place]))
                own = np.arange(len(drawn))
                return table.container.recombined(
                    base[at], table.container.adopt(made), own, hidden
                )

            asked = Rows(len(base), table, base, table, donors, tuple(hidden))
            result[start : start + step] = predictor.evaluate(build, asked).reshape(len(rows), n)
        return result


def fit_copula(table: Table, weights: FloatArray) -> Copula:
    """Learn margins and correlations, by the weight of the rows."""
    codes = [np.maximum(column.codes, 0) for column in table.columns]
    shares = [np.cumsum(np.bincount(own, weights=weights)) / weights.sum() for own in codes]
    margins = {
        j: Margin(column, share)
        for j, (column, share) in enumerate(zip(table.columns, shares, strict=True))
    }
    scores = Copula(margins, np.eye(len(margins))).scores(table)
    centred = scores - np.average(scores, axis=0, weights=weights)
    spread = np.sqrt(np.average(np.square(centred), axis=0, weights=weights))
    scaled = centred / np.where(spread > 0, spread, 1.0)
    return Copula(margins, (scaled * weights[:, None]).T @ scaled / weights.sum())
