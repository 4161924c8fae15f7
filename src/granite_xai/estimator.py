"""Granite: from a model and a table to regions where explanations agree."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.errors import InputError
from granite_xai.base.options import choose
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.behavior import Behavior
from granite_xai.compute import Resources, resolve_jobs
from granite_xai.disagreement import Objective
from granite_xai.evaluations.plan import require_room
from granite_xai.explainer import target_for
from granite_xai.explanation import Explanation
from granite_xai.fit import FitInputs, FitResult, FitRun, run
from granite_xai.fit_options import (
    chosen_influence,
    chosen_limits,
    chosen_missing,
    chosen_partitioner,
    chosen_seed,
    rows_used,
)
from granite_xai.models import accepts_missing, as_predictor
from granite_xai.models.target import read_weights
from granite_xai.new_rows import Evaluation, evaluate_rows
from granite_xai.references import explain_against_fit, explain_among_themselves
from granite_xai.row import RowExplanation, explain_one, one_row
from granite_xai.search.tree import Tree
from granite_xai.tables import Table, read_table
from granite_xai.trees.routes import Route

_OF_THE_TREE = ("max_depth", "min_samples_leaf", "alpha", "max_candidates", "beam", "split_features")


class Granite(BaseEstimator):
    """Find a few readable regions of the data inside which two explanations of a model agree.

    Parameters
    ----------
    model : object
        A fitted model: anything with predict, predict_proba or decision_function, or a function of the table.
    question : str, Disagreement, list, mapping or Objective
        Which explanations shall agree: a name of ``gx.questions()``, ``gx.question(name, ...)``, a ``gx.Disagreement``,
        several of these, or ``{question: weight}``.
    influence : "individual", "joint", "interaction" or ("interaction", order)
        Whose effects are compared, for questions given by name.
    groups : mapping of name to columns, optional
        The groups for ``influence="joint"``; other columns are players of their own.
    features : sequence, optional
        The sets compared: columns, group names, or tuples of columns for interactions. None: all. The question ``coe``
        compares the whole prediction, whatever the features.
    split_features : sequence of columns, optional
        Columns that rules may use. None: all.
    max_depth : int
        Conditions on the way to a region, at most.
    min_samples_leaf : int
        Rows of a region, at least.
    alpha : float
        Price of a region, as a share of the disagreement on all rows: a split must save more than this.
    max_candidates : int
        At most this number minus one thresholds are tried for each column and node.
    beam : int
        Columns whose best split is followed at each node.
    partitioner : object, optional
        Another way to find regions; None: the tree that the options above describe.
    output : object, optional
        Class (by label) or output (by position) that is explained. None: the second of two classes.
    response : "auto", "predict", "probability" or "raw"
        "auto": the probability where there is one, otherwise the prediction.
    missing : "auto", "allow" or "error"
        Whether X may have missing values. "auto": if the model says that it takes them.
    kinds : mapping of column to "numeric", "ordinal", "nominal" or "boolean", optional
        How columns are read. None: from their dtypes.
    max_samples : int, optional
        Use this many rows, drawn with ``random_state``; every fitted figure is about them. None: all rows.
    n_jobs : int, optional
        Threads for the search, as in scikit-learn; None: what ``joblib.parallel_config`` says, otherwise one. Inside
        ``joblib.parallel_config(backend="loky")`` or ``backend="dask"`` (with a ``distributed.Client``) these are
        processes or the workers of a cluster. Results are the same for any number and backend.
    random_state : int, RandomState or None
        Seed of everything that is drawn.
    resources : Resources, optional
        Limits on memory and model evaluations.

    Attributes
    ----------
    partition_ : Partition
        The regions; ``print(partition_)`` shows the tree.
    disagreement_ : float
        Disagreement on all rows before any split; 1.0 (in shares) for several questions.
    disagreements_ : dict
        The same for each question.
    remaining_ : float
        Share of it that is left in the regions; 0.0 when there is nothing to explain.
    fidelity_, global_fidelity_ : float
        Share of the prediction's variance that an additive surrogate explains, with and without regions.
    diagnostics_ : dict
        What the fit noticed and spent.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-1.0, 0.0, 1.0], size=(200, 2))
    >>> g = Granite(lambda X: X[:, 0] * np.where(X[:, 1] > 0, 1, -1), question="ice-pdp").fit(X)
    >>> [str(region.rule) for region in g.partition_]
    ['x1 ≤ 0', 'x1 > 0']
    >>> bool(g.remaining_ < 1e-12)
    True
    """

    def __init__(
        self,
        model: Any,
        question: Any = "ice-pdp",
        *,
        influence: Any = "individual",
        groups: Mapping[str, Sequence[Hashable]] | None = None,
        features: Sequence[Any] | None = None,
        split_features: Sequence[Hashable] | None = None,
        max_depth: int = 3,
        min_samples_leaf: int = 20,
        alpha: float = 0.05,
        max_candidates: int = 40,
        beam: int = 1,
        partitioner: Any = None,
        output: Any = None,
        response: str = "auto",
        missing: str = "auto",
        kinds: Mapping[Hashable, str] | None = None,
        max_samples: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = 0,
        resources: Resources | None = None,
    ) -> None:
        self.model = model
        self.question = question
        self.influence = influence
        self.groups = groups
        self.features = features
        self.split_features = split_features
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.alpha = alpha
        self.max_candidates = max_candidates
        self.beam = beam
        self.partitioner = partitioner
        self.output = output
        self.response = response
        self.missing = missing
        self.kinds = kinds
        self.max_samples = max_samples
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.resources = resources

    def __sklearn_clone__(self) -> Granite:
        """Clone with the same fitted model: it is what we explain, not a part to be fitted again."""
        from sklearn.base import clone

        parameters = self.get_params(deep=False)
        others = {name: clone(value, safe=False) for name, value in parameters.items() if name != "model"}
        return type(self)(self.model, **others)

    def __sklearn_tags__(self) -> Any:
        """Tables with text, categories and missing values are welcome; no target is required."""
        tags = super().__sklearn_tags__()
        loaded_without = self.model is None
        tags.input_tags.allow_nan = self.missing != "error" and not loaded_without and accepts_missing(self.model)
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = False
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Granite:
        """Search for regions on these rows, which serve as explained rows and as reference.

        Parameters
        ----------
        X : table
            DataFrame (pandas, polars, pyarrow) or array that the model accepts.
        y : array, optional
            The target; needed for questions about risk.
        sample_weight : array, optional
            Weights of the rows; those of weight 0 are left out. A row of weight 2 counts as two rows in every mean,
            share and bin; cuts and the leaf minimum of regions count rows as they are.
        """
        fit_with_evaluations(self, X, y, sample_weight)
        return self

    def apply(self, X: Any) -> IntArray:
        """Region of each row, numbered from left to right in the tree."""
        fitted = fitted_view(self)
        return fitted.regions(fitted.read(X))

    def predict(self, X: Any, exact: bool = False) -> FloatArray:
        """The regional additive surrogate of the model.

        Parameters
        ----------
        X : table
        exact : bool
            Ask the model for effects at new values instead of interpolating between those of the fit.
        """
        fitted = fitted_view(self)
        table, surrogate = fitted.read(X), fitted.result.surrogate
        needs_model = exact or any(len(frozenset().union(*members)) > 1 for members in surrogate.effects)
        return surrogate.predict(table, fitted.regions(table), fitted.result.predictor if needs_model else None, exact)

    def evaluate(self, X: Any, y: Any = None) -> Evaluation:
        """Disagreement on other rows, with and without the regions.

        Parameters
        ----------
        X : table
        y : array, optional
            The target; needed for questions about risk.
        """
        return evaluate_rows(*fitted_view(self).other_rows(X, y))

    def explain(self, X: Any, y: Any = None, *, reference: str = "fitting") -> Explanation:
        """Both sides of the question on other rows, region by region.

        Parameters
        ----------
        X : table
        y : array, optional
            The target; needed for questions about risk.
        reference : "fitting" or "rows"
            The fitting rows of the region, or the rows of X in it (always so for sensitivity and risk).
        """
        view = fitted_view(self)
        rows = view.other_rows(X, y)
        among = choose("reference", reference, {"fitting": False, "rows": True})
        return explain_among_themselves(*rows) if among else explain_against_fit(*rows, view.seed)

    def explain_row(self, x: Any) -> RowExplanation:
        """Why this row (a table of one, a mapping or a list): what each column adds to the mean of its region."""
        view = fitted_view(self)
        table = view.read(one_row(view.result.table, x))
        return explain_one(view.result, table, view.regions(table), view.resources, view.seed)

    def report(self, X: Any = None, y: Any = None, test: Any = None, title: str | None = None) -> Any:
        """The `Report` of this fit, as `explain` tells it; with the rows of the fit or, if X is None, those it kept."""
        room = import_module("granite_xai.report")  # which knows estimators, not the other way round
        return room.explain(self, X, y, test=test, title=title)


@dataclass(frozen=True, slots=True, eq=False)
class FittedGranite:
    """What displays, reports, files and frameworks read of a fitted Granite."""

    result: FitResult
    resources: Resources
    diagnostics: Mapping[str, Any]
    max_samples: int | None

    @property
    def seed(self) -> int:
        """Seed of everything that was drawn."""
        return int(self.diagnostics["seed"])

    def read(self, X: Any) -> Table:
        """Other rows, with the columns and kinds of the fitting rows."""
        return read_table(X, missing="allow" if self.result.missing else "error", like=self.result.table)

    def regions(self, table: Table) -> IntArray:
        """Region of each row."""
        return self.result.partition.apply(table)

    def target(self, y: Any, table: Table, *behaviors: Behavior) -> FloatArray | None:
        """The target as numbers, where a behavior (without any: of the questions) needs it."""
        asked = behaviors or tuple(comparison.first.behavior for comparison in self.result.comparisons)
        return target_for(y, table, self.result.predictor, *asked)

    def drawn(self, n_rows: int, max_samples: int | None = None) -> IntArray:
        """Positions of rows to use, drawn as the fit draws: at most ``max_samples``, None: as many as the fit."""
        return rows_used(np.ones(n_rows), self.max_samples if max_samples is None else max_samples, self.seed)

    def other_rows(self, X: Any, y: Any) -> tuple[FitResult, Table, FloatArray | None, IntArray, Resources]:
        """A fit and other rows: their table, target and regions."""
        table = self.read(X)
        return self.result, table, self.target(y, table), self.regions(table), self.resources


def fitted_view(g: Any) -> FittedGranite:
    """What a fitted Granite found; one that is not fitted raises scikit-learn's NotFittedError, anything else P01."""
    if not isinstance(g, Granite):
        text = f"a fitted Granite is needed, not a {type(g).__name__}."
        raise InputError(text, code="P01", argument="g", hint="Pass gx.Granite(model).fit(X).")
    check_is_fitted(g)
    resources = Resources() if g.resources is None else g.resources
    return FittedGranite(vars(g)["_fitted"], resources, g.diagnostics_, g.max_samples)


def fit_with_evaluations(g: Granite, X: Any, y: Any = None, sample_weight: Any = None) -> FitRun:
    """Fit, and hand over the evaluations, which the object does not keep."""
    record = Diagnostics()
    with record.stage("total"):
        inputs = fit_inputs(g, X, y, sample_weight, record)
        found = run(inputs)
    usage = inputs.predictor.usage
    record.spend(calls=usage.calls, rows=usage.rows, seconds=usage.seconds)
    record.note("stop_reasons", [region.stop_reason for region in found.result.partition])
    restore(g, found.result, record.as_dict())
    return found


def restore(g: Granite, result: FitResult, diagnostics: dict[str, Any]) -> None:
    """Set all fitted attributes at once: a fit that fails leaves the previous one as it was."""
    labels = [comparison.question.label for comparison in result.comparisons]
    measured = np.where(result.roots > result.floors, result.roots, 0.0)
    state: dict[str, Any] = {
        "_fitted": result,
        "partition_": result.partition,
        "disagreement_": float(measured[0]) if len(labels) == 1 else float(not result.below_noise_floor),
        "disagreements_": dict(zip(labels, measured.tolist(), strict=True)),
        "remaining_": result.remaining,
        "fidelity_": result.fidelity,
        "global_fidelity_": result.global_fidelity,
        "diagnostics_": diagnostics,
        "n_features_in_": result.table.n_columns,
    }
    attributes = g.__dict__
    attributes.pop("feature_names_in_", None)
    if result.table.named:
        state["feature_names_in_"] = np.array(result.table.names, dtype=object)
    for name in attributes["_fitted"].learned if "_fitted" in attributes else ():
        attributes.pop(name, None)  # what another partitioner learned
    attributes.update(state | dict(result.learned))


def fit_inputs(g: Granite, X: Any, y: Any, sample_weight: Any, record: Diagnostics) -> FitInputs:
    """Check everything that the data alone decide."""
    tree = Tree(**{name: getattr(g, name) for name in _OF_THE_TREE})
    partitioner = chosen_partitioner(g.partitioner, tree)
    resources = chosen_limits(g.resources)
    resolve_jobs(g.n_jobs)
    influence = chosen_influence(g.influence, g.groups, g.features)
    objective = g.question if isinstance(g.question, Objective) else Objective(g.question)
    questions = objective.weighted(influence)
    seed = chosen_seed(g.random_state)
    record.note("seed", seed)
    missing = chosen_missing(g.missing, g.model)
    everyone = read_table(X, kinds=g.kinds, missing="allow" if missing else "error")
    weights = read_weights(sample_weight, everyone)
    rows = rows_used(weights, g.max_samples, seed)
    ways = {"output": g.output, "response": g.response, "batch_size": resources.batch_size}
    predictor = as_predictor(g.model, **ways, diagnostics=record)
    target = target_for(y, everyone, predictor, *(question.first.behavior for question, _ in questions))
    table = everyone.take(rows)  # always a copy: what is written into X later must not change the fit
    require_room(table, resources)
    for grower in (tree, partitioner):
        if isinstance(grower, Tree):
            grower.columns(table)
    route = Route(predictor, table, record, seed)
    extra_effects = partitioner.extra_effects(route, resources, seed)
    comparisons = tuple(question.compare(route, resources, seed) for question, _ in questions)
    for text in table.notices:
        record.remember(text)
    constant = [column.name for column in table.columns if len(column.levels) + column.missing.any() < 2]
    record.note("constant_columns", constant)
    record.note("candidates", dict.fromkeys(table.names, 0))  # stays so where no split is tried
    return FitInputs(
        route=route,
        y=None if target is None else target[rows],
        weights=weights[rows],
        objective=objective,
        comparisons=comparisons,
        question_weights=tuple(weight for _, weight in questions),
        partitioner=partitioner,
        tree=tree,
        extra_effects=extra_effects,
        missing=missing,
        resources=resources,
        n_jobs=g.n_jobs,
        seed=seed,
        diagnostics=record,
    )


def held_out_fidelity(granite: Granite, X: Any) -> float:
    """Share of the prediction's variance on other rows that the regional additive surrogate explains."""
    fitted = fitted_view(granite)
    predictions = fitted.result.predictor.on_rows(fitted.read(X))
    variance = float(predictions.var())
    return 1.0 - float(np.square(predictions - granite.predict(X)).mean()) / variance if variance else 1.0
