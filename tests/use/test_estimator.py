"""Granite as scikit-learn knows estimators: parameters, clones, copies, fitted names, rows and weights."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

import granite_xai as gx
from granite_xai import Conditional, InputError, ModelError, ModelWarning
from strategies import paper

COLUMNS = ["hr", "work", "temp"]
REGRESSION = ("ice-pdp", "sobol", "pfi-risk", "coe")
CONDITIONAL = ("cice-mplot", "cfi-pfi")


def sign_of_the_second(X):
    """``x0 * sign(x1) + x2``: additive where the sign of x1 is constant."""
    values = np.asarray(X, dtype=float)
    return values[:, 0] * np.sign(values[:, 1]) + values[:, 2]


class AnyWidth:
    """A function for every number of columns, as scikit-learn's checks need; its name is the same in every process."""

    def __call__(self, X):
        values = np.asarray(X, dtype=float)
        return values.sum(axis=1) + values[:, 0] * values[:, -1]

    def __repr__(self):
        return "any_width"


any_width = AnyWidth()


def rows(n=120, seed=0):
    rng = np.random.default_rng(seed)
    return rng.choice([-2.0, -1.0, 1.0, 2.0, 3.0], size=(n, 3))


def target(X, seed=1):
    return sign_of_the_second(X) + np.random.default_rng(seed).normal(size=len(X))


class Counting:
    """A model that writes down every call."""

    def __init__(self, function=sign_of_the_second):
        self.function = function
        self.sizes = []

    def predict(self, X):
        self.sizes.append(len(X))
        return self.function(X)


def same_tree(one, other):
    return one.partition_.to_dict() == other.partition_.to_dict()


# scikit-learn's own checks --------------------------------------------------------------------------------------------


CHECKED = [
    paper(any_width),
    # The leaf minimum counts rows, not weights; at 1 even a deep tree of weighted rows is that of repeated ones.
    *(paper(any_width, question, min_samples_leaf=1, max_depth=2) for question in REGRESSION),
    paper(any_width, ["ice-pdp", "pfi-risk"], min_samples_leaf=1, max_depth=1),
]


# Two checks of scikit-learn 1.6 ask of every estimator what only some promise: sparse tables, and a mean subtracted in
# place from whole numbers, which NumPy refuses before the estimator is asked.
OLD = parse_version(sklearn.__version__) < parse_version("1.7")
AMISS = {
    "check_dataframe_column_names_consistency": "refuses columns in another order: we take them by name",
}
AMISS_IN_OLD = {
    "check_sample_weight_equivalence_on_sparse_data": "asks for sparse tables whatever the tags say",
    "check_positive_only_tag_during_fit": "subtracts a mean from whole numbers in place",
}


@parametrize_with_checks(
    CHECKED, expected_failed_checks=lambda _: AMISS | (AMISS_IN_OLD if OLD else {})
)
def test_scikit_learn_checks_pass(estimator, check):
    check(estimator)


# parameters -----------------------------------------------------------------------------------------------------------


def test_the_constructor_stores_and_checks_nothing():
    g = paper(None, "no question", max_depth=-1, alpha="much", n_jobs=0)
    assert g.get_params(deep=False)["alpha"] == "much"
    assert g.max_depth == -1


def test_parameters_and_their_defaults_are_those_of_the_public_face():
    assert gx.Granite(any_width).get_params(deep=False) == {
        "model": any_width,
        "question": "ice-pdp",
        "influence": "individual",
        "groups": None,
        "features": None,
        "split_features": None,
        "max_depth": 3,
        "min_samples_leaf": 20,
        "alpha": 0.05,
        "max_candidates": 40,
        "search": "refined",
        "beam": 1,
        "partitioner": None,
        "output": None,
        "response": "auto",
        "scale": "response",
        "missing": "auto",
        "kinds": None,
        "max_samples": "auto",
        "confidence_level": 0.95,
        "holdout": "auto",
        "shared_curves": "auto",
        "n_jobs": None,
        "random_state": 0,
        "resources": None,
    }


def test_options_are_keywords_only():
    with pytest.raises(TypeError):
        paper(any_width, "ice-pdp", "individual")


def test_an_unknown_parameter_is_scikit_learns_own_error():
    with pytest.raises(ValueError, match="Invalid parameter 'max_deep'"):
        paper(any_width).set_params(max_deep=3)
    with pytest.raises(TypeError):
        paper(any_width, max_deep=3)


def test_set_params_changes_the_next_fit_and_not_this_one():
    X = rows()
    g = paper(sign_of_the_second).fit(X)
    before = g.partition_
    assert g.set_params(max_depth=0) is g
    assert g.partition_ is before
    assert len(g.fit(X).partition_) == 1


def test_a_model_set_after_the_fit_does_not_answer_for_the_fitted_one():
    X = rows()
    g = paper(sign_of_the_second).fit(X)
    before = g.evaluate(X).disagreement
    g.set_params(model=any_width)
    assert g.evaluate(X).disagreement == before


def test_clone_keeps_the_fitted_model_and_forgets_the_fit():
    X = rows()
    model = DecisionTreeRegressor(random_state=0).fit(X, target(X))
    g = paper(model, max_depth=1).fit(X)
    twin = clone(g)
    assert twin.model is model
    assert twin.max_depth == 1
    with pytest.raises(NotFittedError):
        twin.apply(X)
    assert same_tree(twin.fit(X), g)


def test_clone_copies_options_that_can_be_changed():
    g = paper(any_width, {"ice-pdp": 1.0, "sobol": 2.0}, split_features=["x0"])
    twin = clone(g)
    assert twin.question == g.question
    assert twin.question is not g.question
    assert twin.split_features is not g.split_features


@pytest.mark.parametrize("call", ["apply", "predict", "evaluate", "explain"])
def test_what_needs_a_fit_says_so(call):
    with pytest.raises(NotFittedError, match="Granite"):
        getattr(paper(any_width), call)(rows())


# copies ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question", [*gx.questions(), gx.question("cice-mplot", conditional=Conditional("exact"))]
)
@pytest.mark.parametrize(
    "copied", [lambda g: pickle.loads(pickle.dumps(g)), copy.deepcopy], ids=["pickle", "deepcopy"]
)
@pytest.mark.filterwarnings("ignore::granite_xai.BinWarning")
def test_copies_of_a_fit_answer_alike(question, copied):
    X = rows(60)
    y = target(X)
    g = paper(sign_of_the_second, question, min_samples_leaf=10).fit(X, y)
    twin = copied(g)
    new = rows(50, seed=7)
    assert same_tree(twin, g)
    assert str(twin.partition_) == str(g.partition_)
    np.testing.assert_array_equal(twin.apply(new), g.apply(new))
    np.testing.assert_array_equal(twin.predict(new), g.predict(new))
    pd.testing.assert_frame_equal(
        twin.explain(new, target(new)).frame(), g.explain(new, target(new)).frame()
    )
    pd.testing.assert_frame_equal(
        twin.evaluate(new, target(new)).frame(), g.evaluate(new, target(new)).frame()
    )


def test_the_copy_of_a_copy_can_be_fitted_again():
    X = pd.DataFrame(rows(), columns=COLUMNS)
    g = paper(sign_of_the_second).fit(X)
    again = pickle.loads(pickle.dumps(copy.deepcopy(g))).fit(X)
    assert same_tree(again, g)


# refits ---------------------------------------------------------------------------------------------------------------


def test_a_fit_that_fails_leaves_the_old_one():
    X = pd.DataFrame(rows(), columns=COLUMNS)
    g = paper(sign_of_the_second).fit(X)
    before = {name: value for name, value in vars(g).items() if name.endswith("_")}
    bad = X.copy()
    bad.iloc[3, 1] = np.nan
    with pytest.raises(InputError):
        g.fit(bad)
    g.set_params(model=lambda X: np.full(len(X), np.nan))
    with pytest.raises(ModelError):
        g.fit(X)
    after = {name: value for name, value in vars(g).items() if name.endswith("_")}
    assert before.keys() == after.keys()
    assert all(after[name] is before[name] for name in before)
    assert len(g.apply(X)) == len(X)


def test_an_interrupted_fit_leaves_the_old_one():
    def impatient(X):
        raise KeyboardInterrupt

    X = rows()
    g = paper(sign_of_the_second).fit(X)
    before = g.partition_
    g.set_params(model=impatient)
    with pytest.raises(KeyboardInterrupt):
        g.fit(X)
    assert g.partition_ is before


def test_a_refit_forgets_the_names_of_the_fit_before():
    X = rows()
    g = paper(sign_of_the_second).fit(pd.DataFrame(X, columns=COLUMNS))
    assert g.feature_names_in_.tolist() == COLUMNS
    g.fit(X)
    assert not hasattr(g, "feature_names_in_")
    assert [str(region.rule) for region in g.partition_] == ["x1 ≤ 0", "x1 > 0"]


# fitted names ---------------------------------------------------------------------------------------------------------


def test_fitted_names_have_the_types_of_the_public_face():
    X = pd.DataFrame(rows(), columns=COLUMNS)
    g = paper(sign_of_the_second).fit(X)
    assert g.n_features_in_ == 3
    assert g.feature_names_in_.dtype == object
    for name in ("disagreement_", "remaining_", "fidelity_", "global_fidelity_"):
        assert type(getattr(g, name)) is float, name
    assert g.disagreements_ == {"ice-pdp": g.disagreement_}
    assert g.fit(X) is g


def test_a_model_that_is_additive_in_each_region_leaves_nothing():
    g = paper(sign_of_the_second).fit(pd.DataFrame(rows(), columns=COLUMNS))
    assert [str(region.rule) for region in g.partition_] == ["work ≤ 0", "work > 0"]
    assert g.remaining_ < 1e-12
    assert g.fidelity_ == pytest.approx(1.0)
    assert g.global_fidelity_ < 0.9
    assert sum(region.disagreement for region in g.partition_) == pytest.approx(
        g.remaining_, abs=1e-15
    )


def test_several_questions_are_measured_in_shares():
    X = rows()
    g = paper(sign_of_the_second, ["ice-pdp", "sobol"]).fit(X)
    assert g.disagreement_ == 1.0
    alone = {
        name: paper(sign_of_the_second, name).fit(X).disagreement_ for name in ("ice-pdp", "sobol")
    }
    assert g.disagreements_ == pytest.approx(alone, rel=1e-12)


def test_weights_of_questions_count_only_in_proportion():
    X = rows()
    y = target(X)
    one = paper(any_width, {"ice-pdp": 1, "pfi-risk": 3}).fit(X, y)
    other = paper(any_width, {"ice-pdp": 10, "pfi-risk": 30}).fit(X, y)
    assert one.remaining_ == pytest.approx(other.remaining_, rel=1e-12)
    assert one.partition_.rules == other.partition_.rules


# diagnostics ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("question", REGRESSION)
def test_diagnostics_have_the_keys_of_the_public_face(question):
    X = rows()
    found = paper(any_width, question).fit(X, target(X)).diagnostics_
    keys = {
        "noise_floor",
        "thin_bins",
        "stop_reasons",
        "candidates",
        "model",
        "seconds",
        "bytes",
        "warnings",
        "seed",
    }
    assert keys <= found.keys()
    assert found["model"].keys() == {"calls", "rows", "seconds"}
    assert {"evaluations", "search", "total"} <= found["seconds"].keys()
    assert found["seconds"]["total"] >= found["seconds"]["evaluations"] + found["seconds"]["search"]
    assert found["warnings"] == []
    assert found["seed"] == 0


def test_diagnostics_have_their_keys_when_there_is_nothing_to_explain():
    found = paper(lambda X: np.zeros(len(X))).fit(rows()).diagnostics_
    keys = {
        "noise_floor",
        "thin_bins",
        "stop_reasons",
        "candidates",
        "model",
        "seconds",
        "bytes",
        "warnings",
        "seed",
    }
    assert keys <= found.keys()
    assert found["stop_reasons"] == ["nothing to explain"]


@pytest.mark.parametrize("batch_size", [None, 50])
def test_the_calls_of_the_model_are_counted_exactly(batch_size):
    """Five probes, F at the rows, and E_S with one row for each distinct value and row (1.2)."""
    X = rows(120)
    model = Counting()
    g = paper(model, resources=gx.Resources(batch_size=batch_size)).fit(X)
    assert g.diagnostics_["model"]["calls"] == len(model.sizes)
    assert g.diagnostics_["model"]["rows"] == sum(model.sizes)
    distinct = sum(len(np.unique(column)) for column in X.T)
    probes = 4 * min(64, batch_size or 64) + 7
    assert sum(model.sizes) == probes + len(X) + distinct * len(X)
    if batch_size:
        assert max(model.sizes) <= batch_size


def test_the_model_is_asked_once_for_several_questions_about_the_same_rows():
    X = rows()
    alone, together = Counting(), Counting()
    paper(alone, "ice-pdp").fit(X)
    paper(together, ["ice-pdp", "sobol", "variance", "coe"]).fit(X)
    assert together.sizes == alone.sizes


def test_the_surrogate_of_single_columns_needs_no_model():
    X = rows()
    model = Counting()
    g = paper(model).fit(X)
    asked = len(model.sizes)
    g.predict(X)
    g.apply(X)
    assert len(model.sizes) == asked


# rows, weights and seeds ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "question", ["ice-pdp", "shap-pdp", "sobol", "variance", "pfi-risk", "coe"]
)
def test_whole_weights_mean_repeated_rows(question):
    """Cuts and leaf minimum count rows, so both are set where they do not differ: every value is a cut."""
    X = rows(60)
    y = target(X)
    counts = np.random.default_rng(3).integers(1, 4, size=len(X))
    options = {"max_candidates": 100, "min_samples_leaf": 1, "max_depth": 1}
    weighted = paper(any_width, question, **options).fit(X, y, sample_weight=counts)
    repeated = paper(any_width, question, **options).fit(
        np.repeat(X, counts, axis=0), np.repeat(y, counts)
    )
    assert weighted.disagreement_ == pytest.approx(repeated.disagreement_, rel=1e-10)
    assert weighted.remaining_ == pytest.approx(repeated.remaining_, rel=1e-10)
    assert weighted.fidelity_ == pytest.approx(repeated.fidelity_, rel=1e-10)
    assert weighted.global_fidelity_ == pytest.approx(repeated.global_fidelity_, rel=1e-10)
    assert weighted.partition_.rules == repeated.partition_.rules
    assert [region.fraction for region in weighted.partition_] == pytest.approx(
        [region.fraction for region in repeated.partition_]
    )
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-10)


@pytest.mark.parametrize("question", REGRESSION)
def test_rows_of_weight_zero_are_left_out_first(question):
    X = rows(80)
    y = target(X)
    keep = np.random.default_rng(5).random(80) < 0.7
    # A value that only rows of weight 0 carry must not be asked about, nor be a cut.
    X[~keep, 0] = 99.0
    y[~keep] = 1e6
    one = paper(any_width, question, min_samples_leaf=5).fit(X, y, sample_weight=keep.astype(float))
    other = paper(any_width, question, min_samples_leaf=5).fit(X[keep], y[keep])
    assert same_tree(one, other)
    assert one.disagreement_ == other.disagreement_
    assert one.diagnostics_["model"]["rows"] == other.diagnostics_["model"]["rows"]


def test_the_scale_of_the_weights_does_not_matter():
    X = rows()
    weights = np.random.default_rng(2).random(len(X)) + 0.1
    one = paper(any_width).fit(X, sample_weight=weights)
    other = paper(any_width).fit(X, sample_weight=1024 * weights)
    assert same_tree(one, other)


def test_weights_are_about_rows_not_about_the_leaf_minimum():
    X = rows(60)
    g = paper(sign_of_the_second, min_samples_leaf=31).fit(X, sample_weight=np.full(60, 100.0))
    assert g.diagnostics_["stop_reasons"] == ["too few samples"]


def test_max_samples_draws_rows_and_every_figure_is_about_them():
    X = rows(200)
    g = paper(sign_of_the_second, max_samples=70, random_state=3).fit(X)
    assert sum(region.n_samples for region in g.partition_) == 70
    assert same_tree(g, paper(sign_of_the_second, max_samples=70, random_state=3).fit(X))
    assert len(g.apply(X)) == 200
    others = [
        paper(any_width, max_samples=70, random_state=s).fit(X).disagreement_ for s in range(3)
    ]
    assert len(set(others)) == 3


def test_max_samples_takes_target_and_weights_along():
    X = rows(200)
    y = target(X)
    weights = np.random.default_rng(4).integers(0, 3, size=200).astype(float)
    g = paper(any_width, "pfi-risk", max_samples=90, random_state=1).fit(X, y, weights)
    chosen = np.sort(
        np.random.default_rng(1).choice(np.flatnonzero(weights > 0), size=90, replace=False)
    )
    other = paper(any_width, "pfi-risk").fit(X[chosen], y[chosen], weights[chosen])
    assert same_tree(g, other)
    assert g.disagreement_ == other.disagreement_


def test_more_samples_than_rows_are_all_rows():
    X = rows()
    assert same_tree(paper(any_width, max_samples=10_000).fit(X), paper(any_width).fit(X))


def test_a_seed_may_be_a_whole_number_nothing_or_a_stream():
    X = rows(200)

    def fitted(state):
        return paper(any_width, max_samples=50, random_state=state).fit(X)

    assert fitted(np.int64(7)).diagnostics_["seed"] == 7
    one, other = fitted(np.random.RandomState(5)), fitted(np.random.RandomState(5))
    assert same_tree(one, other)
    assert one.diagnostics_["seed"] == other.diagnostics_["seed"]
    stream = np.random.RandomState(5)
    assert fitted(stream).diagnostics_["seed"] != fitted(stream).diagnostics_["seed"]
    drawn = fitted(None)
    assert same_tree(drawn, fitted(drawn.diagnostics_["seed"]))


@pytest.mark.parametrize("state", [0, None])
@pytest.mark.filterwarnings("ignore::granite_xai.BinWarning")
def test_numpys_global_stream_is_not_touched(state):
    X = rows()
    np.random.seed(1)  # noqa: NPY002 - this is the stream that must stay as it is
    before = np.random.get_state()[1:3]  # noqa: NPY002
    g = paper(any_width, ["cice-mplot", "shap-pdp"], max_samples=60, random_state=state).fit(X)
    g.explain(X)
    after = np.random.get_state()[1:3]  # noqa: NPY002
    np.testing.assert_array_equal(before[0], after[0])
    assert before[1] == after[1]


# tables ---------------------------------------------------------------------------------------------------------------

CONTAINERS = {
    "pandas": lambda X: pd.DataFrame(X, columns=COLUMNS),
    "polars": lambda X: pl.DataFrame(X, schema=COLUMNS),
    "pyarrow": lambda X: pa.table({name: X[:, i] for i, name in enumerate(COLUMNS)}),
    "numpy": lambda X: X,
    "list": lambda X: X.tolist(),
}
FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.Table,
    "numpy": pd.DataFrame,
    "list": pd.DataFrame,
}


def whichever(X):
    """The model of the other tests, for every container it may get."""
    if isinstance(X, pa.Table):
        X = X.to_pandas()
    return sign_of_the_second(X.to_numpy() if hasattr(X, "to_numpy") else X)


@pytest.mark.parametrize("library", CONTAINERS)
def test_frames_come_back_in_the_library_of_the_table(library):
    X = CONTAINERS[library](rows())
    g = paper(whichever).fit(X)
    for answer, columns in (
        (
            g.evaluate(X),
            "region rule n_samples fraction global_disagreement disagreement remaining",
        ),
        (g.explain(X), "region set explanation row value standard_error"),
    ):
        frame = answer.frame()
        assert type(frame) is FRAMES[library]
        names = frame.column_names if library == "pyarrow" else list(frame.columns)
        assert names == columns.split()


@pytest.mark.parametrize("library", CONTAINERS)
def test_the_result_does_not_depend_on_the_container(library):
    plain = paper(whichever).fit(CONTAINERS["pandas"](rows()))
    g = paper(whichever).fit(CONTAINERS[library](rows()))
    assert g.disagreement_ == plain.disagreement_
    assert g.remaining_ == plain.remaining_
    np.testing.assert_array_equal(
        g.apply(CONTAINERS[library](rows(seed=4))), plain.apply(CONTAINERS["pandas"](rows(seed=4)))
    )


def test_the_table_is_never_written_even_when_the_model_writes():
    def writes(X):
        answer = sign_of_the_second(X)
        X[:] = -1.0
        return answer

    X = rows()
    y = target(X)
    kept = X.copy(), y.copy()
    with pytest.warns(ModelWarning, match="M11"):
        g = paper(writes, "pfi-risk").fit(X, y)
    g.evaluate(X, y)
    g.explain(X, y)
    g.predict(X)
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(y, kept[1])


@pytest.mark.parametrize("kind", ["read-only", "Fortran order", "every other row", "big-endian"])
def test_unusual_arrays_are_read_and_not_written(kind):
    X = rows(120)
    unusual = {
        "Fortran order": np.asfortranarray(X),
        "every other row": np.repeat(X, 2, axis=0)[::2],
        "big-endian": X.astype(">f8"),
    }.get(kind, X.copy())
    unusual.flags.writeable = False
    g = paper(sign_of_the_second).fit(unusual)
    assert same_tree(g, paper(sign_of_the_second).fit(X))
    np.testing.assert_array_equal(unusual, X)


def test_row_labels_do_not_matter():
    X = pd.DataFrame(rows(), columns=COLUMNS)
    y = pd.Series(target(X.to_numpy()))
    odd = X.set_axis([7] * len(X), axis=0)
    g = paper(any_width, "pfi-risk").fit(odd, y.set_axis(odd.index))
    assert same_tree(g, paper(any_width, "pfi-risk").fit(X, y))
    assert len(g.explain(odd, y.to_numpy()).frame()) == 2 * 3 * len(np.unique(g.apply(odd)))


def test_what_a_fit_keeps_is_not_changed_by_writing_into_the_table_later():
    X, new = rows(), rows(seed=3)
    g = paper(sign_of_the_second).fit(X)
    before = g.predict(new), g.apply(new)
    X[:] = 0.0
    np.testing.assert_array_equal(g.predict(new), before[0])
    np.testing.assert_array_equal(g.apply(new), before[1])


def test_a_column_with_the_regions_may_be_added_to_the_table():
    X = pd.DataFrame(rows(), columns=COLUMNS)
    g = paper(sign_of_the_second).fit(X)
    before = g.predict(X)
    X["region"] = g.apply(X)
    X["hr"] = 0.0
    np.testing.assert_array_equal(g.predict(pd.DataFrame(rows(), columns=COLUMNS)), before)


# regions --------------------------------------------------------------------------------------------------------------

SHAPES = [(0, 1, 2), (1, 5, 10), (2, 20, 40), (3, 20, 40), (4, 3, 7), (3, 49, 40)]


@pytest.mark.parametrize("question", REGRESSION)
@pytest.mark.parametrize(("depth", "smallest", "cuts"), SHAPES)
def test_regions_respect_leaf_minimum_and_depth(question, depth, smallest, cuts):
    rng = np.random.default_rng(depth)
    X = np.column_stack(
        [rng.normal(size=150), rng.integers(0, 4, 150), rng.choice([0.0, 1.0], 150)]
    )
    y = rng.normal(size=150)
    g = paper(
        any_width,
        question,
        max_depth=depth,
        min_samples_leaf=smallest,
        max_candidates=cuts,
        alpha=0.0,
    ).fit(X, y)
    counts = [region.n_samples for region in g.partition_]
    assert sum(counts) == 150
    assert len(counts) == 1 or min(counts) >= smallest
    assert 1 <= len(counts) <= 2**depth
    assert g.remaining_ <= 1.0 + 1e-12


@pytest.mark.parametrize("question", REGRESSION)
def test_apply_gives_every_fitting_row_its_region(question):
    rng = np.random.default_rng(8)
    X = pd.DataFrame(
        {"a": rng.normal(size=150), "b": rng.integers(0, 9, 150), "c": rng.random(150) < 0.5}
    )
    g = paper(any_width, question, alpha=0.0, min_samples_leaf=5).fit(X, rng.normal(size=150))
    regions = g.apply(X)
    assert regions.dtype == np.intp
    assert np.bincount(regions).tolist() == [region.n_samples for region in g.partition_]
    for k, region in enumerate(g.partition_):
        np.testing.assert_array_equal(region.rule.contains(X), regions == k)
    assert (
        g.evaluate(X, rng.normal(size=150)).frame()["n_samples"].tolist()
        == np.bincount(regions).tolist()
    )


@pytest.mark.parametrize("question", ["ice-pdp", "sobol", "coe"])
def test_evaluating_the_fitting_rows_gives_the_fitted_figures(question):
    X = rows(150)
    g = paper(any_width, question, min_samples_leaf=10, alpha=0.01).fit(X)
    on_the_same = g.evaluate(X)
    assert on_the_same.global_disagreement == pytest.approx(g.disagreement_, rel=1e-12)
    assert on_the_same.remaining == pytest.approx(g.remaining_, rel=1e-10)
    frame = on_the_same.frame()
    assert frame["disagreement"].sum() == pytest.approx(on_the_same.disagreement, rel=1e-12)
    assert (frame["disagreement"] / g.disagreement_).tolist() == pytest.approx(
        [region.disagreement for region in g.partition_]
    )


def test_split_features_are_the_only_ones_in_rules():
    g = paper(any_width, split_features=["x1"], alpha=0.0).fit(rows())
    assert len(g.partition_) > 1
    assert all("x0" not in str(rule) and "x2" not in str(rule) for rule in g.partition_.rules)


def test_a_linear_model_has_one_region():
    X = rows()
    g = paper(LinearRegression().fit(X, target(X))).fit(X)
    assert (g.disagreement_, g.remaining_, len(g.partition_)) == (0.0, 0.0, 1)
    assert g.diagnostics_["stop_reasons"] == ["nothing to explain"]


def test_questions_about_different_sets_are_explained_in_one_table():
    """``coe`` compares all columns at once, ``ice-pdp`` each: every line names its own set."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    g = paper(lambda X: X[:, 0] * X[:, 1], ["ice-pdp", "coe"]).fit(X)
    found = g.explain(X).frame().groupby("explanation")["set"].unique()
    assert {name: list(sets) for name, sets in found.items()} == {
        "ice": ["x0", "x1"],
        "pdp": ["x0", "x1"],
        "prediction": ["x0:x1"],
        "additive": ["x0:x1"],
    }
