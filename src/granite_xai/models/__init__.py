"""The border to models: the only place that calls one."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from granite_xai.base.diagnostics import Diagnostics, warn
from granite_xai.base.errors import GraniteError, ModelError, ModelWarning
from granite_xai.base.options import choose, whole_number
from granite_xai.models import estimators, networks
from granite_xai.models.faults import Rows, first_line
from granite_xai.models.output import SCALES, ModelOutput, output_of_numbers, outside_unit_interval
from granite_xai.models.predictor import DEFAULT_BATCH, Predictor, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DEFAULT_BATCH", "Predictor", "Rows", "Usage", "accepts_missing", "as_predictor", "outside_unit_interval"]

_RESPONSES = {name: name for name in ("auto", "predict", "probability", "raw")}


def as_predictor(
    model: Any,
    *,
    output: Any = None,
    response: str = "auto",
    batch_size: int | None = None,
    diagnostics: Diagnostics | None = None,
) -> Predictor:
    """Turn any model into a function from tables to one number a row.

    ``output`` is the class, or the position of the output, that is explained (None: the second of two classes);
    ``response`` ``"auto"`` is the probability where there is one, otherwise the prediction, ``"raw"`` the score before
    the link. The model is not called yet. Refusals: M02 several classes and no output, M21 not a model, P01 unknown
    class or response, P03 a response that the model cannot give.

    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0]], ["no", "yes"])
    >>> F = as_predictor(model)
    >>> F.label, F.is_probability
    ("probability of class 'yes'", True)
    >>> F(np.array([[0.5]]))
    array([0.5...])
    """
    if isinstance(model, Predictor):
        return model
    if batch_size is not None:
        whole_number("batch_size", batch_size, at_least=1)
    found = _read_model(model, output, choose("response", response, _RESPONSES))
    if found.warning is not None:
        (warn if diagnostics is None else diagnostics.warn)(found.warning, ModelWarning)
    return Predictor(found, batch_size)


_PASS_A_MODEL = "Pass a fitted estimator or a function of the table."


class Kind(NamedTuple):
    """A row: who belongs to it, how it is asked for an output and a response, whether it takes missing values."""

    accepts: Callable[[Any], bool]
    read: Callable[[Any, Any, str], ModelOutput]
    takes_missing: Callable[[Any], bool]


def _read_model(model: Any, output: Any, response: str) -> ModelOutput:
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
    what, hint = f"a {type(model).__name__}, which has no predict and cannot be called", _PASS_A_MODEL
    if model is None:
        what = "None, not a model"
    elif isinstance(model, type):
        what = f"the class {model.__name__}, not a model"
        hint = f"Pass a fitted instance: {model.__name__}(…).fit(X, y)."
    elif isinstance(model, ModuleType):
        what, hint = f"the module {model.__name__}, not a model", "Pass an object or a function of it."
    else:
        found = next((kind for kind in _KINDS if kind.accepts(model)), None)
        if found is not None:
            return found
    raise ModelError(f"model is {what}.", code="M21", argument="model", hint=hint)


def _read_function(model: Any, output: Any, response: str) -> ModelOutput:
    name = getattr(model, "__name__", "<lambda>")
    label = "function" if name == "<lambda>" else f"function {name}"
    return output_of_numbers(model, output, label, SCALES.get(response, "predict"))._replace(is_function=True)


# The first row that accepts a model reads it, so special kinds stand above the general ones.
_KINDS: tuple[Kind, ...] = (
    Kind(estimators.is_xgboost, estimators.read_xgboost, lambda _: True),
    Kind(estimators.is_lightgbm, estimators.read_lightgbm, lambda _: True),
    Kind(estimators.is_catboost, estimators.read_catboost, lambda _: True),
    Kind(networks.is_session, networks.read_session, lambda _: False),
    Kind(networks.is_module, networks.read_module, lambda _: False),
    Kind(estimators.is_estimator, estimators.read_estimator, estimators.takes_missing),
    Kind(callable, _read_function, lambda _: False),
)
