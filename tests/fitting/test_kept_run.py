"""Evaluations stay with the object that was fitted."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from granite_xai.fitting.kept_run import kept_run

import granite_xai as gx

X = np.random.default_rng(8).normal(size=(60, 2))


def product(X):
    return X[:, 0] * X[:, 1]


@pytest.fixture(scope="module")
def fitted():
    return gx.Granite(product, max_depth=1).fit(X)


def test_the_fitted_object_keeps_its_run(fitted):
    run = kept_run(fitted, "this", "g", "Fit again.")
    assert run.result.partition is fitted.partition_
    assert run.evaluations.n_rows == run.inputs.table.n_rows


@pytest.mark.parametrize("copied", [copy.copy, lambda g: pickle.loads(pickle.dumps(g))])
def test_P03_a_copy_does_not(fitted, copied):
    with pytest.raises(gx.InputError, match="P03: this needs the evaluations") as caught:
        kept_run(copied(fitted), "this", "g", "Fit again.")
    assert (caught.value.argument, caught.value.hint) == ("g", "Fit again.")
