"""Hidden columns from reference rows, the same in every region."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from granite_xai.engine.references import AgainstReferences
from granite_xai.engine.splits import Splits

from engine.known_rows import ALL, FEW, KNOWN, SIDES, N

SPLITS = Splits.of(SIDES, KNOWN.weights)
AGAINST = {FEW: np.random.default_rng(3).normal(size=(5, N)), frozenset(): np.ones((5, N))}
MASKED = AgainstReferences(KNOWN, SPLITS, AGAINST.__getitem__)


def test_the_mean_over_the_references_does_not_depend_on_the_region():
    found = MASKED.combined({FEW: 2.0, frozenset(): -1.0, ALL: 0.5}).array(SPLITS)
    wanted = 2.0 * AGAINST[FEW].mean(axis=0) - 1.0 + 0.5 * KNOWN.predictions
    for k in range(len(SIDES)):
        np.testing.assert_allclose(found[:, k], wanted, rtol=1e-13)


def test_a_function_is_averaged_over_the_references():
    found = MASKED.averaged(FEW, lambda values, rows: values**2).array(SPLITS)
    np.testing.assert_allclose(found[:, 0], (AGAINST[FEW] ** 2).mean(axis=0))


def test_the_full_coalition_is_the_prediction_itself():
    found = MASKED.averaged(ALL, lambda values, rows: values).array(SPLITS)
    np.testing.assert_allclose(found[:, 1], KNOWN.predictions)


def test_what_such_a_masking_refuses_is_not_computed():
    with pytest.raises(TypeError, match="refused when the question is resolved"):
        replace(MASKED).total_variance(FEW)
