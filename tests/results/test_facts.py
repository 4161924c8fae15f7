"""What a fit knows of itself: whose effects depend on whom, figures of regions; from constructed figures."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from granite_xai.inference.nodes import NO_NODE, NodeFigure, NodeFigures
from granite_xai.results.facts import dependence_of, region_columns, target_name


def figures(sets, *nodes):
    """Nodes as (parent, region, column, share, gaps by set), parents first."""
    made = [
        NodeFigure(
            node=number,
            parent=parent,
            region=region,
            column=column,
            n_samples=int(1000 * share),
            share=share,
            mean=0.0,
            spread=1.0,
            heterogeneity=sum(gaps) ** 0.5,
            by_set=tuple(gaps),
        )
        for number, (parent, region, column, share, gaps) in enumerate(nodes)
    ]
    return NodeFigures("ice-pdp", "held-out", 1000, tuple((s,) for s in sets), True, tuple(made))


def test_bikes():
    # hr is split first, but workingday takes most of the heterogeneity of hr.
    found = dependence_of(
        figures(
            ("hr", "workingday", "temp"),
            (NO_NODE, NO_NODE, "hr", 1.0, (80.0, 36.0, 18.0)),
            (0, 0, "", 0.3, (5.0, 1.0, 2.0)),
            (0, NO_NODE, "workingday", 0.7, (90.0, 45.0, 20.0)),
            (2, 1, "", 0.3, (20.0, 1.0, 12.0)),
            (2, NO_NODE, "temp", 0.4, (40.0, 1.0, 11.0)),
            (4, 2, "", 0.2, (10.0, 1.0, 4.0)),
            (4, 3, "", 0.2, (11.0, 1.0, 4.0)),
        )
    )
    assert found.features == ("hr",)
    assert found.moderators == ("workingday",)


def test_a_split_that_takes_a_fifth_is_a_moderator():
    def with_temp(gap):
        return dependence_of(
            figures(
                ("hr", "workingday"),
                (NO_NODE, NO_NODE, "workingday", 1.0, (100.0, 30.0)),
                (0, 0, "", 0.5, (0.0, 0.0)),
                (0, NO_NODE, "temp", 0.5, (80.0, 0.0)),
                (2, 1, "", 0.25, (gap, 0.0)),
                (2, 2, "", 0.25, (gap, 0.0)),
            )
        )

    assert with_temp(30.0).moderators == ("workingday", "temp")
    assert with_temp(70.0).moderators == ("workingday",)


def test_a_second_feature_needs_half_the_fall():
    def second(gap):
        return dependence_of(
            figures(
                ("education", "sex", "marital"),
                (NO_NODE, NO_NODE, "marital", 1.0, (10.0, gap, 12.0)),
                (0, 0, "", 0.5, (0.0, 0.0, 0.0)),
                (0, 1, "", 0.5, (0.0, 0.0, 0.0)),
            )
        ).features

    assert second(6.0) == ("education", "sex")
    assert second(4.0) == ("education",)


def test_where_nothing_falls_no_feature_is_named():
    found = dependence_of(
        figures(
            ("a", "b"),
            (NO_NODE, NO_NODE, "a", 1.0, (1.0, 1.0)),
            (0, 0, "", 0.5, (1.0, 1.0)),
            (0, 1, "", 0.5, (1.2, 1.0)),
        )
    )
    assert found.features == ()
    assert found.moderators == ("a",)


def test_a_feature_that_is_split_alone_is_its_own_finding():
    found = dependence_of(
        figures(
            ("a",),
            (NO_NODE, NO_NODE, "a", 1.0, (4.0,)),
            (0, 0, "", 0.5, (1.0,)),
            (0, 1, "", 0.5, (1.0,)),
        )
    )
    assert found.features == ("a",)
    assert found.moderators == ()


def test_the_first_split_is_named_though_another_one_removes_more_of_the_main_feature():
    found = dependence_of(
        figures(
            ("mass", "sex", "species"),
            (NO_NODE, NO_NODE, "sex", 1.0, (90.0, 30.0, 70.0)),
            (0, 0, "", 0.5, (88.0, 5.0, 10.0)),
            (0, NO_NODE, "species", 0.5, (84.0, 5.0, 90.0)),
            (2, 1, "", 0.25, (10.0, 5.0, 2.0)),
            (2, 2, "", 0.25, (10.0, 5.0, 2.0)),
        )
    )
    assert found.first_split == "sex"
    assert found.moderators == ("sex", "species")
    assert "sex" not in found.features


def test_the_first_split_on_the_main_feature_is_no_moderator_of_it():
    found = dependence_of(
        figures(
            ("hr", "day"),
            (NO_NODE, NO_NODE, "hr", 1.0, (90.0, 40.0)),
            (0, 0, "", 0.3, (5.0, 1.0)),
            (0, NO_NODE, "day", 0.7, (100.0, 50.0)),
            (2, 1, "", 0.3, (2.0, 1.0)),
            (2, 2, "", 0.4, (2.0, 1.0)),
        )
    )
    assert (found.first_split, found.features, found.moderators) == ("hr", ("hr",), ("day",))


def test_where_no_further_split_removes_a_fifth_the_one_that_removes_most_is_named():
    found = dependence_of(
        figures(
            ("hr",),
            (NO_NODE, NO_NODE, "hr", 1.0, (100.0,)),
            (0, NO_NODE, "day", 0.5, (16.0,)),
            (1, 0, "", 0.25, (8.0,)),
            (1, 1, "", 0.25, (8.0,)),
            (0, NO_NODE, "temp", 0.5, (14.0,)),
            (4, 2, "", 0.25, (8.0,)),
            (4, 3, "", 0.25, (8.0,)),
        )
    )
    assert (found.features, found.moderators) == (("hr",), ("day",))


LINES = [
    SimpleNamespace(question="ice-pdp", region=-1, low=7.0, high=8.0),
    SimpleNamespace(question="ice-pdp", region=0, low=-1.0, high=4.0),
    SimpleNamespace(question="ice-pdp", region=1, low=9.0, high=16.0),
    SimpleNamespace(question="sobol", region=0, low=100.0, high=100.0),
]


def fitted(figures, lines=None):
    estimate = None if lines is None else SimpleNamespace(lines=lines)
    return SimpleNamespace(
        partition=[None, None], estimate=estimate, nodes=(figures,), errors=None, outputs={}
    )


def figures_of_regions(is_rooted=True):
    leaves = [SimpleNamespace(mean=5.0 + k, heterogeneity=2.0 + k) for k in range(2)]
    root = SimpleNamespace(heterogeneity=6.0)
    return SimpleNamespace(leaves=leaves, root=root, is_rooted=is_rooted)


def test_every_region_has_its_mean_and_its_heterogeneity_beside_that_of_all_rows():
    columns = region_columns(fitted(figures_of_regions()))
    assert columns["mean_prediction"] == [5.0, 6.0]
    assert columns["heterogeneity_overall"] == [6.0, 6.0]
    assert columns["heterogeneity"] == [2.0, 3.0]
    assert all(math.isnan(low) for low in columns["heterogeneity_low"])


@pytest.mark.parametrize(
    ("is_rooted", "low", "high"),
    [(True, [0.0, 3.0], [2.0, 4.0]), (False, [-1.0, 9.0], [4.0, 16.0])],
)
def test_intervals_are_those_of_the_first_question_and_in_its_units(is_rooted, low, high):
    columns = region_columns(fitted(figures_of_regions(is_rooted), LINES))
    assert columns["heterogeneity_low"] == low
    assert columns["heterogeneity_high"] == high


@pytest.mark.parametrize(
    ("y", "name"),
    [
        (pd.Series([1], name="cnt"), "cnt"),
        (pd.Series([1], name=3), ""),
        (np.ones(2), ""),
        ("cnt", "cnt"),
        (None, ""),
    ],
)
def test_a_target_has_the_name_of_its_series_or_column(y, name):
    assert target_name(y) == name
