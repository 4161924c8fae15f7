"""Additive models as sums of their own terms, evaluated without a call of the model.

``E_S`` and pairwise attributions come from the terms. A term is a table of scores over the bins of some columns.
In ``E_S[u, n]`` it reads the bins of the value u on S and those of the row n elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from granite_xai.base.limits import BLOCK, slices
from granite_xai.base.typing import (
    Coalition,
    FloatArray,
    IntArray,
    Players,
    subsets,
    union,
    without,
)
from granite_xai.evaluations.tree_readers import (
    Link,
    ModelCall,
    RefusalError,
    link_of,
    opposite,
)
from granite_xai.evaluations.tree_shap import shapley_weights
from granite_xai.models import Predictor
from granite_xai.tables import Column, Table

READ_AS_TERMS = (
    ("interpret", "ExplainableBoostingRegressor"),
    ("interpret", "ExplainableBoostingClassifier"),
)
# interpret's names of links, and treelite's.
LINKS = {"identity": "identity", "logit": "sigmoid", "log": "exponential"}
MISSING_BIN = 0
PAIR_BYTES = 24  # of a value and row while scores are added up: about three arrays exist at once


@dataclass(frozen=True, eq=False)
class BinnedTerm:
    """A table of scores over the bins of some columns.

    Parameters
    ----------
    columns : tuple of int
        Positions.
    bins : tuple
        Of each column its ascending cuts, or a dict from labels to bins; they depend on the number of
        columns of the term.
    scores : array with one axis a column
    """

    columns: tuple[int, ...]
    bins: tuple[Any, ...]
    scores: FloatArray


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """A model as a sum of terms.

    Parameters
    ----------
    link : callable
        From the sum to what is explained.
    terms : tuple of BinnedTerm
    intercept : float
    names : tuple of str
        Of the columns.
    """

    link: Link
    terms: tuple[BinnedTerm, ...]
    intercept: float
    names: tuple[str, ...]

    @property
    def n_sums(self) -> int:
        """Numbers that are added up for a prediction."""
        return len(self.terms)

    n_leaves = n_sums  # tables that are looked up for a matrix

    @property
    def reach(self) -> float:
        """The largest sum of the sizes of these numbers."""
        return abs(self.intercept) + sum(float(np.abs(term.scores).max()) for term in self.terms)

    def limits(self) -> tuple[IntArray, FloatArray]:
        """Columns and cuts, at which the prediction may jump."""
        columns: list[int] = []
        cuts: list[float] = []
        for term in self.terms:
            for column, bins in zip(term.columns, term.bins, strict=True):
                if not isinstance(bins, dict):
                    columns += [column] * len(bins)
                    cuts += list(bins)
        return np.array(columns, dtype=np.intp), np.array(cuts, dtype=np.float64)

    def on(self, table: Table) -> TermsOnTable:
        """The model on a table: the bins of its rows."""
        has_names = not isinstance(table.native, np.ndarray)
        other_names = has_names and table.names != self.names
        if table.n_columns != len(self.names) or other_names:
            raise RefusalError(
                "the columns of the table are not those that the model was fitted to, in their order"
            )
        codes = []
        for term in self.terms:
            columns = [table.columns[column] for column in term.columns]
            sizes = zip(columns, term.bins, term.scores.shape, strict=True)
            codes.append(tuple(_bin_codes(column, bins, count) for column, bins, count in sizes))
        return TermsOnTable(self, tuple(codes))


def _bin_codes(column: Column, bins: Any, count: int) -> IntArray:
    """Bin of each row, (n,): 0 is missing, the last of ``count`` an unknown label.

    Parameters
    ----------
    column : Column
    bins : dict or array
        From labels to bins, or ascending cuts.
    count : int
        Bins of the term along this column.
    """
    if isinstance(bins, dict):
        labels = [_label_text(label, bins) for label in column.levels.tolist()]
        bin_of_level = np.array([bins.get(label, count - 1) for label in labels], dtype=np.intp)
    else:
        try:
            levels = column.levels.astype(np.float64)
        except (TypeError, ValueError):
            raise RefusalError(f"column {column.name!r} does not hold numbers") from None
        bin_of_level = np.searchsorted(bins, levels, side="right") + 1
    # A missing value has the code -1, which reads the last entry.
    return np.append(bin_of_level, MISSING_BIN)[column.codes].astype(np.intp)


def _label_text(label: Any, bins: dict[str, int]) -> str:
    """A label as the model knows it: text, whole numbers without a point."""
    if isinstance(label, float) and label.is_integer() and str(int(label)) in bins:
        return str(int(label))
    return str(label)


@dataclass(frozen=True, eq=False)
class TermsOnTable:
    """An additive model on the rows of a table.

    Parameters
    ----------
    model : AdditiveModel
    codes : tuple of tuples of arrays of shape (n,)
        For each term, column by column, the bins of the rows.
    block : int
        Bytes of what is made on the way.
    """

    model: AdditiveModel
    codes: tuple[tuple[IntArray, ...], ...]
    block: int = BLOCK

    @property
    def _n_rows(self) -> int:
        return len(self.codes[0][0])

    def matrix(self, columns: Coalition, donors: IntArray) -> FloatArray:
        """``E_S`` at the values of some donor rows, (n, U): a value on the columns S, row n elsewhere."""
        all_rows = slice(None)
        result = np.empty((self._n_rows, len(donors)))
        for part in slices(len(donors), PAIR_BYTES * self._n_rows, self.block):
            # Terms of S alone give one number a value, those without S one a row, the others one for each pair.
            of_values = np.zeros((len(donors[part]), 1))
            of_rows = np.full((1, self._n_rows), self.model.intercept)
            total = np.zeros((len(of_values), self._n_rows))
            for number in range(len(self.codes)):
                scores = self._scores(number, columns, donors[part], all_rows)
                if len(scores) == 1:
                    of_rows += scores
                elif scores.shape[1] == 1:
                    of_values += scores
                else:
                    total += scores
            total += of_rows
            total += of_values
            result[:, part] = self.model.link([total]).T
        return result

    def predictions(self) -> FloatArray:
        """F of the table's own rows."""
        any_row = np.zeros(1, dtype=np.intp)
        return self.matrix(frozenset(), any_row)[:, 0]

    def attributions(self, players: Players, chosen: Sequence[int]) -> FloatArray:
        """``Phi_i[n, m]`` of some players, (chosen, n, n): each term's Shapley values, added up.

        Parameters
        ----------
        players : sequence of coalitions
        chosen : sequence of int
            Numbers of the players whose attributions are returned.
        """
        sign = -1.0 if self.model.link is opposite else 1.0
        values = np.zeros((len(chosen), self._n_rows, self._n_rows))
        for number, term in enumerate(self.model.terms):
            term_players = [player for player in players if not player.isdisjoint(term.columns)]
            weights = sign * shapley_weights(len(term_players))
            for line, player_number in enumerate(chosen):
                player = players[player_number]
                if player in term_players:
                    others = without(term_players, [player])
                    self._add_shapley(number, player, others, weights, values[line])
        return values

    def _add_shapley(
        self, number: int, player: Coalition, others: Players, weights: FloatArray, out: FloatArray
    ) -> None:
        """Add what a player gains in one term, over all coalitions of the term's other players, to (n, n)."""
        rows = np.arange(self._n_rows)
        for arrived in subsets(others):
            columns = union(arrived)
            weight = weights[len(arrived), len(others) - len(arrived)]
            for part in slices(self._n_rows, PAIR_BYTES * self._n_rows, self.block):
                with_player = self._scores(number, columns | player, rows[part], rows)
                without_player = self._scores(number, columns, rows[part], rows)
                out[part] += weight * (with_player - without_player)

    def _scores(
        self, number: int, columns: Coalition, donors: IntArray, rows: IntArray | slice
    ) -> FloatArray:
        """A term with some columns of the donors, the others of the rows.

        Of shape (U, n); (U, 1) of a term of these columns alone, (1, n) of one without them.
        """
        term = self.model.terms[number]
        places = []
        for column, codes in zip(term.columns, self.codes[number], strict=True):
            if column in columns:
                places.append(codes[donors][:, None])
            else:
                places.append(codes[rows][None, :])
        return np.asarray(term.scores[tuple(places)])


def read_terms(call: ModelCall, predictor: Predictor) -> AdditiveModel:
    """Read what a predictor explains as a sum of terms; a RefusalError says why not."""
    model = call.model
    scores = [np.asarray(term_scores, dtype=np.float64) for term_scores in model.term_scores_]
    for term_scores, columns in zip(scores, model.term_features_, strict=True):
        if term_scores.ndim != len(columns):
            raise RefusalError("the terms have several outputs")
    if not scores or model.link_ not in LINKS:
        raise RefusalError(
            f"a model of {len(scores)} terms with the link {model.link_!r} is not read by us"
        )
    link, _ = link_of(
        predictor.model_output,
        raw=call.raw,
        has_classes=getattr(model, "classes_", None) is not None,
        name=LINKS[model.link_],
        slope=1.0,
        n_outputs=1,
    )
    terms = []
    for columns, term_scores in zip(model.term_features_, scores, strict=True):
        # Of each column the bins for terms of so many columns, or the last there are.
        by_size = [model.bins_[column] for column in columns]
        bins = tuple(sizes[min(len(columns), len(sizes)) - 1] for sizes in by_size)
        terms.append(BinnedTerm(columns=tuple(columns), bins=bins, scores=term_scores))
    return AdditiveModel(
        link=link,
        terms=tuple(terms),
        intercept=float(np.ravel(model.intercept_)[0]),
        names=tuple(str(name) for name in model.feature_names_in_),
    )
