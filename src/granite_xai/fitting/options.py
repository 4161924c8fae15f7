"""The options of an estimator as what they stand for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from numbers import Real
from typing import Any, TypedDict

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.options import choose, real_number, unknown, whole_number
from granite_xai.compute import Resources, require_supported, resolve_jobs
from granite_xai.disagreement.disagreement import Disagreement
from granite_xai.disagreement.objective import Objective
from granite_xai.explanation.influence import Individual, Influence, Interactions, Joint
from granite_xai.inference.confidence import Confidence
from granite_xai.search.partitioner import OwnPartitioner, Partitioner
from granite_xai.search.tree import Tree


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
    missing: str
    kinds: Mapping[Hashable, str] | None
    max_samples: int | str | None
    confidence_level: float | None
    holdout: Any
    n_jobs: int | None
    random_state: Any
    resources: Resources | None


@dataclass(frozen=True, slots=True, eq=False)
class FitOptions:
    """The options of a `Granite`, checked and resolved as far as they go without data.

    Parameters
    ----------
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
    confidence : Confidence, optional
        None: the sample is taken for the world, as the paper does.
    holdout : "auto", False, float or tuple
        As in `chosen_holdout`.
    max_samples : "auto", int or None
        As in `chosen_samples`.
    missing : "auto", "allow" or "error"
    """

    tree: Tree
    partitioner: Partitioner
    chooses_alpha: bool
    objective: Objective
    questions: tuple[tuple[Disagreement, float], ...]
    resources: Resources
    n_jobs: int | None
    seed: int
    confidence: Confidence | None
    holdout: Any
    max_samples: int | str | None
    missing: str

    @property
    def as_in_paper(self) -> bool:
        """Whether regions are searched by the paper's algorithm, which takes the sample for the world."""
        return self.confidence is None and self.tree.search == "greedy"


INFLUENCES = ("individual", "joint", "interaction")
MISSING = ("auto", "allow", "error")
PAIRS = 2  # the order of interactions where none is given
REPLICATES = 50  # sets of random weights that tell what chance does, at least
HIGHEST_LEVEL = 0.999  # of confidence: its bar takes 1,999 sets of random weights
SEEDS = 2**31  # seeds that are drawn lie below


def fit_options(g: Any, seed: int | None = None) -> FitOptions:
    """Check the options of a `Granite` and say what they stand for.

    Parameters
    ----------
    g : Granite
    seed : int, optional
        Where the rows were drawn already: what they were drawn by. None: as ``random_state`` says.

    Raises
    ------
    InputError
        P01 to P03, about the first option that is no choice.
    """
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
    partitioner = chosen_partitioner(g.partitioner, tree)
    if isinstance(partitioner, Tree):  # it has options of its own
        tree = partitioner
    resources = chosen_limits(g.resources)
    resolve_jobs(g.n_jobs)  # raises where it is no number of jobs
    influence = chosen_influence(g.influence, g.groups, g.features)
    objective = g.question
    if not isinstance(objective, Objective):
        objective = Objective(g.question)
    questions = objective.weighted(influence)
    if seed is None:
        seed = chosen_seed(g.random_state)
    return FitOptions(
        tree=tree,
        partitioner=partitioner,
        chooses_alpha=chooses_alpha,
        objective=objective,
        questions=questions,
        resources=resources,
        n_jobs=g.n_jobs,
        seed=seed,
        confidence=chosen_confidence(g, seed),
        holdout=chosen_holdout(g),
        max_samples=chosen_samples(g),
        missing=choose("missing", g.missing, {name: name for name in MISSING}),
    )


def chosen_partitioner(partitioner: Any, tree: Tree) -> Partitioner:
    """The partitioner of a fit.

    Parameters
    ----------
    partitioner : None, Partitioner, or any object with a method ``partition``
    tree : Tree
        What None stands for.
    """
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
    influence : str, ("interaction", order), or an object of the room ``influence``
    groups : mapping, optional
        For ``"joint"``, and only there: the features of each group, by its name.
    features : sequence, optional
        The sets that are compared; None: all.
    """
    if isinstance(influence, Individual | Joint | Interactions):
        return influence
    kind = influence
    order = PAIRS
    if (
        isinstance(influence, tuple | list)
        and len(influence) == 2
        and influence[0] == "interaction"
    ):
        kind, order = influence
    if kind not in INFLUENCES:
        raise unknown("influence", kind, INFLUENCES)
    if kind == "joint" and groups is None:
        raise _wrong_groups('influence="joint" needs groups.')
    if kind != "joint" and groups is not None:
        raise _wrong_groups(f"influence={kind!r} takes no groups.")
    if kind == "joint":
        return Joint(groups or {}, features)
    if kind == "interaction":
        return Interactions(order, features)
    return Individual(features)


def _wrong_groups(text: str) -> InputError:
    hint = 'Pass influence="joint" together with groups={name: [features]}.'
    return InputError(text, code="P03", argument="groups", hint=hint)


def named_columns(*options: Any) -> list[Any]:
    """Every column that some options name: in sequences, tuples of sequences, and the values of mappings."""
    names: list[Any] = []
    for option in options:
        if isinstance(option, Mapping):
            names += named_columns(*option.values())
        elif isinstance(option, tuple | list):
            names += named_columns(*option)
        elif isinstance(option, str | int):
            names.append(option)
    return names


def chosen_limits(resources: Any) -> Resources:
    """The limits of a fit; None: those of ``Resources()``."""
    if resources is None:
        resources = Resources()
    if not isinstance(resources, Resources):
        raise InputError(
            f"resources is a {type(resources).__name__}, not a gx.Resources.",
            code="P01",
            argument="resources",
            hint="Pass gx.Resources(memory_limit=…) or None.",
        )
    require_supported(resources)
    return resources


def chosen_seed(random_state: Any) -> int:
    """A seed, drawn anew where there is none; never from NumPy's global stream."""
    if random_state is None:
        return int(np.random.default_rng().integers(SEEDS))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(SEEDS - 1))
    return whole_number("random_state", random_state, at_least=0, at_most=2**32 - 1)


def chosen_confidence(g: Any, seed: int) -> Confidence | None:
    """How sure the regions shall be; None: the sample is taken for the world, as the paper does."""
    if g.confidence_level is None:
        return None
    level = real_number("confidence_level", g.confidence_level, above=0)
    if level > HIGHEST_LEVEL:
        raise InputError(
            f"confidence_level={g.confidence_level!r} is above {HIGHEST_LEVEL}.",
            code="P02",
            argument="confidence_level",
            hint="Pass 0.95, or None for the paper's way.",
        )
    # The bar leaves half of the error to the test of gains: so many replicates tell it.
    error = (1.0 - level) / 2
    n_replicates = max(REPLICATES, ceil(round((1.0 - error) / error, 9)))
    return Confidence(level, n_replicates, seed)


def chosen_holdout(g: Any) -> Any:
    """Which rows are held out.

    Returns
    -------
    "auto", False, float or tuple
        "auto" becomes False without a confidence level. A share of the rows, or rows of the user's own: ``(X, y)`` or
        ``(X, y, clusters)``.
    """
    holdout = g.holdout
    if isinstance(holdout, str):
        choose("holdout", holdout, {"auto": "auto"})
        if g.confidence_level is None:
            return False
        return "auto"
    if holdout is False:
        return False
    if isinstance(holdout, tuple | list):
        if len(holdout) in (2, 3):
            return holdout
        raise _wrong_holdout(f"holdout has {len(holdout)} parts.")
    is_number = isinstance(holdout, Real) and not isinstance(holdout, bool)
    if not is_number or not 0 < float(holdout) < 1:
        raise _wrong_holdout(f"holdout={holdout!r} is no choice.")
    return float(holdout)


def _wrong_holdout(text: str) -> InputError:
    hint = 'Pass "auto", False, a share of the rows such as 0.3, or other rows: (X, y) or (X, y, clusters).'
    return InputError(text, code="P01", argument="holdout", hint=hint)


def chosen_samples(g: Any) -> int | str | None:
    """How many rows search; None: all of them, which "auto" means without a confidence level."""
    if isinstance(g.max_samples, str):
        choose("max_samples", g.max_samples, {"auto": "auto"})
        if g.confidence_level is None:
            return None
        return "auto"
    if g.max_samples is None:
        return None
    return whole_number("max_samples", g.max_samples, at_least=1)
