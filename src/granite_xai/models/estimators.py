"""Models in scikit-learn's manner (predict, predict_proba, decision_function), and the boosters of other libraries."""

from __future__ import annotations

import inspect
import json
from functools import partial
from typing import Any

from granite_xai.base.errors import InputError, ModelError
from granite_xai.models.output import (
    LABEL_WARNING,
    Classes,
    ModelOutput,
    Send,
    class_names,
    read_classes,
    read_numbers,
)

METHODS = {"predict": "predict", "probability": "predict_proba", "raw": "decision_function"}

# Arguments by which estimators without a decision function give their score before the link function.
_RAW_ARGUMENTS: dict[str, Any] = {
    "output_margin": True,
    "raw_score": True,
    "prediction_type": "RawFormulaVal",
}


def has(model: Any, method: str) -> bool:
    """Whether the model offers a method; scikit-learn hides those that its settings exclude."""
    return callable(getattr(model, method, None))


def read_estimator(model: Any, output: Any, response: str) -> ModelOutput:
    """Ask for a probability where there is one, otherwise for the prediction, or for what ``response`` says."""
    classes = class_names(model)
    if response == "raw":
        return _read_score(model, classes, output)
    if response == "probability" or (response == "auto" and has(model, "predict_proba")):
        return read_classes(_method(model, "probability"), "probability", classes, output)
    warning = (
        None
        if classes is None or response == "predict"
        else LABEL_WARNING.format(type(model).__name__)
    )
    return read_numbers(_method(model, "predict"), output, "predict")._replace(warning=warning)


def takes_missing(model: Any) -> bool:
    """Whether the estimator's tags say that it takes missing values; of a pipeline, all steps up to an imputer."""
    from sklearn.impute import KNNImputer, SimpleImputer
    from sklearn.utils import get_tags

    steps = getattr(model, "steps", None)
    if not isinstance(steps, list) or not steps:
        try:
            return bool(get_tags(model).input_tags.allow_nan)
        except Exception:  # what merely looks like an estimator has no tags, in any of several ways: it says nothing
            return False
    # scikit-learn's own tags of a pipeline say nothing about missing values.
    for _, step in steps:
        if step not in (None, "passthrough") and not takes_missing(step):
            return False
        if isinstance(step, SimpleImputer | KNNImputer):
            return True
    return True


def _read_score(model: Any, classes: Classes, output: Any) -> ModelOutput:
    if classes and len(classes) > 2 and getattr(model, "decision_function_shape", None) == "ovo":
        # With three classes there are as many scores of pairs as classes: nothing later would notice.
        message = f"{type(model).__name__} scores pairs of classes (decision_function_shape='ovo'), not classes."
        raise ModelError(
            message, code="M02", argument="model", hint="Use decision_function_shape='ovr'."
        )
    if not has(model, "decision_function"):
        known = inspect.signature(_method(model, "predict")).parameters
        for argument, value in _RAW_ARGUMENTS.items():
            if argument in known:
                return read_classes(
                    partial(model.predict, **{argument: value}), "raw", classes, output
                )
    return read_classes(_method(model, "raw"), "raw", classes, output)


def _method(model: Any, response: str) -> Send:
    if has(model, METHODS[response]):
        method: Send = getattr(model, METHODS[response])
        return method
    usable = [repr(name) for name, method in METHODS.items() if has(model, method)]
    message = f"response={response!r} is not something {type(model).__name__} can give."
    raise InputError(
        message, code="P03", argument="response", hint=f"It offers response={' or '.join(usable)}."
    )


_PROBABILITIES = {"binary:logistic", "multi:softprob", "reg:logistic"}  # of xgboost
_PROBABILITIES |= {"binary", "multiclass", "multiclassova", "cross_entropy"}  # of lightgbm
_LABELS = {"multi:softmax", "binary:hinge"}


def read_xgboost(model: Any, output: Any, response: str) -> ModelOutput:
    """Ask an xgboost booster."""
    learner = json.loads(model.save_config())["learner"]
    count = int(learner["learner_model_param"].get("num_class", "0"))
    send, objective = partial(_ask_xgboost, model), learner["objective"]["name"]
    return _read_booster(send, {"output_margin": True}, objective, count, output, response)


def _ask_xgboost(model: Any, frame: Any, *, output_margin: bool = False) -> Any:
    from xgboost import DMatrix

    return model.predict(DMatrix(frame, enable_categorical=True), output_margin=output_margin)


def read_lightgbm(model: Any, output: Any, response: str) -> ModelOutput:
    """Ask a lightgbm booster."""
    objective = str(model.dump_model(num_iteration=1).get("objective", "")).partition(" ")[0]
    count = int(model.num_model_per_iteration())
    return _read_booster(model.predict, {"raw_score": True}, objective, count, output, response)


def _read_booster(
    send: Send, raw: Any, objective: str, count: int, output: Any, response: str
) -> ModelOutput:
    """Ask a booster; its objective tells whether it gives probabilities."""
    classes = (
        (0, 1)
        if objective.partition(":")[0] == "binary"
        else tuple(range(count))
        if count > 1
        else None
    )
    probability: dict[str, Any] | None = {} if objective in _PROBABILITIES else None
    found = _read(send, raw, probability, classes, output, response, "booster's objective")
    warned = objective in _LABELS and response == "auto"
    return found._replace(
        warning=LABEL_WARNING.format(f"a booster with objective {objective!r}") if warned else None
    )


def _read(
    send: Send, raw: Any, probability: Any, classes: Classes, output: Any, response: str, owner: str
) -> ModelOutput:
    """Ask by the arguments for raw scores, or by those for probabilities (None: it has none)."""
    if response == "raw":
        return read_classes(partial(send, **raw), "raw", classes, output)
    if probability is not None and response != "predict":
        return read_classes(
            partial(send, **probability) if probability else send, "probability", classes, output
        )
    if response == "probability":
        message = f"response='probability': the {owner} gives no probabilities."
        raise InputError(
            message, code="P03", argument="response", hint="Pass response='predict' or 'raw'."
        )
    return read_numbers(send, output, "predict")


def read_catboost(model: Any, output: Any, response: str) -> ModelOutput:
    """Ask for probabilities where the loss has classes; catboost's own models give them on request only."""
    if not model.is_fitted():
        message = f"the model is not fitted (this {type(model).__name__} has no trees)."
        raise ModelError(message, code="M20", argument="model", hint="Fit it first.")
    classes = class_names(model)
    probability = (
        {"prediction_type": "Probability"}
        if classes is not None or has(model, "predict_proba")
        else None
    )
    owner = f"loss of this {type(model).__name__}"
    return _read(
        model.predict,
        {"prediction_type": "RawFormulaVal"},
        probability,
        classes,
        output,
        response,
        owner,
    )
