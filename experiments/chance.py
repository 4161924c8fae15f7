"""What the rule of chance does: false regions, power, bias and coverage, beside the paper's algorithm."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx
from experiments.results import Result, table

REGIONS = ["workingday ≤ 0", "workingday > 0 and hr ≤ 6", "workingday > 0 and hr > 6"]
ALL_ROWS: dict[str, Any] = {"max_samples": None, "holdout": False}
QUESTIONS = ("ice-pdp", "mplot-pdp", "pfi-risk", "cfi-pfi")
KINDS = ("normal", "heavy", "binary", "mixed")
WORST = (
    ("mplot-pdp", 200, "normal", 200),
    ("mplot-pdp", 1000, "binary", 200),
    ("variance", 1000, "binary", 50),
)
DEAR = ("shap-pdp", "ice-shap", "cshap-shap", "sage-risk")


def run(quick: bool) -> Result:
    """Simulations of a size that ends in minutes; ``quick``: of a few samples, and without data."""
    small = ("false regions", "power")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gx.GraniteWarning)
        return told({name: TABLES[name](quick) for name in (small if quick else TABLES)})


def told(data: dict[str, Any]) -> Result:
    """The tables with what they are about."""
    parts = [f"{_WORDS[name]}\n\n{table(lines)}" for name, lines in data.items()]
    return Result("Chance", "\n\n".join([*parts, LEARNED]), data)


LEARNED = (
    "**What a practitioner learns.** With the rule of chance a search in noise ends with one region about as "
    "often as the level promises (at most 6 % over all kinds of columns, 7.5 % in the worst cell that was looked "
    "at closely), where the paper's algorithm nearly always finds some; clear effects are found as before. What "
    "the regions leave is estimated without much bias already from 300 rows, also with weights and where the "
    "regions were searched, and intervals cover about as often as they promise; not those of importances by risk "
    "at 1,000 rows, 70 to 78 % (squared errors have heavy tails). Judge on about as many rows as search: bins that "
    "6,000 rows made and 300 rows fill put `cfi-pfi` 22 points too high. Replicates make a greedy search about twice "
    "as long (0.3 to 3.3 times in processor time), and ask the model nothing."
)


_WORDS = {
    "false regions": (
        "Percent of 20 samples with more than one region although the model is additive and the columns are "
        "independent (level 95 %, 50 replicates), by kind of column; four columns, three for Shapley values and SAGE; "
        "in brackets the paper's algorithm on five of them."
    ),
    "false regions, 1000 rows": (
        "The same with 1000 rows and eight columns (Shapley values and SAGE: three), 10 samples of each kind."
    ),
    "false regions, again": (
        "Cells of both tables above that are over 10 %, again with more and other samples. `cice-mplot` and "
        "`pfi-risk` have the figures of `mplot-pdp` and `variance` there."
    ),
    "power": "Percent of 20 samples of 500 rows whose first split is the right one.",
    "shuffled bike": "Bike rentals with every column shuffled, 300 rows: percent of 20 samples with regions.",
    "estimates": (
        "The estimate of the share left: a fit on N rows, judged on N others, against 4,000 others (bins and regions "
        "stay those of the fit). Bias in points with its standard error, and how often the 95 % interval covers. "
        "Fixed: three given regions; weighted: the same with weights 3 for rows of the second year; searched: those "
        "that the search finds (samples that show nothing beyond chance are left out); toy: x0 x1 + x2 sign(x1) with "
        "columns of correlation .5, two given regions. Width: the median of the intervals, in points. The 4,000 rows "
        "have an error of their own, half of that of 1,000."
    ),
    "bins of many rows": (
        "The same regions of bike rentals, bins of a fit on 6,000 rows, judged on 300 rows: 20 samples. Cells that "
        "hold 20 rows among 6,000 hold one among 300, and one row shows no variance."
    ),
    "cost": (
        "Seconds of the greedy search with replicates and without, 1000 rows, depth 3, one core, the best of three in "
        "one run; regions without replicates. On a busy machine: read the ratios."
    ),
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


def found_in_noise(
    question: str, kind: str, n: int, d: int, seed: int, level: float | None = 0.95
) -> bool:
    """Whether a search in one sample finds regions; what it finds there is the same for every search."""
    rng = np.random.default_rng(seed)
    X = columns(kind, 3 if question in DEAR else d, n, rng)
    y = additive(X) + rng.normal(size=n)
    options = {"confidence_level": level, **ALL_ROWS} | ({"search": "greedy"} if n > 200 else {})
    return len(gx.Granite(additive, question, **options).fit(X, y).partition_) > 1


def false_regions(quick: bool) -> list[dict[str, Any]]:
    """By question, number of rows and kind of columns; questions about partial effects with three columns only."""
    lines, repeats = [], 2 if quick else 20
    for question in ("pfi-risk", "mplot-pdp") if quick else gx.questions():
        for n in (60,) if quick else (60, 200):
            line: dict[str, Any] = {"question": question, "N": n}
            for kind in KINDS:
                case, few = (question, kind, n, 4), range(min(repeats, 5))
                found = np.mean([found_in_noise(*case, seed) for seed in range(repeats)])
                without = np.mean([found_in_noise(*case, seed, None) for seed in few])
                line[kind] = f"{100 * found:.0f} ({100 * without:.0f})"
            lines.append(line)
    return lines


def false_regions_large(quick: bool) -> list[dict[str, Any]]:
    """The same with many rows and columns."""
    lines = []
    for question in gx.questions():
        shares = [
            np.mean([found_in_noise(question, kind, 1000, 8, seed) for seed in range(10)])
            for kind in KINDS
        ]
        told = {kind: f"{100 * share:.0f}" for kind, share in zip(KINDS, shares, strict=True)}
        lines.append({"question": question, **told, "all": f"{100 * np.mean(shares):.0f}"})
    return lines


def worst_again(quick: bool) -> list[dict[str, Any]]:
    """Where few samples said more than 10 %."""
    lines = []
    for question, n, kind, samples in WORST:
        seeds, d = range(1000, 1000 + samples), 4 if n < 1000 else 8
        found = np.mean([found_in_noise(question, kind, n, d, seed) for seed in seeds])
        told = {"question": question, "N": n, "columns": kind, "samples": samples}
        lines.append({**told, "percent": f"{100 * found:.1f}"})
    return lines


def power(quick: bool) -> list[dict[str, Any]]:
    """With the rule of chance and without."""
    repeats = 2 if quick else 20
    toys: dict[str, tuple[str, Callable[[Any], Any], str]] = {
        "x0 sign(x2)": ("ice-pdp", lambda X: X[:, 0] * np.sign(X[:, 2]), "x2"),
        "2 x0 if x2 > 0.5 else x1": (
            "ice-pdp",
            lambda X: np.where(X[:, 2] > 0.5, 2 * X[:, 0], X[:, 1]),
            "x2",
        ),
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
                root = (
                    gx.Granite(model, question, confidence_level=level, **ALL_ROWS)
                    .fit(X, y)
                    .partition_.root
                )
                found += getattr(root, "column", "none") in right
            line[words] = f"{100 * found / repeats:.0f}"
        lines.append(line)
    return lines


def bike() -> tuple[Any, Any, Any]:
    """A boosted model of bike rentals, with its table."""
    X, y = gx.datasets.load_bike_sharing(as_frame=True)
    return HistGradientBoostingRegressor(max_iter=60, random_state=0).fit(X, y), X, np.asarray(y)


def shuffled_bike(quick: bool) -> list[dict[str, Any]]:
    """No dependence is left."""
    model, X, _ = bike()
    lines, repeats = list[dict[str, Any]](), 20
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


def toy(n: int) -> tuple[Callable[[Any], Any], Any, Any]:
    """Interaction and dependence in three columns."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 3)) @ np.linalg.cholesky(np.full((3, 3), 0.5) + 0.5 * np.eye(3)).T
    X = pd.DataFrame(np.round(4 * X) / 4, columns=["x0", "x1", "x2"])
    model = lambda X: np.asarray(X["x0"] * X["x1"] + X["x2"] * np.sign(X["x1"]))  # noqa: E731
    return model, X, model(X) + 0.5 * rng.normal(size=n)


def estimates(quick: bool) -> list[dict[str, Any]]:
    """Bias and coverage of what users get: given regions, with weights, and searched ones; bike rentals and a toy."""
    rentals = bike()
    fixed, halves = gx.partitioners.Given(REGIONS), gx.partitioners.Given(["x1 ≤ 0", "x1 > 0"])
    weights, even = np.where(rentals[1]["yr"] > 0, 3.0, 1.0), np.ones(20_000)
    cases: dict[str, tuple[Any, Any, Any, int]] = {
        "bike, fixed": (rentals, fixed, even, 40),
        "bike, fixed, weighted": (rentals, fixed, weights, 20),
        "bike, searched": (rentals, None, even, 8),
        "toy, fixed": (toy(20_000), halves, even, 8),
    }
    return [
        {
            "case": case,
            "question": question,
            "N": n,
            **judged(*data, partitioner, weights, repeats, question, n),
        }
        for case, (data, partitioner, weights, repeats) in cases.items()
        for question in QUESTIONS
        for n in (300, 1000)
    ]


def judged(
    model: Any, X: Any, y: Any, partitioner: Any, weights: Any, repeats: int, question: str, n: int
) -> dict[str, str]:
    """Fits on n rows, their estimates on n others and on many others."""
    found = []
    for seed in range(repeats):
        order = np.random.default_rng(seed).permutation(len(X))
        own, others, many = order[:n], order[n : 2 * n], order[2 * n : 2 * n + 4000]
        options = {"partitioner": partitioner, "search": "greedy", **ALL_ROWS}
        g = gx.Granite(model, question, **options).fit(X.iloc[own], y[own], weights[own])
        few, truth = (
            g.evaluate(X.iloc[rows], y[rows], weights[rows]).estimate for rows in (others, many)
        )
        if len(g.partition_) > 1 and np.isfinite(few.low):
            found.append((few.remaining, few.low, few.high, truth.remaining))
    estimate, low, high, truth = np.array(found).T
    gap = 100 * (estimate - truth)
    return {
        "samples": str(len(found)),
        "share left": f"{truth.mean():.3f}",
        "bias": f"{gap.mean():+.1f} ± {gap.std(ddof=1) / np.sqrt(len(gap)):.1f}",
        "covered": f"{100 * np.mean((low <= truth) & (truth <= high)):.0f} %",
        "width": f"{100 * np.median(high - low):.0f}",
    }


def bins_of_many(quick: bool) -> list[dict[str, Any]]:
    """Bias where far fewer rows judge than have made the bins."""
    model, X, y = bike()
    lines = []
    for question in ("mplot-pdp", "cfi-pfi"):
        given = gx.partitioners.Given(REGIONS)
        fixed = gx.Granite(model, question, partitioner=given, max_samples=6000, holdout=False).fit(
            X, y
        )
        truth, found = fixed.estimate_.remaining, []
        for seed in range(20):
            rows = np.random.default_rng(seed).choice(len(X), size=300, replace=False)
            found.append(fixed.evaluate(X.iloc[rows], y[rows]))
        corrected = np.nanmean([each.estimate.remaining for each in found]) - truth
        plug_in = (
            np.nanmean([each.disagreement / each.global_disagreement for each in found]) - truth
        )
        covered = np.mean([each.estimate.low <= truth <= each.estimate.high for each in found])
        bias = {
            "bias, corrected": f"{100 * corrected:+.1f}",
            "bias, plug-in": f"{100 * plug_in:+.1f}",
        }
        lines.append(
            {
                "question": question,
                "share left": f"{truth:.3f}",
                **bias,
                "covered": f"{100 * covered:.0f} %",
            }
        )
    return lines


def cost(quick: bool) -> list[dict[str, Any]]:
    """The search with replicates and without, on the same rows."""
    model, X, y = bike()
    rows, rng = (
        np.random.default_rng(0).choice(len(X), size=1000, replace=False),
        np.random.default_rng(0),
    )
    Z = rng.normal(size=(1000, 10))
    mixed = lambda Z: Z[:, 0] * np.sign(Z[:, 1]) + Z[:, 2] * Z[:, 3] + Z[:, 4:].sum(axis=1)  # noqa: E731
    data = {
        "bike": (model, X.iloc[rows], y[rows]),
        "Gaussian, 10 columns": (mixed, Z, mixed(Z) + rng.normal(size=1000)),
    }
    lines = []
    for name, question in [(name, question) for name in data for question in QUESTIONS]:
        (own, A, b), spent = data[name], {level: list[float]() for level in (0.95, None)}
        for level in list(spent) * 3:
            g = gx.Granite(own, question, search="greedy", confidence_level=level, **ALL_ROWS).fit(
                A, b
            )
            spent[level].append(g.diagnostics_["seconds"]["search"])
        taken, without = min(spent[0.95]), min(spent[None])
        seconds = {
            "with": f"{taken:.3f}",
            "without": f"{without:.3f}",
            "ratio": f"{taken / without:.1f}",
        }
        lines.append({"data": name, "question": question, **seconds, "regions": len(g.partition_)})
    return lines


TABLES: dict[str, Callable[[bool], list[dict[str, Any]]]] = {
    "false regions": false_regions,
    "false regions, 1000 rows": false_regions_large,
    "false regions, again": worst_again,
    "power": power,
    "shuffled bike": shuffled_bike,
    "estimates": estimates,
    "bins of many rows": bins_of_many,
    "cost": cost,
}
