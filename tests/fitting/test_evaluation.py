"""How well regions do on other rows; the figures themselves are checked in test_new_rows.py."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.fitting.fitted_view import fitted_view

import granite_xai as gx
from granite_xai.fitting.evaluation import Evaluation, evaluate_rows
from granite_xai.tables import read_table
from strategies import paper

RNG = np.random.default_rng(11)
X = RNG.normal(size=(120, 3))
OTHER = RNG.normal(size=(90, 3))


def step(X):
    return X[:, 0] * np.where(X[:, 1] > 0, 1.0, -1.0)


def evaluation(regional, by_region, **figures):
    regional = np.array(regional)
    return Evaluation(
        rules=("a ≤ 0", "a > 0"),
        counts=(30, 10),
        regional=regional,
        by_region=np.array(by_region),
        disagreement=float(regional.sum()),
        table=read_table(X, missing="error"),
        **figures,
    )


def test_the_table_has_all_columns():
    table = paper(step, min_samples_leaf=1).fit(X).evaluate(OTHER).frame()
    assert list(table.columns) == [
        "region",
        "rule",
        "n_samples",
        "fraction",
        "global_disagreement",
        "disagreement",
        "remaining",
    ]


def test_what_remains_is_a_share_of_what_there_is_without_regions():
    figures = evaluation([1.0, 2.0], [4.0, 8.0], global_disagreement=12.0)
    assert figures.remaining == pytest.approx(0.25)
    assert figures.frame()["remaining"].tolist() == [0.25, 0.25]
    assert "40 rows in 2 regions: 75% of the heterogeneity removed" in repr(figures)


@pytest.mark.parametrize(
    "figures",
    [{"global_disagreement": 0.0}, {"global_disagreement": 1.0, "below_noise_floor": True}],
)
def test_where_there_is_nothing_to_explain_nothing_remains(figures):
    assert evaluation([0.0, 0.0], [0.0, 0.0], **figures).remaining == 0.0


def test_a_region_without_a_part_has_no_share():
    shares = evaluation([1.0, 0.0], [4.0, 0.0], global_disagreement=4.0).frame()["remaining"]
    assert shares[0] == 0.25
    assert np.isnan(shares[1])


def test_regions_of_a_step_leave_little_on_other_rows():
    view = fitted_view(paper(step, max_depth=1).fit(X))
    new, regions = view.other_rows(OTHER, None)
    figures = evaluate_rows(new, regions)
    assert figures.remaining < 0.1
    assert sum(figures.counts) == 90
    one_region = evaluate_rows(new, np.zeros(90, dtype=np.intp))
    assert one_region.regional[0] == pytest.approx(one_region.global_disagreement)


def test_several_questions_are_in_shares():
    g = paper(step, ["ice-pdp", "sobol"], max_depth=1).fit(X)
    assert g.evaluate(OTHER).global_disagreement == pytest.approx(1.0)


def test_a_confidence_level_adds_an_estimate():
    assert paper(step, max_depth=1).fit(X).evaluate(OTHER).estimate is None
    judged = gx.Granite(step, max_depth=1).fit(X).evaluate(OTHER)
    assert judged.estimate.rows == "given"
    assert gx.Granite(step, max_depth=1).fit(X).evaluate(X).estimate.rows == "fitting"
