"""Bad tables, targets, models and options through ``Granite.fit``: what is blamed, and that the model is not asked."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

import granite_xai as gx
from counted import CountedModel
from granite_xai import InputError, ModelError, ModelWarning

N = 60
rng = np.random.default_rng(0)
X = rng.choice([-1.0, 0.0, 1.0, 2.0], size=(N, 3))
Y = rng.normal(size=N)
FRAME = pd.DataFrame(X, columns=["hr", "work", "temp"])
CLASSES = np.array(["low", "middle", "high"])[np.digitize(X[:, 0] * X[:, 1], [-0.5, 0.5])]
CLASSIFIER = DecisionTreeClassifier(random_state=0).fit(X, CLASSES)


def good(X):
    values = np.asarray(X, dtype=float)
    return values[:, 0] * np.sign(values[:, -1])


class Case(NamedTuple):
    """What is tried, and what the error must say."""

    code: str
    argument: str
    text: str  # part of the message
    X: Any = X
    y: Any = None
    weights: Any = None
    options: Any = None
    columns: tuple[str, ...] = ()
    rows: tuple[Any, ...] = ()


def changed(table, cells, value):
    table = table.copy()
    for row, column in cells:
        if isinstance(table, pd.DataFrame):
            table.iloc[row, column] = value
        else:
            table[row, column] = value
    return table


def risk(**options):
    return {"question": "pfi-risk", **options}


def joint(groups, **options):
    return {"influence": "joint", "groups": groups, **options}


TABLES = [
    Case(
        "D01",
        "X",
        "column 'x1' (index 1) has 1 NaN (row 3)",
        changed(X, [(3, 1)], np.nan),
        options={"missing": "error"},
        columns=("x1",),
        rows=(3,),
    ),
    Case(
        "D01",
        "X",
        'missing="allow"',
        changed(FRAME, [(3, 1), (9, 2)], None),
        options={"missing": "error"},
        columns=("work", "temp"),
        rows=(3, 9),
    ),
    Case(
        "D03",
        "X",
        "column 'x2' (index 2) has 1 infinity",
        changed(X, [(5, 2)], -np.inf),
        columns=("x2",),
        rows=(5,),
    ),
    Case(
        "D03",
        "X",
        "infinity",
        changed(FRAME.set_index(pd.Index([f"r{i}" for i in range(N)])), [(5, 0)], np.inf),
        options={"missing": "allow"},
        columns=("hr",),
        rows=("r5",),
    ),
    Case("D07", "X", "'a' at [0, 2]", pd.DataFrame(X, columns=["a", "b", "a"]), columns=("a",)),
    Case("D25", "X", "shape (60,)", X[:, 0]),
    Case("D25", "X", "shape (1, 60, 3)", X[None]),
    Case("D25", "X", "list(X)", (row for row in X)),
    Case("D25", "X", "pandas.DataFrame(X)", {"a": [1.0]}),
    Case("D25", "X", "numpy.asarray(X)", np.asmatrix(X)),
    Case("D25", "X", "masked array", np.ma.array(X, mask=X > 1)),
    Case("D25", "X", "X.to_frame()", FRAME["hr"]),
    Case("D25", "X", "NoneType", None),
    Case("D25", "X", "str", "table.csv"),
    Case("D28", "X", "X has 0 rows", X[:0]),
    Case("D28", "X", "X has 0 rows", FRAME.iloc[:0]),
    Case("D32", "X", "X has 0 columns", X[:, :0]),
    Case("D32", "X", "X has 0 columns", FRAME.iloc[:, :0]),
]
TARGETS = [
    Case("T01", "y", "pfi-risk needs y: it is about losses", options={"question": "pfi-risk"}),
    Case("T01", "y", "sage-risk needs y", options={"question": ["ice-pdp", "sage-risk"]}),
    Case("T02", "y", "y has 59 values, X has 60 rows", y=Y[:-1], options=risk()),
    Case("T02", "y", "y has 59 values, X has 60 rows", y=Y[:-1]),
    Case(
        "T03", "y", "2 missing", y=np.r_[Y[:7], np.nan, np.inf, Y[9:]], options=risk(), rows=(7, 8)
    ),
    Case("T03", "y", "1 missing", y=[None, *Y[1:]], options=risk(), rows=(0,)),
    Case("T04", "y", "shape (60, 2)", y=np.c_[Y, Y], options=risk()),
    Case("T05", "y", "'1'", y=["1"] * N, options=risk()),
    Case("T06", "y", "y.to_numpy()", X=FRAME, y=pd.Series(Y)[::-1], options=risk()),
    Case(
        "P03",
        "risk_loss",
        "probabilities",
        y=Y,
        options={"question": gx.question("pfi-risk", risk_loss="log")},
    ),
    Case("D43", "sample_weight", "negative", weights=np.r_[-1.0, np.ones(N - 1)], rows=(0,)),
    Case("D43", "sample_weight", "zero for every row", weights=np.zeros(N)),
    Case("D43", "sample_weight", "shape (5,)", weights=np.ones(5)),
]
OPTIONS = [
    Case("P01", "question", "Did you mean 'ice-pdp'?", options={"question": "ice-pdf"}),
    Case("P01", "question", "'ice-pdp', 'shap-pdp'", options={"question": ["ice-pdp", "zzz"]}),
    Case("P01", "question", "no question", options={"question": []}),
    Case("P02", "question", "-1", options={"question": {"ice-pdp": -1}}),
    Case("P01", "influence", "Did you mean 'joint'?", options={"influence": "joined"}),
    Case("P01", "response", "Did you mean 'probability'?", options={"response": "prob"}),
    Case("P01", "missing", "Did you mean 'allow'?", options={"missing": "alow"}),
    Case("P01", "missing", "True", options={"missing": True}),
    Case("P01", "partitioner", "partition", options={"partitioner": 3}),
    Case("P01", "resources", "gx.Resources", options={"resources": {"memory_limit": 4}}),
    *(
        Case("P02", name, f"{name}={value!r}", options={name: value})
        for name, values in {
            "max_depth": (-1, 2.5, None, True),
            "min_samples_leaf": (0, 0.1),
            "alpha": (float("nan"), -0.1, "a", float("inf")),
            "max_candidates": (1, 2.0),
            "beam": (0,),
            "max_samples": (0, 2.5),
            "random_state": (-1, 1.5, "a", True, 2**40),
        }.items()
        for value in values
    ),
    Case("P03", "groups", "needs groups", options={"influence": "joint"}),
    Case("P03", "groups", "takes no groups", options={"groups": {"a": ["x0"]}}),
    Case("P04", "split_features", "'x0', 'x1', 'x2'", options={"split_features": ["q"]}),
    Case("P04", "split_features", "7", options={"split_features": [7]}),
    Case("P04", "features", "'x0', 'x1', 'x2'", options={"features": ["x9"]}),
    Case("P04", "features", "Did you mean 'temp'?", X=FRAME, options={"features": ["tmp"]}),
    Case("P04", "features", "empty", options={"features": []}),
    Case(
        "P04", "features", "tuples of 2", options={"influence": "interaction", "features": ["x0"]}
    ),
    Case("P08", "n_jobs", "n_jobs=0", options={"n_jobs": 0}),
    Case("P08", "n_jobs", "n_jobs=1.5", options={"n_jobs": 1.5}),
    Case("D41", "groups", "empty", options=joint({})),
    Case("D41", "groups", "group 'a' has no features", options=joint({"a": []})),
    Case(
        "D41",
        "groups",
        "'a' and in group 'b'",
        options=joint({"a": ["x0"], "b": ["x0", "x1"]}),
        columns=("x0",),
    ),
    Case(
        "D41",
        "groups",
        "group",
        options=joint({"a": ["x0", "x1"]}, features=["x0"]),
        columns=("x0",),
    ),
]


def named(cases):
    return [pytest.param(case, id=f"{case.code}-{i}") for i, case in enumerate(cases)]


@pytest.mark.parametrize("case", [*named(TABLES), *named(TARGETS), *named(OPTIONS)])
def test_what_the_data_alone_decide_is_refused_before_the_model_is_asked(case):
    model = CountedModel(good)
    with pytest.raises(InputError) as caught:
        gx.Granite(model, **(case.options or {})).fit(case.X, case.y, case.weights)
    error = caught.value
    assert error.code == case.code
    assert error.argument == case.argument
    assert error.columns == case.columns
    assert error.rows == case.rows
    assert case.text in str(error)
    assert str(error).startswith(f"{case.code}: ")
    assert model.calls == 0


def test_an_unknown_column_of_a_group_is_named():
    model = CountedModel(good)
    with pytest.raises(InputError, match="'zz'") as caught:
        gx.Granite(model, influence="joint", groups={"a": ["zz"]}).fit(X)
    assert caught.value.argument == "groups"
    assert model.calls == 0


def test_the_first_bad_argument_wins_over_a_bad_model():
    """An option is cheaper to correct than a model: it is looked at first."""
    with pytest.raises(InputError, match="P02"):
        gx.Granite(None, max_depth=-1).fit(X)


# models ---------------------------------------------------------------------------------------------------------------


def function(X):
    return X[:, 0] * np.sign(X[:, 1])


HANDLED = {
    "M01 one column": lambda X: function(X)[:, None],
    "M03 a list": lambda X: function(X).tolist(),
    "M03 a frame": lambda X: pd.DataFrame({"p": function(X)}),
    "M03 a series with other labels": lambda X: pd.Series(function(X), index=range(5, 5 + len(X))),
    "M05 whole numbers": lambda X: function(X).astype(int),
    "M05 numbers as objects": lambda X: function(X).astype(object),
}


@pytest.mark.parametrize("model", HANDLED.values(), ids=HANDLED)
def test_answers_that_are_numbers_in_another_dress_are_read(model):
    plain = gx.Granite(function).fit(X)
    assert gx.Granite(model).fit(X).partition_.to_dict() == plain.partition_.to_dict()


def test_one_of_several_outputs_is_chosen():
    model = CLASSIFIER.predict_proba
    # A function does not say whether it takes missing values, a tree of scikit-learn does.
    options = {"min_samples_leaf": 5, "missing": "allow"}
    by_name = gx.Granite(CLASSIFIER, output="high", **options).fit(X)
    by_position = gx.Granite(model, output=0, **options).fit(X)
    assert by_name.partition_.rules == by_position.partition_.rules
    np.testing.assert_array_equal(by_name.apply(X), by_position.apply(X))
    assert by_name.remaining_ == pytest.approx(by_position.remaining_, rel=1e-12)
    assert by_name.disagreement_ == pytest.approx(by_position.disagreement_, rel=1e-12)


def test_booleans_are_zeros_and_ones():
    one = gx.Granite(lambda X: function(X) > 0).fit(X)
    other = gx.Granite(lambda X: (function(X) > 0).astype(float)).fit(X)
    assert one.partition_.to_dict() == other.partition_.to_dict()


REFUSED = {
    "M02 several outputs": (lambda X: np.c_[X, X], "output", "6 outputs"),
    "M02 several classes": (CLASSIFIER, "output", "'high', 'low', 'middle'"),
    "M03 too short": (lambda X: function(X)[:-1], "model", "shape (59,) for 60 rows"),
    "M03 a number": (lambda X: 1.0, "model", "shape ()"),
    "M03 three axes": (lambda X: function(X)[:, None, None], "model", "(60, 1, 1)"),
    "M03 nothing": (lambda X: None, "model", "None"),
    "M04 not finite": (lambda X: np.where(X[:, 0] == 2, np.nan, 0.0), "model", "NaN"),
    "M05 text": (lambda X: np.full(len(X), "a"), "model", "predict_proba"),
    "M05 complex": (lambda X: function(X) + 1j, "model", "complex"),
    "M20 not fitted": (LinearRegression(), "model", "LinearRegression"),
    "M20 not fitted classifier": (DecisionTreeClassifier(), "model", "not fitted"),
    "M21 a class": (LinearRegression, "model", "class LinearRegression"),
    "M21 a module": (np, "model", "module numpy"),
    "M21 nothing": (None, "model", "None"),
    "M21 a number": (3, "model", "int"),
    "M21 text": ("model.pkl", "model", "str"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_models_that_cannot_be_explained_are_refused(name):
    model, argument, text = REFUSED[name]
    with pytest.raises(ModelError) as caught:
        gx.Granite(model).fit(X)
    assert caught.value.code == name.split()[0]
    assert caught.value.argument == argument
    assert text in str(caught.value)
    assert caught.value.hint


def test_the_recombination_behind_a_bad_value_is_named():
    """The model is fine on every row of the table, and infinite where two equal columns differ."""
    twins = np.c_[X[:, 0], X[:, 0], X[:, 2]]
    with pytest.raises(ModelError, match=r"row \d+ on column 'x0', row \d+ elsewhere") as caught:
        gx.Granite(lambda X: np.where(X[:, 0] != X[:, 1], np.inf, X[:, 0])).fit(twins)
    assert caught.value.code == "M04"
    assert caught.value.columns == ("x0",)
    assert len(caught.value.rows) == 5


def test_a_model_that_writes_is_reported_once_and_harmless():
    def writes(X):
        answer = function(X)
        X[:] = 0.0
        return answer

    mine = X.copy()
    with pytest.warns(ModelWarning, match="M11") as caught:
        g = gx.Granite(writes).fit(mine)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert [text[:3] for text in g.diagnostics_["warnings"]] == ["M11"]
    np.testing.assert_array_equal(mine, X)
    assert g.partition_.to_dict() == gx.Granite(function).fit(X).partition_.to_dict()


def test_the_models_own_error_is_kept():
    with pytest.raises(ModelError) as caught:
        gx.Granite(LinearRegression()).fit(X)
    assert isinstance(caught.value.__cause__, NotFittedError)


# tables without a region to find --------------------------------------------------------------------------------------


def product(X):
    """An interaction wherever there are two columns that vary."""
    return X[:, 0] * X[:, -1]


DEGENERATE = {
    "D05 two constant columns": np.c_[X[:, 0], np.ones(N), np.ones(N)],
    "D29 one row": X[:1],
    "D30 too few rows for two leaves": X[:39],
    "D30 two rows": X[:2],
    "D31 one column": X[:, :1],
    "D34 all rows are the same": np.ones((N, 3)),
    "D35 ties leave no side large enough": np.repeat(
        [[0.0, 0.0], [1.0, 1.0]], [N - 19, 19], axis=0
    ),
    "N07 tiny numbers": 1e-30 * X[:30],
}


@pytest.mark.parametrize("question", gx.questions())
@pytest.mark.parametrize("table", DEGENERATE.values(), ids=DEGENERATE)
def test_tables_without_regions_have_one_region_and_a_reason(table, question):
    y = np.linspace(-1.0, 1.0, len(table))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", gx.BinWarning)
        g = gx.Granite(product, question).fit(table, y)
        evaluation = g.evaluate(table, y)
        g.explain(table, y).frame()
        assert np.isfinite(g.predict(table)).all()
    assert len(g.partition_) == 1
    assert [str(rule) for rule in g.partition_.rules] == ["all rows"]
    assert g.diagnostics_["stop_reasons"] == [g.partition_[0].stop_reason]
    assert g.partition_[0].stop_reason
    assert np.isfinite([g.disagreement_, g.remaining_, g.fidelity_, g.global_fidelity_]).all()
    assert np.isfinite([evaluation.disagreement, evaluation.global_disagreement]).all()
    assert np.isnan(evaluation.remaining) == np.isnan(
        evaluation.estimate.remaining
    )  # no more than chance
    assert g.apply(table).tolist() == [0] * len(table)


def test_constant_columns_are_listed_and_never_split():
    g = gx.Granite(product).fit(np.c_[X[:, 0], np.ones(N), X[:, 2]])
    assert g.diagnostics_["constant_columns"] == ["x1"]
    assert g.diagnostics_["candidates"]["x1"] == 0
    assert np.all(g.explain(np.c_[X[:, 0], np.ones(N), X[:, 2]]).of("pdp")[:, 1] == 0.0)


@pytest.mark.parametrize("question", gx.questions())
@pytest.mark.filterwarnings("ignore::granite_xai.BinWarning")
def test_one_row_has_nothing_to_disagree_about(question):
    g = gx.Granite(product, question).fit(X[:1], Y[:1])
    assert (g.disagreement_, g.remaining_) == (0.0, 0.0)


def test_few_rows_say_why_they_are_not_split():
    assert gx.Granite(product).fit(X[:39]).diagnostics_["stop_reasons"] == ["too few samples"]
    assert gx.Granite(product, max_depth=0).fit(X).diagnostics_["stop_reasons"] == ["maximum depth"]


def test_one_column_agrees_with_itself():
    for question in ("ice-pdp", "shap-pdp", "ice-shap", "sobol", "coe"):
        g = gx.Granite(lambda X: np.exp(X[:, 0]), question).fit(X[:, :1])
        assert g.diagnostics_["stop_reasons"] == ["nothing to explain"], question
        assert g.disagreement_ == 0.0


def test_integer_grids_with_many_ties_leave_no_empty_region():
    grid = np.c_[
        np.minimum(rng.integers(0, 50, 200), 3), rng.integers(0, 2, 200), np.zeros(200)
    ].astype(float)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        g = gx.Granite(lambda X: X[:, 0] * X[:, 1], min_samples_leaf=1, alpha=0.0, max_depth=5).fit(
            grid
        )
    assert np.bincount(g.apply(grid)).min() >= 1
