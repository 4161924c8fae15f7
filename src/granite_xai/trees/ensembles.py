"""Tree ensembles and additive models without a call: ``E_S`` and pairwise attributions from their own parts.

A leaf counts in ``E_S[u, n]`` exactly when the value u meets its conditions on S and the row n those on other columns.
A term of an additive model, a table over bins, reads the bins of u on S and those of n elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from granite_xai.base.coalitions import subsets, union, without
from granite_xai.base.typing import Coalition, FloatArray, IntArray, Players
from granite_xai.compute import BLOCK, slices
from granite_xai.evaluations.matrix import cut_out
from granite_xai.models import Predictor
from granite_xai.tables import Column, Table
from granite_xai.tables.table import distinct_rows
from granite_xai.trees.forest import (
    Cells,
    Forest,
    RefusalError,
    fast_pairs,
    fast_sums,
    slow_pairs,
    slow_sums,
)
from granite_xai.trees.kernels import ANCHOR, Wanted, shares
from granite_xai.trees.sources import (
    Asked,
    Link,
    Loaded,
    Source,
    asked_of,
    identity,
    link_of,
    opposite,
    source_of,
)

Limits = Iterator[tuple[int, float]]  # columns, and numbers where the prediction may jump
KINDS = ("ExplainableBoostingRegressor", "ExplainableBoostingClassifier")
LINKS = {
    "identity": "identity",
    "logit": "sigmoid",
    "log": "exponential",
}  # interpret's names and treelite's


@dataclass(frozen=True, eq=False)
class SumOfParts:
    """A model as a sum of its own parts, and the link from the sum to what is explained."""

    link: Link
    n_leaves: int  # leaves of all trees, or tables of terms
    n_sums: int  # numbers that are added up for a prediction
    reach: float  # the largest sum of their sizes

    @property
    def is_sum(self) -> bool:
        """Whether what is explained is the sum itself, up to its sign: then attributions add up too."""
        return self.link in (identity, opposite)


@dataclass(frozen=True, eq=False)
class Ensemble(SumOfParts):
    """A model as sums of trees."""

    forests: tuple[Forest, ...]
    source: Source
    n_features: int

    def limits(self) -> Limits:
        """Columns and thresholds of numbers."""
        for forest in self.forests:
            plain = np.setdiff1d(np.flatnonzero(forest.feature >= 0), list(forest.categories))
            for node in plain[np.isfinite(forest.threshold[plain])]:
                yield int(forest.feature[node]), float(forest.threshold[node])

    def on(self, table: Table) -> TreesOnTable:
        """The ensemble on a table, in the model's own numbers."""
        if table.n_columns != self.n_features:
            raise RefusalError(
                f"the model has {self.n_features} columns, the table {table.n_columns}"
            )
        matrix = self.source.view(table)
        return TreesOnTable(self, tuple(Cells(forest, matrix) for forest in self.forests), matrix)


@dataclass(frozen=True, eq=False)
class TreesOnTable:
    """An ensemble, and for each forest the cells of a table's rows, which ``matrix`` has in the model's numbers."""

    ensemble: Ensemble
    cells: tuple[Cells, ...]
    matrix: FloatArray

    @cached_property
    def cell_numbers(self) -> IntArray:
        """Number of each row's cell in each column, (n, d): values with the same number are one to every tree."""
        count, n = self.ensemble.n_features, len(self.matrix)
        every = ((forest.rows[:, j].astype(np.intp) for forest in self.cells) for j in range(count))
        return np.stack([distinct_rows(n, columns)[0] for columns in every], axis=1)

    def matrix_of(
        self,
        columns: Coalition,
        donors: IntArray,
        *,
        fast: bool,
        n_jobs: int | None = None,
        block: int = BLOCK,
    ) -> FloatArray:
        """``E_S[u, n]``: the value of the donor row u on S, row n elsewhere, shape (U, n)."""
        chosen = np.zeros(self.ensemble.n_features, dtype=bool)
        chosen[sorted(columns)] = True
        # In the order of the cells, each once: sums then have the same bits whichever values are asked for.
        lines, first = distinct_rows(
            len(donors), (self.cell_numbers[donors, j] for j in sorted(columns))
        )
        if not np.array_equal(lines, np.arange(len(donors))):
            found = self.matrix_of(columns, donors[first], fast=fast, n_jobs=n_jobs, block=block)
            return cut_out(found, lines, np.arange(len(self.matrix)))
        add_up = partial(fast_sums, n_jobs=n_jobs) if fast else slow_sums
        result = np.empty((len(donors), len(self.matrix)))
        if self.ensemble.link is identity:
            add_up(self.cells[0], chosen, donors, result, block)
            return result
        # The sums of several classes are linked some lines at a time, from an anchor on, where sums start afresh.
        line_bytes = 40 * len(self.cells) * len(self.matrix)
        step = max(1, block // line_bytes // ANCHOR) * ANCHOR
        for start in range(0, len(donors), step):
            part = slice(start, start + step)
            sums = [np.empty_like(result[part]) for _ in self.cells]
            for cells, total in zip(self.cells, sums, strict=True):
                add_up(cells, chosen, donors[part], total, block)
            result[part] = self.ensemble.link(sums)
        return result

    def attributions(
        self,
        players: Players,
        wanted: Wanted,
        *,
        fast: bool,
        n_jobs: int | None = None,
        block: int = BLOCK,
    ) -> FloatArray:
        """``Phi_i[n, m]`` of the wanted players, shape (wanted, n, n); only where the explained number is a sum."""
        if not self.ensemble.is_sum:
            raise ValueError("attributions of single trees add up only without a link")
        (cells,) = self.cells
        values = np.empty((len(wanted), len(self.matrix), len(self.matrix)))
        if fast:
            fast_pairs(cells, players, wanted, values, n_jobs)
        else:
            slow_pairs(cells, players, wanted, values, block)
        return np.negative(values, out=values) if self.ensemble.link is opposite else values

    def predictions(self, *, fast: bool = False, block: int = BLOCK) -> FloatArray:
        """F of the table's own rows."""
        return self.matrix_of(
            frozenset(), np.zeros(1, dtype=np.intp), fast=fast, block=block
        ).reshape(-1)


def read_ensemble(predictor: Predictor) -> Ensemble | AdditiveModel:
    """Read what a predictor explains as sums of trees or of terms; a RefusalError says why not."""
    asked = asked_of(predictor)
    kind = type(asked.model)  # the very class: a subclass may predict anything
    if kind.__module__.partition(".")[0] == "interpret" and kind.__name__ in KINDS:
        return read_terms(asked, predictor)
    if find_spec("treelite") is None:
        raise RefusalError("treelite is not installed (pip install granite-xai[fast])")
    source = source_of(asked)
    try:
        loaded = Loaded(source.load())
    except RefusalError:
        raise
    except Exception as error:  # whatever a library's new version brings is refused, never guessed
        told = str(error).strip().splitlines()[-1][:200]
        why = (
            "its format is newer than treelite" if ".cc:" in told else told
        )  # nobody reads lines of C++
        message = f"treelite cannot read this {type(asked.model).__name__} ({why})"
        raise RefusalError(message, "M25" if "categor" in str(error) else "M30") from error
    link, outputs = link_of(asked, predictor, loaded.link, loaded.alpha, loaded.outputs)
    forests = tuple(loaded.forest(output, source.n_trees) for output in outputs)
    sizes = (
        sum(len(f.leaves) for f in forests),
        sum(f.n_trees for f in forests),
        sum(f.reach for f in forests),
    )
    return Ensemble(link, *sizes, forests, source, loaded.n_features)


@dataclass(frozen=True, eq=False)
class Term:
    """A table of scores over the bins of some columns; a column's cuts, or labels, depend on the size of the term."""

    columns: tuple[int, ...]
    bins: tuple[Any, ...]
    scores: FloatArray


@dataclass(frozen=True, eq=False)
class AdditiveModel(SumOfParts):
    """A model as a sum of terms."""

    terms: tuple[Term, ...]
    intercept: float
    names: tuple[str, ...]

    def limits(self) -> Limits:
        """Columns and cuts."""
        for term in self.terms:
            for column, bins in zip(term.columns, term.bins, strict=True):
                yield from () if isinstance(bins, dict) else ((column, float(cut)) for cut in bins)

    def on(self, table: Table) -> TermsOnTable:
        """The model on a table: the bins of its rows."""
        named = not isinstance(table.native, np.ndarray)
        if table.n_columns != len(self.names) or (named and table.names != self.names):
            raise RefusalError(
                "the columns of the table are not those that the model was fitted to, in their order"
            )
        own = (zip(term.columns, term.bins, term.scores.shape, strict=True) for term in self.terms)
        return TermsOnTable(
            self,
            tuple(tuple(bin_codes(table.columns[j], b, k) for j, b, k in each) for each in own),
        )


def bin_codes(column: Column, bins: Any, count: int) -> IntArray:
    """Bin of each row: 0 is missing, the last of ``count`` an unknown label."""
    if isinstance(
        bins, dict
    ):  # of labels, which the model knows as text; whole numbers without a point
        labels = column.levels.tolist()
        whole = (
            int(x) if isinstance(x, float) and x.is_integer() and str(int(x)) in bins else x
            for x in labels
        )
        known = np.array([bins.get(str(label), count - 1) for label in whole], dtype=np.intp)
    else:
        try:
            known = np.searchsorted(bins, column.levels.astype(np.float64), side="right") + 1
        except (TypeError, ValueError):
            raise RefusalError(f"column {column.name!r} does not hold numbers") from None
    return np.append(known, 0)[column.codes].astype(np.intp)


@dataclass(frozen=True, eq=False)
class TermsOnTable:
    """An additive model, and for each term the bins of a table's rows, column by column."""

    ensemble: AdditiveModel
    codes: tuple[tuple[IntArray, ...], ...]

    def matrix_of(
        self, columns: Coalition, donors: IntArray, *, block: int = BLOCK, **trees: object
    ) -> FloatArray:
        """``E_S[u, n]``: the value of the donor row u on S, row n elsewhere, shape (U, n)."""
        everyone = slice(None)
        total = np.empty((len(donors), self._n_rows))
        inner = {
            k for k, term in enumerate(self.ensemble.terms) if columns.issuperset(term.columns)
        }
        outer = {
            k for k, term in enumerate(self.ensemble.terms) if columns.isdisjoint(term.columns)
        }
        shared = self.ensemble.intercept + sum(
            self._mixed(k, columns, donors[:0], everyone) for k in sorted(outer)
        )
        for part in slices(len(donors), 24 * self._n_rows, block):
            own = sum(self._mixed(k, columns, donors[part], everyone) for k in sorted(inner))
            total[part] = shared + own
            for number in sorted(set(range(len(self.codes))) - inner - outer):
                total[part] += self._mixed(number, columns, donors[part], everyone)
            if self.ensemble.link is not identity:
                total[part] = self.ensemble.link([total[part]])
        return total

    def attributions(
        self, players: Players, wanted: Wanted, *, block: int = BLOCK, **trees: object
    ) -> FloatArray:
        """``Phi_i[n, m]`` of the wanted players, shape (wanted, n, n): each term's Shapley values, added up."""
        if not self.ensemble.is_sum:
            raise ValueError("attributions of single terms add up only without a link")
        n = self._n_rows
        values = np.zeros((len(wanted), n, n))
        rows, sign = np.arange(n), -1.0 if self.ensemble.link is opposite else 1.0
        for number, term in enumerate(self.ensemble.terms):
            own = [player for player in players if not player.isdisjoint(term.columns)]
            weights = sign * shares(len(own))
            for place, player in (
                (k, players[i]) for k, i in enumerate(wanted) if players[i] in own
            ):
                for given in subsets(without(own, [player])):
                    before, weight = union(given), weights[len(given), len(own) - 1 - len(given)]
                    for part in slices(n, 24 * n, block):
                        gain = self._mixed(number, before | player, rows[part], rows)
                        values[place, part] += weight * (
                            gain - self._mixed(number, before, rows[part], rows)
                        )
        return values

    def predictions(self, *, block: int = BLOCK, **trees: object) -> FloatArray:
        """F of the table's own rows."""
        return self.matrix_of(frozenset(), np.zeros(1, dtype=np.intp), block=block).reshape(-1)

    @property
    def _n_rows(self) -> int:
        return len(self.codes[0][0])

    def _mixed(
        self, number: int, columns: Coalition, donors: IntArray, rows: IntArray | slice
    ) -> FloatArray:
        """A term with some columns of the donors, the others of the rows; (U, n), or one of both where that is all."""
        term, codes = self.ensemble.terms[number], self.codes[number]
        both = zip(term.columns, codes, strict=True)
        places = tuple(
            own[donors][:, None] if j in columns else own[rows][None, :] for j, own in both
        )
        return np.asarray(term.scores[places])


def read_terms(asked: Asked, predictor: Predictor) -> AdditiveModel:
    """Read what a predictor explains as a sum of terms; a RefusalError says why not."""
    model = asked.model
    scores = [np.asarray(own, dtype=np.float64) for own in model.term_scores_]
    if any(
        own.ndim != len(columns) for own, columns in zip(scores, model.term_features_, strict=True)
    ):
        raise RefusalError("the terms have several outputs")
    if not scores or model.link_ not in LINKS:
        raise RefusalError(
            f"a model of {len(scores)} terms with the link {model.link_!r} is not read by us"
        )
    link, _ = link_of(asked, predictor, LINKS[model.link_], 1.0, 1)
    bins = [
        [model.bins_[j][min(len(own), len(model.bins_[j])) - 1] for j in own]
        for own in model.term_features_
    ]
    terms = map(Term, map(tuple, model.term_features_), map(tuple, bins), scores)
    intercept, names = (
        float(np.ravel(model.intercept_)[0]),
        tuple(map(str, model.feature_names_in_)),
    )
    reach = abs(intercept) + sum(float(np.abs(own).max()) for own in scores)
    return AdditiveModel(link, len(scores), len(scores), reach, tuple(terms), intercept, names)
