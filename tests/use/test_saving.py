"""Files: the same object before and after, without a row of the data; whatever is wrong in a file is refused."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import pickle
import warnings
from pathlib import Path

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

import granite_xai as gx
from granite_xai.partitioners import Clusters, GivenRules
from strategies import examples

pytestmark = pytest.mark.filterwarnings("ignore::granite_xai.BinWarning")

SIGNS = {"x": 1.0, "y": -1.0, "z": 0.5, "w": 0.0}
PLACES = {"low": 0.0, "mid": 1.0, "high": 2.0, "top": 3.0}


def table(n_rows=60, seed=0):
    """Numbers, whole numbers, levels, ordered levels, truth values and dates."""
    rng = np.random.default_rng(seed)
    levels = pd.CategoricalDtype(["x", "y", "z", "w"])
    places = pd.CategoricalDtype(list(PLACES), ordered=True)
    return pd.DataFrame(
        {
            "a": rng.integers(-4, 5, n_rows) / 2,
            "k": rng.integers(0, 4, n_rows),
            "c": pd.Series(rng.choice(["x", "y", "z"], n_rows), dtype=levels),
            "o": pd.Series(rng.choice(["low", "mid", "high"], n_rows), dtype=places),
            "b": rng.random(n_rows) > 0.5,
            "d": np.datetime64("2020-01-01", "s") + 86_400 * rng.integers(0, 9, n_rows),
        }
    )


def model(X):
    """Interactions of a and c, of k and b, of o and d."""
    X = X.to_pandas() if hasattr(X, "to_pandas") else X
    c = X["c"].astype(object).map(SIGNS).to_numpy(dtype=float)
    o = X["o"].astype(object).map(PLACES).to_numpy(dtype=float)
    days = (X["d"].to_numpy().astype("M8[s]") - np.datetime64("2020-01-01")) / np.timedelta64(
        1, "D"
    )
    a, k, b = (X[name].to_numpy(dtype=float) for name in "akb")
    return a * c + k * (2 * b - 1) + 0.25 * o + 0.125 * days * o


NEW = table(40, seed=1)
OPTIONS = {"min_samples_leaf": 10, "search": "greedy"}


def target(X):
    return model(X) + np.random.default_rng(3).normal(size=len(X))


def fitted(question="ice-pdp", X=None, **options):
    X = table() if X is None else X
    return gx.Granite(model, question, **{**OPTIONS, **options}).fit(X, target(X))


def baseline(row):
    sides = (gx.Explainer(gx.Baseline(row), interaction=kind) for kind in ("full", "pure"))
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
    "exact bins": gx.question("cice-mplot", conditional=gx.Conditional("exact")),
    "median": baseline("median"),
    "mean": baseline("mean"),
    "two": {"ice-pdp": 2, "pfi-risk": 1},
    "objective": gx.Objective(["ice-pdp", gx.question("sobol")], weighting="uniform", normalize="variance"),
}  # fmt: skip


def close(one, other):
    """Frames with the same cells, but for rounding in sums over rows in another order."""
    pd.testing.assert_frame_equal(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_loaded_fit_says_the_same(name, tmp_path):
    question = QUESTIONS[name]
    g = fitted(question)
    path = gx.save(g, tmp_path / "g.json")
    for loaded in (gx.load(path), gx.load(path, model), gx.load(path, X=table())):
        assert str(loaded) == str(g)
        assert loaded.question == question
        assert loaded.min_samples_leaf == 10
        assert loaded.partition_ == g.partition_
        for figure in ("disagreements_", "disagreement_", "remaining_", "fidelity_"):
            assert getattr(loaded, figure) == getattr(g, figure)
        close(loaded.estimate_.frame(), g.estimate_.frame())
        assert loaded.feature_names_in_.tolist() == list(NEW.columns)
        np.testing.assert_array_equal(loaded.apply(NEW), g.apply(NEW))
        np.testing.assert_array_equal(loaded.predict(NEW), g.predict(NEW))
        assert gx.save(loaded, tmp_path / "again.json").read_bytes() == path.read_bytes()
    with_model, with_rows = gx.load(path, model), gx.load(path, model, X=table())
    y = target(NEW)
    close(with_model.evaluate(NEW, y).frame(), g.evaluate(NEW, y).frame())
    many = table(200, seed=1)
    explained = [
        each.explain(many, target(many), reference="rows").frame() for each in (with_model, g)
    ]
    close(*explained)
    close(with_rows.explain(NEW, y).frame(), g.explain(NEW, y).frame())
    row = NEW.iloc[[3]]
    assert with_rows.explain_row(row).prediction == g.explain_row(row).prediction


def test_what_needs_the_model_or_the_rows_says_so(tmp_path):
    g = fitted(influence="joint", groups={"g": ["a", "c"]})
    path = gx.save(g, tmp_path / "g.json")
    for ask in (gx.load(path).evaluate, gx.load(path).explain):
        with pytest.raises(gx.InputError, match=r"F09: .*gx\.load\(path, model=model\)"):
            ask(NEW)
    for ask in (gx.load(path, model).predict, gx.load(path, model).explain):
        with pytest.raises(gx.InputError, match=r"F09: .*X=X"):
            ask(NEW)
    np.testing.assert_allclose(gx.load(path, model, X=table()).predict(NEW), g.predict(NEW))
    with pytest.raises(gx.ModelError, match="M21"):
        gx.load(path).fit(table())
    assert gx.load(path, model).fit(table(), target(table())).partition_ == g.partition_


def test_equal_fits_have_equal_files_and_no_row_of_the_data(tmp_path):
    """Every cell differs, so that a row would show by two cells that belong together."""
    X = np.round(np.random.default_rng(0).normal(size=(50, 3)), 12)
    for question in ("ice-pdp", "ale", "mplot-pdp", baseline("median")):
        paths = [tmp_path / "a.json", tmp_path / "b.json"]
        for path in paths:
            g = gx.Granite(lambda X: X[:, 0] * X[:, 1] + X[:, 2], question, min_samples_leaf=10)
            gx.save(g.fit(X), path)
        assert paths[0].read_bytes() == paths[1].read_bytes()
        content = json.loads(paths[0].read_text())["granite"]
        learned = [of_key for _, _, of_key in content["plan"]["learned"]]
        rows = [content["fit"]["row"]["row"]]
        rows += [of_key["table"] for of_key in learned if of_key["$"] == "References"]
        for row in rows:
            cells = np.array([np.frombuffer(_bytes(cell)) for cell in row["value"]["cells"]]).T
            assert np.max((cells[:, None] == X[None]).sum(axis=2)) <= 1
        assert all("ends" not in of_key for of_key in learned)


def _bytes(array):
    import base64

    return base64.b64decode(array["value"]["bytes"])


def test_weights_of_rows_come_back_with_the_rows(tmp_path):
    X = table(200)
    weights = np.linspace(0.5, 2.0, 200)
    g = gx.Granite(model, **OPTIONS).fit(X, sample_weight=weights)
    path = gx.save(g, tmp_path / "g.json")
    loaded = gx.load(gx.save(gx.load(path), tmp_path / "again.json"), model, X=X)
    close(loaded.explain(NEW).frame(), g.explain(NEW).frame())
    joint = gx.Granite(model, influence="joint", groups={"g": ["a", "c"]}, **OPTIONS)
    path = gx.save(joint.fit(X, sample_weight=weights), tmp_path / "joint.json")
    np.testing.assert_allclose(gx.load(path, model, X=X).predict(NEW), joint.predict(NEW))


def to_polars(frame):
    return pl.from_pandas(frame).with_columns(pl.col("o").cast(pl.Enum(list(PLACES))))


@pytest.mark.parametrize("convert", [to_polars, pa.Table.from_pandas], ids=["polars", "pyarrow"])
@pytest.mark.parametrize("question", ["ice-pdp", "ale", "median"])
def test_frames_of_other_libraries(convert, question, tmp_path):
    X, new = convert(table()), convert(NEW)
    g = fitted(QUESTIONS[question], X)
    path = gx.save(g, tmp_path / "g.json")
    with warnings.catch_warnings():
        warnings.simplefilter("error", gx.ModelWarning)  # "not known whether this is the model"
        loaded = gx.load(path, model)
        with_rows = gx.load(path, model, X=X)
    np.testing.assert_array_equal(loaded.predict(new), g.predict(new))
    many = convert(table(200, seed=1))
    explained = [each.explain(many, reference="rows").frame() for each in (loaded, g)]
    assert type(explained[0]) is type(X)
    close(*(frame.to_pandas() for frame in explained))
    close(with_rows.explain(new).frame().to_pandas(), g.explain(new).frame().to_pandas())


@pytest.mark.parametrize(
    "X",
    [
        table().astype({"a": "Float64", "k": "Int16", "b": "boolean", "c": "string"}),
        table().astype({"k": np.uint8, "a": np.float32, "c": object}),
        table().assign(d=lambda X: X["d"].dt.tz_localize("Europe/Berlin")),
    ],
    ids=["nullable", "small", "time zone"],
)
def test_the_model_is_asked_about_a_row_in_the_dtypes_of_the_fit(X, tmp_path):
    def strict(table):
        assert table.dtypes.equals(X.dtypes)
        days = pd.to_datetime(table["d"], utc=True).dt.tz_localize(None)
        return model(table.assign(d=days))

    def shifted(table):
        return strict(table) + 0.01

    path = gx.save(gx.Granite(strict, **OPTIONS).fit(X), tmp_path / "g.json")
    assert gx.load(path, strict).evaluate(X).remaining >= 0
    with pytest.raises(gx.ModelError, match="F09: this is not the model .* it predicts"):
        gx.load(path, shifted)


def test_arrays_and_classes(tmp_path):
    X = np.random.default_rng(0).integers(-2, 3, size=(80, 3)).astype(np.float32)
    g = gx.Granite(lambda X: X[:, 0] * np.sign(X[:, 1]) + X[:, 2], min_samples_leaf=10).fit(X)
    loaded = gx.load(gx.save(g, tmp_path / "g.json"), g.model, X=X)
    close(loaded.explain(X).frame(), g.explain(X).frame())
    assert not hasattr(loaded, "feature_names_in_")
    middle = gx.Granite(g.model, baseline("median"), min_samples_leaf=10).fit(X)
    loaded = gx.load(gx.save(middle, tmp_path / "m.json"), g.model)
    close(loaded.evaluate(X).frame(), middle.evaluate(X).frame())
    y = np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")
    classifier = LogisticRegression().fit(X, y)
    g = gx.Granite(classifier, "pfi-risk", min_samples_leaf=10).fit(X, y)
    path = gx.save(g, tmp_path / "c.json")
    close(gx.load(path, classifier).evaluate(X, y).frame(), g.evaluate(X, y).frame())
    with pytest.raises(gx.InputError, match="T05"):
        gx.load(path).evaluate(X, np.where(y == "yes", "ja", "nein"))
    with pytest.raises(
        gx.ModelError, match=r"F09: .* is explained, not probability of class 'yes'"
    ):
        gx.load(path, lambda X: X[:, 0])


def test_missing_values_and_unseen_levels_go_where_they_went(tmp_path):
    X, new = table(), NEW.copy()
    X.loc[::7, "a"] = np.nan
    new.loc[::5, "a"] = np.nan
    new.loc[::4, "c"] = "w"

    def robust(X):
        return model(X.assign(a=X["a"].fillna(3.0)))

    g = gx.Granite(robust, missing="allow", min_samples_leaf=10).fit(X)
    loaded = gx.load(gx.save(g, tmp_path / "g.json"), robust)
    said = []
    for each in (g, loaded):
        with pytest.warns(gx.DataWarning, match="D15"):
            said.append((each.apply(new).tolist(), each.predict(new).tolist()))
    assert said[0] == said[1]


@pytest.mark.parametrize(
    "partitioner", [Clusters("ice", n_clusters=2), GivenRules(["a ≤ 0", "a > 0"])], ids=repr
)
def test_other_partitioners_and_what_they_learned(partitioner, tmp_path):
    g = fitted(partitioner=partitioner)
    loaded = gx.load(gx.save(g, tmp_path / "g.json"))
    assert loaded.partitioner == partitioner
    assert loaded.partition_ == g.partition_
    learned = [name for name in vars(g) if name.endswith("_") and not hasattr(loaded, name)]
    assert learned == []
    if hasattr(g, "clusters_"):
        np.testing.assert_array_equal(loaded.clusters_, g.clusters_)


def test_what_is_learned_later_is_kept(tmp_path):
    g = gx.Granite(model, max_depth=2, holdout=0.4, alpha="auto", **OPTIONS).fit(table(300))
    g.stability(3)
    g.partition_.rename({0: "</script> \u202e≤ 'first'"})
    loaded = gx.load(gx.save(g, tmp_path / "g.json"))
    assert str(loaded) == str(g)
    assert str(loaded.stability_) == str(g.stability_)
    assert loaded.path_.equals(g.path_)
    assert loaded.partition_.region_names == g.partition_.region_names
    assert loaded.diagnostics_ == without_seconds(g.diagnostics_)
    assert "first" in gx.Report(loaded).markdown()


def without_seconds(findings):
    if not isinstance(findings, dict):
        return findings
    return {key: without_seconds(value) for key, value in findings.items() if key != "seconds"}


def test_all_outputs_of_a_model(tmp_path):
    def outputs(X):
        return np.column_stack([model(X), np.square(model(X))])

    g = gx.Granite(outputs, output="all", max_depth=1, **OPTIONS).fit(table(90))
    path = gx.save(g, tmp_path / "g.json")
    for loaded in (gx.load(path), gx.load(path, outputs), gx.load(path, outputs, X=table(90))):
        assert str(loaded) == str(g)
        assert loaded.outputs_ == g.outputs_
        np.testing.assert_array_equal(loaded.predict(NEW), g.predict(NEW))
        for name in g.outputs_:
            assert str(loaded.of_output(name)) == str(g.of_output(name))
    close(gx.load(path, outputs).evaluate(NEW).frame(), g.evaluate(NEW).frame())
    with pytest.raises(gx.ModelError, match="F09"):
        gx.load(path, lambda X: outputs(X)[:, ::-1])
    document = json.loads(path.read_text())
    document["granite"]["outputs"][1][0] = document["granite"]["outputs"][0][0]
    with pytest.raises(gx.FormatError, match="F04: granite.outputs have a name twice"):
        gx.load(forged(document, tmp_path))


@pytest.mark.parametrize("question", ["shap-pdp", "cshap-shap"])
def test_attributions_are_resolved_as_they_were(question, tmp_path):
    """From the paths of trees, and drawn: after loading as at the fit."""
    X = np.random.default_rng(0).normal(size=(120, 5))
    forest = RandomForestRegressor(5, max_depth=4, random_state=0)
    forest.fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    g = gx.Granite(forest, question).fit(X)
    path = gx.save(g, tmp_path / "g.json")
    close(gx.load(path, forest).evaluate(X[:60]).frame(), g.evaluate(X[:60]).frame())
    with pytest.raises(gx.ModelError, match="planned from the model's trees"):
        gx.load(path, model=lambda X: forest.predict(X)).evaluate(X[:60])
    X = np.random.default_rng(0).normal(size=(40, 14))

    def wide(X):
        return X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] * X[:, 4]

    budget = gx.Resources(max_evaluations=300_000)
    g = gx.Granite(wide, "shap-pdp", resources=budget).fit(X)
    loaded = gx.load(gx.save(g, tmp_path / "w.json"), wide)
    explained = [each.explain(X[:30], reference="rows").frame() for each in (g, loaded)]
    close(*explained)


def test_the_copula_that_weighs_rows_is_kept_once(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]

    def product(X):
        return X[:, 0] * X[:, 2] + X[:, 1]

    question = gx.question("cfi-pfi", conditional=gx.Conditional(sampler="copula"))
    g = gx.Granite(product, question, max_depth=1).fit(X, product(X))
    path = gx.save(g, tmp_path / "g.json")
    document = json.loads(path.read_text())
    plan = document["granite"]["plan"]
    assert len(plan["copulas"]) == 1
    assert len(plan["learned"]) >= 3
    loaded = gx.load(path, product, X=X)
    new = rng.normal(size=(100, 3))
    close(loaded.evaluate(new, product(new)).frame(), g.evaluate(new, product(new)).frame())
    plan["copulas"] = []
    with pytest.raises(gx.FormatError, match="F04"):
        gx.load(forged(document, tmp_path))


# What is refused


def test_another_model_or_table(tmp_path):
    path = gx.save(fitted(), tmp_path / "g.json")
    at_the_row = {}

    def same_there(X):
        """Its prediction is the same at one row only: the first that it is asked about."""
        right = model(X)
        if not at_the_row:
            at_the_row["value"] = right[0]
        return np.where(right == at_the_row["value"], right, right + 1.0)

    with pytest.raises(gx.ModelError, match="F09: this is not the model .* it predicts"):
        gx.load(path, lambda X: 1.001 * model(X) + 0.01)
    assert gx.load(path, same_there).partition_
    at_the_row.clear()
    with pytest.raises(gx.ModelError, match="F09: .* mean prediction in region 0"):
        gx.load(path, same_there, X=table())
    for other in (table(seed=1), table()[:50], table().assign(a=0.0)):
        with pytest.raises(gx.InputError, match="F09: X is not the table") as caught:
            gx.load(path, X=other)
        assert caught.value.argument == "X"
    with pytest.raises(gx.InputError, match="D37"):
        gx.load(path, X=table()[["a"]])


def test_a_dtype_that_no_file_holds_leaves_the_model_unknown(tmp_path):
    g = fitted(X=table().astype({"a": np.longdouble}).set_index("k", drop=False))
    path = gx.save(g, tmp_path / "g.json")
    refusing = gx.Granite(lambda X: model(X) if len(X) > 1 else None, **OPTIONS).fit(table())
    for each, its_model in ((g, model), (refusing, refusing.model)):
        path = gx.save(each, tmp_path / "g.json")
        if json.loads(path.read_text())["granite"]["fit"]["row"] is None:
            with pytest.warns(gx.ModelWarning, match="F09.*not known"):
                loaded = gx.load(path, its_model)
        else:
            loaded = gx.load(path, its_model)
        np.testing.assert_array_equal(loaded.predict(NEW), each.predict(NEW))


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
def test_functions_and_objects_are_refused_by_name(options, name, tmp_path):
    target_file = tmp_path / "g.json"
    target_file.write_text("old")
    with pytest.raises(gx.InputError, match=name) as caught:
        gx.save(fitted(**options), target_file)
    assert caught.value.code == "F08"
    assert caught.value.argument == next(iter(options))
    assert target_file.read_text() == "old"


def test_rows_that_were_held_out_by_hand_are_in_no_file(tmp_path):
    g = fitted(holdout=(table(40, seed=2), None))
    with pytest.raises(gx.InputError, match="F08: holdout has rows") as caught:
        gx.save(g, tmp_path / "g.json")
    assert caught.value.argument == "holdout"
    loaded = gx.load(gx.save(g.set_params(holdout=False), tmp_path / "g.json"))
    assert str(loaded) == str(g)


def test_what_cannot_be_saved_is_told_apart(tmp_path):
    g = fitted()
    for thing in ({"a": 1}, model, None, gx.Explainer(), g.explain(NEW), g.evaluate(NEW)):
        with pytest.raises(gx.InputError, match="cannot be saved"):
            gx.save(thing, tmp_path / "a.json")
    with pytest.raises(NotFittedError):
        gx.save(gx.Granite(model), tmp_path / "a.json")
    path = gx.save(g.partition_, tmp_path / "a.json")
    for argument in ("model", "X"):
        with pytest.raises(gx.InputError, match=f"P03: .*no {argument}"):
            gx.load(path, **{argument: model})


def test_pickle_deepcopy_and_clone_keep_the_model(tmp_path):
    g = fitted()
    loaded = gx.load(gx.save(g, tmp_path / "g.json"), model=model)
    detached = gx.load(tmp_path / "g.json")
    for copied in (
        pickle.loads(pickle.dumps(detached)),
        copy.deepcopy(loaded),
        copy.deepcopy(detached),
    ):
        np.testing.assert_array_equal(copied.predict(NEW), g.predict(NEW))
    assert clone(loaded).model is model


def test_a_partition_with_names_of_any_kind(tmp_path):
    names = ["ä≤", "\u202eevil", "</script>", "b<=c", 'quo"te', "nul\x00", "\ud800", "😀 😀"]
    rules = [gx.Rule.parse("x ≤ 1"), gx.Rule.parse("x > 1")]
    partition = gx.Partition.from_rules(rules, names=["x", *names])
    raw = gx.save(partition, tmp_path / "a.json").read_bytes()
    assert raw.isascii()
    assert raw.endswith(b"}\n")
    again = gx.load(tmp_path / "a.json")
    assert again.names == ("x", *names)
    assert again == partition


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """What files hold, of a partition and of fits that have every kind of entry."""
    folder = tmp_path_factory.mktemp("saved")
    middle = fitted(["cshap-shap", "pfi-risk"], max_depth=2)
    held_out = gx.Granite(model, holdout=0.4, alpha="auto", **OPTIONS).fit(table(200))
    held_out.stability(2)
    clusters = fitted("ale", partitioner=Clusters("ice", n_clusters=2))
    objects = [middle.partition_, middle, held_out, clusters, fitted(baseline("median"))]
    paths = [gx.save(obj, folder / f"{number}.json") for number, obj in enumerate(objects)]
    return [json.loads(path.read_text()) for path in paths]


def forged(document, folder):
    """A file whose checksum is right, whatever it holds."""
    rest = {name: content for name, content in document.items() if name != "sha256"}
    document["sha256"] = hashlib.sha256(json.dumps(rest).encode()).hexdigest()
    path = folder / "forged.json"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize(
    ("way", "value", "code"),
    [
        ("version", 3, "F07: .*version 3, written by an earlier edition.* Fit again"),
        ("version", 1, "F07: .*earlier edition"),
        ("version", 5, "F07: .*a newer edition.* Install a newer"),
        ("version", "4", "F04"),
        ("version", None, "F04"),
        ("schema", "granite-xai/estimator", "F04"),
        (
            "schema",
            "other/granite",
            "F04: .* is not a file of granite-xai. Pass a file that .* wrote",
        ),
        ("schema", None, "F04: .* is not a file of granite-xai"),
        ("granite", [], "F04"),
        ("granite.table.library", "os", "F04"),
        ("granite.table.columns.0.name", "k", "F04"),
        ("granite.table.columns.0.kind", "nominal", "F04"),
        ("granite.table.columns.0.kind", [], "F04"),
        ("granite.table.columns.2.declared", True, "F04"),
        ("granite.table.columns.3.order.value", ["low", "low"], "F04"),
        ("granite.table.columns", [], "F04"),
        ("granite.table.columns.2.values.value", ["x", "x", "z"], "F04"),
        ("granite.options.question", {"$": "Popen", "args": "true"}, "F04: .*'Popen'"),
        ("granite.options.question", "__import__('os').system('true')", "F04"),
        ("granite.options.influence", {"$": "Joint", "groups": 5}, "F04"),
        ("granite.options.influence", {"$": "Joint", "x": 5}, "F04"),
        ("granite.options.modell", 1, "F04"),
        ("granite.options.resources", {"$": "Resources", "memory_limit": -1}, "F04"),
        ("granite.options.resources", "many", "F04"),
        ("granite.diagnostics.seed", "seed", "F04"),
        ("granite.rows", None, "F04"),
        ("granite.rows.positions", "all", "F04"),
        ("granite.rows.weights.value.shape", [1], "F04"),
        ("granite.table.columns.0.position", 1, "F04"),
        ("granite.table.columns.0.passes", 0, "F04"),
        ("granite.fit.partition.names", ["a"], "F04"),
        ("granite.fit.partition.tree", {"n_samples": 1}, "F04"),
        ("granite.missing", None, "F04"),
        ("granite.plan.values", "all", "F04"),
        ("granite.plan.values", {"a": 1}, "F04"),
        ("granite.plan.combined", {"a": {"b": "c"}}, "F04"),
        ("granite.plan.probed", {"$": "tuple", "value": [0.0]}, "F04"),
        ("granite.plan.probed", {"$": "tuple", "value": []}, "F04"),
        (
            "granite.fit.shared_curves.value.all_curves.value.0.column",
            {"$": "Column"},
            "F04: .*no column of",
        ),
        ("granite.plan.learned", [[{"$": "Resources"}, {"$": "set", "value": [0]}, 1]], "F04"),
        ("granite.plan.learned.0.1", [0], "F04"),
        ("granite.plan.learned.0.2", {"$": "LevelBins", "fitted": 1}, "F04"),
        (
            "granite.plan.learned.0.2",
            {"$": "ExactBins", "columns": {"$": "tuple", "value": ["a"]}},
            "F04",
        ),
        ("granite.plan.learned.0.2", 0, "F04"),
        ("granite.questions", [], "F04"),
        ("granite.questions.0.pairs", [1, 0], "F04"),
        ("granite.questions.0.pairs", [10**9, 0], "F04"),
        ("granite.fit.disagreements.value.shape", [1], "F04"),
        ("granite.fit.exceeded", 1, "F04"),
        ("granite.fit.shared_curves", None, "F04"),
        ("granite.fit.shared_curves.value.all_curves", {"$": "tuple", "value": []}, "F04"),
        ("granite.fit.shared_curves.value.all_curves.value.0.mean", "high", "F04"),
        ("granite.fit.shared_curves.value.all_curves.value.0.column.value", 99, "F04"),
        ("granite.fit.shared_curves.value.all_curves.value.0.effects.value.shape", [1], "F04"),
        (
            "granite.fit.shared_curves.value.all_curves.value.0.row_curves.value.low.value.shape",
            [1],
            "F04",
        ),
        ("granite.fit.shared_curves.value.of_regions.value.shape", [1], "F04"),
        ("granite.fit.shared_curves.value.means.value.shape", [1], "F04"),
        ("granite.fit.ledger.value.untaken_cuts", 3, "F04"),
        ("granite.fit.estimate.remaining", "little", "F04"),
        ("granite.fit.nodes.value.0.nodes", 3, "F04"),
        ("granite.fit.learned", {"fit_": 1, "_words": 2}, "F04"),
        ("granite.fit.learned", {"apply": 1}, "F04"),
        ("granite.fit.model", {"label": "x"}, "F04"),
        ("granite.fit.row", {"row": [1, 2]}, "F04"),
        ("granite.fit.floors", {"$": "number", "value": "1"}, "F04"),
        ("granite.outputs", [["a", {}]], "F04"),
        ("granite.outputs", {"a": 1}, "F04"),
    ],
)
def test_to_F07_a_file_that_is_not_what_it_claims(way, value, code, documents, tmp_path):
    document = copy.deepcopy(documents[1])
    inner = document
    *keys, last = [int(key) if key.isdecimal() else key for key in way.split(".")]
    for key in keys:
        inner = inner[key]
    inner[last] = value
    with pytest.raises(gx.FormatError, match=code):
        gx.load(forged(document, tmp_path))


def test_a_file_that_was_changed_or_cut_off(documents, tmp_path):
    whole = json.dumps(documents[1])
    path = tmp_path / "changed.json"
    changed = copy.deepcopy(documents[1])
    changed["granite"]["fit"]["shared_curves"]["value"]["fidelity"] = 0.123
    path.write_text(json.dumps(changed))
    with pytest.raises(
        gx.FormatError, match=r"F04: .*changed\.json was changed after it was saved"
    ):
        gx.load(path)
    path.write_text(json.dumps(documents[1], indent=2) + "\r\n")
    assert gx.load(path).partition_  # the same content
    for end in (0, 1, 20, len(whole) // 2, len(whole) - 1):
        path.write_text(whole[:end])
        with pytest.raises(gx.FormatError, match=r"F04: .*changed\.json"):
            gx.load(path)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_refused(tmp_path, protocol):
    path = tmp_path / "g.json"
    path.write_bytes(pickle.dumps(fitted(), protocol=protocol))
    with pytest.raises(gx.FormatError, match=r"F06: .*pickle can run code; use granite_xai\.load"):
        gx.load(path)


def test_what_is_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        gx.load(tmp_path / "none.json")
    paths = [tmp_path, Path("/dev/null")]
    if hasattr(os, "mkfifo"):
        paths.append(tmp_path / "pipe")
        os.mkfifo(paths[-1])
    for path in paths:
        with pytest.raises(gx.FormatError, match="F05: .* is not a regular file"):
            gx.load(path)


JUNK = [
    *(None, True, -1, 0, 7, 10**18, 1e308, -0.5, "", "x", "0", "nan", "<f8", "../../etc/passwd"),
    *([], {}, [[]], [None], [1, 2], ["a", "b"], [0.5] * 80),
    *({"$": "Tree"}, {"$": 1}, {"$": "Joint", "groups": 5}, {"$": "labels", "value": [1, []]}),
    *({"$": "tuple", "value": []}, {"$": "mapping", "value": [[[], 1]]}, {"$": "deferred"}),
]


def places(data):
    """Every place in a document: the container and the key."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in items:
        yield data, key
        if isinstance(value, dict | list):
            yield from places(value)


@settings(examples(200), suppress_health_check=[])
@given(data=st.data())
def test_whatever_a_file_says_nothing_but_our_own_errors(documents, tmp_path_factory, data):
    """One to three entries replaced, removed or doubled, under a right checksum: refused, or of use."""
    document = copy.deepcopy(data.draw(st.sampled_from(documents)))
    for _ in range(data.draw(st.integers(1, 3))):
        spots = list(places(document))
        container, key = spots[data.draw(st.integers(0, len(spots) - 1))]
        change = data.draw(st.sampled_from(["junk", "junk", "remove", "double", "swap"]))
        if change == "remove":
            del container[key]
        elif change == "double" and isinstance(container, list):
            container.append(copy.deepcopy(container[key]))
        elif change == "swap":
            other, other_key = spots[data.draw(st.integers(0, len(spots) - 1))]
            container[key] = copy.deepcopy(other[other_key])
        else:
            container[key] = copy.deepcopy(data.draw(st.sampled_from(JUNK)))
    path = forged(document, tmp_path_factory.getbasetemp())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            loaded = gx.load(path)
            str(loaded)
            loaded.apply(NEW)
            if isinstance(loaded, gx.Granite):
                loaded.predict(NEW)
        except gx.GraniteError:
            return
