"""Simulations of the authors of VINE, REPID and GADGET, with their own data: R's random numbers, drawn in Python.

Their repositories hold the scripts with sizes, formulas and seeds, so that rows are theirs to the last digit where a
seed is given. Models are not: forests and networks of R are fitted again here, with scikit-learn.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

import granite_xai as gx

GRID = gx.Resources(max_grid=20, progress=False)
"""What the originals pay: 20 points of a column."""

UNIT_OF_R = 2.3283064365386963e-10
"""R's 32 random bits times this, about 2^-32, are a uniform number."""


class RandomR:
    """The random numbers of R after ``set.seed(seed)``: Mersenne twister, normals by inversion."""

    def __init__(self, seed: int) -> None:
        state = np.empty(625, dtype=np.uint32)
        for place in range(-50, 625):
            seed = (69069 * seed + 1) % 2**32
            if place >= 0:
                state[place] = seed
        self.bits = np.random.MT19937()
        self.bits.state = {"bit_generator": "MT19937", "state": {"key": state[1:], "pos": 624}}

    def uniform(self, n: int, low: float = 0.0, high: float = 1.0) -> np.ndarray:
        """``runif(n, low, high)``."""
        share = self.bits.random_raw(n) * UNIT_OF_R
        return low + (high - low) * share

    def normal(self, n: int, sd: float = 1.0, mean: float = 0.0) -> np.ndarray:
        """``rnorm(n, mean, sd)``: two draws each."""
        coarse, fine = self.uniform(2 * n).reshape(n, 2).T
        return mean + sd * ndtri((np.floor(2.0**27 * coarse) + fine) / 2.0**27)

    def binary(self, n: int, ones: float = 0.5) -> np.ndarray:
        """``sample(c(0, 1), n, replace = TRUE, prob = c(1 - ones, ones))``; equal chances are turned round by R."""
        first = 1.0 if ones >= 0.5 else 0.0
        return np.where(self.uniform(n) <= max(ones, 1 - ones), first, 1.0 - first)


def vine_data() -> tuple[pd.DataFrame, np.ndarray]:
    """500 rows of VINE against REPID: the slope of x2 is 8 or -8 by x3, and 8 more where x1 is above its mean."""
    r = RandomR(1234)
    n = 500
    x1 = r.uniform(n, -1, 1)
    x2 = r.uniform(n, -1, 1)
    x3 = r.binary(n)
    x4 = r.binary(n, 0.3)
    noise = r.normal(n)
    x5 = r.binary(n)
    x6 = r.normal(n, 5.0, 1.0)
    y = 0.2 * x1 - 8 * x2 + 16 * x2 * (x3 == 0) + 8 * x2 * (x1 > x1.mean()) + noise
    return pd.DataFrame({"x1": x1, "x2": x2, "x3": x3, "x4": x4, "x5": x5, "x6": x6}), y


def forest(seed: int, **options: Any) -> RandomForestRegressor:
    """The defaults of R's ranger: the square root of the columns at a split, nodes of five are leaves."""
    return RandomForestRegressor(
        max_features="sqrt", min_samples_split=6, random_state=seed, **options
    )


def vine(runs: int, trees: int = 500) -> list[dict[str, Any]]:
    """VINE's second stage on forests that differ by chance: rule, rows and accuracy (%) of each cluster."""
    X, y = vine_data()
    lines = []
    for seed in range(runs):
        model = forest(seed, n_estimators=trees).fit(X, y)
        vine_fit = gx.frameworks.vine(
            model, "x2", exact=True, grid="equidistant", resources=GRID
        ).fit(X)
        repid_fit = gx.frameworks.repid(
            model, "x2", exact=True, max_depth=2, min_improvement=0.02, resources=GRID
        ).fit(X)
        lines.append(
            {
                "forest": seed,
                "clusters": _clusters(vine_fit),
                "repid": _columns(repid_fit),
                "repid_rules": _rules(repid_fit),
            }
        )
    return lines


def _clusters(g: gx.Granite) -> list[tuple[str, int, int, bool]]:
    """Rule, rows, accuracy in percent and whether it is kept, of each cluster; by column, the largest first."""

    def column_then_size(cluster: dict[str, Any]) -> tuple[str, int]:
        column = cluster["rule"].split()[0]
        return column, -cluster["n_samples"]

    clusters = []
    for cluster in sorted(g.cluster_rules_, key=column_then_size):
        accuracy = round(100 * cluster["accuracy"])
        clusters.append((cluster["rule"], cluster["n_samples"], accuracy, cluster["kept"]))
    return clusters


def xor_data(r: RandomR, n: int, mixed: float = 0.0) -> tuple[pd.DataFrame, np.ndarray]:
    """GADGET's example: the slope of x1 changes its sign at x3 = 0; ``mixed`` of x1 is x3."""
    x2 = r.uniform(n, -1, 1)
    x3 = r.uniform(n, -1, 1)
    x1 = mixed * x3 + (1 - mixed) * r.uniform(n, -1, 1)
    X = pd.DataFrame({"x1": x1, "x2": x2, "x3": x3})
    return X, true_xor(X) + r.normal(n, 0.3)


def true_xor(X: Any) -> np.ndarray:
    """What the rows of GADGET's example come from, without noise."""
    x1, _, x3 = np.asarray(X, dtype=float).T
    return np.where(x3 > 0, 3 * x1, -3 * x1) + x3


def network(X: pd.DataFrame, y: np.ndarray, seed: int) -> MLPRegressor:
    """Ten logistic units with decay, as the authors' nnet."""
    model = MLPRegressor(
        hidden_layer_sizes=(10,),
        activation="logistic",
        solver="lbfgs",
        alpha=1e-3,
        max_iter=1000,
        random_state=seed,
    )
    with warnings.catch_warnings():
        # The authors' network stops after as many steps.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def gadget(networks: int) -> list[dict[str, Any]]:
    """The example of Section 4 on the authors' 500 rows: true function, then networks; left: of the original's loss."""
    X, y = xor_data(RandomR(123), 500)
    models: dict[str, Any] = {"the function": true_xor}
    for seed in range(networks):
        models[f"network {seed}"] = network(X, y, seed)
    lines = []
    for name, model in models.items():
        for effect in ("pd", "ale", "shap"):
            g = gx.frameworks.gadget(model, effect=effect, exact=True, max_depth=3).fit(X)
            left = 0.0
            if g.loss_ > 0:
                left = float(g.region_losses_.sum() / g.loss_)
            lines.append({"model": name, "effect": effect, "regions": _rules(g), "left": left})
    return lines


def linear_data(rng: np.random.Generator, n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """REPID, linear: x2 interacts with x3, x4 and, most of all, x5."""
    X = pd.DataFrame({f"x{i}": rng.uniform(-1, 1, n) for i in range(1, 6)})
    X["x6"] = rng.normal(0, 2, n)
    X["x7"] = rng.normal(2, 3, n)
    y = X["x1"] + 4 * X["x2"] + X["x2"] * (3 * X["x3"] + 5 * X["x4"] + 7 * X["x5"])
    return X, (y + rng.normal(0, 0.1 * y.std(), n)).to_numpy()


def nonlinear_data(rng: np.random.Generator, n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """REPID, not linear: x2 interacts with x4, x6 and x8, and with x1 and x3 together."""
    X = pd.DataFrame({f"x{i}": rng.uniform(-1, 1, n) for i in range(1, 11)})
    x1, x2, x3, x4, x5, x6, _, x8 = (X[f"x{i}"] for i in range(1, 9))
    y = 6 * x1 + x2**2 - np.pi**x3 + np.exp(-2 * x4**2) + 1 / (2 + x5.abs()) + x6 * np.log(x6.abs())
    y += (
        2 * (x1 > 0) * (x2 > 0) * x3
        + 2 * (x4 > 0) * x2
        + 4 * (x2 * (x2 > 0)) ** x6.abs()
        + (x2 + x8).abs()
    )
    return X, (y + rng.normal(0, 0.5, n)).to_numpy()


def found_columns(runs: int, n: int = 2000, trees: int = 100) -> list[dict[str, Any]]:
    """How often each column is the first that REPID and GADGET-PD cut, over rows and models drawn anew."""
    pairs = PolynomialFeatures(2, interaction_only=True, include_bias=False)

    def model_of_pairs(seed: int) -> Any:
        return make_pipeline(pairs, LinearRegression())

    def small_forest(seed: int) -> Any:
        return forest(seed, n_estimators=trees)

    settings: dict[str, tuple[Callable[..., Any], Callable[[int], Any]]] = {
        "REPID, linear, model of all pairs": (linear_data, model_of_pairs),
        "REPID, linear, forest": (linear_data, small_forest),
        "REPID, not linear, forest": (nonlinear_data, small_forest),
    }
    lines = []
    for name, (draw_data, make_learner) in settings.items():
        first_cuts = []
        for seed in range(runs):
            X, y = draw_data(np.random.default_rng(seed), n)
            model = make_learner(seed).fit(X, y)
            g = gx.frameworks.repid(model, "x2", exact=True, max_depth=1, resources=GRID).fit(X)
            first_cuts.append(_first_cut(g))
        lines.append({"setting": name, "rows": n, "runs": runs, "first cut": _counted(first_cuts)})
    for mixed in (0.0, 0.7):
        first_cuts = []
        for seed in range(runs):
            X, y = xor_data(RandomR(seed + 1), n // 2, mixed)
            g = gx.frameworks.gadget(network(X, y, 0), exact=True, max_depth=1).fit(X)
            first_cuts.append(_first_cut(g))
        name = f"GADGET-PD, {mixed:.0%} of x1 is x3, network"
        lines.append(
            {"setting": name, "rows": n // 2, "runs": runs, "first cut": _counted(first_cuts)}
        )
    return lines


def _first_cut(g: gx.Granite) -> str:
    """The first column that rules mention."""
    columns = _columns(g)
    return columns[0] if columns else "none"


def _counted(names: Sequence[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in Counter(names).most_common())


def _rules(g: gx.Granite) -> str:
    return "; ".join(f"{region.rule} ({region.n_samples})" for region in g.partition_)


def _columns(g: gx.Granite) -> list[str]:
    """Columns that the rules mention, in their order."""
    columns: dict[str, None] = {}
    for rule in g.partition_.rules:
        columns |= dict.fromkeys(name for name, _ in rule.conditions)
    return list(columns)
