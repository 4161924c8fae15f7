"""Explanations of every setting of the algebra, in random regions, against the definitions."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

import granite_xai as gx
import oracle as o
from strategies import (
    Case,
    agree,
    behaviors,
    cases,
    examples,
    influences,
    interactions,
    is_defined,
    maskings,
    quiet,
    regions,
    scale_of,
)

MASKINGS = ("marginal", "baseline", "conditional")
BEHAVIORS = ("local", "sensitivity", "risk")
INTERACTIONS = ("pure", "partial", "full")
INFLUENCES = ("individual", "joint", "interaction")


def check(
    case: Case, operators: tuple[Any, ...], words: dict[str, Any], sets: Any, rows: list[int]
) -> None:
    """Explain a region in both ways and compare every value."""
    problem = case.problem()
    wanted = o.explain(problem, o.Setting(**words), rows, sets)
    found = gx.Explainer(*operators).explain(case.model, case.X, np.array(case.y), rows=rows).values
    scale = scale_of(case, problem, words)
    for k, S in enumerate(sets):
        if isinstance(wanted[S], dict):
            assert found.shape == (len(rows), len(sets))
            for i, n in enumerate(rows):
                assert agree(found[i, k], wanted[S][n], scale), (S, n, found[i, k], wanted[S][n])
        else:
            assert found.shape == (len(sets),)
            assert agree(found[k], wanted[S], scale), (S, found[k], wanted[S])


@pytest.mark.parametrize(("masking", "behavior"), list(product(MASKINGS, BEHAVIORS)))
@given(data=st.data())
@examples(110)
def test_every_explanation_equals_its_definition(masking, behavior, data):
    """All interactions and influences, with their options, in regions of random tables."""
    influence_name = data.draw(st.sampled_from(INFLUENCES))
    case = data.draw(
        cases(
            min_columns=2 if influence_name == "interaction" else 1,
            max_columns=4,
            max_rows=8,
            missing=None,
        )
    )
    influence, influence_words, sets = data.draw(influences(case, influence_name))
    operator, mask_words = data.draw(maskings(case, [masking]))
    acting, acting_words = data.draw(behaviors(behavior))
    mixing, mixing_words = data.draw(st.sampled_from(INTERACTIONS).flatmap(interactions))
    words = {**mask_words, **acting_words, **mixing_words, **influence_words}
    assume(is_defined(words))
    with quiet():
        check(case, (operator, acting, mixing, influence), words, sets, data.draw(regions(case)))
