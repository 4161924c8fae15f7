"""Conditional masking: hidden columns are averaged over the rows that look alike in the visible ones."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from granite_xai.base.errors import InputError
from granite_xai.base.options import choose
from granite_xai.base.text import listing
from granite_xai.base.typing import Coalition, FloatArray, IntArray, JansenTotal, Term
from granite_xai.engine.averages import Averages
from granite_xai.engine.masked import Masked
from granite_xai.engine.splits import Splits
from granite_xai.engine.weighted import WeightedAverages
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.row_bins import Bins
from granite_xai.explanation.masking.bin_fitting import fit_bins
from granite_xai.explanation.masking.choice import choose_sampler, wide_bins
from granite_xai.explanation.masking.copula import column_of_ratios, fit_copula
from granite_xai.explanation.masking.masking import Learned, Masking, Needed
from granite_xai.tables import Table

SAMPLERS = ("auto", "bins", "copula")


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
        ``"bins"``: over the rows that share the bin of the visible columns. ``"copula"``: over all rows of the region,
        weighed by how much likelier their values are beside those of the row, by a Gaussian copula of the ranks; for
        columns that depend strongly on each other, where ten bins are too wide. It needs no further model calls, but
        columns with an order, and one column that is shown, or one that is hidden. ``"auto"``: the rows choose
        (``bins="tree"``): the copula where it predicts columns better than bins do, otherwise bins.
        ``diagnostics_["conditional"]`` of a fit has the choice and its reason. A fit with ``search="greedy"`` and
        ``confidence_level=None`` has bins, as in the paper. A warning (D49) says where bins are too wide.

    Examples
    --------
    >>> Conditional(bins="exact")
    Conditional(bins='exact', sampler='auto')
    """

    bins: Any = "tree"
    sampler: str = "auto"
    # False: as in the paper, bins whatever the rows show. True: as the rows choose (`chosen_by_rows`).
    guarded: bool = field(default=False, repr=False)
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
        self, table: Table, coalitions: AbstractSet[Coalition], weights: FloatArray, seed: int
    ) -> Learned:
        """The bins of the visible columns, or the copula of all."""
        if self.sampler == "copula":
            _require_ratios(table, coalitions)
            return Learned(copula=fit_copula(table, weights))
        choice = None
        if self.guarded and self.sampler == "auto":
            choice = choose_sampler(table, coalitions, weights, seed)
            if choice.sampler == "copula":
                return Learned(copula=fit_copula(table, weights), choice=choice)
        bins = {
            visible: fit_bins(self.bins, table, visible, seed, weights, self.guarded)
            for visible in coalitions
        }
        wide = None
        if self.bins == "tree":
            wide = wide_bins(table, coalitions, weights, seed)
        return Learned(bins=bins, choice=choice, wide_bins=wide)

    def evaluations(self, coalitions: AbstractSet[Coalition]) -> Needed:
        """Pairs of rows, and how the rows are weighted."""
        return Needed(pairs=coalitions, bins=coalitions)

    def cell_sizes(self, evaluations: Evaluations, term: Term) -> IntArray | None:
        """Rows of each row's bin, or the effective number of rows that are weighted."""
        if isinstance(term, JansenTotal):
            term = evaluations.everything - term.hidden
        if not isinstance(term, frozenset):
            return None
        densities = evaluations.densities.get((self, term))
        if densities is not None:
            return densities.effective_rows(shown=term == {densities.column})
        bins = self._bins(evaluations, term)
        if bins is None:
            return None
        return bins.sizes

    def chosen_by_rows(self) -> Conditional:
        """The same with bins that do not split on noise (C9), or with a copula where that is better."""
        return replace(self, guarded=self.bins == "tree" and self.sampler != "copula")

    def may_weigh_rows(self) -> bool:
        """Whether rows are weighed by a copula, or choose it."""
        return self.sampler == "copula" or (self.guarded and self.sampler == "auto")

    def masked(self, evaluations: Evaluations, splits: Splits) -> Masked:
        """Means over the rows of a side: of the same bin, or weighted by density ratios."""
        densities = {
            visible: ratios
            for (masking, visible), ratios in evaluations.densities.items()
            if masking == self
        }
        if densities:
            return WeightedAverages(evaluations, splits, densities)
        return Averages(evaluations, splits, lambda visible: self._bins(evaluations, visible))

    def _bins(self, evaluations: Evaluations, visible: Coalition) -> Bins | None:
        """The bins of the visible columns; None where all rows are in one."""
        bins = evaluations.bins.get((self, visible))
        if bins is None or bins.single:
            return None
        return bins


def _require_ratios(table: Table, coalitions: AbstractSet[Coalition]) -> None:
    """Refuse sets of visible columns for which a copula has no weights of rows (P03)."""
    everything = frozenset(range(table.n_columns))
    for visible in sorted(coalitions, key=sorted):
        if (
            visible not in (frozenset(), everything)
            and column_of_ratios(visible, everything) is None
        ):
            names = [table.names[position] for position in sorted(visible)]
            raise InputError(
                f"Conditional(sampler='copula') weighs rows where one feature is shown or one is hidden; here "
                f"{listing(names)} of {table.n_columns} features are shown together.",
                code="P03",
                argument="masking",
                columns=names,
                hint="Use Conditional(), which takes bins there.",
            )
