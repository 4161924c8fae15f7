"""Masking: what stands in for the columns that are hidden.

A masking says what it learns from the fitting rows (`Masking.learn`), what it needs to know of the
model (`Masking.needs`), and what ``F_T`` is (`Masking.masked_model`); what it cannot do it says itself.
Nobody else asks which masking it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from granite_xai.algebra.conditional import fit_bins
from granite_xai.algebra.copula import (
    DensityRatios,
    choose_sampler,
    learn_copula,
    note_choice,
    warn_of_wide_bins,
    weighed,
)
from granite_xai.algebra.masked_model import Averaged, MaskedModel, averaged
from granite_xai.base.errors import Diagnostics, InputError
from granite_xai.base.options import choose, unknown
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.request import Learned, Needs, Recombined
from granite_xai.tables import Column, Rows, Table, read_table, recombine, row_like

if TYPE_CHECKING:
    from granite_xai.algebra.behavior import Behavior
    from granite_xai.algebra.influence import PlayersAndSets
    from granite_xai.algebra.interaction import Interaction

SAMPLERS = ("auto", "bins", "copula")
NAMED_ROWS = ("median", "mean")


class Masking(ABC):
    """What stands in for the columns that are hidden.

    Attributes
    ----------
    key : str
        Its name in the catalog.
    hides : bool
        Whether columns are hidden at all, so that every coalition has a masked model.
    redraws : bool
        Whether hidden columns are drawn from the region, so that Jansen's variance is defined.
    averages_rows : bool
        Whether ``F_T`` is a mean over all rows of the region, so that local effects are means over
        pairs of rows.
    ignores_unused : bool
        Whether columns that the model does not read make no difference to ``F_T``.
    """

    __slots__ = ()
    key: ClassVar[str]
    hides: ClassVar[bool] = True
    redraws: ClassVar[bool] = False
    averages_rows: ClassVar[bool] = False
    ignores_unused: ClassVar[bool] = False

    def learn(
        self,
        rows: Rows,
        coalitions: AbstractSet[Any],
        seed: int,
        guarded: bool = True,
        record: Diagnostics | None = None,
    ) -> Mapping[Any, Learned]:
        """Learn from the fitting rows what is the same in all regions and for new rows.

        Parameters
        ----------
        rows : Rows
            The fitting rows.
        coalitions : set of coalitions
            What `needs` has named with this masking among its facts.
        seed : int
            For whatever is drawn.
        guarded : bool
            Whether only what the rows show beyond chance is learned; False: as in the paper.
        record : Diagnostics, optional
            Where choices that the rows make are noted.

        Returns
        -------
        mapping of coalition to Learned
            Coalitions of which nothing is learned are left out.
        """
        return {}

    @abstractmethod
    def needs(self, coalitions: AbstractSet[Any]) -> Needs:
        """What is read of the model for some sets of visible columns, of which none is everything."""

    @abstractmethod
    def masked_model(self, evaluations: Evaluations, visible: Any) -> Averaged:
        """``F_T``, ready to be averaged over any region.

        Parameters
        ----------
        evaluations : Evaluations
            What is known of the rows of a node, with what was learned under ``facts[self, T]``.
        visible : coalition
            T, not everything.
        """

    def terms(
        self, behavior: Behavior, interaction: Interaction, layout: PlayersAndSets
    ) -> tuple[Mapping[Any, float], ...] | None:
        """For each set what its effect is made of, where this masking defines that itself; None: it does not."""
        return None


@dataclass(frozen=True, slots=True)
class Marginal(Masking):
    """Hidden columns are averaged over the rows of the region: ``F_T(x) = mean_m F(x_T, x^m_{-T})``.

    See docs/method.rst, "What the model is asked".

    Examples
    --------
    >>> Marginal().key
    'marginal'
    """

    key: ClassVar[str] = "marginal"
    averages_rows: ClassVar[bool] = True
    ignores_unused: ClassVar[bool] = True
    redraws: ClassVar[bool] = True

    def needs(self, coalitions: AbstractSet[Coalition]) -> Needs:
        """Pairs of rows."""
        return Needs(coalitions=frozenset(coalitions))

    def masked_model(self, evaluations: Evaluations, visible: Coalition) -> MaskedModel:
        """A mean over all rows of the region."""
        return averaged(evaluations, visible)


@dataclass(frozen=True, slots=True)
class Baseline(Masking):
    """Hidden columns are set to one row ``b``: ``F_T(x) = F(x_T, b_{-T})``.

    Parameters
    ----------
    row : "median", "mean", mapping or sequence
        ``"median"``, ``"mean"``: lower medians or means of the fitting rows (nominal columns: the most
        frequent level), the same in every region. A mapping of column to value, or one value for each
        column: that row.

    Examples
    --------
    >>> Baseline("mean").row
    'mean'
    """

    row: Any = "median"
    key: ClassVar[str] = "baseline"
    ignores_unused: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if isinstance(self.row, str):
            if self.row not in NAMED_ROWS:
                raise unknown("row", self.row, NAMED_ROWS)
            return
        cells = self.row.items() if isinstance(self.row, Mapping) else self.row
        object.__setattr__(self, "row", tuple(cells))

    def learn(
        self,
        rows: Rows,
        coalitions: AbstractSet[Coalition],
        seed: int,
        guarded: bool = True,
        record: Diagnostics | None = None,
    ) -> dict[Coalition, Learned]:
        """The row: of medians, of means (of numeric columns; medians elsewhere), or the given one."""
        table = rows.table
        if isinstance(self.row, tuple):
            # A mapping is kept as pairs of column and value; no value of a row is a pair.
            is_mapping = all(isinstance(cell, tuple) and len(cell) == 2 for cell in self.row)
            row = row_like(table, dict(self.row) if is_mapping else self.row, "row")
        else:
            row = median_row(table, rows.weights)
        if self.row == "mean":
            means: dict[str, float] = {}
            for column in table.columns:
                if column.kind == "numeric":
                    is_present = column.codes >= 0
                    mean = np.average(column.values[is_present], weights=rows.weights[is_present])
                    means[column.name] = float(mean)
            row = row_like(row, means, "row")
        return {visible: References(row, visible) for visible in coalitions}

    def needs(self, coalitions: AbstractSet[Coalition]) -> Needs:
        """The rows against the baseline."""
        return Needs(facts=frozenset((self, visible) for visible in coalitions))

    def masked_model(self, evaluations: Evaluations, visible: Coalition) -> MaskedModel:
        """Predictions against the baseline."""
        masked: MaskedModel = evaluations.facts[self, visible]
        return masked


@dataclass(frozen=True, eq=False)
class References:
    """Rows that hidden columns are set to, the same in every region: ``F_T(x)`` is the mean over them.

    Parameters
    ----------
    table : Table
        The reference rows.
    visible : coalition
        T.
    """

    table: Table
    visible: Coalition
    follows_values: ClassVar[bool] = True

    def asks(self, table: Table) -> Recombined:
        """Every reference with each distinct value of the visible columns."""
        _, carriers = self._values(table)
        n_references = self.table.n_rows
        return Recombined(
            base=self.table,
            base_rows=np.repeat(np.arange(n_references), len(carriers)),
            donor=table,
            donor_rows=np.tile(carriers, n_references),
            columns=sorted(self.visible),
        )

    def fact(self, table: Table, predictions: FloatArray | None) -> MaskedModel:
        """``F(x_T, b)`` of each row for every reference b."""
        codes, _ = self._values(table)
        answers = cast(FloatArray, predictions)  # asked for above
        against = answers.reshape(self.table.n_rows, -1)[:, codes].T
        return MaskedModel(against, np.full(against.shape, 1.0 / self.table.n_rows))

    def _values(self, table: Table) -> tuple[IntArray, IntArray]:
        """Which value of the visible columns each row has, and a row that carries each."""
        if not self.visible:  # all rows are alike
            return np.zeros(table.n_rows, dtype=np.intp), np.zeros(1, dtype=np.intp)
        return table.distinct(self.visible)


def median_row(table: Table, weights: FloatArray) -> Table:
    """Lower medians of ordered columns, most frequent levels of the others, as a table of one row."""
    first = np.zeros(1, dtype=np.intp)
    row = table.take(first)
    for column in table.columns:
        donor = np.array([_central_place(column, weights)], dtype=np.intp)
        native = recombine(row, first, table, donor, [column.position])
        row = read_table(native, kinds=table.kinds, missing="allow")
    return row


def _central_place(column: Column, weights: FloatArray) -> int:
    """The first row that carries the lower median of a column, or its most frequent level (ties: the first level).

    Missing values count only if there is nothing else.
    """
    present = np.flatnonzero(column.codes >= 0)
    if not len(present):
        return 0
    mass = np.bincount(
        column.codes[present], weights=weights[present], minlength=len(column.levels)
    )
    if column.is_ordered:  # the first level with half of the mass at or below it
        central_code = np.searchsorted(np.cumsum(mass) * 2, mass.sum())
    else:
        central_code = np.argmax(mass)
    return int(np.flatnonzero(column.codes == central_code)[0])


@dataclass(frozen=True, slots=True)
class Conditional(Masking):
    """Hidden columns are averaged over the region's rows that look like the row in the visible ones.

    Parameters
    ----------
    bins : "tree", "exact" or object
        ``"tree"``: ten quantile bins for one column, the leaves of one regression tree for several.
        ``"exact"``: one bin for each distinct row of the visible columns. Otherwise an object with
        ``fit(X_T, X_rest)`` and ``apply(X_T)`` that returns a bin number for each row.
    sampler : "auto", "bins" or "copula"
        ``"bins"``: over the rows that share the bin of the visible columns. ``"copula"``: over all rows of
        the region, each weighed by how likely a Gaussian copula of the ranks finds it beside the visible
        columns; for columns that depend strongly on each other, where ten bins are too wide. Columns need
        an order, and one column is visible or one is hidden: effects of single columns, not partial ones.
        ``"auto"``: the rows choose (``bins="tree"``): where a Gaussian copula predicts columns better than
        bins do, effects of single columns weigh the rows by it; otherwise bins.
        ``diagnostics_["conditional"]`` of a fit has the choice and its reason. A fit with
        ``search="greedy"`` and ``confidence_level=None`` has bins, as in the paper. A warning (D49) says
        where bins are too wide.

    Examples
    --------
    >>> Conditional(bins="exact")
    Conditional(bins='exact', sampler='auto')
    """

    bins: Any = "tree"
    sampler: str = "auto"
    key: ClassVar[str] = "conditional"
    redraws: ClassVar[bool] = True

    def __post_init__(self) -> None:
        choose("sampler", self.sampler, {name: name for name in SAMPLERS})
        is_named = isinstance(self.bins, str) and self.bins in ("tree", "exact")
        if not is_named and not (hasattr(self.bins, "fit") and hasattr(self.bins, "apply")):
            methods = "fit(X_T, X_rest) and apply(X_T)"
            raise InputError(
                f"bins={self.bins!r} is neither 'tree' nor 'exact' nor an object with {methods}.",
                code="P01",
                argument="bins",
                hint="Pass bins='tree', bins='exact' or such an object.",
            )

    def learn(
        self,
        rows: Rows,
        coalitions: AbstractSet[Coalition],
        seed: int,
        guarded: bool = True,
        record: Diagnostics | None = None,
    ) -> dict[Coalition, Learned]:
        """The bins of the visible columns, or the copula of all."""
        if self.sampler == "copula":
            return dict(learn_copula(rows, coalitions))
        by_tree = isinstance(self.bins, str) and self.bins == "tree"
        guarded = guarded and by_tree
        if guarded and self.sampler == "auto":
            choice = choose_sampler(rows, coalitions, seed)
            if record is not None:
                note_choice(choice, record)
            if choice.sampler == "copula":
                return dict(learn_copula(rows, coalitions))
        if by_tree and record is not None:
            warn_of_wide_bins(rows, coalitions, seed, record)
        learned: dict[Coalition, Learned] = {}
        for visible in coalitions:
            bins = fit_bins(self.bins, rows, visible, seed, guarded)
            if bins is not None:
                learned[visible] = bins
        return learned

    def needs(self, coalitions: AbstractSet[Coalition]) -> Needs:
        """Pairs of rows, and how rows are binned or weighed."""
        facts = frozenset((self, visible) for visible in coalitions if visible)
        return Needs(coalitions=frozenset(coalitions), facts=facts)

    def masked_model(self, evaluations: Evaluations, visible: Coalition) -> MaskedModel:
        """A mean over the rows of the region: of the same bin, or weighed by density ratios."""
        fact = evaluations.facts.get((self, visible))
        if isinstance(fact, DensityRatios):
            return weighed(evaluations, visible, fact)
        if fact is None or fact.min(initial=0) == fact.max(initial=0):
            return averaged(evaluations, visible)
        return averaged(evaluations, visible, bins=fact)


def learn(
    facts: AbstractSet[tuple[Any, Any]],
    rows: Rows,
    seed: int,
    guarded: bool = True,
    record: Diagnostics | None = None,
) -> dict[Hashable, Learned]:
    """What maskings learn of the fitting rows.

    Parameters
    ----------
    facts : set of (masking, coalition)
        What is needed.
    rows, seed, guarded, record
        As in `Masking.learn`.

    Returns
    -------
    dict of (masking, coalition) to Learned
        Where nothing is learned there is no entry.
    """
    coalitions: dict[Masking, set[Any]] = {}
    for masking, visible in facts:
        coalitions.setdefault(masking, set()).add(visible)
    learned: dict[Hashable, Learned] = {}
    for masking in sorted(coalitions, key=repr):
        of_masking = masking.learn(rows, coalitions[masking], seed, guarded, record)
        for visible in sorted(of_masking, key=sorted):
            learned[masking, visible] = of_masking[visible]
    return learned
