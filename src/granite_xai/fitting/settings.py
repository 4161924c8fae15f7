"""The options of a fit, checked and resolved, and its rows and model: all that is known before rows are chosen."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, TypedDict

import numpy as np

from granite_xai.algebra.behavior import CENSORED, Behavior
from granite_xai.algebra.disagreement import Disagreement
from granite_xai.algebra.influence import Individual, Influence, Interactions, Joint
from granite_xai.algebra.objective import Objective
from granite_xai.base.errors import DataWarning, Diagnostics, InputError
from granite_xai.base.limits import Resources, model_row_budget, require_supported
from granite_xai.base.options import choose, real_number, unknown, whole_number
from granite_xai.base.parallel import resolve_jobs
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.evaluations.probe import require_at_most
from granite_xai.models import Predictor, Scale, for_table, read_scale
from granite_xai.models.columns import allows_missing, read_input
from granite_xai.models.targets import (
    note_columns_that_are_y,
    read_clusters,
    read_target,
    read_weights,
)
from granite_xai.search.growth import Tree
from granite_xai.search.problem import GivenRules, OwnPartitioner, Partitioner
from granite_xai.tables import DRAWN_BY_NUMBER, Table, collect_rows, is_lazy, read_table
from granite_xai.tables.rows import LEAST_HELD_OUT, Rows, same_rows_in_any_order

INFLUENCES = ("individual", "joint", "interaction")
ORDER_OF_INTERACTIONS = 2  # where none is given
HIGHEST_LEVEL = 0.999  # of confidence: random signs tell no higher quantile
SHARED_CURVES = 0.05  # of what regions add that may be given up for fewer curves
SEEDS = 2**31  # seeds that are drawn lie below
AUTO = {"auto": "auto"}


class GraniteOptions(TypedDict, total=False):
    """The options of `Granite`, for type checkers, of functions that pass them on."""

    influence: Any
    groups: Mapping[str, Sequence[Hashable]] | None
    features: Sequence[Any] | None
    split_features: Sequence[Hashable] | None
    max_depth: int
    min_samples_leaf: int
    alpha: float | str
    max_candidates: int
    search: str
    beam: int
    partitioner: Any
    output: Any
    response: str
    scale: Any
    missing: str
    kinds: Mapping[Hashable, str] | None
    max_samples: int | str | None
    confidence_level: float | None
    holdout: Any
    shared_curves: float | str
    n_jobs: int | None
    random_state: Any
    resources: Resources | None


@dataclass(frozen=True, eq=False)
class Settings:
    """The options of a fit.

    Parameters
    ----------
    model, output, response, kinds
        As in `Granite`: what is explained, and how the table is read.
    scale : Scale
        On which predictions are read.
    named_columns : list
        Every column that some option names, as the user wrote it.
    tree : Tree
        The tree that is searched: a `Tree` that the user passed as partitioner, else that of the other options. It
        tells other partitioners how deep rules may be, how small regions.
    partitioner : Partitioner
        What finds the regions; the tree, unless the user passed another.
    chooses_alpha : bool
        Whether rows that are left out of the search choose the price of a region; the tree's own is 0 then.
    objective : Objective
    questions : tuple of (Disagreement, float)
        The questions with their weights.
    resources : Resources
    n_jobs : int, optional
    seed : int
        Of everything that is drawn.
    level : float, optional
        Of confidence; None: the sample is taken for the world, as the paper does.
    holdout : "auto", False, float or tuple
        A share of the rows, or rows of the user's own: ``(X, y)`` or ``(X, y, clusters)``. "auto" is none without a
        level.
    max_samples : "auto", int or None
        Rows that search; None: all.
    missing : "auto", "allow" or "error"
    shared_curves : float
        Share of what regions add that may be given up for fewer curves; 0: every region has its own.
    """

    model: Any
    output: Any
    response: str
    scale: Scale
    kinds: Mapping[Hashable, str] | None
    named_columns: list[Any]
    tree: Tree
    partitioner: Partitioner
    chooses_alpha: bool
    objective: Objective
    questions: tuple[tuple[Disagreement, float], ...]
    resources: Resources
    n_jobs: int | None
    seed: int
    level: float | None
    holdout: Any
    max_samples: Any
    missing: str
    shared_curves: float

    @classmethod
    def of(cls, g: Any) -> Settings:
        """Check the options of a `Granite` and say what they stand for; the seed of the fit is chosen here.

        Parameters
        ----------
        g : Granite

        Raises
        ------
        InputError
            P01 to P03, about the first option that is no choice.
        """
        # What finds the regions.
        chooses_alpha = isinstance(g.alpha, str) and g.alpha == "auto"
        if chooses_alpha and g.partitioner is not None:
            raise InputError(
                'alpha="auto" chooses among the trees of the search; a partitioner finds its regions in its own way.',
                code="P03",
                argument="alpha",
                hint="Leave partitioner out, or pass a number.",
            )
        tree = Tree(
            max_depth=g.max_depth,
            min_samples_leaf=g.min_samples_leaf,
            alpha=0.0 if chooses_alpha else g.alpha,
            max_candidates=g.max_candidates,
            beam=g.beam,
            split_features=g.split_features,
            search=g.search,
        )
        partitioner = _partitioner(g.partitioner, tree)
        if isinstance(partitioner, Tree):  # it has options of its own
            tree = partitioner

        # What it may cost.
        resources = Resources() if g.resources is None else g.resources
        if not isinstance(resources, Resources):
            raise InputError(
                f"resources is a {type(resources).__name__}, not a gx.Resources.",
                code="P01",
                argument="resources",
                hint="Pass gx.Resources(memory_limit=…) or None.",
            )
        require_supported(resources)
        resolve_jobs(g.n_jobs)  # raises where it is no number of jobs

        # What is asked; a raw score is on a scale of its own already.
        scale = read_scale(g.scale)
        if not scale.is_response and g.response == "raw":
            raise InputError(
                'response="raw" explains the score before the link function, which '
                f"scale={g.scale!r} would change again.",
                code="P03",
                argument="scale",
                hint="Leave one of them out.",
            )
        objective = g.question if isinstance(g.question, Objective) else Objective(g.question)
        questions = objective.weighted(chosen_influence(g.influence, g.groups, g.features))
        named = [g.features, g.split_features, g.groups]
        named += [getattr(g.influence, "features", None)]
        named += [getattr(g.partitioner, "split_features", None)]

        # What chance may do; without a level the sample is the world, and "auto" stands for all of it.
        level = None
        if g.confidence_level is not None:
            level = real_number("confidence_level", g.confidence_level, above=0)
            if level > HIGHEST_LEVEL:
                raise InputError(
                    f"confidence_level={g.confidence_level!r} is above {HIGHEST_LEVEL}.",
                    code="P02",
                    argument="confidence_level",
                    hint="Pass 0.95, or None for the paper's way.",
                )
        is_sample = level is not None
        max_samples = g.max_samples
        if isinstance(max_samples, str):
            choose("max_samples", max_samples, AUTO)
            max_samples = "auto" if is_sample else None
        elif max_samples is not None:
            max_samples = whole_number("max_samples", max_samples, at_least=1)
        shared_curves = g.shared_curves
        if isinstance(shared_curves, str):
            choose("shared_curves", shared_curves, AUTO)
            shared_curves = SHARED_CURVES if is_sample else 0.0
        return cls(
            model=g.model,
            output=g.output,
            response=g.response,
            scale=scale,
            kinds=g.kinds,
            named_columns=_named_columns(named),
            tree=tree,
            partitioner=partitioner,
            chooses_alpha=chooses_alpha,
            objective=objective,
            questions=questions,
            resources=resources,
            n_jobs=g.n_jobs,
            seed=_chosen_seed(g.random_state),
            level=level,
            holdout=_holdout(g.holdout),
            max_samples=max_samples,
            missing=choose(
                "missing", g.missing, {"auto": "auto", "allow": "allow", "error": "error"}
            ),
            shared_curves=real_number("shared_curves", shared_curves, at_least=0, at_most=1),
        )

    @property
    def as_in_paper(self) -> bool:
        """Whether regions are searched by the paper's algorithm, which takes the sample for the world."""
        return self.level is None and self.tree.search == "greedy"

    @property
    def budget(self) -> int:
        """Rows that a fit may send to the model."""
        return model_row_budget(self.resources)

    @property
    def budget_decides(self) -> bool:
        """Whether a budget of model rows decides how many rows are used."""
        return isinstance(self.max_samples, str)  # "auto"

    def with_alpha(self, alpha: float) -> Settings:
        """The same with another price of a region; the partitioner is a tree."""
        tree = replace(self.tree, alpha=alpha)
        return replace(self, tree=tree, partitioner=tree)


def _partitioner(partitioner: Any, tree: Tree) -> Partitioner:
    """The partitioner of a fit: the tree, or any object with a method ``partition``."""
    if partitioner is None:
        return tree
    if isinstance(partitioner, Partitioner):
        return partitioner
    if hasattr(partitioner, "partition"):
        return OwnPartitioner(partitioner)
    raise InputError(
        f"partitioner={partitioner!r} has no method partition.",
        code="P01",
        argument="partitioner",
        hint="Pass None or an object of gx.partitioners.",
    )


def chosen_influence(
    influence: Any, groups: Mapping[str, Any] | None, features: Sequence[Any] | None
) -> Influence:
    """Whose effects are compared by questions that are given by name.

    Parameters
    ----------
    influence : str, ("interaction", order), or an influence
    groups : mapping, optional
        For ``"joint"``, and only there: the features of each group, by its name.
    features : sequence, optional
        The sets that are compared; None: all.
    """
    if isinstance(influence, Individual | Joint | Interactions):
        return influence
    kind = influence
    order = ORDER_OF_INTERACTIONS
    is_pair = isinstance(influence, tuple | list) and len(influence) == 2
    if is_pair and influence[0] == "interaction":
        kind, order = influence
    if kind not in INFLUENCES:
        raise unknown("influence", kind, INFLUENCES)
    if (kind == "joint") != (groups is not None):
        text = f"influence={kind!r} takes no groups."
        if kind == "joint":
            text = 'influence="joint" needs groups.'
        hint = 'Pass influence="joint" together with groups={name: [features]}.'
        raise InputError(text, code="P03", argument="groups", hint=hint)
    if kind == "joint":
        return Joint(groups or {}, features)
    if kind == "interaction":
        return Interactions(order, features)
    return Individual(features)


def _named_columns(option: Any) -> list[Any]:
    """Every column that an option names: in sequences, tuples of sequences, and the values of mappings."""
    if isinstance(option, str | int):
        return [option]
    if isinstance(option, Mapping):
        option = list(option.values())
    names: list[Any] = []
    if isinstance(option, tuple | list):
        for part in option:
            names += _named_columns(part)
    return names


def _chosen_seed(random_state: Any) -> int:
    """A seed, drawn anew where there is none; never from NumPy's global stream."""
    if random_state is None:
        return int(np.random.default_rng().integers(SEEDS))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(SEEDS - 1))
    return whole_number("random_state", random_state, at_least=0, at_most=2**32 - 1)


def _holdout(holdout: Any) -> Any:
    """Which rows are held out: "auto", False, a share, or a tuple of other rows."""
    if isinstance(holdout, str):
        return choose("holdout", holdout, AUTO)
    if holdout is False or (isinstance(holdout, tuple | list) and len(holdout) in (2, 3)):
        return holdout
    if isinstance(holdout, Real) and 0 < float(holdout) < 1:
        return float(holdout)
    problem = f"holdout={holdout!r} is no choice."
    if isinstance(holdout, tuple | list):
        problem = f"holdout has {len(holdout)} parts."
    raise InputError(
        problem,
        code="P01",
        argument="holdout",
        hint='Pass "auto", False, a share of the rows such as 0.3, or other rows: (X, y) or (X, y, clusters).',
    )


# The rows and the model -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Opened:
    """Everything that options and data alone decide, before the rows of a fit are chosen.

    Parameters
    ----------
    settings : Settings
    rows : Rows
        All rows of the table, in the fixed order where they are a sample.
    model : Predictor
    missing : bool
        Whether missing values are allowed.
    given_holdout : Rows, optional
        Rows that the user holds out.
    """

    settings: Settings
    rows: Rows
    model: Predictor
    missing: bool
    given_holdout: Rows | None

    def n_judging(self, held_out: IntArray) -> int:
        """How many rows judge the regions: so many that are held out, or those that the user gave."""
        return len(held_out if self.given_holdout is None else self.given_holdout)


def collected(
    settings: Settings, X: Any, y: Any, sample_weight: Any, clusters: Any = None
) -> tuple[Any, Any, Any, Any]:
    """X, y, weights and clusters in memory; of a lazy table as many rows as the fit may use, drawn by its engine.

    Parameters
    ----------
    settings : Settings
        Its seed draws the rows.
    X, y, sample_weight, clusters
        As in `Granite.fit`.
    """
    if not is_lazy(X):
        return X, y, sample_weight, clusters
    n_rows = None
    if isinstance(settings.max_samples, int):
        n_rows = 2 * settings.max_samples  # some may be held out
    return collect_rows(X, y, sample_weight, n_rows, settings.seed, clusters)


def open_inputs(
    settings: Settings, X: Any, y: Any, sample_weight: Any, clusters: Any, record: Diagnostics
) -> Opened:
    """Read the table and what comes with its rows, and find out how the model is asked.

    Parameters
    ----------
    settings : Settings
    X, y, sample_weight, clusters
        As in `Granite.fit`.
    record : Diagnostics
        Gets the seed, the number of clusters, and how rows of a lazy table are drawn.
    """
    if is_lazy(X):
        record.note("lazy", DRAWN_BY_NUMBER)
    X, y, sample_weight, clusters = collected(settings, X, y, sample_weight, clusters)
    record.note("seed", settings.seed)
    table = read_input(X, settings.model, settings.kinds, settings.named_columns)
    weights = read_weights(sample_weight, table)
    model = for_table(
        settings.model,
        table,
        settings.output,
        settings.scale,
        response=settings.response,
        batch_size=settings.resources.batch_size,
        n_jobs=settings.n_jobs,
        device=settings.resources.device,
        block=settings.resources.block,
        record=record,
    )
    reads_all_outputs = isinstance(settings.partitioner, Tree | GivenRules | OwnPartitioner)
    if model.outputs and not reads_all_outputs:
        name = type(settings.partitioner).__name__
        raise InputError(
            f"{name} reads the effects of one output, not of all.",
            code="P03",
            argument="output",
            hint="Name one output, or leave partitioner out.",
        )
    missing = allows_missing(settings.missing, settings.model, model, table)
    behaviors = [question.behavior for question, _ in settings.questions]
    labels = [question.label for question, _ in settings.questions]
    rows = Rows.of(
        table,
        target_for(y, table, model, behaviors, labels, weights, record),
        weights,
        read_clusters(clusters, table),
        in_fixed_order=settings.level is not None,
    )
    record.note("clusters", None if clusters is None else int(rows.clusters.max()) + 1)
    note_columns_that_are_y(y, table, record)
    given_holdout = None
    if isinstance(settings.holdout, tuple | list):
        given_holdout = _given_holdout(settings.holdout, table, missing, model, behaviors, record)
        if clusters is not None and len(settings.holdout) == 2:
            record.warn(lacking_clusters_warning("holdout=(X, y, clusters)"), DataWarning)
    elif isinstance(settings.holdout, float):
        _require_enough_held_out(settings.holdout, len(rows))
    return Opened(settings, rows, model, missing, given_holdout)


def target_for(
    y: Any,
    table: Table,
    model: Predictor,
    behaviors: Sequence[Behavior],
    labels: Sequence[str] = (),
    weights: FloatArray | None = None,
    record: Diagnostics | None = None,
) -> FloatArray | None:
    """The target as some behaviors need it, (n,) or (n, outputs).

    Where none of them does, it serves to tell the model's errors: None where it cannot be read.

    Parameters
    ----------
    y : array-like or None
        The user's target.
    table : Table
        The rows it belongs to.
    model : Predictor
    behaviors : sequence of Behavior
        One for each question.
    labels : sequence of str
        What the user calls the question of each behavior, for the message about a target that is missing.
    weights : array of shape (n_rows,), optional
        Of the rows, where some may be censored.
    record : Diagnostics, optional
        Gets a note on a target that is not needed and cannot be read.
    """
    needing = [place for place, behavior in enumerate(behaviors) if behavior.needs_y]
    label = "a question about risk"
    if needing and labels:
        label = labels[needing[0]]
    probability_loss = None
    for behavior in behaviors:
        probability_loss = probability_loss or behavior.needs_probability
        loss = getattr(behavior, "loss", None)
        if model.is_survival and loss not in (None, "brier", CENSORED):
            raise InputError(
                f"the loss {loss!r} is not one of censored rows; {model.label} is explained.",
                code="P03",
                argument="risk_loss",
                hint="Leave risk_loss out: of survival it is the Brier score, with weights for censoring.",
            )
    is_needed = bool(needing)
    target = read_target(y, table, model, is_needed, probability_loss, label, weights)
    if is_needed or y is None:
        return target
    try:
        target = read_target(y, table, model, weights=weights)
        if target is not None:
            require_at_most("y reaches", float(np.max(np.abs(target), initial=0.0)))
        return target
    except InputError as error:
        if record is not None:
            record.note("errors", f"Errors by region are not known, as y cannot be read: {error}")
        return None


def _given_holdout(
    holdout: Sequence[Any],
    table: Table,
    missing: bool,
    model: Predictor,
    behaviors: Sequence[Behavior],
    record: Diagnostics,
) -> Rows:
    """The rows that a user holds out, (X, y) or (X, y, clusters); too few, or those of the fit, are refused."""
    X, y = holdout[:2]
    clusters = holdout[2] if len(holdout) == 3 else None
    held_out = read_table(
        X, missing="allow" if missing else "error", like=table, argument="holdout"
    )
    if same_rows_in_any_order(held_out, table):
        raise InputError(
            "holdout holds the fitting rows themselves: rows that choose regions judge them too well.",
            code="P03",
            argument="holdout",
            hint="Pass rows that the fit does not see, or a share such as holdout=0.3.",
        )
    if held_out.n_rows < LEAST_HELD_OUT:
        raise InputError(
            f"holdout has {held_out.n_rows} rows; {LEAST_HELD_OUT} are the least that can judge regions.",
            code="P02",
            argument="holdout",
            hint="Pass more rows, or holdout=False.",
        )
    return Rows.of(
        held_out,
        target_for(y, held_out, model, behaviors, record=record),
        np.ones(held_out.n_rows),
        read_clusters(clusters, held_out, "holdout"),
        in_fixed_order=False,
    )


def _require_enough_held_out(share: float, n_rows: int) -> None:
    """Refuse a share of so many rows that holds out too few of them, with a share that would do."""
    n_held_out = round(share * n_rows)
    if n_held_out >= LEAST_HELD_OUT:
        return
    enough = math.ceil(1000 * LEAST_HELD_OUT / n_rows) / 1000
    hint = f"Pass holdout={enough:g} or more, or holdout=False."
    if enough >= 1:
        hint = "Pass holdout=False, or more rows."
    raise InputError(
        f"holdout={share:g} holds out {n_held_out} of {n_rows:,} rows; {LEAST_HELD_OUT} are the least.",
        code="P02",
        argument="holdout",
        hint=hint,
    )


def lacking_clusters_warning(remedy: str) -> str:
    """The warning about rows without clusters, where the fit was given some (D47).

    Parameters
    ----------
    remedy : str
        The call that passes them.
    """
    return (
        "D47: the fit was given clusters and these rows have none: they count as independent rows, so that "
        f"the interval is too narrow where rows belong together. Pass {remedy}."
    )
