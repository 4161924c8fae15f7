"""Models of catboost, its own and those in scikit-learn's manner: one predict with a type."""

from __future__ import annotations

from functools import partial
from typing import Any

from granite_xai.base.errors import InputError, ModelError
from granite_xai.models.estimators import has
from granite_xai.models.outputs import Reading, class_names, reading_of_classes, reading_of_numbers


def is_catboost(model: Any) -> bool:
    """Whether this is a model of catboost.

    Examples
    --------
    >>> is_catboost(abs)
    False
    """
    return all(has(model, name) for name in ("predict", "is_fitted", "get_cat_feature_indices"))


def read_catboost(model: Any, output: Any, response: str) -> Reading:
    """Ask for probabilities where the loss has classes; catboost's own models give them on request only."""
    if not model.is_fitted():
        message = f"the model is not fitted (this {type(model).__name__} has no trees)."
        raise ModelError(message, code="M20", argument="model", hint="Fit it first.")
    classes = class_names(model)
    if response == "raw":
        return reading_of_classes(partial(model.predict, prediction_type="RawFormulaVal"), "raw", classes, output)
    if response != "predict" and (classes is not None or has(model, "predict_proba")):
        send = partial(model.predict, prediction_type="Probability")
        return reading_of_classes(send, "probability", classes, output)
    if response == "probability":
        message = f"response='probability': the loss of this {type(model).__name__} gives no probabilities."
        raise InputError(message, code="P03", argument="response", hint="Pass response='predict' or 'raw'.")
    return reading_of_numbers(model.predict, output, "predict")
