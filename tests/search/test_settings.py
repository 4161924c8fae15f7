"""The options that a search reads are those that a tree has."""

from __future__ import annotations

import inspect

import pytest
from granite_xai.search.settings import RootSettings, SearchSettings

import granite_xai as gx


def options_of(protocol):
    """Names of the options that a protocol has."""
    return {name for name, _ in inspect.getmembers(protocol, lambda one: isinstance(one, property))}


def test_a_tree_has_every_option():
    tree = gx.partitioners.Tree()
    names = options_of(SearchSettings)
    assert {"search", "max_depth", "min_samples_leaf", "alpha", "max_candidates"} <= names
    for name in names:
        assert hasattr(tree, name)
    assert callable(tree.columns)
    assert options_of(RootSettings) == names


@pytest.mark.parametrize("name", sorted(options_of(SearchSettings)))
def test_every_option_is_one_that_a_user_sets(name):
    """No search reads what nobody can choose."""
    assert name in inspect.signature(gx.partitioners.Tree).parameters
