"""Other cuts of the column of a cut: a few over all rows of a node, or those next to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.search.candidates import TIE, Candidate, best_of, cut_codes, ordered
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


@dataclass(frozen=True, slots=True, eq=False)
class FinerCuts:
    """Cuts of one column in the rows of a node.

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
            family = ordered(column, counts, np.unique(np.maximum(codes, 0)))
        options = family.enough(counts, self.min_samples)
        kept = {option.number for option in thinned(options, 2 * most)}
        if options:
            present = np.flatnonzero(counts)
            present_left = options[0].family.left_at(present)  # (options, present)
            is_that_cut = np.all(present_left == cut.left[present], axis=1)
            kept.update(np.flatnonzero(is_that_cut).tolist())
        return [options[number] for number in sorted(kept)]

    def between(
        self, rows: IntArray, known: Sequence[Candidate], best: Candidate, most: int
    ) -> list[Candidate]:
        """At most so many cuts strictly between the neighbours of the best of some known cuts."""
        column = self.table.columns[best.column]
        if column.kind in ("nominal", "boolean") or best.code < 0:
            return []
        counts = self._counts(rows, best)
        known_codes = {option.code for option in known}
        present = np.flatnonzero(counts[1:])
        low = max((code for code in known_codes if code < best.code), default=-1)
        high = min((code for code in known_codes if code > best.code), default=present[-1])
        inside = present[(present > low) & (present < high)]
        options = ordered(column, counts, inside).enough(counts, self.min_samples)
        return thinned([option for option in options if option.code not in known_codes], most)

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
        positions = range(len(options))
        groups = [list(group) for _, group in groupby(positions, key=lambda k: options[k].column)]
        groups = sorted(groups, key=lambda group: float(np.min(scores[group])))
        found = []
        for group in groups[:SHARPENED_COLUMNS]:
            known = [options[k] for k in group]
            place = best_of(scores[group])
            quantile_cut = best = known[place]
            least = float(scores[group][place])
            finer = self.between(rows, known, best, TRIED_BETWEEN)
            while finer:
                finer_scores = score(finer)
                place = best_of(finer_scores)
                if finer_scores[place] < least - TIE:
                    best = finer[place]
                    least = float(finer_scores[place])
                known += finer
                finer = self.between(rows, known, best, TRIED_BETWEEN)
            if best is not quantile_cut:
                found.append(best)
        return found

    def _counts(self, rows: IntArray, cut: Candidate) -> IntArray:
        """Rows of the node with a missing value (entry 0) and at each level of the column."""
        column = self.table.columns[cut.column]
        return np.bincount(column.codes[rows] + 1, minlength=len(column.levels) + 1)
