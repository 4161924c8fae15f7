"""Effects against the fitting rows of a region; their figures are checked in tests/fitting/test_new_rows.py."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.fitting.fitted_view import fitted_view
from granite_xai.fitting.new_rows import rows_by_region
from granite_xai.results.against_fit import (
    AgainstFit,
    explain_against_fit,
    explain_among_themselves,
    rows_of_region,
)

RNG = np.random.default_rng(21)
X = RNG.normal(size=(300, 3))
OTHER = RNG.normal(size=(40, 3))


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0)


@pytest.fixture(scope="module")
def view():
    return fitted_view(gx.Granite(step, max_depth=1, random_state=1).fit(X))


def test_a_pdp_is_the_mean_over_the_fitting_rows_of_the_region(view):
    new, regions = view.other_rows(OTHER, None)
    explained = explain_against_fit(new, regions, view.seed)
    fitted = view.result
    for part in explained.parts:
        if part.name != "pdp":
            continue
        references = fitted.table.native[rows_of_region(fitted, part.region)]
        mean = step(references).mean()
        for place, row in enumerate(part.rows):
            for column in range(3):
                hybrid = references.copy()
                hybrid[:, column] = OTHER[row, column]
                assert part.values[place, column] == pytest.approx(step(hybrid).mean() - mean)


def test_rows_of_a_large_region_are_compared_with_its_first_thousand(view):
    new, regions = view.other_rows(OTHER, None)
    region, rows = next(rows_by_region(regions))
    many = replace(view.result, regions=np.full(5000, region))
    against = AgainstFit(replace(new.with_table(new.route.table.take(rows)), fitted=many), region)
    assert np.array_equal(against.references, np.arange(1000))
    exact = replace(against.rows, fitted=replace(many, confidence=None))
    assert len(AgainstFit(exact, region).references) == 5000


def test_errors_need_a_confidence_level(view):
    new, regions = view.other_rows(OTHER, None)
    region, rows = next(rows_by_region(regions))
    against = AgainstFit(new.with_table(new.route.table.take(rows)), region)
    assert against.signs.shape[1] == len(against.references)
    without = replace(against.rows, fitted=replace(view.result, confidence=None))
    assert AgainstFit(without, region).signs.shape == (0, len(against.references))


def test_a_handful_of_rows_is_no_reference_for_itself(view):
    new, _ = view.other_rows(OTHER, None)
    regions = np.zeros(40, dtype=np.intp)
    regions[:4] = 1
    with pytest.raises(gx.InputError, match="D46: region 1 has 4 rows"):
        explain_among_themselves(new, regions)
