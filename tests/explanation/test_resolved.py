"""Explanations resolved on a table: the terms of each set."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.explanation.interaction import Additive, Whole
from granite_xai.explanation.resolved import MIN_PAIRS, resolve

import granite_xai as gx
from granite_xai.base.errors import ResourceError
from granite_xai.tables import read_table

LOCAL = gx.Explainer().behavior


def table_of(n_columns, n_rows=10):
    X = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    return read_table(X, missing="error")


def resolved(interaction, n_columns=3, masking=None, influence=None, **options):
    return resolve(
        masking or gx.Marginal(),
        LOCAL,
        interaction,
        influence or gx.Individual(),
        table_of(n_columns),
        **options,
    )


def test_pure_effects_read_one_column_and_nothing():
    effect = resolved(gx.Pure())
    assert effect.terms[1] == {frozenset({1}): 1.0, frozenset(): -1.0}
    assert not effect.pairwise
    assert {visible for _, visible in effect.readings()} == {
        frozenset(),
        frozenset({0}),
        frozenset({1}),
        frozenset({2}),
        frozenset({0, 1, 2}),  # what effects of a region are counted from
    }


def test_local_partial_effects_are_attributions_of_pairs_of_rows():
    effect = resolved(gx.Partial())
    assert effect.pairwise
    assert effect.readings() == set()
    (attribution, terms), *_ = effect.attributions.items()
    assert effect.combined[0] == {attribution: 1.0}
    assert terms == effect.terms[0]
    assert len(terms) == 8


def test_the_prediction_and_its_surrogate_are_effects_of_one_set():
    whole = resolved(Whole())
    assert whole.terms == ({frozenset({0, 1, 2}): 1.0},)
    assert whole.layout.labels == (("x0", "x1", "x2"),)
    additive = resolved(Additive(), influence=gx.Interactions(2))
    assert max(len(coalition) for coalition in additive.terms[0]) == 2


def test_twelve_players_are_exact_and_thirteen_are_sampled():
    assert resolved(gx.Partial(), n_columns=12, max_evaluations=10**9).draws == ()
    effect = resolved(gx.Partial(), n_columns=13, max_evaluations=10**9)
    assert len(effect.draws) == 64
    for place, terms in enumerate(effect.terms):
        for coalition, coefficient in terms.items():
            drawn = [draw[place].get(coalition, 0.0) for draw in effect.draws]
            assert coefficient == pytest.approx(np.mean(drawn), abs=1e-15)


def test_a_draw_is_the_mean_over_an_order_and_its_reverse():
    effect = resolved(gx.Partial(), order_pairs=MIN_PAIRS)
    for draw in effect.draws:
        total = {}
        for terms in draw:
            for coalition, coefficient in terms.items():
                total[coalition] = total.get(coalition, 0.0) + coefficient
        # Effects of all columns lead from nothing to everything.
        assert {key: value for key, value in total.items() if abs(value) > 1e-12} == {
            frozenset({0, 1, 2}): 1.0,
            frozenset(): -1.0,
        }
        # Some column comes first in one order and last in the other.
        assert any(
            terms.get(frozenset()) == -0.5 and terms.get(frozenset({0, 1, 2})) == 0.5
            for terms in draw
        )


def test_the_number_of_draws_is_on_a_ladder_and_follows_the_budget():
    exact = resolved(gx.Partial(), n_columns=13, max_evaluations=10**9)
    fewer = resolved(gx.Partial(), n_columns=13, max_evaluations=20_000)
    assert MIN_PAIRS <= len(fewer.draws) < len(exact.draws)
    assert len(fewer.draws) in (8, 16, 32)


def test_M13_what_cannot_be_paid_for_is_refused():
    with pytest.raises(ResourceError, match="at least 8 are needed") as refused:
        resolved(gx.Partial(), n_columns=13, max_evaluations=100)
    assert refused.value.code == "M13"
    with pytest.raises(ResourceError, match="can be sampled"):
        resolved(gx.Partial("banzhaf"), n_columns=13)


def test_paths_give_shapley_values_of_four_players_or_more():
    assert resolved(gx.Partial(), n_columns=4, by_paths=True).by_paths
    assert not resolved(gx.Partial(), n_columns=3, by_paths=True).by_paths
    assert not resolved(gx.Partial("banzhaf"), n_columns=4, by_paths=True).by_paths
    pairs = gx.Interactions(2)
    assert not resolved(gx.Partial(), n_columns=4, influence=pairs, by_paths=True).by_paths
    conditional = gx.Conditional()
    assert not resolved(gx.Partial(), n_columns=4, masking=conditional, by_paths=True).by_paths


def test_accumulated_effects_read_changes_of_columns():
    effect = resolve(gx.Accumulated(5), LOCAL, gx.Pure(), gx.Individual([1]), table_of(3))
    assert {(key.column, key.intervals) for key in effect.changes()} == {(1, 5)}
    assert effect.readings() == set()
