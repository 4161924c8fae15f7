"""A small table of every kind of column, a model on it, and the objects that the fixture files hold.

Run as a program it writes the files of the current schema version, once, when that version is new:
``python tests/persistence/saved_objects.py``; files that are there already stay.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import granite_xai as gx
from granite_xai.explanation.masking import Baseline

FIXTURES = Path(__file__).parent / "fixtures"
RULES = ["a ≤ 0.5 and c in {x, y}", "a ≤ 0.5 and c not in {x, y}", "a > 0.5 or missing"]
SIGNS = {"x": 1.0, "y": -1.0, "z": 0.5, "w": 0.0}
PLACES = {"low": 0.0, "mid": 1.0, "high": 2.0, "top": 3.0}


def table(n: int = 60, seed: int = 0) -> pd.DataFrame:
    """Numbers, whole numbers, levels, ordered levels, truth values and dates."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": rng.integers(-4, 5, n) / 2,
            "k": rng.integers(0, 4, n),
            "c": pd.Categorical(rng.choice(["x", "y", "z"], n), categories=["x", "y", "z", "w"]),
            "o": pd.Categorical(
                rng.choice(["low", "mid", "high"], n), categories=list(PLACES), ordered=True
            ),
            "b": rng.random(n) > 0.5,
            "d": pd.Series(
                np.datetime64("2020-01-01", "s")
                + rng.integers(0, 9, n) * np.timedelta64(86_400, "s")
            ),
        }
    )


def numbers_of(X: Any) -> np.ndarray:
    """The same cells as numbers, whatever library the table comes from."""
    if isinstance(X, np.ndarray):
        return np.asarray(X, dtype=float)
    frame = X.to_pandas() if hasattr(X, "to_pandas") else X
    days = (
        frame["d"].to_numpy().astype("datetime64[s]") - np.datetime64("2020-01-01")
    ) / np.timedelta64(1, "D")
    return np.column_stack(
        [
            frame["a"].to_numpy(dtype=float),
            frame["k"].to_numpy(dtype=float),
            [SIGNS[level] for level in frame["c"].astype(object)],
            [PLACES[level] for level in frame["o"].astype(object)],
            frame["b"].to_numpy(dtype=float),
            days,
        ]
    )


def model(X: Any) -> np.ndarray:
    """Interactions of a and c, of k and b, of o and d."""
    a, k, c, o, b, d = numbers_of(X).T
    return a * c + k * (2 * b - 1) + 0.25 * o + 0.125 * d * o


def other_model(X: Any) -> np.ndarray:
    """A model that differs a little everywhere."""
    return model(X) * 1.001 + 0.01


class Classifier:
    """Probabilities of two classes: what `model` says, on the scale of log odds."""

    classes_ = ("no", "yes")

    def predict_proba(self, X: Any) -> np.ndarray:
        yes = 1.0 / (1.0 + np.exp(-model(X)))
        return np.column_stack([1.0 - yes, yes])


CLASSIFIER = Classifier()


def two_outputs(X: Any) -> np.ndarray:
    """`model` and its square, as two outputs."""
    return np.column_stack([model(X), np.square(model(X))])


MODELS = {"classifier": CLASSIFIER, "outputs": two_outputs}
"""The model of each file whose model is not `model`."""


def target(X: Any, seed: int = 3) -> np.ndarray:
    return model(X) + np.random.default_rng(seed).normal(size=len(X))


def fitted(question: Any = "ice-pdp", X: Any = None, **options: Any) -> gx.Granite:
    X = table() if X is None else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gx.BinWarning)
        return gx.Granite(
            model, question, **{"min_samples_leaf": 10, "search": "greedy", **options}
        ).fit(X, target(X))


def further_fits() -> dict[str, gx.Granite]:
    """Fits of other kinds: each has entries in its file that the others lack."""
    X = table(90)
    options: dict[str, Any] = {"min_samples_leaf": 10, "max_depth": 1, "search": "greedy"}
    middle = [gx.Explainer(Baseline("median"), interaction=kind) for kind in ("full", "pure")]
    held_out = gx.Granite(model, "ice-pdp", holdout=0.4, alpha="auto", **options).fit(X)
    held_out.stability(3)
    clusters = gx.partitioners.Clusters("ice", n_clusters=2)
    return {
        "classifier": gx.Granite(CLASSIFIER, "ice-pdp", **options).fit(X),
        "outputs": gx.Granite(two_outputs, "ice-pdp", output="all", **options).fit(X),
        "interaction": gx.Granite(
            model, "ice-pdp", influence="interaction", features=[("a", "c"), ("k", "b")], **options
        ).fit(X),
        "baseline": gx.Granite(model, gx.Disagreement(*middle), **options).fit(X),
        "held-out": held_out,
        "clusters": gx.Granite(model, "ice-pdp", partitioner=clusters).fit(X),
    }


def objects() -> dict[str, tuple[Any, bool]]:
    """What the fixture files hold, and whether with data."""
    granite = fitted(["cshap-shap", "pfi-risk"], max_depth=2)
    ale = fitted("ale", max_depth=1)
    new = table(20, seed=1)
    return {
        "partition": (granite.partition_, False),
        "rules": (gx.Partition.from_rules(RULES), False),
        "explanation": (granite.explain(new, target(new)), True),
        "evaluation": (granite.evaluate(new, target(new)), False),
        "granite": (granite, False),
        "granite-with-data": (ale, True),
        **{
            name: (granite, name in ("held-out", "baseline"))
            for name, granite in further_fits().items()
        },
    }


if __name__ == "__main__":
    from granite_xai.persistence import VERSION

    folder = FIXTURES / f"version-{VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    for name, (obj, include_data) in objects().items():
        if not (folder / f"{name}.json").exists():
            gx.save(obj, folder / f"{name}.json", include_data=include_data)
