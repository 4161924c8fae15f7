"""Value functions as the package computes them, taken apart by the definitions of the paper.

A game is a dictionary from every coalition of columns to its value: an array with one number a row (local behavior) or
one number. The operators here are written from the paper's tables and know nothing of the package's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np
import numpy.typing as npt

from granite_xai import Explainer, Individual, Joint

Array = npt.NDArray[np.float64]
Coalition = frozenset[int]
Values = dict[Coalition, Any]


def subsets(columns: Iterable[int]) -> list[Coalition]:
    """All subsets, the empty one first."""
    columns = sorted(columns)
    return [
        frozenset(part) for size in range(len(columns) + 1) for part in combinations(columns, size)
    ]


def value_game(
    masking: Any, behavior: Any, model: Any, X: Any, y: Any = None, rows: Any = None
) -> Values:
    """``nu(T)`` of every coalition: the pure joint effect of T is ``nu(T) - nu(nothing)``."""
    d = np.asarray(X).shape[1]
    nu: Values = {}
    for T in subsets(range(d))[1:]:
        explainer = Explainer(masking, behavior, "pure", Joint({"T": sorted(T)}, features=["T"]))
        explanation = explainer.explain(model, X, y, rows=rows)
        part = explanation.parts[0]
        base = part.base[0] if part.rows is None else part.base
        nu[T] = explanation.values[..., 0] + base
    return {frozenset(): base + 0.0 * nu[T], **nu}


def effects(
    masking: Any, behavior: Any, interaction: Any, model: Any, X: Any, y: Any = None, **options: Any
) -> Array:
    """The package's own effects, one column (or number) for each set."""
    influence: Individual | Joint = options.pop("influence", Individual())
    return (
        Explainer(masking, behavior, interaction, influence).explain(model, X, y, **options).values
    )


def mobius(nu: Mapping[Coalition, Any]) -> Values:
    """Pure interactions: ``Delta(S) = sum over L within S of (-1)^(|S| - |L|) nu(L)``."""
    return {S: sum((-1) ** (len(S) - len(L)) * nu[L] for L in subsets(S)) for S in nu}


def derivative(nu: Mapping[Coalition, Any], S: Coalition, T: Coalition) -> Any:
    """``Delta(S, T)``: the interaction of S in the presence of T."""
    return sum((-1) ** (len(S) - len(L)) * nu[T | L] for L in subsets(S))


def shapley(nu: Mapping[Coalition, Any], i: int) -> Any:
    """The partial effect of one column (Table of the operators)."""
    D = max(nu, key=len)
    d = len(D)
    return sum((nu[S | {i}] - nu[S]) / (d * comb(d - 1, len(S))) for S in subsets(D - {i}))


OPERATORS: dict[str, Callable[[Mapping[Coalition, Any], int], Any]] = {
    "pure": lambda nu, i: nu[frozenset({i})] - nu[frozenset()],
    "partial": shapley,
    "full": lambda nu, i: nu[max(nu, key=len)] - nu[max(nu, key=len) - {i}],
}


def close(ours: Any, theirs: Any, scale: float = 1.0, tolerance: float = 1e-12) -> bool:
    """Whether all numbers agree relative to a scale."""
    return bool(
        np.max(np.abs(np.asarray(ours) - np.asarray(theirs))) <= tolerance * max(scale, 1e-300)
    )


def size_of(nu: Mapping[Coalition, Any]) -> float:
    """Largest value of a game: the scale of its rounding errors."""
    return max(float(np.max(np.abs(value))) for value in nu.values())


class Lookup:
    """A model given by a table of values on a grid: any function of discrete columns."""

    def __init__(self, levels: tuple[int, ...], seed: int) -> None:
        self.values = np.random.default_rng(seed).normal(size=levels)

    def __call__(self, X: Any) -> Array:
        answer: Array = self.values[tuple(np.asarray(X).astype(int).T)]
        return answer


def factorial(levels: tuple[int, ...]) -> Array:
    """Every combination of levels once: the columns are independent."""
    return np.array(list(product(*map(range, levels))), dtype=np.float64)


def dependent(levels: tuple[int, ...], n: int, seed: int) -> Array:
    """Rows of discrete columns that depend on each other."""
    draw = np.random.default_rng(seed)
    first = draw.integers(levels[0], size=n)
    others = [
        np.minimum(level - 1, (first + draw.integers(2, size=n)) % level) for level in levels[1:]
    ]
    return np.column_stack([first, *others]).astype(np.float64)
