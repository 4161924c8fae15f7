"""Other cuts of the column of a cut: a few over all rows of a node, or those next to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.search.candidates import Candidate, cut_codes, ordered_family
from granite_xai.search.ties import TIE, first_of_best
from granite_xai.tables import Table

SHARPENED_COLUMNS = 3  # columns whose best cut is sharpened
TRIED_BETWEEN = 256  # values between two cuts that are tried at once
Score = Callable[[list[Candidate]], FloatArray]


def by_column(options: Sequence[Candidate]) -> list[list[Candidate]]:
    """Candidates of each column; those of a column are neighbours."""
    return [list(group) for _, group in groupby(options, key=attrgetter("family"))]


def thinned(options: Sequence[Candidate], most: int) -> list[Candidate]:
    """At most so many of the candidates, evenly."""
    if len(options) <= most:
        return list(options)
    return [options[(2 * k + 1) * len(options) // (2 * most)] for k in range(most)]


class _ScoredColumn(NamedTuple):
    """The candidates of one column, and what each leaves."""

    options: list[Candidate]
    scores: FloatArray


def _scored_by_column(options: Sequence[Candidate], scores: FloatArray) -> list[_ScoredColumn]:
    """Candidates of each column with their scores; those of a column are neighbours."""
    columns = []
    start = 0
    for _, group in groupby(options, key=attrgetter("column")):
        of_column = list(group)
        end = start + len(of_column)
        columns.append(_ScoredColumn(of_column, scores[start:end]))
        start = end
    return columns


@dataclass(frozen=True, slots=True, eq=False)
class FinerCuts:
    """Further cuts of one column in the rows of a node.

    Parameters
    ----------
    table : Table
        All rows of the fit.
    min_samples : int
        Rows on each side, at least.
    """

    table: Table
    min_samples: int

    def around(self, rows: IntArray, cut: Candidate, most: int) -> list[Candidate]:
        """That cut and others of its column, in their order.

        Parameters
        ----------
        rows : array
            Rows of the node.
        cut : Candidate
        most : int
            Thresholds besides that cut, at most; twice as many where missing values may go to either
            side, and of groups of levels, which are those that the cut was chosen from.
        """
        column = self.table.columns[cut.column]
        counts = self._counts(rows, cut)
        family = cut.family
        if column.kind not in ("nominal", "boolean"):
            codes = np.append(cut_codes(counts[1:], most + 1), cut.code)
            family = ordered_family(column, counts, np.unique(np.maximum(codes, 0)))
        options = family.with_enough_rows(counts, self.min_samples)
        chosen = {option.number for option in thinned(options, 2 * most)}
        if options:
            present = np.flatnonzero(counts)
            present_left = options[0].family.left_entries(present)  # (options, present)
            is_that_cut = np.all(present_left == cut.left[present], axis=1)
            chosen.update(np.flatnonzero(is_that_cut).tolist())
        return [options[number] for number in sorted(chosen)]

    def between(
        self, rows: IntArray, tried: Sequence[Candidate], best: Candidate, most: int
    ) -> list[Candidate]:
        """Cuts strictly between the neighbours of the best of some cuts.

        Parameters
        ----------
        rows : array
            Rows of the node.
        tried : sequence of Candidate
            Cuts of one column that were tried already.
        best : Candidate
            The best of them.
        most : int
            New cuts, at most.
        """
        column = self.table.columns[best.column]
        if column.kind in ("nominal", "boolean") or best.code < 0:
            return []
        counts = self._counts(rows, best)
        tried_codes = {option.code for option in tried}
        present = np.flatnonzero(counts[1:])
        low = max((code for code in tried_codes if code < best.code), default=-1)
        high = min((code for code in tried_codes if code > best.code), default=present[-1])
        inside = present[(present > low) & (present < high)]
        family = ordered_family(column, counts, inside)
        options = family.with_enough_rows(counts, self.min_samples)
        return thinned([option for option in options if option.code not in tried_codes], most)

    def sharpened(
        self, rows: IntArray, options: list[Candidate], scores: FloatArray, score: Score
    ) -> list[Candidate]:
        """For each of the best columns its best cut among all values near its best quantile.

        Parameters
        ----------
        rows : array
            Rows of the node.
        options, scores
            The cuts at quantiles, and what each leaves.
        score : callable
            What other cuts leave.
        """
        columns = _scored_by_column(options, scores)
        columns.sort(key=lambda of_column: float(np.min(of_column.scores)))
        sharper = []
        for of_column in columns[:SHARPENED_COLUMNS]:
            tried = list(of_column.options)
            number = first_of_best(of_column.scores)
            quantile_cut = best = tried[number]
            least = float(of_column.scores[number])
            finer = self.between(rows, tried, best, TRIED_BETWEEN)
            while finer:
                finer_scores = score(finer)
                number = first_of_best(finer_scores)
                if finer_scores[number] < least - TIE:
                    best = finer[number]
                    least = float(finer_scores[number])
                tried += finer
                finer = self.between(rows, tried, best, TRIED_BETWEEN)
            if best is not quantile_cut:
                sharper.append(best)
        return sharper

    def _counts(self, rows: IntArray, cut: Candidate) -> IntArray:
        """Rows of the node with a missing value (entry 0) and at each level of the column."""
        column = self.table.columns[cut.column]
        return np.bincount(column.codes[rows] + 1, minlength=len(column.levels) + 1)
