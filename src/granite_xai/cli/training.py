"""A model fitted on the spot, for a table that comes without one."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import granite_xai as gx
from granite_xai.cli.printing import remark
from granite_xai.cli.tables import text_columns

HELD_OUT = 0.25
"""Share of the rows that the model is not fitted to."""

FEWEST_ROWS = 40
"""Rows below which no model is fitted."""

FEW_VALUES = 2
"""Distinct values up to which a number is a label."""

FEWEST_ROWS_OF_LABEL = 2
"""Rows of its rarest label that a division by labels needs."""


class Trained(NamedTuple):
    """A model, the rows it was fitted to, and the others."""

    model: Any
    X: Any
    y: Any
    test: tuple[Any, Any]  # features and target of the others


def train(X: Any, y: Any, seed: int) -> Trained:
    """Fit gradient boosting to three quarters of the rows.

    Parameters
    ----------
    X : DataFrame
        The features; columns of text become categories.
    y : Series
        The target: labels get a classifier, numbers a regressor.
    seed : int
        Of the division of the rows and of the model.

    Raises
    ------
    InputError
        T03: the target has missing values; D28: too few rows.
    """
    from sklearn.model_selection import train_test_split

    _check(X, y)
    X = with_categories(X)
    are_labels = y.nunique() <= FEW_VALUES or y.dtype.kind not in "fiu"
    by_label = are_labels and y.value_counts().min() >= FEWEST_ROWS_OF_LABEL
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=HELD_OUT, random_state=seed, stratify=y if by_label else None
    )
    model = _fit(X_train, y_train, are_labels, seed)
    remark(
        f"{type(model).__name__} fitted to {y.name!r} on {len(X_train):,} rows; "
        f"{_score(model, X_test, y_test)} on the other {len(X_test):,} rows."
    )
    return Trained(model=model, X=X_train, y=y_train, test=(X_test, y_test))


def with_categories(X: Any) -> Any:
    """Text columns as categories, which is what gradient boosting takes."""
    return X.astype(dict.fromkeys(text_columns(X), "category"))


def _check(X: Any, y: Any) -> None:
    if y.isna().any():
        message = f"the target {y.name!r} is missing in {int(y.isna().sum()):,} rows."
        raise gx.InputError(message, code="T03", argument="y", hint="Drop these rows.")
    if len(X) < FEWEST_ROWS:
        message = f"{len(X)} rows are too few to fit a model to."
        raise gx.InputError(message, code="D28", argument="data")


def _fit(X: Any, y: Any, are_labels: bool, seed: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    learner = HistGradientBoostingClassifier if are_labels else HistGradientBoostingRegressor
    return learner(random_state=seed, categorical_features="from_dtype").fit(X, y)


def _score(model: Any, X: Any, y: Any) -> str:
    """How well the model does on rows it has not seen, in words."""
    from sklearn.base import is_classifier
    from sklearn.metrics import get_scorer

    if not is_classifier(model):
        name = "R²"
        scorer = get_scorer("r2")
    elif len(model.classes_) == 2:  # those of the fitting rows: rare classes count, too
        name = "ROC AUC"
        scorer = get_scorer("roc_auc")
    else:
        name = "balanced accuracy"
        scorer = get_scorer("balanced_accuracy")
    score = math.nan  # of rows that are all alike
    if y.nunique() > 1:
        score = scorer(model, X, y)
    return f"{name} {score:.3f}"
