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

ROWS = {"gbt": (1000, 2000), "mlp": (1000, 2000), "rf": (500, 1000)}
"""Training and test rows of the paper's code."""

CONDITIONAL = ("mplot-pdp", "cfi-pfi")
"""Questions with bins."""


def run(quick: bool) -> Result:
    """All cells, the table beside the paper's, and what each part of the published protocol does."""
    models = ("gbt",) if quick else tuple(MODELS)
    seeds = (0,) if quick else tuple(range(5))
    cells: list[dict[str, Any]] = []
    forest: list[dict[str, Any]] = []
    every_row: list[dict[str, Any]] = []
    with warnings.catch_warnings():
        # Small regions leave few rows in a bin: that is what is shown.
        warnings.simplefilter("ignore", gx.BinWarning)
        for kind, seed in product(models, seeds):
            cells += measure(kind, seed, quick)
        if not quick:
            for seed in seeds:
                forest += measure("rf", seed, rows=ROWS["gbt"], questions=CONDITIONAL)
                every_row += on_every_row("gbt", seed)
        random = random_regions(0, quick)
    order_of_paper = list(QUESTIONS)
    cells.sort(key=lambda cell: order_of_paper.index(cell["question"]))
    spread = summary(cells)
    larger = summary(forest) if forest else None
    data = {
        "cells": cells,
        "forest": forest,
        "every_row": every_row,
        "alpha": ALPHA,
        "paper": words.paper_rows(),
        "random_regions": random,
    }
    return Result(
        "Table of disagreement by depth",
        words.text(spread, larger, pd.DataFrame(every_row), random, len(seeds)),
        data,
        {"depth": words.figure(spread)},
        words.differences(spread, larger),
    )


def summary(cells: list[dict[str, Any]]) -> pd.DataFrame:
    """Mean and standard deviation over the seeds."""
    figures = [*STEPS, "regions"]
    grouped = pd.DataFrame(cells).groupby(["question", "model", "depth"], sort=False)[figures]
    means = grouped.mean()
    deviations = grouped.agg(lambda figures_of_seeds: figures_of_seeds.std(ddof=1))
    spread = {}
    for figure in figures:
        spread[f"{figure} mean"] = means[figure]
        spread[f"{figure} sd"] = deviations[figure]
    return pd.DataFrame(spread)


def measure(
    kind: str,
    seed: int,
    quick: bool = False,
    rows: tuple[int, int] | None = None,
    questions: Sequence[str] = tuple(QUESTIONS),
) -> list[dict[str, Any]]:
    """Every question and depth for one model.

    Parameters
    ----------
    kind, seed : str, int
        Of the model.
    quick : bool
    rows : tuple of two int, optional
        Training and test rows; None: as many as the paper's code uses.
    questions : sequence of str
    """
    prepared = bike(kind, seed, quick)
    depths = DEPTHS
    n_train, n_test = rows or ROWS[kind]
    if quick:
        depths = (1, 2)
        n_train, n_test = (150, 250)
    rng = np.random.default_rng(seed)
    train = _draw_rows(prepared.X_train, prepared.y_train, n_train, rng)
    test = _draw_rows(prepared.X_test, prepared.y_test, n_test, rng)
    model = Remembered(prepared.model)
    cells = []
    for question, depth in product(questions, depths):
        cell = {"model": kind, "seed": seed, "question": question, "depth": depth}
        cells.append(cell | _shares_left(model, question, depth, train, test))
    return cells


def _draw_rows(
    X: pd.DataFrame, y: pd.Series, n: int, rng: np.random.Generator
) -> tuple[pd.DataFrame, pd.Series]:
    rows = rng.choice(len(X), size=n, replace=False)
    return X.iloc[rows], y.iloc[rows]


def _shares_left(model: Any, question: str, depth: int, train: Any, test: Any) -> dict[str, Any]:
    """What is left by our definition, and by the published one, one change after the other."""
    ours = _unfitted(model, question, depth).fit(*train)
    on_test_rows = ours.evaluate(*test)
    weighted_twice = _weighted_twice(on_test_rows)
    theirs = _unfitted(model, _published(question), depth).fit(*train)
    as_defined = weighted_twice
    if question != "ice-pdp":
        as_defined = _weighted_twice(theirs.evaluate(*test))
    as_published = as_defined
    if question in CONDITIONAL:
        as_published = _with_new_bins(model, question, theirs, test)
    return {
        "regions": len(ours.partition_),
        "once": on_test_rows.remaining,
        "twice": weighted_twice,
        "defined": as_defined,
        "published": as_published,
    }


def _unfitted(model: Any, question: Any, depth: int) -> gx.Granite:
    return gx.Granite(model, question, max_depth=depth, alpha=ALPHA, **AS_PUBLISHED)


def _published(question: str) -> Any:
    """The question as the published code computes it."""
    if question == "ice-pdp":
        return question
    if question == "pfi-risk":
        return gx.question(question, pointwise=True)
    return gx.question(question, conditional=gx.Conditional(FiveBins()))


def _weighted_twice(evaluation: gx.Evaluation) -> float:
    """Sum of (n_k/N)² R_k as a share: the frame's disagreement is (n_k/N) R_k already."""
    regions = evaluation.frame()
    weighted = regions["fraction"] * regions["disagreement"]
    return float(weighted.sum() / evaluation.global_disagreement)


def random_regions(seed: int, quick: bool) -> list[dict[str, Any]]:
    """Regions drawn by lot, which change nothing: what both weightings say of them."""
    prepared = bike("gbt", seed, quick)
    rng = np.random.default_rng(seed)
    X = prepared.X_test.head(200 if quick else 1000)

    def disagreement(rows: pd.DataFrame) -> float:
        return float(_unfitted(prepared.model, "ice-pdp", 0).fit(rows).disagreement_)

    on_all_rows = disagreement(X)
    lines = []
    for n_regions in (2, 4, 8):
        regions = rng.integers(n_regions, size=len(X))
        once = 0.0
        twice = 0.0
        for region in range(n_regions):
            share_of_rows = np.mean(regions == region)
            left = disagreement(X[regions == region]) / on_all_rows
            once += share_of_rows * left
            twice += share_of_rows**2 * left
        lines.append(
            {"regions drawn by lot": n_regions, "weighted twice": twice, "weighted once": once}
        )
    return lines


def _with_new_bins(model: Any, question: str, fitted: gx.Granite, test: Any) -> float:
    """The same with bins that each region's test rows get anew: R_k is what a fit on these rows alone finds."""
    X, y = test
    regions = fitted.apply(X)

    def disagreement(is_used: Any) -> float:
        unfitted = _unfitted(model, _published(question), 0)
        return float(unfitted.fit(X[is_used], y[is_used]).disagreement_)

    weighted_twice = 0.0
    for region in np.unique(regions):
        is_inside = regions == region
        weighted_twice += np.mean(is_inside) ** 2 * disagreement(is_inside)
    every_row = np.ones(len(regions), dtype=bool)
    return float(weighted_twice / disagreement(every_row))


def on_every_row(kind: str, seed: int) -> list[dict[str, Any]]:
    """Depth 3, regions learned on all training rows and measured on all test rows."""
    model, X_train, X_test, y_train, y_test = bike(kind, seed)
    cells = []
    for question in QUESTIONS:
        granite = _unfitted(model, question, 3).fit(X_train, y_train)
        left = granite.evaluate(X_test, y_test).remaining
        seconds = granite.diagnostics_["seconds"]["total"]
        cells.append(
            {"model": kind, "seed": seed, "question": question, "once": left, "seconds": seconds}
        )
    return cells
