"""Granite: from a model and a table to regions where explanations agree."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import check_is_fitted

import granite_xai
from granite_xai.algebra.explanation import Explanation
from granite_xai.base.errors import DataWarning, Diagnostics, warn
from granite_xai.base.limits import Resources
from granite_xai.base.options import choose, real_number, whole_number
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.curves.shared import SharedCurves
from granite_xai.fitting.fit import fit, path_of_fit, plan_of, search_halves
from granite_xai.fitting.fit_result import FitResult, GraniteBase, fitted_view
from granite_xai.fitting.judge import Evaluation, evaluate_rows
from granite_xai.fitting.settings import Settings, lacking_clusters_warning
from granite_xai.fitting.stability import Stability
from granite_xai.models import Usage, accepts_missing
from granite_xai.regions import vocabulary
from granite_xai.results.facts import target_name
from granite_xai.results.other_rows import explain_against_fit, explain_among_themselves
from granite_xai.results.printed import FitWords
from granite_xai.results.row import RowExplanation, explain_one
from granite_xai.tables import is_lazy, same_rows_in_any_order


class Granite(GraniteBase):
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
        The sets compared: columns, groups, or tuples of columns for interactions (``coe``: all at once). None: all.
    split_features : sequence of columns, optional
        Columns that rules may use. None: all.
    max_depth, min_samples_leaf : int
        Conditions on the way to a region, at most; rows of a region, at least.
    alpha : float or "auto"
        Price of a region, as a share of the disagreement on all rows: a split must save more than this. "auto": that of
        the smallest tree that keeps 90% of what the largest removes, on rows left out of its search (`path_`).
    max_candidates : int
        At most this number minus one thresholds are tried for each column and node.
    search : "refined" or "greedy" (the paper)
        "refined": cuts between the quantiles, a look two levels ahead, and all thresholds of the tree chosen again,
        from sums over rows where the question has them.
    beam : int
        Greedy search: columns whose best split is followed at each node.
    partitioner : object, optional
        Another way to find regions; None: the tree that the options above describe.
    output : object, optional
        Class (by label) or output (by position) that is explained. None: the second of two classes. "all": regions for
        all of them at once, each output's disagreement in shares of its own (`outputs_`, `of_output`).
    response : "auto", "predict", "probability" or "raw"
        "auto": the probability where there is one, otherwise the prediction.
    scale : "response", "log-odds", "log", "log-log" or (to, back)
        On which effects are compared and curves add up: that of the predictions, the log-odds of probabilities, the
        log of positive predictions, the log of the cumulative hazard of survival probabilities, or two functions of
        your own, to the scale and back from it. `predict`, the share described and mean predictions are those of the
        model on any scale.
    missing : "auto", "allow" or "error"
        Whether X may have missing values. "auto": if the model says that it takes them.
    kinds : mapping of column to "numeric", "ordinal", "nominal" or "boolean", optional
        How columns are read. None: from their dtypes.
    max_samples : "auto", int or None
        Rows that search for regions, drawn with ``random_state``. "auto": as many as ``Resources(max_evaluations=)``,
        a million model rows, pays for, at least 1,000. An int: so many, and up to half as many more are held out.
        None: all rows that are not held out. A table with the same rows in another order gives the same result.
    confidence_level : float or None
        Level of the chance bar and of intervals. A region that shows no more than chance is not split. None: the
        sample is taken for the world, as in the paper; then "auto" of other options means all rows, none held out.
    holdout : "auto", False, float, (X, y) or (X, y, clusters)
        Rows that are held out of the search and judge its regions: "auto" a third of the rows that are used, at most
        4,000, none of fewer than 600; none; a share of the rows; or rows of your own (for risk: rows that the model has
        not seen). At least 30, or none.
    shared_curves : "auto" or float
        Regions share the curve of a feature where that changes little: what is described falls by no more than this
        share of what regions add, or by half a point, where that is more. "auto": 0.05, and nothing is shared without a
        ``confidence_level``. 0: one curve per feature and region. It changes neither regions nor what they leave.
    n_jobs : int, optional
        Threads for the search, as in scikit-learn; None: what ``joblib.parallel_config`` says, otherwise one. Inside
        ``joblib.parallel_config(backend="loky")``, ``"dask"`` (with a ``distributed.Client``) or ``"ray"`` it is also
        the number of workers that are asked for predictions; 1 keeps the model in this process. Without such a
        backend the model is never copied. Results are the same bit for bit for any number.
    random_state : int, RandomState or None
        Seed of everything that is drawn.
    resources : Resources, optional
        Limits on memory and model evaluations.

    Attributes
    ----------
    partition_ : Partition
        The regions; ``print(partition_)`` shows the tree.
    disagreement_, disagreements_ : float, dict
        Disagreement on all rows before any split, 1.0 (in shares) for several questions; and that of each question.
    remaining_ : float
        Share of it that is left in the regions; 0.0 when there is nothing to explain.
    curves_ : SharedCurves
        The curves that describe the model, each told once.
    fidelity_, global_fidelity_ : float
        Share of the prediction's variance that they (`predict`) explain, with regions, and one curve per feature.
        Where ``features`` names some of the columns, the model is asked about the others when this is first read.
    estimate_ : Estimate or None
        Share left on the held-out rows, corrected for chance, with an interval: the number to quote. Without held-out
        rows that of the fitting rows, without an interval; None without a ``confidence_level``.
    errors_ : ModelErrors or None
        Errors of the model in every region, where y was given: on the rows of ``holdout=(X, y)``, otherwise on those of
        the fit, where they are too small if the model was trained on them. Also columns of ``partition_.frame()``.
    outputs_ : tuple
        Names of the outputs, where all are explained.
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
        alpha: float | str = 0.05,
        max_candidates: int = 40,
        search: str = "refined",
        beam: int = 1,
        partitioner: Any = None,
        output: Any = None,
        response: str = "auto",
        scale: Any = "response",
        missing: str = "auto",
        kinds: Mapping[Hashable, str] | None = None,
        max_samples: int | str | None = "auto",
        confidence_level: float | None = 0.95,
        holdout: Any = "auto",
        shared_curves: float | str = "auto",
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
        self.search = search
        self.beam = beam
        self.partitioner = partitioner
        self.output = output
        self.response = response
        self.scale = scale
        self.missing = missing
        self.kinds = kinds
        self.max_samples = max_samples
        self.confidence_level = confidence_level
        self.holdout = holdout
        self.shared_curves = shared_curves
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.resources = resources

    def __sklearn_clone__(self) -> Granite:
        """Clone with the same fitted model: it is what we explain, not a part to be fitted again."""
        options = self.get_params(deep=False)
        del options["model"]
        copies = {name: clone(value, safe=False) for name, value in options.items()}
        return type(self)(self.model, **copies)

    def __sklearn_tags__(self) -> Any:
        """Tables with text, categories and missing values are welcome; no target is required."""
        tags = super().__sklearn_tags__()
        has_model = self.model is not None  # some are loaded without
        may_be_missing = self.missing != "error" and has_model
        tags.input_tags.allow_nan = may_be_missing and accepts_missing(self.model)
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = False
        return tags

    def __getstate__(self) -> Any:
        """Without the evaluations, which only this object in this process keeps."""
        state = dict(super().__getstate__())
        if "_fitted" in state:
            state["_fitted"] = state["_fitted"].without_sample()
        return state

    def __str__(self) -> str:
        """What the fit found; of an object that is not fitted, its options."""
        words: FitWords | None = vars(self).get("_words")
        if words is None:
            return repr(self)
        return words.of_fit(self.partition_.region_names).text()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """What a notebook shows: the finding, or scikit-learn's diagram of what is not fitted."""
        if "_words" not in vars(self):
            diagram: dict[str, str] = super()._repr_mimebundle_(**options)
            return diagram
        return {"text/plain": str(self), "text/html": self._fitted_html()}

    @property
    def _repr_html_(self) -> Callable[[], str]:
        """The same for what does not ask for a bundle; a property, as scikit-learn has it."""
        if "_words" not in vars(self):
            html_of_diagram: Callable[[], str] = super()._repr_html_
            return html_of_diagram
        return self._fitted_html

    def _fitted_html(self) -> str:
        """The finding and the tree, with scikit-learn's diagram folded below."""
        words: FitWords = vars(self)["_words"]
        finding = words.of_fit(self.partition_.region_names).notebook()
        # Of the options alone: scikit-learn reads every attribute of what is fitted, and some are computed when read.
        diagram = estimator_html_repr(type(self)(**self.get_params(deep=False)))
        return f"{finding}<details><summary>Options of this fit</summary>{diagram}</details>"

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, clusters: Any = None
    ) -> Granite:
        """Search for regions on these rows, which serve as explained rows and as reference.

        Parameters
        ----------
        X : table
            DataFrame (pandas, polars, pyarrow) or array that the model accepts; or a polars LazyFrame, a DuckDB
            relation, a Dask or PySpark DataFrame, of which a sample is collected (y and weights by column name).
        y : array, optional
            The target; needed for questions about risk.
        sample_weight : array, optional
            Weights of the rows; those of weight 0 are left out. A row of weight 2 counts as two rows in every mean,
            share and bin; cuts and the leaf minimum of regions count rows as they are.
        clusters : array, optional
            Which rows belong together (hours of a day, visits of a patient), a label a row: whole clusters are drawn,
            held out and reweighted, and intervals count clusters, not rows.
        """
        fit_granite(self, X, y, sample_weight, clusters)
        return self

    def apply(self, X: Any) -> IntArray:
        """Region of each row, numbered from left to right in the tree."""
        fitted = fitted_view(self, several=True)
        if is_lazy(X):
            return fitted.result.partition.apply(X)
        return fitted.regions(fitted.read(X))

    def plan(self, X: Any, y: Any = None, sample_weight: Any = None) -> dict[str, Any]:
        """What `fit` on the same would do and what that costs, before it is done.

        Returns
        -------
        dict
            rows (that search), held_out, available, columns, values (at which the model is asked, by column),
            pilot_rows and model_rows (sent to the model, or read off its trees), bytes (of the predictions), and
            seconds: a remark, from the time of a few rows, which decides nothing.
        """
        return plan_of(Settings.of(self), X, y, sample_weight)

    def predict(self, X: Any) -> FloatArray:
        """What the curves of each row's region add up to.

        Where a probability is explained, what the curves add up to is cut to [0, 1].
        """
        fitted = fitted_view(self, several=True)
        return fitted.predict(fitted.read(X))

    def of_output(self, name: Any) -> Granite:
        """One of several outputs, as a fit of this output alone that was given the regions of all."""
        view = fitted_view(self, name)
        granite: Granite = clone(self).set_params(output=name)
        view.result.partition.rename(self.partition_.region_names)
        set_fitted_attributes(granite, view.result, dict(view.diagnostics))
        return granite

    def evaluate(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        output: Any = None,
        clusters: Any = None,
    ) -> Evaluation:
        """Disagreement on other rows, with and without the regions; corrected for chance, with its interval.

        Parameters
        ----------
        X, y, sample_weight, clusters
            As in `fit`. With clusters, the interval is that of rows that belong together (D47 where only the fit has
            them); with fewer than five there is none.
        output : object, optional
            One of `outputs_`. None: all that the fit explains.
        """
        view = fitted_view(self, output, several=True)
        if clusters is None and view.diagnostics.get("clusters") is not None:
            warn(lacking_clusters_warning("evaluate(X, y, clusters=…)"), DataWarning)
        rows = view.other_rows(X, y, sample_weight, clusters)
        are_those_of_fit = same_rows_in_any_order(rows.table, view.result.table)
        return evaluate_rows(view.result, rows, kind="fitting" if are_those_of_fit else "given")

    def score(
        self, X: Any, y: Any = None, sample_weight: Any = None, clusters: Any = None
    ) -> float:
        """Share of the disagreement on other rows (as in `evaluate`) that regions take away, to search over options."""
        return 1.0 - self.evaluate(X, y, sample_weight, clusters=clusters).remaining

    def explain(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        reference: str = "fitting",
        output: Any = None,
    ) -> Explanation:
        """Both sides of the question on other rows, region by region.

        Parameters
        ----------
        X, y, sample_weight
            As in `evaluate`.
        reference : "fitting" or "rows"
            The fitting rows of the region, or the rows of X in it (always so for sensitivity and risk). Of a region
            with more than 1,000 fitting rows the first 1,000 of their random order are the reference; without a
            ``confidence_level`` all of them are.
        output : object
            One of `outputs_`, where all are explained.
        """
        view = fitted_view(self, output)
        rows = view.other_rows(X, y, sample_weight)
        if choose("reference", reference, {"fitting": "fitting", "rows": "rows"}) == "rows":
            return explain_among_themselves(view.result, rows)
        return explain_against_fit(view.result, rows)

    def explain_row(self, x: Any, output: Any = None) -> RowExplanation:
        """Why this row (a table of one, a mapping or a list): what each column adds to the mean of its region."""
        return explain_one(fitted_view(self, output), x, self.diagnostics_.get("target", ""))

    def report(
        self,
        X: Any = None,
        y: Any = None,
        test: Any = None,
        title: str | None = None,
        rows: Any = None,
    ) -> Any:
        """The `Report` of this fit, as `explain` tells it; with the rows of the fit or, if X is None, those it kept."""
        # The report stands above the estimator, so it is reached as users reach it.
        return granite_xai.explain(self, X, y, test=test, title=title, rows=rows)

    def stability(self, n_resamples: int | None = None) -> Stability:
        """Which splits come back: in searches on random halves of the fitting rows.

        They ask the model nothing; they need the evaluations of this fit, which no file keeps.

        Parameters
        ----------
        n_resamples : int, optional
            Random halves, each searched together with its complement. None: as many as cost no more than the fit, which
            is counted in model rows: from 4 (8 searches) to 25 (50 searches).
        """
        result = fitted_view(self, several=True).result
        if n_resamples is not None:
            n_resamples = whole_number("n_resamples", n_resamples, at_least=1)
        model_rows = self.diagnostics_["plan"]["model_rows"]
        measured = search_halves(result, n_resamples, model_rows)
        set_fitted_attributes(self, replace(result, stability=measured), self.diagnostics_)
        return measured

    @property
    def curves_(self) -> SharedCurves:
        """The curves that describe the model; regions share those that differ little between them."""
        return fitted_view(self, several=True).result.shared_curves.value

    @property
    def fidelity_(self) -> float:
        """Share of the prediction's variance that these curves explain in the regions."""
        return self.curves_.fidelity

    @property
    def global_fidelity_(self) -> float:
        """The same with one curve per feature."""
        return self.curves_.global_fidelity

    @property
    def path_(self) -> Any:
        """How many regions, for every alpha: a frame of what is left on the fitting rows, and on rows left out."""
        result = fitted_view(self, several=True).result
        path = path_of_fit(result)
        self.__dict__["_fitted"] = replace(result, path=path)
        return path.frame()

    def rows_needed(self, half_width: float = 0.05) -> int:
        """Rows to search with (``max_samples=``), half as many more held out, for an interval of this half width.

        Extrapolated from the held-out rows of this fit, whose error falls like 1/√N. A half width is a share: 0.05 is
        five points.
        """
        return fitted_view(self, several=True).rows_needed(
            real_number("half_width", half_width, above=0)
        )


def result_text(g: Granite, next_step: str) -> str:
    """What a fitted object prints, with another next step.

    Parameters
    ----------
    g : Granite
    next_step : str
        What to do next, for users who do not write Python.
    """
    check_is_fitted(g)
    words: FitWords = vars(g)["_words"]
    return words.of_fit(g.partition_.region_names, next_step).text()


def fit_granite(
    g: Granite,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    clusters: Any = None,
    settings: Settings | None = None,
) -> FitResult:
    """Fit, and return what was found.

    Parameters
    ----------
    g : Granite
        Is fitted.
    X, y, sample_weight, clusters
        As in `Granite.fit`.
    settings : Settings, optional
        The options, where rows were drawn by their seed already; None: those of the Granite.
    """
    record = Diagnostics()
    with record.stage("total"):
        result = fit(settings or Settings.of(g), X, y, sample_weight, clusters, record)
    record.note("target", target_name(y))
    record.note("stop_reasons", [region.stop_reason for region in result.partition])
    # How much the model was asked, for all of its outputs.
    usages = [model.usage for model in (result.model, *result.model.outputs.values())]
    record.note(
        "model", {name: sum(getattr(usage, name) for usage in usages) for name in Usage._fields}
    )
    set_fitted_attributes(g, result, record.as_dict())
    return result


def set_fitted_attributes(g: Granite, result: FitResult, diagnostics: dict[str, Any]) -> None:
    """Set all fitted attributes at once: a fit that fails leaves the previous one as it was.

    Parameters
    ----------
    g : Granite
    result : FitResult
        What the fit found, or what a file holds of it.
    diagnostics : dict
        Of the same fit.
    """
    attributes = g.__dict__
    outdated = ["feature_names_in_"]
    if "_fitted" in attributes:
        outdated += attributes["_fitted"].learned  # what another partitioner learned
    for name in outdated:
        attributes.pop(name, None)
    words = FitWords(result, diagnostics)
    found_again = [split.share for split in result.stability.splits] if result.stability else []
    result.partition.described(
        vocabulary(result.partition.rules, result.table), words, result.ledger, found_again
    )
    labels = [question.label for question in result.questions]
    measured = np.where(result.disagreements > result.floors, result.disagreements, 0.0)
    root = result.partition.root
    # Shares of a prediction that does not vary are none.
    is_explained = not result.below_noise_floor and (root is None or root.disagreement > 0)
    attributes.update(
        _fitted=result,
        _words=words,
        diagnostics_=diagnostics,
        partition_=result.partition,
        remaining_=result.remaining,
        estimate_=result.estimate,
        errors_=result.errors,
        stability_=result.stability,
        n_features_in_=result.table.n_columns,
        outputs_=tuple(result.outputs),
        disagreements_=dict(zip(labels, measured.tolist(), strict=True)),
        disagreement_=float(measured[0] if len(labels) == 1 else is_explained),
    )
    if result.table.container.named:
        attributes["feature_names_in_"] = np.array(result.table.names, dtype=object)
    attributes.update(result.learned)
