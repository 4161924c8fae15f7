"""Evaluations of a function on some rows, asked as the method page writes them down."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from granite_xai.algebra.disagreement import ResolvedQuestion, questions
from granite_xai.algebra.influence import Interactions
from granite_xai.algebra.objective import ResolvedObjective
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.evaluations.evaluations import Coalition, Evaluations, Matrix
from granite_xai.search.growth import Tree
from granite_xai.search.problem import Problem
from granite_xai.tables import read_table


def waves(x: np.ndarray) -> np.ndarray:
    """Interactions of every pair of columns, none of one direction only."""
    x0, x1, x2 = x[:, :3].T
    return np.sin(2 * x0 * x1) + x1 * np.cos(2 * x2) + x0 * x2 + 2 * x0 + x1**2


def steps(x: np.ndarray) -> np.ndarray:
    """The slope of x0 depends on x1, and that of x2 on both."""
    x0, x1, x2 = x[:, :3].T
    return np.where(x1 > 0.2, 4 * x0, -2 * x0 + 3 * x2) + 2 * x2 * (x0 > -0.3)


def drawn(n: int, seed: int = 0, d: int = 3, places: int = 9) -> np.ndarray:
    """Rows (n, d) of so many values a column; the second column follows the first."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(n, d))
    x[:, 1] = 0.6 * x[:, 1] + 0.4 * x[:, 0]
    return np.round(x * places) / places


def named(name: str, n_columns: int, order: int = 1) -> ResolvedQuestion:
    """A question of the catalog about every column, or about every set of so many columns."""
    question = questions()[name]
    if order > 1:
        question = question.with_influence(Interactions(order))
    return question.resolve(read_table(np.zeros((2, n_columns)), missing="error"), pairs=0)


def evaluations_of(function: Any, x: np.ndarray, **fields: Any) -> Evaluations:
    """Everything that questions about single columns need."""
    n, d = x.shape
    offset = function(x).mean()
    matrices = {}
    for column in range(d):
        values, codes = np.unique(x[:, column], return_inverse=True)
        by_value = []
        for value in values:
            moved = x.copy()
            moved[:, column] = value
            by_value.append(function(moved) - offset)
        matrices[Coalition([column])] = Matrix(np.column_stack(by_value), codes.reshape(-1))
    return Evaluations(
        f=function(x) - offset,
        offset=offset,
        weights=fields.pop("weights", np.ones(n)),
        y=fields.pop("y", None),
        matrices=matrices,
        everything=frozenset(range(d)),
        **fields,
    )


def problem_of(
    function: Any,
    x: np.ndarray,
    question: str = "ice-pdp",
    tree: Tree | None = None,
    root: float | None = None,
    **fields: Any,
) -> Problem:
    """A problem that takes the sample for the world; its disagreement on all rows may be told."""
    evaluations = evaluations_of(function, x, **fields)
    measure = named(question, x.shape[1])
    if root is None:
        root = measure.regional(evaluations, RegionWeights.whole(evaluations.weights))[0, 0]
    table = read_table(
        pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])]), missing="error"
    )
    return Problem(
        sample=SimpleNamespace(
            rows=SimpleNamespace(table=table, weights=evaluations.weights), outputs=(evaluations,)
        ),
        measures=(measure,),
        shares=ResolvedObjective(
            factors=np.array([1 / root]),
            floors=np.array([1e-20]),
            total=float(evaluations.weights.sum()),
        ),
        tree=tree or Tree(),
    )
