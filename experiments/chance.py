"""What the rule of chance does: false regions, power, bias and coverage (tables "Chance" of RESULTS.md).

Run ``python experiments/chance.py false|shuffled|power|coverage [repeats]``; each prints one table.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import granite_xai as gx

warnings.simplefilter("ignore")
CHEAP = [q for q in gx.questions() if q not in ("shap-pdp", "ice-shap", "cshap-shap", "sage-risk")]


def tables(d: int, n: int, seed: int) -> Iterator[tuple[str, Any]]:
    """Independent columns: normal, heavy-tailed, binary, and all of them mixed."""
    rng = np.random.default_rng(seed)
    normal, heavy = rng.normal(size=(n, d)), rng.standard_t(3, size=(n, d))
    binary = rng.integers(0, 2, size=(n, d)).astype(float)
    yield "normal", normal
    yield "heavy", heavy
    yield "binary", binary
    mixed = np.where(np.arange(d) % 3 == 0, normal, np.where(np.arange(d) % 3 == 1, heavy, binary))
    yield "mixed", mixed


def additive(X: Any) -> Any:
    """A model without interactions."""
    return X @ np.linspace(1.0, 0.2, X.shape[1]) + np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2


def false_regions(repeats: int) -> None:
    """Percent of samples with more than one region where there is nothing: by question, table, d and N."""
    for question in gx.questions():
        dear = question not in CHEAP
        for d in (3,) if dear else (3, 8):
            for n in (60, 200) if dear else (60, 200, 1000):
                line = {}
                for kind, _ in tables(d, n, 0):
                    found = 0
                    count = repeats if n < 1000 else max(repeats // 4, 1)
                    for seed in range(count):
                        X = dict(tables(d, n, seed))[kind]
                        y = additive(X) + np.random.default_rng(10_000 + seed).normal(size=n)
                        g = gx.Granite(additive, question, max_samples=None, holdout=False).fit(X, y)
                        found += len(g.partition_) > 1
                    line[kind] = round(100 * found / count, 1)
                print(question, f"d={d} N={n}", line, flush=True)


def shuffled_bike(repeats: int) -> None:
    """Percent of samples of 300 rows with regions, bike rentals with every column shuffled."""
    model, X, _ = bike()
    for question in ("mplot-pdp", "cfi-pfi", "csobol-sobol"):
        found = 0
        for seed in range(repeats):
            rng = np.random.default_rng(seed)
            rows = rng.choice(len(X), size=300, replace=False)
            shuffled = X.iloc[rows].apply(lambda column, rng=rng: rng.permutation(column.to_numpy()))
            y = model.predict(shuffled) + rng.normal(size=300)
            found += len(gx.Granite(model, question, max_samples=None, holdout=False).fit(shuffled, y).partition_) > 1
        print(question, "shuffled bike, N=300:", f"{100 * found / repeats:.1f} %", flush=True)


def toys() -> dict[str, tuple[str, Callable[[Any], Any], str]]:
    """Question, model and the column of the right first split."""
    return {
        "step": ("ice-pdp", lambda X: X[:, 0] * np.sign(X[:, 2]), "x2"),
        "step in three": ("ice-pdp", lambda X: np.where(X[:, 2] > 0.5, 2 * X[:, 0], X[:, 1]), "x2"),
        "step, variance": ("sobol", lambda X: X[:, 0] * np.sign(X[:, 2]), "x2"),
        "step, risk": ("pfi-risk", lambda X: 2 * X[:, 0] * (X[:, 2] > 0), "x2"),
        "step, additivity": ("coe", lambda X: X[:, 0] * (X[:, 2] > 0), "x2"),
        "dependence": ("mplot-pdp", lambda X: X[:, 0] + X[:, 1], "x0 or x1"),
    }


def power(repeats: int) -> None:
    """Percent of samples of 500 rows whose first split is the right one, with the rule of chance and without."""
    for name, (question, model, column) in toys().items():
        counts = []
        for level in (0.95, None):
            right = 0
            for seed in range(repeats):
                rng = np.random.default_rng(seed)
                X = rng.normal(size=(500, 3))
                if question == "mplot-pdp":
                    X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
                y = model(X) + 0.3 * rng.normal(size=500)
                options = {"confidence_level": level, "max_samples": None, "holdout": False}
                root = gx.Granite(model, question, **options).fit(X, y).partition_.root
                right += getattr(root, "column", "none") in column
            counts.append(100 * right / repeats)
        print(f"{name}: {question}, N=500: {counts[0]:.0f} % with the rule, {counts[1]:.0f} % without", flush=True)


def bike() -> tuple[Any, Any, Any]:
    """A boosted model of bike rentals, with its table."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    X, y = gx.datasets.load_bike_sharing(as_frame=True)
    return HistGradientBoostingRegressor(max_iter=60, random_state=0).fit(X, y), X, y


REGIONS = ["workingday ≤ 0", "workingday > 0 and hr ≤ 6", "workingday > 0 and hr > 6"]


def bias_and_coverage(repeats: int) -> None:
    """Bike rentals, three fixed regions, against a large sample: bias of the share left in points, and coverage."""
    model, X, y = bike()
    y = np.asarray(y)
    for question in ("ice-pdp", "mplot-pdp", "pfi-risk", "cfi-pfi"):
        fixed = gx.Granite(
            model, question, partitioner=gx.partitioners.Given(REGIONS), max_samples=6000, holdout=False
        ).fit(X, y)
        truth = fixed.estimate_.remaining
        for n in (300, 1000):
            found = []
            for seed in range(repeats):
                rows = np.random.default_rng(seed).choice(len(X), size=n, replace=False)
                found.append(fixed.evaluate(X.iloc[rows], y[rows]))
            corrected = np.array([each.estimate.remaining for each in found])
            covered = np.mean([each.estimate.low <= truth <= each.estimate.high for each in found])
            plug_in = np.mean([each.remaining for each in found]) - truth
            print(
                f"{question}, N={n}: truth {truth:.3f}, bias {100 * np.nanmean(corrected - truth):+.1f} points "
                f"(plug-in {100 * plug_in:+.1f}), 95 % intervals cover {100 * covered:.0f} %",
                flush=True,
            )


PARTS: dict[str, Callable[[int], None]] = {
    "false": false_regions,
    "shuffled": shuffled_bike,
    "power": power,
    "coverage": bias_and_coverage,
}

if __name__ == "__main__":
    PARTS[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 20)
