"""Conditional masking: hidden columns are averaged over the rows that look alike in the visible ones."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from granite_xai.base.errors import InputError
from granite_xai.base.typing import Coalition, FloatArray, IntArray, JansenTotal, Term
from granite_xai.base.validation import choose
from granite_xai.engine.averages import Averages
from granite_xai.engine.masked import Masked
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.row_bins import Bins
from granite_xai.explanation.masking.bins import fit_bins
from granite_xai.explanation.masking.copula import fit_copula
from granite_xai.explanation.masking.masking import Learned, Masking, Needed
from granite_xai.tables import Table


@dataclass(frozen=True, slots=True)
class Conditional(Masking):
    """Hidden columns are averaged over the region's rows that look like the row in the visible ones.

    Parameters
    ----------
    bins : "tree", "exact" or object
        ``"tree"``: ten quantile bins for one column, the leaves of one regression tree for several.
        ``"exact"``: one bin for each distinct row of the visible columns. Otherwise an object with
        ``fit(X_T, X_rest)`` and ``apply(X_T)`` that returns a bin number for each row.
    sampler : "bins" or "copula"
        ``"bins"``: over the rows that share the bin of the visible columns. ``"copula"``: over all rows of the region,
        each giving what is left of its hidden columns when a Gaussian copula of the ranks has predicted them; for
        columns that depend strongly on each other, where ten bins are too wide. Columns need an order, and every
        coalition costs a model call for each pair of rows.

    Examples
    --------
    >>> Conditional(bins="exact")
    Conditional(bins='exact', sampler='bins')
    """

    bins: Any = "tree"
    sampler: str = "bins"
    guarded: bool = field(
        default=False, repr=False
    )  # whether the tree that makes the bins may not split on noise
    key: ClassVar[str] = "conditional"
    redraws: ClassVar[bool] = True

    def __post_init__(self) -> None:
        choose("sampler", self.sampler, {"bins": "bins", "copula": "copula"})
        named = isinstance(self.bins, str) and self.bins in ("tree", "exact")
        if not named and not (hasattr(self.bins, "fit") and hasattr(self.bins, "apply")):
            wanted, hint = (
                "fit(X_T, X_rest) and apply(X_T)",
                "Pass bins='tree', bins='exact' or such an object.",
            )
            text = f"bins={self.bins!r} is neither 'tree' nor 'exact' nor an object with {wanted}."
            raise InputError(text, code="P01", argument="bins", hint=hint)

    def learn(
        self, table: Table, coalitions: AbstractSet[Coalition], weights: FloatArray, seed: int
    ) -> Learned:
        """The bins of the visible columns, or the copula of all."""
        if self.sampler == "copula":
            return Learned(copula=fit_copula(table, weights))
        options = (seed, weights, self.guarded)
        return Learned(
            {visible: fit_bins(self.bins, table, visible, *options) for visible in coalitions}
        )

    def evaluations(self, coalitions: AbstractSet[Coalition]) -> Needed:
        """Pairs of rows, and the bins of the rows; or pairs of rows and residuals."""
        return (
            Needed(sampled=coalitions)
            if self.sampler == "copula"
            else Needed(pairs=coalitions, bins=coalitions)
        )

    def cells(self, evaluations: Evaluations, term: Term) -> IntArray | None:
        """The bin of each row."""
        if isinstance(term, JansenTotal):
            term = evaluations.everything - term.hidden
        found = self._bins(evaluations, term) if isinstance(term, frozenset) else None
        return None if found is None else found.numbers

    def beyond_chance(self) -> Conditional:
        """The same with bins that do not split on noise (C9)."""
        return replace(self, guarded=self.bins == "tree" and self.sampler == "bins")

    def masked(self, evaluations: Evaluations, splits: Splits) -> Masked:
        """Means over the rows of a side that share a bin, or over the residuals of all."""
        if self.sampler == "copula":
            own = {
                visible: matrix
                for (masking, visible), matrix in evaluations.sampled.items()
                if masking == self
            }
            stored = {visible: (visible, True) for visible in own}
            return Averages(
                replace(evaluations, matrices=own, stored_as=stored, snapped={}), splits
            )
        return Averages(evaluations, splits, lambda visible: self._bins(evaluations, visible))

    def _bins(self, evaluations: Evaluations, visible: Coalition) -> Bins | None:
        found = evaluations.bins.get((self, visible))
        return None if found is None or found.single else found
