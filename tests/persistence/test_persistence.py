"""save and load: the same object before and after, nothing but data in the file, and F04 to F10 for what is not."""

from __future__ import annotations

import copy
import json
import os
import pickle
import tracemalloc
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor

import granite_xai as gx
from granite_xai.base.errors import FormatError, InputError, ModelError, ModelWarning
from granite_xai.base.files import parse_json
from granite_xai.base.files.cells import read_cells, write_cells
from granite_xai.base.typing import BoolArray, Coalition, FloatArray
from granite_xai.compute import Resources
from granite_xai.explanation.influence import Interactions, Joint
from granite_xai.explanation.interaction import Partial
from granite_xai.explanation.masking import MASKINGS, Baseline, Conditional
from granite_xai.explanation.masking.bins import BinTree
from granite_xai.fitting.new_rows import fitted_view
from granite_xai.partitioners import (
    AllExcept,
    Clusters,
    Cohorts,
    GivenRules,
    Ice,
    RepidTree,
    Subgroups,
    Tree,
)
from granite_xai.persistence import OLDEST, VERSION
from granite_xai.persistence.fingerprint import synthetic_rows
from granite_xai.persistence.fitted import structure
from granite_xai.tables import (
    Column,
    outline_from_dict,
    outline_to_dict,
    read_table,
    rows_from_dict,
    rows_to_dict,
)
from persistence.saved_objects import (
    FIXTURES,
    MODELS,
    RULES,
    fitted,
    model,
    other_model,
    table,
    target,
)
from strategies import examples

pytestmark = pytest.mark.filterwarnings("ignore::granite_xai.base.errors.BinWarning")


def baseline(row):
    sides = (gx.Explainer(Baseline(row), interaction=kind) for kind in ("full", "pure"))
    return gx.Disagreement(*sides)


QUESTIONS = {
    "ice-pdp": "ice-pdp",
    "shap-pdp": "shap-pdp",
    "mplot-pdp": "mplot-pdp",
    "cshap-shap": "cshap-shap",
    "sobol jansen": gx.question("sobol", total="jansen"),
    "cfi-pfi": "cfi-pfi",
    "sage-risk": gx.question("sage-risk", risk_loss="absolute", pointwise=True),
    "coe": "coe",
    "ale": "ale",
    "exact bins": gx.question("cice-mplot", conditional=Conditional("exact")),
    "median": baseline("median"),
    "mean": baseline("mean"),
    "two": {"ice-pdp": 2, "pfi-risk": 1},
    "objective": gx.Objective(
        ["ice-pdp", gx.question("sobol")], weighting="uniform", normalize="variance"
    ),
}
NEW, MANY = table(40, seed=1), table(200, seed=1)
CURRENT = FIXTURES / f"version-{VERSION}"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Each question fitted once and saved twice: without its rows, and with them."""
    folder, made = tmp_path_factory.mktemp("saved"), {}

    def of(name):
        if name not in made:
            granite = fitted(QUESTIONS[name])
            paths = [
                gx.save(granite, folder / f"{name}-{data}.json", data) for data in (False, True)
            ]
            made[name] = (granite, *paths)
        return made[name]

    return of


def edited(path, folder, change):
    """A copy of a saved file after a change of its content."""
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    new = folder / "edited.json"
    new.write_text(json.dumps(data), encoding="utf-8")
    return new


def assert_same_explanation(one, other):
    assert one.sets == other.sets
    for mine, theirs in zip(one.parts, other.parts, strict=True):
        assert (mine.region, mine.name, mine.base.tolist()) == (
            theirs.region,
            theirs.name,
            theirs.base.tolist(),
        )
        np.testing.assert_array_equal(mine.values, theirs.values)
        np.testing.assert_array_equal(mine.errors, theirs.errors)
        assert (mine.rows is None) == (theirs.rows is None)
        assert mine.rows is None or np.array_equal(mine.rows, theirs.rows)


def assert_same_evaluation(one, other):
    assert (one.rules, one.counts) == (other.rules, other.counts)
    assert (one.disagreement, one.global_disagreement) == (
        other.disagreement,
        other.global_disagreement,
    )
    np.testing.assert_array_equal(one.regional, other.regional)
    np.testing.assert_array_equal(one.by_region, other.by_region)


# ------------------------------------------------------------------------------------------------------- before, after


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


@pytest.mark.parametrize(
    "options",
    [
        {"question": "ice-pdp"},
        {"question": ["cshap-shap", "pfi-risk"], "alpha": "auto"},
        {"question": "ice-pdp", "holdout": 0.5},
        {"question": "ice-pdp", "partitioner": Clusters("ice", n_clusters=2)},
    ],
    ids=str,
)
@pytest.mark.parametrize("data", [False, True], ids=["without rows", "with rows"])
def test_N04_equal_fits_save_equal_bytes_but_for_their_times(options, data, tmp_path):
    """The seconds of a fit stand at the end; without them two fits cannot be told apart, also by checksum."""
    fits = [fitted(X=table(80), **options) for _ in range(2)]
    plain = [gx.save(g, tmp_path / f"{i}.json", data).read_bytes() for i, g in enumerate(fits)]
    assert plain[0] != plain[1]
    checksums = {json.loads(raw)["sha256"] for raw in plain}
    assert len(checksums) == 1
    bare = [
        gx.save(g, tmp_path / f"{i}.json", data, reproducible=True).read_bytes()
        for i, g in enumerate(fits)
    ]
    assert bare[0] == bare[1]
    assert b'"seconds"' not in bare[0]
    assert json.loads(bare[0])["sha256"] in checksums
    loaded = gx.load(tmp_path / "0.json")
    assert "seconds" not in loaded.diagnostics_
    assert "Seconds" in loaded.report().html()


def test_F04_times_that_are_none_are_refused(saved, tmp_path):
    for times in ([], {"seconds": "long"}, {"warnings": {"seconds": 1}}, {"seconds": {"a": [1]}}):
        path = edited(saved("ice-pdp")[1], tmp_path, replace_in("times", value=times))
        with pytest.raises(FormatError, match="F04: times"):
            gx.load(path, verify=False)
    path = edited(saved("ice-pdp")[1], tmp_path, replace_in("more", value=1))
    with pytest.raises(FormatError, match="times are not the last entry"):
        gx.load(path, verify=False)


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
    "value",
    [
        None,
        ("interaction", 3),
        {"body": ["a", 1], 3: ("b",)},
        [("a", "b"), ("b", "c")],
        float("inf"),
        np.float64(0.5),
        Joint({"g": ["a", "b"]}, ["g"]),
        Interactions(3, [("a", "b", "c")]),
        Partial("fsii"),
        Baseline({"a": 1.5, "c": "x", "d": np.datetime64("2020-01-01T00:00:01", "s")}),
        Tree(max_depth=5, split_features=AllExcept("a")),
        Clusters(Ice("a", points=5), n_clusters=3),
        Cohorts(gx.Explainer(interaction="pure")),
        GivenRules(["a ≤ 1", "a > 1"]),
        RepidTree(features=("a",), effect="ale"),
        Subgroups("a"),
        gx.Resources(batch_size=7),
    ],
    ids=repr,
)
def test_values_survive_the_file(value):
    written = json.loads(json.dumps(structure().write(value, Any, "value"), allow_nan=False))
    assert structure().read(written, Any, "value") == value


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
    np.testing.assert_array_equal(loaded.predict(X, exact=True), granite.predict(X, exact=True))
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
def test_round_trips_of_random_fits(rows, seed, tmp_path_factory):
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


# ------------------------------------------------------------------------------------------------------------- tables

TYPED = pd.DataFrame(
    {
        "int8": np.array([1, -2, 3], dtype="i1"),
        "uint64": np.array([2**53, 1, 0], dtype="u8"),
        "float32": np.array([0.1, np.nan, 2.5], dtype="f4"),
        "bool": [True, False, True],
        "text": ["a", None, "ü"],
        "object": pd.Series(["a", np.nan, "b"], dtype=object),
        "Int64": pd.array([1, None, 3], dtype="Int64"),
        "Float32": pd.array([1.5, None, 3], dtype="Float32"),
        "boolean": pd.array([True, None, False], dtype="boolean"),
        "arrow": pd.array([1, None, 3], dtype="int64[pyarrow]"),
        "category": pd.Categorical(["x", None, "y"], categories=["y", "x", "never"]),
        "numbers": pd.Categorical([3, 1, 3], categories=[3, 2, 1], ordered=True),
        "date": pd.to_datetime(["2020-01-01 00:00:00.5", None, "2021-05-05 06:07:08.123456"]),
        "zone": pd.to_datetime(["2020-01-01", None, "2021-05-05"], utc=True).tz_convert(
            "Europe/Berlin"
        ),
        "duration": pd.to_timedelta(["1 day", None, "2 h"]),
    }
)


def through_a_file(read):
    data = {"table": outline_to_dict(read, grids=True), "rows": rows_to_dict(read)}
    data = json.loads(json.dumps(data, allow_nan=False))
    return rows_from_dict(data["rows"], outline_from_dict(data["table"], "table"), "rows")


@pytest.mark.parametrize("name", TYPED.columns)
def test_pandas_columns_keep_dtype_categories_and_missing_cells(name):
    X = TYPED[[name]]
    pd.testing.assert_frame_equal(through_a_file(read_table(X, missing="allow")).native, X)


@pytest.mark.parametrize("dtype", ["f2", ">f8", "i2", "u1", "?", "U3", "O", "M8[D]", "m8[ns]"])
def test_arrays_keep_their_dtype(dtype):
    X = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    found = through_a_file(read_table(X, missing="allow")).native
    np.testing.assert_array_equal(found, X)
    assert (
        found.dtype == X.dtype.newbyteorder("=") or found.dtype.kind == "U"
    )  # as wide as its longest text


def test_a_dtype_that_no_file_holds_is_refused_by_name(tmp_path):
    X = table().astype({"a": np.longdouble})
    granite = fitted("ice-pdp", X)
    with pytest.raises(InputError, match=r"column 'a' \(index 0\) has dtype") as caught:
        gx.save(granite, tmp_path / "a.json", include_data=True)
    assert caught.value.code == "F08"
    path = gx.save(
        granite, tmp_path / "a.json"
    )  # without rows there is nothing that could not be held
    with pytest.warns(ModelWarning, match="F09.*not known"):
        loaded = gx.load(path, model=model)
    np.testing.assert_array_equal(loaded.predict(NEW), granite.predict(NEW))


# ---------------------------------------------------------------------------------------------------------- the cases


def test_F01_F03_a_failed_save_leaves_the_file_that_was_there(saved, tmp_path, monkeypatch):
    path = gx.save(saved("ice-pdp")[0].partition_, tmp_path / "a.json")
    before = path.read_bytes()
    with pytest.raises(InputError, match="F08"):
        gx.save(fitted(gx.question("ice-pdp", loss=np.square)), path)
    assert path.read_bytes() == before
    gx.save(saved("coe")[0].partition_, path)
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


@pytest.mark.parametrize("name", ["partition", "explanation", "evaluation", "granite"])
def test_F04_a_truncated_or_empty_file_is_a_format_error(name, tmp_path):
    whole = (CURRENT / f"{name}.json").read_bytes().rstrip()
    path = tmp_path / "a.json"
    for end in {0, 1, 20, len(whole) // 2, len(whole) - 1}:
        path.write_bytes(whole[:end])
        with pytest.raises(FormatError, match=r"F04: .*a\.json"):
            gx.load(path)


def replace_in(*way, value):
    def change(data):
        for key in way[:-1]:
            data = data[key]
        data[way[-1]] = value

    return change


WRONG = {
    "no schema": (("schema",), None, "schema"),
    "other schema": (("schema",), "granite-xai/estimator", "schema"),
    "version 0": (("version",), 0, "version 0"),
    "parameters": (("granite", "parameters", "modell"), 1, "modell"),
    "operator": (("granite", "parameters", "influence"), {"type": "Popen"}, r"influence\.type"),
    "unknown field": (
        ("granite", "parameters", "influence"),
        {"type": "Joint", "groups": {"tuple": []}, "x": 1},
        "'x'",
    ),
    "missing field": (
        ("granite", "parameters", "influence"),
        {"type": "Joint"},
        "influence has no entry 'groups'",
    ),
    "type of a field": (
        ("granite", "parameters", "partitioner"),
        {"type": "Tree", "beam": 1.5},
        r"partitioner\.beam",
    ),
    "truth for a number": (
        ("granite", "parameters", "partitioner"),
        {"type": "Tree", "beam": True},
        r"\.beam",
    ),
    "option": (
        ("granite", "parameters", "resources"),
        {"type": "Resources", "dtype": "f"},
        "dtype",
    ),
    "no limits": (("granite", "parameters", "resources"), {"type": "Tree"}, "resources"),
    "child out of range": (
        ("granite", "fitted", "partition", "nodes", 0, "children"),
        [1, 99],
        "children",
    ),
    "cyclic child": (
        ("granite", "fitted", "partition", "nodes", 0, "children"),
        [0, 2],
        "children",
    ),
    "column": (("granite", "fitted", "partition", "nodes", 0, "column"), "zz", "column"),
    "node": (("granite", "fitted", "partition", "nodes", 0, "extra"), 1, r"nodes\[0\] has 'extra'"),
    "path": (("table",), "../../etc/passwd", "table"),
    "kind": (("table", "columns", 0, "kind"), "callable", "kind"),
    "dtype": (("table", "columns", 0, "levels", "array", 0), "V1000000000", "dtype"),
    "levels": (("table", "columns", 0, "levels", "array", 1), [2.0, 1.0], "levels"),
    "curve": (
        ("granite", "fitted", "surrogate", "regions", 0, "curves", 0, "effects"),
        [0.0],
        "effects",
    ),
    "hole in a curve": (
        ("granite", "fitted", "surrogate", "regions", 0, "curves", 0, "effects", 1),
        None,
        "effects",
    ),
    "curve column": (
        ("granite", "fitted", "surrogate", "regions", 0, "curves", 0, "column"),
        6,
        "column",
    ),
    "players": (("granite", "fitted", "surrogate", "effects", 0), [], "effects"),
    "coalition": (("granite", "fitted", "surrogate", "effects", 0), ["99"], r"effects\[0\]"),
    "coalition text": (("granite", "fitted", "surrogate", "effects", 0), ["1 x"], r"effects\[0\]"),
    "questions": (("granite", "questions"), [], "questions"),
    "pairs": (("granite", "questions", 0, "pairs"), [10**6, 0], r"questions\[0\]"),
    "loss": (
        ("granite", "parameters", "question"),
        {"type": "Disagreement", "loss": "os.system"},
        "question",
    ),
    "no question": (("granite", "parameters", "question"), ["ice-pdp", "os.system"], "question"),
    "region": (("granite", "fitted", "surrogate", "regions"), [], "regions"),
    "roots": (("granite", "fitted", "roots"), [1.0], "roots"),
    "unknown result": (("granite", "fitted", "predictor"), None, "predictor"),
    "rows without rows": (("granite", "fitted", "weights"), [1.0], "weights"),
    "learned": (("granite", "fitted", "learned"), {"predict": 1}, "learned"),
    "dunder": (("granite", "fitted", "learned"), {"__class__": 1}, "learned"),
    "bins": (("granite", "fitted", "reference", "bins"), [], "reference"),
    "remaining": (
        ("granite", "fitted", "remaining"),
        {"number": "nan"},
        "remaining is not a finite number",
    ),
    "fidelity": (
        ("granite", "fitted", "fidelity"),
        {"number": "nan"},
        r"\.fidelity is not a finite number",
    ),
    "global fidelity": (
        ("granite", "fitted", "global_fidelity"),
        {"number": "inf"},
        "global_fidelity is not",
    ),
    "predictions": (("granite", "model", "predictions"), [0.0], "model"),
    "seed": (("granite", "diagnostics", "seed"), "1", "seed"),
}


@pytest.mark.parametrize(("way", "value", "place"), WRONG.values(), ids=WRONG)
def test_F04_F05_what_is_wrong_is_named_by_its_place(way, value, place, tmp_path):
    path = edited(CURRENT / "granite.json", tmp_path, replace_in(*way, value=value))
    with pytest.raises(FormatError, match=place) as caught:
        gx.load(path, verify=False)
    assert caught.value.code in ("F04", "F05")


FITTED = ("granite", "fitted")
FOUND = ("granite", "diagnostics")
FAILED_LATER = {
    "splits": ("held-out", (*FOUND, "splits"), 15),
    "a split": ("held-out", (*FOUND, "splits"), [{"mapping": [["column", "b"]]}]),
    "rows": ("granite", (*FOUND, "rows"), False),
    "steps": ("granite", (*FOUND, "rows", "mapping", 2, 1), [{"mapping": [["search", 3]]}]),
    "usage": ("granite", (*FOUND, "model", "mapping"), [["calls", 3]]),
    "cause": ("granite", (*FOUND, "cause"), True),
    "cause of a question": ("granite", (*FOUND, "cause", "mapping", 0, 1), "pairs"),
    "chance": ("outputs", (*FOUND, "chance"), "str"),
    "name of an output": ("outputs", ("granite", "outputs", 1, "parameters", "output"), "other"),
    "seconds": ("granite", ("times", "seconds"), 2),
    "seconds of the model": ("granite", ("times", "model", "seconds"), {"a": 1}),
    "curves": ("granite", (*FITTED, "surrogate", "regions", 0, "curves"), []),
    "curves of all rows": ("granite", (*FITTED, "everywhere", "curves"), []),
    "effects of all rows": ("granite", (*FITTED, "everywhere", "curves", 1, "effects"), [0.0]),
    "edges": ("granite-with-data", (*FITTED, "reference", "steps", 1, 1, "edges", 2), 0),
    "order": ("granite", ("table", "columns", 3, "order", 2), "other"),
    "confidence level": ("held-out", (*FITTED, "estimate", "confidence_level"), 1.0),
    "interval with one end": ("held-out", (*FITTED, "estimate", "high"), None),
    "numbers for a kind": (
        "evaluation",
        ("table", "columns", 3, "kind"),
        {"array": ["float64", []]},
    ),
    "sets of a part": ("explanation", ("explanation", "parts", 0, "sets"), [["a"]]),
    "numbers for a table": ("explanation", ("explanation", "table"), [0.5] * 80),
}


@pytest.mark.parametrize(("name", "way", "value"), FAILED_LATER.values(), ids=FAILED_LATER)
def test_F04_what_would_fail_when_it_is_used_is_refused_when_it_is_loaded(
    name, way, value, tmp_path
):
    """Each of these once loaded, and ended in a bare error of Python when it was printed, applied or evaluated."""
    path = edited(CURRENT / f"{name}.json", tmp_path, replace_in(*way, value=value))
    with pytest.raises(FormatError, match="F04"):
        gx.load(path, verify=False)


def test_F09_the_oldest_files_do_not_say_how_many_rows_are_needed():
    with pytest.raises(InputError, match="F09: the file does not say which rows searched"):
        gx.load(FIXTURES / "version-2" / "granite.json").rows_needed()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_F05_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    for path in (tmp_path / "pipe.json", tmp_path, Path("/dev/null")):
        with pytest.raises(FormatError, match="F05: .* is not a regular file"):
            gx.load(path)


def test_F04_a_baseline_has_one_row_for_each_reference(saved, tmp_path):
    def doubled(data):
        for column in data["granite"]["fitted"]["reference"]["baselines"][0][1]:
            column["cells"] = 2 * column["cells"]

    path = edited(saved("median")[1], tmp_path, doubled)
    with pytest.raises(FormatError, match="one row for each reference"):
        gx.load(path, verify=False)


def test_F05_questions_with_an_absurd_number_of_terms_are_refused_before_they_are_resolved(
    tmp_path,
):
    X = np.random.default_rng(0).normal(size=(30, 40))
    path = gx.save(gx.Granite(lambda X: X[:, 0] * X[:, 1], max_depth=1).fit(X), tmp_path / "a.json")
    for name, value in {
        "influence": {"tuple": ["interaction", 20]},
        "question": "shap-pdp",
    }.items():
        wrong = edited(path, tmp_path, replace_in("granite", "parameters", name, value=value))
        with pytest.raises(FormatError, match="F05: granite.questions have more than"):
            gx.load(wrong, verify=False)


TREE = {
    "feature": [0, 0, 0],
    "threshold": [0.5, 0.0, 0.0],
    "left": [1, -1, -1],
    "right": [2, -1, -1],
}


@pytest.mark.parametrize(
    "change",
    [
        {"left": [0, -1, -1]},
        {"left": [2, -1, -1]},
        {"right": [3, -1, -1]},
        {"right": [-1, -1, -1]},
        {"left": [1, 2, -1], "right": [2, -1, -1]},
        {"threshold": [0.5]},
        {"threshold": [None, 0.0, 0.0]},
        {"feature": [2, 0, 0]},
        {"feature": [-1, 0, 0]},
        {"left": [-1, -1, -1], "right": [-1, -1, -1]},
        {"fitted": [1, 0]},
        {"fitted": []},
    ],
    ids=repr,
)
def test_F05_a_bin_tree_with_cycles_or_loose_nodes_is_refused(change):
    read = read_table([[0.0, 1.0], [1.0, 0.0]], missing="error")
    form = structure(read)

    def whole(fitted=(0, 1), **change):
        return {"type": "TreeBins", "fitted": list(fitted), "tree": {**TREE, **change}}

    bins = form.read(whole(), Any, "bins")
    assert bins(read).tolist() == [1, 2]
    assert form.write(bins, Any, "bins") == whole()
    with pytest.raises(FormatError):
        form.read(whole(**change), Any, "bins")


def test_F05_many_conditions_on_one_way_cost_no_time(tmp_path):
    condition = {
        "type": "interval",
        "low": None,
        "high": 1.0,
        "order": None,
        "others": False,
        "missing": False,
    }
    many = [{"column": f"x{i}", "condition": condition} for i in range(20_000)]
    region = {
        "rule": {"conditions": many},
        "n_samples": 0,
        "fraction": None,
        "disagreement": None,
        "stop_reason": "",
    }
    data = {"type": "partition", "names": [], "regions": [region]}
    path = tmp_path / "a.json"
    head = {"schema": "granite-xai/partition", "version": VERSION, "package": "0"}
    path.write_text(json.dumps({**head, "partition": data}))
    assert len(gx.load(path, verify=False)[0].rule.conditions) == 20_000
    many[1]["column"] = "x0"
    path.write_text(json.dumps({**head, "partition": data}))
    with pytest.raises(FormatError, match="has a condition already"):
        gx.load(path, verify=False)


def test_F05_long_lists_at_many_nodes_are_refused():
    order = [f"label {i}" for i in range(5000)]
    leaf = {"n_samples": 1, "fraction": 0.0, "disagreement": 0.0, "stop_reason": ""}
    condition = {
        "type": "interval",
        "low": None,
        "high": "label 1",
        "order": order,
        "others": False,
        "missing": False,
    }
    nodes = [
        {**leaf, "conditions": [condition] * 2, "column": "x", "children": [1, 2]},
        *[leaf] * 5000,
    ]
    with pytest.raises(FormatError, match="F05"):
        gx.Partition.from_dict({"type": "partition", "names": ["x"], "nodes": nodes})


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_F06_a_pickled_granite_is_refused(saved, tmp_path, protocol):
    path = tmp_path / "a.json"
    path.write_bytes(pickle.dumps(saved("ice-pdp")[0], protocol=protocol))
    with pytest.raises(FormatError, match=r"F06: .*pickle can run code; use granite_xai\.load"):
        gx.load(path)


def test_F07_a_newer_file_is_refused_with_both_versions(saved, tmp_path):
    def newer(data):
        data.update(version=VERSION + 1, package="99.0", schema="granite-xai/something-new")

    path = edited(saved("ice-pdp")[1], tmp_path, newer)
    with pytest.raises(FormatError) as caught:
        gx.load(path)
    assert caught.value.code == "F07"
    for part in (f"version {VERSION + 1}", "99.0", gx.__version__, f"up to {VERSION}"):
        assert part in str(caught.value)


def test_F07_a_file_of_0_1_is_refused_with_both_versions(saved, tmp_path):
    path = edited(
        saved("ice-pdp")[1], tmp_path, lambda data: data.update(version=1, package="0.1.0")
    )
    with pytest.raises(FormatError, match="version 1 of") as caught:
        gx.load(path)
    assert caught.value.code == "F07"
    for part in ("0.1.0", gx.__version__, f"from {OLDEST} up to {VERSION}", "that wrote it"):
        assert part in str(caught.value)


EVERY_FIXTURE = sorted(FIXTURES.glob("version-*/*.json"))


def test_F07_a_granite_with_a_unit_of_its_figures_is_read_if_the_unit_is_one(saved, tmp_path):
    """Version 2 of the files: very large and very small predictions could be told in units of a power of two."""
    fitted, path, _ = saved("ice-pdp")
    ordinary = edited(path, tmp_path, lambda data: data["granite"]["fitted"].update(exponent=0))
    assert gx.load(ordinary, verify=False).disagreement_ == fitted.disagreement_
    scaled = edited(path, tmp_path, lambda data: data["granite"]["fitted"].update(exponent=-564))
    with pytest.raises(FormatError, match="F07: .*no longer explained") as caught:
        gx.load(scaled, verify=False)
    assert "fit again" in caught.value.hint


def test_F07_an_evaluation_with_shares_of_its_own_is_read_if_it_has_none(saved, tmp_path):
    """Beside figures in units of a power of two stood the shares that these no longer gave."""
    evaluation = saved("ice-pdp")[0].evaluate(NEW)
    path = gx.save(evaluation, tmp_path / "evaluation.json")
    ordinary = edited(path, tmp_path, lambda data: data["evaluation"].update(ratios=None))
    assert gx.load(ordinary, verify=False).remaining == evaluation.remaining
    scaled = edited(path, tmp_path, lambda data: data["evaluation"].update(ratios=[0.1] * 600))
    with pytest.raises(FormatError, match="F07: .*no longer explained"):
        gx.load(scaled, verify=False)


def test_F07_there_is_a_fixture_of_every_kind_for_every_version():
    for version in range(OLDEST, VERSION + 1):
        kinds = {path.stem for path in EVERY_FIXTURE if path.parent.name == f"version-{version}"}
        assert kinds >= {
            "partition",
            "rules",
            "explanation",
            "evaluation",
            "granite",
            "granite-with-data",
            "classifier",
            "outputs",
            "interaction",
            "baseline",
            "held-out",
            "clusters",
        }


@pytest.mark.filterwarnings("ignore::granite_xai.base.errors.ModelWarning")
@pytest.mark.parametrize("path", EVERY_FIXTURE, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_F07_files_of_every_version_are_loaded_forever(path):
    """The numbers are those of the day they were written; the rules do not depend on rounding."""
    data = json.loads(path.read_text(encoding="utf-8"))
    loaded = gx.load(path)
    content = data[data["schema"].removeprefix("granite-xai/")]
    if isinstance(loaded, gx.Granite):
        assert loaded.remaining_ == content["fitted"]["remaining"]
        partition = loaded.partition_
        asked = MODELS.get(path.stem, model)
        whole = gx.load(path, model=asked)
        assert whole.evaluate(NEW, target(NEW)).disagreement >= 0
        if path.stem not in (
            "interaction",
            "outputs",
        ):  # their curves ask the model, or are several
            assert whole.explain_row(NEW.iloc[[0]]).prediction == _answers(asked, NEW)[0]
            assert np.corrcoef(loaded.predict(NEW), _answers(asked, NEW))[0, 1] > 0.6
        if "with-data" in path.stem:
            exact = whole.predict(NEW, exact=True)
            assert np.corrcoef(exact, loaded.predict(NEW))[0, 1] > 0.99
        output = whole.outputs_[0] if whole.outputs_ else None
        assert len(whole.explain(MANY, target(MANY), reference="rows", output=output).frame()) > 0
    elif isinstance(loaded, gx.Partition):
        partition = loaded
        if path.stem == "rules":
            assert [str(rule) for rule in loaded.rules] == RULES
    else:
        assert len(loaded.frame()) > 0
        return
    assert str(partition)
    assert set(partition.apply(NEW)) <= set(range(len(partition)))
    assert len(partition) > 1 or path.stem in ("baseline", "interaction")


def test_F09_without_rows_an_interaction_fit_evaluates_and_says_what_it_cannot_predict():
    """The message is about predictions: nobody who calls evaluate or predict has passed exact=True."""
    loaded = gx.load(FIXTURES / "version-2" / "interaction.json", model=model)
    estimate = loaded.evaluate(NEW).estimate
    assert np.isnan(estimate.fidelity)
    assert np.isnan(estimate.global_fidelity)
    with pytest.raises(InputError, match="F09: a prediction from effects of several") as caught:
        loaded.predict(NEW)
    assert "exact" not in str(caught.value)
    with pytest.raises(InputError, match=r"F09: predict\(exact=True\) needs the fitting rows"):
        loaded.predict(NEW, exact=True)


def _answers(asked, X):
    """The explained output: the probability of the second class, or the prediction."""
    return asked.predict_proba(X)[:, 1] if hasattr(asked, "predict_proba") else asked(X)


def test_F08_pickle_deepcopy_and_clone_keep_the_model(saved):
    granite, path = saved("ice-pdp")[:2]
    loaded = gx.load(path, model=model)
    for copied in (pickle.loads(pickle.dumps(loaded)), copy.deepcopy(loaded)):
        assert copied.model is model or copied.model(NEW).tolist() == model(NEW).tolist()
        np.testing.assert_array_equal(copied.predict(NEW), granite.predict(NEW))
    assert clone(loaded).model is model


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"question": gx.question("ice-pdp", loss=np.square)}, "question.loss"),
        (
            {"question": gx.question("pfi-risk", risk_loss=lambda p, y: (p - y) ** 2)},
            "question.first.behavior.loss",
        ),
        ({"question": ["ice-pdp", gx.question("coe", loss=np.abs)]}, r"question\[1\].loss"),
        ({"random_state": np.random.RandomState(0)}, "random_state"),
    ],
)
def test_F08_functions_and_objects_are_refused_by_name(options, name, tmp_path):
    with pytest.raises(InputError, match=name) as caught:
        gx.save(fitted(**options), tmp_path / "a.json")
    assert caught.value.code == "F08"
    assert caught.value.argument == next(iter(options))
    assert list(tmp_path.iterdir()) == []


def test_F08_what_cannot_be_saved_is_told_apart(saved, tmp_path):
    for thing in ({"a": 1}, model, None, gx.Explainer()):
        with pytest.raises(InputError, match="cannot be saved"):
            gx.save(thing, tmp_path / "a.json")
    with pytest.raises(NotFittedError):
        gx.save(gx.Granite(model), tmp_path / "a.json")
    path = gx.save(saved("ice-pdp")[0].partition_, tmp_path / "a.json")
    with pytest.raises(InputError, match="has no model"):
        gx.load(path, model=model)


def test_F09_without_rows_the_rest_names_include_data(saved):
    loaded = gx.load(saved("ice-pdp")[1], model=model)
    with pytest.raises(InputError, match=r"F09: .*include_data=True"):
        loaded.predict(NEW, exact=True)
    granite, _, whole = saved("ice-pdp")
    np.testing.assert_array_equal(
        gx.load(whole, model).predict(NEW, exact=True), granite.predict(NEW, exact=True)
    )


def test_F09_a_baseline_chosen_in_each_region_is_a_row_of_the_data(tmp_path):
    granite = fitted(baseline("region"))
    loaded = gx.load(gx.save(granite, tmp_path / "a.json"), model=model)
    np.testing.assert_array_equal(loaded.predict(NEW), granite.predict(NEW))
    for ask in (loaded.evaluate, loaded.explain):
        with pytest.raises(InputError, match=r"F09: .*include_data=True"):
            ask(NEW)
    whole = gx.load(gx.save(granite, tmp_path / "a.json", include_data=True), model=model)
    assert_same_explanation(whole.explain(NEW), granite.explain(NEW))
    assert_same_evaluation(whole.evaluate(NEW), granite.evaluate(NEW))


def test_F09_effects_of_several_columns_need_the_rows(tmp_path):
    granite = fitted("ice-pdp", influence="joint", groups={"g": ["a", "c"]})
    loaded = gx.load(gx.save(granite, tmp_path / "a.json"), model=model)
    with pytest.raises(InputError, match=r"F09: .*include_data=True"):
        loaded.predict(NEW)
    whole = gx.load(gx.save(granite, tmp_path / "a.json", include_data=True), model=model)
    np.testing.assert_array_equal(whole.predict(NEW), granite.predict(NEW))


def test_F09_without_rows_there_are_none_to_include(saved, tmp_path):
    loaded = gx.load(saved("ice-pdp")[1], model=model)
    with pytest.raises(InputError, match="F09"):
        gx.save(loaded, tmp_path / "a.json", include_data=True)
    bare = gx.load(gx.save(loaded.evaluate(NEW), tmp_path / "b.json"))
    with pytest.raises(InputError, match="F09"):
        gx.save(bare, tmp_path / "a.json", include_data=True)


def test_F09_without_the_model_the_rest_asks_for_it(saved):
    for path in saved("ice-pdp")[1:]:
        loaded = gx.load(path)
        for ask in (loaded.evaluate, loaded.explain):
            with pytest.raises(InputError, match=r"F09: .*gx\.load\(path, model=model\)"):
                ask(NEW)
    with pytest.raises(InputError, match=r"F09: .*gx\.load\(path, model=model\)"):
        loaded.predict(NEW, exact=True)


@pytest.mark.parametrize("data", [False, True])
def test_F09_another_model_is_refused(saved, data):
    path = saved("ice-pdp")[1 + data]
    text = "not the model that was saved with: 60 of the 60 predictions that were compared differ"
    with pytest.raises(ModelError, match=text) as caught:
        gx.load(path, model=other_model)
    assert (caught.value.code, caught.value.argument) == ("F09", "model")
    # another machine's rounding is no other model
    loaded = gx.load(path, model=lambda X: model(X) * (1 + 1e-9))
    assert loaded.diagnostics_["loaded"] == {"compared_predictions": 60}


@pytest.mark.parametrize("data", [False, True], ids=["without rows", "with rows"])
@pytest.mark.parametrize(
    "convert", [np.asarray, pd.DataFrame, pl.DataFrame], ids=["numpy", "pandas", "polars"]
)
def test_F09_a_model_that_differs_in_a_corner_is_refused(data, convert, tmp_path):
    """In two of a hundred rows, and in one region: eight predictions would not show it."""
    rng = np.random.default_rng(0)
    cells = np.round(rng.normal(size=(2_000, 3)), 3)
    X = convert(cells)

    def first(X):
        a, b, c = np.asarray(X, dtype=float).T
        return a * np.sign(b) + c

    def second(X):
        a, _, c = np.asarray(X, dtype=float).T
        return first(X) + np.where((a > 0.5) & (c > 1.5), 5.0, 0.0)

    granite = gx.Granite(first, max_depth=1, max_samples=None, holdout=False).fit(X)
    path = gx.save(granite, tmp_path / "a.json", data)
    with pytest.raises(ModelError, match=r"F09: .* of the 1,000 predictions that were compared"):
        gx.load(path, model=second)
    loaded = gx.load(path, model=first)
    assert loaded.diagnostics_["loaded"] == {"compared_predictions": 1000}
    fingerprint = fitted_view(loaded).result.fingerprint
    asked = fingerprint.asked_rows(fitted_view(loaded).result.table)
    counts = np.bincount(loaded.partition_.apply(asked))
    assert len(counts) == len(granite.partition_)
    assert counts.min() >= 8


def test_F09_missing_cells_and_passing_columns_are_compared_too(tmp_path):
    X = table(200)
    X["name"] = [f"row {i}" for i in range(len(X))]
    X.loc[::5, "a"] = np.nan

    def named(X):
        return model(X.assign(a=X["a"].fillna(9.0))) + X["name"].str.len().to_numpy() * 0.0

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        granite = gx.Granite(named, missing="allow", min_samples_leaf=10).fit(X)
        path = gx.save(granite, tmp_path / "a.json")
        assert gx.load(path, model=named).diagnostics_["loaded"]["compared_predictions"] == 200
        with pytest.raises(ModelError, match="F09"):
            gx.load(path, model=lambda X: named(X) + np.where(np.isnan(X["a"]), 1.0, 0.0))


def test_F04_codes_and_positions_of_rows_that_are_not_there_are_refused(saved, tmp_path):
    wrong = {("codes", "cells", 0): 10**6, ("predictions",): [0.0]}
    for way, value in wrong.items():
        path = edited(
            saved("ice-pdp")[1], tmp_path, replace_in("granite", "model", *way, value=value)
        )
        with pytest.raises(FormatError, match=r"granite\.model"):
            gx.load(path, verify=False)
    for value in (60, -1):
        path = edited(
            saved("ice-pdp")[2],
            tmp_path,
            replace_in("granite", "model", "positions", 0, value=value),
        )
        with pytest.raises(FormatError, match="positions are not among 60 rows"):
            gx.load(path, verify=False)


def test_F09_another_output_of_the_model_is_refused(tmp_path):
    X = np.random.default_rng(0).integers(-2, 3, size=(60, 2)).astype(float)
    classifier = LogisticRegression().fit(X, X[:, 0] > 0)
    path = gx.save(gx.Granite(classifier).fit(X), tmp_path / "a.json")
    with pytest.raises(ModelError, match="is explained, not"):
        gx.load(path, model=lambda X: classifier.predict_proba(X)[:, 1])


def test_S15_without_include_data_no_row_of_the_data_is_in_the_file(tmp_path):
    """Every cell differs, so that a row would show by two cells that belong together."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(50, 3)), 12)
    for question in ("ice-pdp", "ale", "mplot-pdp", baseline("median"), baseline("region")):
        granite = gx.Granite(
            lambda X: X[:, 0] * X[:, 1] + X[:, 2], question, min_samples_leaf=10
        ).fit(X)
        data = json.loads(gx.save(granite, tmp_path / "a.json").read_text(encoding="utf-8"))
        assert data["rows"] is None
        fitted, reference = data["granite"]["fitted"], data["granite"]["fitted"]["reference"]
        assert not {"regions", "weights"} & fitted.keys()
        assert all("rows" not in region for region in fitted["surrogate"]["regions"])
        stored = [data["granite"]["model"]["rows"], *(row for _, row in reference["baselines"])]
        stored += [steps["ends"] for _, steps in reference["steps"]]
        for rows in stored:
            cells = np.array([column["cells"] for column in rows]).T
            shared = (cells[:, None, :] == X[None]).sum(axis=2)
            assert shared.max() < 3
            assert np.mean(shared.max(axis=1) > 1) <= 0.5  # two cells of one row: only by chance
        codes = np.reshape(data["granite"]["model"]["codes"]["cells"], (-1, 3))
        made_up = np.take_along_axis(np.sort(X, axis=0), codes, axis=0)
        shared = (made_up[:, None, :] == X[None]).sum(axis=2)
        assert np.mean(shared.max(axis=1) > 2) <= 0.02
        assert np.mean(shared.max(axis=1) > 1) <= 0.5
        for column in data["table"]["columns"]:
            levels = column["levels"]["array"][1]
            assert len(levels) == 50
            assert levels == sorted(levels)
    explanation = gx.Explainer().explain(lambda X: X[:, 0], X)
    text = gx.save(explanation, tmp_path / "b.json").read_text(encoding="utf-8")
    assert json.loads(text)["table"]["columns"][0]["levels"] == {"array": ["float64", []]}


def test_S15_synthetic_rows_are_made_of_levels():
    read = read_table(table(), missing="error")
    made = synthetic_rows(read)
    for column, source in zip(made.columns, read.columns, strict=True):
        assert set(column.levels.tolist()) <= set(source.levels.tolist())
    assert made.native.dtypes.tolist() == table().dtypes.tolist()


def test_F10_names_of_any_kind_survive_and_the_file_is_ascii(tmp_path):
    names = ["ä≤", "\u202eevil", "</script>", "b<=c", 'quo"te', "nul\x00", "\ud800", "😀 😀"]
    rules = gx.Partition.from_rules(
        [gx.Rule.parse("x ≤ 1"), gx.Rule.parse("x > 1")], names=["x", *names]
    )
    path = gx.save(rules, tmp_path / "a.json")
    raw = path.read_bytes()
    assert raw.isascii()
    assert raw.endswith(b"}\n")
    assert b"\r" not in raw
    assert gx.load(path).names == ("x", *names)


# ------------------------------------------------------------------------------------------------------------ changed


def test_F04_a_file_that_was_changed_by_accident_is_noticed(saved, tmp_path):
    """One digit of one number: the file is whole and well-formed, only not what was saved."""
    path = saved("ice-pdp")[1]
    raw = path.read_bytes()
    place = raw.index(b'"remaining": 0.') + len(b'"remaining": 0.')
    changed = tmp_path / "changed.json"
    changed.write_bytes(
        raw[:place] + (b"1" if raw[place : place + 1] != b"1" else b"2") + raw[place + 1 :]
    )
    with pytest.raises(
        FormatError, match=r"F04: .*changed\.json was changed after it was saved.*verify=False"
    ) as caught:
        gx.load(changed)
    assert caught.value.argument == "path"
    loaded = gx.load(changed, model=model, verify=False)
    assert loaded.remaining_ != saved("ice-pdp")[0].remaining_
    assert loaded.partition_ == saved("ice-pdp")[0].partition_


def test_every_byte_counts_but_the_line_end(tmp_path):
    path = gx.save(gx.Partition.from_rules(["x ≤ 1", "x > 1"]), tmp_path / "a.json")
    raw = path.read_bytes()
    for end in (b"", b"\n", b"\r\n"):
        path.write_bytes(raw.rstrip() + end)
        assert len(gx.load(path)) == 2
    refused = 0
    for place in range(len(raw.rstrip())):
        path.write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
        with pytest.raises(FormatError):
            gx.load(path)
        refused += 1
    assert refused > 300
    path.write_bytes(raw.replace(b'"sha256"', b'"sha"'))
    with pytest.raises(FormatError, match="sha256"):
        gx.load(path)


# ----------------------------------------------------------------------------------------------------------- new things


@dataclass(frozen=True, slots=True)
class Span:
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Invented:
    """What a later version might want to keep: nothing here is known to any module of the package."""

    spans: tuple[Span, ...]
    by_set: dict[Coalition, FloatArray]
    steps: dict[int | None, Span | None]
    best: Span | Resources
    labels: frozenset[str]
    kind: Literal["path", "stability"]
    draws: FloatArray
    chosen: BoolArray
    anything: Any = None
    note: str = ""


def test_a_new_dataclass_needs_no_code():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(3, 4, 2))
    draws[0, 0, 0] = np.nan
    made = Invented(
        (Span(0.25, float("inf")), Span(-1.0, 1 / 3)),
        {frozenset({0, 2}): np.array([0.1, 1e-300]), frozenset(): np.empty(0)},
        {None: None, 3: Span(1, 2)},
        gx.Resources(batch_size=3),
        frozenset("ab"),
        "path",
        draws,
        np.array([True, False]),
        {
            "when": (np.datetime64("2020-01-01", "D"), np.timedelta64(3, "s")),
            4: [1.5, None, float("nan")],
        },
    )
    form = structure(read_table([[1.0, 2.0, 3.0]], missing="error"))
    form = replace(form, classes={**form.classes, "Span": Span})
    data = json.loads(json.dumps(form.write(made, Invented, "invented"), allow_nan=False))
    again = form.read(data, Invented, "invented")
    np.testing.assert_equal(vars_of(again), vars_of(made))
    for name in data:
        if name not in ("anything", "note"):
            with pytest.raises(FormatError, match=f"invented has no entry '{name}'"):
                form.read(
                    {key: value for key, value in data.items() if key != name}, Invented, "invented"
                )
            with pytest.raises(FormatError, match=rf"invented\.{name}"):
                form.read({**data, name: {"a": 1}}, Invented, "invented")
    with pytest.raises(FormatError, match="invented has 'more', which is not known"):
        form.read({**data, "more": 1}, Invented, "invented")


@dataclass(frozen=True, slots=True)
class Uniform:
    """A masking of somebody else."""

    draws: int = 32
    key: ClassVar[str] = "uniform"


@dataclass(frozen=True, slots=True, eq=False)
class UniformRows:
    """What it learned."""

    fitted: Column
    values: FloatArray


def test_a_masking_in_the_table_is_known_to_files_with_what_it_learns(monkeypatch):
    read = read_table([[1.0, 2.0, 3.0]], missing="error")
    learned = {(Uniform(5), frozenset({1})): UniformRows(read.columns[1], np.array([0.5]))}
    hint = dict[tuple[Any, Coalition], Callable[[Any], Any] | UniformRows]
    with pytest.raises(InputError, match="F08"):
        structure(read).write(learned, hint, "learned")
    monkeypatch.setitem(MASKINGS, "uniform", Uniform())
    data = json.loads(
        json.dumps(
            [
                structure(read).write(value, h, "a")
                for value, h in ((Uniform(7), Any), (learned, hint))
            ]
        )
    )
    assert structure(read).read(data[0], Any, "a") == Uniform(7)
    again = structure(read).read(data[1], hint, "b")
    assert again.keys() == learned.keys()
    (found,) = again.values()
    assert (found.fitted, found.values.tolist()) == (read.columns[1], [0.5])


def vars_of(value):
    return {field.name: getattr(value, field.name) for field in fields(value)}


plain = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**60), 2**60),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(
        [
            np.datetime64("2020-02-29", "D"),
            np.timedelta64(-5, "ns"),
            Partial("sii"),
            AllExcept("a", 2),
        ]
    ),
)
nested = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(max_size=3) | st.integers(0, 9), inner, max_size=3)
    ),
    max_leaves=8,
)


@examples(300)
@given(nested)
def test_values_of_any_shape_survive(value):
    written = json.loads(json.dumps(structure().write(value, Any, "value"), allow_nan=False))
    again = structure().read(written, Any, "value")
    np.testing.assert_equal(again, value)
    assert repr(again) == repr(value)


@examples(200)
@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=False), min_size=60, max_size=140),
    st.booleans(),
)
def test_long_lists_of_numbers_survive_to_the_bit(cells, floats):
    numbers = (
        cells
        if floats
        else [0 if cell != cell else max(-(10**17), min(10**17, int(cell))) for cell in cells]
    )
    dtype = np.dtype(float if floats else np.int64)
    made = np.array(numbers, dtype=dtype)
    parsed = parse_json(json.dumps({"a": write_cells(made)}).encode())
    assert isinstance(parsed["a"], np.ndarray | list)
    again = read_cells(parsed["a"], dtype, "a")
    np.testing.assert_array_equal(again, made)
    assert again.dtype == dtype
    np.testing.assert_array_equal(
        np.signbit(again) | np.isnan(made), np.signbit(made) | np.isnan(made)
    )


def peak_of(path):
    tracemalloc.start()
    try:
        loaded = gx.load(path)
        return loaded, tracemalloc.get_traced_memory()[1] / path.stat().st_size
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_F05_a_large_file_takes_at_most_twice_its_size(tmp_path):
    """Twenty megabytes of numbers, with rows: memory at its peak, while the file is read and checked."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 4))
    explanation = gx.Explainer().explain(lambda X: X[:, 0], X[:50])
    values = rng.normal(size=(60_000, 4))
    part = replace(
        explanation.parts[0],
        rows=np.arange(60_000),
        values=values,
        errors=abs(values),
        base=rng.normal(size=60_000),
    )
    path = gx.save(
        replace(explanation, parts=(part,) * 2, table=read_table(X, missing="error")),
        tmp_path / "a.json",
        True,
    )
    assert path.stat().st_size > 20_000_000
    loaded, peak = peak_of(path)
    np.testing.assert_array_equal(loaded.parts[1].values, values)
    np.testing.assert_array_equal(loaded.table.native, X)
    assert peak < 2


# ------------------------------------------------------------------------------------------------------------ hostile

DOCUMENTS = {
    f"{path.parent.name}/{path.stem}": json.loads(path.read_text(encoding="utf-8"))
    for path in EVERY_FIXTURE
}
JUNK = [
    *(None, True, False, -1, 0, 1, 7, 10**18, -(10**18), 1e308, -0.5, 5e-324),
    *(
        "",
        "x",
        "nan",
        "ff",
        "0",
        "../../etc/passwd",
        "object",
        "str",
        "float16",
        "datetime64[ns]",
        "Tree",
    ),
    *(
        [],
        {},
        [[]],
        [None],
        [1, 2],
        ["a", "b"],
        {"tuple": []},
        {"mapping": [[[], 1]]},
        {"number": "nan"},
    ),
    *(
        {"type": "Tree"},
        {"type": "Joint", "groups": 5},
        {"array": ["datetime64[ns]", [1]]},
        {"shape": [1], "cells": [1.5]},
    ),
    *(
        {"distinct": ["a"], "codes": [0, 1]},
        {"array": ["int8", [300]]},
        [0.5] * 80,
        list(range(80)),
        "the table of this file",
    ),
]


def walk(draw, data):
    """A random place in a document: the container and the key."""
    while True:
        key = (
            draw(st.sampled_from(sorted(data)))
            if isinstance(data, dict)
            else draw(st.integers(0, len(data) - 1))
        )
        inner = data[key]
        if not isinstance(inner, dict | list) or not inner or draw(st.integers(0, 4)) == 0:
            return data, key
        data = inner


@st.composite
def mutated(draw):
    """A saved document with one to three entries replaced, removed, doubled or swapped with others."""
    document = copy.deepcopy(DOCUMENTS[draw(st.sampled_from(sorted(DOCUMENTS)))])
    for _ in range(draw(st.integers(1, 3))):
        if not document:
            break
        container, key = walk(draw, document)
        other, other_key = walk(draw, document)
        match draw(st.sampled_from(["junk", "junk", "remove", "double", "swap"])):
            case "junk":
                container[key] = copy.deepcopy(draw(st.sampled_from(JUNK)))
            case "remove":
                del container[key]
            case "double" if isinstance(container, list):
                container.append(copy.deepcopy(container[key]))
            case _:
                container[key] = copy.deepcopy(other[other_key])
    return json.dumps(document).encode()


def load_bytes(raw, folder):
    path = folder / "mutated.json"
    path.write_bytes(raw)
    return gx.load(path, verify=False)


def use(loaded):
    """What a loaded object is for; a mutant may refuse in our own words, never in others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(loaded, gx.Granite | gx.Partition):
            str(loaded.partition_ if isinstance(loaded, gx.Granite) else loaded)
            loaded.apply(NEW)
        else:
            loaded.frame()
        if isinstance(loaded, gx.Granite):
            str(loaded.estimate_)
            loaded.predict(NEW)
            str(gx.Report(loaded))


@settings(examples(300), suppress_health_check=[])
@given(raw=mutated())
def test_F05_mutated_documents_raise_nothing_but_format_errors(raw, tmp_path_factory):
    try:
        loaded = load_bytes(raw, tmp_path_factory.getbasetemp())
    except FormatError:
        return
    try:
        use(loaded)
    except gx.GraniteError:
        return


@settings(examples(200), suppress_health_check=[])
@given(data=st.data())
def test_F05_mutated_bytes_raise_nothing_but_format_errors(data, tmp_path_factory):
    raw = bytearray((CURRENT / "partition.json").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(raw)))
        raw[start : start + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    try:
        load_bytes(bytes(raw), tmp_path_factory.getbasetemp())
    except FormatError:
        return


def test_F05_loading_a_mutant_runs_nothing(monkeypatch, tmp_path):
    """Whatever a file says, no code of it and no shell is reached."""
    ran = []
    gx.load(
        CURRENT / "granite.json"
    )  # the hints of our own classes are read once, before any file counts
    for name in (
        "os.system",
        "subprocess.Popen",
        "builtins.eval",
        "builtins.exec",
        "pickle.loads",
        "pickle.load",
    ):
        monkeypatch.setattr(name, lambda *a, _name=name, **k: ran.append(_name))
    for value in (
        "__import__('os').system('x')",
        {"type": "os.system", "command": "x"},
        "!!python/object",
    ):
        for name in ("question", "partitioner", "influence", "random_state", "output"):
            change = replace_in("granite", "parameters", name, value=value)
            path = edited(CURRENT / "granite.json", tmp_path, change)
            try:
                gx.load(path, verify=False)
            except FormatError:
                continue
    assert ran == []


def test_a_missing_file_is_python_s_own_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        gx.load(Path(tmp_path) / "none.json")
