"""Small models of the paper, with the rows they are explained on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from granite_xai.base.options import whole_number
from granite_xai.base.typing import FloatArray, IntArray

if TYPE_CHECKING:
    import pandas as pd

Seed = int | np.random.Generator | None


@dataclass(frozen=True)
class Toy:
    """Rows and the model that is explained on them.

    Examples
    --------
    >>> toy = make_toy(n=3)
    >>> toy.X.shape, toy.model(toy.X).shape
    ((3, 4), (3,))
    """

    X: pd.DataFrame
    model: Callable[[Any], FloatArray]


def make_toy(n: int = 1000, random_state: Seed = 0) -> Toy:
    """The model of Figure 1: ``F = 3 x1 x2 + x3 + 2 x4``, an interaction and a dependence.

    ``x1 ~ N(0, 1)``; ``x2`` and ``x3`` are -1 or 1 with equal probability; ``x4 ~ N(x3, 1)``.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int, Generator or None
        Where the random numbers come from.

    Examples
    --------
    >>> make_toy().model([[1.0, -1.0, 1.0, 0.5]])
    array([-1.])
    """
    draw = np.random.default_rng(random_state)
    size = whole_number("n", n, at_least=1)
    x1, x2, x3 = draw.normal(size=size), draw.choice([-1.0, 1.0], size), draw.choice([-1.0, 1.0], size)
    return Toy(_frame(np.column_stack([x1, x2, x3, draw.normal(x3)])), _figure_one)


def make_order_two(n: int = 2000, random_state: Seed = 0) -> Toy:
    """The illustration of effects of order two, which vanish beyond pairs once ``x3`` is split at 0.

    ``F = x1 + 0.7 x1 x2`` where ``x3 >= 0`` and ``-x1 + 0.7 x1 x4`` elsewhere; four standard normal columns.

    Parameters
    ----------
    n : int
        Number of rows.
    random_state : int, Generator or None
        Where the random numbers come from.

    Examples
    --------
    >>> make_order_two().model([[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, -1.0, 0.0]])
    array([ 1.7, -1. ])
    """
    draw = np.random.default_rng(random_state)
    return Toy(_frame(draw.normal(size=(whole_number("n", n, at_least=1), 4))), _order_two)


def make_piecewise_linear(n: int = 1000, d: int = 10, depth: int = 3, random_state: Seed = 0) -> Toy:
    """The scalability experiment: Gaussian rows and a linear function in every leaf of a random tree.

    Parameters
    ----------
    n, d : int
        Numbers of rows and columns.
    depth : int
        Depth of the tree; 0 is one linear function.
    random_state : int, Generator or None
        Where the random numbers come from.

    Examples
    --------
    >>> toy = make_piecewise_linear(n=100, d=5, depth=2)
    >>> toy.X.shape, toy.model.coefficients.shape
    ((100, 5), (4, 5))
    """
    draw = np.random.default_rng(random_state)
    width = whole_number("d", d, at_least=1)
    inner = 2 ** whole_number("depth", depth, at_least=0) - 1
    X = _frame(draw.normal(size=(whole_number("n", n, at_least=1), width)))
    splits = draw.integers(width, size=inner), draw.uniform(-1, 1, size=inner)
    return Toy(X, PiecewiseLinear(*splits, draw.normal(size=(inner + 1, width))))


@dataclass(frozen=True)
class PiecewiseLinear:
    """A linear function in every leaf of a complete tree; node k has the children 2k + 1 and 2k + 2.

    Parameters
    ----------
    columns, thresholds : array
        The split of every inner node: right where the column's value is above the threshold.
    coefficients : array of shape (leaves, d)
        One linear function a leaf.

    Examples
    --------
    >>> step = PiecewiseLinear(np.array([0]), np.array([0.0]), np.array([[0.0, 0.0], [0.0, 1.0]]))
    >>> step([[-1.0, 5.0], [1.0, 5.0]])
    array([0., 5.])
    """

    columns: IntArray
    thresholds: FloatArray
    coefficients: FloatArray

    def __call__(self, X: Any) -> FloatArray:
        """Predict: walk down the tree, then apply the leaf's function."""
        rows = np.asarray(X, dtype=float)
        node = np.zeros(len(rows), dtype=np.intp)
        for _ in range(len(self.coefficients).bit_length() - 1):
            value = rows[np.arange(len(rows)), self.columns[node]]
            node = 2 * node + 1 + (value > self.thresholds[node])
        leaf = self.coefficients[node - len(self.columns)]
        return np.asarray(np.einsum("nd,nd->n", rows, leaf))


def _figure_one(X: Any) -> FloatArray:
    x1, x2, x3, x4 = np.asarray(X, dtype=float).T
    return np.asarray(3 * x1 * x2 + x3 + 2 * x4)


def _order_two(X: Any) -> FloatArray:
    x1, x2, x3, x4 = np.asarray(X, dtype=float).T
    return np.asarray(np.where(x3 >= 0, x1 + 0.7 * x1 * x2, -x1 + 0.7 * x1 * x4))


def _frame(values: FloatArray) -> pd.DataFrame:
    """Columns x1, x2, … as in the paper."""
    import pandas as pd

    return pd.DataFrame(values, columns=[f"x{j + 1}" for j in range(values.shape[1])])
