"""The paper's Algorithm 1, written to be read: the base line that the package's search is measured against.

It holds the N x N matrices ``R[i][n, m] = F(x_i of row n, the other columns of row m)`` and computes the disagreement
of every candidate region from them, one region at a time, with NumPy. It shares no code with the package. Numeric
columns without missing values only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

Array = np.ndarray
TIE = 1e-10
"""Scores this close are the same: they differ by rounding."""


@dataclass(frozen=True)
class Evaluations:
    """Everything that is known about the model: stored once, read for every region.

    ``shown_bins[i]`` and ``hidden_bins[i]`` are bin numbers of the rows given column i, and given all columns but i;
    only conditional masking reads them.
    """

    X: Array
    F: Array
    R: Array
    y: Array | None = None
    shown_bins: Mapping[int, Array] = field(default_factory=dict)
    hidden_bins: Mapping[int, Array] = field(default_factory=dict)


def evaluate(predict: Callable[[Array], Array], X: Array, **others: object) -> Evaluations:
    """Call the model for every pair of rows and every column; equal values of a column share their calls.

    Parameters
    ----------
    predict : callable
        From rows, (n, d), to predictions, (n,).
    X : array of shape (N, d)
    **others
        Further fields of the evaluations: the target, and bins for conditional masking.
    """
    N, d = X.shape
    R = np.empty((d, N, N))
    for i in range(d):
        values, codes = np.unique(X[:, i], return_inverse=True)
        recombined = np.tile(X, (len(values), 1))
        recombined[:, i] = np.repeat(values, N)
        by_value = predict(recombined).reshape(-1, N)
        R[i] = by_value[codes]
    return Evaluations(X=X, F=np.asarray(predict(X), dtype=float), R=R, **others)


# ---- The disagreement R(Omega) of a region, one function a question ------------------------------------------------


def ice_pdp(data: Evaluations, region: Array) -> float:
    """Local: full (F - F_{D-i}) against pure (F_i - F_0), squared, mean over rows, summed over columns."""
    F = data.F[region]
    total = 0.0
    for R in data.R:
        inside = R[region][:, region]
        full = F - inside.mean(axis=0)
        pure = inside.mean(axis=1) - F.mean()
        total += np.mean((full - pure) ** 2)
    return total


def sobol(data: Evaluations, region: Array) -> float:
    """Sensitivity: Jansen's total variance against the variance of the shown column's effect."""
    total = 0.0
    for R in data.R:
        inside = R[region][:, region]
        full = inside.var(axis=0).mean()
        pure = inside.mean(axis=1).var()
        total += (full - pure) ** 2
    return total


def pfi_risk(data: Evaluations, region: Array) -> float:
    """Risk under squared loss: what hiding column i costs against what showing it alone gains."""
    F, y = data.F[region], data.y[region]
    total = 0.0
    for R in data.R:
        inside = R[region][:, region]
        full = _risk(inside.mean(axis=0), y) - _risk(F, y)
        pure = _risk(np.full(len(y), F.mean()), y) - _risk(inside.mean(axis=1), y)
        total += (full - pure) ** 2
    return total


def mplot_pdp(data: Evaluations, region: Array) -> float:
    """Local: pure effects under conditional against marginal masking."""
    total = 0.0
    for i, R in enumerate(data.R):
        inside = R[region][:, region]
        conditional = _mean_over_own_bin(inside, data.shown_bins[i][region])
        total += np.mean((conditional - inside.mean(axis=1)) ** 2)
    return total


def cfi_pfi(data: Evaluations, region: Array) -> float:
    """Risk under squared loss: hiding column i under conditional against marginal masking."""
    y = data.y[region]
    total = 0.0
    for i, R in enumerate(data.R):
        inside = R[region][:, region]
        conditional = _mean_over_own_bin(inside.T, data.hidden_bins[i][region])
        total += (_risk(conditional, y) - _risk(inside.mean(axis=0), y)) ** 2
    return total


LOSSES = {
    "ice-pdp": ice_pdp,
    "sobol": sobol,
    "pfi-risk": pfi_risk,
    "mplot-pdp": mplot_pdp,
    "cfi-pfi": cfi_pfi,
}


def _risk(prediction: Array, y: Array) -> float:
    return np.mean((prediction - y) ** 2)


def _mean_over_own_bin(values: Array, bins: Array) -> Array:
    """For each row n the mean of ``values[n, m]`` over the columns m in n's bin."""
    _, bin_of_row = np.unique(bins, return_inverse=True)
    is_member = np.eye(bin_of_row.max() + 1)[bin_of_row]  # (rows, bins)
    sums_by_bin = values @ is_member
    every_row = np.arange(len(bin_of_row))
    rows_of_bin = is_member.sum(axis=0)
    return sums_by_bin[every_row, bin_of_row] / rows_of_bin[bin_of_row]


# ---- Algorithm 1 -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    """The algorithm's hyperparameters, with the paper's defaults."""

    max_depth: int = 3
    min_samples_leaf: int = 20
    alpha: float = 0.05
    max_candidates: int = 40
    floor: float = 0.0


DEFAULTS = Options()


@dataclass(frozen=True)
class Node:
    """A region; a split node sends ``x[column] <= cut`` left. ``share`` is the region's share of all disagreement."""

    n_rows: int
    share: float
    column: int | None = None
    cut: float | None = None
    next_value: float | None = None
    left: Node | None = None
    right: Node | None = None

    @property
    def is_leaf(self) -> bool:
        """Whether it is not split."""
        return self.left is None

    @property
    def leaves(self) -> list[Node]:
        """Leaves from left to right."""
        if self.is_leaf:
            return [self]
        return self.left.leaves + self.right.leaves


class Division(NamedTuple):
    """A way to split a region: rows and shares of both sides."""

    column: int
    cut: float
    next_value: float  # the smallest value on the right
    left: Array
    left_share: float
    right: Array
    right_share: float


def grow(data: Evaluations, question: str = "ice-pdp", options: Options = DEFAULTS) -> Node:
    """Find the regions by recursive splits, then undo those that are not worth their leaves."""
    loss = LOSSES[question]
    rows = np.arange(len(data.X))
    whole = loss(data, rows)
    if whole <= options.floor:
        return Node(len(rows), 0.0)

    def share(region: Array) -> float:
        return len(region) / len(rows) * loss(data, region) / whole

    search = _Search(X=data.X, options=options, share=share, floor=options.floor / whole)
    return search.grow(rows, 1.0, options.max_depth)


@dataclass(frozen=True)
class _Search:
    """What stays the same from node to node.

    ``share`` gives a region's share of all disagreement, ``floor`` is the noise floor as such a share.
    """

    X: Array
    options: Options
    share: Callable[[Array], float]
    floor: float

    def grow(self, region: Array, share_here: float, depth_left: int) -> Node:
        """The tree below a region; a leaf where no split is worth its price."""
        leaf = Node(n_rows=len(region), share=share_here)
        is_at_floor = share_here <= self.floor * len(region) / len(self.X)
        is_worth_no_split = share_here < self.options.alpha
        is_too_small = len(region) < 2 * self.options.min_samples_leaf
        if is_at_floor or is_worth_no_split or is_too_small or depth_left == 0:
            return leaf
        best = self.best_division(region)
        if best is None:
            return leaf
        left = self.grow(best.left, best.left_share, depth_left - 1)
        right = self.grow(best.right, best.right_share, depth_left - 1)
        leaves = left.leaves + right.leaves
        cost_of_leaf = share_here + self.options.alpha
        cost_of_split = sum(node.share for node in leaves) + self.options.alpha * len(leaves)
        if cost_of_leaf <= cost_of_split + TIE:
            return leaf
        return Node(
            n_rows=len(region),
            share=share_here,
            column=best.column,
            cut=best.cut,
            next_value=best.next_value,
            left=left,
            right=right,
        )

    def best_division(self, region: Array) -> Division | None:
        """Score every candidate by itself; of those within the tie tolerance the first column and cut wins."""
        candidates = []
        for column in range(self.X.shape[1]):
            values = self.X[region, column]
            for cut in _cuts(values, self.options):
                left = region[values <= cut]
                right = region[values > cut]
                candidates.append(
                    Division(
                        column=column,
                        cut=cut,
                        next_value=values[values > cut].min(),
                        left=left,
                        left_share=self.share(left),
                        right=right,
                        right_share=self.share(right),
                    )
                )
        if not candidates:
            return None
        scores = [candidate.left_share + candidate.right_share for candidate in candidates]
        is_best = np.array(scores) <= min(scores) + TIE
        return candidates[int(np.argmax(is_best))]


def _cuts(values: Array, options: Options) -> Array:
    """Values v of the cuts ``x <= v``: every distinct value if there are few, otherwise quantiles."""
    n = len(values)
    B = options.max_candidates
    distinct = np.unique(values)
    ordered = np.sort(values)
    if len(distinct) < B:
        cuts = distinct[:-1]
    else:
        places_of_quantiles = (n - 1) * np.arange(1, B) // B
        cuts = np.unique(ordered[places_of_quantiles])
    n_left = np.searchsorted(ordered, cuts, side="right")
    n_right = n - n_left
    is_allowed = np.minimum(n_left, n_right) >= options.min_samples_leaf
    return cuts[is_allowed]
