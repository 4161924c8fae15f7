"""A sensible model for people who have only a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import granite_xai as gx

_FEW = 2
_HELD_OUT = 0.25


@dataclass(frozen=True)
class Trained:
    """A fitted model, the rows it saw, those it did not, and how good it is."""

    model: Any
    X: Any
    y: Any
    test: tuple[Any, Any]
    words: str


def train(X: Any, y: Any, seed: int) -> Trained:
    """Fit gradient boosting to three quarters of the rows: a classifier for labels, otherwise a regressor."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.model_selection import train_test_split

    if y.isna().any():
        message = f"the target {y.name!r} is missing in {int(y.isna().sum()):,} rows."
        raise gx.InputError(message, code="T03", argument="y", hint="Drop these rows.")
    if len(X) < 40:
        raise gx.InputError(f"{len(X)} rows are too few to fit a model to.", code="D28", argument="data")
    X = with_categories(X)
    labels = y.nunique() <= _FEW or y.dtype.kind not in "fiu"
    kind = HistGradientBoostingClassifier if labels else HistGradientBoostingRegressor
    parts = train_test_split(X, y, test_size=_HELD_OUT, random_state=seed, stratify=_strata(y) if labels else None)
    model = kind(random_state=seed, categorical_features="from_dtype").fit(parts[0], parts[2])
    score, measure = model.score(parts[1], parts[3]), "accuracy" if labels else "R²"
    words = (
        f"{kind.__name__} fitted to {y.name!r} on {len(parts[0]):,} rows; {measure} {score:.3f} on the other "
        f"{len(parts[1]):,} rows."
    )
    return Trained(model, parts[0], parts[2], (parts[1], parts[3]), words)


def with_categories(X: Any) -> Any:
    """Text columns as categories, which is what gradient boosting takes."""
    texts = [name for name in X if X[name].dtype == object or str(X[name].dtype) in ("str", "string")]
    return X.astype(dict.fromkeys(texts, "category"))


def _strata(y: Any) -> Any:
    return y if y.value_counts().min() >= _FEW else None
