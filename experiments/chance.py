"""What the rule of chance does: false regions, power, bias and coverage, beside the paper's algorithm."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx
from experiments.results import Result, table

REGIONS = ["workingday ≤ 0", "workingday > 0 and hr ≤ 6", "workingday > 0 and hr > 6"]
ALL_ROWS: dict[str, Any] = {"max_samples": None, "holdout": False}
DEAR = ("shap-pdp", "ice-shap", "cshap-shap", "sage-risk")


def run(quick: bool) -> Result:
    """Simulations of a size that ends in minutes; ``quick``: of a few samples, and without data."""
    repeats = 2 if quick else 20
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gx.GraniteWarning)
        data: dict[str, Any] = {"false regions": false_regions(repeats, quick), "power": power(repeats)}
        if not quick:
            data |= {"shuffled bike": shuffled_bike(repeats), "bike, fixed regions": fixed_regions(repeats)}
            data |= {"cost": cost()}
    parts = [f"{_WORDS[name]}\n\n{table(lines)}" for name, lines in data.items()]
    return Result("Chance", "\n\n".join([*parts, LEARNED]), data)


LEARNED = (
    "**What a practitioner learns.** With the rule of chance a search in noise ends with one region about as "
    "often as the level promises, where the paper's algorithm nearly always finds some; clear effects are "
    "found as before. Shares that are left are corrected to within a few points from 1,000 rows on; "
    "importances among similar rows (`cfi-pfi`) need more than 300, and their intervals say so too late. "
    "Replicates make the search two to four times as long."
)


_WORDS = {
    "false regions": (
        "Percent of 20 samples with more than one region although the model is additive and the columns are "
        "independent (level 95 %, 50 replicates), by kind of column; in brackets the paper's algorithm on five of them."
    ),
    "power": "Percent of samples of 500 rows whose first split is the right one.",
    "shuffled bike": "Bike rentals with every column shuffled, 300 rows: percent of samples with regions.",
    "bike, fixed regions": (
        "Bike rentals, three fixed regions, 20 samples: share left against that of 6,000 rows, in points, and how "
        "often the 95 % interval covers it."
    ),
    "cost": "Seconds of the search on bike rentals, 1000 rows, depth 3, one core, the best of three in one run.",
}


def columns(kind: str, d: int, n: int, rng: np.random.Generator) -> Any:
    """Independent columns: normal, heavy-tailed, binary, or all of them mixed."""
    kinds = ("normal", "heavy", "binary") if kind == "mixed" else (kind,)
    draw: dict[str, Callable[[], Any]] = {
        "normal": lambda: rng.normal(size=n),
        "heavy": lambda: rng.standard_t(3, size=n),
        "binary": lambda: rng.integers(0, 2, size=n).astype(float),
    }
    return np.column_stack([draw[kinds[j % len(kinds)]]() for j in range(d)])


def additive(X: Any) -> Any:
    """A model without interactions."""
    return X @ np.linspace(1.0, 0.2, X.shape[1]) + np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2


def false_regions(repeats: int, quick: bool) -> list[dict[str, Any]]:
    """By question, number of rows and kind of columns; questions about partial effects with three columns only."""
    lines = []
    for question in ("pfi-risk", "mplot-pdp") if quick else gx.questions():
        for n in (60,) if quick else (60, 200):
            line: dict[str, Any] = {"question": question, "N": n}
            for kind in ("normal", "heavy", "binary", "mixed"):
                found = np.zeros(2)
                for seed in range(repeats):
                    rng = np.random.default_rng(seed)
                    X = columns(kind, 3 if question in DEAR else 4, n, rng)
                    y = additive(X) + rng.normal(size=n)
                    for k, level in enumerate((0.95, None)):
                        if k == 0 or seed < 5:
                            g = gx.Granite(additive, question, confidence_level=level, **ALL_ROWS).fit(X, y)
                            found[k] += len(g.partition_) > 1
                line[kind] = f"{100 * found[0] / repeats:.0f} ({100 * found[1] / min(repeats, 5):.0f})"
            lines.append(line)
    return lines


def power(repeats: int) -> list[dict[str, Any]]:
    """With the rule of chance and without."""
    toys: dict[str, tuple[str, Callable[[Any], Any], str]] = {
        "x0 sign(x2)": ("ice-pdp", lambda X: X[:, 0] * np.sign(X[:, 2]), "x2"),
        "2 x0 if x2 > 0.5 else x1": ("ice-pdp", lambda X: np.where(X[:, 2] > 0.5, 2 * X[:, 0], X[:, 1]), "x2"),
        "x0 sign(x2), Sobol": ("sobol", lambda X: X[:, 0] * np.sign(X[:, 2]), "x2"),
        "2 x0 (x2 > 0), risk": ("pfi-risk", lambda X: 2 * X[:, 0] * (X[:, 2] > 0), "x2"),
        "x0 (x2 > 0), additivity": ("coe", lambda X: X[:, 0] * (X[:, 2] > 0), "x2"),
        "x0 + x1, correlation .8": ("mplot-pdp", lambda X: X[:, 0] + X[:, 1], "x0 x1"),
        "x0 + x1, importances": ("cfi-pfi", lambda X: X[:, 0] + X[:, 1], "x0 x1"),
    }
    lines = []
    for name, (question, model, right) in toys.items():
        line: dict[str, Any] = {"model": name, "question": question}
        for words, level in (("with the rule", 0.95), ("without", None)):
            found = 0
            for seed in range(repeats):
                rng = np.random.default_rng(seed)
                X = rng.normal(size=(500, 3))
                if "x1" in right:
                    X[:, 1] = 0.8 * X[:, 0] + 0.6 * X[:, 1]
                y = model(X) + 0.3 * rng.normal(size=500)
                root = gx.Granite(model, question, confidence_level=level, **ALL_ROWS).fit(X, y).partition_.root
                found += getattr(root, "column", "none") in right
            line[words] = f"{100 * found / repeats:.0f}"
        lines.append(line)
    return lines


def bike() -> tuple[Any, Any, Any]:
    """A boosted model of bike rentals, with its table."""
    X, y = gx.datasets.load_bike_sharing(as_frame=True)
    return HistGradientBoostingRegressor(max_iter=60, random_state=0).fit(X, y), X, np.asarray(y)


def shuffled_bike(repeats: int) -> list[dict[str, Any]]:
    """No dependence is left."""
    model, X, _ = bike()
    lines = []
    for question in ("mplot-pdp", "cfi-pfi", "csobol-sobol"):
        found = np.zeros(2)
        for seed in range(repeats):
            rng = np.random.default_rng(seed)
            some = X.iloc[rng.choice(len(X), size=300, replace=False)]
            some = some.apply(lambda column, rng=rng: rng.permutation(column.to_numpy()))
            y = model.predict(some) + rng.normal(size=300)
            for k, level in enumerate((0.95, None)):
                if k == 0 or seed < 5:
                    g = gx.Granite(model, question, confidence_level=level, **ALL_ROWS).fit(some, y)
                    found[k] += len(g.partition_) > 1
        shares = {
            "with the rule": f"{100 * found[0] / repeats:.0f}",
            "without": f"{100 * found[1] / min(repeats, 5):.0f}",
        }
        lines.append({"question": question, **shares})
    return lines


def fixed_regions(repeats: int) -> list[dict[str, Any]]:
    """Bias and coverage."""
    model, X, y = bike()
    lines = []
    for question in ("ice-pdp", "mplot-pdp", "pfi-risk", "cfi-pfi"):
        given = gx.partitioners.Given(REGIONS)
        fixed = gx.Granite(model, question, partitioner=given, max_samples=6000, holdout=False).fit(X, y)
        truth = fixed.estimate_.remaining
        for n in (300, 1000):
            found = []
            for seed in range(repeats):
                rows = np.random.default_rng(seed).choice(len(X), size=n, replace=False)
                found.append(fixed.evaluate(X.iloc[rows], y[rows]))
            corrected = np.array([each.estimate.remaining for each in found])
            covered = np.mean([each.estimate.low <= truth <= each.estimate.high for each in found])
            plug_in = np.nanmean([each.disagreement / each.global_disagreement for each in found]) - truth
            lines.append(
                {
                    "question": question,
                    "N": n,
                    "share left, 6,000 rows": f"{truth:.3f}",
                    "bias, corrected": f"{100 * np.nanmean(corrected - truth):+.1f}",
                    "bias, plug-in": f"{100 * plug_in:+.1f}",
                    "covered": f"{100 * covered:.0f} %",
                }
            )
    return lines


def cost() -> list[dict[str, Any]]:
    """The search with replicates and without, on the same rows."""
    model, X, y = bike()
    rows = np.random.default_rng(0).choice(len(X), size=1000, replace=False)
    lines = []
    for question in ("ice-pdp", "mplot-pdp", "cfi-pfi"):
        seconds = {}
        for words, level in (("with", 0.95), ("without", None)):
            spent = []
            for _ in range(3):
                g = gx.Granite(model, question, confidence_level=level, **ALL_ROWS).fit(X.iloc[rows], y[rows])
                spent.append(g.diagnostics_["seconds"]["search"])
            seconds[words] = min(spent)
        ratio = f"{seconds['with'] / seconds['without']:.1f}"
        lines.append({"question": question, **{key: f"{value:.3f}" for key, value in seconds.items()}, "ratio": ratio})
    return lines
