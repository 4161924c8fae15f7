"""Which models are sums of trees, by their libraries."""

from __future__ import annotations

import inspect
import itertools
import json
import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from granite_xai.base.typing import FloatArray
from granite_xai.models import Predictor
from granite_xai.models.output import as_it_is
from granite_xai.tables import Table
from granite_xai.trees.model_numbers import (
    NUMBERS,
    histogram_matrix,
    lightgbm_matrix,
    single_precision,
)
from granite_xai.trees.refusal import RefusalError
from granite_xai.trees.sklearn_arrays import (
    read_forest,
    read_gradient_boosting,
    read_histogram_boosting,
    read_single_tree,
)
from granite_xai.trees.tree_model import TreeModel
from granite_xai.trees.treelite_arrays import read_treelite

LIGHTGBM_ZERO_IS_MISSING = 1


class Source(NamedTuple):
    """A model of a known kind."""

    load: Callable[[], TreeModel]  # reads its trees
    view: Callable[[Table], FloatArray]  # a table in the model's own numbers, (n, d)


class ModelCall(NamedTuple):
    """What a predictor asks of its model."""

    model: Any
    method: str
    raw: bool  # whether for the score before the link


def model_call(predictor: Predictor) -> ModelCall:
    """Look at how a predictor calls its model; refuse what is not a method of the model itself."""
    send = predictor.model_output.send
    if predictor.model_output.prepare is not as_it_is:
        raise RefusalError("the model takes something other than the table")
    if predictor.model_output.is_function and not inspect.ismethod(send):
        raise RefusalError("the model is a function")  # it may do anything with the trees it calls
    call = send if isinstance(send, partial) else partial(send)
    keywords = dict(call.keywords)
    output_margin = keywords.pop("output_margin", False)
    raw_score = keywords.pop("raw_score", False)
    if keywords:
        raise RefusalError(f"the model is called with {', '.join(keywords)}")
    # A booster is asked through a matrix of its own, and is then the first argument.
    method: Any = call.args[0].predict if call.args else call.func
    if not _is_method_of_its_class(method):
        raise RefusalError("the model is a function")
    return ModelCall(
        model=method.__self__,
        method=method.__name__,
        raw=bool(output_margin or raw_score) or method.__name__ == "decision_function",
    )


def _is_method_of_its_class(method: Any) -> bool:
    """Whether it is defined by the class, and not a function that was bound to the object."""
    if not inspect.ismethod(method):
        return False
    defined = inspect.getattr_static(type(method.__self__), method.__name__, None)
    # scikit-learn hides some methods in descriptors, which hold them as ``fn``.
    return method.__func__ in (defined, getattr(defined, "fn", None))


def source_of(call: ModelCall) -> Source:
    """The source of a model that is a sum of trees by its very class; a subclass may predict anything."""
    model = call.model
    library = type(model).__module__.partition(".")[0]
    name = type(model).__name__
    reader = _READERS.get((library, name))
    if reader is None:
        raise RefusalError(f"{name} is no tree ensemble known to us")
    return reader(model, call)


def _by_treelite(
    model: Any,
    function: str,
    *,
    view: Callable[[Table], FloatArray] = NUMBERS,
    n_trees: int | None = None,
) -> Source:
    """A model that treelite reads.

    Parameters
    ----------
    model : object
    function : str
        Of treelite's frontend, which takes the model.
    view : callable
        From a table to the model's own numbers.
    n_trees : int, optional
        Trees in use; None: all.
    """

    def load() -> TreeModel:
        if find_spec("treelite") is None:
            raise RefusalError("treelite is not installed (pip install granite-xai[fast])")
        frontend = import_module("treelite.frontend")
        return read_treelite(getattr(frontend, function)(model), n_trees)

    return Source(load, view)


def _by_arrays(read: Callable[[Any], TreeModel], model: Any, call: ModelCall) -> Source:
    """A model of scikit-learn whose trees compare numbers in single precision."""
    return Source(partial(read, model), NUMBERS)


def _histogram_boosting(model: Any, call: ModelCall) -> Source:
    return Source(partial(read_histogram_boosting, model), partial(histogram_matrix, model))


def _xgboost_model(model: Any, call: ModelCall) -> Source:
    if not np.isnan(model.missing):
        raise RefusalError(f"xgboost takes {model.missing} for missing", "M26")
    booster = model.get_booster()
    try:
        best = int(model.best_iteration)
    except AttributeError:  # it was not stopped early
        return _xgboost(booster, call)
    trees_per_round = 1
    if getattr(model, "n_classes_", 2) > 2:
        trees_per_round = int(model.n_classes_)
    settings = json.loads(booster.save_config())["learner"]["gradient_booster"]
    trees_per_round *= int(settings["gbtree_model_param"]["num_parallel_tree"])
    return _xgboost(booster, call, n_trees=(best + 1) * trees_per_round)


def _xgboost(model: Any, call: ModelCall, n_trees: int | None = None) -> Source:
    learner = json.loads(model.save_config())["learner"]
    booster = learner["gradient_booster"]["name"]
    objective = learner["objective"]["name"]
    if booster not in ("gbtree", "dart"):
        raise RefusalError(f"xgboost's booster {booster!r} is no sum of trees")
    predicts_labels = objective in ("multi:softmax", "binary:hinge")
    if predicts_labels and call.method == "predict" and not call.raw:
        raise RefusalError(f"xgboost's objective {objective!r} predicts labels")
    source = _by_treelite(model, "from_xgboost", n_trees=n_trees)
    if "c" not in (model.feature_types or ()):
        return source
    # The trees without the labels of their categories, which treelite does not know: we look codes up by label.
    document = json.loads(model.save_raw("json"))
    trees = document["learner"]["gradient_booster"]
    trees = trees.get("gbtree", trees)["model"]  # dart holds its trees one level deeper
    categories = trees.get("cats") or {"enc": []}
    trees["cats"] = {name: [] for name in categories}
    labels = {
        position: _category_labels(entry)
        for position, entry in enumerate(categories["enc"])
        if len(entry["values"])
    }
    if not labels:  # the cells are the codes
        return source
    return _by_treelite(
        json.dumps(document),
        "from_xgboost_json",
        view=partial(single_precision, labels),
        n_trees=n_trees,
    )


def _category_labels(entry: dict[str, Any]) -> list[Any]:
    """Labels in the order of their codes: numbers as they are, texts as bytes with their offsets."""
    if "offsets" not in entry:
        return list(entry["values"])
    if not all(0 <= byte < 128 for byte in entry["values"]):
        raise RefusalError(
            "xgboost does not keep categories exactly that are not plain ASCII", "M25"
        )
    text = bytes(entry["values"]).decode()
    return [text[start:end] for start, end in itertools.pairwise(entry["offsets"])]


def _lightgbm(model: Any, call: ModelCall) -> Source:
    # The text holds the trees up to the best iteration, which are those that predict uses.
    text = model.model_to_string()
    decisions = " ".join(re.findall(r"^decision_type=(.*)$", text, re.M)).split()
    # Bits 2 and 3 of a decision say what is missing: nothing, zero, or NaN.
    missing_kinds = {int(decision) >> 2 & 3 for decision in decisions}
    if LIGHTGBM_ZERO_IS_MISSING in missing_kinds:
        raise RefusalError("lightgbm takes zero for missing", "M26")
    if re.search(r"^is_linear=1$", text, re.M):
        raise RefusalError("lightgbm's leaves hold linear models", "M30")
    if str(model.params.get("pred_early_stop", False)).lower() not in ("false", "0"):
        raise RefusalError("lightgbm stops adding trees row by row (pred_early_stop)", "M24")
    return _by_treelite(model, "from_lightgbm", view=partial(lightgbm_matrix, model))


_Reader = Callable[[Any, ModelCall], Source]
_READERS: dict[tuple[str, str], _Reader] = {
    ("xgboost", "Booster"): _xgboost,
    ("lightgbm", "Booster"): _lightgbm,
}
for _task in ("Regressor", "Classifier"):
    _READERS |= {
        ("sklearn", f"RandomForest{_task}"): partial(_by_arrays, read_forest),
        ("sklearn", f"ExtraTrees{_task}"): partial(_by_arrays, read_forest),
        ("sklearn", f"DecisionTree{_task}"): partial(_by_arrays, read_single_tree),
        ("sklearn", f"ExtraTree{_task}"): partial(_by_arrays, read_single_tree),
        ("sklearn", f"GradientBoosting{_task}"): partial(_by_arrays, read_gradient_boosting),
        ("sklearn", f"HistGradientBoosting{_task}"): _histogram_boosting,
        ("xgboost", f"XGB{_task}"): _xgboost_model,
        ("xgboost", f"XGBRF{_task}"): _xgboost_model,
        ("lightgbm", f"LGBM{_task}"): lambda model, call: _lightgbm(model.booster_, call),
    }
