"""Disagreement on other rows (C17), against the definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, strategies as st

import granite_xai as gx
import oracle as o
from strategies import Case, cases, examples, interactions, maskings, questions, quiet


def test_the_table_has_all_columns():
    """The columns of the table are always all there."""
    X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    table = gx.Granite(lambda X: X[:, 0] * X[:, 1], min_samples_leaf=1).fit(X).evaluate(X).frame()
    assert list(table.columns) == [
        "region",
        "rule",
        "n_samples",
        "fraction",
        "global_disagreement",
        "disagreement",
        "remaining",
    ]


def compare(case: Case, question: Any, asked: o.Question, data: Any) -> None:
    """Fit, evaluate on other rows, and compare every figure with the oracle's."""
    granite = gx.Granite(case.model, question, min_samples_leaf=1, alpha=0.01, max_depth=2)
    with quiet():
        granite.fit(case.X, np.array(case.y), case.weights)
    problem = case.problem()
    fit = o.grow(
        asked, problem, min_samples_leaf=1, alpha=0.01, max_depth=2, delta=case.delta(problem)
    )
    chosen = data.draw(st.lists(st.integers(0, case.n - 1), min_size=1, max_size=6))
    other = case.with_rows([case.rows[n] for n in chosen], [case.y[n] for n in chosen])
    with quiet():
        found = granite.evaluate(other.X, np.array(other.y))
    wanted = o.evaluate(asked, fit, other.problem(problem))
    size = max(abs(v) for T in o.subsets(range(case.d)) for line in problem.R(T).values() for v in line.values())
    slack = {"rel": 1e-10, "abs": 1e-14 * (1 + size) ** 2 * len(o.question_sets(asked, case.d))}
    assert found.disagreement == pytest.approx(wanted["disagreement"], **slack)
    assert found.global_disagreement == pytest.approx(wanted["global_disagreement"], **slack)
    table = found.frame()
    for line, other_line in zip(table.to_dict("records"), wanted["regions"], strict=True):
        assert line["region"] == other_line["region"]
        assert line["n_samples"] == other_line["n_samples"]
        assert line["fraction"] == pytest.approx(other_line["fraction"])
        assert line["disagreement"] == pytest.approx(other_line["disagreement"], **slack)
        if other_line["global_disagreement"] is None:
            assert pd.isna(line["global_disagreement"])
        else:
            assert line["global_disagreement"] == pytest.approx(other_line["global_disagreement"], **slack)


@pytest.mark.parametrize("name", [*o.NAMED, "coe", "ale"])
@given(data=st.data())
@examples(15)
def test_other_rows_are_measured_as_defined(name, data):
    """New rows explain and are referred to, inside each region; bins, baselines and thresholds stay as fitted."""
    case = data.draw(cases(min_rows=3, max_rows=8, max_columns=3, weighted=None))
    question, asked, _ = data.draw(questions(case, name))
    compare(case, question, asked, data)


@given(data=st.data())
@examples(80)
def test_bins_and_baselines_of_other_rows_stay_as_fitted(data):
    """Any two maskings on new rows; the baseline of a region is a fitting row of that region."""
    case = data.draw(cases(min_rows=3, max_rows=8, max_columns=3, weighted=None))
    sides, words = [], []
    for _ in range(2):
        masking, about = data.draw(maskings(case))
        interaction, more = data.draw(st.sampled_from(["pure", "partial", "full"]).flatmap(interactions))
        sides.append(gx.Explainer(masking, "local", interaction))
        words.append({**about, **more})
    assume((sides[0].masking, sides[0].interaction) != (sides[1].masking, sides[1].interaction))
    asked = o.Question(o.Setting(**words[0]), o.Setting(**words[1]))
    compare(case, gx.Disagreement(*sides), asked, data)
