"""Models and tables that the tests of the report tell stories about."""

from __future__ import annotations

import numpy as np
import pandas as pd

import granite_xai as gx

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg/onload=alert(1)>',
    "javascript:alert(1)",
    "{{7*7}}",
    "a\u2028b",
    "lone\udc80",
    "\x1b[31mred\nnew line",
    "\u202eevil",
    "nul\x00",
    "very long " * 40,
    "</style><style>*{display:none}</style>",
    "' onmouseover='alert(1)",
    "]]><!--",
    "${alert(1)}",
]


class Classifier:
    """Probability that depends on a column in a way that a category turns around; its names are hostile."""

    def __init__(self, names, classes=("no", "yes")):
        self.names = names
        self.classes_ = np.array(classes, dtype=object)

    def __repr__(self):
        return f"Classifier({HOSTILE[0]}{HOSTILE[7]})"

    def predict_proba(self, X):
        kind, one, two = (X[name] for name in self.names[:3])
        sign = np.where(np.asarray(kind.astype(object)) == kind.cat.categories[2], 1.0, -1.0)
        score = np.asarray(one) * sign + np.asarray(two)
        p = 1 / (1 + np.exp(-score))
        return np.column_stack([1 - p, p])

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > 0.5).astype(int)]


def table(names, levels, rows=120):
    """A category and numbers, with the given names."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(rows, len(names))), columns=pd.Index(names, dtype=object))
    cells = np.array(levels, dtype=object)[rng.integers(0, len(levels), rows)]
    X[names[0]] = pd.Categorical(cells, categories=np.array(levels, dtype=object))
    return X


def hostile_report(**options):
    """Every text that a user can choose is hostile."""
    X = table(HOSTILE, HOSTILE[:5])
    model = Classifier(HOSTILE, classes=(HOSTILE[1], HOSTILE[2]))
    y = model.predict(X)
    return gx.explain(
        model, X, y, title=HOSTILE[0] + HOSTILE[8], test=(X, y), search="greedy", **options
    )


def interacting(X):
    x = np.asarray(X)
    return x[:, 0] * np.where(x[:, 1] > 0, 1.0, -1.0) + 0.3 * x[:, 2] * x[:, 3]


def product(X):
    return np.asarray(X["bmi"]) * np.where(
        np.asarray(X["sex"]) > 1, 1.0, -1.0
    ) + 0.005 * np.asarray(X["s5"] * X["bp"])


def stories():
    """Name and report of each golden text; models are formulas, so that no library's version changes them."""
    X, y = gx.datasets.load_diabetes()
    yield "diabetes", gx.explain(product, X, y, test=(X.iloc[::4], y.iloc[::4]), max_depth=2)
    yield (
        "additive",
        gx.explain(lambda X: np.asarray(X["bmi"]) + np.asarray(X["s5"]) ** 2, X, max_samples=200),
    )
    yield "classifier", late()


def late():
    """The report of a classifier."""
    names = ["weather", "temp", "wind"]
    people = table(names, ["clear", "mist", "light rain"])
    model = Classifier(names)
    return gx.explain(model, people, model.predict(people), title="Will it be late?")
