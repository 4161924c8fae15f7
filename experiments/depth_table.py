"""Table of disagreement by depth: three models, four questions, depths 0 to 3, five seeds (paper, Table 2).

Regions are learned on training rows and measured on test rows, as the paper prints it, as its published code measures
it, and with each region weighted once.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

import granite_xai as gx
from experiments import depth_words as words
from experiments.depth_words import ALPHA, DEPTHS, MODELS, QUESTIONS, STEPS
from experiments.models import bike
from experiments.published import AS_PUBLISHED, FiveBins, Remembered
from experiments.results import Result

ROWS = {
    "gbt": (1000, 2000),
    "mlp": (1000, 2000),
    "rf": (500, 1000),
}  # training and test rows of the paper's code
CONDITIONAL = ("mplot-pdp", "cfi-pfi")  # with bins


def run(quick: bool) -> Result:
    """All cells, the table beside the paper's, and what each part of the published protocol does."""
    models = ("gbt",) if quick else tuple(MODELS)
    seeds = (0,) if quick else tuple(range(5))
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", gx.BinWarning
        )  # small regions leave few rows in a bin: that is what is shown
        cells = [
            cell for kind, seed in product(models, seeds) for cell in measured(kind, seed, quick)
        ]
        cells.sort(
            key=lambda cell: list(QUESTIONS).index(cell["question"])
        )  # as the paper prints them
        forest = (
            []
            if quick
            else [
                c
                for seed in seeds
                for c in measured("rf", seed, rows=ROWS["gbt"], asked=CONDITIONAL)
            ]
        )
        random = random_regions(0, quick)
        every_row = [] if quick else [cell for seed in seeds for cell in on_every_row("gbt", seed)]
    spread, larger = summary(cells), summary(forest) if forest else None
    full = pd.DataFrame(every_row)
    data = {
        "cells": cells,
        "forest": forest,
        "every_row": every_row,
        "alpha": ALPHA,
        "paper": words.paper_rows(),
    }
    data["random_regions"] = random
    return Result(
        "Table of disagreement by depth",
        words.text(spread, larger, full, random, len(seeds)),
        data,
        {"depth": words.figure(spread)},
        words.differences(spread, larger),
    )


def summary(cells: list[dict[str, Any]]) -> pd.DataFrame:
    """Mean and standard deviation over the seeds."""
    grouped = pd.DataFrame(cells).groupby(["question", "model", "depth"], sort=False)[
        [*STEPS, "regions"]
    ]
    spread = grouped.agg(["mean", lambda column: column.std(ddof=1)])
    spread.columns = [f"{step} {kind}" for step in [*STEPS, "regions"] for kind in ("mean", "sd")]
    return spread


def measured(
    kind: str,
    seed: int,
    quick: bool = False,
    rows: tuple[int, int] | None = None,
    asked: Sequence[str] = tuple(QUESTIONS),
) -> list[dict[str, Any]]:
    """Every question and depth for one model, on as many rows as the paper's code uses."""
    prepared = bike(kind, seed, quick)
    n_train, n_test = rows or ((150, 250) if quick else ROWS[kind])
    rng = np.random.default_rng(seed)
    train, test = (
        _some(prepared.X_train, prepared.y_train, n_train, rng),
        _some(*prepared[2::2], n_test, rng),
    )
    model = Remembered(prepared.model)
    depths = (1, 2) if quick else DEPTHS
    return [
        {
            "model": kind,
            "seed": seed,
            "question": question,
            "depth": depth,
            **_cell(model, question, depth, train, test),
        }
        for question, depth in product(asked, depths)
    ]


def _some(
    X: pd.DataFrame, y: pd.Series, n: int, rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.Series]:
    rows = rng.choice(len(X), size=n, replace=False)
    return X.iloc[rows], y.iloc[rows]


def _cell(model: Any, question: str, depth: int, train: Any, test: Any) -> dict[str, Any]:
    """What is left by our definition, and by the published one, one change after the other."""
    ours = _fitted(model, question, depth).fit(*train)
    held_out = ours.evaluate(*test)
    cell = {"regions": len(ours.partition_), "once": held_out.remaining, "twice": _twice(held_out)}
    theirs = _fitted(model, _published(question), depth).fit(*train)
    cell["defined"] = _twice(theirs.evaluate(*test)) if question != "ice-pdp" else cell["twice"]
    cell["published"] = (
        _relearned(model, question, theirs, test) if question in CONDITIONAL else cell["defined"]
    )
    return cell


def _fitted(model: Any, question: Any, depth: int) -> gx.Granite:
    return gx.Granite(model, question, max_depth=depth, alpha=ALPHA, **AS_PUBLISHED)


def _published(question: str) -> Any:
    """The question as the published code computes it."""
    if question == "pfi-risk":
        return gx.question(question, pointwise=True)
    return (
        question
        if question == "ice-pdp"
        else gx.question(question, conditional=gx.Conditional(FiveBins()))
    )


def _twice(held_out: gx.Evaluation) -> float:
    """Sum of (n_k/N)² R_k: the frame's disagreement is (n_k/N) R_k already."""
    regions = held_out.frame()
    return float(
        (regions["fraction"] * regions["disagreement"]).sum() / held_out.global_disagreement
    )


def random_regions(seed: int, quick: bool) -> list[dict[str, Any]]:
    """Regions drawn by lot, which change nothing: what both weightings say of them."""
    prepared, rng = bike("gbt", seed, quick), np.random.default_rng(seed)
    X = prepared.X_test.head(200 if quick else 1000)

    def root(rows: pd.DataFrame) -> float:
        return float(_fitted(prepared.model, "ice-pdp", 0).fit(rows).disagreement_)

    lines = []
    for count in (2, 4, 8):
        drawn = rng.integers(count, size=len(X))
        parts = [(np.mean(drawn == k), root(X[drawn == k]) / root(X)) for k in range(count)]
        once, twice = (sum(share**power * left for share, left in parts) for power in (1, 2))
        lines.append(
            {"regions drawn by lot": count, "weighted twice": twice, "weighted once": once}
        )
    return lines


def _relearned(model: Any, question: str, fitted: gx.Granite, test: Any) -> float:
    """The same with bins that each region's test rows get anew: R_k is the root of a fit on these rows alone."""
    X, y = test
    regions = fitted.apply(X)

    def root(rows: Any) -> float:
        return float(_fitted(model, _published(question), 0).fit(X[rows], y[rows]).disagreement_)

    parts = [np.mean(regions == k) ** 2 * root(regions == k) for k in np.unique(regions)]
    return float(sum(parts) / root(regions >= 0))


def on_every_row(kind: str, seed: int) -> list[dict[str, Any]]:
    """Depth 3, regions learned on all training rows and measured on all test rows."""
    model, X_train, X_test, y_train, y_test = bike(kind, seed)
    cells = []
    for question in QUESTIONS:
        granite = _fitted(model, question, 3).fit(X_train, y_train)
        left = granite.evaluate(X_test, y_test).remaining
        seconds = granite.diagnostics_["seconds"]["total"]
        cells.append(
            {"model": kind, "seed": seed, "question": question, "once": left, "seconds": seconds}
        )
    return cells
