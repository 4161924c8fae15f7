"""Tables that only experiments and benchmarks use: kin8nm, and piecewise linear functions in a random tree."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

FloatArray = np.ndarray[Any, np.dtype[np.float64]]


def load_kin8nm(*, as_frame: bool = True) -> tuple[Any, Any]:
    """Distance of a robot arm's tip from a target, given the angles of its eight joints: 8,192 rows.

    X are the angles ``theta1`` to ``theta8``, y is the distance. Read from ``kin8nm/kin8nm.csv`` in the folder
    GRANITE_DATA, or fetched from OpenML.
    """
    folder = os.environ.get("GRANITE_DATA")
    file = Path(folder or ".") / "kin8nm" / "kin8nm.csv"
    if folder and file.is_file():
        arm = pd.read_csv(file, skipinitialspace=True)
    else:
        from sklearn.datasets import fetch_openml

        arm = fetch_openml(name="kin8nm", version=1, as_frame=True, parser="pandas").frame
    X = arm.drop(columns="y").astype(float)
    y = arm["y"].astype(float)
    if as_frame:
        return X, y
    return X.to_numpy(), y.to_numpy()


@dataclass(frozen=True)
class PiecewiseLinear:
    """A linear function in every leaf of a complete tree; node k has the children 2k + 1 and 2k + 2.

    Parameters
    ----------
    columns, thresholds : arrays of shape (n_leaves - 1,)
        The split of every inner node: to the right where the column's value is above the threshold.
    coefficients : array of shape (n_leaves, n_columns)
        The linear function of each leaf.
    """

    columns: Any
    thresholds: FloatArray
    coefficients: FloatArray

    def __call__(self, X: Any) -> FloatArray:
        """Predict: walk down the tree, then apply the leaf's function."""
        rows = np.asarray(X, dtype=float)
        every_row = np.arange(len(rows))
        depth = len(self.coefficients).bit_length() - 1  # 2^depth leaves
        nodes = np.zeros(len(rows), dtype=np.intp)  # node that each row has come to
        for _ in range(depth):
            values = rows[every_row, self.columns[nodes]]
            goes_right = values > self.thresholds[nodes]
            nodes = 2 * nodes + 1 + goes_right
        leaves = nodes - len(self.columns)  # which are numbered behind the inner nodes
        return np.asarray(np.einsum("nd,nd->n", rows, self.coefficients[leaves]))


def make_piecewise_linear(
    n: int = 1000, d: int = 10, depth: int = 3, random_state: Any = 0
) -> tuple[pd.DataFrame, PiecewiseLinear]:
    """The scalability experiment: n Gaussian rows of d columns and a linear function in every leaf of a random tree."""
    n_leaves = 2**depth
    generator = np.random.default_rng(random_state)
    X = pd.DataFrame(generator.normal(size=(n, d)), columns=[f"x{j + 1}" for j in range(d)])
    model = PiecewiseLinear(
        columns=generator.integers(d, size=n_leaves - 1),
        thresholds=generator.uniform(-1, 1, size=n_leaves - 1),
        coefficients=generator.normal(size=(n_leaves, d)),
    )
    return X, model
