"""What a fit asks of its model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from granite_xai.evaluations.value_cells import LearnedValues
from granite_xai.fitting.fit_request import (
    asks_about_all_players,
    complete_for_surrogate,
    request_of_fit,
    require_memory,
    single_columns,
    with_learned_values,
)
from granite_xai.fitting.inputs import open_inputs
from granite_xai.fitting.judged_fit import fit_and_judge

import granite_xai as gx
from granite_xai.base.errors import Diagnostics

RNG = np.random.default_rng(2)
X = pd.DataFrame(RNG.normal(size=(120, 4)), columns=["a", "b", "c", "d"])


class Counting:
    def __init__(self):
        self.rows = 0

    def __call__(self, frame):
        self.rows += len(frame)
        return (frame["a"] * frame["b"] + frame["c"]).to_numpy()


def inputs_of(frame=X, model=None, **options):
    g = gx.Granite(model or Counting(), **options)
    opened = open_inputs(g, frame, None, None, None, Diagnostics())
    return opened.resolve(np.arange(len(frame)), Diagnostics())


def test_a_question_about_all_columns_reads_the_surrogate_at_once():
    inputs = inputs_of()
    assert asks_about_all_players(inputs)
    assert single_columns(inputs) == [0, 1, 2, 3]


def test_a_question_about_some_columns_pays_for_these():
    inputs = inputs_of(features=["b", "d"])
    assert not asks_about_all_players(inputs)
    assert single_columns(inputs) == [1, 3]
    asked = request_of_fit(inputs).n_model_rows(inputs.table)
    assert asked < request_of_fit(inputs_of()).n_model_rows(inputs.table)


def test_C13_a_column_with_many_levels_is_ordered_by_its_effects():
    levels = [f"level {i % 9}" for i in range(120)]
    few = inputs_of(X.assign(e=levels), features=["b"], max_candidates=256)
    many = inputs_of(X.assign(e=levels), features=["b"], max_candidates=255)
    not_split = inputs_of(
        X.assign(e=levels), features=["b"], max_candidates=255, split_features=["a"]
    )
    assert not asks_about_all_players(few)
    assert asks_about_all_players(many)
    assert not asks_about_all_players(not_split)


def test_D33_too_little_memory_is_refused_before_the_model_is_asked():
    model = Counting()
    limits = gx.Resources(memory_limit=200_000, max_grid=None)
    with pytest.raises(gx.ResourceError, match="D33"):
        require_memory(inputs_of(model=model, resources=limits, max_samples=None))
    assert model.rows == 0


def test_a_pilot_chooses_values_for_the_columns_that_are_read():
    inputs = with_learned_values(inputs_of(features=["b", "d"]))
    assert isinstance(inputs.values, LearnedValues)
    assert set(inputs.values.stand_ins(inputs.table)) == {1, 3}


def test_without_a_pilot_nothing_is_learned_and_nothing_asked():
    model = Counting()
    inputs = inputs_of(model=model, confidence_level=None)
    assert with_learned_values(inputs) is inputs
    assert model.rows == 0


@pytest.mark.parametrize("level", [None, 0.95])
def test_the_surrogate_asks_about_the_columns_that_the_questions_left_out(level):
    model = Counting()
    g = gx.Granite(model, features=["b"], confidence_level=level)
    run = fit_and_judge(open_inputs(g, X, None, None, None, Diagnostics()), Diagnostics())
    before = model.rows
    complete = complete_for_surrogate(run.inputs, run.evaluations)
    assert model.rows > before
    singles = {frozenset({position}) for position in range(4)}
    assert singles <= set(complete.stored_as)
    assert not singles <= set(run.evaluations.stored_as)
    before = model.rows
    assert complete_for_surrogate(run.inputs, complete) is complete
    assert model.rows == before
