"""Models in scikit-learn's manner: predict, predict_proba, decision_function."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING, Any

from granite_xai.base.errors import InputError, ModelError
from granite_xai.models.output import ModelOutput, class_names, labels_as_numbers, output_of_classes, output_of_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

_METHODS = {"predict": "predict", "probability": "predict_proba", "raw": "decision_function"}

# Arguments by which estimators without a decision function give their score before the link function.
_RAW_ARGUMENTS: dict[str, Any] = {"output_margin": True, "raw_score": True, "prediction_type": "RawFormulaVal"}


def has(model: Any, method: str) -> bool:
    """Whether the model offers a method; scikit-learn hides those that its settings exclude."""
    return callable(getattr(model, method, None))


def is_estimator(model: Any) -> bool:
    """Whether any of the three methods is there."""
    return any(has(model, method) for method in _METHODS.values())


def read_estimator(model: Any, output: Any, response: str) -> ModelOutput:
    """Ask for a probability where there is one, otherwise for the prediction, or for what ``response`` says.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> read_estimator(DummyClassifier().fit([[0], [1]], ["no", "yes"]), None, "auto").label
    "probability of class 'yes'"
    """
    classes = class_names(model)
    if response == "raw":
        return _read_score(model, classes, output)
    if response == "probability" or (response == "auto" and has(model, "predict_proba")):
        return output_of_classes(_method(model, "probability"), "probability", classes, output)
    found = output_of_numbers(_method(model, "predict"), output, "predict")
    if classes is None or response == "predict":
        return found
    return found._replace(warning=labels_as_numbers(type(model).__name__))


def takes_missing(model: Any) -> bool:
    """Whether the estimator's tags say that it takes missing values; of a pipeline, all steps up to an imputer.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> takes_missing(LinearRegression())
    False
    """
    steps = getattr(model, "steps", None)
    if not isinstance(steps, list) or not steps:
        return _tag_allows_missing(model)
    from sklearn.impute import KNNImputer, SimpleImputer

    # scikit-learn's own tags of a pipeline say nothing about missing values.
    for _, step in steps:
        if step not in (None, "passthrough") and not takes_missing(step):
            return False
        if isinstance(step, SimpleImputer | KNNImputer):
            return True
    return True


def _tag_allows_missing(model: Any) -> bool:
    from sklearn.utils import get_tags

    try:
        return bool(get_tags(model).input_tags.allow_nan)
    except Exception:  # what merely looks like an estimator has no tags, in any of several ways: it says nothing
        return False


def _read_score(model: Any, classes: tuple[Any, ...] | None, output: Any) -> ModelOutput:
    if classes and len(classes) > 2 and getattr(model, "decision_function_shape", None) == "ovo":
        # With three classes there are as many scores of pairs as classes: nothing later would notice.
        message = f"{type(model).__name__} scores pairs of classes (decision_function_shape='ovo'), not classes."
        raise ModelError(message, code="M02", argument="model", hint="Use decision_function_shape='ovr'.")
    send = model.decision_function if has(model, "decision_function") else _raw_predict(model)
    return output_of_classes(send, "raw", classes, output)


def _raw_predict(model: Any) -> Callable[[Any], Any]:
    known = inspect.signature(_method(model, "predict")).parameters
    for argument, value in _RAW_ARGUMENTS.items():
        if argument in known:
            return partial(model.predict, **{argument: value})
    raise _not_offered(model, "raw")


def _method(model: Any, response: str) -> Callable[[Any], Any]:
    if not has(model, _METHODS[response]):
        raise _not_offered(model, response)
    method: Callable[[Any], Any] = getattr(model, _METHODS[response])
    return method


def _not_offered(model: Any, response: str) -> InputError:
    usable = [repr(name) for name, method in _METHODS.items() if has(model, method)]
    message = f"response={response!r} is not something {type(model).__name__} can give."
    return InputError(message, code="P03", argument="response", hint=f"It offers response={' or '.join(usable)}.")
