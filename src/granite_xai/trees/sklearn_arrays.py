"""The trees of scikit-learn's own ensembles, from the arrays that their ``predict`` walks.

A node sends a row left if ``x <= threshold``. Forests, single trees, and gradient boosting keep their trees in
``tree_`` and compare numbers in single precision; histogram gradient boosting keeps a record for each node and
compares in double precision. Attributes that are not public are looked at here alone: a version of scikit-learn
that names them otherwise raises an AttributeError, and the model itself is asked (M30).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.trees.refusal import RefusalError
from granite_xai.trees.tree_model import LEAF, Tree, TreeModel

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


def read_forest(model: Any) -> TreeModel:
    """A random forest or extra trees: the mean of the trees' values, or of their class shares."""
    return _mean_of_trees(model, [tree.tree_ for tree in model.estimators_])


def read_single_tree(model: Any) -> TreeModel:
    """A decision tree."""
    return _mean_of_trees(model, [model.tree_])


def _mean_of_trees(model: Any, trees: list[Any]) -> TreeModel:
    """Trees whose leaves hold one number for each target of a regression, or for each class."""
    if not hasattr(model, "classes_"):
        n_outputs = int(model.n_outputs_)
    elif model.n_outputs_ == 1:
        n_outputs = int(model.n_classes_)
    else:
        raise RefusalError("the model has several targets with several classes each")

    def trees_of(output: int) -> list[Tree]:
        # ``value`` has shape (nodes, targets, classes), with one class in a regression.
        return [_read_tree(tree, tree.value.reshape(-1, n_outputs)[:, output]) for tree in trees]

    return TreeModel(
        link="identity",
        n_features=int(model.n_features_in_),
        bases=np.zeros(n_outputs),
        trees_of=trees_of,
        average=True,
    )


def read_gradient_boosting(model: Any) -> TreeModel:
    """Gradient boosting: a constant, and the learning rate times the sum of the trees."""
    bases = _constant_start(model)
    stages = model.estimators_  # (stages, outputs)

    def trees_of(output: int) -> list[Tree]:
        trees = [estimator.tree_ for estimator in stages[:, output]]
        return [_read_tree(tree, model.learning_rate * tree.value[:, 0, 0]) for tree in trees]

    link, slope = _link_and_slope(model, len(bases))
    return TreeModel(
        link=link,
        n_features=int(model.n_features_in_),
        bases=bases,
        trees_of=trees_of,
        slope=slope,
    )


def _constant_start(model: Any) -> FloatArray:
    """The score before the first stage of gradient boosting, (outputs,); it must not depend on the row."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    start = model.init_
    if isinstance(start, DummyClassifier):
        is_constant = start.strategy in _CONSTANT_STRATEGIES
    else:
        is_constant = isinstance(start, DummyRegressor) or start == "zero"
    if not is_constant:
        raise RefusalError(f"boosting starts from another model ({type(start).__name__})", "M30")
    any_row = np.zeros((1, model.n_features_in_))
    scores = model._raw_predict_init(any_row)
    return np.array(scores, dtype=np.float64).reshape(-1)


def read_histogram_boosting(model: Any) -> TreeModel:
    """Histogram gradient boosting: a constant and the sum of the trees, one a stage and output."""
    bases = np.array(model._baseline_prediction, dtype=np.float64).reshape(-1)
    stages = model._predictors
    position_of = _positions_in_table(model)
    link, slope = _link_and_slope(model, len(bases))
    return TreeModel(
        link=link,
        n_features=int(model.n_features_in_),
        bases=bases,
        trees_of=lambda output: [_read_records(stage[output], position_of) for stage in stages],
        slope=slope,
    )


def _positions_in_table(model: Any) -> IntArray:
    """Position in the table of each feature that histogram boosting sees, (features,): categories come first."""
    if getattr(model, "_preprocessor", None) is None:
        return np.arange(model.n_features_in_)
    is_categorical = np.asarray(model.is_categorical_, dtype=bool)
    return np.concatenate([np.flatnonzero(is_categorical), np.flatnonzero(~is_categorical)])


def _link_and_slope(model: Any, n_outputs: int) -> tuple[str, float]:
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


def _read_tree(tree: Any, value: FloatArray) -> Tree:
    """One tree of those that keep arrays.

    Parameters
    ----------
    tree : sklearn.tree._tree.Tree
    value : array of shape (nodes,)
        What a node would add if it were a leaf.
    """
    is_leaf = tree.children_left < 0
    n_nodes = len(is_leaf)
    return Tree(
        feature=np.where(is_leaf, LEAF, tree.feature).astype(np.intp),
        threshold=np.array(tree.threshold, dtype=np.float64),
        strict=np.zeros(n_nodes, dtype=bool),
        default_left=np.array(tree.missing_go_to_left, dtype=bool),
        left=np.array(tree.children_left, dtype=np.intp),
        right=np.array(tree.children_right, dtype=np.intp),
        value=np.where(is_leaf, value, 0.0),
        categories={},
        list_right=np.zeros(n_nodes, dtype=bool),
    )


def _read_records(predictor: Any, position_of: IntArray) -> Tree:
    """One tree of histogram boosting.

    Parameters
    ----------
    predictor : TreePredictor
    position_of : array of shape (features,)
        Position in the table of each of its features.
    """
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
    return Tree(
        feature=np.where(is_leaf, LEAF, position_of[nodes["feature_idx"]]).astype(np.intp),
        threshold=np.where(asks_threshold, nodes["num_threshold"], 0.0),
        strict=np.zeros(n_nodes, dtype=bool),
        default_left=nodes["missing_go_to_left"].astype(bool),
        left=nodes["left"].astype(np.intp),
        right=nodes["right"].astype(np.intp),
        value=np.where(is_leaf, nodes["value"], 0.0),
        categories=categories,
        list_right=np.zeros(n_nodes, dtype=bool),
    )
