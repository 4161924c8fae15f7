"""The regional additive surrogate on random data, against the definitions."""

from __future__ import annotations

import pickle
import random
from typing import Any

import numpy as np
import pytest
from granite_xai.fitting.fitted_view import fitted_view
from hypothesis import assume, given, strategies as st

import granite_xai as gx
import oracle as o
from granite_xai.tables import read_table
from strategies import Case, Function, Term, cases, column, examples, influences, paper, quiet


@st.composite
def fitted(draw, **options: Any):
    """A case, its fit of ``coe`` or ``ice-pdp`` with some influence, and the oracle's regions of the same rows."""
    case = draw(cases(min_rows=2, max_rows=10, max_columns=3, weighted=None, **options))
    influence, words, _ = draw(influences(case))
    question = gx.question(draw(st.sampled_from(["coe", "ice-pdp"]))).with_influence(influence)
    granite = paper(case.model, question, min_samples_leaf=1, alpha=0.01, max_depth=2)
    with quiet():
        granite.fit(case.X, np.array(case.y), case.weights)
    problem = (
        case.problem()
    )  # rows without weight took no part: a gap that only they have belongs nowhere
    used = case.with_rows([case.rows[n] for n in problem.rows], [case.y[n] for n in problem.rows])
    with quiet():
        applied = granite.apply(used.X)
    members = list(zip(problem.rows, applied, strict=True))
    regions = [[n for n, region in members if region == k] for k in range(len(granite.partition_))]
    return case, granite, o.Setting(**words), problem, regions


@st.composite
def other_rows(draw, case: Case, n: int):
    """New rows of the same columns, with values between, beyond and among those of the fit."""
    chance = random.Random(draw(st.integers(0, 2**32 - 1)))
    made = []
    for kind, shift in zip(case.kinds, case.function.shifts, strict=True):
        numbers = [shift + k / 8 for k in range(-30, 31, 3)]
        made.append(
            [chance.choice(numbers) for _ in range(n)]
            if kind == "numeric"
            else column(chance, n, kind, False)[0]
        )
    return case.with_rows(list(zip(*made, strict=True)), [0.0] * n)


def size_of(case: Case, problem: o.Problem) -> float:
    return 1e-9 + max(
        abs(v)
        for T in o.subsets(range(case.d))
        for line in problem.R(T).values()
        for v in line.values()
    )


@given(drawn=fitted(), data=st.data())
@examples(120)
def test_predictions_are_the_sum_of_pure_effects(drawn, data):
    """Interpolated between fitting values and constant beyond."""
    case, granite, setting, problem, regions = drawn
    new = (
        data.draw(other_rows(case, 3))
        if data.draw(st.booleans())
        else case.with_rows(case.rows, case.y)
    )
    same_predictions(case, granite, setting, problem, regions, new)


def test_a_model_that_is_zero_at_every_row_and_at_every_new_row():
    """It is 1 only where new values of one column meet fitting values of the others: what is compared is of size 1."""
    rows = (
        (False, True, 0.0),
        (False, True, -1.0),
        (False, False, 0.5),
        (True, True, -1.0),
        (False, True, -1.0),
    )
    function = Function(
        ("boolean", "boolean", "numeric"), (0.0,) * 3, (Term("step", 1.0, (0, 1, 2), 0.6875),)
    )
    case = Case(rows, function, (2.0, 2.0, 2.0, 0.5, 0.5), (2.5, 1.0, 1.0, 0.25, 2.5), framed=True)
    new = case.with_rows(
        [(False, True, 1.875), (False, False, -0.75), (True, False, 2.625)], [0.0] * 3
    )
    question = gx.question("coe").with_influence(gx.Interactions(2))
    with quiet():
        granite = paper(case.model, question, min_samples_leaf=1).fit(case.X, None, case.weights)
    assert len(granite.partition_) == 1
    assert not any(case.call([*case.rows, *new.rows]))
    setting = o.Setting(influence="interaction", order=2)
    same_predictions(case, granite, setting, case.problem(), [list(range(5))], new)


def same_predictions(
    case: Case,
    granite: gx.Granite,
    setting: o.Setting,
    problem: o.Problem,
    regions: list[list[int]],
    new: Case,
) -> None:
    with quiet():
        applied = granite.apply(new.X)
        found = granite.predict(new.X)
    wanted = [
        o.surrogate_at(problem, regions[applied[n]], row, setting) for n, row in enumerate(new.rows)
    ]
    # Effects of several columns are differences of predictions at new rows recombined with fitting rows: with these
    # values, not only with F at the rows themselves, grows what rounding leaves (F may be 0 at all of the latter).
    scale = max(size_of(case, problem), problem.largest)
    for n, (ours, theirs) in enumerate(zip(found, wanted, strict=True)):
        assert abs(ours - theirs) <= 1e-10 * scale, (n, ours, theirs)


@given(drawn=fitted(missing=None))
@examples(100)
def test_fidelity_is_the_share_of_variance_explained(drawn):
    """With one surrogate for each region, and with one for all rows."""
    case, granite, setting, problem, regions = drawn
    spread = o.variance([problem.F()[n] for n in problem.rows], problem.weights_of(problem.rows))
    slack = 1e-10 + 1e-14 * size_of(case, problem) ** 2 / spread if spread else 1e-10
    assert granite.fidelity_ == pytest.approx(
        o.fidelity(problem, regions, setting), rel=1e-10, abs=slack
    )
    assert granite.global_fidelity_ == pytest.approx(
        o.fidelity(problem, [problem.rows], setting), rel=1e-10, abs=slack
    )


@given(case=cases(min_rows=3, max_rows=10, min_columns=2, weighted=None))
@examples(60)
def test_what_remains_of_coe_is_what_fidelity_lacks(case):
    """For squared loss ``remaining_ = (1 - fidelity_) / (1 - global_fidelity_)``."""
    with quiet():
        granite = paper(case.model, "coe", min_samples_leaf=1).fit(
            case.X, sample_weight=case.weights
        )
    problem = case.problem()
    spread = o.variance([problem.F()[n] for n in problem.rows], problem.weights_of(problem.rows))
    assume(granite.disagreement_ > 0)
    assume(
        spread > 0
    )  # where every row has the same prediction, both fidelities are 1 by definition
    missed = 1 - granite.global_fidelity_
    slack = 1e-14 * (1 + size_of(case, problem) ** 2 / spread) / missed
    assert granite.remaining_ == pytest.approx(
        (1 - granite.fidelity_) / missed, rel=1e-10, abs=slack
    )


class Counting:
    """A function of eight columns that counts the rows it is asked about."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(self, X):
        self.rows += len(X)
        return X[:, 0] * np.sign(X[:, 1]) + X[:, 2] * X[:, 3] + X[:, 4:].sum(axis=1)


PAYING = {  # options, matrices of n² model rows that the question reads, and that the surrogate reads
    "one column": ({"features": ["x0"]}, 1, 8),
    "two columns": ({"features": ["x0", "x3"]}, 2, 8),
    "one pair": ({"influence": "interaction", "features": [("x0", "x1")]}, 3, 36),
    "one group": ({"influence": "joint", "groups": {"a": ["x0", "x1"]}, "features": ["a"]}, 1, 9),
    "conditional": ({"question": "mplot-pdp", "features": ["x0"]}, 1, 8),
    "risk": ({"question": "pfi-risk", "features": ["x0"]}, 1, 8),
}


@pytest.mark.parametrize("level", [None, 0.95])
@pytest.mark.parametrize(("options", "asked", "additive"), PAYING.values(), ids=PAYING)
def test_a_question_about_some_columns_pays_for_what_it_asks(options, asked, additive, level):
    """The surrogate asks for the rest when it is first read, once, and is the same as that of all columns."""
    n, counting, X = 80, Counting(), np.random.default_rng(0).normal(size=(80, 8))
    options = {
        **options,
        "max_depth": 1,
        "max_samples": None,
        "holdout": False,
        "confidence_level": level,
    }
    with quiet():
        g = gx.Granite(counting, **options).fit(X, X.sum(axis=1))
    before = counting.rows
    assert (
        asked * n**2 <= before < asked * n**2 + 10 * n
    )  # and predictions, and what the noise floor asks
    assert str(g.partition_)
    assert counting.rows == before
    figures = g.global_fidelity_, g.fidelity_
    assert counting.rows == before + (additive - asked) * n**2 + n
    assert (g.global_fidelity_, g.fidelity_) == figures
    assert counting.rows == before + (additive - asked) * n**2 + n
    with quiet():
        whole = gx.Granite(Counting(), **{**options, "features": None, "alpha": 10.0}).fit(
            X, X.sum(axis=1)
        )
    assert figures[0] == pytest.approx(whole.global_fidelity_, abs=1e-12)


def test_held_out_rows_judge_the_surrogate_when_that_is_read(tmp_path):
    """The estimate's own figures ask for no column beside the compared one; its fidelity does, and stays in a file."""
    X, counting = np.random.default_rng(0).normal(size=(300, 8)), Counting()
    options = {
        "max_depth": 1,
        "max_samples": 150,
        "holdout": 0.5,
        "resources": gx.Resources(max_grid=None),
    }
    g = gx.Granite(counting, features=["x0"], **options).fit(X)
    assert g.estimate_.rows == "held-out"
    assert counting.rows < 2 * 150**2 + 3000
    assert f"{g.estimate_.remaining:.3f} {g.estimate_}"
    assert counting.rows < 2 * 150**2 + 3000
    whole = gx.Granite(Counting(), gx.question("ice-pdp"), split_features=["x1"], **options).fit(X)
    assert [r.rule for r in whole.partition_] == [r.rule for r in g.partition_]
    assert g.estimate_.fidelity == pytest.approx(whole.estimate_.fidelity, abs=1e-12)
    assert counting.rows > 8 * 150**2
    gx.save(g, tmp_path / "g.json")
    loaded = gx.load(tmp_path / "g.json")
    assert (loaded.fidelity_, loaded.estimate_.fidelity) == (g.fidelity_, g.estimate_.fidelity)
    again = pickle.loads(
        pickle.dumps(gx.Granite(additive_model, features=["x0"], **options).fit(X))
    )
    assert again.fidelity_ == pytest.approx(1.0)
    assert 0.99 < again.estimate_.global_fidelity < 1.0  # curves end with the values of the fit


def additive_model(X):
    return X.sum(axis=1)


@pytest.mark.parametrize("confidence_level", [None, 0.95])
def test_probabilities_of_the_surrogate_stay_between_0_and_1(confidence_level, tmp_path):
    """Curves of a steep classifier add up to less than 0 and more than 1; fidelities are those of what is predicted."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))

    class Steep:
        classes_ = (0, 1)

        def predict_proba(self, X):
            yes = 1.0 / (1.0 + np.exp(-4.0 * (X[:, 0] + X[:, 1] + 0.5 * X[:, 0] * X[:, 2])))
            return np.column_stack([1.0 - yes, yes])

    options = {"confidence_level": confidence_level, "max_samples": None, "holdout": False}
    g = gx.Granite(Steep(), max_depth=1, **options).fit(X)
    table = read_table(X, missing="error")
    bare = fitted_view(g).result.additive.value.surrogate.predict(table, g.apply(X))
    assert bare.min() < 0
    assert bare.max() > 1
    np.testing.assert_array_equal(g.predict(X), np.clip(bare, 0.0, 1.0))
    truth = Steep().predict_proba(X)[:, 1]
    expected = 1.0 - np.mean((truth - g.predict(X)) ** 2) / truth.var()
    assert g.fidelity_ == pytest.approx(expected, abs=1e-12)
    assert fitted_view(g).held_out_fidelity(X) == pytest.approx(expected, abs=1e-12)
    if confidence_level is not None:
        assert g.evaluate(X).estimate.fidelity == pytest.approx(expected, abs=1e-12)
    loaded = gx.load(gx.save(g, tmp_path / "g.json"))
    np.testing.assert_array_equal(loaded.predict(X), g.predict(X))
    raw = gx.Granite(lambda X: 4.0 * X[:, 0] * X[:, 1], max_depth=1, **options).fit(X)
    assert raw.predict(X).min() < 0
