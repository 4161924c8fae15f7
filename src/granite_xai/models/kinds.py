"""Kinds of models: estimators in scikit-learn's manner, boosters, modules of torch, functions.

A new kind is a function from the model, ``output`` and ``response`` to a `ModelOutput`, and a line of the table at
the end.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from functools import partial
from itertools import chain
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from granite_xai.base.errors import GraniteError, InputError, ModelError
from granite_xai.base.text import column_text, error_text
from granite_xai.models.outputs import (
    NUMBER_KINDS,
    RESPONSES,
    ModelOutput,
    Names,
    Send,
    class_names,
    class_output,
    number_output,
)
from granite_xai.models.survival import NamedOutputs
from granite_xai.tables import UnreadableError, as_kind, open_table

PASS_A_MODEL = "Pass a fitted estimator or a function of the table."
LABEL_WARNING = (
    "M22: {} predicts classes and gives no probabilities: its class labels are explained as "
    "numbers. Pass response='raw' to explain its score, or response='predict' if the labels are "
    "meant."
)


def ask_model(model: Any, output: Any, response: str) -> ModelOutput:
    """How a model is asked for one of its outputs.

    Parameters
    ----------
    model : object
    output : object
        A class by name, an output by position; None: the model decides.
    response : str
        As in `Granite`; "auto" is the probability where there is one, otherwise the prediction.

    Raises
    ------
    ModelError
        M21: it is no model, or does not do what models of its kind do.
    """
    kind = _kind_of(model)
    try:
        return kind.output_of(model, output, response)
    except GraniteError:
        raise
    except Exception as error:  # it has the methods of its kind, and does not do what they do
        reason = f"{type(error).__name__} ({error_text(error)})"
        raise ModelError(
            f"this {type(model).__name__} cannot be asked: {reason}.",
            code="M21",
            argument="model",
            hint=PASS_A_MODEL,
        ) from error


def accepts_missing(model: Any) -> bool:
    """Whether the model's own tags or type say that it takes missing values."""
    takes_missing = _kind_of(model).takes_missing
    return _tags_allow_missing(model) if takes_missing is None else takes_missing


class _ModelKind(NamedTuple):
    """A kind of models, such as boosters of a library.

    Parameters
    ----------
    methods : tuple of str
        Methods that mark it.
    output_of : callable
        How a model of the kind is asked, from the model, ``output`` and ``response``.
    takes_missing : bool or None
        Whether such models take missing values; None: the tags of the model say.
    """

    methods: tuple[str, ...]
    output_of: Callable[[Any, Any, str], ModelOutput]
    takes_missing: bool | None = False


def _kind_of(model: Any) -> _ModelKind:
    """The first kind whose methods a model has; refused (M21) where it has none."""
    hint = PASS_A_MODEL
    if model is None:
        what = "None, not a model"
    elif isinstance(model, type):
        what = f"the class {model.__name__}, not a model"
        hint = f"Pass a fitted instance: {model.__name__}(…).fit(X, y)."
    elif isinstance(model, ModuleType):
        what = f"the module {model.__name__}, not a model"
        hint = "Pass an object or a function of it."
    else:
        for kind in _KINDS:
            if all(_has(model, method) for method in kind.methods):
                return kind
        if callable(model):
            return _FUNCTION
        what = f"a {type(model).__name__}, which has no predict and cannot be called"
    raise ModelError(f"model is {what}.", code="M21", argument="model", hint=hint)


def _has(model: Any, method: str) -> bool:
    """Whether the model offers a method; scikit-learn hides those that its settings exclude."""
    return callable(getattr(model, method, None))


# ---------------------------------------------------------------------------------------------------------------
# Estimators

# The method that gives each response.
_METHODS = {"predict": "predict", "probability": "predict_proba", "raw": "decision_function"}
# Arguments of predict by which estimators without a decision function give their score before the
# link function: those of xgboost, lightgbm and catboost.
_RAW_ARGUMENTS: dict[str, Any] = {
    "output_margin": True,
    "raw_score": True,
    "prediction_type": "RawFormulaVal",
}


def _estimator_output(model: Any, output: Any, response: str) -> ModelOutput:
    classes = class_names(model)
    if response == "raw":
        answer = class_output(_score_of(model, classes), "raw", classes, output)
    elif response == "probability" or (response == "auto" and _has(model, "predict_proba")):
        answer = class_output(_method_for("probability", model), "probability", classes, output)
    else:
        answer = number_output(_method_for("predict", model), output, "predict")
        if classes is not None and response == "auto":
            answer = answer._replace(warning=LABEL_WARNING.format(type(model).__name__))
    return _given_names(answer, model)


def _score_of(model: Any, classes: Names) -> Send:
    """What gives an estimator's score before the link function."""
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
    if not _has(model, "decision_function"):
        parameters = inspect.signature(_method_for("predict", model)).parameters
        for argument, value in _RAW_ARGUMENTS.items():
            if argument in parameters:
                return partial(model.predict, **{argument: value})
    return _method_for("raw", model)


def _method_for(response: str, model: Any) -> Send:
    """The method that gives a response; refused where the model has none (P03)."""
    if _has(model, _METHODS[response]):
        method: Send = getattr(model, _METHODS[response])
        return method
    usable = [repr(name) for name, method in _METHODS.items() if _has(model, method)]
    raise InputError(
        f"response={response!r} is not something {type(model).__name__} can give.",
        code="P03",
        argument="response",
        hint=f"It offers response={' or '.join(usable)}.",
    )


def _given_names(answer: ModelOutput, model: Any) -> ModelOutput:
    """Where arrays get the names of the fit's columns: libraries that check them warn at every call without."""
    library = type(model).__module__.partition(".")[0]
    names = getattr(model, "feature_names_in_", None)
    if names is None or library not in ("sklearn", "lightgbm"):
        return answer
    names = tuple(names)
    if library == "sklearn":
        return answer._replace(feature_names=names, prepare=partial(_with_names, names))
    if any(model.booster_.pandas_categorical or ()):  # it would look for the dtypes of categories
        return answer
    made_up = names == tuple(f"Column_{number}" for number in range(len(names)))
    # Whole numbers of an array travel in single precision, those of a frame in double.
    prepare = partial(_with_names, names, kinds="f")
    return answer._replace(feature_names=None if made_up else names, prepare=prepare)


def _with_names(names: tuple[str, ...], rows: Any, kinds: str | None = None) -> Any:
    """An array as a frame with the names of the fit; any other rows as they are."""
    if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.shape[1] != len(names):
        return rows
    if kinds is not None and rows.dtype.kind not in kinds:
        return rows
    return pd.DataFrame(rows, columns=list(names), copy=False)


def _tags_allow_missing(model: Any) -> bool:
    """Whether the estimator's tags say that it takes missing values.

    scikit-learn's own tags of a pipeline say nothing about missing values: its steps up to an
    imputer do.
    """
    from sklearn.impute import KNNImputer, SimpleImputer
    from sklearn.utils import get_tags

    steps = getattr(model, "steps", None)
    if not isinstance(steps, list) or not steps:
        try:
            return bool(get_tags(model).input_tags.allow_nan)
        except Exception:  # what merely looks like an estimator lacks tags in any of several ways
            return False
    for _, step in steps:
        if step not in (None, "passthrough") and not _tags_allow_missing(step):
            return False
        if isinstance(step, SimpleImputer | KNNImputer):
            return True
    return True


# ---------------------------------------------------------------------------------------------------------------
# Boosters of xgboost, lightgbm and catboost, asked in the ways of their libraries

# Objectives whose predictions are probabilities: of xgboost, then of lightgbm.
_PROBABILITY_OBJECTIVES = frozenset({"binary:logistic", "multi:softprob", "reg:logistic"}) | {
    "binary",
    "multiclass",
    "multiclassova",
    "cross_entropy",
}
# Objectives of xgboost whose predictions are labels of classes.
_LABEL_OBJECTIVES = frozenset({"multi:softmax", "binary:hinge"})


def _booster_output(
    output: Any,
    response: str,
    *,
    predict: Send,
    predict_raw: Send,
    predict_probability: Send | None,
    classes: Names,
    owner: str,
) -> ModelOutput:
    """How a booster is asked for one of its outputs.

    Parameters
    ----------
    output, response
        As in `ask_model`.
    predict, predict_raw : callable
        Give what the library's predict gives, and scores before the link function.
    predict_probability : callable or None
        Gives probabilities; None: it has none.
    classes : tuple or None
        Names of its classes.
    owner : str
        What decides whether there are probabilities, for messages.
    """
    if response == "raw":
        return class_output(predict_raw, "raw", classes, output)
    if response != "predict" and predict_probability is not None:
        return class_output(predict_probability, "probability", classes, output)
    if response == "probability":
        raise InputError(
            f"response='probability': the {owner} gives no probabilities.",
            code="P03",
            argument="response",
            hint="Pass response='predict' or 'raw'.",
        )
    return number_output(predict, output, "predict")


def _xgboost_output(model: Any, output: Any, response: str) -> ModelOutput:
    learner = json.loads(model.save_config())["learner"]
    return _output_by_objective(
        output,
        response,
        objective=learner["objective"]["name"],
        n_classes=int(learner["learner_model_param"].get("num_class", "0")),
        predict=partial(_predict_xgboost, model),
        predict_raw=partial(_predict_xgboost, model, output_margin=True),
    )


def _predict_xgboost(model: Any, frame: Any, *, output_margin: bool = False) -> Any:
    from xgboost import DMatrix

    return model.predict(DMatrix(frame, enable_categorical=True), output_margin=output_margin)


def _lightgbm_output(model: Any, output: Any, response: str) -> ModelOutput:
    # The objective and its options: "binary sigmoid:1".
    objective_and_options = str(model.dump_model(num_iteration=1).get("objective", ""))
    return _output_by_objective(
        output,
        response,
        objective=objective_and_options.partition(" ")[0],
        n_classes=int(model.num_model_per_iteration()),
        predict=model.predict,
        predict_raw=partial(model.predict, raw_score=True),
    )


def _output_by_objective(
    output: Any, response: str, *, objective: str, n_classes: int, predict: Send, predict_raw: Send
) -> ModelOutput:
    """How a booster is asked whose objective tells its classes and whether it gives probabilities."""
    classes: Names = None
    if objective.partition(":")[0] == "binary":
        classes = (0, 1)
    elif n_classes > 1:
        classes = tuple(range(n_classes))
    answer = _booster_output(
        output,
        response,
        predict=predict,
        predict_raw=predict_raw,
        predict_probability=predict if objective in _PROBABILITY_OBJECTIVES else None,
        classes=classes,
        owner="booster's objective",
    )
    if objective in _LABEL_OBJECTIVES and response == "auto":
        who = f"a booster with objective {objective!r}"
        return answer._replace(warning=LABEL_WARNING.format(who))
    return answer


def _catboost_output(model: Any, output: Any, response: str) -> ModelOutput:
    """There are probabilities where the loss has classes; the plain ``CatBoost`` gives them on request only."""
    name = type(model).__name__
    if not model.is_fitted():
        raise ModelError(
            f"the model is not fitted (this {name} has no trees).",
            code="M20",
            argument="model",
            hint="Fit it first.",
        )
    classes = class_names(model)
    has_probabilities = classes is not None or _has(model, "predict_proba")
    probabilities = partial(model.predict, prediction_type="Probability")
    return _booster_output(
        output,
        response,
        predict=model.predict,
        predict_raw=partial(model.predict, prediction_type="RawFormulaVal"),
        predict_probability=probabilities if has_probabilities else None,
        classes=classes,
        owner=f"loss of this {name}",
    )


# ---------------------------------------------------------------------------------------------------------------
# Modules of torch, and functions: what they return is known to their authors alone

_NARROWEST = 4  # bytes of the smallest floats that NumPy reads; it has no bfloat16


def _module_output(model: Any, output: Any, response: str) -> ModelOutput:
    """A module gets the table as one tensor of numbers."""
    label = f"module {type(model).__name__}"
    answer = number_output(
        partial(_evaluate, model), output, label, RESPONSES.get(response, "predict")
    )
    return answer._replace(
        prepare=partial(_tensor, model, label), unpack=_only_tensor, is_module=True
    )


def _tensor(model: Any, label: str, frame: Any) -> Any:
    """The table as a tensor where the module's floating-point numbers are, of their type."""
    import torch

    matrix = number_matrix(frame, label)
    # Integers have no twin in torch, or not on every device; float64 holds all that tables hold.
    dtype = matrix.dtype if matrix.dtype in (np.float32, np.float64) else np.float64
    tensor = torch.as_tensor(np.require(matrix, dtype=dtype, requirements=["C", "W"]))
    for parameter in chain(model.parameters(), model.buffers()):
        if parameter.is_floating_point():
            return tensor.to(device=parameter.device, dtype=parameter.dtype)
    return tensor


def number_matrix(frame: Any, reader: str) -> NDArray[Any]:
    """All cells as numbers; truth values are 0 and 1, missing cells NaN.

    Parameters
    ----------
    frame : object
        A container that `open_table` reads.
    reader : str
        Who takes the numbers, for messages.

    Returns
    -------
    array of shape (n_rows, n_columns)
        Of the type of the user's own array where there is one.

    Raises
    ------
    InputError
        M14: a column holds text or dates.
    """
    table = open_table(frame, "X")
    if table.matrix is not None and table.matrix.dtype.kind in NUMBER_KINDS:
        return np.asarray(table.matrix)
    columns = []
    for position, name in enumerate(table.names):
        try:
            columns.append(as_kind(table.cells(position), "numeric").values)
        except UnreadableError as refused:
            raise InputError(
                f"X {column_text(name, position)} {refused.reason}; {reader} takes numbers.",
                code="M14",
                argument="X",
                columns=[name],
                hint="Convert the column, or pass a function of the table that does it as the model.",
            ) from None
    return np.column_stack(columns) if columns else np.empty((table.n_rows, 0))


def _evaluate(model: Any, tensor: Any) -> Any:
    """Run the module in evaluation mode; afterwards each of its parts is in the mode it was in."""
    import torch

    training_parts = [part for part in model.modules() if part.training]
    try:
        if training_parts:
            model.eval()
        with torch.no_grad():
            return model(tensor)
    finally:
        for part in training_parts:
            part.training = True


def _only_tensor(returned: Any) -> Any:
    """The tensor that a module returned; several of them could be read as rows of one (M03)."""
    if not hasattr(returned, "detach"):
        raise ModelError(
            f"the module returned a {type(returned).__name__}, not a tensor.",
            code="M03",
            argument="model",
            hint="Pass a function of the table that returns the output to explain.",
        )
    if returned.is_floating_point() and returned.element_size() < _NARROWEST:
        return returned.detach().float()
    return returned


def _function_output(model: Any, output: Any, response: str) -> ModelOutput:
    if isinstance(model, NamedOutputs):
        answer = number_output(
            model.function,
            output,
            "function",
            RESPONSES.get(response, model.response),
            names=model.names,
            axis=model.axis,
        )
        return answer._replace(unpack=model.unpack, is_function=True)
    name = getattr(model, "__name__", "<lambda>")
    label = "function" if name == "<lambda>" else f"function {name}"
    answer = number_output(model, output, label, RESPONSES.get(response, "predict"))
    return answer._replace(is_function=True)


# The first row whose methods a model has reads it, so special kinds stand above the general ones.
_KINDS = (
    _ModelKind(("inplace_predict", "save_config"), _xgboost_output, takes_missing=True),
    _ModelKind(("dump_model", "num_model_per_iteration"), _lightgbm_output, takes_missing=True),
    _ModelKind(
        ("predict", "is_fitted", "get_cat_feature_indices"), _catboost_output, takes_missing=True
    ),
    _ModelKind(("predict",), _estimator_output, takes_missing=None),
    _ModelKind(("predict_proba",), _estimator_output, takes_missing=None),
    _ModelKind(("decision_function",), _estimator_output, takes_missing=None),
    _ModelKind(("forward", "parameters", "state_dict"), _module_output),
)
_FUNCTION = _ModelKind((), _function_output)
