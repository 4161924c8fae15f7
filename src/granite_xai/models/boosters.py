"""The native models of xgboost and lightgbm, and all models of catboost."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from granite_xai.base.errors import InputError, ModelError
from granite_xai.models.estimators import has
from granite_xai.models.output import ModelOutput, class_names, labels_as_numbers, output_of_classes, output_of_numbers

if TYPE_CHECKING:
    from collections.abc import Callable


_XGBOOST_PROBABILITIES = {"binary:logistic", "multi:softprob", "reg:logistic"}
_XGBOOST_LABELS = {"multi:softmax", "binary:hinge"}
_LIGHTGBM_PROBABILITIES = {"binary", "multiclass", "multiclassova", "cross_entropy"}


def is_xgboost(model: Any) -> bool:
    """Whether this is xgboost's own booster, which wants its own matrix."""
    return has(model, "inplace_predict") and has(model, "save_config")


def is_lightgbm(model: Any) -> bool:
    """Whether this is lightgbm's own booster."""
    return has(model, "dump_model") and has(model, "num_model_per_iteration")


def read_xgboost(model: Any, output: Any, response: str) -> ModelOutput:
    """Ask an xgboost booster; its objective tells whether it gives probabilities."""
    learner = json.loads(model.save_config())["learner"]
    objective = learner["objective"]["name"]
    count = int(learner["learner_model_param"].get("num_class", "0"))
    binary = objective.startswith("binary:")
    classes = (0, 1) if binary else tuple(range(count)) if count > 1 else None
    probability = objective in _XGBOOST_PROBABILITIES
    found = _read(partial(_ask_xgboost, model), "output_margin", probability, classes, output, response)
    if objective in _XGBOOST_LABELS and response == "auto":
        return found._replace(warning=labels_as_numbers(f"a booster with objective {objective!r}"))
    return found


def read_lightgbm(model: Any, output: Any, response: str) -> ModelOutput:
    """Ask a lightgbm booster; its objective tells whether it gives probabilities."""
    objective = str(model.dump_model(num_iteration=1).get("objective", "")).partition(" ")[0]
    count = int(model.num_model_per_iteration())
    classes = (0, 1) if objective == "binary" else tuple(range(count)) if count > 1 else None
    return _read(model.predict, "raw_score", objective in _LIGHTGBM_PROBABILITIES, classes, output, response)


def _ask_xgboost(model: Any, frame: Any, *, output_margin: bool = False) -> Any:
    from xgboost import DMatrix

    return model.predict(DMatrix(frame, enable_categorical=True), output_margin=output_margin)


def _read(
    send: Callable[..., Any],
    raw_argument: str,
    probability: bool,
    classes: tuple[int, ...] | None,
    output: Any,
    response: str,
) -> ModelOutput:
    if response == "raw":
        return output_of_classes(partial(send, **{raw_argument: True}), "raw", classes, output)
    if probability and response != "predict":
        return output_of_classes(send, "probability", classes, output)
    if response == "probability":
        message = "response='probability': the booster's objective gives no probabilities."
        raise InputError(message, code="P03", argument="response", hint="Pass response='predict' or 'raw'.")
    return output_of_numbers(send, output, "predict")


def is_catboost(model: Any) -> bool:
    """Whether this is a model of catboost."""
    return all(has(model, name) for name in ("predict", "is_fitted", "get_cat_feature_indices"))


def read_catboost(model: Any, output: Any, response: str) -> ModelOutput:
    """Ask for probabilities where the loss has classes; catboost's own models give them on request only."""
    if not model.is_fitted():
        message = f"the model is not fitted (this {type(model).__name__} has no trees)."
        raise ModelError(message, code="M20", argument="model", hint="Fit it first.")
    classes = class_names(model)
    if response == "raw":
        return output_of_classes(partial(model.predict, prediction_type="RawFormulaVal"), "raw", classes, output)
    if response != "predict" and (classes is not None or has(model, "predict_proba")):
        send = partial(model.predict, prediction_type="Probability")
        return output_of_classes(send, "probability", classes, output)
    if response == "probability":
        message = f"response='probability': the loss of this {type(model).__name__} gives no probabilities."
        raise InputError(message, code="P03", argument="response", hint="Pass response='predict' or 'raw'.")
    return output_of_numbers(model.predict, output, "predict")
