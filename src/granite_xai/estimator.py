"""Granite: from a model and a table to regions where explanations agree."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.errors import InputError
from granite_xai.base.options import choose, unknown, whole_number
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import Resources, require_supported, resolve_jobs
from granite_xai.evaluation import Evaluation
from granite_xai.evaluations.footprint import require_room
from granite_xai.explanation import Explanation
from granite_xai.fit import FitInputs, FitResult, run
from granite_xai.influence import Individual, Influence, Interactions, Joint
from granite_xai.models import accepts_missing, as_predictor
from granite_xai.new_rows import evaluate_rows, explain_rows
from granite_xai.objective import Objective
from granite_xai.search.tree import Tree
from granite_xai.tables import read_table
from granite_xai.targets import read_target, read_weights

if TYPE_CHECKING:
    from granite_xai.evaluations.evaluations import Evaluations
    from granite_xai.regions.partition import Partition
    from granite_xai.tables import Table


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
        return self._fit(X, y, sample_weight)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any = None, see: Callable[[Evaluations], None] | None = None
    ) -> Granite:
        record = Diagnostics()
        with record.stage("total"):
            ask = self._ask(X, y, sample_weight, record)
            fitted = run(ask, see)
        usage = ask.predictor.usage
        record.spend(calls=usage.calls, rows=usage.rows, seconds=usage.seconds)
        record.note("stop_reasons", [region.stop_reason for region in fitted.partition])
        self._keep(fitted, record)
        return self

    def _ask(self, X: Any, y: Any, sample_weight: Any, record: Diagnostics) -> FitInputs:
        """Check everything that the data alone decide."""
        tree = self._tree()
        partitioner = self._partitioner(tree)
        resources = self._resources()
        resolve_jobs(self.n_jobs)
        influence = self._influence()
        objective = self.question if isinstance(self.question, Objective) else Objective(self.question)
        questions = objective.weighted(influence)
        seed = self._seed(record)
        missing = self._missing()
        everyone = read_table(X, kinds=self.kinds, missing="allow" if missing else "error")
        weights = read_weights(sample_weight, everyone)
        rows = self._rows(weights, seed)
        predictor = as_predictor(
            self.model,
            output=self.output,
            response=self.response,
            batch_size=resources.batch_size,
            diagnostics=record,
        )
        target = read_target(y, everyone, predictor, *(question.first.behavior for question, _ in questions))
        table = everyone.take(rows)  # always a copy: what is written into X later must not change the fit
        require_room(table, resources)
        for grower in (tree, partitioner):
            if isinstance(grower, Tree):
                grower.columns(table)
        reads = getattr(partitioner, "effects", None)
        also = () if reads is None else tuple(reads(table, predictor, resources, seed))
        comparisons = tuple(question.compare(table, predictor, resources, seed) for question, _ in questions)
        for text in table.notices:
            record.remember(text)
        constant = [column.name for column in table.columns if len(column.levels) + column.missing.any() < 2]
        record.note("constant_columns", constant)
        record.note("candidates", dict.fromkeys(table.names, 0))  # stays so where no split is tried
        return FitInputs(
            table=table,
            predictor=predictor,
            y=None if target is None else target[rows],
            weights=weights[rows],
            objective=objective,
            comparisons=comparisons,
            question_weights=tuple(weight for _, weight in questions),
            partitioner=partitioner,
            tree=tree,
            also=also,
            missing=missing,
            resources=resources,
            n_jobs=self.n_jobs,
            seed=seed,
            diagnostics=record,
        )

    def _partitioner(self, tree: Tree) -> Any:
        if self.partitioner is not None:
            if not hasattr(self.partitioner, "partition"):
                raise InputError(
                    f"partitioner={self.partitioner!r} has no method partition.",
                    code="P01",
                    argument="partitioner",
                    hint="Pass None or an object of gx.partitioners.",
                )
            return self.partitioner
        return tree

    def _tree(self) -> Tree:
        """The tree that the options describe; other partitioners word their regions with it."""
        return Tree(
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            alpha=self.alpha,
            max_candidates=self.max_candidates,
            beam=self.beam,
            split_features=self.split_features,
        )

    def _influence(self) -> Influence:
        """The influence of questions given by name."""
        kind, order = self.influence, 2
        if isinstance(kind, Individual | Joint | Interactions):
            return kind
        if isinstance(kind, tuple | list) and len(kind) == 2 and kind[0] == "interaction":
            kind, order = kind
        if kind not in ("individual", "joint", "interaction"):
            raise unknown("influence", kind, ("individual", "joint", "interaction"))
        if (kind == "joint") != (self.groups is not None):
            raise InputError(
                f"influence={kind!r} {'needs groups' if self.groups is None else 'takes no groups'}.",
                code="P03",
                argument="groups",
                hint='Pass influence="joint" together with groups={name: [columns]}.',
            )
        if kind == "joint":
            return Joint(self.groups or {}, self.features)
        return Interactions(order, self.features) if kind == "interaction" else Individual(self.features)

    def _missing(self) -> bool:
        choice = choose("missing", self.missing, {name: name for name in ("auto", "allow", "error")})
        return choice == "allow" or (choice == "auto" and accepts_missing(self.model))

    def _resources(self) -> Resources:
        if self.resources is None or isinstance(self.resources, Resources):
            limits = self.resources or Resources()
            require_supported(limits)
            return limits
        text = f"resources is a {type(self.resources).__name__}, not a gx.Resources."
        raise InputError(text, code="P01", argument="resources", hint="Pass gx.Resources(memory_limit=…) or None.")

    def _seed(self, record: Diagnostics) -> int:
        if self.random_state is None:
            seed = int(np.random.default_rng().integers(2**31))  # never NumPy's global stream
        elif isinstance(self.random_state, np.random.RandomState):
            seed = int(self.random_state.randint(2**31 - 1))
        else:
            seed = whole_number("random_state", self.random_state, at_least=0, at_most=2**32 - 1)
        record.note("seed", seed)
        return seed

    def _rows(self, weights: FloatArray, seed: int) -> IntArray:
        """Rows with weight, at most ``max_samples`` of them, in their order."""
        rows = np.flatnonzero(weights > 0)
        if self.max_samples is None or whole_number("max_samples", self.max_samples, at_least=1) >= len(rows):
            return rows
        return np.sort(np.random.default_rng(seed).choice(rows, size=self.max_samples, replace=False))

    def _keep(self, fitted: FitResult, record: Diagnostics) -> None:
        """Set all fitted attributes at once: a fit that fails leaves the previous one as it was."""
        labels = [comparison.question.label for comparison in fitted.comparisons]
        several = len(labels) > 1
        heard = np.where(fitted.roots > fitted.floors, fitted.roots, 0.0)
        state: dict[str, Any] = {
            "_fitted": fitted,
            "partition_": fitted.partition,
            "disagreement_": float(heard[0]) if not several else float(not fitted.silent),
            "disagreements_": dict(zip(labels, heard.tolist(), strict=True)),
            "remaining_": fitted.remaining,
            "fidelity_": fitted.fidelity,
            "global_fidelity_": fitted.global_fidelity,
            "diagnostics_": record.as_dict(),
            "n_features_in_": fitted.table.n_columns,
        }
        if fitted.table.named:
            state["feature_names_in_"] = np.array(fitted.table.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        for name in self._fitted.learned if hasattr(self, "_fitted") else ():
            self.__dict__.pop(name, None)  # what another partitioner learned
        state.update(fitted.learned)
        self.__dict__.update(state)

    def _read(self, X: Any) -> Table:
        check_is_fitted(self)
        fitted: FitResult = self._fitted
        return read_table(X, missing="allow" if fitted.missing else "error", like=fitted.table)

    def apply(self, X: Any) -> IntArray:
        """Region of each row, numbered from left to right in the tree."""
        return self._regions(self._read(X))

    def _regions(self, table: Table) -> IntArray:
        partition: Partition = self._fitted.partition
        return partition.apply(table)

    def predict(self, X: Any, exact: bool = False) -> FloatArray:
        """The regional additive surrogate of the model.

        Parameters
        ----------
        X : table
        exact : bool
            Ask the model for effects at new values instead of interpolating between those of the fit.
        """
        table = self._read(X)
        fitted: FitResult = self._fitted
        needs_model = exact or any(len(frozenset().union(*members)) > 1 for members in fitted.surrogate.effects)
        predictor = fitted.predictor if needs_model else None
        return fitted.surrogate.predict(table, self._regions(table), predictor, exact)

    def evaluate(self, X: Any, y: Any = None) -> Evaluation:
        """Disagreement on other rows, with and without the regions.

        Parameters
        ----------
        X : table
        y : array, optional
            The target; needed for questions about risk.
        """
        return evaluate_rows(*self._other_rows(X, y))

    def explain(self, X: Any, y: Any = None) -> Explanation:
        """Both sides of the question on other rows, region by region.

        Parameters
        ----------
        X : table
        y : array, optional
            The target; needed for questions about risk.
        """
        return explain_rows(*self._other_rows(X, y))

    def _other_rows(self, X: Any, y: Any) -> tuple[FitResult, Table, FloatArray | None, IntArray, Resources]:
        table, fitted = self._read(X), self._fitted
        behaviors = (comparison.first.behavior for comparison in fitted.comparisons)
        target = read_target(y, table, fitted.predictor, *behaviors)
        resources = Resources() if self.resources is None else self.resources
        return fitted, table, target, self._regions(table), resources
