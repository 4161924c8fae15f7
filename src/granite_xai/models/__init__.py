"""The border to models: the only place that calls one."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from granite_xai.base.errors import Diagnostics, GraniteError, ModelError, ModelWarning, warn
from granite_xai.base.options import choose, whole_number
from granite_xai.compute import BLOCK
from granite_xai.models import boosters, estimators
from granite_xai.models.answers import outside_unit_interval
from granite_xai.models.error_text import error_text
from granite_xai.models.onnx_sessions import session_output
from granite_xai.models.output import (
    ALL,
    EVERY,
    SCALES,
    ModelOutput,
    number_output,
)
from granite_xai.models.predictor import DEFAULT_BATCH, Predictor, Usage, joint_predictor
from granite_xai.models.remote import Workers
from granite_xai.models.sent_rows import SentRows
from granite_xai.models.torch_modules import module_output
from granite_xai.tables import Table

__all__ = [
    "DEFAULT_BATCH",
    "Predictor",
    "SentRows",
    "Usage",
    "accepts_missing",
    "as_predictor",
    "for_table",
    "joint_predictor",
    "outside_unit_interval",
]

RESPONSES = ("auto", "predict", "probability", "raw")
PASS_A_MODEL = "Pass a fitted estimator or a function of the table."


def as_predictor(
    model: Any,
    *,
    output: Any = None,
    response: str = "auto",
    batch_size: int | None = None,
    n_jobs: int | None = None,
    device: str = "cpu",
    block: int = BLOCK,
    record: Diagnostics | None = None,
) -> Predictor:
    """Turn any model into a function from tables to one number a row, not called yet.

    Parameters
    ----------
    model, output, response, n_jobs
        As in `Granite`.
    batch_size, device, block
        As in `Resources`.
    record : Diagnostics, optional
        Remembers the warnings about the model.

    Raises
    ------
    ModelError
        M21: it is no model, or does not do what models of its kind do.
    """
    if isinstance(model, Predictor):
        return model
    if batch_size is not None:
        whole_number("batch_size", batch_size, at_least=1)
    choose("response", response, {name: name for name in RESPONSES})
    kind = _kind_of(model)
    try:
        model_output = kind.output_of(model, output, response)
    except GraniteError:
        raise
    except Exception as error:  # it has the methods of its kind, and does not do what they do
        reason = f"{type(error).__name__} ({error_text(error)})"
        message = f"this {type(model).__name__} cannot be asked: {reason}."
        raise ModelError(message, code="M21", argument="model", hint=PASS_A_MODEL) from error
    if model_output.warning is not None:
        give_warning = warn if record is None else record.warn
        give_warning(model_output.warning, ModelWarning)
    workers = Workers(n_jobs=n_jobs, device=device, record=record)
    return Predictor(model_output, batch_size=batch_size, workers=workers, block=block)


def for_table(model: Any, table: Table, output: Any, **options: Any) -> Predictor:
    """The predictor of the outputs that a fit on a table explains: one, or "all".

    Parameters
    ----------
    model : object
    table : Table
        Of a model whose outputs have no names, a row of it is asked about.
    output : object
        As in `Granite`; "all" is every output, unless it is the name of a class.
    options : dict
        Those of `as_predictor`.
    """
    if isinstance(output, str) and output == ALL:
        names = as_predictor(model, output=EVERY, **options).output_names(table)
        if ALL not in names:
            predictors = {name: as_predictor(model, output=name, **options) for name in names}
            return joint_predictor(predictors)
    return as_predictor(model, output=output, **options)


def accepts_missing(model: Any) -> bool:
    """Whether the model's own tags or type say that it takes missing values."""
    kind = _kind_of(model)
    if kind.takes_missing is None:
        return estimators.takes_missing(model)
    return kind.takes_missing


class ModelKind(NamedTuple):
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


def _kind_of(model: Any) -> ModelKind:
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
            if all(estimators.has(model, method) for method in kind.methods):
                return kind
        if callable(model):
            return _FUNCTION
        what = f"a {type(model).__name__}, which has no predict and cannot be called"
    raise ModelError(f"model is {what}.", code="M21", argument="model", hint=hint)


def _function_output(model: Any, output: Any, response: str) -> ModelOutput:
    name = getattr(model, "__name__", "<lambda>")
    label = "function" if name == "<lambda>" else f"function {name}"
    scale = SCALES.get(response, "predict")
    return number_output(model, output, label, scale)._replace(is_function=True)


# The first row whose methods a model has reads it, so special kinds stand above the general ones.
_KINDS = (
    ModelKind(("inplace_predict", "save_config"), boosters.xgboost_output, takes_missing=True),
    ModelKind(
        ("dump_model", "num_model_per_iteration"), boosters.lightgbm_output, takes_missing=True
    ),
    ModelKind(
        ("predict", "is_fitted", "get_cat_feature_indices"),
        boosters.catboost_output,
        takes_missing=True,
    ),
    ModelKind(("run", "get_inputs", "get_outputs"), session_output),
    *(
        ModelKind((method,), estimators.estimator_output, takes_missing=None)
        for method in estimators.METHODS.values()
    ),
    ModelKind(("forward", "parameters", "state_dict"), module_output),
)
_FUNCTION = ModelKind((), _function_output)
