"""Conditional masking by bins and by a copula, what rows choose, accumulated effects and baselines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, strategies as st

import granite_xai as gx
import oracle as o
from strategies import Case, Function, Term, examples, paper, quiet

COPULA = gx.Conditional(sampler="copula")

PROBED = 4 * 64 + 7  # rows that are sent to try the model, at most


def tangled(X: np.ndarray) -> np.ndarray:
    return X[:, 0] * X[:, 1] + np.sin(X[:, 2])


def three(seed: int, n: int = 25) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(n, 3))
    X[:, 2] += X[:, 0]
    return np.exp(X / 2)  # no column is normal


@pytest.mark.parametrize(
    "name", ["mplot-pdp", "cice-mplot", "cfi-pfi", "csobol-sobol", "cshap-shap"]
)
def test_every_question_with_conditional_masking_can_be_asked(name, tmp_path):
    """Fitted, measured on other rows, saved and loaded: the same numbers."""
    X, Z = three(5, 80), three(6, 40)
    question = gx.question(name, conditional=COPULA)
    g = gx.Granite(tangled, question, max_depth=1, min_samples_leaf=20).fit(X, tangled(X))
    assert g.disagreement_ > 0
    measured = g.evaluate(Z, tangled(Z)).disagreement
    again = gx.load(gx.save(g, tmp_path / "g.json"), model=tangled)
    assert again.evaluate(Z, tangled(Z)).disagreement == pytest.approx(measured, rel=1e-12)


def test_frames_keep_their_dtypes_and_booleans_are_ordered():
    chance = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "n": chance.integers(0, 5, 60),
            "flag": chance.random(60) < 0.5,
            "x": chance.normal(size=60),
        }
    )
    seen = []

    def model(X: pd.DataFrame) -> np.ndarray:
        seen.append(dict(X.dtypes.astype(str)))
        return X["n"].to_numpy() * X["flag"].to_numpy() + X["x"].to_numpy()

    g = gx.Granite(model, gx.question("mplot-pdp", conditional=COPULA), max_depth=1).fit(X)
    assert {tuple(kinds.values()) for kinds in seen} == {("int64", "bool", "float64")}
    gx.EffectDisplay.from_estimator(g, X).frame()


@pytest.mark.parametrize(
    ("X", "fault"),
    [
        (pd.DataFrame({"a": [1.0, 2.0, 3.0] * 9, "kind": list("xyz") * 9}), "'kind'.*no order"),
        (pd.DataFrame({"a": [1.0, None, 3.0] * 9, "b": np.arange(27.0)}), "'a'.*missing"),
    ],
)
def test_columns_without_ranks_are_refused(X, fault):
    with pytest.raises(gx.InputError, match=fault):
        gx.Granite(
            lambda X: np.ones(len(X)), gx.question("mplot-pdp", conditional=COPULA), missing="allow"
        ).fit(X)


@pytest.mark.filterwarnings("ignore:C10:granite_xai.BinWarning")
def test_rows_sent_to_the_model_are_planned():
    """All but those of the probe, which the plan counts at their most."""
    X = three(1, 30)
    g = gx.Granite(
        tangled, gx.question("cfi-pfi", conditional=COPULA), max_depth=1, min_samples_leaf=10
    )
    planned = g.plan(X, tangled(X))["model_rows"]
    sent = g.fit(X, tangled(X)).diagnostics_["model"]["rows"]
    assert planned - PROBED < sent <= planned


@pytest.mark.parametrize(
    "question",
    [
        gx.question("mplot-pdp", conditional=COPULA).with_influence(gx.Interactions(2)),
        gx.question("cshap-shap", conditional=COPULA),
    ],
    ids=["pairs", "Shapley values of four features"],
)
def test_P03_several_features_shown_and_several_hidden_are_refused(question):
    X = np.column_stack([three(0, 60), np.random.default_rng(1).normal(size=60)])
    with pytest.raises(
        gx.InputError,
        match="P03: .*weighs rows by one column beside all others; here several features are shown",
    ) as caught:
        gx.Granite(tangled, question).fit(X)
    assert "Conditional(sampler='bins')" in caught.value.hint


def tangled_accumulated(X: np.ndarray) -> np.ndarray:
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
        paper(tangled_accumulated, gx.question("ale", intervals=k), max_depth=1).fit(X)
        for k in (2, 20)
    )
    assert few.disagreement_ > many.disagreement_  # changes across wider intervals


def test_effects_are_counted_from_the_baseline():
    X = np.array([[1.0, 2.0], [3.0, 5.0]])
    explainer = gx.Explainer(gx.Baseline([2.0, 1.0]), "local", "pure")
    values = explainer.explain(lambda X: X[:, 0] * X[:, 1], X).values
    assert values.tolist() == [[-1.0, 2.0], [1.0, 8.0]]


CENTRES = {  # of a number with weights 1, 1, 1, 3 at 0, 1, 2, 9, and of the levels a, a, b, a
    "median": ("median", 2.0, "a"),
    "mean": ("mean", 5.0, "a"),
    "a mapping": ({"number": 4.0, "level": "b"}, 4.0, "b"),
    "a sequence": ([7.0, "b"], 7.0, "b"),
}


@pytest.mark.parametrize("name", CENTRES)
def test_hidden_columns_have_the_values_of_the_baseline(name):
    """Lower medians, means and the most frequent levels, by weight."""
    row, number, level = CENTRES[name]
    X = pd.DataFrame(
        {"number": [0.0, 1.0, 2.0, 9.0], "level": pd.Categorical(["a", "a", "b", "a"])}
    )

    def model(X):
        return (X["number"] + 10.0) * np.where(X["level"] == "a", 1.0, 3.0)

    pure = gx.Explainer(gx.Baseline(row), "local", "pure")
    found = pure.explain(model, X, sample_weight=np.array([1.0, 1.0, 1.0, 3.0])).values
    hidden = (number + 10.0) * (1.0 if level == "a" else 3.0)
    alone = (X["number"] + 10.0) * (1.0 if level == "a" else 3.0)
    np.testing.assert_allclose(found[:, 0], alone - hidden)
    np.testing.assert_allclose(
        found[:, 1], (number + 10) * np.where(X["level"] == "a", 1, 3) - hidden
    )


def test_P01_an_unknown_row_is_refused():
    with pytest.raises(gx.InputError, match="median") as refused:
        gx.Baseline("mode")
    assert refused.value.code == "P01"


NAMES = [*o.NAMED, "coe", "ale"]


HALVES = gx.partitioners.GivenRules(["x0 ≤ 0", "x0 > 0"])


def dependent(seed: int, n: int, d: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Continuous columns of which the last follows the first, a target, and whole weights from 1 to 4."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, d))
    X[:, -1] += X[:, 0]
    X[:2, 0] = [-1.0, 1.0]  # both regions hold a row
    return X, X[:, 0] + generator.normal(size=n), generator.integers(1, 5, size=n)


def tangled_bin_fitting(X: np.ndarray) -> np.ndarray:
    return X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) * X[:, 0] + X[:, 1]


def measured(
    name: str, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None
) -> list[float]:
    with quiet():
        granite = paper(tangled_bin_fitting, name, partitioner=HALVES).fit(X, y, weights)
    return [
        granite.disagreement_,
        granite.remaining_,
        *(region.disagreement for region in granite.partition_),
    ]


@pytest.mark.parametrize("n", [12, 30, 60])
@pytest.mark.parametrize("name", NAMES)
def test_whole_weights_are_repeated_rows_in_given_regions(name, n):
    """All rows and both regions; sixty rows of weights to 4 give the trees behind the bins leaves to find."""
    X, y, counts = dependent(n, n)
    weighted = measured(name, X, y, counts.astype(float))
    assert weighted == pytest.approx(
        measured(name, np.repeat(X, counts, axis=0), np.repeat(y, counts)), rel=1e-9
    )


@pytest.mark.parametrize("name", NAMES)
def test_equal_weights_are_no_weights(name):
    """Small ones, as of weights that add up to 1, are the same bit by bit in the bins; only means are divided anew."""
    X, y, _ = dependent(7, 50)
    assert measured(name, X, y, np.full(50, 0.02)) == pytest.approx(measured(name, X, y), rel=1e-12)


@pytest.mark.parametrize(
    "name", ["mplot-pdp", "cice-mplot", "cshap-shap", "csobol-sobol", "cfi-pfi", "ale"]
)
@given(seed=st.integers(0, 10**6))
@examples(3)
def test_weighted_bins_are_those_of_the_definitions(name, seed):
    """Quantiles and leaves by weight, against the loop."""
    X, y, counts = dependent(seed, 24)
    terms = (Term("product", 1.0, (0, 1)), Term("wave", 2.0, (0, 2)))
    function = Function(("numeric",) * 3, (0.0,) * 3, terms)
    weights = tuple((counts * 0.75).tolist())
    case = Case(tuple(map(tuple, X.tolist())), function, tuple(y.tolist()), weights)
    with quiet():
        granite = paper(case.model, name, partitioner=HALVES).fit(X, y, np.array(weights))
    problem, asked = case.problem(), o.question(name)
    whole = o.disagreement(asked, problem)
    assert granite.disagreement_ == pytest.approx(whole, rel=1e-9)
    assume(whole > 0)  # where all rows share one bin the two maskings are one
    for region, side in zip(granite.partition_, (X[:, 0] <= 0, X[:, 0] > 0), strict=True):
        rows = np.flatnonzero(side).tolist()
        share = problem.mass(rows) * o.disagreement(asked, problem, rows) / whole
        assert region.disagreement == pytest.approx(share, rel=1e-9)


def test_the_oracle_weighs_quantiles_by_hand():
    """Eleven values, the last of weight 9 of 19: edges at the tenths of the weight."""
    problem = o.Problem(
        lambda rows: [0.0] * len(rows), [[float(v)] for v in range(11)], weights=[1.0] * 10 + [9.0]
    )
    assert o.edges(problem, 0) == [1.0, 3.0, 5.0, 7.0, 9.0, 10.0]


def test_values_that_stand_for_a_column_leave_every_row_in_its_bin():
    """Without interactions it does not matter at which value the others are averaged, only in which bin."""
    draw = np.random.default_rng(3)
    first = draw.normal(size=400)
    X = np.column_stack([first, first + draw.normal(size=400), draw.normal(size=400)])

    def additive(X):
        return X[:, 0] + np.sin(3 * X[:, 1]) + X[:, 2] ** 2

    def disagreement(max_grid):
        g = gx.Granite(
            additive, "mplot-pdp", max_depth=0, resources=gx.Resources(max_grid=max_grid)
        )
        return g.fit(X).disagreement_

    assert disagreement("auto") == pytest.approx(disagreement(None), rel=1e-9)
