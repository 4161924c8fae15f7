"""The options of an estimator as what they stand for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from numbers import Real
from typing import Any, TypedDict

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.validation import choose, real_number, unknown, whole_number
from granite_xai.compute import Resources, require_supported
from granite_xai.explanation.influence import Individual, Influence, Interactions, Joint
from granite_xai.inference.replicates import Confidence, bar_position
from granite_xai.search.problem import OwnPartitioner, Partitioner
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
    n_resamples: int
    holdout: Any
    n_jobs: int | None
    random_state: Any
    resources: Resources | None


def chosen_partitioner(partitioner: Any, tree: Tree) -> Partitioner:
    """The given one, which needs no more than a method partition; None: the tree."""
    if partitioner is None or isinstance(partitioner, Partitioner):
        return tree if partitioner is None else partitioner
    if hasattr(partitioner, "partition"):
        return OwnPartitioner(partitioner)
    text, hint = (
        f"partitioner={partitioner!r} has no method partition.",
        "Pass None or an object of gx.partitioners.",
    )
    raise InputError(text, code="P01", argument="partitioner", hint=hint)


def chosen_influence(
    kind: Any, groups: Mapping[str, Any] | None, features: Sequence[Any] | None
) -> Influence:
    """Whose effects questions given by name compare."""
    if isinstance(kind, Individual | Joint | Interactions):
        return kind
    named = isinstance(kind, tuple | list) and len(kind) == 2 and kind[0] == "interaction"
    kind, order = kind if named else (kind, 2)
    if kind not in ("individual", "joint", "interaction"):
        raise unknown("influence", kind, ("individual", "joint", "interaction"))
    if (kind == "joint") != (groups is not None):
        text = f"influence={kind!r} {'needs groups' if groups is None else 'takes no groups'}."
        hint = 'Pass influence="joint" together with groups={name: [columns]}.'
        raise InputError(text, code="P03", argument="groups", hint=hint)
    if kind == "joint":
        return Joint(groups or {}, features)
    return Interactions(order, features) if kind == "interaction" else Individual(features)


def named_columns(*options: Any) -> list[Any]:
    """Every column that some options name: in sequences, tuples of sequences, and the values of mappings."""
    found: list[Any] = []
    for option in options:
        if isinstance(option, Mapping):
            found += named_columns(*option.values())
        elif isinstance(option, tuple | list):
            found += named_columns(*option)
        elif isinstance(option, str | int):
            found.append(option)
    return found


def chosen_limits(resources: Any) -> Resources:
    """The limits; None: those of ``Resources()``."""
    if resources is None or isinstance(resources, Resources):
        limits = resources or Resources()
        require_supported(limits)
        return limits
    text = f"resources is a {type(resources).__name__}, not a gx.Resources."
    raise InputError(
        text, code="P01", argument="resources", hint="Pass gx.Resources(memory_limit=…) or None."
    )


def chosen_seed(random_state: Any) -> int:
    """A seed, drawn anew where there is none; never from NumPy's global stream."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return whole_number("random_state", random_state, at_least=0, at_most=2**32 - 1)


def chosen_confidence(g: Any, seed: int) -> Confidence | None:
    """How sure the regions shall be; None: the sample is taken for the world, as the paper does."""
    if g.confidence_level is None:
        return None
    level = real_number("confidence_level", g.confidence_level, above=0)
    if level >= 1:
        text = f"confidence_level={g.confidence_level!r} is not below 1."
        raise InputError(
            text,
            code="P02",
            argument="confidence_level",
            hint="Pass 0.95, or None for the paper's way.",
        )
    count = whole_number("n_resamples", g.n_resamples, at_least=1)
    bar_position(count, level)
    return Confidence(level, count, seed)


def chosen_holdout(g: Any) -> Any:
    """Which rows are held out: "auto" (False without a confidence level), a share, False, or rows of the user's own."""
    holdout, hint = (
        g.holdout,
        'Pass "auto", False, a share of the rows such as 0.3, or other rows: (X, y) or (X, y, clusters).',
    )
    if isinstance(holdout, str):
        choose("holdout", holdout, {"auto": "auto"})
        return "auto" if g.confidence_level is not None else False
    pair = isinstance(holdout, tuple | list)
    if holdout is False or (pair and len(holdout) in (2, 3)):
        return holdout
    if (
        pair
        or isinstance(holdout, bool)
        or not isinstance(holdout, Real)
        or not 0 < float(holdout) < 1
    ):
        text = f" has {len(holdout)} parts." if pair else f"={holdout!r} is no choice."
        raise InputError(f"holdout{text}", code="P01", argument="holdout", hint=hint)
    return float(holdout)


def chosen_samples(g: Any) -> int | str | None:
    """How many rows search; "auto" is all of them without a confidence level."""
    if isinstance(g.max_samples, str):
        choose("max_samples", g.max_samples, {"auto": "auto"})
        return "auto" if g.confidence_level is not None else None
    return None if g.max_samples is None else whole_number("max_samples", g.max_samples, at_least=1)
