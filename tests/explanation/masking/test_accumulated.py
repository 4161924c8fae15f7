"""ALE in regions: intervals end where the region ends, against the definition and on models with a jump."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.engine.splits import Splits
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.masking.fitted import fit_maskings
from granite_xai.explanation.request import request
from hypothesis import given, settings, strategies as st

import granite_xai as gx
import oracle as o
from granite_xai.base.limits import Resources
from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from granite_xai.trees.ensembles import Route
from strategies import paper


def tangled(X: np.ndarray) -> np.ndarray:
    return X[:, 0] * X[:, 1] + np.where(X[:, 2] > 0, 3.0, -1.0) * X[:, 0]


def rows_of(seed: int, n: int) -> np.ndarray:
    """Columns with many values, with few, and with two."""
    chance = np.random.default_rng(seed)
    X = np.column_stack(
        [chance.normal(size=n), chance.integers(0, 7, n), chance.normal(size=n).round(1)]
    )
    return np.column_stack([X, chance.integers(0, 2, n)])


def xor(X: np.ndarray) -> np.ndarray:
    """GADGET's own example."""
    return np.where(X[:, 2] > 0, 3 * X[:, 0], -3 * X[:, 0]) + X[:, 2]


@settings(max_examples=6)
@given(st.integers(0, 10**6), st.sampled_from([1, 2, 4]), st.booleans())
def test_both_sides_of_every_split_are_those_of_the_definition(seed, intervals, new):
    """Cuts of a column and any other membership, on the fitting rows and on others."""
    X = rows_of(seed, 45)
    shown = rows_of(seed + 1, 30) if new else X
    question = gx.question("ale", intervals=intervals)
    fitting, table = (read_table(rows, missing="error") for rows in (X, shown))
    table = fitting if not new else table
    route = Route(as_predictor(tangled), table)
    resolved = question.compare(route, Resources(), 0)
    effects = [resolved.first, resolved.second]
    reference = fit_maskings(set(), resolved.first.changes(), fitting, np.ones(len(X)), 0)
    weights = np.random.default_rng(seed).uniform(0.5, 2, len(shown))
    options = {"weights": weights, "y": None, "resources": Resources()}
    known = evaluate(route, request(table, effects), reference, **options)[0]
    fitted = o.Problem(lambda rows: tangled(np.array(rows)), X)
    problem = fitted if not new else o.Problem(fitted.model, shown, fitted=fitted)
    problem = o.Problem(problem.model, shown, None, weights, None, fitted)
    members = np.array(
        [*(shown[:, j] <= np.quantile(shown[:, j], q) for j in range(4) for q in (0.3, 0.7))]
    )
    members = np.concatenate([members, np.random.default_rng(seed).random((4, len(shown))) < 0.3])
    found = list(resolved.gap_values(known, Splits.of(members, weights)))
    for j, gaps in enumerate(found):
        for line, inside in zip(gaps, members, strict=True):
            for rows in (np.flatnonzero(inside), np.flatnonzero(~inside)):
                wanted = o.ale_gap(problem, j, rows.tolist(), intervals)
                np.testing.assert_allclose(line[rows], [wanted[n] for n in rows], atol=1e-12)


def test_a_jump_where_two_regions_meet_counts_in_neither():
    """F jumps by 6 x0 at x2 = 0; in each half it is additive, so a cut at 0 leaves nothing."""
    X = np.random.default_rng(1).uniform(-1, 1, (500, 3))
    g = paper(xor, "ale", partitioner=gx.partitioners.GivenRules(["x2 ≤ 0", "x2 > 0"])).fit(X)
    assert g.disagreement_ > 0.5
    assert g.remaining_ < 1e-12


@pytest.mark.parametrize("exact", [False, True])
def test_gadgets_example_is_cut_once_near_the_jump(exact):
    """The authors find x3 at 0 and two regions; a cut between the quantiles around 0 leaves a few per cent."""
    X = np.random.default_rng(0).uniform(-1, 1, (500, 3))
    g = gx.frameworks.gadget(xor, effect="ale", exact=exact, max_depth=3).fit(X)
    assert {name for rule in g.partition_.rules for name, _ in rule.conditions} == {"x2"}
    assert len(g.partition_) == 2
    assert abs(float(str(g.partition_.rules[0]).split()[-1])) < 0.06
    assert g.remaining_ < 0.05


def test_a_region_with_one_value_has_no_change():
    """A column of two values that was split moves nowhere."""
    X = rows_of(3, 60)
    g = paper(
        lambda X: X[:, 3] * X[:, 0],
        "ale",
        features=["x3"],
        partitioner=gx.partitioners.GivenRules(["x3 ≤ 0", "x3 > 0"]),
    ).fit(X)
    assert g.disagreement_ > 0.1
    assert g.remaining_ == 0.0
    assert np.all(g.explain(X).parts[0].values == 0.0)


def test_intervals_are_an_option_of_the_question_about_ale_alone():
    with pytest.raises(gx.InputError, match="questions about ALE"):
        gx.question("ice-pdp", intervals=5)
    with pytest.raises(gx.InputError, match="intervals=0"):
        gx.question("ale", intervals=0)
    X = rows_of(5, 80)
    few, many = (
        paper(tangled, gx.question("ale", intervals=k), max_depth=1).fit(X) for k in (2, 20)
    )
    assert few.disagreement_ > many.disagreement_  # changes across wider intervals
