"""Tree ensembles as their libraries keep them: trees, links, and the numbers that they compare.

scikit-learn's ensembles are read from the arrays that their ``predict`` walks, xgboost and lightgbm through
treelite. What is not read exactly is refused with a reason, and the model is asked. Attributes that are not public
are looked at here alone: a version that names them otherwise raises an error, and the model is asked (M30).
"""

from __future__ import annotations

import inspect
import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.evaluations.forest import LEAF, Forest
from granite_xai.models import Predictor
from granite_xai.models.outputs import ModelOutput
from granite_xai.tables import Column, Table

LARGEST_EXACT = 2.0**53  # beyond it float64 holds only some whole numbers
LIGHTGBM_ZERO = float(np.float32(1e-35))  # what is this small counts as zero
LIGHTGBM_ZERO_IS_MISSING = 1
UNSEEN = -1.0  # the code of a label that a model does not know


class RefusalError(Exception):
    """Why a model is evaluated by its own ``predict``.

    Parameters
    ----------
    reason : str
        As ``diagnostics_`` tells it.
    code : str, optional
        Of the warning, where users may expect that we read such a model.
    """

    def __init__(self, reason: str, code: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.code = code


@dataclass(frozen=True, eq=False)
class TreeModel:
    """A tree ensemble: for every output, a base and the trees whose leaves are added to it.

    Parameters
    ----------
    link : str
        Name of the link, as in `link_of`.
    n_features : int
    bases : array of shape (n_outputs,)
        What each sum starts from.
    trees_of : callable
        From the number of an output to its trees, each a forest of one.
    view : callable
        From a table to the numbers that the trees compare, (n, d).
    average : bool
        Whether leaves are averaged instead of added.
    slope : float
        Of a logistic link.
    """

    link: str
    n_features: int
    bases: FloatArray
    trees_of: Callable[[int], list[Forest]]
    view: Callable[[Table], FloatArray]
    average: bool = False
    slope: float = 1.0

    def forest(self, output: int) -> Forest:
        """The trees behind one output, one after the other, their nodes numbered through.

        Raises
        ------
        RefusalError
            Where a tree is not as it should be.
        """
        trees = self.trees_of(output)
        starts = np.cumsum([0, *(len(tree.feature) for tree in trees)]).astype(np.intp)
        shift_of_node = np.repeat(starts[:-1], np.diff(starts))
        categories: dict[int, IntArray] = {}
        for tree, start in zip(trees, starts.tolist(), strict=False):
            inner = np.flatnonzero(tree.feature != LEAF)
            if not np.all(tree.left[inner] > inner) or not np.all(tree.right[inner] > inner):
                raise RefusalError("a tree has nodes of an unknown kind or order", "M30")
            if not np.isfinite(tree.value).all() or np.isnan(tree.threshold).any():
                raise RefusalError("a tree has values that are not finite", "M30")
            categories |= {start + node: listed for node, listed in tree.categories.items()}

        def joined(name: str, dtype: Any) -> NDArray[Any]:
            return np.concatenate([np.zeros(0, dtype), *(getattr(tree, name) for tree in trees)])

        feature = joined("feature", np.intp)
        by_category = list(categories)
        both = np.intersect1d(feature[by_category], np.delete(feature, by_category))
        if len(both):
            raise RefusalError(f"column {both[0]} is split by thresholds and by categories")
        return Forest(
            feature=feature,
            threshold=joined("threshold", np.float64),
            strict=joined("strict", np.bool_),
            default_left=joined("default_left", np.bool_),
            left=joined("left", np.intp) + shift_of_node,
            right=joined("right", np.intp) + shift_of_node,
            value=joined("value", np.float64) / (len(trees) if self.average else 1),
            categories=categories,
            list_right=joined("list_right", np.bool_),
            starts=starts,
            base=float(self.bases[output]),
        )


# ---------------------------------------------------------------------------------------------------------------
# Which call of which model


class ModelCall(NamedTuple):
    """What a predictor asks of its model."""

    model: Any
    method: str
    raw: bool  # whether for the score before the link
    prepare: Callable[[Any], Any]  # makes of a table what the model takes

    @property
    def kind(self) -> tuple[str, str]:
        """The library and the name of the model's very class: a subclass may predict anything."""
        kind = type(self.model)
        return kind.__module__.partition(".")[0], kind.__name__


def model_call(predictor: Predictor) -> ModelCall:
    """Look at how a predictor calls its model; refuse what is not a method of the model itself."""
    send = predictor.model_output.send
    if predictor.model_output.is_module:
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
    # Defined by the class, and no function that was bound to the object: scikit-learn hides some methods
    # in descriptors, which hold them as ``fn``.
    if not inspect.ismethod(method):
        raise RefusalError("the model is a function")
    defined = inspect.getattr_static(type(method.__self__), method.__name__, None)
    if method.__func__ not in (defined, getattr(defined, "fn", None)):
        raise RefusalError("the model is a function")
    return ModelCall(
        model=method.__self__,
        method=method.__name__,
        raw=bool(output_margin or raw_score) or method.__name__ == "decision_function",
        prepare=predictor.model_output.prepare,
    )


def read_tree_model(call: ModelCall) -> TreeModel:
    """Read a model that is a sum of trees."""
    reader = _READERS.get(call.kind)
    if reader is None:
        raise RefusalError(f"{call.kind[1]} is no tree ensemble known to us")
    return reader(call.model, call)


# ---------------------------------------------------------------------------------------------------------------
# Links: from the sums of a model's parts to what is explained

# What is explained, from the sums of the outputs it depends on, each of the same shape.
Link = Callable[[Sequence[FloatArray]], FloatArray]


def identity(sums: Sequence[FloatArray]) -> FloatArray:
    """The sum itself."""
    return sums[0]


def opposite(sums: Sequence[FloatArray]) -> FloatArray:
    """The score of the first of two classes."""
    return -sums[0]


def is_sum(link: Link) -> bool:
    """Whether what is explained is the sum itself, up to its sign: then attributions add up too."""
    return link in (identity, opposite)


def _logistic(sums: Sequence[FloatArray], slope: float, complement: bool = False) -> FloatArray:
    probability = np.asarray(expit(slope * sums[0]))
    if complement:
        return 1.0 - probability
    return probability


def _softmax(sums: Sequence[FloatArray], output: int) -> FloatArray:
    return np.asarray(softmax(np.stack(sums), axis=0)[output])


# By treelite's names.
_ELEMENTWISE: dict[str, Link] = {
    "exponential": lambda sums: np.asarray(np.exp(sums[0])),
    "signed_square": lambda sums: np.asarray(np.copysign(np.square(sums[0]), sums[0])),
    "logarithm_one_plus_exp": lambda sums: np.asarray(np.logaddexp(0.0, sums[0])),
}


def link_of(
    explained: ModelOutput, raw: bool, has_classes: bool, name: str, slope: float, n_outputs: int
) -> tuple[Link, tuple[int, ...]]:
    """The link of what is explained, and the outputs whose sums it reads; a RefusalError says why there is none.

    Parameters
    ----------
    explained : ModelOutput
        Which output is explained, as which response.
    raw : bool
        Whether the score before the link is explained.
    has_classes : bool
        Whether the model names its classes.
    name : str
        Of the link, by treelite.
    slope : float
        Of a logistic link.
    n_outputs : int
        Sums that the model forms for a row.
    """
    output = explained.column
    if output is None and n_outputs == 2:
        output = explained.default
    if n_outputs > 1 and output is None:
        raise RefusalError(f"the trees have {n_outputs} outputs")
    if explained.response == "predict" and has_classes:
        raise RefusalError("labels are explained as numbers")
    two_classes = explained.classes is not None and len(explained.classes) == 2
    # The only sum of two classes is the score of the second.
    first_of_two = n_outputs == 1 and two_classes and output == 0
    chosen = 0 if n_outputs == 1 or output is None else int(output)
    if raw or name.startswith("identity"):
        return opposite if first_of_two else identity, (chosen,)
    if name == "softmax" and n_outputs > 1:
        return partial(_softmax, output=chosen), tuple(range(n_outputs))
    if name == "multiclass_ova" and n_outputs > 1:
        return partial(_logistic, slope=slope), (chosen,)
    if name in ("sigmoid", "multiclass_ova") and n_outputs == 1:
        return partial(_logistic, slope=slope, complement=first_of_two), (0,)
    if name in _ELEMENTWISE:
        return _ELEMENTWISE[name], (chosen,)
    raise RefusalError(f"the link {name!r} of {n_outputs} outputs is not applied by us", "M23")


# ---------------------------------------------------------------------------------------------------------------
# scikit-learn: a node sends a row left if ``x <= threshold``. Forests, single trees and gradient boosting compare
# numbers in single precision, histogram gradient boosting in double precision.

# The link from a sum to a prediction, by the loss of a model.
_REGRESSION_LINKS = {
    "squared_error": "identity",
    "absolute_error": "identity",
    "huber": "identity",
    "quantile": "identity",
    "poisson": "exponential",
    "gamma": "exponential",
}
# The slope of the logistic link of two classes: the exponential loss fits half of the log odds.
_LOGISTIC_SLOPES = {"log_loss": 1.0, "exponential": 2.0}
_CONSTANT_STRATEGIES = ("prior", "most_frequent", "constant")  # of a DummyClassifier


def _read_mean_of_trees(model: Any, call: ModelCall) -> TreeModel:
    """A tree, a forest or extra trees: the mean of the trees' values, or of their class shares."""
    estimators = getattr(model, "estimators_", [model])
    trees = [estimator.tree_ for estimator in estimators]
    # Leaves hold one number for each target of a regression, or for each class.
    if not hasattr(model, "classes_"):
        n_outputs = int(model.n_outputs_)
    elif model.n_outputs_ == 1:
        n_outputs = int(model.n_classes_)
    else:
        raise RefusalError("the model has several targets with several classes each")

    def trees_of(output: int) -> list[Forest]:
        # ``value`` has shape (nodes, targets, classes), with one class in a regression.
        return [_read_arrays(tree, tree.value.reshape(-1, n_outputs)[:, output]) for tree in trees]

    return TreeModel(
        link="identity",
        n_features=int(model.n_features_in_),
        bases=np.zeros(n_outputs),
        trees_of=trees_of,
        view=single_precision,
        average=True,
    )


def _read_gradient_boosting(model: Any, call: ModelCall) -> TreeModel:
    """Gradient boosting: a constant, and the learning rate times the sum of the trees."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    start = model.init_
    if isinstance(start, DummyClassifier):
        is_constant = start.strategy in _CONSTANT_STRATEGIES
    else:
        is_constant = isinstance(start, DummyRegressor) or start == "zero"
    if not is_constant:
        raise RefusalError(f"boosting starts from another model ({type(start).__name__})", "M30")
    any_row = np.zeros((1, model.n_features_in_))
    bases = np.array(model._raw_predict_init(any_row), dtype=np.float64).reshape(-1)
    stages = model.estimators_  # (stages, outputs)

    def trees_of(output: int) -> list[Forest]:
        trees = [estimator.tree_ for estimator in stages[:, output]]
        return [_read_arrays(tree, model.learning_rate * tree.value[:, 0, 0]) for tree in trees]

    link, slope = _link_of_loss(model, len(bases))
    return TreeModel(
        link=link,
        n_features=int(model.n_features_in_),
        bases=bases,
        trees_of=trees_of,
        view=single_precision,
        slope=slope,
    )


def _read_arrays(tree: Any, value: FloatArray) -> Forest:
    """One tree of those that keep arrays; ``value``: what each node would add if it were a leaf."""
    is_leaf = tree.children_left < 0
    n_nodes = len(is_leaf)
    return Forest(
        feature=np.where(is_leaf, LEAF, tree.feature).astype(np.intp),
        threshold=np.array(tree.threshold, dtype=np.float64),
        strict=np.zeros(n_nodes, dtype=bool),
        default_left=np.array(tree.missing_go_to_left, dtype=bool),
        left=np.array(tree.children_left, dtype=np.intp),
        right=np.array(tree.children_right, dtype=np.intp),
        value=np.where(is_leaf, value, 0.0),
        categories={},
        list_right=np.zeros(n_nodes, dtype=bool),
        starts=np.array([0, n_nodes]),
    )


def _read_histogram_boosting(model: Any, call: ModelCall) -> TreeModel:
    """Histogram gradient boosting: a constant and the sum of the trees, one a stage and output.

    It sees ordinal codes of categories, and the columns that have them first.
    """
    is_categorical = np.zeros(model.n_features_in_, dtype=bool)
    if getattr(model, "_preprocessor", None) is not None:
        is_categorical |= np.asarray(model.is_categorical_, dtype=bool)
    position_of = np.argsort(~is_categorical, kind="stable")  # in the table, of each feature

    def view(table: Table) -> FloatArray:
        seen = np.asarray(
            model._preprocess_X(call.prepare(table.native), reset=False), dtype=np.float64
        )
        matrix = np.empty_like(seen)
        matrix[:, position_of] = seen
        bins = model._bin_mapper.bin_thresholds_
        for position, binned in zip(np.flatnonzero(is_categorical), bins, strict=False):
            # Categories that only the validation rows carried have no bin: they go the way of missing values.
            matrix[~np.isin(matrix[:, position], binned), position] = np.nan
        return matrix

    bases = np.array(model._baseline_prediction, dtype=np.float64).reshape(-1)
    stages = model._predictors
    link, slope = _link_of_loss(model, len(bases))
    return TreeModel(
        link=link,
        n_features=int(model.n_features_in_),
        bases=bases,
        trees_of=lambda output: [_read_records(stage[output], position_of) for stage in stages],
        view=view,
        slope=slope,
    )


def _read_records(predictor: Any, position_of: IntArray) -> Forest:
    """One tree of histogram boosting, whose features lie at these positions of the table."""
    nodes = predictor.nodes
    is_leaf = nodes["is_leaf"].astype(bool)
    by_category = nodes["is_categorical"].astype(bool) & ~is_leaf
    n_nodes = len(nodes)
    # A set of categories is 256 bits: category c is bit c % 32 of word c // 32.
    words = np.ascontiguousarray(predictor.raw_left_cat_bitsets, dtype="<u4")  # (sets, 8)
    in_set = np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little")  # (sets, 256)
    categories: dict[int, IntArray] = {}
    for node in np.flatnonzero(by_category).tolist():
        categories[node] = np.flatnonzero(in_set[nodes["bitset_idx"][node]])
    asks_threshold = ~is_leaf & ~by_category
    return Forest(
        feature=np.where(is_leaf, LEAF, position_of[nodes["feature_idx"]]).astype(np.intp),
        threshold=np.where(asks_threshold, nodes["num_threshold"], 0.0),
        strict=np.zeros(n_nodes, dtype=bool),
        default_left=nodes["missing_go_to_left"].astype(bool),
        left=nodes["left"].astype(np.intp),
        right=nodes["right"].astype(np.intp),
        value=np.where(is_leaf, nodes["value"], 0.0),
        categories=categories,
        list_right=np.zeros(n_nodes, dtype=bool),
        starts=np.array([0, n_nodes]),
    )


def _link_of_loss(model: Any, n_outputs: int) -> tuple[str, float]:
    """The link of a boosted model, and its slope where it is logistic."""
    if not hasattr(model, "classes_"):
        links = _REGRESSION_LINKS
    elif n_outputs == 1:
        links = dict.fromkeys(_LOGISTIC_SLOPES, "sigmoid")
    else:
        links = {"log_loss": "softmax"}
    if not isinstance(model.loss, str) or model.loss not in links:
        raise RefusalError(f"the link of the loss {model.loss!r} is not applied by us", "M23")
    return links[model.loss], _LOGISTIC_SLOPES.get(model.loss, 1.0)


# ---------------------------------------------------------------------------------------------------------------
# xgboost and lightgbm, by treelite

# Treelite's numbers for comparisons and for kinds of nodes.
_LESS = 2
_AT_MOST = 3
_LEAF_NODE = 0
_NUMERICAL = 1
_CATEGORICAL = 2
_EVERY_OUTPUT = -1  # of a tree whose leaves hold a vector, one entry for each output


def _read_xgboost_model(model: Any, call: ModelCall) -> TreeModel:
    if not np.isnan(model.missing):
        raise RefusalError(f"xgboost takes {model.missing} for missing", "M26")
    booster = model.get_booster()
    try:
        n_rounds = int(model.best_iteration) + 1
    except AttributeError:  # it was not stopped early
        n_rounds = booster.num_boosted_rounds()
    if n_rounds < booster.num_boosted_rounds():
        booster = booster[:n_rounds]
    return _read_xgboost(booster, call)


def _read_xgboost(model: Any, call: ModelCall) -> TreeModel:
    learner = json.loads(model.save_config())["learner"]
    booster = learner["gradient_booster"]["name"]
    objective = learner["objective"]["name"]
    if booster not in ("gbtree", "dart"):
        raise RefusalError(f"xgboost's booster {booster!r} is no sum of trees")
    predicts_labels = objective in ("multi:softmax", "binary:hinge")
    if predicts_labels and call.method == "predict" and not call.raw:
        raise RefusalError(f"xgboost's objective {objective!r} predicts labels")
    if "c" in (model.feature_types or ()):
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
        if labels:  # otherwise the cells are the codes
            view = partial(single_precision, labels=labels)
            return read_by_treelite("from_xgboost_json", json.dumps(document), view)
    return read_by_treelite("from_xgboost", model, single_precision)


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


def _read_lightgbm(model: Any, call: ModelCall) -> TreeModel:
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
    return read_by_treelite("from_lightgbm", model, partial(_lightgbm_matrix, model))


def read_by_treelite(function: str, model: Any, view: Callable[[Table], FloatArray]) -> TreeModel:
    """What treelite makes of a model.

    Parameters
    ----------
    function : str
        Of treelite's frontend, which takes the model.
    model : object
    view : callable
        From a table to the model's own numbers.
    """
    if find_spec("treelite") is None:
        raise RefusalError("treelite is not installed (pip install granite-xai[fast])")
    loaded = getattr(import_module("treelite.frontend"), function)(model)
    field = loaded.get_header_accessor().get_field
    n_targets = int(field("num_target")[0])
    n_classes = int(np.max(field("num_class")))
    if n_targets > 1 and n_classes > 1:
        raise RefusalError("the model has several targets with several classes each")
    output_of_tree = field("class_id" if n_targets == 1 else "target_id")

    def trees_of(output: int) -> list[Forest]:
        trees = []
        for number, owner in enumerate(output_of_tree):
            if owner == _EVERY_OUTPUT:
                trees.append(_read_accessor(loaded.get_tree_accessor(number), output))
            elif owner == output:
                trees.append(_read_accessor(loaded.get_tree_accessor(number), None))
        return trees

    n_outputs = n_targets * n_classes
    return TreeModel(
        link=str(field("postprocessor")),
        n_features=int(field("num_feature")[0]),
        bases=np.array(field("base_scores"), dtype=np.float64)[:n_outputs],
        trees_of=trees_of,
        view=view,
        average=bool(int(field("average_tree_output")[0])),
        slope=float(field("sigmoid_alpha")[0]),
    )


def _read_accessor(accessor: Any, output: int | None) -> Forest:
    """One tree, copied out of treelite's memory; ``output``: the entry of vector leaves."""

    def field(name: str, dtype: Any = None) -> NDArray[Any]:
        return np.array(accessor.get_field(name), dtype=dtype)

    kind = field("node_type")
    if not np.isin(kind, (_LEAF_NODE, _NUMERICAL, _CATEGORICAL)).all():
        raise RefusalError("a tree has nodes of an unknown kind or order", "M30")
    comparison = field("cmp")
    if not np.isin(comparison[kind == _NUMERICAL], (_LESS, _AT_MOST)).all():
        raise RefusalError("a tree compares by neither < nor <=", "M27")
    is_leaf = kind == _LEAF_NODE
    value = np.zeros(len(kind))
    if output is None:
        value[is_leaf] = field("leaf_value")[is_leaf]
    else:
        begins = field("leaf_vector_begin", np.intp)[is_leaf]
        value[is_leaf] = field("leaf_vector")[begins + output]
    begin = field("category_list_begin", np.intp)
    end = field("category_list_end", np.intp)
    listed = field("category_list", np.intp)
    category_nodes = np.flatnonzero(kind == _CATEGORICAL).tolist()
    return Forest(
        feature=np.where(is_leaf, LEAF, field("split_index")).astype(np.intp),
        threshold=field("threshold", np.float64),
        strict=comparison == _LESS,
        default_left=field("default_left", bool),
        left=field("cleft", np.intp),
        right=field("cright", np.intp),
        value=value,
        categories={node: listed[begin[node] : end[node]] for node in category_nodes},
        list_right=field("category_list_right_child", bool),
        starts=np.array([0, len(kind)]),
    )


_Reader = Callable[[Any, ModelCall], TreeModel]
_READERS: dict[tuple[str, str], _Reader] = {
    ("xgboost", "Booster"): _read_xgboost,
    ("lightgbm", "Booster"): _read_lightgbm,
}
for _task in ("Regressor", "Classifier"):
    _READERS |= {
        ("sklearn", f"RandomForest{_task}"): _read_mean_of_trees,
        ("sklearn", f"ExtraTrees{_task}"): _read_mean_of_trees,
        ("sklearn", f"DecisionTree{_task}"): _read_mean_of_trees,
        ("sklearn", f"ExtraTree{_task}"): _read_mean_of_trees,
        ("sklearn", f"GradientBoosting{_task}"): _read_gradient_boosting,
        ("sklearn", f"HistGradientBoosting{_task}"): _read_histogram_boosting,
        ("xgboost", f"XGB{_task}"): _read_xgboost_model,
        ("xgboost", f"XGBRF{_task}"): _read_xgboost_model,
        ("lightgbm", f"LGBM{_task}"): lambda model, call: _read_lightgbm(model.booster_, call),
    }


# ---------------------------------------------------------------------------------------------------------------
# A table in the numbers that trees compare


def single_precision(table: Table, labels: Mapping[int, Sequence[Any]] | None = None) -> FloatArray:
    """Float32, as scikit-learn's trees and xgboost see numbers, (n, d).

    Parameters
    ----------
    table : Table
    labels : mapping of position to sequence, optional
        Of columns that the model knows as categories, their labels in the order of their codes.
    """
    columns = []
    for column in table.columns:
        if labels and column.position in labels:
            known = labels[column.position]
            code_of: dict[Any, float] = {label: float(code) for code, label in enumerate(known)}
            code_of[None] = np.nan
            numbers = np.array([code_of.get(label, UNSEEN) for label in column.values])
            if np.any(numbers == UNSEEN):
                raise RefusalError("a column has categories that xgboost has not seen", "M25")
        else:
            with np.errstate(over="ignore"):
                numbers = _column_numbers(table, column).astype(np.float32).astype(np.float64)
        columns.append(numbers)
    return np.stack(columns, axis=1)


def _column_numbers(table: Table, column: Column) -> FloatArray:
    """Numbers of a column whose own dtype is one of numbers, whatever it was declared to mean."""
    values = column.values
    if column.kind != "numeric":
        if column.kind == "date" or dtype_kind(table.select([column.position])) not in "iufb":
            raise RefusalError(f"column {column.name!r} does not hold numbers")
        values = np.array([np.nan if label is None else float(label) for label in values])
    if column.integer and np.any(np.abs(values) > LARGEST_EXACT):
        raise RefusalError(f"column {column.name!r} has whole numbers beyond 2^53")
    return values


def dtype_kind(native: Any) -> str:
    """NumPy's letter for the type of a container's only column; "O" where it has none."""
    if isinstance(native, np.ndarray):
        return str(native.dtype.kind)
    dtype = next(iter(getattr(native, "dtypes", [None])))
    return str(getattr(dtype, "kind", "O"))


def _lightgbm_matrix(model: Any, table: Table) -> FloatArray:
    """Lightgbm's own conversion: categories by the codes of the training frame, the dtype by the frame's."""
    native = table.native
    if isinstance(native, np.ndarray):
        if native.dtype in (np.float32, np.float64):
            matrix = native.astype(np.float64)
        else:
            matrix = single_precision(table)
    elif table.container.library == "pandas":
        from lightgbm.basic import _data_from_pandas

        matrix = _data_from_pandas(
            data=native,
            feature_name="auto",
            categorical_feature="auto",
            pandas_categorical=model.pandas_categorical,
        )[0]
        if matrix.dtype not in (np.float32, np.float64):
            raise RefusalError(f"lightgbm converts this frame to {matrix.dtype}")
        matrix = np.asarray(matrix, dtype=np.float64)
    else:
        raise RefusalError(
            f"lightgbm's conversion of a {table.container.library} table is not known to us"
        )
    # A row travels without its zeros.
    return np.where(np.abs(matrix) <= LIGHTGBM_ZERO, 0.0, matrix)
