"""Marginal masking: hidden columns are averaged over all rows of the region."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import ClassVar

from granite_xai.base.typing import Coalition
from granite_xai.engine.averages import Averages
from granite_xai.engine.masked import Masked
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.masking.masking import Masking, Needed


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
    redraws: ClassVar[bool] = True

    def evaluations(self, coalitions: AbstractSet[Coalition]) -> Needed:
        """Pairs of rows."""
        return Needed(pairs=coalitions)

    def masked(self, evaluations: Evaluations, splits: Splits) -> Masked:
        """Means over all rows of a side."""
        return Averages(evaluations, splits)
