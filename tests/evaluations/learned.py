"""Values that a pilot chose for made-up tables, for the tests of what it chooses and of what is read from it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from granite_xai.evaluations.pilot import CELLS, learn_values
from granite_xai.tables import read_table as read_any_table

JUMP = 0.217


def read_table(frame):
    return read_any_table(frame, missing="allow")


class Asked:
    """Answers about recombined rows of a frame, and counts them."""

    def __init__(self, frame, model):
        self.frame = frame
        self.model = model
        self.rows = 0
        self.calls = []

    def __call__(self, base, donors, column):
        self.rows += len(base)
        self.calls.append(column)
        mixed = self.frame.iloc[base].reset_index(drop=True)
        mixed[mixed.columns[column]] = self.frame.iloc[donors, column].to_numpy()
        answers = np.asarray(self.model(mixed), dtype=float)
        return answers[None] if answers.ndim == 1 else answers.T


def learned(frame, model, positions=None, *, cells=CELLS, budget=1e9, seed=0, weights=None):
    """The cells of a frame's columns, its table, and what was asked."""
    table = read_table(frame)
    asked = Asked(frame, model)
    weights = np.ones(len(frame)) if weights is None else weights
    positions = range(frame.shape[1]) if positions is None else positions
    found = learn_values(table, weights, positions, asked, n_cells=cells, budget=budget, seed=seed)
    return found, table, asked


def numbers(n=400, d=3, seed=0):
    X = np.random.default_rng(seed).uniform(-1, 1, size=(n, d))
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(d)])


def step(frame):
    """x0 turns its sign where x1 passes a value."""
    return frame["x0"] * np.where(frame["x1"] > JUMP, 1.0, -1.0) + frame["x2"] ** 2


def waves(frame):
    """Every row interacts in its own way."""
    return np.sin(3 * frame["x0"] * frame["x1"] + 5 * frame["x2"] * frame["x0"])


def pilot_levels(own):
    """Levels at which the pilot rows were asked."""
    return own.curves[0].levels


def straddling(cells, levels, at):
    """Cells with levels on both sides of a value."""
    lower = set(cells[levels <= at].tolist())
    upper = set(cells[levels > at].tolist())
    return lower & upper


def labelled(n=600, n_levels=40, seed=0):
    """Labels of four kinds, mixed in their order, and a number."""
    generator = np.random.default_rng(seed)
    labels = [f"l{k:03}" for k in range(n_levels)]
    frame = pd.DataFrame(
        {"x0": generator.normal(size=n), "label": generator.permutation(np.resize(labels, n))}
    )
    kind = dict(zip(labels, generator.permutation(np.arange(n_levels) % 4), strict=True))
    return frame, kind


def by_kind(kind):
    return lambda frame: frame["x0"] * frame["label"].map(kind).astype(float)
