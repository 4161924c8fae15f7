"""The paper's Algorithm 1, written to be read: the base line that the package's search is measured against.

It holds the N x N matrices ``R[i][n, m] = F(x_i of row n, the other columns of row m)`` and computes the disagreement
of every candidate region from them, one region at a time, with NumPy. It shares no code with the package. Numeric
columns without missing values only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

Array = np.ndarray
TIE = 1e-10


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


def evaluate(predict: Callable[[Array], Array], X: Array, **known: object) -> Evaluations:
    """Call the model for every pair of rows and every column; equal values of a column share their calls."""
    N, d = X.shape
    R = np.empty((d, N, N))
    for i in range(d):
        values, code = np.unique(X[:, i], return_inverse=True)
        rows = np.tile(X, (len(values), 1))
        rows[:, i] = np.repeat(values, N)
        R[i] = predict(rows).reshape(-1, N)[code]
    return Evaluations(X, np.asarray(predict(X), dtype=float), R, **known)


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
    _, own = np.unique(bins, return_inverse=True)
    member = np.eye(own.max() + 1)[own]
    return (values @ member)[np.arange(len(own)), own] / member.sum(axis=0)[own]


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
    def leaves(self) -> list[Node]:
        """Leaves from left to right."""
        return [self] if self.left is None else self.left.leaves + self.right.leaves


def grow(data: Evaluations, question: str = "ice-pdp", options: Options = DEFAULTS) -> Node:
    """Find the regions by recursive splits, then undo those that are not worth their leaves."""
    loss = LOSSES[question]
    rows = np.arange(len(data.X))
    whole = loss(data, rows)
    if whole <= options.floor:
        return Node(len(rows), 0.0)

    def share(region: Array) -> float:
        return len(region) / len(rows) * loss(data, region) / whole

    return _grown(data.X, rows, 1.0, options.max_depth, options, share, options.floor / whole)


def _grown(
    X: Array,
    region: Array,
    own_share: float,
    depth_left: int,
    options: Options,
    share: Callable[[Array], float],
    floor: float,
) -> Node:
    leaf = Node(len(region), own_share)
    at_floor = own_share <= floor * len(region) / len(X)
    if (
        own_share < options.alpha
        or at_floor
        or depth_left == 0
        or len(region) < 2 * options.min_samples_leaf
    ):
        return leaf
    best = _best_split(X, region, options, share)
    if best is None:
        return leaf
    column, cut, next_value, left, left_share, right, right_share = best
    children = [
        _grown(X, side, side_share, depth_left - 1, options, share, floor)
        for side, side_share in ((left, left_share), (right, right_share))
    ]
    leaves = children[0].leaves + children[1].leaves
    if (
        own_share + options.alpha
        <= sum(x.share for x in leaves) + options.alpha * len(leaves) + TIE
    ):
        return leaf
    return Node(len(region), own_share, column, cut, next_value, *children)


def _best_split(
    X: Array, region: Array, options: Options, share: Callable[[Array], float]
) -> tuple | None:
    """Score every candidate by itself; among those within the tie tolerance the first column and cut wins."""
    scored = []
    for column in range(X.shape[1]):
        values = X[region, column]
        for cut in _cuts(values, options):
            left, right = region[values <= cut], region[values > cut]
            left_share, right_share = share(left), share(right)
            next_value = values[values > cut].min()
            scored.append(
                (
                    left_share + right_share,
                    (column, cut, next_value, left, left_share, right, right_share),
                )
            )
    if not scored:
        return None
    smallest = min(score for score, _ in scored)
    return next(split for score, split in scored if score <= smallest + TIE)


def _cuts(values: Array, options: Options) -> Array:
    """Values v of the cuts ``x <= v``: every distinct value if there are few, otherwise quantiles."""
    n, B = len(values), options.max_candidates
    distinct = np.unique(values)
    ordered = np.sort(values)
    cuts = (
        distinct[:-1] if len(distinct) < B else np.unique(ordered[(n - 1) * np.arange(1, B) // B])
    )
    n_left = np.searchsorted(ordered, cuts, side="right")
    return cuts[(n_left >= options.min_samples_leaf) & (n - n_left >= options.min_samples_leaf)]
