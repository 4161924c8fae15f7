"""How a report was made: options, model and versions, as text."""

from __future__ import annotations

import numpy as np

import granite_xai as gx


def bent(X):
    return X[:, 0] * X[:, 1]


def provenance_of(model, **options):
    X = np.random.default_rng(0).normal(size=(80, 2))
    return gx.Granite(model, **options).fit(X).report(X).story["provenance"]


def test_a_function_is_named_without_its_place_in_memory():
    told = provenance_of(bent)
    assert "bent" in told["model"]
    assert "0x" not in told["model"]


def test_only_the_question_and_options_that_differ_from_defaults_are_listed():
    told = provenance_of(bent, max_depth=1, min_samples_leaf=7)
    assert set(told["settings"]) == {"question", "max_depth", "min_samples_leaf"}
    assert told["settings"]["max_depth"] == "1"
