"""Proposals of features to explain together, for models whose groups are known."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.algebra.disagreement import questions
from granite_xai.results.groups import Merge, _fit_and_part_rows, _merge_groups


def integers(n=700, seed=0):
    return np.random.default_rng(seed).integers(-2, 3, size=(n, 5)).astype(float)


def two_groups(X):
    return X[:, 0] * X[:, 3] + 0.8 * X[:, 1] * X[:, 4] + X[:, 2]


@pytest.fixture(scope="module")
def proposal():
    return gx.propose_groups(two_groups, integers())


def test_features_that_interact_are_proposed_and_nothing_is_left(proposal):
    groups = {frozenset(features) for features in proposal.groups.values()}
    assert groups == {frozenset({"x0", "x3"}), frozenset({"x1", "x4"})}
    first, last = proposal.frame().to_dict("records")
    assert first["low"] < first["left"] < first["high"]
    assert last["left"] == pytest.approx(0.0, abs=1e-9)


def test_what_is_left_is_the_heterogeneity_of_the_groups_over_that_of_the_features():
    X = integers(n=200)  # no row is held out
    proposal = gx.propose_groups(two_groups, X)
    merge = proposal.merges[0]
    alone = gx.Granite(two_groups, max_depth=0).fit(X)
    groups = {"a": merge.features}
    joint = gx.Granite(two_groups, influence="joint", groups=groups, max_depth=0).fit(X)
    share_left = joint.estimate_.disagreement / alone.estimate_.disagreement
    assert merge.left == pytest.approx(share_left, rel=1e-9)
    assert np.isnan(merge.low)
    assert merge.interval == "–"
    assert "more rows would give an interval" in str(proposal)


def test_a_proposal_is_drawn_merge_by_merge(proposal):
    axes = proposal.plot()
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == pytest.approx([100 * merge.removed for merge in proposal.merges])
    labels = [label.get_text().replace("\n", " ") for label in axes.get_yticklabels()]
    assert labels == [" + ".join(merge.features) for merge in proposal.merges]
    ends = [line.get_xdata() for line in axes.lines]
    expected = [[100 - 100 * merge.high, 100 - 100 * merge.low] for merge in proposal.merges]
    np.testing.assert_allclose(ends, expected)
    assert proposal.plot(axes) is axes


def test_a_proposal_is_taken_as_groups():
    X = integers(n=200)
    proposal = gx.propose_groups(two_groups, X)
    g = gx.Granite(two_groups, influence="joint", groups=proposal.groups).fit(X)
    assert g.disagreement_ == 0.0


def test_an_additive_model_gets_no_groups():
    proposal = gx.propose_groups(lambda X: X.sum(axis=1), integers(n=200))
    assert dict(proposal.groups) == {}
    assert len(proposal.frame()) == 0
    assert str(proposal) == (
        "No features need to be explained together.\n"
        "These rows show no heterogeneity beyond sampling noise."
    )
    assert "<table>" not in proposal._repr_html_()
    assert repr(proposal) == "<GroupProposal: no groups>"


def test_a_weak_interaction_is_no_group():
    def weak(X):
        return X[:, 0] * X[:, 1] + 0.01 * X[:, 2] * X[:, 3]

    assert list(gx.propose_groups(weak, integers(n=200)).groups.values()) == [("x0", "x1")]


def test_questions_whose_effects_depend_on_all_groups_are_refused():
    with pytest.raises(gx.InputError, match="P03.*other features"):
        gx.propose_groups(two_groups, integers(n=100), question="shap-pdp")
    with pytest.raises(gx.InputError, match="max_size"):
        gx.propose_groups(two_groups, integers(n=100), max_size=1)


def test_dependent_features_are_grouped_by_a_question_about_dependence():
    rng = np.random.default_rng(0)
    first = rng.normal(size=300)
    X = np.column_stack([first, first + 0.1 * rng.normal(size=300), rng.normal(size=300)])
    with pytest.warns(gx.BinWarning, match="C10: conditional masking by a copula leaves"):
        proposal = gx.propose_groups(lambda X: X @ [1.0, 1.0, 1.0], X, question="mplot-pdp")
    assert list(proposal.groups.values()) == [("x0", "x1")]


def test_the_text_says_what_to_do_and_what_it_removes(proposal):
    finding, reason, _, headings, first, last = str(proposal).splitlines()
    assert finding.startswith("Explain together: x0 + x3; x1 + x4. This removes 100% of the het")
    assert reason == (
        "No further features can be merged into groups of at most 3. "
        "95% intervals from 125 held-out rows."
    )
    assert headings.split("  ")[0] == "explained together"
    removed = [merge.removed for merge in proposal.merges]
    assert f"{100 * removed[0]:.0f}%" in first
    assert last.split()[-2:] == ["100%", "100%"]
    assert "column" not in str(proposal)
    assert " %" not in str(proposal)


def test_a_notebook_shows_the_merges_as_a_table(proposal):
    html = proposal._repr_html_()
    assert html.count("<tr>") == 1 + len(proposal.merges)
    assert '<td class="left">x0 + x3</td>' in html
    assert 'class="bar"' in html


def test_an_interval_of_what_is_removed_turns_that_of_what_is_left():
    merge = Merge(features=("a", "b"), left=0.25, low=0.2, high=0.32)
    assert merge.removed == 0.75
    assert merge.interval == "68–80%"


def rows_of(model, n=200):
    """The rows that choose groups, and those that measure them."""
    return _fit_and_part_rows(model, integers(n), None, questions()["ice-pdp"])


def test_rows_that_measure_groups_did_not_choose_them():
    """Both are rows of the user's table, identified by their place in it."""
    search, held_out = rows_of(two_groups, n=700)
    measuring = set(held_out.rows.positions.tolist())
    assert len(measuring) >= 30
    assert set(search.rows.positions.tolist()).isdisjoint(measuring)
    assert rows_of(two_groups)[1] is None


def test_a_group_is_measured_once():
    n_asked = 0

    def counted(X):
        nonlocal n_asked
        n_asked += len(X)
        return two_groups(X)

    search, _ = rows_of(counted)
    both = search.total([("x0",), ("x0", "x3")])
    asked_before = n_asked
    apart = search.total([("x0",)]) + search.total([("x0", "x3")])
    assert both == pytest.approx(apart)
    assert n_asked == asked_before


def test_the_strongest_pair_is_merged_first():
    features = [merge.features for merge in gx.propose_groups(two_groups, integers(n=200)).merges]
    assert features == [("x0", "x3"), ("x1", "x4")]


def test_groups_are_not_larger_than_asked():
    def product(X):
        return X[:, 0] * X[:, 1] * X[:, 2]

    (pair,) = gx.propose_groups(product, integers(n=200), max_size=2).groups.values()
    (triple,) = gx.propose_groups(product, integers(n=200)).groups.values()
    assert len(pair) == 2
    assert set(triple) == {"x0", "x1", "x2"}


def test_a_gain_within_sampling_noise_ends_the_search():
    stages, reason = _merge_groups(rows_of(two_groups)[0], ["x0", "x3"], 3, quantile=1e9)
    assert stages == [[("x0",), ("x3",)]]
    assert reason == "Merging x0 + x3 would remove no more than sampling noise."


def test_a_gain_below_five_percent_ends_the_search():
    """Features that interact with others, but not with each other."""
    stages, reason = _merge_groups(rows_of(two_groups)[0], ["x0", "x1"], 3, quantile=0.0)
    assert stages == [[("x0",), ("x1",)]]
    assert reason == "Merging x0 + x1 would remove less than 5%."
