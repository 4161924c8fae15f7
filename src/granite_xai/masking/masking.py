"""Masking: what stands in for the columns that are hidden."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from granite_xai.base.errors import InputError
from granite_xai.base.options import unknown


@dataclass(frozen=True, slots=True)
class Marginal:
    """Hidden columns are averaged over the rows of the region: ``F_T(x) = mean_m F(x_T, x^m_{-T})``.

    Examples
    --------
    >>> Marginal().key
    'marginal'
    """

    key: ClassVar[str] = "marginal"


@dataclass(frozen=True, slots=True)
class Conditional:
    """Hidden columns are averaged over the region's rows that share the bin of the visible ones.

    Parameters
    ----------
    bins : "tree", "exact" or object
        ``"tree"``: ten quantile bins for one column, the leaves of one regression tree for several.
        ``"exact"``: one bin for each distinct row of the visible columns. Otherwise an object with
        ``fit(X_T, X_rest)`` and ``apply(X_T)`` that returns a bin number for each row.

    Examples
    --------
    >>> Conditional(bins="exact")
    Conditional(bins='exact')
    """

    bins: Any = "tree"
    key: ClassVar[str] = "conditional"

    def __post_init__(self) -> None:
        named = isinstance(self.bins, str) and self.bins in ("tree", "exact")
        if not named and not (hasattr(self.bins, "fit") and hasattr(self.bins, "apply")):
            raise InputError(
                f"bins={self.bins!r} is neither 'tree' nor 'exact' nor an object with fit(X_T, X_rest) and apply(X_T).",
                code="P01",
                argument="bins",
                hint="Pass bins='tree', bins='exact' or such an object.",
            )


@dataclass(frozen=True, slots=True)
class Baseline:
    """Hidden columns are set to one row ``b``: ``F_T(x) = F(x_T, b_{-T})``.

    Parameters
    ----------
    row : "median", "mean", "region", mapping or sequence
        ``"median"``, ``"mean"``: lower medians or means of the fitting rows (nominal columns: the most
        frequent level), the same in every region. ``"region"``: the row of the region closest to the
        region's medians and modes. A mapping of column to value, or one value a column: that row.

    Examples
    --------
    >>> Baseline("region").row
    'region'
    """

    row: Any = "median"
    key: ClassVar[str] = "baseline"

    def __post_init__(self) -> None:
        if isinstance(self.row, str) and self.row not in ("median", "mean", "region"):
            raise unknown("row", self.row, ("median", "mean", "region"))
        if isinstance(self.row, Mapping):
            object.__setattr__(self, "row", tuple(self.row.items()))
        elif not isinstance(self.row, str):
            object.__setattr__(self, "row", tuple(self.row))


@dataclass(frozen=True, slots=True)
class Accumulated:
    """Nothing is hidden: one column moves across its interval of the data, the others stay (ALE).

    The full effect of a row is ``F(upper, x_{-i}) - F(lower, x_{-i})`` in its interval, the pure effect the mean of
    that over the region's rows in the interval. For local behavior and individual influence only.

    Examples
    --------
    >>> Accumulated().key
    'accumulated'
    """

    key: ClassVar[str] = "accumulated"


Masking = Marginal | Conditional | Baseline | Accumulated
MASKINGS: dict[str, Masking] = {
    "marginal": Marginal(),
    "conditional": Conditional(),
    "baseline": Baseline(),
    "accumulated": Accumulated(),
}
