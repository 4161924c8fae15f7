"""D11: texts and idle columns pass on to the model; rare levels share a group in splits; effects keep all."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

import granite_xai as gx
from granite_xai.models.model_table import read_input
from granite_xai.search.level_groups import MOST_LEVELS, frequent_levels
from granite_xai.tables import Column, read_table

N = 60


def rows(n=N):
    rng = np.random.default_rng(0)
    text = [f"row {i}" for i in range(n)]
    return pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "text": text,
            "b": rng.normal(size=n),
            "c": rng.choice([*"pq"], n),
        }
    )


def product(X):
    """A model that needs the texts: their length counts."""
    frame = X if isinstance(X, pd.DataFrame) else X.to_pandas()
    return (frame["a"] * (frame["b"] > 0) + 0.01 * frame["text"].str.len()).to_numpy()


@pytest.mark.parametrize("convert", [lambda X: X, pl.from_pandas])
def test_D11_a_column_of_different_texts_passes_through_and_is_said_once(convert):
    with pytest.warns(gx.DataWarning, match="D11: .*'text' of X") as caught:
        g = gx.Granite(product, min_samples_leaf=5).fit(convert(rows()))
    assert len(caught) == 1
    assert [str(region.rule) for region in g.partition_] == ["b ≤ 0", "b > 0"]
    assert g.diagnostics_["warnings"] == [str(caught[0].message)]
    effects = g.explain(convert(rows()))
    assert {name for names in effects.sets for name in names} == {"a", "b", "c"}
    assert g.apply(convert(rows().assign(text=None))).tolist() == g.apply(convert(rows())).tolist()


@pytest.mark.parametrize(
    "named",
    [
        {"features": ["text"]},
        {"split_features": ["text", "a"]},
        {"partitioner": gx.partitioners.Tree(split_features=["text", "a"])},
        {"kinds": {"text": "nominal"}},
    ],
)
def test_D11_a_column_that_is_asked_for_by_name_is_nominal(named):
    g = gx.Granite(product, **named).fit(rows())
    assert g.diagnostics_["warnings"] == []


def test_D11_texts_are_levels_while_they_are_half_of_the_rows():
    X = pd.DataFrame({"a": np.arange(100.0), "t": [f"t{i % 50}" for i in range(100)]})
    assert read_input(X, product).passing == frozenset()
    X.loc[0, "t"] = "another"
    with pytest.warns(gx.DataWarning, match="D11"):
        assert read_input(X, product).passing == {1}
    assert read_input(X.assign(t=X["t"].astype("category")), product).passing == frozenset()


def test_D11_what_passes_is_a_player_without_an_effect_of_its_own():
    """Full effects keep the text of the row, pure ones average over all texts: the gap is that of a joint player."""
    X = rows(24)
    with pytest.warns(gx.DataWarning, match="D11"):
        pdp = gx.Explainer(interaction="pure").explain(product, X).values
    with pytest.warns(gx.DataWarning, match="D11"):
        ice = gx.Explainer(interaction="full").explain(product, X).values
    grid = [[product(X.assign(a=a))[m] for m in range(24)] for a in X["a"]]
    assert np.allclose(pdp[:, 0], np.mean(grid, axis=1) - product(X).mean())
    hidden = [[product(X.iloc[[n]].assign(a=a))[0] for a in X["a"]] for n in range(24)]
    assert np.allclose(ice[:, 0], product(X) - np.mean(hidden, axis=1))


def test_D11_columns_that_a_pipeline_drops_pass_through():
    X = rows().assign(id=np.arange(N))
    first = make_column_transformer((FunctionTransformer(), ["a", "b"]), (OneHotEncoder(), ["c"]))
    model = make_pipeline(first, LinearRegression()).fit(X, X["a"])
    with pytest.warns(gx.DataWarning, match="does not use 'text', 'id'"):
        table = read_input(X, model)
    assert table.passing == {1, 4}
    assert read_input(X, model, requested=["id", "text"]).passing == frozenset()
    with pytest.warns(gx.DataWarning, match="D11"):
        assert read_input(X.drop(columns="text")[["id", "b", "c", "a"]], model).passing == {
            0
        }  # any order by name


def test_D11_only_texts_cannot_all_pass():
    X = pd.DataFrame({"t": [f"t{i}" for i in range(30)]})
    assert read_input(X, product).passing == frozenset()


def test_D11_levels_beyond_the_hundred_most_frequent_share_a_group_of_splits():
    rng = np.random.default_rng(0)
    common, rare = [f"c{i:03}" for i in range(MOST_LEVELS)], [f"r{i:03}" for i in range(50)]
    city = np.array([*np.repeat(common, 3), *rare], dtype=object)
    X = pd.DataFrame({"x": rng.normal(size=len(city)), "city": city})
    column = read_table(X, missing="error").columns[1]
    classes = frequent_levels(column)
    assert classes[:MOST_LEVELS].tolist() == list(range(MOST_LEVELS))
    assert set(classes[MOST_LEVELS:]) == {MOST_LEVELS}
    merged = column.merged(classes)
    assert len(merged.levels) == MOST_LEVELS + 1
    assert np.array_equal(merged.codes, classes[column.codes])

    def model(X):
        return X["x"].to_numpy() * X["city"].str.startswith("r").to_numpy()

    g = gx.Granite(model, min_samples_leaf=5, max_depth=1).fit(X)
    assert len(g.partition_) == 2
    assert g.remaining_ < 1e-12
    assert len(g.explain(X).parts) > 0


def test_D11_few_levels_stay_as_they_are():
    column = Column("x", 0, "nominal", np.array(["b", "a", None], dtype=object))
    assert column.merged(frequent_levels(column)) is column


def test_D11_what_passes_is_saved_without_its_texts(tmp_path):
    with pytest.warns(gx.DataWarning):
        g = gx.Granite(product, min_samples_leaf=5).fit(rows())
    path = gx.save(g, tmp_path / "g.json")
    assert "row 17" not in path.read_text()
    again = gx.load(path, model=product)
    assert again.apply(rows()).tolist() == g.apply(rows()).tolist()
    full = gx.load(path, model=product, X=rows())
    assert full.evaluate(rows()).remaining == g.evaluate(rows()).remaining
