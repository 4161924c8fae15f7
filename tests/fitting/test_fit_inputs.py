"""Inputs of a fit."""

from __future__ import annotations

import numpy as np
from granite_xai.fitting.inputs import open_inputs

import granite_xai as gx
from granite_xai.base.errors import Diagnostics

X = np.random.default_rng(16).normal(size=(50, 2))


def inputs_of(**options):
    g = gx.Granite(lambda X: X[:, 0], **options)
    opened = open_inputs(g, X, None, None, np.arange(50) // 2, Diagnostics())
    return opened.resolve(np.arange(50), Diagnostics())


def test_another_price_changes_the_tree_that_searches_and_nothing_else():
    inputs = inputs_of(max_depth=2, alpha=0.1)
    priced = inputs.with_alpha(0.3)
    assert priced.partitioner.alpha == 0.3
    assert priced.partitioner.max_depth == 2
    assert inputs.partitioner.alpha == 0.1
    assert priced.table is inputs.table


def test_rows_of_a_cluster_are_reweighted_alike():
    inputs = inputs_of()
    multipliers = inputs.replicates.multipliers
    for number in range(25):
        first, second = np.flatnonzero(inputs.clusters == number)
        assert np.array_equal(multipliers[:, first], multipliers[:, second])
    assert len(np.unique(multipliers[0])) == 25


def test_without_a_confidence_level_nothing_is_reweighted():
    assert inputs_of(confidence_level=None).replicates is None
