"""Boosters of xgboost, lightgbm and catboost, asked in the ways of their libraries."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from granite_xai.base.errors import InputError, ModelError
from granite_xai.models.estimators import has
from granite_xai.models.output import (
    LABEL_WARNING,
    Classes,
    ModelOutput,
    Send,
    class_names,
    class_output,
    number_output,
)

# Objectives whose predictions are probabilities.
PROBABILITY_OBJECTIVES = frozenset(
    {
        # of xgboost
        "binary:logistic",
        "multi:softprob",
        "reg:logistic",
        # of lightgbm
        "binary",
        "multiclass",
        "multiclassova",
        "cross_entropy",
    }
)
# Objectives of xgboost whose predictions are labels of classes.
LABEL_OBJECTIVES = frozenset({"multi:softmax", "binary:hinge"})


@dataclass(frozen=True, slots=True)
class Booster:
    """The ways in which a booster can be asked.

    Parameters
    ----------
    predict : callable
        Gives what the library's predict gives.
    predict_raw : callable
        Gives scores before the link function.
    predict_probability : callable or None
        Gives probabilities; None: it has none.
    classes : tuple or None
        Names of its classes.
    owner : str
        What decides whether there are probabilities, for messages.
    """

    predict: Send
    predict_raw: Send
    predict_probability: Callable[[Any], Any] | None
    classes: Classes
    owner: str

    def output(self, output: Any, response: str) -> ModelOutput:
        """How it is asked for one of its outputs; "auto" is the probability where there is one."""
        if response == "raw":
            return class_output(self.predict_raw, "raw", self.classes, output)
        if response == "predict":
            return number_output(self.predict, output, "predict")
        if self.predict_probability is not None:
            return class_output(self.predict_probability, "probability", self.classes, output)
        if response == "probability":
            raise InputError(
                f"response='probability': the {self.owner} gives no probabilities.",
                code="P03",
                argument="response",
                hint="Pass response='predict' or 'raw'.",
            )
        return number_output(self.predict, output, "predict")


def xgboost_output(model: Any, output: Any, response: str) -> ModelOutput:
    """How a booster of xgboost is asked; parameters as of `estimator_output`."""
    learner = json.loads(model.save_config())["learner"]
    return _output_by_objective(
        objective=learner["objective"]["name"],
        n_classes=int(learner["learner_model_param"].get("num_class", "0")),
        predict=partial(_predict_xgboost, model),
        predict_raw=partial(_predict_xgboost, model, output_margin=True),
        output=output,
        response=response,
    )


def _predict_xgboost(model: Any, frame: Any, *, output_margin: bool = False) -> Any:
    from xgboost import DMatrix

    return model.predict(DMatrix(frame, enable_categorical=True), output_margin=output_margin)


def lightgbm_output(model: Any, output: Any, response: str) -> ModelOutput:
    """How a booster of lightgbm is asked; parameters as of `estimator_output`."""
    # The objective and its options: "binary sigmoid:1".
    objective_and_options = str(model.dump_model(num_iteration=1).get("objective", ""))
    return _output_by_objective(
        objective=objective_and_options.partition(" ")[0],
        n_classes=int(model.num_model_per_iteration()),
        predict=model.predict,
        predict_raw=partial(model.predict, raw_score=True),
        output=output,
        response=response,
    )


def _output_by_objective(
    *,
    objective: str,
    n_classes: int,
    predict: Send,
    predict_raw: Send,
    output: Any,
    response: str,
) -> ModelOutput:
    """How a booster is asked whose objective tells its classes and whether it gives probabilities."""
    classes: Classes = None
    if objective.partition(":")[0] == "binary":
        classes = (0, 1)
    elif n_classes > 1:
        classes = tuple(range(n_classes))
    booster = Booster(
        predict=predict,
        predict_raw=predict_raw,
        predict_probability=predict if objective in PROBABILITY_OBJECTIVES else None,
        classes=classes,
        owner="booster's objective",
    )
    model_output = booster.output(output, response)
    if objective in LABEL_OBJECTIVES and response == "auto":
        who = f"a booster with objective {objective!r}"
        return model_output._replace(warning=LABEL_WARNING.format(who))
    return model_output


def catboost_output(model: Any, output: Any, response: str) -> ModelOutput:
    """How a model of catboost is asked; parameters as of `estimator_output`.

    There are probabilities where its loss has classes; the plain ``CatBoost`` gives them on request
    only.
    """
    if not model.is_fitted():
        raise ModelError(
            f"the model is not fitted (this {type(model).__name__} has no trees).",
            code="M20",
            argument="model",
            hint="Fit it first.",
        )
    classes = class_names(model)
    predict_probability = None
    if classes is not None or has(model, "predict_proba"):
        predict_probability = partial(model.predict, prediction_type="Probability")
    booster = Booster(
        predict=model.predict,
        predict_raw=partial(model.predict, prediction_type="RawFormulaVal"),
        predict_probability=predict_probability,
        classes=classes,
        owner=f"loss of this {type(model).__name__}",
    )
    return booster.output(output, response)
