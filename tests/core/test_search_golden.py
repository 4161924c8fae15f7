"""Every golden tree of the paper's algorithm: the same regions, shares and reasons to stop, by the new search."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from core.test_algebra_golden import evaluated, is_asked, resolved, todays
from golden.cases import CASES
from granite_xai.algebra.objective import Shares
from granite_xai.evaluations.evaluations import Sample
from granite_xai.search.problem import AllExcept, Problem, Tree
from granite_xai.fitting import searching
from granite_xai.tables.rows import Rows


def options_of(today: Any) -> dict[str, Any]:
    """The options of a tree of today's package."""
    options = {field.name: getattr(today, field.name) for field in fields(Tree)}
    if type(options["split_features"]).__name__ == "AllExcept":
        options["split_features"] = AllExcept(*options["split_features"].columns)
    return options


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if is_asked(case)])
def test_the_tree_is_todays(name, monkeypatch):
    problems = []
    problem_of = searching.problem_of

    def spied(*arguments):
        problems.append(problem_of(*arguments))
        return problems[-1]

    monkeypatch.setattr(searching, "problem_of", spied)
    today = todays(CASES[name], monkeypatch)
    questions = [resolved(comparison, today) for comparison in today.inputs.comparisons]
    inputs = today.inputs
    posed = problems[0]
    if posed.below_noise_floor:
        return
    expected = inputs.partitioner.partition(posed).partition
    rows = Rows.of(inputs.table, inputs.y, inputs.weights, in_fixed_order=False)
    outputs = evaluated(questions, today)
    problem = Problem(
        sample=Sample(rows, outputs, tuple(0.0 for _ in outputs)),
        measures=tuple(questions),
        shares=Shares(
            factors=posed.shares.factors,
            floors=posed.shares.floors,
            total=posed.shares.total,
            by_mass=posed.shares.by_mass,
            root_factors=posed.shares.root_factors,
        ),
        tree=Tree(**options_of(inputs.partitioner)),
        missing=posed.missing,
    )
    found = problem.tree.partition(problem).partition
    assert [str(region.rule) for region in found] == [str(region.rule) for region in expected]
    assert [region.stop_reason for region in found] == [region.stop_reason for region in expected]
    shares = [region.disagreement for region in found]
    tolerance = CASES[name].tolerance
    np.testing.assert_allclose(
        shares, [region.disagreement for region in expected], rtol=tolerance, atol=tolerance
    )
    assert [region.n_samples for region in found] == [region.n_samples for region in expected]
