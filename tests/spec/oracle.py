"""The method, straight from its definitions: slow, explicit, independent of the package.

Nothing is imported from granite_xai. Every number comes from loops over rows, coalitions and candidates, so that a
reader can hold each function against the paper (Herbinger et al., 2026). Meant for N up to 30 and d up to 4.

The words
---------
Problem      model, rows, target, weights, kinds of the columns; ``fitted``: the problem that fixes bins and baselines
Setting      one explanation: masking, behavior, interaction, influence and their options
Question     two settings with the same behavior and influence, and a loss on their gap (also ``coe`` and ``ale``)
Objective    one or several weighted questions; decides in shares of the root's disagreement
Candidate    one way to cut a node in two;  Node, Fit: the tree that ``grow`` returns

A set of columns is a frozenset of positions. A region is a list of row positions. A value of a game is a number, or one
number per row as ``{row: number}``. Missing values are None or NaN; ordered columns and dates are given as numbers.
"""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeRegressor

Set = frozenset[int]
Rows = Sequence[int]
Value = Any  # a number, or {row: number}
EMPTY: Set = frozenset()
TIE = 1e-10
LARGEST = Fraction(sys.float_info.max)


# ---------------------------------------------------------------------------------------------- numbers and cells


def is_missing(cell: Any) -> bool:
    """None and NaN are missing."""
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def same(cell: Any) -> Hashable:
    """A key that is equal for equal cells: NaN equals NaN, -0.0 equals 0.0."""
    if is_missing(cell):
        return None
    return cell + 0.0 if isinstance(cell, float) else cell


def mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Weighted mean."""
    return math.fsum(w * v for v, w in zip(values, weights, strict=True)) / math.fsum(weights)


def variance(values: Sequence[float], weights: Sequence[float]) -> float:
    """Weighted variance with divisor n (the sum of weights)."""
    center = mean(values, weights)
    return mean([(v - center) ** 2 for v in values], weights)


def subsets(items: Iterable[Any]) -> list[frozenset[Any]]:
    """All subsets, the empty one first."""
    items = list(items)
    return [
        frozenset(chosen) for size in range(len(items) + 1) for chosen in combinations(items, size)
    ]


def recombine(shown: Sequence[Any], elsewhere: Sequence[Any], T: Set) -> list[Any]:
    """The row with the columns of T from ``shown`` and the others from ``elsewhere``."""
    return [shown[j] if j in T else elsewhere[j] for j in range(len(shown))]


# ------------------------------------------------------------------------------------------------------ the problem


class Problem:
    """A model with the rows it is explained on; rows of weight 0 are left out first."""

    def __init__(
        self,
        model: Callable[[list[list[Any]]], Sequence[float]],
        X: Any,
        y: Any = None,
        weights: Any = None,
        kinds: Sequence[str] | None = None,
        fitted: Problem | None = None,
    ) -> None:
        self.model = model
        self.X = [
            [cell.item() if isinstance(cell, np.generic) else cell for cell in row] for row in X
        ]
        self.d = len(self.X[0]) if self.X else len(kinds or ())
        self.D: Set = frozenset(range(self.d))
        self.y = None if y is None else [float(value) for value in y]
        self.w = [1.0] * len(self.X) if weights is None else [float(value) for value in weights]
        self.kinds = list(kinds) if kinds is not None else ["numeric"] * self.d
        self.fitted = self if fitted is None else fitted
        self.rows = [n for n in range(len(self.X)) if self.w[n] > 0]
        self.largest = 0.0  # max |F| over all evaluations so far
        self.unclear = False  # whether rounding decided the direction of some axis of levels (C13)
        self._cache: dict[Any, Any] = {}

    def remember(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Compute once: only a matter of time, never of meaning."""
        if key not in self._cache:
            self._cache[key] = compute()
        return self._cache[key]

    def call(self, rows: list[list[Any]]) -> list[float]:
        """The model's predictions for these rows."""
        if not rows:
            return []
        predictions = [float(value) for value in self.model(rows)]
        self.largest = max([self.largest, *(abs(value) for value in predictions)])
        return predictions

    def R(self, T: Iterable[int]) -> dict[int, dict[int, float]]:
        """``R^T[n][m] = F(row n on T, row m elsewhere)``, for all rows of positive weight."""
        T = frozenset(T)

        def compute() -> dict[int, dict[int, float]]:
            pairs = [(n, m) for n in self.rows for m in self.rows]
            values = self.call([recombine(self.X[n], self.X[m], T) for n, m in pairs])
            table: dict[int, dict[int, float]] = {n: {} for n in self.rows}
            for (n, m), value in zip(pairs, values, strict=True):
                table[n][m] = value
            return table

        return self.remember(("R", T), compute)

    def against(self, b: Sequence[Any], T: Set) -> dict[int, float]:
        """``F(row n on T, b elsewhere)`` for every row n."""
        return self.remember(
            ("against", tuple(map(same, b)), T),
            lambda: dict(
                zip(
                    self.rows,
                    self.call([recombine(self.X[n], b, T) for n in self.rows]),
                    strict=True,
                )
            ),
        )

    def F(self) -> dict[int, float]:
        """The model at the rows themselves."""
        return {n: self.R(self.D)[n][n] for n in self.rows}

    def weights_of(self, rows: Rows) -> list[float]:
        """Their weights."""
        return [self.w[n] for n in rows]

    def mass(self, rows: Rows) -> float:
        """Share of the weight that these rows carry: n/N without weights."""
        return math.fsum(self.weights_of(rows)) / math.fsum(self.weights_of(self.rows))

    def is_ordered(self, j: int) -> bool:
        """Numeric, ordinal and date columns have an order; nominal and boolean ones have levels."""
        return self.kinds[j] not in ("nominal", "boolean")

    def present(self, j: int, rows: Rows | None = None) -> list[Any]:
        """The values of column j that are not missing."""
        cells = [self.X[n][j] for n in (self.rows if rows is None else rows)]
        return [same(cell) for cell in cells if not is_missing(cell)]

    def levels(self, j: int, rows: Rows | None = None) -> list[Any]:
        """Its distinct values in order."""
        return sorted(set(self.present(j, rows)))


# ------------------------------------------------------------------------------------------------------ the settings


@dataclass(frozen=True)
class Setting:
    """One explanation: a choice on the four axes, with the options of each."""

    masking: str = "marginal"  # baseline | marginal | conditional
    behavior: str = "local"  # local | sensitivity | risk
    interaction: str = "full"  # pure | partial | full
    influence: str = "individual"  # individual | joint | interaction
    baseline: Any = "mean"  # a row, "mean", "median", "region"
    bins: Any = "tree"  # "tree" (C8 for one column, C9 for several), "exact", or an object with fit and apply
    bin_seed: int = 0
    bin_leaf: int = 20
    total: str = "difference"  # difference | jansen (sensitivity)
    loss: Any = "squared"  # squared | absolute | log | brier | callable (prediction, y) (risk)
    average: str = "prediction"  # prediction | loss (risk)
    pointwise: bool = False  # risk: one attribution per row
    groups: tuple[tuple[int, ...], ...] = ()  # joint
    order: int = 2  # interaction
    index: str = (
        "stii"  # interaction, partial: stii | sii | fsii | bii (also for columns and groups)
    )

    @property
    def per_row(self) -> bool:
        """Whether a value of the game is one number per row."""
        return self.behavior == "local" or (self.behavior == "risk" and self.pointwise)


def players(d: int, setting: Setting) -> list[Set]:
    """Columns; for joint influence the groups, then every column outside them."""
    if setting.influence != "joint":
        return [frozenset({j}) for j in range(d)]
    groups = [frozenset(group) for group in setting.groups]
    grouped = frozenset().union(*groups)
    return groups + [frozenset({j}) for j in range(d) if j not in grouped]


def compared_sets(d: int, setting: Setting) -> list[Set]:
    """The sets S whose influence is asked for when no ``features`` are named."""
    if setting.influence == "interaction":
        return [frozenset(S) for S in combinations(range(d), setting.order)]
    return players(d, setting)


# ------------------------------------------------------------------------------------------------- masking: baseline


def lower_median(problem: Problem, j: int, rows: Rows) -> Any:
    """The smallest value with at least half of the rows' weight at or below it; missing cells do not count."""
    seen = [n for n in rows if not is_missing(problem.X[n][j])]
    for v in problem.levels(j, seen):
        below = math.fsum(problem.w[n] for n in seen if problem.X[n][j] <= v)
        if 2 * below >= math.fsum(problem.weights_of(seen)):
            return v
    return None


def mode(problem: Problem, j: int, rows: Rows) -> Any:
    """The most frequent level; ties to the first."""
    best, heaviest = None, 0.0
    for level in problem.levels(j, rows):
        weight = math.fsum(problem.w[n] for n in rows if same(problem.X[n][j]) == level)
        if weight > heaviest:
            best, heaviest = level, weight
    return best


def center(problem: Problem, rows: Rows, how: str) -> list[Any]:
    """Column means or lower medians of the rows; levels: modes."""
    row: list[Any] = []
    for j in range(problem.d):
        seen = [n for n in rows if not is_missing(problem.X[n][j])]
        if not problem.is_ordered(j):
            row.append(mode(problem, j, rows))
        elif how == "mean" and seen:
            row.append(mean([problem.X[n][j] for n in seen], problem.weights_of(seen)))
        else:
            row.append(lower_median(problem, j, rows))
    return row


def midrank(problem: Problem, j: int, value: Any) -> Fraction:
    """Rank of a value among the fitting rows, ties sharing their mean rank."""
    values = problem.present(j)
    return sum(v < value for v in values) + Fraction(sum(v == value for v in values) + 1, 2)


def region_row(problem: Problem, rows: Rows) -> list[Any]:
    """The row closest to the region's lower medians and modes; ties to the first row, so distances are exact."""
    target = center(problem, rows, "median")

    def distance(n: int) -> Fraction:
        total = Fraction(0)
        for j in range(problem.d):
            cell = problem.X[n][j]
            if is_missing(cell) or is_missing(target[j]) or not problem.is_ordered(j):
                total += int(same(cell) != same(target[j]))
            else:
                total += abs(midrank(problem, j, cell) - midrank(problem, j, target[j])) / len(
                    problem.rows
                )
        return total

    return problem.X[min(rows, key=lambda n: (distance(n), n))]


def baseline_row(problem: Problem, setting: Setting, home: Rows) -> Sequence[Any]:
    """The row b; ``home`` are the fitting rows of the region."""
    fitted = problem.fitted
    if not isinstance(setting.baseline, str):
        return setting.baseline
    if setting.baseline == "region":
        return fitted.remember(("region row", tuple(home)), lambda: region_row(fitted, home))
    return fitted.remember(
        ("center", setting.baseline), lambda: center(fitted, fitted.rows, setting.baseline)
    )


# ---------------------------------------------------------------------------------------------- masking: conditional


def stood_for(fitted: Problem) -> dict[int, Fraction]:
    """How many rows each row stands for: its weight; weights below 1 on average are scaled to 1 on average."""
    weights = {n: Fraction(fitted.w[n]) for n in fitted.rows}
    average = sum(weights.values()) / len(weights)
    return {n: w / min(average, 1) for n, w in weights.items()}


def edges(fitted: Problem, j: int, count: int = 10) -> list[Any]:
    """C8: z_k, the smallest fitting value with k/10 of the weight (to 1e-12) at or below it, equal ones once."""
    distinct, w = fitted.levels(j), stood_for(fitted)
    if len(distinct) <= count:
        return distinct
    found: list[Any] = []
    seen = [n for n in fitted.rows if not is_missing(fitted.X[n][j])]
    total = sum(w[n] for n in seen) * (1 - Fraction(1, 10**12))
    for k in range(1, count + 1):
        z = next(
            v
            for v in distinct
            if count * sum(w[n] for n in seen if fitted.X[n][j] <= v) >= k * total
        )
        if z not in found:
            found.append(z)
    return found


def column_bin(fitted: Problem, j: int, cell: Any) -> Hashable:
    """C8: number of the interval (z_{k-1}, z_k], ends open; one bin per level; missing has its own."""
    if is_missing(cell):
        return "missing"
    if not fitted.is_ordered(j):
        return ("level", same(cell))
    z = fitted.remember(("edges", j), lambda: edges(fitted, j))
    return min(sum(edge < cell for edge in z), len(z) - 1)


def predictor_columns(fitted: Problem, j: int, cell: Any) -> list[float]:
    """C9: dense rank of an ordered value (missing -1), one-hot of a level (missing is one more level, the last)."""
    levels = fitted.levels(j)
    if fitted.is_ordered(j):
        if is_missing(cell):
            return [-1.0]
        return [float(max(sum(v <= cell for v in levels) - 1, 0))]
    wanted: list[Any] = levels + ([None] if len(fitted.present(j)) < len(fitted.rows) else [])
    return [float(same(cell) == level) for level in wanted]


def target_columns(fitted: Problem, j: int) -> list[list[float]]:
    """C9: mid-ranks scaled to variance 1 (missing lowest), levels one-hot with total variance 1; constants dropped.

    Ranks and variances are those of rows repeated as often as they weigh.
    """
    cells = [fitted.X[n][j] for n in fitted.rows]
    times = [float(w) for w in stood_for(fitted).values()]
    if fitted.is_ordered(j):
        place = [-math.inf if is_missing(cell) else cell for cell in cells]
        both = list(zip(place, times, strict=True))
        columns = [
            [
                sum(w for b, w in both if b < a) + (sum(w for b, w in both if b == a) + 1) / 2
                for a in place
            ]
        ]
    else:
        columns = [
            list(column)
            for column in zip(*(predictor_columns(fitted, j, cell) for cell in cells), strict=True)
        ]
    total = math.fsum(variance(column, times) for column in columns)
    if total <= 0:
        return []
    return [
        [value / math.sqrt(total) for value in column] for column in columns if len(set(column)) > 1
    ]


def tree_bins(fitted: Problem, T: Set, setting: Setting) -> Callable[[Sequence[Any]], Hashable]:
    """C9: leaves of one regression tree that predicts the columns outside T from those in T."""
    targets = [column for j in sorted(fitted.D - T) for column in target_columns(fitted, j)]
    if not targets:
        return lambda _: 0

    def predictors(row: Sequence[Any]) -> list[float]:
        return [value for j in sorted(T) for value in predictor_columns(fitted, j, row[j])]

    times = [float(w) for w in stood_for(fitted).values()]
    least = (
        setting.bin_leaf / math.fsum(times) * (1 - 1e-12)
    )  # a leaf weighs at least as much as so many rows
    if least > 0.5:
        return lambda _: 0
    tree = DecisionTreeRegressor(
        max_leaf_nodes=10, min_weight_fraction_leaf=least, random_state=setting.bin_seed
    )
    tree.fit(np.array([predictors(fitted.X[n]) for n in fitted.rows]), np.array(targets).T, times)
    return lambda row: int(tree.apply(np.array([predictors(row)]))[0])


def own_bins(fitted: Problem, T: Set, setting: Setting) -> Callable[[Sequence[Any]], Hashable]:
    """An object with ``fit(X_T, X_rest)`` and ``apply(X_T)``."""
    inside, outside = sorted(T), sorted(fitted.D - T)
    binner = copy.deepcopy(setting.bins)  # one for every coalition
    shown, rest = (
        [[fitted.X[n][j] for j in part] for n in fitted.rows] for part in (inside, outside)
    )
    binner.fit(shown, rest)
    return lambda row: binner.apply([[row[j] for j in inside]])[0]


def binning(fitted: Problem, T: Set, setting: Setting) -> Callable[[Sequence[Any]], Hashable]:
    """``bin_T``: a function of a row's columns in T alone, fitted on the fitting rows."""
    if not T or T == fitted.D:
        return lambda _: 0
    if setting.bins == "exact":
        return lambda row: tuple(same(row[j]) for j in sorted(T))
    if setting.bins == "tree":  # columns that are constant on the fitting rows tell nothing
        T = frozenset(
            j
            for j in T
            if len({same(row[j]) for n, row in enumerate(fitted.X) if fitted.w[n] > 0}) > 1
        )
        if not T:
            return lambda _: 0
    if setting.bins == "tree" and len(T) == 1:
        (j,) = T
        return lambda row: column_bin(fitted, j, row[j])
    return tree_bins(fitted, T, setting) if setting.bins == "tree" else own_bins(fitted, T, setting)


def bins_of(problem: Problem, setting: Setting, T: Set) -> dict[int, Hashable]:
    """The bin of every row."""
    kind = (
        setting.bins if isinstance(setting.bins, str) else id(setting.bins),
        setting.bin_leaf,
        setting.bin_seed,
        T,
    )
    bin_T = problem.fitted.remember(("binning", *kind), lambda: binning(problem.fitted, T, setting))
    return problem.remember(("bins", *kind), lambda: {n: bin_T(problem.X[n]) for n in problem.rows})


# --------------------------------------------------------------------------------------------- masked model and game


def outcomes(
    problem: Problem, setting: Setting, T: Set, n: int, rows: Rows, home: Rows
) -> list[tuple[float, float]]:
    """What the model says about row n when only T is shown: pairs (prediction, weight) over the references."""
    if setting.masking == "baseline":
        return [(problem.against(baseline_row(problem, setting, home), T)[n], 1.0)]
    references = list(rows)
    if setting.masking == "conditional":
        bin_T = bins_of(problem, setting, T)
        references = [m for m in rows if bin_T[m] == bin_T[n]]
    R_n = problem.R(T)[n]
    return [(R_n[m], problem.w[m]) for m in references]


def masked(
    problem: Problem, setting: Setting, T: Set, n: int, rows: Rows, home: Rows | None = None
) -> float:
    """``F_T(x_n)`` in the region."""
    values, weights = zip(
        *outcomes(problem, setting, T, n, rows, rows if home is None else home), strict=True
    )
    return mean(values, weights)


def risk_loss(name: Any, prediction: float, y: float) -> float:
    """The loss of one prediction."""
    if callable(name):
        return float(name(prediction, y))
    if name == "absolute":
        return abs(prediction - y)
    if name == "log":
        p = min(max(prediction, 1e-15), 1 - 1e-15)
        return -(y * math.log(p) + (1 - y) * math.log(1 - p))
    if name in ("squared", "brier"):
        return (prediction - y) ** 2
    raise ValueError(name)


def row_risk(problem: Problem, setting: Setting, T: Set, n: int, rows: Rows, home: Rows) -> float:
    """Minus the loss of row n when only T is shown: of the averaged prediction, or averaged over the references."""
    y = problem.y[n]
    if setting.average == "prediction":
        return -risk_loss(setting.loss, masked(problem, setting, T, n, rows, home), y)
    values, weights = zip(*outcomes(problem, setting, T, n, rows, home), strict=True)
    return -mean([risk_loss(setting.loss, value, y) for value in values], weights)


def game(
    problem: Problem, setting: Setting, rows: Rows, home: Rows | None = None
) -> Callable[[Iterable[int]], Value]:
    """The value function nu of the region."""
    home, known = rows if home is None else home, {}

    def value(T: Set) -> Value:
        if setting.behavior == "risk":
            worth = {n: row_risk(problem, setting, T, n, rows, home) for n in rows}
        else:
            worth = {n: masked(problem, setting, T, n, rows, home) for n in rows}
        if setting.per_row:
            return worth
        summary = variance if setting.behavior == "sensitivity" else mean
        return summary(list(worth.values()), problem.weights_of(rows))

    def nu(T: Iterable[int]) -> Value:
        T = frozenset(T)
        if T not in known:
            known[T] = value(T)
        return known[T]

    return nu


def jansen(problem: Problem, setting: Setting, S: Set, rows: Rows) -> float:
    """Mean over the rows of the variance of F when S alone is redrawn (conditional: in the row's bin of the rest)."""
    if setting.masking == "baseline" or setting.influence == "interaction":
        raise ValueError("Jansen's total effect needs several references, and columns or groups")
    spread = []
    for n in rows:
        values, weights = zip(
            *outcomes(problem, setting, problem.D - S, n, rows, rows), strict=True
        )
        spread.append(variance(values, weights))
    return mean(spread, problem.weights_of(rows))


# ------------------------------------------------------------------------------------- interaction: any game whatever


def combination(terms: Sequence[tuple[float, Value]]) -> Value:
    """A sum of coefficients times values."""
    if isinstance(terms[0][1], dict):
        return {n: math.fsum(c * v[n] for c, v in terms) for n in terms[0][1]}
    return math.fsum(c * v for c, v in terms)


def pure(nu: Callable[[Set], Value], S: Set) -> Value:
    """nu(S) - nu(empty)."""
    return combination([(1.0, nu(S)), (-1.0, nu(EMPTY))])


def full(nu: Callable[[Set], Value], D: Set, S: Set) -> Value:
    """nu(D) - nu(D without S)."""
    return combination([(1.0, nu(D)), (-1.0, nu(D - S))])


def shapley(nu: Callable[[Set], Value], everyone: Sequence[Set], S: Set) -> Value:
    """Shapley value of the player S among the players: disjoint sets of columns."""
    p = len(everyone)
    terms = []
    for coalition in subsets([player for player in everyone if player != S]):
        T = frozenset().union(*coalition)
        weight = 1.0 / (p * math.comb(p - 1, len(coalition)))
        terms += [(weight, nu(T | S)), (-weight, nu(T))]
    return combination(terms)


def banzhaf(nu: Callable[[Set], Value], everyone: Sequence[Set], S: Set) -> Value:
    """Mean over all coalitions of the other players of what S adds."""
    others = [
        frozenset().union(*coalition)
        for coalition in subsets([player for player in everyone if player != S])
    ]
    return combination(
        [(sign / len(others), nu(T | S if sign > 0 else T)) for T in others for sign in (1.0, -1.0)]
    )


def derivative(nu: Callable[[Set], Value], S: Set, T: Set = EMPTY) -> Value:
    """The discrete derivative; for T empty the Moebius transform of nu at S."""
    return combination([((-1.0) ** (len(S) - len(L)), nu(T | L)) for L in subsets(S)])


def interaction_index(nu: Callable[[Set], Value], D: Set, S: Set, index: str = "stii") -> Value:
    """Shapley-Taylor, Shapley or Banzhaf interaction index, or Faithful Shapley, of order |S| at its top order."""
    p, k, terms = len(D), len(S), []
    for T in subsets(D - S):
        t = len(T)
        if index == "stii":
            weight = k / (p * math.comb(p - 1, t))
        elif index == "sii":
            weight = math.factorial(p - t - k) * math.factorial(t) / math.factorial(p - k + 1)
        elif index == "bii":
            weight = 1 / 2 ** (p - k)
        else:
            weight = math.factorial(2 * k - 1) / math.factorial(k - 1) ** 2
            weight *= (
                math.factorial(p - t - 1) * math.factorial(t + k - 1) / math.factorial(p + k - 1)
            )
        terms.append((weight, derivative(nu, S, T)))
    return combination(terms)


def influence_of(nu: Callable[[Set], Value], D: Set, S: Set, setting: Setting) -> Value:
    """phi(S) of a game: the interaction operator of the setting."""
    if setting.influence == "interaction":
        if setting.interaction == "partial":
            return interaction_index(nu, D, S, setting.index)
        return derivative(nu, S, EMPTY if setting.interaction == "pure" else D - S)
    if setting.interaction == "pure":
        return pure(nu, S)
    if setting.interaction == "full":
        return full(nu, D, S)
    return (banzhaf if setting.index == "bii" else shapley)(nu, players(len(D), setting), S)


# ----------------------------------------------------------------------------------------------------- explanations


def explain(
    problem: Problem,
    setting: Setting,
    rows: Rows | None = None,
    sets: Sequence[Iterable[int]] | None = None,
    home: Rows | None = None,
) -> dict[Set, Value]:
    """The explanation in a region: ``{set: number}``, or ``{set: {row: number}}`` when it is one per row.

    ``home`` are the region's rows in the fitted problem (for the baseline "region"); by default the rows themselves.
    """
    rows = [n for n in (problem.rows if rows is None else rows) if problem.w[n] > 0]
    wanted = compared_sets(problem.d, setting) if sets is None else [frozenset(S) for S in sets]
    if (
        setting.behavior == "sensitivity"
        and setting.total == "jansen"
        and setting.interaction == "full"
    ):
        return {S: jansen(problem, setting, S, rows) for S in wanted}
    if (
        setting.behavior == "sensitivity"
        and setting.total == "jansen"
        and setting.influence == "interaction"
    ):
        raise ValueError("Jansen's total effect is for columns and groups")
    nu = game(problem, setting, rows, home)
    return {S: influence_of(nu, problem.D, S, setting) for S in wanted}


# --------------------------------------------------------------------------------------------------------- questions


@dataclass(frozen=True)
class Question:
    """Two explanations and a loss on their gap; kind ``coe`` and ``ale`` stand beside the pairs."""

    first: Setting
    second: Setting
    loss: Any = "squared"
    kind: str = "pair"
    features: tuple[Any, ...] | None = None  # the sets compared; None: all
    max_grid: int | None = None
    name: str = ""

    @property
    def per_row(self) -> bool:
        """Whether gaps are one number per row."""
        return self.first.per_row


NAMED: dict[str, tuple[str, str, tuple[str, str], tuple[str, str]]] = {
    "ice-pdp": ("local", "difference", ("full", "marginal"), ("pure", "marginal")),
    "shap-pdp": ("local", "difference", ("partial", "marginal"), ("pure", "marginal")),
    "ice-shap": ("local", "difference", ("full", "marginal"), ("partial", "marginal")),
    "mplot-pdp": ("local", "difference", ("pure", "conditional"), ("pure", "marginal")),
    "cice-mplot": ("local", "difference", ("full", "conditional"), ("pure", "conditional")),
    "cshap-shap": ("local", "difference", ("partial", "conditional"), ("partial", "marginal")),
    "sobol": ("sensitivity", "jansen", ("full", "marginal"), ("pure", "marginal")),
    "variance": ("sensitivity", "difference", ("full", "marginal"), ("pure", "marginal")),
    "csobol-sobol": ("sensitivity", "jansen", ("full", "conditional"), ("full", "marginal")),
    "pfi-risk": ("risk", "difference", ("full", "marginal"), ("pure", "marginal")),
    "sage-risk": ("risk", "difference", ("partial", "marginal"), ("pure", "marginal")),
    "cfi-pfi": ("risk", "difference", ("full", "conditional"), ("full", "marginal")),
}


def question(
    name: str,
    *,
    loss: Any = "squared",
    features: Any = None,
    max_grid: int | None = None,
    **options: Any,
) -> Question:
    """A named question; further options are those of Setting (``loss`` of the risk is called ``risk_loss`` here)."""
    if "risk_loss" in options:
        options["loss"] = options.pop("risk_loss")
    chosen = (
        None
        if features is None
        else tuple(frozenset({S} if isinstance(S, int) else S) for S in features)
    )
    if name in ("coe", "ale"):
        local = Setting(**options)
        return Question(local, local, loss, name, chosen, max_grid, name)
    behavior, total, first, second = NAMED[name]
    shared = {"behavior": behavior, "total": total, **options}
    one = Setting(interaction=first[0], masking=first[1], **shared)
    two = Setting(interaction=second[0], masking=second[1], **shared)
    return Question(one, two, loss, "pair", chosen, max_grid, name)


def gap_loss(name: Any, gap: float) -> float:
    """The loss of a gap (C16)."""
    if name == "squared":
        return gap * gap
    if name == "absolute":
        return abs(gap)
    if callable(name):
        return float(np.asarray(name(np.asarray(gap))))
    raise ValueError(name)


def question_sets(asked: Question, d: int) -> list[Set]:
    """The sets S of the disagreement."""
    if asked.kind == "coe":
        return [frozenset(range(d))]
    return (
        compared_sets(d, asked.first)
        if asked.features is None
        else [frozenset(S) for S in asked.features]
    )


def snap(fitted: Problem, j: int, cell: Any, G: int) -> Any:
    """C22: the nearest (by dense rank, ties down) of G observed values of an ordered column."""
    levels, values = fitted.levels(j), sorted(fitted.present(j))
    if is_missing(cell) or not fitted.is_ordered(j) or len(levels) <= G:
        return cell
    N = len(values)
    grid = sorted({values[-(-N * (2 * g - 1) // (2 * G)) - 1] for g in range(1, G + 1)})
    rank = max(sum(v <= cell for v in levels) - 1, 0)
    return min(grid, key=lambda v: (abs(levels.index(v) - rank), v))


def snapped(problem: Problem, S: Set, G: int) -> Problem:
    """C22: the problem in which the columns of S hold snapped values; bins and baselines stay as fitted."""

    def compute() -> Problem:
        X = [
            [snap(problem.fitted, j, cell, G) if j in S else cell for j, cell in enumerate(row)]
            for row in problem.X
        ]
        return Problem(problem.model, X, problem.y, problem.w, problem.kinds, problem.fitted)

    return problem.remember(("snapped", S, G), compute)


def ale_edges(problem: Problem, j: int, rows: Rows, intervals: int) -> list[Any]:
    """Ends of the intervals in a region: those of the fit, cut at the first and last hundredth within its range."""
    fitted = problem.fitted
    coarse, fine = (
        sorted(
            {
                min(fitted.levels(j)),
                *(edges(fitted, j, k) if fitted.is_ordered(j) else fitted.levels(j)),
            }
        )
        for k in (intervals, 10 * intervals)
    )
    seen = [problem.X[n][j] for n in rows if not is_missing(problem.X[n][j])]
    low = min((z for z in fine if z >= min(seen)), default=fine[-1])
    high = max((z for z in fine if z <= max(seen)), default=fine[0])
    return sorted({low, high, *(z for z in coarse if low < z < high)}) if low < high else []


def ale_gap(problem: Problem, j: int, rows: Rows, intervals: int = 10) -> dict[int, float]:
    """F(upper) - F(lower) in the row's interval, minus its mean over the region's rows in that interval."""
    fitted, gap = problem.fitted, dict.fromkeys(rows, 0.0)
    known = [n for n in rows if not is_missing(problem.X[n][j])]
    if fitted.kinds[j] == "nominal" or len(fitted.levels(j)) < 2 or not known:
        return gap
    z = ale_edges(problem, j, known, intervals)
    interval, effect = {}, {}
    for n in known if z else []:
        # the interval (z_{k-1}, z_k]; the first is closed
        k = min(max(sum(edge < problem.X[n][j] for edge in z), 1), len(z) - 1)
        ends = [
            recombine(problem.X[n], [z[k - side]] * problem.d, problem.D - {j}) for side in (0, 1)
        ]
        upper, lower = problem.remember(
            ("ale", j, n, z[k - 1], z[k]), lambda ends=ends: problem.call(ends)
        )
        interval[n], effect[n] = k, upper - lower
    for n in effect:
        mates = [m for m in effect if interval[m] == interval[n]]
        gap[n] = effect[n] - mean([effect[m] for m in mates], problem.weights_of(mates))
    return gap


def gaps(
    asked: Question, problem: Problem, rows: Rows | None = None, home: Rows | None = None
) -> dict[Set, Value]:
    """phi_1(S) - phi_2(S) for every compared set."""
    rows = [n for n in (problem.rows if rows is None else rows) if problem.w[n] > 0]
    if asked.kind == "coe":
        G = additive_model(problem, asked.first, rows)
        return {problem.D: {n: problem.F()[n] - G[n] for n in rows}}
    found = {}
    for S in question_sets(asked, problem.d):
        if asked.kind == "ale":
            (j,) = S
            found[S] = ale_gap(problem, j, rows)
            continue
        used = problem if asked.max_grid is None else snapped(problem, S, asked.max_grid)
        one, two = (explain(used, side, rows, [S], home)[S] for side in (asked.first, asked.second))
        found[S] = combination([(1.0, one), (-1.0, two)])
    return found


def disagreement(
    asked: Question, problem: Problem, rows: Rows | None = None, home: Rows | None = None
) -> float:
    """R of the region: the sum over sets of the loss of the gap, averaged over the rows where gaps are per row."""
    rows = [n for n in (problem.rows if rows is None else rows) if problem.w[n] > 0]
    total = []
    for gap in gaps(asked, problem, rows, home).values():
        if isinstance(gap, dict):
            total.append(
                mean([gap_loss(asked.loss, gap[n]) for n in rows], problem.weights_of(rows))
            )
        else:
            total.append(gap_loss(asked.loss, gap))
    return math.fsum(total)


# ------------------------------------------------------------------------------------------------------- noise floor


def cell(asked: Question, problem: Problem, S: Set, n: int, rows: Rows) -> int:
    """Rows of the smallest conditional cell that the gap of S at row n averages over (7.1)."""
    if asked.kind == "ale":
        (j,) = S
        z = sorted({min(problem.levels(j)), *edges(problem.fitted, j)})
        interval = {m: min(max(sum(e < problem.X[m][j] for e in z), 1), len(z) - 1) for m in rows}
        return sum(interval[m] == interval[n] for m in rows)
    smallest = len(rows)
    for side in (asked.first, asked.second):
        if side.masking != "conditional":
            continue
        read = {"pure": [S], "full": [problem.D - S]}.get(side.interaction, subsets(problem.D))
        for T in read:
            if T and T != problem.D:
                bins = bins_of(problem, side, T)
                smallest = min(smallest, sum(bins[m] == bins[n] for m in rows))
    return smallest


def chance(
    asked: Question, problem: Problem, factors: Sequence[Sequence[float]], rows: Rows
) -> dict[str, Any]:
    """7.1: R by chance for every replicate, and R corrected for it, from rows that weigh ``w(n) e_b(n)``."""
    g, again = gaps(asked, problem, rows), []
    for line in factors:
        weights = [w * e for w, e in zip(problem.w, line, strict=True)]
        moved = Problem(
            problem.model, problem.X, problem.y, weights, problem.kinds, fitted=problem.fitted
        )
        again.append(gaps(asked, moved, rows))
    w, loss = problem.weights_of(rows), asked.loss
    by_chance, excess = [], []
    for line in again:
        total, raised = [], []
        for S in g:
            if asked.kind in ("coe", "ale") or asked.per_row:
                d = {}
                for n in rows:
                    m = cell(asked, problem, S, n, rows)
                    kappa = (m + 1) / (m - 1) if m > 1 else 3.0
                    d[n] = math.sqrt(kappa) * (line[S][n] - g[S][n])
                total.append(mean([gap_loss(loss, d[n]) for n in rows], w))
                both = [
                    (gap_loss(loss, g[S][n] + d[n]) + gap_loss(loss, g[S][n] - d[n])) / 2
                    for n in rows
                ]
                raised.append(
                    mean([b - gap_loss(loss, g[S][n]) for b, n in zip(both, rows, strict=True)], w)
                )
            else:
                kappa = (len(rows) + 1) / (len(rows) - 1)
                total.append(gap_loss(loss, math.sqrt(kappa) * (line[S] - g[S])))
        by_chance.append(math.fsum(total))
        excess.append(math.fsum(raised))
    R = disagreement(asked, problem, rows)
    if asked.kind in ("coe", "ale") or asked.per_row:
        return {"replicates": by_chance, "corrected": R - math.fsum(excess) / len(excess)}
    corrected = []
    for S in g:  # one number a region: without its bias, and without its variance
        drawn = [line[S] for line in again]
        centre = sum(drawn) / len(drawn)
        start = g[S] - (centre - g[S])
        raised = [
            (gap_loss(loss, start + v - centre) + gap_loss(loss, start - v + centre)) / 2
            for v in drawn
        ]
        corrected.append(2 * gap_loss(loss, start) - sum(raised) / len(raised))
    return {"replicates": by_chance, "corrected": math.fsum(corrected)}


def noise(
    largest: float,
    first: Sequence[float] = (),
    again: Sequence[float] = (),
    reordered: Sequence[float] = (),
    up: Sequence[float] = (),
    down: Sequence[float] = (),
    single: bool = False,
) -> float:
    """delta of the noise floor: from the largest |F| and the probe's five calls (``reordered`` in original order)."""

    def apart(other: Sequence[float]) -> list[float]:
        return [abs(a - b) for a, b in zip(first, other, strict=False)] or [0.0]

    epsilon = 2.0**-23 if single else 2.0**-52
    moved = max(float(np.median(apart(up))), float(np.median(apart(down))))
    return max(8 * epsilon * largest, max(apart(again)), max(apart(reordered)), moved)


def floor(asked: Question, problem: Problem, delta: float, shift: float = 0.0) -> float:
    """The disagreement that a model without any would show for numerical reasons.

    ``shift`` moves the mean prediction, for bounds on what rounding of that mean does to the floor of a risk.
    """
    setting, rows = asked.first, problem.rows
    weights, F = problem.weights_of(rows), problem.F()
    error = delta
    if asked.kind == "pair" and setting.behavior == "sensitivity":
        error = 2 * math.sqrt(variance([F[n] for n in rows], weights)) * delta + delta**2
    if asked.kind == "pair" and setting.behavior == "risk":
        average = mean([F[n] for n in rows], weights) + shift

        def moved(prediction: float, y: float) -> float:
            here = risk_loss(setting.loss, prediction, y)
            return max(
                abs(risk_loss(setting.loss, prediction + step, y) - here)
                for step in (delta, -delta)
            )

        error = max(
            mean([moved(average, problem.y[n]) for n in rows], weights),
            mean([moved(F[n], problem.y[n]) for n in rows], weights),
            # rounding of a mean loss itself, which counts where residuals are far larger than predictions
            2.0**-51
            * mean([risk_loss(setting.loss, average, problem.y[n]) for n in rows], weights),
            2.0**-51 * mean([risk_loss(setting.loss, F[n], problem.y[n]) for n in rows], weights),
        )
    order = setting.order if setting.influence == "interaction" else 1
    return len(question_sets(asked, problem.d)) * gap_loss(asked.loss, 2.0 ** (order + 1) * error)


# --------------------------------------------------------------------------------------------------------- objective


@dataclass(frozen=True)
class Objective:
    """Questions with weights (C1)."""

    questions: tuple[Question, ...]
    weights: tuple[float, ...] | None = None
    weighting: str = "mass"  # mass | uniform
    normalize: str = "root"  # root | variance


@dataclass(frozen=True)
class Scale:
    """What turns disagreements into shares: fixed at the root."""

    disagreements: tuple[float, ...]
    floors: tuple[float, ...]
    weights: tuple[float, ...]  # 0 for a question at its floor, otherwise adding up to 1
    divisors: tuple[float, ...]


def as_objective(asked: Any) -> Objective:
    """A question stands for the objective of this question alone."""
    return asked if isinstance(asked, Objective) else Objective((asked,))


def scale_of(objective: Objective, problem: Problem, delta: float | None = None) -> Scale:
    """Root disagreements, floors, and the weights of the questions above their floor."""
    R = tuple(disagreement(asked, problem) for asked in objective.questions)
    F = problem.F()
    if delta is None:
        delta = noise(problem.largest)
    floors = tuple(floor(asked, problem, delta) for asked in objective.questions)
    given = objective.weights or (1.0,) * len(R)
    spread = variance([F[n] for n in problem.rows], problem.weights_of(problem.rows))
    divisors = R if objective.normalize == "root" else (spread,) * len(R)
    asked = zip(given, R, floors, divisors, strict=True)
    kept = [
        w if r > f and divisor else 0.0 for w, r, f, divisor in asked
    ]  # no share of a variance of 0
    weights = tuple(w / math.fsum(kept) if w else 0.0 for w in kept)
    return Scale(R, floors, weights, divisors)


def share(objective: Objective, scale: Scale, problem: Problem, rows: Rows) -> float:
    """C1: sum over questions of weight, mass of the region, and R(region) / R(X)."""
    mass = problem.mass(rows) if objective.weighting == "mass" else 1.0
    terms = [
        weight * mass * disagreement(asked, problem, rows) / divisor
        for asked, weight, divisor in zip(
            objective.questions, scale.weights, scale.divisors, strict=True
        )
        if weight
    ]
    return math.fsum(terms)


def at_floor(objective: Objective, scale: Scale, problem: Problem, rows: Rows) -> bool:
    """C4: every question still asked is at its floor here."""
    return all(
        disagreement(asked, problem, rows) <= low
        for asked, weight, low in zip(objective.questions, scale.weights, scale.floors, strict=True)
        if weight
    )


# -------------------------------------------------------------------------------------------------------- candidates


@dataclass(frozen=True)
class Candidate:
    """One way to cut a node: ``x <= threshold`` or ``x in levels`` goes left."""

    column: int
    value: Any  # the observed v of ``x <= v``; None for level sets; -inf: nothing but missing rows on the left
    threshold: Any  # C12; None for level sets
    levels: tuple[Any, ...] | None  # on the left; None for thresholds
    missing: str | None  # the side of the missing rows; None when the node has none
    left: tuple[int, ...]
    right: tuple[int, ...]
    key: tuple[Any, ...]  # C15


def threshold(v: float, v_next: float) -> float:
    """C12: fewest significant digits with v <= t < v_next, then nearest to the midpoint, then smaller.

    Stored numbers (doubles) are compared; the distance is exact, from the stored number to the exact midpoint.
    """
    if v <= 0 < v_next:
        return 0.0
    low, high = Fraction(v), Fraction(v_next)
    middle = (low + high) / 2
    sizes = [abs(x) for x in (low, middle, high) if x]
    top, bottom = exponent(max(sizes)), exponent(min(sizes))
    for digits in range(1, 18):
        found: set[float] = set()
        for e in range(top + 1, bottom - digits - 1, -1):
            unit, limit = Fraction(10) ** e, 10**digits - 1
            first, last = math.floor(low / unit), math.ceil(high / unit)
            near = math.floor(middle / unit)
            wanted = {first, first + 1, near, near + 1, last - 1, last, -limit, limit}
            allowed = [
                m
                for m in wanted
                if abs(m) <= limit and first <= m <= last and abs(m * unit) <= LARGEST
            ]
            found |= {float(m * unit) for m in allowed}
        found = {t for t in found if v <= t < v_next}
        if found:
            return min(found, key=lambda t: (abs(Fraction(t) - middle), t))
    raise ValueError((v, v_next))


def exponent(x: Fraction) -> int:
    """The e with ``10^e <= x < 10^(e+1)``."""
    e = len(str(x.numerator)) - len(str(x.denominator))
    while Fraction(10) ** e > x:
        e -= 1
    while Fraction(10) ** (e + 1) <= x:
        e += 1
    return e


def cut_values(values: Sequence[Any], B: int) -> list[Any]:
    """C11: the observed values v of the cuts ``x <= v``."""
    ordered, distinct = sorted(values), sorted(set(values))
    if len(distinct) < B:
        return distinct[:-1]
    n = len(ordered)
    return sorted({ordered[(n - 1) * k // B] for k in range(1, B)} - {distinct[-1]})


def order_levels(problem: Problem, j: int, rows: Rows) -> list[Any]:
    """C13: the levels of column j along the first principal component of their pure effects."""
    levels = problem.levels(j, rows)
    columns = []
    for i in range(problem.d):
        if i == j:
            continue
        for u in {
            same(problem.X[n][i]): n for n in reversed(rows)
        }.values():  # the first row that carries each value
            p = math.fsum(
                problem.w[n] for n in rows if same(problem.X[n][i]) == same(problem.X[u][i])
            )
            effect = []
            for level in levels:
                members = [m for m in rows if same(problem.X[m][j]) == level]
                weights = problem.weights_of(members)
                shown = mean([problem.R({i})[u][m] for m in members], weights)
                effect.append(shown - mean([problem.F()[m] for m in members], weights))
            average = math.fsum(effect) / len(levels)
            columns.append(
                [
                    (value - average) * math.sqrt(p / math.fsum(problem.weights_of(rows)))
                    for value in effect
                ]
            )
    if not columns:
        return levels
    left, sizes, _ = np.linalg.svd(np.array(columns).T, full_matrices=False)
    score = left[:, 0] * sizes[0]
    score = score if score[0] <= score[-1] else -score
    rounded = np.round(
        score / max(np.abs(score).max(), 1e-300), 9
    )  # levels with equal effects keep their label order
    twins = len(sizes) > 1 and sizes[1] > sizes[0] * (1 - 1e-9)
    problem.unclear |= bool(
        twins or rounded[0] == rounded[-1] or sizes[0] <= 1e-12 * problem.largest
    )
    return [levels[k] for k in sorted(range(len(levels)), key=lambda k: (rounded[k], k))]


def groupings(problem: Problem, j: int, rows: Rows, B: int) -> list[tuple[Any, ...]]:
    """C13: level sets for the left side; it holds fewer levels, or as many and the first label."""
    levels = problem.levels(j, rows)
    if 2 ** (len(levels) - 1) - 1 <= B - 1:
        chosen = [S for S in subsets(levels) if 0 < len(S) < len(levels)]
    else:
        line = order_levels(problem, j, rows)
        chosen = [frozenset({level}) for level in levels] + [
            frozenset(line[:k]) for k in range(1, len(line))
        ]

    def lighter(S: frozenset[Any]) -> tuple[Any, ...]:
        sides = [tuple(sorted(side)) for side in (S, frozenset(levels) - S)]
        return min(sides, key=lambda side: (len(side), levels.index(side[0])))

    return sorted(
        {lighter(S) for S in chosen},
        key=lambda side: (len(side), [levels.index(level) for level in side]),
    )


def column_candidates(problem: Problem, j: int, rows: Rows, B: int) -> list[Candidate]:
    """All cuts along one column, before the leaf minimum (C11, C13, C14)."""
    absent = [n for n in rows if is_missing(problem.X[n][j])]
    seen = [n for n in rows if n not in set(absent)]
    levels = problem.levels(j, rows)
    cuts: list[tuple[Any, Any, Any, set[int], tuple[Any, ...]]] = []
    if problem.is_ordered(j):
        for v in cut_values(problem.present(j, rows), B) if levels else []:
            # labels have no decimals between them: the rule names the label itself
            t = v if problem.kinds[j] == "ordinal" else threshold(v, levels[levels.index(v) + 1])
            cuts.append((v, t, None, {n for n in seen if problem.X[n][j] <= v}, (v,)))
        nothing: Any = (-math.inf, -math.inf, None, set(), (-math.inf,))
    else:
        every = problem.fitted.levels(j)
        for left in groupings(problem, j, rows, B) if len(levels) > 1 else []:
            place = (len(left), *(every.index(level) for level in left))
            cuts.append(
                (None, None, left, {n for n in seen if same(problem.X[n][j]) in left}, place)
            )
        nothing = (None, None, (), set(), (0,))
    made = []
    for side in ("left", "right") if absent else (None,):
        for v, t, left_levels, chosen, place in ([nothing] if side == "left" else []) + cuts:
            inside = chosen | (set(absent) if side == "left" else set())
            left = tuple(n for n in rows if n in inside)
            right = tuple(n for n in rows if n not in inside)
            made.append(
                Candidate(j, v, t, left_levels, side, left, right, (j, int(side == "right"), place))
            )
    return made


def candidates(
    problem: Problem,
    rows: Rows | None = None,
    max_candidates: int = 40,
    min_samples_leaf: int = 20,
    split_features: Sequence[int] | None = None,
) -> list[Candidate]:
    """Every cut of the node that leaves enough rows (rows are counted, not weighed) on both sides."""
    rows = problem.rows if rows is None else rows
    columns = range(problem.d) if split_features is None else sorted(split_features)
    made = [c for j in columns for c in column_candidates(problem, j, rows, max_candidates)]
    return [c for c in made if min(len(c.left), len(c.right)) >= max(min_samples_leaf, 1)]


def best(scored: Sequence[tuple[float, Candidate]]) -> Candidate:
    """C15: among those within 1e-10 of the smallest score, the lowest key."""
    smallest = min(score for score, _ in scored)
    return min((c for score, c in scored if score <= smallest + TIE), key=lambda c: c.key)


# -------------------------------------------------------------------------------------------------------------- tree


@dataclass
class Node:
    """A region of the tree: a leaf, or a cut with two children."""

    rows: tuple[int, ...]
    share: float
    depth: int
    stop: str | None = None  # why it is a leaf
    split: Candidate | None = None
    left: Node | None = None
    right: Node | None = None
    tried: list[tuple[float, Candidate]] = field(default_factory=list, repr=False)

    def leaves(self) -> list[Node]:
        """The regions, left to right."""
        if self.split is None:
            return [self]
        return self.left.leaves() + self.right.leaves()

    def remaining(self) -> float:
        """The shares of its leaves, added up."""
        return math.fsum(leaf.share for leaf in self.leaves())

    def __str__(self) -> str:
        pad = "  " * self.depth
        if self.split is None:
            return f"{pad}{len(self.rows)} rows, share {self.share:.6g} ({self.stop})"
        c = self.split
        rule = (
            f"x{c.column} in {c.levels}"
            if c.levels is not None
            else f"x{c.column} <= {c.threshold}"
        )
        side = "" if c.missing is None else f", missing {c.missing}"
        return f"{pad}{len(self.rows)} rows, share {self.share:.6g}: {rule}{side}\n{self.left}\n{self.right}"


@dataclass
class Fit:
    """What ``grow`` returns."""

    root: Node
    scale: Scale
    disagreement: float  # R(X); 1.0 for several questions; 0.0 when there is nothing to explain
    remaining: float

    def regions(self) -> list[list[int]]:
        """Rows of every region, left to right."""
        return [list(leaf.rows) for leaf in self.root.leaves()]


def grow(
    asked: Any,
    problem: Problem,
    *,
    max_depth: int = 3,
    min_samples_leaf: int = 20,
    alpha: float = 0.05,
    max_candidates: int = 40,
    beam: int = 1,
    split_features: Sequence[int] | None = None,
    delta: float | None = None,
) -> Fit:
    """Grow and prune the tree of one objective (C1 to C4, C15, C21); ``delta`` sets the noise floor (1.5)."""
    objective = as_objective(asked)
    scale = scale_of(objective, problem, delta)

    def node_of(rows: Rows, depth: int) -> Node:
        node = Node(tuple(rows), share(objective, scale, problem, rows), depth)
        node.stop = reason_to_stop(node)
        if node.stop is None:
            options = candidates(problem, rows, max_candidates, min_samples_leaf, split_features)
            node.tried = [(score(c), c) for c in options]
            node.stop = None if options else "no candidates"
        return node if node.stop else pruned(node)

    def score(c: Candidate) -> float:
        return share(objective, scale, problem, c.left) + share(objective, scale, problem, c.right)

    def reason_to_stop(node: Node) -> str | None:
        if at_floor(objective, scale, problem, node.rows):
            return "nothing to explain"
        if node.share < alpha:
            return "share below alpha"
        if node.depth >= max_depth:
            return "maximum depth"
        return "too few samples" if len(node.rows) < 2 * min_samples_leaf else None

    def pruned(node: Node) -> Node:
        followed, left_over = [], list(node.tried)
        while left_over and len(followed) < beam:  # the best candidate of each of the best columns
            c = best(left_over)
            left_over = [(s, other) for s, other in left_over if other.column != c.column]
            followed.append(
                replace(
                    node,
                    split=c,
                    left=node_of(c.left, node.depth + 1),
                    right=node_of(c.right, node.depth + 1),
                )
            )
        cost = [tree.remaining() + alpha * len(tree.leaves()) for tree in followed]
        kept = next(k for k in range(len(cost)) if cost[k] <= min(cost) + TIE)
        if node.share + alpha <= cost[kept] + TIE:
            node.stop = "pruned"
            return node
        return followed[kept]

    if not any(scale.weights):
        return Fit(Node(tuple(problem.rows), 0.0, 0, "nothing to explain"), scale, 0.0, 0.0)
    root = node_of(problem.rows, 0)
    return Fit(
        root, scale, scale.disagreements[0] if len(scale.weights) == 1 else 1.0, root.remaining()
    )


def goes_left(node: Node, cell: Any, seen: Sequence[Any]) -> bool:
    """Which child a cell belongs to; what the node has not seen (missing, levels) goes with the larger child."""
    c, larger = node.split, len(node.left.rows) >= len(node.right.rows)
    if is_missing(cell):
        return larger if c.missing is None else c.missing == "left"
    if c.levels is None:
        return bool(cell <= c.threshold)
    return same(cell) in c.levels if same(cell) in seen else larger


def apply(root: Node, fitted: Problem, X: Sequence[Sequence[Any]]) -> list[int]:
    """The region of each row, numbered left to right."""
    leaves = root.leaves()

    def region(row: Sequence[Any]) -> int:
        node = root
        while node.split is not None:
            j = node.split.column
            node = (
                node.left if goes_left(node, row[j], fitted.present(j, node.rows)) else node.right
            )
        return next(k for k, leaf in enumerate(leaves) if leaf is node)

    return [region(row) for row in X]


# --------------------------------------------------------------------------------------------------------- surrogate


def additive_sets(d: int, setting: Setting) -> list[Set]:
    """The sets L of the surrogate: all columns, all players, or all sets of at most k columns."""
    if setting.influence == "interaction":
        return [S for S in subsets(range(d)) if 0 < len(S) <= setting.order]
    return players(d, setting)


def additive_effect(nu: Callable[[Set], Value], L: Set, setting: Setting) -> Value:
    """Its part of the surrogate: a player's pure effect, or the pure interaction of L."""
    return derivative(nu, L) if setting.influence == "interaction" else pure(nu, L)


def additive_model(problem: Problem, setting: Setting, rows: Rows) -> dict[int, float]:
    """The surrogate G at the region's own rows (marginal, local)."""
    nu = game(problem, replace(setting, masking="marginal", behavior="local"), rows)
    parts = [(1.0, additive_effect(nu, L, setting)) for L in additive_sets(problem.d, setting)]
    return combination([(1.0, nu(EMPTY)), *parts])


def game_at(problem: Problem, x: Sequence[Any], rows: Rows) -> Callable[[Set], float]:
    """The local marginal game of any row x against the region's rows, by model call."""

    def nu(T: Set) -> float:
        return mean(
            problem.call([recombine(x, problem.X[m], T) for m in rows]), problem.weights_of(rows)
        )

    return nu


def curve_at(problem: Problem, j: int, cell: Any, rows: Rows) -> float:
    """Pure effect of column j at any value: interpolated between fitting values, constant beyond; 0 if never seen."""
    carriers = {same(problem.X[n][j]): n for n in reversed(problem.rows)}
    weights, F = problem.weights_of(rows), problem.F()
    average = mean([F[m] for m in rows], weights)

    def known(value: Any) -> float:
        return mean([problem.R({j})[carriers[value]][m] for m in rows], weights) - average

    if same(cell) in carriers:
        return known(same(cell))
    if is_missing(cell) or not problem.is_ordered(j):
        return 0.0
    levels = problem.levels(j)
    below, above = [v for v in levels if v < cell], [v for v in levels if v > cell]
    if not below or not above:
        return known(above[0] if above else below[-1])
    a, b = below[-1], above[0]
    return known(a) + (known(b) - known(a)) * (cell - a) / (b - a)


def surrogate_at(
    problem: Problem,
    rows: Rows,
    x: Sequence[Any],
    setting: Setting | None = None,
    exact: bool = False,
) -> float:
    """The region's surrogate at any row x; ``exact`` calls the model for every effect."""
    setting = Setting() if setting is None else setting
    nu = game_at(problem, x, rows)
    total = [nu(EMPTY)]
    for L in additive_sets(problem.d, setting):
        if len(L) == 1 and not exact:
            (j,) = L
            total.append(curve_at(problem, j, x[j], rows))
        else:
            total.append(additive_effect(nu, L, setting))
    return math.fsum(total)


def fidelity(problem: Problem, regions: Sequence[Rows], setting: Setting | None = None) -> float:
    """1 - mean (F - G)^2 / Var F on the fitting rows, with one surrogate per region."""
    setting = Setting() if setting is None else setting
    F, G = problem.F(), {}
    for rows in regions:
        G.update(additive_model(problem, setting, rows))
    weights = problem.weights_of(problem.rows)
    spread = variance([F[n] for n in problem.rows], weights)
    if spread == 0:
        return 1.0
    return 1 - mean([(F[n] - G[n]) ** 2 for n in problem.rows], weights) / spread


# -------------------------------------------------------------------------------------------------------- other rows


def evaluate(asked: Question, fit: Fit, new: Problem) -> dict[str, Any]:
    """C17: disagreement on other rows, ``new.fitted`` being the problem that was fitted."""
    leaves, fitted = fit.root.leaves(), new.fitted
    region = apply(fit.root, fitted, new.X)
    everywhere = gaps(asked, new, new.rows, fitted.rows)
    lines = []
    for k, leaf in enumerate(leaves):
        rows = [n for n in new.rows if region[n] == k]
        mass = new.mass(rows) if rows else 0.0
        inside = mass * disagreement(asked, new, rows, leaf.rows) if rows else 0.0
        outside: float | None = None
        if asked.per_row:
            losses = [
                new.w[n] * gap_loss(asked.loss, gap[n]) for gap in everywhere.values() for n in rows
            ]
            outside = math.fsum(losses) / math.fsum(new.weights_of(new.rows))
        lines.append(
            {
                "region": k,
                "n_samples": len(rows),
                "fraction": mass,
                "disagreement": inside,
                "global_disagreement": outside,
                "remaining": None if not outside else inside / outside,
            }
        )
    before, after = (
        disagreement(asked, new, new.rows, fitted.rows),
        math.fsum(line["disagreement"] for line in lines),
    )
    return {
        "regions": lines,
        "global_disagreement": before,
        "disagreement": after,
        "remaining": after / before if before else 0.0,
    }
