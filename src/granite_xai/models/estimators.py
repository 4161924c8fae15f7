"""Models in scikit-learn's manner: predict, predict_proba, decision_function."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from granite_xai.base.errors import InputError, ModelError
from granite_xai.models.output import (
    LABEL_WARNING,
    Classes,
    ModelOutput,
    Send,
    class_names,
    class_output,
    number_output,
)

# The method that gives each response.
METHODS = {"predict": "predict", "probability": "predict_proba", "raw": "decision_function"}

# Arguments of predict by which estimators without a decision function give their score before the
# link function: those of xgboost, lightgbm and catboost.
RAW_ARGUMENTS: dict[str, Any] = {
    "output_margin": True,
    "raw_score": True,
    "prediction_type": "RawFormulaVal",
}


def has(model: Any, method: str) -> bool:
    """Whether the model offers a method; scikit-learn hides those that its settings exclude."""
    return callable(getattr(model, method, None))


def estimator_output(model: Any, output: Any, response: str) -> ModelOutput:
    """How an estimator is asked.

    Parameters
    ----------
    model : object
    output : object
        A class by name, an output by position; None: the model decides.
    response : str
        As in `Granite`; "auto" is the probability where there is one, otherwise the prediction.
    """
    classes = class_names(model)
    if response == "raw":
        return _score_output(model, classes, output)
    if response == "probability" or (response == "auto" and has(model, "predict_proba")):
        return class_output(_method_for("probability", model), "probability", classes, output)
    prediction = number_output(_method_for("predict", model), output, "predict")
    if classes is not None and response == "auto":
        return prediction._replace(warning=LABEL_WARNING.format(type(model).__name__))
    return prediction


def _score_output(model: Any, classes: Classes, output: Any) -> ModelOutput:
    """How an estimator is asked for its score before the link function."""
    _refuse_scores_of_pairs(model, classes)
    send = None
    if not has(model, "decision_function"):
        send = _predict_raw(model)
    if send is None:
        send = _method_for("raw", model)
    return class_output(send, "raw", classes, output)


def _refuse_scores_of_pairs(model: Any, classes: Classes) -> None:
    # With three classes there are as many pairs as classes: nothing later would notice.
    n_classes = 0 if classes is None else len(classes)
    if n_classes > 2 and getattr(model, "decision_function_shape", None) == "ovo":
        raise ModelError(
            f"{type(model).__name__} scores pairs of classes "
            "(decision_function_shape='ovo'), not classes.",
            code="M02",
            argument="model",
            hint="Use decision_function_shape='ovr'.",
        )


def _predict_raw(model: Any) -> Send | None:
    """Predict with the argument that asks for raw scores; None where it has none."""
    parameters = inspect.signature(_method_for("predict", model)).parameters
    for argument, value in RAW_ARGUMENTS.items():
        if argument in parameters:
            return partial(model.predict, **{argument: value})
    return None


def _method_for(response: str, model: Any) -> Send:
    """The method that gives a response; refused where the model has none (P03)."""
    if has(model, METHODS[response]):
        method: Send = getattr(model, METHODS[response])
        return method
    usable = [repr(name) for name, method in METHODS.items() if has(model, method)]
    raise InputError(
        f"response={response!r} is not something {type(model).__name__} can give.",
        code="P03",
        argument="response",
        hint=f"It offers response={' or '.join(usable)}.",
    )


def takes_missing(model: Any) -> bool:
    """Whether the estimator's tags say that it takes missing values.

    scikit-learn's own tags of a pipeline say nothing about missing values: its steps up to an
    imputer do.
    """
    from sklearn.impute import KNNImputer, SimpleImputer

    steps = getattr(model, "steps", None)
    if not isinstance(steps, list) or not steps:
        return _tags_allow_missing(model)
    for _, step in steps:
        if step not in (None, "passthrough") and not takes_missing(step):
            return False
        if isinstance(step, SimpleImputer | KNNImputer):
            return True
    return True


def _tags_allow_missing(model: Any) -> bool:
    from sklearn.utils import get_tags

    try:
        return bool(get_tags(model).input_tags.allow_nan)
    except Exception:  # what merely looks like an estimator lacks tags in any of several ways
        return False
