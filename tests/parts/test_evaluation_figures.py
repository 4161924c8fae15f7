"""What is shown of regions on other rows, why explanations differ, and bins with few rows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.fitting.judge import Evaluation
from granite_xai.fitting.remarks import DEPEND, EITHER, INTERACT, _listed_features, cause
from granite_xai.tables import read_table

RNG = np.random.default_rng(11)


X = RNG.normal(size=(120, 3))


def evaluation(regional, by_region, below_noise_floor=False, **figures):
    regional = np.array(regional)
    return Evaluation(
        rules=("a ≤ 0", "a > 0"),
        titles=("a ≤ 0", "a > 0"),
        counts=(30, 10),
        regional=regional,
        by_region=np.array(by_region),
        disagreement=float(regional.sum()),
        table=read_table(X, missing="error"),
        figures=None,
        is_effect=True,
        unit=None,
        below_noise_floor=below_noise_floor,
        estimate=None,
        **figures,
    )


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


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ice-pdp", INTERACT),
        ("mplot-pdp", DEPEND),
        ("cice-mplot", EITHER),
        ("variance", EITHER),
        ("pfi-risk", EITHER),
    ],
)
def test_the_cause_follows_from_the_maskings_and_the_behavior(name, reason):
    assert cause(gx.question(name)) == reason


def test_features_that_are_affected_alike_are_named_in_the_same_order_always():
    for names in (["b", "a", "c"], ["c", "a", "b"]):
        counts = Counter(dict.fromkeys(names, 2)) + Counter({"z": 5})
        assert _listed_features(counts) == "features 'z', 'a', 'b', 'c'"


def test_bars_of_an_estimate_are_as_long_as_its_shares():
    X = np.random.default_rng(0).normal(size=(700, 2))
    found = gx.Granite(lambda X: X[:, 0] * np.sign(X[:, 1]), max_depth=1).fit(X).estimate_
    bars = [row[1] for row in found._document().blocks[1].rows]
    shares = [found.global_fidelity, found.fidelity, 1.0 - found.remaining]
    assert [bar.fraction for bar in bars] == pytest.approx(np.maximum(shares, 0.0).tolist())
