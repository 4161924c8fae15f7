"""A table, two models that differ in one known way, and the regions in which they are compared."""

from __future__ import annotations

import numpy as np
import pandas as pd

import granite_xai as gx

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(400, 3)), columns=["a", "b", "c"]).round(2)
X["w"] = pd.Categorical(RNG.choice(["u", "v"], 400))


def champion(X):
    sign = np.where(np.asarray(X["b"]) > 0, 1.0, -1.0)
    return np.asarray(X["a"]) * sign + 0.5 * np.asarray(X["c"])


def challenger(X):
    """The champion with a steeper effect of c where b > 0."""
    return champion(X) + np.where(np.asarray(X["b"]) > 0, 1.0, 0.0) * np.asarray(X["c"])


MODELS = {"old": champion, "new": challenger}
y = champion(X) + RNG.normal(size=400)
RULES = gx.Partition.from_rules(["b ≤ 0", "b > 0"])


def rows_of_regions():
    """Which rows the two regions hold, by hand."""
    return [X["b"] <= 0, X["b"] > 0]


def finding(comparison, region, measure, case, name=None):
    """The one finding about a figure."""
    wanted = (region, measure, case, name)
    (line,) = [
        line
        for line in comparison.findings
        if (line.region, line.measure, line.case, line.set) == wanted
    ]
    return line
