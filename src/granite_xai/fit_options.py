"""The options of an estimator as what they stand for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypedDict

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.options import unknown, whole_number
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import Resources, require_supported
from granite_xai.influence import Individual, Influence, Interactions, Joint
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
    alpha: float
    max_candidates: int
    beam: int
    partitioner: Any
    output: Any
    response: str
    missing: str
    kinds: Mapping[Hashable, str] | None
    max_samples: int | str | None
    n_jobs: int | None
    random_state: Any
    resources: Resources | None


def chosen_partitioner(partitioner: Any, tree: Tree) -> Partitioner:
    """The given one, which needs no more than a method partition; None: the tree."""
    if partitioner is None:
        return tree
    if isinstance(partitioner, Partitioner):
        return partitioner
    if hasattr(partitioner, "partition"):
        return OwnPartitioner(partitioner)
    text, hint = f"partitioner={partitioner!r} has no method partition.", "Pass None or an object of gx.partitioners."
    raise InputError(text, code="P01", argument="partitioner", hint=hint)


def chosen_influence(
    kind: Any, groups: Mapping[str, Sequence[Hashable]] | None, features: Sequence[Any] | None
) -> Influence:
    """Whose effects questions given by name compare."""
    order = 2
    if isinstance(kind, Individual | Joint | Interactions):
        return kind
    if isinstance(kind, tuple | list) and len(kind) == 2 and kind[0] == "interaction":
        kind, order = kind
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
    raise InputError(text, code="P01", argument="resources", hint="Pass gx.Resources(memory_limit=…) or None.")


def chosen_seed(random_state: Any) -> int:
    """A seed, drawn anew where there is none; never from NumPy's global stream."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return whole_number("random_state", random_state, at_least=0, at_most=2**32 - 1)


def rows_used(weights: FloatArray, max_samples: Any, seed: int) -> IntArray:
    """Rows with weight, at most ``max_samples`` of them, in their order."""
    rows = np.flatnonzero(weights > 0)
    if max_samples is None or whole_number("max_samples", max_samples, at_least=1) >= len(rows):
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, size=max_samples, replace=False))
