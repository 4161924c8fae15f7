"""The tables of the recorded default fits: any number of rows, drawn from a fixed seed.

All cells come from `random.Random.random`, whose stream is the same in every version of Python.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from golden.tables import COLORS, FIRST_DAY, SIZES, TOWNS, Draws


@dataclass(frozen=True)
class Rows:
    """Rows of a table with what may belong to them."""

    X: Any
    y: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    visits: np.ndarray  # clusters of about ten rows
    towns: np.ndarray  # few clusters


def numbers(draws: Draws) -> np.ndarray:
    """Four independent columns."""
    return np.column_stack([draws.uniform(digits=4) for _ in range(4)])


def dependent(draws: Draws) -> np.ndarray:
    """Four columns: x1 follows x0 closely, x2 follows x0 where x3 is positive."""
    x0 = draws.uniform(digits=4)
    x1 = np.round(0.8 * x0 + 0.2 * draws.uniform(), 4)
    x3 = draws.uniform(digits=4)
    x2 = np.round(np.where(x3 > 0, x0, -0.5 * x0) + 0.3 * draws.uniform(), 4)
    return np.column_stack([x0, x1, x2, x3])


def few_values(draws: Draws) -> np.ndarray:
    """Four columns of whole numbers between -2 and 2."""
    return np.column_stack([draws.places(5) - 2.0 for _ in range(4)])


def wide(draws: Draws) -> np.ndarray:
    """Twelve columns."""
    return np.column_stack([draws.uniform() for _ in range(12)])


def mixed(draws: Draws) -> pd.DataFrame:
    """Numbers, whole numbers, levels, ordered levels, truth values and dates."""
    heat = draws.uniform()
    return pd.DataFrame(
        {
            "heat": heat,
            "hour": (draws.places(5) + 2 * (heat + 1)).astype(int),
            "color": pd.Categorical(draws.levels(COLORS), categories=COLORS),
            "size": pd.Categorical(draws.levels(SIZES), categories=SIZES, ordered=True),
            "open": draws.places(2) == 1,
            "day": FIRST_DAY + draws.places(60).astype("timedelta64[D]").astype("timedelta64[s]"),
        }
    )


def gaps(draws: Draws) -> pd.DataFrame:
    """The same with missing values in four columns."""
    frame = mixed(draws)
    for name in ("heat", "color", "size", "day"):
        frame[name] = frame[name].mask(draws.places(6) == 0)
    return frame


def levels(draws: Draws) -> pd.DataFrame:
    """A column of nine levels and two of numbers."""
    town = pd.Categorical(draws.levels(TOWNS), categories=TOWNS)
    return pd.DataFrame({"town": town, "heat": draws.uniform(), "wind": draws.uniform()})


TABLES: dict[str, Callable[[Draws], Any]] = {
    "numbers": numbers,
    "dependent": dependent,
    "few values": few_values,
    "wide": wide,
    "mixed": mixed,
    "gaps": gaps,
    "levels": levels,
}


@cache
def rows(name: str, n_rows: int, seed: int) -> Rows:
    """Rows of a table by its name, drawn once."""
    draws = Draws(seed, n_rows)
    X = TABLES[name](draws)
    if isinstance(X, np.ndarray):
        signal = 2 * X[:, 0] * np.sign(X[:, 1]) + X[:, 2]
    else:
        heat = np.nan_to_num(X["heat"].to_numpy(dtype=float), nan=0.75)
        level = X["color" if "color" in X else "town"]
        signal = 2 * heat * np.where(level.isin(["red", "Aachen"]), 1.0, -1.0)
    y = signal + draws.uniform(-0.5, 0.5)
    places = np.where(y > 0.5, 0, np.where(y < -0.5, 1, 2))
    return Rows(
        X=X,
        y=y,
        labels=np.array(["high", "low", "mid"])[places],
        weights=draws.uniform(0.5, 2.5, digits=2),
        visits=draws.places(max(1, n_rows // 10)),
        towns=draws.places(12),
    )
