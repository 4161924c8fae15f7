"""The border to models: the only place that calls one."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

from granite_xai.base.diagnostics import Diagnostics, warn
from granite_xai.base.errors import GraniteError, ModelError, ModelWarning
from granite_xai.base.validation import choose, whole_number
from granite_xai.models import estimators, networks
from granite_xai.models.output import (
    ALL,
    EVERY,
    SCALES,
    ModelOutput,
    first_line,
    outside_unit_interval,
    read_numbers,
)
from granite_xai.models.predictor import DEFAULT_BATCH, Predictor, Rows, Usage, together
from granite_xai.models.remote import Workers
from granite_xai.tables import Table

__all__ = [
    "DEFAULT_BATCH",
    "Predictor",
    "Rows",
    "Usage",
    "accepts_missing",
    "as_predictor",
    "for_table",
]
__all__ += ["outside_unit_interval", "together"]

Record = Diagnostics | None
_RESPONSES = {name: name for name in ("auto", "predict", "probability", "raw")}


def as_predictor(
    model: Any,
    *,
    output: Any = None,
    response: str = "auto",
    batch_size: int | None = None,
    n_jobs: int | None = None,
    device: str = "cpu",
    record: Record = None,
) -> Predictor:
    """Turn any model into a function from tables to one number a row, not called yet.

    Parameters
    ----------
    model, output, response, n_jobs
        As in `Granite`.
    batch_size, device
        As in `Resources`.
    record : Diagnostics, optional
        Remembers the warnings about the model.
    """
    if isinstance(model, Predictor):
        return model
    if batch_size is not None:
        whole_number("batch_size", batch_size, at_least=1)
    asked, kind = choose("response", response, _RESPONSES), _kind_of(model)
    try:
        found = kind.read(model, output, asked)
    except GraniteError:
        raise
    except Exception as error:  # it has the methods of its kind, and does not do what they do
        message = f"this {type(model).__name__} cannot be asked: {type(error).__name__} ({first_line(error)})."
        raise ModelError(message, code="M21", argument="model", hint=_PASS_A_MODEL) from error
    if found.warning is not None:
        (warn if record is None else record.warn)(found.warning, ModelWarning)
    return Predictor(found, batch_size, Workers(n_jobs=n_jobs, device=device, record=record))


def for_table(model: Any, table: Table, output: Any, **how: Any) -> Predictor:
    """The same for the outputs that a fit on a table explains: one, or "all", unless that is the name of a class."""
    if isinstance(output, str) and output == ALL:
        names = as_predictor(model, output=EVERY, **how).names(table)
        if ALL not in names:
            return together({name: as_predictor(model, output=name, **how) for name in names})
    return as_predictor(model, output=output, **how)


_PASS_A_MODEL = "Pass a fitted estimator or a function of the table."


class Kind(NamedTuple):
    """A kind of models."""

    methods: tuple[str, ...]  # that mark it
    read: Callable[[Any, Any, str], ModelOutput]
    takes_missing: bool | None = False  # None: its tags tell


def accepts_missing(model: Any) -> bool:
    """Whether the model's own tags or type say that it takes missing values."""
    known = _kind_of(model).takes_missing
    return estimators.takes_missing(model) if known is None else known


def _kind_of(model: Any) -> Kind:
    what, hint = (
        f"a {type(model).__name__}, which has no predict and cannot be called",
        _PASS_A_MODEL,
    )
    if model is None:
        what = "None, not a model"
    elif isinstance(model, type):
        what = f"the class {model.__name__}, not a model"
        hint = f"Pass a fitted instance: {model.__name__}(…).fit(X, y)."
    elif isinstance(model, ModuleType):
        what, hint = (
            f"the module {model.__name__}, not a model",
            "Pass an object or a function of it.",
        )
    else:
        own = (
            kind for kind in _KINDS if all(estimators.has(model, method) for method in kind.methods)
        )
        if (found := next(own, _FUNCTION if callable(model) else None)) is not None:
            return found
    raise ModelError(f"model is {what}.", code="M21", argument="model", hint=hint)


def _read_function(model: Any, output: Any, response: str) -> ModelOutput:
    name = getattr(model, "__name__", "<lambda>")
    label = "function" if name == "<lambda>" else f"function {name}"
    return read_numbers(model, output, label, SCALES.get(response, "predict"))._replace(
        is_function=True
    )


# The first row whose methods a model has reads it, so special kinds stand above the general ones.
_KINDS = (
    Kind(("inplace_predict", "save_config"), estimators.read_xgboost, True),
    Kind(("dump_model", "num_model_per_iteration"), estimators.read_lightgbm, True),
    Kind(("predict", "is_fitted", "get_cat_feature_indices"), estimators.read_catboost, True),
    Kind(("run", "get_inputs", "get_outputs"), networks.read_session),
    *(Kind((method,), estimators.read_estimator, None) for method in estimators.METHODS.values()),
    Kind(("forward", "parameters", "state_dict"), networks.read_module),
)
_FUNCTION = Kind((), _read_function)
