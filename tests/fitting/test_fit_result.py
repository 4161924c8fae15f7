"""What a fit found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from granite_xai.fitting.fitted_view import fitted_view

import granite_xai as gx

X = np.random.default_rng(17).normal(size=(80, 2))


@pytest.fixture(scope="module")
def result():
    return fitted_view(gx.Granite(lambda X: X[:, 0] * X[:, 1], max_depth=1).fit(X)).result


def test_a_question_above_its_floor_has_something_to_explain(result):
    assert not result.below_noise_floor
    assert not result.by_chance


def test_all_questions_at_their_floors_have_nothing_to_explain(result):
    assert replace(result, root_disagreements=result.floors.copy()).below_noise_floor


def test_a_bar_that_is_not_exceeded_is_chance(result):
    chance = replace(result.chance, bar=result.chance.plug_in + 1.0)
    assert replace(result, chance=chance).by_chance
    assert not replace(result, chance=None).by_chance


def test_the_layout_is_that_of_the_first_question(result):
    assert result.layout is result.comparisons[0].first.layout
