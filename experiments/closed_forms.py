"""Closed forms of the illustration's toy, ``F = 3 x1 x2 + x3 + 2 x4``, and how far the package is from them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd

import granite_xai as gx

COLUMNS = ["x1", "x2", "x3", "x4"]


def effects(
    panel: str, method: str, rows: np.ndarray, mean_x3: np.ndarray, one_sided: bool
) -> np.ndarray:
    """Closed forms; ``mean_x3`` is E[x3 | x4], and the published game takes 0 for it."""
    x1, x2, x3, x4 = rows.T
    both, mu = 3 * x1 * x2, 0 * x4 if one_sided else mean_x3
    share = 1.0 if "x2" in panel or method == "PredDiff" else 0.5
    of_x1, of_x2 = share * both, 0 * x1 if "x2" in panel else share * both
    if "x3" in panel:
        return np.column_stack([of_x1, of_x2, 0 * x3, 2 * x4 - 2 * x3])
    of_x3, of_x4 = {
        "marginal SHAP": (x3, 2 * x4),
        "conditional SHAP": (2 * x3 - mu / 2, 2 * x4 - x3 + mu / 2),
        "PredDiff": (x3 - mu, 2 * x4 - 2 * x3),
    }[method]
    return np.column_stack([of_x1, of_x2, of_x3, of_x4])


def integrated(panel: str, method: str, one_sided: bool) -> np.ndarray:
    """Mean absolute closed form over the distribution: E[x3 | x4] = tanh(x4)."""
    z = np.linspace(-8, 8, 4001)
    density = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    total = np.zeros(4)
    for x2, x3 in product([-1.0, 1.0], repeat=2):
        # x1 enters the first two columns alone, x4 the last two: one grid serves both integrals.
        rows = np.column_stack([z, np.full_like(z, x2), np.full_like(z, x3), x3 + z])
        total += density @ np.abs(effects(panel, method, rows, np.tanh(rows[:, 3]), one_sided)) / 4
    return total


def lattice() -> pd.DataFrame:
    """Rows on which conditional means are exact: independent pairs (x1, x2) and (x3, x4), x4 symmetric around x3."""
    steps = np.arange(-4, 5) / 2
    noise = np.repeat(steps, np.rint(8 * np.exp(-(steps**2) / 2)).astype(int))
    places = product([-1.5, -0.5, 0.5, 1.5], [-1.0, 1.0], [-1.0, 1.0], noise)
    return pd.DataFrame([(x1, x2, x3, x3 + z) for x1, x2, x3, z in places], columns=COLUMNS)


def table_cells() -> list[dict[str, Any]]:
    """The paper's entries for all of X, and how far the package's effects are from them on the lattice."""
    X = lattice()
    mu = X.groupby("x4")["x3"].transform("mean")
    zero, product_term, linear = 0 * X["x1"], 3 * X["x1"] * X["x2"], 2 * X["x4"]
    entries: list[tuple[str, str, str, str, Any, str, Any]] = [
        ("x1", "pure", "marginal", "0", zero, "0", zero),
        ("x1", "pure", "conditional", "0", zero, "0", zero),
        ("x1", "full", "marginal", "3x1x2", product_term, "3x1x2", product_term),
        ("x1", "full", "conditional", "3x1x2", product_term, "3x1x2", product_term),
        ("x4", "pure", "marginal", "2x4", linear, "2x4", linear),
        ("x4", "full", "marginal", "2x4", linear, "2x4", linear),
        ("x4", "pure", "conditional", "2x4 + μ(3|4)", linear + mu, "2x4 + μ(3|4)", linear + mu),
        (
            "x4",
            "full",
            "conditional",
            "2x4 + μ(3|4)",
            linear + mu,
            "**2x4 − 2x3**",
            linear - 2 * X["x3"],
        ),
    ]
    model = gx.datasets.make_toy(n=1).model
    cells = []
    for column, interaction, masking, paper, printed, formula, expected in entries:
        way = gx.Conditional("exact") if masking == "conditional" else masking
        explanation = gx.Explainer(way, "local", interaction, gx.Individual([column])).explain(
            model, X
        )
        found = explanation.values[:, 0]
        cells.append(
            {
                "column": column,
                "interaction": interaction,
                "masking": masking,
                "paper": paper,
                "ours": formula,
                "from the paper": float(np.abs(found - printed).max()),
                "from ours": float(np.abs(found - expected).max()),
            }
        )
    return cells


def regional_distance() -> float:
    """How far the package is from the paper's entries where x2 or x3 is constant."""
    X, model, worst = lattice(), gx.datasets.make_toy(n=1).model, 0.0
    ways = product(["pure", "full"], ["marginal", gx.Conditional("exact")], [-1, 1])
    for interaction, masking, sign in ways:
        for column, by, formula in (
            ("x1", "x2", 3 * sign * X["x1"]),
            ("x4", "x3", 2 * X["x4"] - 2 * sign),
        ):
            rows = np.flatnonzero(X[by] == sign)
            explainer = gx.Explainer(masking, "local", interaction, gx.Individual([column]))
            found = explainer.explain(model, X, rows=rows).values[:, 0]
            worst = max(worst, float(np.abs(found - formula.to_numpy()[rows]).max()))
    return worst
