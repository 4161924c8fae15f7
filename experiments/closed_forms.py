"""Closed forms of the illustration's toy, ``F = 3 x1 x2 + x3 + 2 x4``, and how far the package is from them."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import granite_xai as gx

COLUMNS = ["x1", "x2", "x3", "x4"]


def effects(
    panel: str, method: str, rows: np.ndarray, mean_x3: np.ndarray, one_sided: bool
) -> np.ndarray:
    """Closed forms of the effects of x1 to x4.

    Parameters
    ----------
    panel : str
        The condition of a region: columns that it names are constant there.
    method : "marginal SHAP", "conditional SHAP" or "PredDiff"
    rows : array of shape (n, 4)
    mean_x3 : array of shape (n,)
        E[x3 | x4].
    one_sided : bool
        Whether it is 0, as in the published game.

    Returns
    -------
    array of shape (n, 4)
    """
    x1, x2, x3, x4 = rows.T
    zero = np.zeros(len(rows))
    interaction = 3 * x1 * x2
    if "x2" in panel:
        of_x1 = interaction
        of_x2 = zero
    elif method == "PredDiff":
        of_x1 = interaction
        of_x2 = interaction
    else:
        of_x1 = interaction / 2
        of_x2 = interaction / 2
    mu = zero if one_sided else mean_x3
    if "x3" in panel:
        of_x3 = zero
        of_x4 = 2 * x4 - 2 * x3
    elif method == "marginal SHAP":
        of_x3 = x3
        of_x4 = 2 * x4
    elif method == "conditional SHAP":
        of_x3 = 2 * x3 - mu / 2
        of_x4 = 2 * x4 - x3 + mu / 2
    else:
        of_x3 = x3 - mu
        of_x4 = 2 * x4 - 2 * x3
    return np.column_stack([of_x1, of_x2, of_x3, of_x4])


def integrated(panel: str, method: str, one_sided: bool) -> np.ndarray:
    """Mean absolute closed form over the distribution: E[x3 | x4] = tanh(x4)."""
    z = np.linspace(-8, 8, 4001)
    density = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
    total = np.zeros(4)
    for x2, x3 in product([-1.0, 1.0], repeat=2):
        # x1 enters the first two columns alone, x4 the last two: one grid serves both integrals.
        x4 = x3 + z
        rows = np.column_stack([z, np.full_like(z, x2), np.full_like(z, x3), x4])
        effects_of_rows = effects(panel, method, rows, np.tanh(x4), one_sided)
        total += density @ np.abs(effects_of_rows) / 4
    return total


def lattice() -> pd.DataFrame:
    """Rows on which conditional means are exact: independent pairs (x1, x2) and (x3, x4), x4 symmetric around x3."""
    steps = np.arange(-4, 5) / 2
    noise = np.repeat(steps, np.rint(8 * np.exp(-(steps**2) / 2)).astype(int))
    places = product([-1.5, -0.5, 0.5, 1.5], [-1.0, 1.0], [-1.0, 1.0], noise)
    return pd.DataFrame([(x1, x2, x3, x3 + z) for x1, x2, x3, z in places], columns=COLUMNS)


class TableEntry(NamedTuple):
    """An entry of the paper's table of closed forms, and what we find there."""

    column: str
    interaction: str
    masking: str
    formula_of_paper: str
    values_of_paper: pd.Series
    our_formula: str
    our_values: pd.Series


def table_entries(X: pd.DataFrame) -> list[TableEntry]:
    """The paper's entries for all of X, read at every row; μ(3|4) is E[x3 | x4]."""
    zero = 0 * X["x1"]
    interaction = 3 * X["x1"] * X["x2"]
    linear = 2 * X["x4"]
    with_mean = linear + X.groupby("x4")["x3"].transform("mean")
    as_in_paper = [
        ("x1", "pure", "marginal", "0", zero),
        ("x1", "pure", "conditional", "0", zero),
        ("x1", "full", "marginal", "3x1x2", interaction),
        ("x1", "full", "conditional", "3x1x2", interaction),
        ("x4", "pure", "marginal", "2x4", linear),
        ("x4", "full", "marginal", "2x4", linear),
        ("x4", "pure", "conditional", "2x4 + μ(3|4)", with_mean),
    ]
    entries = []
    for column, interaction_name, masking, formula, values in as_in_paper:
        entries.append(
            TableEntry(column, interaction_name, masking, formula, values, formula, values)
        )
    corrected = TableEntry(
        column="x4",
        interaction="full",
        masking="conditional",
        formula_of_paper="2x4 + μ(3|4)",
        values_of_paper=with_mean,
        our_formula="**2x4 − 2x3**",
        our_values=linear - 2 * X["x3"],
    )
    return [*entries, corrected]


def table_cells() -> list[dict[str, Any]]:
    """The paper's entries for all of X, and how far the package's effects are from them on the lattice."""
    X = lattice()
    model = gx.datasets.make_toy(n=1).model
    cells = []
    for entry in table_entries(X):
        masking = entry.masking
        if masking == "conditional":
            masking = gx.Conditional("exact")
        influence = gx.Individual([entry.column])
        explainer = gx.Explainer(masking, "local", entry.interaction, influence)
        values = explainer.explain(model, X).values[:, 0]
        cells.append(
            {
                "column": entry.column,
                "interaction": entry.interaction,
                "masking": entry.masking,
                "paper": entry.formula_of_paper,
                "ours": entry.our_formula,
                "from the paper": float(np.abs(values - entry.values_of_paper).max()),
                "from ours": float(np.abs(values - entry.our_values).max()),
            }
        )
    return cells


def regional_distance() -> float:
    """How far the package is from the paper's entries where x2 or x3 is constant."""
    X = lattice()
    model = gx.datasets.make_toy(n=1).model
    largest_distance = 0.0
    maskings = ["marginal", gx.Conditional("exact")]
    for interaction, masking, sign in product(["pure", "full"], maskings, [-1, 1]):
        for column, constant_column, formula in (
            ("x1", "x2", 3 * sign * X["x1"]),
            ("x4", "x3", 2 * X["x4"] - 2 * sign),
        ):
            rows = np.flatnonzero(X[constant_column] == sign)
            explainer = gx.Explainer(masking, "local", interaction, gx.Individual([column]))
            values = explainer.explain(model, X, rows=rows).values[:, 0]
            distances = np.abs(values - formula.to_numpy()[rows])
            largest_distance = max(largest_distance, float(distances.max()))
    return largest_distance
