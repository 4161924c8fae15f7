"""Additive models of known terms (explainable boosting machines): ``E_S`` and pairwise attributions without a call.

A term is a table over the bins of one, two or a few columns. In ``E_S[u, n]`` it reads the bins of value u for its
columns in S and those of row n for the others, so that terms within S or outside of it cost one vector each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.compute import Workspace
from granite_xai.interaction import others, subsets, union
from granite_xai.models import Predictor
from granite_xai.tables import Column, Table
from granite_xai.trees.ensembles import Limits, Space, link_for
from granite_xai.trees.forest import Players, RefusalError, shares
from granite_xai.trees.reader import Link, identity, opposite
from granite_xai.trees.sources import Asked

KINDS = ("ExplainableBoostingRegressor", "ExplainableBoostingClassifier")
LINKS = {"identity": "identity", "logit": "sigmoid", "log": "exponential"}  # interpret's names and treelite's


@dataclass(frozen=True, eq=False)
class Term:
    """A table of scores over the bins of some columns; a column's cuts, or labels, depend on the size of the term."""

    columns: tuple[int, ...]
    bins: tuple[Any, ...]
    scores: FloatArray


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """A model as a sum of terms, and the link from the sum to what is explained."""

    terms: tuple[Term, ...]
    intercept: float
    link: Link
    names: tuple[str, ...]

    @property
    def is_sum(self) -> bool:
        """Whether what is explained is the sum itself, up to its sign."""
        return self.link in (identity, opposite)

    @property
    def n_leaves(self) -> int:
        """Tables that each pair of rows is looked up in."""
        return len(self.terms)

    n_sums = n_leaves  # numbers that are added up for a prediction

    @property
    def reach(self) -> float:
        """The largest sum of sizes."""
        return abs(self.intercept) + sum(float(np.abs(term.scores).max()) for term in self.terms)

    def limits(self) -> Limits:
        """Columns and cuts."""
        for term in self.terms:
            for column, bins in zip(term.columns, term.bins, strict=True):
                yield from () if isinstance(bins, dict) else ((column, float(cut)) for cut in bins)

    def on(self, table: Table) -> TermsOnTable:
        """The model on a table: the bins of its rows."""
        named = not isinstance(table.native, np.ndarray)
        if table.n_columns != len(self.names) or (named and table.names != self.names):
            raise RefusalError("the columns of the table are not those that the model was fitted to, in their order")
        own = (zip(term.columns, term.bins, term.scores.shape, strict=True) for term in self.terms)
        return TermsOnTable(self, tuple(tuple(bin_codes(table.columns[j], b, k) for j, b, k in each) for each in own))


def bin_codes(column: Column, bins: Any, count: int) -> IntArray:
    """Bin of each row: 0 is missing, the last of ``count`` an unknown label."""
    if isinstance(bins, dict):
        known = np.array([_label(level, bins, count - 1) for level in column.levels.tolist()], dtype=np.intp)
    else:
        try:
            known = np.searchsorted(bins, column.levels.astype(np.float64), side="right") + 1
        except (TypeError, ValueError):
            raise RefusalError(f"column {column.name!r} does not hold numbers") from None
    return np.append(known, 0)[column.codes].astype(np.intp)


def _label(level: Any, bins: dict[str, int], unknown: int) -> int:
    """The bin of a label, which the model knows as text; whole numbers without a point."""
    whole = isinstance(level, float) and level.is_integer()
    return bins.get(str(int(level)) if whole and str(int(level)) in bins else str(level), unknown)


@dataclass(frozen=True, eq=False)
class TermsOnTable:
    """An additive model, and for each term the bins of a table's rows, column by column."""

    ensemble: AdditiveModel
    codes: tuple[tuple[IntArray, ...], ...]

    def matrix_of(
        self, columns: Coalition, donors: IntArray, *, space: Space = None, **for_trees: object
    ) -> FloatArray:
        """``E_S[u, n]``: the value of the donor row u on S, row n elsewhere, shape (U, n)."""
        space, everyone = Workspace() if space is None else space, slice(None)
        total = space.empty((len(donors), self._n_rows))
        inner = {k for k, term in enumerate(self.ensemble.terms) if columns.issuperset(term.columns)}
        outer = {k for k, term in enumerate(self.ensemble.terms) if columns.isdisjoint(term.columns)}
        shared = self.ensemble.intercept + sum(self._mixed(k, columns, donors[:0], everyone) for k in sorted(outer))
        for part in space.slices(len(donors), 24 * self._n_rows):
            own = sum(self._mixed(k, columns, donors[part], everyone) for k in sorted(inner))
            total[part] = shared + own
            for number in sorted(set(range(len(self.codes))) - inner - outer):
                total[part] += self._mixed(number, columns, donors[part], everyone)
            if self.ensemble.link is not identity:
                total[part] = self.ensemble.link([total[part]])
        return total

    def attributions(
        self, players: Players, wanted: Sequence[int], *, space: Space = None, **for_trees: object
    ) -> FloatArray:
        """``Phi_i[n, m]`` of the wanted players, shape (wanted, n, n): each term's Shapley values, added up."""
        if not self.ensemble.is_sum:
            raise ValueError("attributions of single terms add up only without a link")
        space, n = Workspace() if space is None else space, self._n_rows
        values = space.empty((len(wanted), n, n))
        values[:] = 0.0
        rows, sign = np.arange(n), -1.0 if self.ensemble.link is opposite else 1.0
        for number, term in enumerate(self.ensemble.terms):
            own = [player for player in players if not player.isdisjoint(term.columns)]
            weights = sign * shares(len(own))
            for place, player in ((k, players[i]) for k, i in enumerate(wanted) if players[i] in own):
                for given in subsets(others(own, [player])):
                    before, weight = union(given), weights[len(given), len(own) - 1 - len(given)]
                    for part in space.slices(n, 24 * n):
                        gain = self._mixed(number, before | player, rows[part], rows)
                        values[place, part] += weight * (gain - self._mixed(number, before, rows[part], rows))
        return values

    def predictions(self, *, space: Space = None, **for_trees: object) -> FloatArray:
        """F of the table's own rows."""
        return self.matrix_of(frozenset(), np.zeros(1, dtype=np.intp), space=space).reshape(-1)

    @property
    def _n_rows(self) -> int:
        return len(self.codes[0][0])

    def _mixed(self, number: int, columns: Coalition, donors: IntArray, rows: IntArray | slice) -> FloatArray:
        """A term with some columns of the donors, the others of the rows; (U, n), or one of both where that is all."""
        term, codes = self.ensemble.terms[number], self.codes[number]
        both = zip(term.columns, codes, strict=True)
        places = tuple(own[donors][:, None] if j in columns else own[rows][None, :] for j, own in both)
        return np.asarray(term.scores[places])


def read_terms(asked: Asked, predictor: Predictor) -> AdditiveModel:
    """Read what a predictor explains as a sum of terms; a RefusalError says why not."""
    model = asked.model
    scores = [np.asarray(own, dtype=np.float64) for own in model.term_scores_]
    if any(own.ndim != len(columns) for own, columns in zip(scores, model.term_features_, strict=True)):
        raise RefusalError("the terms have several outputs")
    if not scores or model.link_ not in LINKS:
        raise RefusalError(f"a model of {len(scores)} terms with the link {model.link_!r} is not read by us")
    link, _ = link_for(asked, predictor, LINKS[model.link_], 1.0, 1)
    terms = (
        Term(tuple(columns), tuple(model.bins_[j][min(len(columns), len(model.bins_[j])) - 1] for j in columns), own)
        for columns, own in zip(model.term_features_, scores, strict=True)
    )
    names = tuple(map(str, model.feature_names_in_))
    return AdditiveModel(tuple(terms), float(np.ravel(model.intercept_)[0]), link, names)
