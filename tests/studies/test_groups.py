"""Which columns to explain together: proposals for models whose groups are known."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.studies import groups


def table(n=700, seed=0):
    return np.random.default_rng(seed).integers(-2, 3, size=(n, 5)).astype(float)


def two_groups(X):
    return X[:, 0] * X[:, 3] + 0.8 * X[:, 1] * X[:, 4] + X[:, 2]


def test_columns_that_interact_are_proposed_and_nothing_is_left():
    found = gx.propose_groups(two_groups, table())
    assert {frozenset(columns) for columns in found.groups.values()} == {
        frozenset({"x0", "x3"}),
        frozenset({"x1", "x4"}),
    }
    assert found.frame()["left"].iloc[-1] == pytest.approx(0.0, abs=1e-9)
    first = found.frame().iloc[0]
    assert first["low"] < first["left"] < first["high"]
    assert "x0 + x3 together" in str(found)


def test_what_is_left_is_the_disagreement_of_the_groups_over_that_of_the_columns():
    X = table(n=200)  # no row is held out
    found = gx.propose_groups(two_groups, X)
    alone = gx.Granite(two_groups, max_depth=0).fit(X)
    groups = {"a": found.merges[0][0]}
    joint = gx.Granite(two_groups, influence="joint", groups=groups, max_depth=0).fit(X)
    assert found.merges[0][1] == pytest.approx(
        joint.estimate_.disagreement / alone.estimate_.disagreement, rel=1e-9
    )
    assert np.isnan(found.merges[0][2])
    assert "interval" not in str(found)


def test_a_proposal_is_taken_as_groups():
    X = table(n=200)
    found = gx.propose_groups(two_groups, X)
    g = gx.Granite(two_groups, influence="joint", groups=found.groups).fit(X)
    assert g.disagreement_ == 0.0


def test_groups_have_at_most_so_many_columns():
    model = lambda X: X[:, 0] * X[:, 1] * X[:, 2]  # noqa: E731
    X = table(n=200)
    (pair,) = gx.propose_groups(model, X, max_size=2).groups.values()
    (triple,) = gx.propose_groups(model, X).groups.values()
    assert (len(pair), set(triple)) == (2, {"x0", "x1", "x2"})


def test_an_additive_model_and_noise_get_no_groups():
    found = gx.propose_groups(lambda X: X.sum(axis=1), table(n=200))
    assert (dict(found.groups), found.frame().shape[0]) == ({}, 0)
    assert "no disagreement" in str(found)
    weak = gx.propose_groups(lambda X: X[:, 0] * X[:, 1] + 0.01 * X[:, 2] * X[:, 3], table(n=200))
    assert list(weak.groups.values()) == [("x0", "x1")]


def test_questions_whose_effects_depend_on_all_groups_are_refused():
    with pytest.raises(gx.InputError, match="P03.*other columns"):
        gx.propose_groups(two_groups, table(n=100), question="shap-pdp")
    with pytest.raises(gx.InputError, match="max_size"):
        gx.propose_groups(two_groups, table(n=100), max_size=1)


def test_dependent_columns_are_grouped_by_a_question_about_dependence():
    rng = np.random.default_rng(0)
    one = rng.normal(size=300)
    X = np.column_stack([one, one + 0.1 * rng.normal(size=300), rng.normal(size=300)])
    with pytest.warns(gx.BinWarning, match="C10: .* the copula of conditional masking"):
        found = gx.propose_groups(lambda X: X @ [1.0, 1.0, 1.0], X, question="mplot-pdp")
    assert list(found.groups.values()) == [("x0", "x1")]


def test_a_proposal_is_drawn_merge_by_merge():
    found = gx.propose_groups(two_groups, table())
    display = gx.GroupsDisplay.from_proposal(found).plot()
    widths = [bar.get_width() for bar in display.ax_.patches]
    assert widths == pytest.approx([100 * left for _, left, _, _ in found.merges])
    assert [label.get_text().replace("\n", " ") for label in display.ax_.get_yticklabels()] == [
        " + ".join(columns) for columns, *_ in found.merges
    ]
    ends = [line.get_xdata() for line in display.ax_.lines]
    assert np.allclose(ends, [[100 * low, 100 * high] for *_, low, high in found.merges])
    assert display.frame().equals(found.frame())
    nothing = gx.propose_groups(lambda X: X.sum(axis=1), table(n=200))
    assert not gx.GroupsDisplay.from_proposal(nothing).plot().ax_.patches


def test_rows_that_judge_groups_did_not_choose_them(monkeypatch):
    """Both are rows of the user's table, known by their place in it."""
    seen = []
    measured = groups._Measured

    def watched(result, inputs):
        seen.append(set(inputs.positions.tolist()))
        return measured(result, inputs)

    monkeypatch.setattr(groups, "_Measured", watched)
    gx.propose_groups(two_groups, table())
    search, judges = seen
    assert len(judges) >= 30
    assert search.isdisjoint(judges)
