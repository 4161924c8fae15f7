"""The original trees against their definitions, written as plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.preprocessing import SplineTransformer

import granite_xai as gx
import oracle as o


def model_of(seed):
    a, b, c, d = np.random.default_rng(seed).normal(size=4)

    def model(X):
        x, y, z = X[:, 0], X[:, 1], X[:, 2]
        return a * x * (y > 0.2) + b * np.sin(2 * x) * z + c * y * z + d * np.abs(x)

    return model


def table_of(seed, n=46):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[:, 2] = rng.integers(0, 4, size=n)
    return X


def curve(model, X, n, j, g):
    row = X[n].copy()
    row[j] = g
    return float(model(row[None])[0])


class PlainTree:
    """REPID and GADGET-PD: squared distances of centred curves to their mean, one cell after the other."""

    def __init__(self, model, X, features, columns, *, trim, leaf, depth, least=0.1):
        self.X, self.features, self.columns, self.trim = X, features, columns, trim
        self.leaf, self.depth, self.least = leaf, depth, least
        self.grids = {j: np.linspace(X[:, j].min(), X[:, j].max(), 20).tolist() for j in features}
        self.values = {
            j: {(n, g): curve(model, X, n, j, g) for n in range(len(X)) for g in self.grids[j]}
            for j in features
        }
        everyone = list(range(len(X)))
        self.root = self.loss(everyone, self.grids)
        self.leaves = []
        self.grow(everyone, self.grids, 0, 1.0)

    def loss(self, rows, grids):
        total = 0.0
        for j, grid in grids.items():
            if not grid:
                continue
            own = grid if self.trim else self.grids[j]
            centred = {}
            for n in rows:
                level = sum(self.values[j][n, g] for g in own) / len(own)
                for g in grid:
                    centred[n, g] = self.values[j][n, g] - level
            for g in grid:
                mean = sum(centred[n, g] for n in rows) / len(rows)
                total += sum((centred[n, g] - mean) ** 2 for n in rows)
        return total

    def sides(self, rows, grids, c, v):
        left = [n for n in rows if self.X[n, c] <= v]
        right = [n for n in rows if self.X[n, c] > v]
        if not (self.trim and c in grids):
            return left, grids, right, grids
        middle = (v + min(self.X[n, c] for n in right)) / 2
        low = {**grids, c: [g for g in grids[c] if g <= middle]}
        return left, low, right, {**grids, c: [g for g in grids[c] if g > middle]}

    def cuts(self, rows, c):
        ordered = sorted(self.X[n, c] for n in rows)
        for v in sorted(set(ordered)):
            count = sum(x <= v for x in ordered)
            if min(count, len(ordered) - count) >= self.leaf:
                yield v

    def grow(self, rows, grids, depth, gained):
        here = self.loss(rows, grids)
        best = None
        if depth < self.depth and len(rows) >= 2 * self.leaf:
            for c in self.columns:
                for v in self.cuts(rows, c):
                    left, low, right, high = self.sides(rows, grids, c, v)
                    score = self.loss(left, low) + self.loss(right, high)
                    if best is None or score < best[0] - 1e-9 * self.root:
                        best = score, left, low, right, high
        gain = 0.0 if best is None else (here - best[0]) / self.root
        if best is None or gain < self.least * gained:
            self.leaves.append((rows, here))
            return
        self.grow(best[1], best[2], depth + 1, gain)
        self.grow(best[3], best[4], depth + 1, gain)


def assert_same(g, X, plain):
    regions = g.apply(X)
    found = [np.flatnonzero(regions == k).tolist() for k in range(len(g.partition_))]
    assert found == [rows for rows, _ in plain.leaves]
    assert g.loss_ == pytest.approx(plain.root, rel=1e-9)
    assert g.region_losses_ == pytest.approx(
        [loss for _, loss in plain.leaves], rel=1e-7, abs=1e-9 * plain.root
    )


@settings(max_examples=8)
@given(st.integers(0, 10**6))
def test_repid_is_the_loss_of_the_curves_row_by_row(seed):
    """Loss: sum over rows and grid points of squared distances to the mean curve; splits on the other columns."""
    model, X = model_of(seed), table_of(seed)
    g = gx.frameworks.repid(model, "x0", exact=True, min_samples_leaf=6, max_depth=2).fit(X)
    assert_same(g, X, PlainTree(model, X, [0], [1, 2], trim=False, leaf=6, depth=2))


@settings(max_examples=5)
@given(st.integers(0, 10**6))
def test_gadget_shortens_the_curves_with_the_region(seed):
    model, X = model_of(seed), table_of(seed)
    g = gx.frameworks.gadget(model, ["x0", "x1"], exact=True, min_samples_leaf=8, max_depth=2).fit(
        X
    )
    assert_same(g, X, PlainTree(model, X, [0, 1], [0, 1, 2], trim=True, leaf=8, depth=2))


def around_a_curve(effects, x, rows, n):
    """Sum of squares around a penalised spline by least squares with the penalty as further rows; few values: means."""
    if len(np.unique(x)) <= 10:
        own = [effects[rows][x[rows] == value] for value in np.unique(x[rows])]
        return sum(float(np.square(part - part.mean()).sum()) for part in own)
    knots = np.quantile(x, np.linspace(0, 1, 10))[:, None]
    basis = SplineTransformer(degree=3, knots=knots).fit_transform(x[:, None])[rows]
    p = basis.shape[1]
    bends, small = (
        np.diff(np.eye(p), 2, axis=0) * np.sqrt(0.001 * n / p),
        np.eye(p) * np.sqrt(1e-9 * n),
    )
    stacked = np.vstack([basis, bends, small])
    found = np.linalg.lstsq(
        stacked, np.append(effects[rows], np.zeros(len(bends) + p)), rcond=None
    )[0]
    return float(np.square(effects[rows] - basis @ found).sum())


def test_ten_intervals_and_twenty_points_unless_said_otherwise():
    """GADGET's and REPID's own."""
    for tree in (gx.partitioners.RepidTree(), gx.partitioners.RepidTree(effect="ale")):
        assert (tree.intervals, tree.points) == (10, 20)


@pytest.mark.slow
@settings(max_examples=5)
@given(st.integers(0, 10**6))
def test_gadget_ale_sums_squared_distances_of_local_changes(seed):
    model, X = model_of(seed), table_of(seed, 60)
    g = gx.frameworks.gadget(model, effect="ale", exact=True, intervals=5, max_depth=2).fit(X)
    problem = o.Problem(lambda rows: model(np.array(rows)), X)

    def scatter(rows):
        return sum(
            gap**2 for j in range(X.shape[1]) for gap in o.ale_gap(problem, j, rows, 5).values()
        )

    regions = g.apply(X)
    assert g.loss_ == pytest.approx(scatter(range(len(X))), rel=1e-9)
    for k, loss in enumerate(g.region_losses_):
        assert loss == pytest.approx(
            scatter(np.flatnonzero(regions == k)), rel=1e-7, abs=1e-9 * g.loss_
        )


@pytest.mark.parametrize("recalculate", [False, True])
def test_gadget_shap_sums_squared_distances_to_the_dependence(recalculate):
    model, X = model_of(5), table_of(5, 60)
    g = gx.frameworks.gadget(
        model, effect="shap", exact=True, recalculate=recalculate, max_depth=2
    ).fit(X)
    shap = gx.explanations()["shap"]
    regions = g.apply(X)
    assert len(g.partition_) > 1
    everyone = shap.explain(model, X).values
    for k, loss in enumerate(g.region_losses_):
        rows = np.flatnonzero(regions == k)
        effects = everyone.copy()
        if recalculate:
            effects[rows] = shap.explain(model, X, rows=rows).values
        wanted = sum(around_a_curve(effects[:, j], X[:, j], rows, len(X)) for j in range(3))
        assert loss == pytest.approx(wanted, rel=1e-5, abs=1e-9 * g.loss_)


def test_gadget_shap_finds_the_column_that_turns_an_effect():
    """The authors' example: the slope of x0 changes its sign with x2."""
    X = np.random.default_rng(0).uniform(-1, 1, (200, 3))

    def model(X):
        return np.where(X[:, 2] > 0, 3 * X[:, 0], -3 * X[:, 0]) + X[:, 2]

    g = gx.frameworks.gadget(model, effect="shap", exact=True, max_depth=3).fit(X)
    assert [str(rule) for rule in g.partition_.rules] == ["x2 ≤ 0", "x2 > 0"]


class PlainFdTree:
    """FD-Trees' own recursion for the additive gap, in shares of Var F."""

    def __init__(self, model, X, *, leaf, depth, alpha):
        n = len(X)
        self.X, self.leaf, self.depth, self.alpha = X, leaf, depth, alpha
        self.F = model(X)
        hybrid = np.empty((X.shape[1], n, n))
        for j in range(X.shape[1]):
            for m in range(n):
                rows = np.tile(X[m], (n, 1))
                rows[:, j] = X[:, j]
                hybrid[j, :, m] = model(rows)
        # F(x_j of n, rest of m) - F(m): the anchored additive effects
        self.H = hybrid - self.F
        self.leaves, self.cost = self.grow(np.arange(n), 0)

    def loss(self, rows):
        total = 0.0
        for n in rows:
            additive = np.mean([self.F[m] + sum(H[n, m] for H in self.H) for m in rows])
            total += (self.F[n] - additive) ** 2
        return total / len(self.X) / self.F.var()

    def grow(self, rows, depth):
        own = self.loss(rows)
        single = [rows.tolist()], own + self.alpha
        if depth >= self.depth or own < self.alpha or len(rows) < 2 * self.leaf:
            return single
        best = None
        for c in range(self.X.shape[1]):
            x = self.X[rows, c]
            for v in np.unique(x)[:-1]:
                left, right = rows[x <= v], rows[x > v]
                if min(len(left), len(right)) < self.leaf:
                    continue
                score = self.loss(left) + self.loss(right)
                if best is None or score < best[0] - 1e-10:
                    best = score, left, right
        if best is None:
            return single
        (a, cost_a), (b, cost_b) = self.grow(best[1], depth + 1), self.grow(best[2], depth + 1)
        return single if own + self.alpha <= cost_a + cost_b + 1e-10 else (a + b, cost_a + cost_b)


@pytest.mark.parametrize("seed", [0, 1])
def test_fd_trees_price_regions_by_the_variance(seed):
    model, X = model_of(seed), table_of(seed, 30)
    g = gx.frameworks.fd_trees(
        model, "coe", exact=True, min_samples_leaf=6, max_depth=2, alpha=0.02
    ).fit(X)
    plain = PlainFdTree(model, X, leaf=6, depth=2, alpha=0.02)
    regions = g.apply(X)
    assert [np.flatnonzero(regions == k).tolist() for k in range(len(g.partition_))] == plain.leaves
    of_variance = g.remaining_ * g.disagreement_ / model(X).var()
    assert of_variance + 0.02 * len(plain.leaves) == pytest.approx(plain.cost, rel=1e-9)


@pytest.mark.parametrize(
    "make",
    [
        lambda m: gx.frameworks.repid(m, "x0", exact=True),
        lambda m: gx.frameworks.gadget(m, exact=True),
        lambda m: gx.frameworks.fd_trees(m, exact=True),
    ],
)
def test_the_exact_forms_take_numbers_only(make):
    import pandas as pd

    X = pd.DataFrame({"x0": np.arange(60.0), "kind": ["a", "b"] * 30})
    with pytest.raises(gx.InputError, match="'kind'.*nominal.*exact=True"):
        make(lambda X: X["x0"].to_numpy() * (X["kind"] == "a").to_numpy()).fit(X)


def test_an_additive_model_has_one_region_in_every_exact_form():
    X = table_of(3, 80)

    def model(X):
        return np.sin(2 * X[:, 0]) + np.exp(X[:, 1]) - 3 * X[:, 2]

    for g in (
        gx.frameworks.repid(model, "x0", exact=True),
        *(
            gx.frameworks.gadget(model, effect=effect, exact=True)
            for effect in ("pd", "ale", "shap")
        ),
        gx.frameworks.fd_trees(model, exact=True),
    ):
        assert len(g.fit(X).partition_) == 1


EXACT = {
    "repid": lambda m, **o: gx.frameworks.repid(m, "x0", exact=True, **o),
    "vine": lambda m, **o: gx.frameworks.vine(m, "x0", exact=True, **o),
    "gadget": lambda m, **o: gx.frameworks.gadget(m, ["x0"], exact=True, **o),
    "gadget, ale": lambda m, **o: gx.frameworks.gadget(m, effect="ale", exact=True, **o),
    "gadget, shap": lambda m, **o: gx.frameworks.gadget(m, effect="shap", exact=True, **o),
    "fd_trees": lambda m, **o: gx.frameworks.fd_trees(m, exact=True, **o),
}


@pytest.mark.parametrize("name", EXACT)
def test_an_exact_form_takes_all_rows_and_knows_no_chance(name):
    """Whatever the defaults are: none are drawn or held out, and nothing is resampled."""
    X = table_of(0, 1100 if name in ("repid", "vine", "gadget, ale") else 120)
    g = EXACT[name](model_of(0), max_depth=1).fit(X)
    stated = {"search": "greedy", "confidence_level": None, "max_samples": None, "holdout": False}
    again = EXACT[name](model_of(0), max_depth=1, **stated).fit(X)
    assert sum(region.n_samples for region in g.partition_) == len(X)
    assert g.estimate_ is None
    assert [str(rule) for rule in g.partition_.rules] == [
        str(rule) for rule in again.partition_.rules
    ]
    assert g.remaining_ == again.remaining_


@pytest.mark.parametrize("name", ["repid", "vine"])
def test_the_exact_forms_of_one_column_pay_what_the_originals_pay(name):
    """20 points for each row, for curves and for the question, with a few checks; not a row for each pair of rows."""
    X, asked = np.random.default_rng(0).uniform(-1, 1, (500, 6)), []

    def model(X):
        asked.append(len(X))
        return X[:, 0] * np.sign(X[:, 2]) + X[:, 1] * X[:, 3]

    EXACT[name](model, max_depth=2).fit(X)
    assert sum(asked) < 100 * len(X) < len(X) ** 2


@pytest.mark.parametrize(("effect", "rel"), [("pd", 1e-9), ("ale", 1e-9), ("shap", 0.01)])
def test_a_weight_is_a_number_of_rows(effect, rel):
    """Also in cuts along the feature of a curve; SHAP's curves have their knots at quantiles of unweighted rows."""
    X = table_of(1, 60)
    weights = np.random.default_rng(0).integers(1, 4, size=len(X))
    options = {"effect": effect, "exact": True, "max_depth": 2, "min_samples_leaf": 1}
    tree = gx.frameworks.gadget(model_of(1), ["x0", "x1"], **options)
    weighted = tree.fit(X, sample_weight=weights)
    rules, loss = [str(rule) for rule in weighted.partition_.rules], weighted.loss_
    of_regions = weighted.region_losses_
    repeated = tree.fit(np.repeat(X, weights, axis=0))
    assert [str(rule) for rule in repeated.partition_.rules] == rules
    assert repeated.loss_ == pytest.approx(loss, rel=rel)
    np.testing.assert_allclose(repeated.region_losses_, of_regions, rtol=30 * rel)
