"""What people would pick instead: each method describes a model by the rows of one sample.

Every method gets the same: a model that counts the rows it is asked for, and a frame. It returns a `Description`, which
predicts what the model predicts on other rows. A method that cannot raises its own error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from experiments.peer_tables import CountedModel

Cuts = list[tuple[str, float]]


@dataclass(frozen=True)
class Description:
    """A description of a model that can be read, and asked for other rows.

    Parameters
    ----------
    predict : function of a frame
        What the description says the model predicts.
    pieces : int
        How many things a reader takes in: curves, surfaces, or numbers.
    unit : str
        What these are, with their count.
    regions : int, optional
        How many regions; None: the method has none.
    assign : function of a frame, optional
        The region of each row.
    cuts : list of (column, threshold)
        Thresholds of all rules, levels left out.
    claimed : float, optional
        The share of the variance that the method itself says it describes.
    other_forms : dict of functions of a frame
        What the same curves say if they are put together in another way, by the name of the way.
    """

    predict: Callable[[pd.DataFrame], np.ndarray]
    pieces: int
    unit: str
    regions: int | None = None
    assign: Callable[[pd.DataFrame], np.ndarray] | None = None
    cuts: tuple[tuple[str, float], ...] = ()
    claimed: float | None = None
    other_forms: dict[str, Callable[[pd.DataFrame], np.ndarray]] = field(default_factory=dict)


# --- ours -----------------------------------------------------------------------------------------


def granite(model: CountedModel, X: pd.DataFrame, limit: int | None, **options: Any) -> Description:
    """Regions of the table, one curve per feature in each."""
    import granite_xai as gx

    if limit is not None:
        options |= {"alpha": 0.0, "max_depth": int(np.log2(limit))}
    missing = "allow" if X.isna().any(axis=None) else "auto"
    g = gx.Granite(model, "ice-pdp", output=model.output, missing=missing, **options).fit(X)
    g.predict(X[:2])  # the curves belong to what is read, and to what it costs
    regions = len(g.partition_)
    estimate = g.estimate_
    return Description(
        predict=g.predict,
        pieces=regions * X.shape[1],
        unit="curves",
        regions=regions,
        assign=g.apply,
        cuts=tuple(_cuts_of_granite(g.partition_.root)),
        claimed=None if estimate is None else estimate.fidelity,
        other_forms={"slopes": lambda rows: _with_slopes(g, model, X, rows)},
    )


def _with_slopes(g: Any, model: CountedModel, X: pd.DataFrame, rows: pd.DataFrame) -> np.ndarray:
    """The same curves, stretched in each region by the slope of the predictions on their sum.

    These are no partial dependences any more; they tell what the flatness of the curves costs.
    """
    predictions = model(X)
    own_sums = g.predict(X)
    sums = g.predict(rows)
    own_regions = g.apply(X)
    regions = g.apply(rows)
    stretched = sums.copy()
    for region in np.unique(own_regions):
        inside = own_regions == region
        centred = own_sums[inside] - own_sums[inside].mean()
        squares = float(centred @ centred)
        slope = float(centred @ predictions[inside]) / squares if squares > 0.0 else 1.0
        here = regions == region
        offset = predictions[inside].mean() - slope * own_sums[inside].mean()
        stretched[here] = offset + slope * sums[here]
    return stretched


def granite_auto(model: CountedModel, X: pd.DataFrame, limit: int | None) -> Description:
    """The same, and the number of regions is chosen on rows left out."""
    return granite(model, X, limit, alpha="auto")


def _cuts_of_granite(node: Any) -> Cuts:
    if not hasattr(node, "children"):
        return []
    cuts: Cuts = []
    threshold = getattr(node.left, "high", None)
    if isinstance(threshold, int | float):
        cuts.append((node.column, float(threshold)))
    for child in node.children:
        cuts += _cuts_of_granite(child)
    return cuts


# --- effector -------------------------------------------------------------------------------------


def effector_pdp(model: CountedModel, X: pd.DataFrame, limit: int | None) -> Description:
    """effector's PDP engine: each feature has regions of its own, chosen by ``select_regions``."""
    import effector

    return _effector(effector.PDP, model, X, limit)


def effector_rhale(model: CountedModel, X: pd.DataFrame, limit: int | None) -> Description:
    """effector's RHALE engine, derivatives computed numerically."""
    import effector

    return _effector(effector.RHALE, model, X, limit)


def _effector(engine: Any, model: CountedModel, X: pd.DataFrame, limit: int | None) -> Description:
    import effector

    values, schema, encoding = effector.from_dataframe(X, return_encoding=True)

    def function(rows: np.ndarray) -> np.ndarray:
        return model(_decoded(rows, X, encoding))

    effect = engine(values, function, schema=schema)
    if limit is None:
        chain = effect.select_regions()
    else:
        finder = effector.space_partitioning.Best(max_depth=int(np.log2(limit)))
        chain = effect.select_regions(features="all", finder=finder, min_r2_gain=0.0)
    surrogate = EffectorSurrogate(effect, chain.final.partitions)
    split = [len(partition.leaves) for partition in chain.final.partitions.values()]
    return Description(
        predict=lambda rows: surrogate.predict(encoding.transform(rows)),
        pieces=X.shape[1] - len(split) + sum(split),
        unit="curves",
        regions=max(split, default=1),
        assign=lambda rows: surrogate.cells(encoding.transform(rows)),
        cuts=tuple(_cuts_of_effector(chain.final.partitions, list(X.columns))),
        claimed=chain.final.r2,
        other_forms={"curves alone": lambda rows: surrogate.curves_alone(encoding.transform(rows))},
    )


def _decoded(rows: np.ndarray, like: pd.DataFrame, encoding: Any) -> pd.DataFrame:
    """A frame with the dtypes of another one, from effector's codes."""
    columns: dict[str, Any] = {}
    for j, (name, column) in enumerate(like.items()):
        if j in encoding.columns:
            codes = rows[:, j].astype(int)
            columns[str(name)] = pd.Categorical.from_codes(codes, dtype=column.dtype)
        else:
            columns[str(name)] = rows[:, j]  # integers stay floats: it asks between them
    return pd.DataFrame(columns)


class EffectorSurrogate:
    """The sum of effector's curves on other rows, with the offsets that it fits (its ``surrogate_r2``).

    effector 0.6 reports how much this describes on its own rows, and has no ``predict`` yet.
    """

    def __init__(self, effect: Any, partitions: dict[int, Any]) -> None:
        self.effect = effect
        self.partitions = partitions
        own_rows = effect.data
        residual = np.asarray(effect._y_pred, dtype=float).reshape(-1) - self._curves(own_rows)
        design = self._design(own_rows)
        self.offsets = np.linalg.lstsq(design, residual, rcond=None)[0]
        self.mean = float(residual.mean())

    def curves_alone(self, rows: np.ndarray) -> np.ndarray:
        """Without the offsets of regions, which effector fits to the predictions."""
        return self._curves(rows) + self.mean

    def predict(self, rows: np.ndarray) -> np.ndarray:
        return self._curves(rows) + self._design(rows) @ self.offsets

    def cells(self, rows: np.ndarray) -> np.ndarray:
        """Which combination of the features' own regions a row is in."""
        cell = np.zeros(len(rows), dtype=np.int64)
        for partition in self.partitions.values():
            leaf = np.zeros(len(rows), dtype=np.int64)
            for number, region in enumerate(partition.leaves):
                leaf[region.rule.contains(rows)] = number
            cell = cell * len(partition.leaves) + leaf
        return cell

    def _design(self, rows: np.ndarray) -> np.ndarray:
        columns = [np.ones(len(rows))]
        for partition in self.partitions.values():
            columns += [
                region.rule.contains(rows).astype(float) for region in partition.leaves[:-1]
            ]
        return np.column_stack(columns)

    def _curves(self, rows: np.ndarray) -> np.ndarray:
        total = np.zeros(len(rows))
        for feature in range(rows.shape[1]):
            partition = self.partitions.get(feature)
            if partition is None:
                total += self._curve(feature, None, rows)
                continue
            for region in partition.leaves:
                inside = region.rule.contains(rows)
                if inside.any():
                    total[inside] += self._curve(feature, partition.mask(region.idx), rows[inside])
        return total

    def _curve(self, feature: int, mask: Any, rows: np.ndarray) -> np.ndarray:
        """The curve of a feature, zero on average over its own rows; 0 for levels that it has not seen."""
        own_values = self.effect.data[slice(None) if mask is None else mask, feature]
        try:
            summary = self.effect._summary(feature, mask)
            centre = np.mean(self.effect._eval_payload(feature, summary, own_values))
        except ValueError:  # effector's own rule: a feature without variation adds nothing
            return np.zeros(len(rows))
        effects = np.zeros(len(rows))
        known = np.ones(len(rows), dtype=bool)
        if self.effect._is_cat(feature):
            known = np.isin(rows[:, feature], own_values)
        if known.any():
            effects[known] = (
                self.effect._eval_payload(feature, summary, rows[known, feature]) - centre
            )
        return effects


def _cuts_of_effector(partitions: dict[int, Any], names: list[str]) -> Cuts:
    cuts = set()
    for partition in partitions.values():
        for region in partition.leaves:
            for feature, subset in region.rule.conditions.items():
                for end in (getattr(subset, "lo", np.inf), getattr(subset, "hi", np.inf)):
                    if np.isfinite(end):
                        cuts.add((names[feature], float(end)))
    return sorted(cuts)


# --- one curve per feature ------------------------------------------------------------------------

PDP_ROWS, PDP_VALUES = 1000, 100  # scikit-learn's partial_dependence takes as many values


def one_curve(model: CountedModel, X: pd.DataFrame, limit: int | None) -> Description:
    """Partial dependence alone: 1,000 rows, at most 100 values of each feature, no regions."""
    rows = X.sample(min(len(X), PDP_ROWS), random_state=0)
    mean = float(model(rows).mean())
    curves = {str(name): _dependence(model, rows, str(name), X[name]) for name in X.columns}

    def predict(frame: pd.DataFrame) -> np.ndarray:
        total = np.full(len(frame), mean)
        for name, curve in curves.items():
            total += curve(frame[name]) - float(curve(X[name]).mean())
        return total

    return Description(predict=predict, pieces=X.shape[1], unit="curves", regions=1)


def _dependence(model: CountedModel, rows: pd.DataFrame, name: str, column: pd.Series) -> Any:
    """The partial dependence of one feature, interpolated between its values."""
    present = column.dropna()
    is_nominal = isinstance(column.dtype, pd.CategoricalDtype)
    if is_nominal:
        grid = np.array(sorted(present.unique()), dtype=object)
    elif present.nunique() <= PDP_VALUES:
        grid = np.unique(present.to_numpy())
    else:
        grid = np.unique(np.quantile(present, np.linspace(0.0, 1.0, PDP_VALUES)))
    heights = _heights(model, rows, name, grid)
    height_missing = 0.0
    if column.isna().any():
        missing = np.array([None], dtype=object) if is_nominal else np.array([np.nan])
        height_missing = float(_heights(model, rows, name, missing)[0])

    def curve(values: pd.Series) -> np.ndarray:
        if is_nominal:
            lookup = dict(zip(grid, heights, strict=True))
            found = [lookup.get(value, height_missing) for value in values.to_numpy(dtype=object)]
            return np.array(found, dtype=float)
        numbers = values.to_numpy(dtype=float)
        return np.where(np.isnan(numbers), height_missing, np.interp(numbers, grid, heights))

    return curve


def _heights(model: CountedModel, rows: pd.DataFrame, name: str, values: np.ndarray) -> np.ndarray:
    """The model's mean over all rows at each value of a feature, asked in one call."""
    changed = pd.concat([rows] * len(values), ignore_index=True)
    dtype = rows[name].dtype
    column = np.repeat(values, len(rows))
    is_nominal = isinstance(dtype, pd.CategoricalDtype)
    changed[name] = pd.Categorical(column, dtype=dtype) if is_nominal else column
    return model(changed).reshape(len(values), len(rows)).mean(axis=1)


# --- models fitted to the predictions -------------------------------------------------------------

LEAVES = (8, 16, 32, 64, 128, 256)  # among which cross-validation chooses


class Indicators:
    """Levels as indicator columns: what methods for numbers get."""

    def __init__(self, X: pd.DataFrame) -> None:
        self.names = list(pd.get_dummies(X).columns)

    def __call__(self, X: pd.DataFrame) -> pd.DataFrame:
        return pd.get_dummies(X).reindex(columns=self.names, fill_value=False).astype(float)


def decision_tree(model: CountedModel, X: pd.DataFrame, limit: int | None) -> Description:
    """A regression tree of the predictions; the number of leaves is chosen by cross-validation."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.tree import DecisionTreeRegressor

    numbers = Indicators(X)
    predictions = model(X)
    tree = DecisionTreeRegressor(max_leaf_nodes=limit, random_state=0)
    if limit is None:
        search = GridSearchCV(tree, {"max_leaf_nodes": LEAVES}, cv=5)
        tree = search.fit(numbers(X), predictions).best_estimator_
    else:
        tree.fit(numbers(X), predictions)
    inner = tree.tree_.feature >= 0
    columns = [numbers.names[j] for j in tree.tree_.feature[inner]]
    return Description(
        predict=lambda rows: tree.predict(numbers(rows)),
        pieces=int(tree.get_n_leaves()),
        unit="numbers",
        regions=int(tree.get_n_leaves()),
        assign=lambda rows: tree.apply(numbers(rows)),
        cuts=tuple(zip(columns, tree.tree_.threshold[inner].tolist(), strict=True)),
    )


def linear_tree(model: CountedModel, X: pd.DataFrame, limit: int | None) -> Description:
    """A tree with a linear model in each leaf (linear-tree)."""
    from sklearn.linear_model import LinearRegression

    numbers = Indicators(X)
    options = {} if limit is None else {"max_depth": int(np.log2(limit))}
    tree = _linear_tree_class()(LinearRegression(), **options)
    tree.fit(numbers(X).to_numpy(), model(X))
    nodes = tree.summary(feature_names=numbers.names).values()
    splits = [node for node in nodes if "th" in node]
    leaves = len(nodes) - len(splits)
    return Description(
        predict=lambda rows: tree.predict(numbers(rows).to_numpy()),
        pieces=leaves * (len(numbers.names) + 1),
        unit="numbers",
        regions=leaves,
        assign=lambda rows: tree.apply(numbers(rows).to_numpy()),
        cuts=tuple((str(node["col"]), float(node["th"])) for node in splits),
    )


def _linear_tree_class() -> Any:
    """linear-tree's class; 0.3.5 calls a method that scikit-learn 1.6 was the last to have, given back here."""
    from lineartree import LinearTreeRegressor

    if hasattr(LinearTreeRegressor, "_validate_data"):
        return LinearTreeRegressor
    from sklearn.utils.validation import validate_data

    class LinearTree(LinearTreeRegressor):
        """With the validation that it expects."""

        def _validate_data(self, *arrays: Any, force_all_finite: bool, **options: Any) -> Any:
            return validate_data(self, *arrays, ensure_all_finite=force_all_finite, **options)

    return LinearTree


def figs(model: CountedModel, X: pd.DataFrame, limit: int | None) -> Description:
    """A sum of small trees (imodels)."""
    from imodels import FIGSRegressor

    numbers = Indicators(X)
    options = {} if limit is None else {"max_rules": limit - 1}
    trees = FIGSRegressor(random_state=0, **options)
    trees.fit(numbers(X).to_numpy(), model(X))
    cuts: Cuts = []
    leaves = 0
    for root in trees.trees_:
        for node in _nodes_of_figs(root):
            if node.left is None:
                leaves += 1
            else:
                cuts.append((numbers.names[node.feature], float(node.threshold)))
    return Description(
        predict=lambda rows: np.asarray(trees.predict(numbers(rows).to_numpy())),
        pieces=leaves,
        unit="numbers",
        regions=leaves,
        cuts=tuple(cuts),
    )


def _nodes_of_figs(node: Any) -> list[Any]:
    if node.left is None:
        return [node]
    return [node, *_nodes_of_figs(node.left), *_nodes_of_figs(node.right)]


# Predictions have no noise, so that boosting rarely stops early: with its defaults (14 bags, 50,000 rounds) one EBM
# takes minutes of processor time. Bike sharing: .967 with the defaults (5,000 rows), .961 with these (4,000 rows).
EBM_OPTIONS = {"outer_bags": 4, "max_rounds": 1000}


def boosted_curves(model: CountedModel, X: pd.DataFrame, limit: int | None) -> Description:
    """An EBM fitted to the predictions, with its default interactions (interpret-core)."""
    from interpret.glassbox import ExplainableBoostingRegressor

    machine = ExplainableBoostingRegressor(n_jobs=1, **EBM_OPTIONS)
    machine.fit(X, model(X))
    surfaces = sum(len(term) > 1 for term in machine.term_features_)
    curves = len(machine.term_features_) - surfaces
    return Description(
        predict=lambda rows: np.asarray(machine.predict(rows)),
        pieces=curves + surfaces,
        unit=f"curves and surfaces ({surfaces} surfaces)",
    )


Describe = Callable[[CountedModel, pd.DataFrame, "int | None"], Description]


@dataclass(frozen=True)
class Method:
    """How a method is called, on how many seeds, and whether it can be told how many regions to make."""

    describe: Describe
    seeds: int
    limited: bool
    only_smooth: bool = False


OWN_CODE = ("granite-xai", 'granite-xai, alpha="auto"', "one curve per feature")  # not of others
LIMITS = (2, 4, 8)  # regions
LIMITED_SEEDS = 3  # seeds on which methods are told how many regions to make
METHODS: dict[str, Method] = {
    "granite-xai": Method(granite, seeds=10, limited=True),
    'granite-xai, alpha="auto"': Method(granite_auto, seeds=3, limited=False),
    "effector PDP": Method(effector_pdp, seeds=10, limited=True),
    "effector RHALE": Method(effector_rhale, seeds=10, limited=False, only_smooth=True),
    "one curve per feature": Method(one_curve, seeds=10, limited=False),
    "decision tree": Method(decision_tree, seeds=10, limited=True),
    "linear model tree": Method(linear_tree, seeds=10, limited=True),
    "FIGS": Method(figs, seeds=10, limited=True),
    "EBM": Method(boosted_curves, seeds=2, limited=False),
}
