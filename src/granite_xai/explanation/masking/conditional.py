"""Conditional masking: hidden columns are averaged over the rows that look alike in the visible ones."""

from __future__ import annotations

from collections.abc import Mapping, Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

from granite_xai.base.errors import InputError
from granite_xai.base.typing import Coalition, FloatArray, IntArray, JansenTotal, Term
from granite_xai.base.validation import choose
from granite_xai.engine.averages import Averages
from granite_xai.engine.masked import Masked
from granite_xai.engine.splits import Splits
from granite_xai.engine.weighted import WeightedAverages
from granite_xai.evaluations.evaluations import Evaluations, Reading
from granite_xai.evaluations.row_bins import Bins
from granite_xai.explanation.masking.bin_fitting import fit_bins
from granite_xai.explanation.masking.choice import choose_sampler, wide_bins
from granite_xai.explanation.masking.copula import fit_copula
from granite_xai.explanation.masking.masking import Learned, Masking, Needed
from granite_xai.tables import Table

SAMPLERS = ("auto", "bins", "copula")
Value = TypeVar("Value")


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
        each giving what is left of its hidden columns when a Gaussian copula of the ranks has predicted them; for
        columns that depend strongly on each other, where ten bins are too wide. Columns need an order, and every
        coalition costs a model call for each pair of rows. ``"auto"``: the rows choose (``bins="tree"``): where a
        Gaussian copula predicts columns better than bins do, effects of single columns weigh the rows by it, without
        further model calls; otherwise bins. ``diagnostics_["conditional"]`` of a fit has the choice and its reason. A
        fit with ``search="greedy"`` and ``confidence_level=None`` has bins, as in the paper. A warning (D49) says where
        bins are too wide.

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
            return Learned(copula=fit_copula(table, weights))
        choice = None
        if self.may_weigh_rows():
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
        """Pairs of rows, and how the rows are weighted; or pairs of rows and residuals."""
        if self.sampler == "copula":
            return Needed(sampled=coalitions)
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
        """Whether the rows choose between bins and a copula."""
        return self.guarded and self.sampler == "auto"

    def masked(self, evaluations: Evaluations, splits: Splits) -> Masked:
        """Means over the rows of a side: of the same bin, weighted by density ratios, or over the residuals of all."""
        if self.sampler == "copula":
            drawn = self._by_visible(evaluations.sampled)
            stored_as = {visible: (visible, True) for visible in drawn}
            of_draws = replace(evaluations, matrices=drawn, stored_as=stored_as, snapped={})
            return Averages(of_draws, splits)
        densities = self._by_visible(evaluations.densities)
        if densities:
            return WeightedAverages(evaluations, splits, densities)
        return Averages(evaluations, splits, lambda visible: self._bins(evaluations, visible))

    def _by_visible(self, of_readings: Mapping[Reading, Value]) -> dict[Coalition, Value]:
        """What belongs to readings of this masking, by their visible columns."""
        return {
            visible: value for (masking, visible), value in of_readings.items() if masking == self
        }

    def _bins(self, evaluations: Evaluations, visible: Coalition) -> Bins | None:
        """The bins of the visible columns; None where all rows are in one."""
        bins = evaluations.bins.get((self, visible))
        if bins is None or bins.single:
            return None
        return bins
