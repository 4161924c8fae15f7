"""Which models are sums of trees, what their libraries do around the sum, and treelite's arrays, checked by field."""

from __future__ import annotations

import copy
import inspect
import itertools
import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.models import Predictor
from granite_xai.models.output import as_it_is
from granite_xai.tables import Table
from granite_xai.trees.forest import Forest, RefusalError

Link = Callable[
    [Sequence[FloatArray]], FloatArray
]  # what is explained, from the sums of the outputs it depends on
_LARGEST_EXACT = 2.0**53
_LIGHTGBM_ZERO = float(np.float32(1e-35))


def single_precision(labels: dict[int, list[Any]], table: Table) -> FloatArray:
    """Float32, as scikit-learn's trees and xgboost see numbers; codes where a column has labels."""
    columns = []
    for column in table.columns:
        codes = {label: float(code) for code, label in enumerate(labels.get(column.position, ()))}
        if codes:
            columns.append(
                np.array(
                    [np.nan if label is None else codes.get(label, -1.0) for label in column.values]
                )
            )
        else:
            with np.errstate(over="ignore"):
                columns.append(
                    _column_numbers(table, column.position).astype(np.float32).astype(np.float64)
                )
    if any(np.any(values == -1.0) for j, values in enumerate(columns) if j in labels):
        raise RefusalError("a column has categories that xgboost has not seen", "M25")
    return np.stack(columns, axis=1)


NUMBERS = partial(single_precision, {})


def lightgbm_matrix(model: Any, table: Table) -> FloatArray:
    """Lightgbm's own conversion: categories by the codes of the training frame, the dtype by the frame's."""
    native = table.native
    if isinstance(native, np.ndarray):
        plain = native.dtype in (np.float32, np.float64)
        matrix = native.astype(np.float64) if plain else NUMBERS(table)
    elif table.container.library != "pandas":
        raise RefusalError(
            f"lightgbm's conversion of a {table.container.library} table is not known to us"
        )
    else:
        from lightgbm.basic import _data_from_pandas

        own = {
            "feature_name": "auto",
            "categorical_feature": "auto",
            "pandas_categorical": model.pandas_categorical,
        }
        converted = _data_from_pandas(data=native, **own)[0]
        if converted.dtype not in (np.float32, np.float64):
            raise RefusalError(f"lightgbm converts this frame to {converted.dtype}")
        matrix = np.asarray(converted, dtype=np.float64)
    # A row travels without its zeros, and what is this small counts as one.
    return np.where(np.abs(matrix) <= _LIGHTGBM_ZERO, 0.0, matrix)


def histogram_matrix(model: Any, table: Table) -> FloatArray:
    """The matrix of scikit-learn's histogram boosting: ordinal codes for categories, in the table's own order."""
    encoded = np.asarray(model._preprocess_X(table.native, reset=False), dtype=np.float64)  # noqa: SLF001
    if getattr(model, "_preprocessor", None) is None:
        return encoded
    categorical, matrix = np.asarray(model.is_categorical_, dtype=bool), np.empty_like(encoded)
    matrix[:, np.concatenate([np.flatnonzero(categorical), np.flatnonzero(~categorical)])] = encoded
    known_bins = model._bin_mapper.bin_thresholds_  # noqa: SLF001
    for position, known in zip(np.flatnonzero(categorical), known_bins, strict=False):
        # Categories that only the validation rows carried have no bin: they go the way of missing values.
        matrix[~np.isin(matrix[:, position], known), position] = np.nan
    return matrix


def _column_numbers(table: Table, position: int) -> FloatArray:
    """Numbers of a column whose own dtype is one of numbers, whatever it was declared to mean."""
    column, values = table.columns[position], table.columns[position].values
    if column.kind != "numeric":
        native = table.select([position])
        dtype = (
            native.dtype
            if isinstance(native, np.ndarray)
            else next(iter(getattr(native, "dtypes", [None])))
        )
        if column.kind == "date" or getattr(dtype, "kind", "O") not in "iufb":
            raise RefusalError(f"column {column.name!r} does not hold numbers")
        values = np.array([np.nan if label is None else float(label) for label in values])
    if column.integer and np.any(np.abs(values) > _LARGEST_EXACT):
        raise RefusalError(f"column {column.name!r} has whole numbers beyond 2^53")
    return values


class Source(NamedTuple):
    """A model of a known kind: its loader, the table in its own numbers, its trees in use (None: all)."""

    load: Callable[[], Any]
    view: Callable[[Table], FloatArray] = NUMBERS
    n_trees: int | None = None


class Asked(NamedTuple):
    """What a predictor asks: the model, by which method, and whether for the score before the link."""

    model: Any
    method: str
    raw: bool


def asked_of(predictor: Predictor) -> Asked:
    """Look at how the predictor calls its model; refuse what is not a method of the model itself."""
    send = predictor.model_output.send
    if predictor.model_output.prepare is not as_it_is:
        raise RefusalError("the model takes something other than the table")
    if predictor.model_output.is_function and not inspect.ismethod(send):
        raise RefusalError(
            "the model is a function"
        )  # also one that is bound to a tree model: it may do anything
    call = send if isinstance(send, partial) else partial(send)
    keywords = dict(call.keywords)
    raw = bool(keywords.pop("output_margin", False) or keywords.pop("raw_score", False))
    if keywords:
        raise RefusalError(f"the model is called with {', '.join(keywords)}")
    function: Any = (
        call.args[0].predict if call.args else call.func
    )  # a booster is asked through a matrix of its own
    defined = inspect.ismethod(function) and inspect.getattr_static(
        type(function.__self__), function.__name__, None
    )
    # Not a function that was bound to the object; scikit-learn hides some methods in descriptors.
    if defined is False or function.__func__ not in (defined, getattr(defined, "fn", None)):
        raise RefusalError("the model is a function")
    name = function.__name__
    return Asked(function.__self__, name, raw or name == "decision_function")


def source_of(asked: Asked) -> Source:
    """The source of a model that is a sum of trees by its very class; a subclass may predict anything."""
    model = asked.model
    library, name = type(model).__module__.partition(".")[0], type(model).__name__
    reader = _READERS.get((library, name))
    if reader is None:
        raise RefusalError(f"{name} is no tree ensemble known to us")
    return reader(model, asked)


def _plain(fitted: Any, **changes: Any) -> Any:
    """A shallow copy in which some attributes differ; the user's model is never written to."""
    other = copy.copy(fitted)
    other.__dict__.update(changes)
    return other


def _loaded(model: Any, module: str = "sklearn", function: str = "import_model") -> Any:
    return getattr(import_module(f"treelite.{module}"), function)(model)


def _forest(model: Any, asked: Asked) -> Source:
    # The loader trusts n_estimators; trees may have been added or left out since.
    return Source(partial(_loaded, _plain(model, n_estimators=len(model.estimators_))))


def _single_tree(model: Any, asked: Asked) -> Source:
    from sklearn import ensemble

    kind = (
        ensemble.RandomForestRegressor
        if not hasattr(model, "classes_")
        else ensemble.RandomForestClassifier
    )
    fields = ("n_features_in_", "n_outputs_", "classes_", "n_classes_")
    known = {field: getattr(model, field) for field in fields if hasattr(model, field)}
    return Source(partial(_loaded, _plain(kind(n_estimators=1), estimators_=[model], **known)))


def _gradient_boosting(model: Any, asked: Asked) -> Source:
    if model.loss == "exponential" and not asked.raw:
        raise RefusalError(
            "GradientBoostingClassifier(loss='exponential') has a link that is not applied by us",
            "M23",
        )
    return _forest(model, asked)


def _histogram_boosting(model: Any, asked: Asked) -> Source:
    loadable, preprocessor = model, getattr(model, "_preprocessor", None)
    if (
        preprocessor is not None
    ):  # categories named by their codes: the loader knows no text, and we look codes up
        (name, encoder, columns), *others = preprocessor.transformers_
        codes = _plain(
            encoder, categories_=[np.arange(len(known)) for known in encoder.categories_]
        )
        loadable = _plain(
            model,
            _preprocessor=_plain(preprocessor, transformers_=[(name, codes, columns), *others]),
        )
    return Source(partial(_loaded, loadable), partial(histogram_matrix, model))


def _xgboost_model(model: Any, asked: Asked) -> Source:
    if not np.isnan(model.missing):
        raise RefusalError(f"xgboost takes {model.missing} for missing", "M26")
    source = _xgboost(model.get_booster(), asked)
    try:
        best = int(model.best_iteration)
    except AttributeError:
        return source
    per_round = int(model.n_classes_) if getattr(model, "n_classes_", 2) > 2 else 1
    settings = json.loads(model.get_booster().save_config())["learner"]["gradient_booster"][
        "gbtree_model_param"
    ]
    return source._replace(n_trees=(best + 1) * per_round * int(settings["num_parallel_tree"]))


def _xgboost(model: Any, asked: Asked) -> Source:
    learner = json.loads(model.save_config())["learner"]
    booster, objective = learner["gradient_booster"]["name"], learner["objective"]["name"]
    if booster not in ("gbtree", "dart"):
        raise RefusalError(f"xgboost's booster {booster!r} is no sum of trees")
    if (
        objective in ("multi:softmax", "binary:hinge")
        and asked.method == "predict"
        and not asked.raw
    ):
        raise RefusalError(f"xgboost's objective {objective!r} predicts labels")
    own = Source(partial(_loaded, model, "frontend", "from_xgboost"))
    if "c" not in (model.feature_types or ()):
        return own
    # The trees without the labels of their categories, which treelite does not know: we look codes up by label.
    document = json.loads(model.save_raw("json"))
    trees = document["learner"]["gradient_booster"]
    trees = trees.get("gbtree", trees)["model"]  # dart holds its trees one level deeper
    held = trees.get("cats") or {"enc": []}
    trees["cats"] = {name: [] for name in held}
    labels = {
        j: _category_labels(entry) for j, entry in enumerate(held["enc"]) if len(entry["values"])
    }
    if not labels:  # the cells are the codes
        return own
    text = json.dumps(document)
    return Source(
        partial(_loaded, text, "frontend", "from_xgboost_json"), partial(single_precision, labels)
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


def _lightgbm(model: Any, asked: Asked) -> Source:
    # The text holds the trees up to the best iteration, which are those that predict uses.
    text = model.model_to_string()
    kinds = {
        int(kind)
        for line in re.findall(r"^decision_type=(.*)$", text, re.M)
        for kind in line.split()
    }
    if any(kind >> 2 & 3 == 1 for kind in kinds):
        raise RefusalError("lightgbm takes zero for missing", "M26")
    if re.search(r"^is_linear=1$", text, re.M):
        raise RefusalError("lightgbm's leaves hold linear models", "M30")
    if str(model.params.get("pred_early_stop", False)).lower() not in ("false", "0"):
        raise RefusalError("lightgbm stops adding trees row by row (pred_early_stop)", "M24")
    return Source(
        partial(_loaded, model, "frontend", "from_lightgbm"), partial(lightgbm_matrix, model)
    )


_Reader = Callable[[Any, Asked], Source]
_TASKS = ("Regressor", "Classifier")
_FAMILIES: tuple[tuple[str, tuple[str, ...], _Reader], ...] = (
    ("sklearn", ("RandomForest", "ExtraTrees"), _forest),
    ("sklearn", ("DecisionTree", "ExtraTree"), _single_tree),
    ("sklearn", ("GradientBoosting",), _gradient_boosting),
    ("sklearn", ("HistGradientBoosting",), _histogram_boosting),
    ("xgboost", ("XGB", "XGBRF"), _xgboost_model),
    ("lightgbm", ("LGBM",), lambda model, asked: _lightgbm(model.booster_, asked)),
)
_READERS: dict[tuple[str, str], _Reader] = {
    ("xgboost", "Booster"): _xgboost,
    ("lightgbm", "Booster"): _lightgbm,
    **{
        (library, kind + task): read
        for library, kinds, read in _FAMILIES
        for kind in kinds
        for task in _TASKS
    },
}


def identity(sums: Sequence[FloatArray]) -> FloatArray:
    """The sum itself."""
    return sums[0]


def opposite(sums: Sequence[FloatArray]) -> FloatArray:
    """The score of the first of two classes."""
    return -sums[0]


def _logistic(sums: Sequence[FloatArray], alpha: float, complement: bool = False) -> FloatArray:
    shares = np.asarray(expit(alpha * sums[0]))
    return 1.0 - shares if complement else shares


def _softmax(sums: Sequence[FloatArray], output: int) -> FloatArray:
    largest = np.maximum.reduce(list(sums))
    parts = [np.exp(total - largest) for total in sums]
    return np.asarray(parts[output] / np.sum(parts, axis=0))


_SINGLE: dict[str, Link] = {
    "exponential": lambda sums: np.exp(sums[0]),
    "signed_square": lambda sums: np.copysign(np.square(sums[0]), sums[0]),
    "logarithm_one_plus_exp": lambda sums: np.logaddexp(0.0, sums[0]),
}


def link_of(
    asked: Asked, predictor: Predictor, name: str, alpha: float, outputs: int
) -> tuple[Link, tuple[int, ...]]:
    """The link (by treelite's name) of what a predictor explains, and the outputs whose sums it reads."""
    choice = predictor.model_output.choice
    output = choice.default if choice.column is None and outputs == 2 else choice.column
    if outputs > 1 and output is None:
        raise RefusalError(f"the trees have {outputs} outputs")
    if choice.scale == "predict" and getattr(asked.model, "classes_", None) is not None:
        raise RefusalError("labels are explained as numbers")
    two_classes = choice.classes is not None and len(choice.classes) == 2
    complement = outputs == 1 and two_classes and output == 0  # of one sum for two classes
    read = 0 if output is None or (outputs == 1 and not two_classes) else int(output)
    if asked.raw or name.startswith("identity"):
        return (opposite if complement else identity), (0 if outputs == 1 else read,)
    if name == "softmax" and outputs > 1:
        return partial(_softmax, output=read), tuple(range(outputs))
    if name == "multiclass_ova" and outputs > 1:
        return partial(_logistic, alpha=alpha), (read,)
    if name in ("sigmoid", "multiclass_ova") and outputs == 1:
        return partial(_logistic, alpha=alpha, complement=complement), (0,)
    if name in _SINGLE:
        return _SINGLE[name], (read,)
    raise RefusalError(f"the link {name!r} of {outputs} outputs is not applied by us", "M23")


_LESS, _AT_MOST = 2, 3
_LEAF, _NUMERICAL, _CATEGORICAL = 0, 1, 2
_ARRAYS: dict[str, type] = dict.fromkeys(("feature", "left", "right"), np.intp)
_ARRAYS |= dict.fromkeys(("threshold", "value"), np.float64)
_ARRAYS |= dict.fromkeys(("strict", "default_left", "list_right"), np.bool_)


class Loaded:
    """What treelite made of a model: its link by name, the slope of a logistic one, and the sums a row (outputs)."""

    def __init__(self, model: Any) -> None:
        self.model, self.field = model, model.get_header_accessor().get_field
        targets, classes = int(self.field("num_target")[0]), int(np.max(self.field("num_class")))
        if targets > 1 and classes > 1:
            raise RefusalError("the model has several targets with several classes each")
        self.link, self.alpha = (
            str(self.field("postprocessor")),
            float(self.field("sigmoid_alpha")[0]),
        )
        self.n_features, self.outputs = int(self.field("num_feature")[0]), targets * classes
        self.owners = self.field(
            "class_id" if targets == 1 else "target_id"
        )  # the output of each tree; -1: all

    def forest(self, output: int, n_trees: int | None = None) -> Forest:
        """The trees behind one output; of the first ``n_trees`` (all classes counted) only."""
        count = self.model.num_tree if n_trees is None else n_trees
        if count > self.model.num_tree:
            raise RefusalError(f"{count} trees are in use, {self.model.num_tree} were read", "M24")
        chosen = [t for t in range(count) if self.owners[t] in (-1, output)]
        trees = [
            _tree(self.model.get_tree_accessor(t), output if self.owners[t] == -1 else None)
            for t in chosen
        ]
        starts = np.cumsum([0, *(len(tree["feature"]) for tree in trees)]).astype(np.intp)
        categories: dict[int, IntArray] = {}
        for tree, start in zip(trees, starts[:-1].tolist(), strict=True):
            tree["left"], tree["right"] = tree["left"] + start, tree["right"] + start
            categories.update({start + node: kinds for node, kinds in tree["categories"].items()})
        parts = {
            name: [np.zeros(0, dtype), *(tree[name] for tree in trees)]
            for name, dtype in _ARRAYS.items()
        }
        joined: dict[str, NDArray[Any]] = {
            name: np.concatenate(each) for name, each in parts.items()
        }
        if int(self.field("average_tree_output")[0]):
            joined["value"] = joined["value"] / float(len(trees))
        base = float(self.field("base_scores")[output])
        return Forest(**joined, categories=categories, starts=starts, base=base)


def _tree(accessor: Any, output: int | None) -> dict[str, Any]:
    """The arrays of one tree, copied out of treelite's memory and checked; ``output``: the entry of vector leaves."""

    def field(name: str, dtype: Any = None) -> NDArray[Any]:
        return np.array(accessor.get_field(name), dtype=dtype)

    kind, comparisons = field("node_type"), field("cmp")
    inner = kind != _LEAF
    left, right, threshold = (
        field("cleft", np.intp),
        field("cright", np.intp),
        field("threshold", np.float64),
    )
    values = np.zeros(len(kind))
    if output is None:
        values[~inner] = field("leaf_value")[~inner]
    else:
        values[~inner] = field("leaf_vector")[field("leaf_vector_begin", np.intp)[~inner] + output]
    if not np.isin(comparisons[kind == _NUMERICAL], (_LESS, _AT_MOST)).all():
        raise RefusalError("a tree compares by neither < nor <=", "M27")
    nodes = np.flatnonzero(inner)
    children = np.stack([left[nodes], right[nodes]])
    if not np.isin(kind, (_LEAF, _NUMERICAL, _CATEGORICAL)).all() or not np.all(children > nodes):
        raise RefusalError("a tree has nodes of an unknown kind or order", "M30")
    if not np.isfinite(values).all() or np.isnan(threshold).any():
        raise RefusalError("a tree has values that are not finite", "M30")
    begin, end, listed = (field(f"category_list{part}", np.intp) for part in ("_begin", "_end", ""))
    kinds = {
        node: listed[begin[node] : end[node]]
        for node in np.flatnonzero(kind == _CATEGORICAL).tolist()
    }
    feature, strict = (
        np.where(inner, field("split_index"), -1).astype(np.intp),
        comparisons == _LESS,
    )
    default_left, list_right = field("default_left", bool), field("category_list_right_child", bool)
    flags = {
        "strict": strict,
        "default_left": default_left,
        "list_right": list_right,
        "categories": kinds,
    }
    return flags | {
        "feature": feature,
        "threshold": threshold,
        "left": left,
        "right": right,
        "value": values,
    }
