"""The same object before and after."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor

import granite_xai as gx
from granite_xai.base.errors import InputError, ModelError
from granite_xai.explanation.masking.bins import BinTree
from granite_xai.fitting.fitted_view import fitted_view
from granite_xai.partitioners import (
    Clusters,
    GivenRules,
)
from persistence.saved_objects import (
    fitted,
    model,
    table,
    target,
)
from persistence.shared import (
    MANY,
    NEW,
    QUESTIONS,
    assert_same_evaluation,
    assert_same_explanation,
)
from strategies import examples

pytestmark = pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")


@pytest.mark.parametrize("name", QUESTIONS)
@pytest.mark.parametrize(
    "data", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["without rows", "with rows"]
)
def test_a_loaded_granite_says_the_same_about_new_rows(saved, name, data):
    granite, path = saved(name)[0], saved(name)[1 + data]
    bare, whole = gx.load(path), gx.load(path, model=model)
    y = target(NEW)
    for loaded in (bare, whole):
        assert loaded.partition_ == granite.partition_
        assert str(loaded.partition_) == str(granite.partition_)
        np.testing.assert_array_equal(loaded.apply(NEW), granite.apply(NEW))
        np.testing.assert_array_equal(loaded.predict(NEW), granite.predict(NEW))
        for figure in (
            "disagreement_",
            "disagreements_",
            "remaining_",
            "fidelity_",
            "global_fidelity_",
        ):
            assert getattr(loaded, figure) == getattr(granite, figure)
        findings = {k: v for k, v in loaded.diagnostics_.items() if k != "loaded"}
        assert findings == granite.diagnostics_
        assert loaded.feature_names_in_.tolist() == list(NEW.columns)
    assert_same_evaluation(whole.evaluate(NEW, y), granite.evaluate(NEW, y))
    asked = {"fitting": NEW, "rows": MANY} if data else {"rows": MANY}
    for reference, rows in asked.items():
        both = (each.explain(rows, target(rows), reference=reference) for each in (whole, granite))
        assert_same_explanation(*both)


def test_saving_what_was_loaded_gives_the_same_file(saved, tmp_path):
    for name in ("ale", "cshap-shap", "median"):
        for path in saved(name)[1:]:
            for attached in (None, model):
                again = gx.save(
                    gx.load(path, attached), tmp_path / "again.json", "True" in path.name
                )
                assert again.read_bytes() == path.read_bytes()


def test_parameters_come_back_by_value(saved):
    for name, question in QUESTIONS.items():
        loaded = gx.load(saved(name)[1])
        assert loaded.question == question
        assert loaded.min_samples_leaf == 10
        assert loaded.model is None


def test_a_loaded_granite_can_be_fitted_again(saved):
    granite, path = saved("ice-pdp")[:2]
    again = gx.load(path, model=model).fit(table(), target(table()))
    assert again.partition_ == granite.partition_
    with pytest.raises(ModelError, match="M21"):
        gx.load(path).fit(table())


@pytest.mark.parametrize(
    "partitioner", [Clusters("ice", n_clusters=2), GivenRules(["a ≤ 0", "a > 0"])], ids=repr
)
def test_other_partitioners_and_what_they_learned_come_back(partitioner, tmp_path):
    granite = fitted("ice-pdp", partitioner=partitioner)
    loaded = gx.load(gx.save(granite, tmp_path / "a.json"), model=model)
    assert loaded.partitioner == partitioner
    assert loaded.partition_ == granite.partition_
    assert fitted_view(loaded).result.learned.keys() == fitted_view(granite).result.learned.keys()
    for name, value in fitted_view(granite).result.learned.items():
        np.testing.assert_equal(getattr(loaded, name), value)


def to_polars(frame):
    return pl.from_pandas(frame).with_columns(
        pl.col("o").cast(pl.Enum(["low", "mid", "high", "top"]))
    )


@pytest.mark.parametrize("convert", [to_polars, pa.Table.from_pandas], ids=["polars", "pyarrow"])
@pytest.mark.parametrize("question", ["ice-pdp", "ale"])
@pytest.mark.parametrize("data", [False, True], ids=["without rows", "with rows"])
def test_frames_of_other_libraries_come_back_in_their_library(convert, question, data, tmp_path):
    X, new = convert(table()), convert(NEW)
    granite = fitted(question, X)
    loaded = gx.load(gx.save(granite, tmp_path / "a.json", include_data=data), model=model)
    np.testing.assert_array_equal(loaded.predict(new), granite.predict(new))
    many = convert(MANY)
    assert_same_explanation(
        loaded.explain(many, reference="rows"), granite.explain(many, reference="rows")
    )
    path = gx.save(granite.evaluate(new), tmp_path / "b.json")
    assert type(gx.load(path).frame()) is type(X)


def test_arrays_come_back_as_arrays(tmp_path):
    X = np.random.default_rng(0).integers(-2, 3, size=(80, 3)).astype(np.float32)
    granite = gx.Granite(lambda X: X[:, 0] * np.sign(X[:, 1]) + X[:, 2], min_samples_leaf=10).fit(X)
    loaded = gx.load(gx.save(granite, tmp_path / "a.json", True), model=granite.model)
    np.testing.assert_array_equal(loaded.predict(X), granite.predict(X))
    assert fitted_view(loaded).result.table.native.dtype == np.float32
    assert not hasattr(loaded, "feature_names_in_")


def test_a_classifier_keeps_its_classes(tmp_path):
    X = np.random.default_rng(0).integers(-2, 3, size=(80, 2)).astype(float)
    y = np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")
    classifier = LogisticRegression().fit(X, y)
    granite = gx.Granite(classifier, "pfi-risk", min_samples_leaf=10).fit(X, y)
    path = gx.save(granite, tmp_path / "a.json")
    loaded = gx.load(path, model=classifier)
    assert_same_evaluation(loaded.evaluate(X, y), granite.evaluate(X, y))
    with pytest.raises(InputError, match="T05"):
        gx.load(path).evaluate(X, np.where(y == "yes", "ja", "nein"))


def test_missing_values_and_unseen_levels_go_where_they_went(tmp_path):
    X, new = table(), table(40, seed=2)
    X.loc[::7, "a"] = np.nan
    new.loc[::5, "a"] = np.nan
    new["c"] = pd.Categorical(
        ["w" if i % 4 == 0 else level for i, level in enumerate(new["c"].astype(object))]
    )

    def robust(X):
        return model(X.assign(a=X["a"].fillna(3.0)))

    granite = gx.Granite(robust, missing="allow", min_samples_leaf=10).fit(X)
    loaded = gx.load(gx.save(granite, tmp_path / "a.json"))
    with pytest.warns(gx.DataWarning, match="D15"):
        expected = granite.apply(new), granite.predict(new)
    with pytest.warns(gx.DataWarning, match="D15"):
        np.testing.assert_array_equal(loaded.apply(new), expected[0])
    with pytest.warns(gx.DataWarning, match="D15"):
        np.testing.assert_array_equal(loaded.predict(new), expected[1])


@pytest.mark.parametrize("data", [False, True])
def test_explanations_and_evaluations_come_back(saved, data, tmp_path):
    granite, y = saved("sage-risk")[0], target(NEW)
    for source in ("sage-risk", "sobol jansen"):
        explanation = saved(source)[0].explain(NEW, y)
        loaded = gx.load(gx.save(explanation, tmp_path / "a.json", data))
        assert_same_explanation(loaded, explanation)
        pd.testing.assert_frame_equal(loaded.frame(), explanation.frame())
    evaluation = granite.evaluate(NEW, y)
    loaded = gx.load(gx.save(evaluation, tmp_path / "a.json", data))
    assert_same_evaluation(loaded, evaluation)
    pd.testing.assert_frame_equal(loaded.frame(), evaluation.frame())


@pytest.mark.parametrize("question", ["shap-pdp", "cshap-shap"])
def test_attributions_from_the_paths_of_trees_are_resolved_again(question, tmp_path):
    """What the trees gave at the fit they give after loading; a function in their place is told so."""
    X = np.random.default_rng(0).normal(size=(120, 5))
    forest = RandomForestRegressor(5, max_depth=4, random_state=0).fit(
        X, X[:, 0] * X[:, 1] + X[:, 2]
    )
    granite = gx.Granite(forest, question).fit(X)
    path = gx.save(granite, tmp_path / "a.json")
    loaded = gx.load(path, model=forest)
    assert_same_evaluation(loaded.evaluate(X[:60]), granite.evaluate(X[:60]))
    assert_same_explanation(
        loaded.explain(X[:60], reference="rows"), granite.explain(X[:60], reference="rows")
    )
    with pytest.raises(ModelError, match="planned from the model's trees"):
        gx.load(path, model=lambda X: forest.predict(X)).evaluate(X[:60])


def test_sampled_effects_are_drawn_again_as_they_were(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 14))

    def wide(X):
        return X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] * X[:, 4]

    granite = gx.Granite(wide, "shap-pdp", resources=gx.Resources(max_evaluations=300_000)).fit(X)
    loaded = gx.load(gx.save(granite, tmp_path / "a.json"), model=wide)
    sides = [fitted_view(fit).result.comparisons[0].first for fit in (granite, loaded)]
    assert 8 <= len(sides[0].draws) < 64
    assert sides[0].draws == sides[1].draws
    assert_same_explanation(
        loaded.explain(X[:30], reference="rows"), granite.explain(X[:30], reference="rows")
    )


cells = st.sampled_from([-2.5, -1.0, 0.0, 0.1, 1 / 3, 7.0])


@pytest.mark.filterwarnings("ignore::granite_xai.base.errors.GraniteWarning")
@examples(30)
@given(
    rows=st.lists(st.tuples(cells, cells, st.sampled_from("uvw")), min_size=12, max_size=24),
    seed=st.integers(0, 9),
)
def test_random_fits_come_back_as_they_were(rows, seed, tmp_path_factory):
    X = pd.DataFrame(rows, columns=["p", "q", "r"]).astype({"r": "category"})
    weights = np.random.default_rng(seed).normal(size=4)

    def random_model(X):
        level = X["r"].astype(object).map({"u": -1.0, "v": 0.5, "w": 2.0}).to_numpy(dtype=float)
        p, q = X["p"].to_numpy(), X["q"].to_numpy()
        return weights[0] * p * q + weights[1] * level * p + weights[2] * (q > 0) + weights[3]

    question = ("ice-pdp", "mplot-pdp", "ale", "cfi-pfi")[seed % 4]
    y = np.arange(len(X), dtype=float) % 3
    granite = gx.Granite(
        random_model, question, min_samples_leaf=2, alpha=0.0, search="greedy"
    ).fit(X, y)
    path = tmp_path_factory.mktemp("random") / "a.json"
    loaded = gx.load(gx.save(granite, path, include_data=bool(seed % 2)), model=random_model)
    assert loaded.partition_ == granite.partition_
    np.testing.assert_array_equal(loaded.apply(X), granite.apply(X))
    np.testing.assert_array_equal(loaded.predict(X), granite.predict(X))
    assert_same_evaluation(loaded.evaluate(X, y), granite.evaluate(X, y))


def test_the_tree_behind_conditional_bins_is_read_as_scikit_learn_reads_it(tmp_path):
    """Ranks are small whole numbers; here also cells that float32 rounds onto a threshold."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    grown = DecisionTreeRegressor(max_leaf_nodes=10, random_state=0).fit(
        X, X[:, 0] * X[:, 1] + X[:, 2]
    )
    plain = BinTree.of(grown)
    edge = np.repeat(X[:1], 30, axis=0)
    edge[:, 0] = grown.tree_.threshold[0] * (1 + np.linspace(-1e-7, 1e-7, 30))
    for rows in (X, edge):
        np.testing.assert_array_equal(plain.apply(rows), grown.apply(rows))
