"""The border to models: the only place that calls one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from granite_xai.base.diagnostics import warn
from granite_xai.base.errors import ModelWarning
from granite_xai.base.options import choose, whole_number
from granite_xai.models.faults import Rows
from granite_xai.models.kinds import accepts_missing, read_model
from granite_xai.models.output import outside_unit_interval
from granite_xai.models.predictor import DEFAULT_BATCH, Predictor, Usage

if TYPE_CHECKING:
    from granite_xai.base.diagnostics import Diagnostics

__all__ = [
    "DEFAULT_BATCH",
    "Predictor",
    "Rows",
    "Usage",
    "accepts_missing",
    "as_predictor",
    "outside_unit_interval",
]

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

    Parameters
    ----------
    model : object
        Anything with predict, predict_proba or decision_function, a booster of xgboost or lightgbm, a model of
        catboost, a torch module, a session of ONNX Runtime, or a function of the table. A `Predictor` is returned as
        it is.
    output : object, optional
        The class, or the position of the output, that is explained. None: the second of two classes.
    response : {"auto", "predict", "probability", "raw"}
        ``"auto"``: the probability where there is one, otherwise the prediction. ``"raw"``: the score before the link.
    batch_size : int, optional
        Largest number of rows of one call. None: 65,536.
    diagnostics : Diagnostics, optional
        Remembers the warnings.

    Returns
    -------
    Predictor
        The model is not called yet.

    Raises
    ------
    ModelError
        M02 several classes and no output, M21 not a model.
    InputError
        P01 unknown class or response, P03 a response that the model cannot give.

    Examples
    --------
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
    found = read_model(model, output, choose("response", response, _RESPONSES))
    if found.warning is not None:
        (warn if diagnostics is None else diagnostics.warn)(found.warning, ModelWarning)
    return Predictor(found, batch_size)
