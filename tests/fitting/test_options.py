"""Options of an estimator, checked before data are read."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.fitting.options import (
    GraniteOptions,
    chosen_influence,
    chosen_limits,
    chosen_seed,
    fit_options,
    named_columns,
)

import granite_xai as gx


def options_of(**options):
    return fit_options(gx.Granite(abs, **options))


def test_the_typed_options_are_those_of_the_estimator():
    options = set(gx.Granite(abs).get_params()) - {"model", "question"}
    assert set(GraniteOptions.__annotations__) == options


def test_the_tree_has_the_options_of_the_search():
    tree = options_of(max_depth=2, min_samples_leaf=7, alpha=0.1, search="greedy", beam=3).tree
    assert (tree.max_depth, tree.min_samples_leaf, tree.alpha) == (2, 7, 0.1)
    assert (tree.search, tree.beam) == ("greedy", 3)


def test_alpha_auto_grows_the_largest_tree_first():
    options = options_of(alpha="auto")
    assert options.chooses_alpha
    assert options.tree.alpha == 0.0
    assert options.partitioner is options.tree


def test_P03_alpha_auto_needs_the_tree():
    rules = gx.partitioners.GivenRules(["a ≤ 0", "a > 0"])
    with pytest.raises(gx.InputError, match="P03") as caught:
        options_of(alpha="auto", partitioner=rules)
    assert caught.value.argument == "alpha"


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"partitioner": 3}, "partitioner"),
        ({"resources": 3}, "resources"),
        ({"influence": "all"}, "influence"),
        ({"influence": "joint"}, "groups"),
        ({"groups": {"a": ["b"]}}, "groups"),
        ({"confidence_level": 1.0}, "confidence_level"),
        ({"holdout": "some"}, "holdout"),
        ({"holdout": 1.5}, "holdout"),
        ({"holdout": True}, "holdout"),
        ({"holdout": (1, 2, 3, 4)}, "holdout"),
        ({"max_samples": 0}, "max_samples"),
        ({"max_samples": "many"}, "max_samples"),
        ({"missing": "drop"}, "missing"),
        ({"random_state": -1}, "random_state"),
        ({"question": []}, "question"),
    ],
)
def test_an_option_that_is_no_choice_is_named(options, argument):
    with pytest.raises(gx.InputError) as caught:
        options_of(**options)
    assert caught.value.argument == argument


@pytest.mark.parametrize(
    ("level", "given", "meant"),
    [(0.95, "auto", "auto"), (None, "auto", None), (0.95, None, None), (None, 10, 10)],
)
def test_max_samples_auto_means_all_rows_without_a_confidence_level(level, given, meant):
    assert options_of(confidence_level=level, max_samples=given).max_samples == meant


@pytest.mark.parametrize(
    ("level", "given", "meant"),
    [(0.95, "auto", "auto"), (None, "auto", False), (0.95, False, False), (0.95, 0.3, 0.3)],
)
def test_holdout_auto_means_none_without_a_confidence_level(level, given, meant):
    assert options_of(confidence_level=level, holdout=given).holdout == meant


def test_a_stream_is_drawn_from_once():
    one, two = np.random.RandomState(5), np.random.RandomState(5)
    assert chosen_seed(one) == chosen_seed(two)
    assert chosen_seed(one) != chosen_seed(np.random.RandomState(5))


def test_columns_are_named_in_sequences_and_in_the_values_of_mappings():
    assert named_columns(["a", ("b", "c")], {"group": ["d", 3]}, None) == ["a", "b", "c", "d", 3]


def test_interactions_have_the_order_that_is_given():
    assert chosen_influence(("interaction", 3), None, None).order == 3
    assert chosen_influence("interaction", None, None).order == 2


def test_no_resources_are_the_default_ones():
    assert chosen_limits(None) == gx.Resources()
