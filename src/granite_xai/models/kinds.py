"""The kinds of model, one row of a table each, told apart by what a model can do."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from granite_xai.base.errors import GraniteError, ModelError
from granite_xai.models.boosters import is_catboost, is_lightgbm, is_xgboost, read_catboost, read_lightgbm, read_xgboost
from granite_xai.models.estimators import is_estimator, read_estimator, takes_missing
from granite_xai.models.faults import first_line
from granite_xai.models.modules import is_module, read_module
from granite_xai.models.output import SCALES, ModelOutput, output_of_numbers
from granite_xai.models.sessions import is_session, read_session

if TYPE_CHECKING:
    from collections.abc import Callable

_PASS_A_MODEL = "Pass a fitted estimator or a function of the table."


class Kind(NamedTuple):
    """A row: who belongs to it, how it is asked for an output and a response, whether it takes missing values."""

    accepts: Callable[[Any], bool]
    read: Callable[[Any, Any, str], ModelOutput]
    takes_missing: Callable[[Any], bool]


def read_model(model: Any, output: Any, response: str) -> ModelOutput:
    """Find out how to ask this model for the output that is to be explained."""
    kind = _kind_of(model)
    try:
        return kind.read(model, output, response)
    except GraniteError:
        raise
    except Exception as error:  # it has the methods of its kind, and does not do what they do
        message = f"this {type(model).__name__} cannot be asked: {type(error).__name__} ({first_line(error)})."
        raise ModelError(message, code="M21", argument="model", hint=_PASS_A_MODEL) from error


def accepts_missing(model: Any) -> bool:
    """Whether the model's own tags or type say that it takes missing values."""
    return _kind_of(model).takes_missing(model)


def _kind_of(model: Any) -> Kind:
    _refuse_non_models(model)
    for kind in _KINDS:
        if kind.accepts(model):
            return kind
    message = f"model is a {type(model).__name__}, which has no predict and cannot be called."
    raise ModelError(message, code="M21", argument="model", hint=_PASS_A_MODEL)


def _refuse_non_models(model: Any) -> None:
    if model is None:
        what, hint = "None", _PASS_A_MODEL
    elif isinstance(model, type):
        what, hint = f"the class {model.__name__}", f"Pass a fitted instance: {model.__name__}(…).fit(X, y)."
    elif isinstance(model, ModuleType):
        what, hint = f"the module {model.__name__}", "Pass an object or a function of it."
    else:
        return
    raise ModelError(f"model is {what}, not a model.", code="M21", argument="model", hint=hint)


def _read_function(model: Any, output: Any, response: str) -> ModelOutput:
    name = getattr(model, "__name__", "<lambda>")
    label = "function" if name == "<lambda>" else f"function {name}"
    return output_of_numbers(model, output, label, SCALES.get(response, "predict"))._replace(is_function=True)


def _yes(model: Any) -> bool:
    return True


def _no(model: Any) -> bool:
    return False


# The first row that accepts a model reads it, so special kinds stand above the general ones.
_KINDS: tuple[Kind, ...] = (
    Kind(is_xgboost, read_xgboost, _yes),
    Kind(is_lightgbm, read_lightgbm, _yes),
    Kind(is_catboost, read_catboost, _yes),
    Kind(is_session, read_session, _no),
    Kind(is_module, read_module, _no),
    Kind(is_estimator, read_estimator, takes_missing),
    Kind(callable, _read_function, _no),
)
