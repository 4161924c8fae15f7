"""Tables as people have them, from fit to predict: dtypes intact for the model, rules as a person would write them."""

from __future__ import annotations

import warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

import oracle
from granite_xai import DataWarning, InputError, Partition, Rule
from strategies import paper

SIZES = ["small", "medium", "large", "huge"]


def rides(n=160, seed=0):
    """Rides of a bike-sharing service: a column of every kind."""
    generator = np.random.default_rng(seed)
    months = pd.date_range("2011-01-01", periods=24, freq="MS")
    return pd.DataFrame(
        {
            "temp": generator.integers(-10, 31, n) / 2,
            "hr": generator.integers(0, 24, n),
            "workingday": generator.random(n) < 0.6,
            "weathersit": pd.Categorical(
                generator.choice(["clear", "mist", "rain"], n),
                categories=["rain", "mist", "clear", "snow"],
            ),
            "size": pd.Categorical(generator.choice(SIZES[:3], n), categories=SIZES, ordered=True),
            "date": months[generator.integers(0, 24, n)],
            "city": generator.choice(["Oslo", "Rome", "Lima"], n),
        }
    )


def to_polars(frame):
    ordered = [pl.col("size").cast(pl.String).cast(pl.Enum(SIZES))] if "size" in frame else []
    return pl.from_pandas(frame).with_columns(ordered)


LIBRARIES = {
    "pandas": lambda frame: frame,
    "nullable": lambda frame: frame.convert_dtypes(),
    "arrow": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "objects": lambda frame: frame.astype({"city": object, "hr": object, "workingday": object}),
    "polars": to_polars,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}

RULES = {
    "hr": (lambda hour: hour > 6, ["hr ≤ 6", "hr > 6"]),
    "workingday": (bool, ["workingday is False", "workingday is True"]),
    "weathersit": (lambda sky: sky == "rain", ["weathersit is rain", "weathersit is not rain"]),
    "size": (lambda size: size != "small", ["size ≤ small", "size > small"]),
    "date": (
        lambda day: pd.Timestamp(day) >= pd.Timestamp("2012-03-01"),
        ["date ≤ 2012-02-…", "date > 2012-02-…"],
    ),
    "city": (lambda city: city in ("Oslo", "Rome"), ["city is Lima", "city is not Lima"]),
}


def cells(X, name):
    column = X[name]
    return column.to_pylist() if hasattr(column, "to_pylist") else column.to_list()


def gone(cell):
    return cell is None or cell is pd.NA or cell is pd.NaT or cell != cell


def switched(name, holds):
    """Warm days help where the switch holds, and hurt where it does not; a missing cell is no switch."""

    def model(X):
        temp = [0.0 if gone(cell) else float(cell) for cell in cells(X, "temp")]
        signs = [1.0 if not gone(cell) and holds(cell) else -1.0 for cell in cells(X, name)]
        return np.array(temp) * np.array(signs)

    return model


def texts(granite):
    return [str(region.rule) for region in granite.partition_]


def everywhere(libraries, names):
    """Each library and each column; by default every library and every column, but not all of their pairs."""
    pairs = [
        (i, library, j, name) for i, library in enumerate(libraries) for j, name in enumerate(names)
    ]
    marks = [() if (i + j) % 3 == 0 else pytest.mark.slow for i, _, j, _ in pairs]
    values = [pytest.param(p[1], p[3], marks=mark) for p, mark in zip(pairs, marks, strict=True)]
    return pytest.mark.parametrize(("library", "name"), values)


def as_expected(found, expected):
    return all(
        text.startswith(wanted.partition("…")[0])
        for text, wanted in zip(found, expected, strict=True)
    )


# D10, D13, D14, D17 - D19: every kind of column in every library ------------------------------------------------------


@everywhere(LIBRARIES, RULES)
def test_rules_read_like_a_persons(library, name):
    """A switch on a column of any kind is found, told in its own words, and holds for other rows."""
    convert, (holds, rules) = LIBRARIES[library], RULES[name]
    X, new, model = convert(rides()), convert(rides(60, 1)), switched(name, holds)
    granite = paper(model, max_depth=1).fit(X)
    assert as_expected(texts(granite), rules)
    assert granite.remaining_ < 1e-9
    assert granite.fidelity_ == pytest.approx(1.0)
    regions = granite.apply(new)
    assert np.array_equal(
        regions == regions[0],
        [holds(cell) == holds(cells(new, name)[0]) for cell in cells(new, name)],
    )
    assert granite.evaluate(new).remaining < 1e-9
    assert granite.predict(new) == pytest.approx(model(new))
    for result in (granite.evaluate(new).frame(), granite.explain(new).frame()):
        assert type(result).__module__.partition(".")[0] == type(X).__module__.partition(".")[0]


def test_the_result_is_the_same_in_every_library():
    """One model, one table, six containers: the same regions; sums over levels may come in another order."""
    holds = RULES["weathersit"][0]
    fits = [
        paper(switched("weathersit", holds)).fit(convert(rides())) for convert in LIBRARIES.values()
    ]
    for fit in fits[1:]:
        assert texts(fit) == texts(fits[0])
        assert fit.disagreement_ == pytest.approx(fits[0].disagreement_, rel=1e-14)
        assert fit.remaining_ == pytest.approx(fits[0].remaining_, abs=1e-14)


def test_declared_levels_that_no_row_has_are_known_and_not_offered():
    granite = paper(switched("size", RULES["size"][0]), max_depth=1).fit(rides())
    new = rides(8, 1).assign(size=pd.Categorical(SIZES * 2, categories=SIZES, ordered=True))
    assert granite.apply(new).tolist() == [0, 1, 1, 1] * 2


def test_time_zones_and_durations_stay_what_they_are():
    """The model gets its own dtype; the rule speaks of the same instants and durations."""
    zoned = rides().assign(date=lambda X: X["date"].dt.tz_localize("Europe/Oslo"))
    march = pd.Timestamp("2012-03-01", tz="Europe/Oslo")
    granite = paper(lambda X: X["temp"] * np.where(X["date"] >= march, 1.0, -1.0), max_depth=1).fit(
        zoned
    )
    assert np.array_equal(granite.apply(zoned), zoned["date"] >= march)
    lasting = rides().assign(hr=lambda X: pd.to_timedelta(X["hr"], unit="h"))
    limit = pd.Timedelta("6h")
    granite = paper(lambda X: X["temp"] * np.where(X["hr"] > limit, 1.0, -1.0), max_depth=1).fit(
        lasting
    )
    assert np.array_equal(granite.apply(lasting), lasting["hr"] > limit)


@pytest.mark.parametrize("dtype", ["float16", "float32", "longdouble"])
def test_the_model_gets_the_dtype_of_the_table(dtype):
    seen = set()

    def model(X):
        seen.add(X.dtype)
        return np.asarray(X[:, 0] * np.where(X[:, 1] > 0, 1, -1), dtype=float)

    X = np.random.default_rng(0).choice([-1.5, -0.5, 0.5, 1.5], size=(80, 2)).astype(dtype)
    granite = paper(model).fit(X)
    assert texts(granite) == ["x1 ≤ 0", "x1 > 0"]
    assert seen == {np.dtype(dtype)}


# M14: models that need the table they were trained on -----------------------------------------------------------------


def raw_pipeline(X, y):
    """A pipeline on raw columns, as in scikit-learn's own guide."""
    encode = make_column_transformer(
        (
            OneHotEncoder(handle_unknown="ignore"),
            make_column_selector(dtype_include=["str", "category"]),
        ),
        ("passthrough", ["temp", "hr", "workingday"]),
        sparse_threshold=0,
    )
    return make_pipeline(encode, HistGradientBoostingRegressor(max_iter=30, random_state=0)).fit(
        X, y
    )


def test_the_model_sees_frames_like_the_one_it_was_trained_on():
    X = rides().set_index(pd.Index([f"ride {n}" for n in range(160)], name="ride"))
    model = raw_pipeline(X, switched("workingday", bool)(X))
    frames = []

    def watched(frame):
        frames.append(frame)
        return model.predict(frame)

    granite = paper(watched, max_depth=1).fit(X)
    granite.evaluate(X), granite.explain(X), granite.predict(X)
    assert texts(granite) == ["workingday is False", "workingday is True"]
    for frame in frames:
        assert frame.dtypes.equals(X.dtypes)
        assert frame.columns.equals(X.columns)
        assert (type(frame.index), frame.index.name) == (pd.Index, "ride")
        assert list(frame["weathersit"].cat.categories) == ["rain", "mist", "clear", "snow"]


@pytest.mark.parametrize("library", ["pandas", "nullable", "arrow", "polars"])
def test_pipelines_take_raw_columns_of_each_library(library):
    convert = LIBRARIES[library]
    columns = ["temp", "hr", "city", "workingday"]
    X, new = convert(rides()[columns]), convert(rides(50, 1)[columns])
    encode = make_column_transformer((OrdinalEncoder(), ["city"]), remainder="passthrough")
    forest = HistGradientBoostingRegressor(max_iter=30, random_state=0)
    model = make_pipeline(encode, forest).fit(X, switched("city", lambda city: city == "Rome")(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        granite = paper(model, max_depth=1).fit(X)
        evaluation = granite.evaluate(new)
    assert texts(granite) == ["city is Rome", "city is not Rome"]
    assert evaluation.remaining < 0.2
    assert granite.predict(new) == pytest.approx(
        model.predict(new), abs=0.25 * np.std(model.predict(new)) + 2
    )


# C13, D15: levels -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "nullable", "polars", "pyarrow"])
def test_levels_never_seen_go_with_the_larger_child_and_have_no_effect(library):
    convert = LIBRARIES[library]
    holds = RULES["city"][0]
    granite = paper(switched("city", holds), max_depth=1).fit(convert(rides()))
    new = rides(30, 1)
    new["city"] = np.where(np.arange(30) % 3 == 0, "Quito", new["city"])
    with pytest.warns(DataWarning, match=r"D15: X column 'city' \(index 6\) has 1 level .*'Quito'"):
        regions = granite.apply(convert(new))
    larger = int(np.argmax([region.n_samples for region in granite.partition_]))
    assert set(regions[::3]) == {larger}
    known = rides(30, 1)
    with pytest.warns(DataWarning, match="D15"):
        values = granite.predict(convert(new))
    assert np.array_equal(values[1::3], granite.predict(convert(known))[1::3])
    signs = np.where(larger == 1, 1.0, -1.0)
    assert values[::3] == pytest.approx(signs * known["temp"].to_numpy()[::3])


def test_levels_are_matched_by_label_never_by_code():
    granite = paper(switched("weathersit", RULES["weathersit"][0]), max_depth=1).fit(rides())
    new = rides(60, 1)
    other = new.assign(
        weathersit=new["weathersit"].cat.set_categories(["clear", "snow", "rain", "mist"])
    )
    plain = new.assign(weathersit=new["weathersit"].astype(str))
    assert np.array_equal(granite.apply(new), granite.apply(other))
    assert np.array_equal(granite.apply(new), granite.apply(plain))
    known, recoded = granite.evaluate(new), granite.evaluate(other)
    assert recoded.global_disagreement == pytest.approx(known.global_disagreement)
    assert max(known.remaining, recoded.remaining) < 1e-9


def test_a_planted_grouping_of_many_levels_is_found():
    """Twelve levels are too many for all groupings; along the order of pure effects the right one is a cut."""
    generator = np.random.default_rng(0)
    letters = np.array(list("abcdefghijkl"))
    group = set("behk")
    X = pd.DataFrame(
        {"x": generator.integers(-3, 4, 300) / 2, "level": letters[generator.integers(0, 12, 300)]}
    )
    model = lambda X: X["x"] * np.where(X["level"].isin(list(group)), 1.0, -1.0)  # noqa: E731
    granite = paper(model, max_depth=1).fit(X)
    assert texts(granite) == ["level in {b, e, h, k}", "level not in {b, e, h, k}"]
    assert granite.remaining_ < 1e-9


# C14, D01, D02: missing values ----------------------------------------------------------------------------------------


def with_gaps(name, n=160, seed=0):
    frame = rides(n, seed)
    if name in ("hr", "workingday"):
        frame[name] = frame[name].astype("Int64" if name == "hr" else "boolean")
    frame.loc[np.random.default_rng(seed + 5).random(n) < 0.2, name] = None
    return frame


MISSING_RULES = {
    "hr": ["hr ≤ 6 or missing", "hr > 6"],
    "workingday": ["workingday is False or missing", "workingday is True"],
    "weathersit": ["weathersit is rain", "weathersit is not rain or missing"],
    "size": ["size ≤ small or missing", "size > small"],
    "date": ["date ≤ 2012-02-… or missing", "date > 2012-02-…"],
    "city": ["city is Lima or missing", "city is not Lima"],
}


@everywhere(["pandas", "nullable", "arrow", "polars", "pyarrow"], RULES)
def test_missing_values_have_a_side_and_the_rule_says_so(library, name):
    convert, holds = LIBRARIES[library], RULES[name][0]
    X, new, model = convert(with_gaps(name)), convert(with_gaps(name, 60, 1)), switched(name, holds)
    granite = paper(model, max_depth=1, missing="allow").fit(X)
    found = texts(granite)
    assert as_expected(found, MISSING_RULES[name])
    assert [text.endswith("or missing") for text in found] == [
        text.endswith("missing") for text in MISSING_RULES[name]
    ]
    assert granite.remaining_ < 1e-9
    side = next(k for k, text in enumerate(found) if "missing" in text)
    absent = np.array([gone(cell) for cell in cells(new, name)])
    assert absent.any()
    assert set(granite.apply(new)[absent]) == {side}
    assert granite.predict(new) == pytest.approx(model(new))
    assert granite.evaluate(new).remaining < 1e-9


def test_missing_or_present_is_a_split_of_its_own():
    X = with_gaps("hr")
    granite = paper(switched("hr", lambda hour: True), max_depth=1, missing="allow").fit(X)
    assert texts(granite) == ["hr is missing", "hr is present"]


def test_a_node_without_missing_values_sends_them_with_its_larger_child():
    """The column has missing values, but none among working days, where the cut is."""
    X = rides(400).astype({"temp": float, "hr": float})
    X.loc[~X["workingday"] & (X["temp"] > 10), "hr"] = np.nan

    def model(X):
        return X["temp"] * np.where(X["workingday"], np.where(X["hr"] > 6, 1.0, -1.0), 3.0)

    granite = paper(model, max_depth=2, missing="allow").fit(X)
    assert texts(granite) == [
        "workingday is False",
        "(workingday is True or missing) and hr ≤ 6",
        "(workingday is True or missing) and (hr > 6 or missing)",
    ]
    lost = X[X["workingday"]].assign(hr=np.nan)
    larger = max(
        (region for region in granite.partition_ if "hr" in str(region.rule)),
        key=lambda r: r.n_samples,
    )
    assert set(granite.apply(lost)) == {larger.index}


def holds_in(granite, X, region, name, holds):
    """Whether the switch holds in a region that it divides."""
    first = int(np.flatnonzero(granite.apply(X) == region)[0])
    return holds(cells(X, name)[first])


@everywhere(["pandas", "nullable", "arrow", "polars", "pyarrow"], RULES)
def test_a_missing_value_that_no_fitting_row_had_goes_with_the_larger_side(library, name):
    """In the text of the rule, apply, predict, engines and code alike: one rule, one meaning."""
    convert, holds = LIBRARIES[library], RULES[name][0]
    X, new = convert(rides()), convert(with_gaps(name, 60, 1))
    granite = paper(switched(name, holds), max_depth=1, missing="allow").fit(X)
    larger = max(granite.partition_, key=lambda region: region.n_samples).index
    with pytest.warns(DataWarning, match=f"D02: X has .* in feature '{name}', where no fitting"):
        found = granite.apply(new)
    absent = np.array([gone(cell) for cell in cells(new, name)])
    assert absent.any()
    assert set(found[absent]) == {larger}
    says_missing = [text.endswith(" or missing") for text in texts(granite)]
    assert np.flatnonzero(says_missing).tolist() == [larger]
    assert "missing" not in str(granite)  # no row of the fit is, and words are for people
    orders = {"size": SIZES}
    rules = [Rule.parse(text, orders) for text in texts(granite)]
    assert np.array_equal(Partition.from_rules(rules).apply(new), found)
    assert np.array_equal(granite.partition_.apply(new), found)
    assert np.array_equal(cells(granite.partition_.assign(new), "region"), found)
    again = Partition.from_dict(granite.partition_.to_dict())
    assert np.array_equal(again.apply(new), found)
    with pytest.warns(DataWarning, match="D02"):
        predicted = granite.predict(new)
    # The curve of the feature adds nothing; inside a side the model is the line of temp.
    sign = 1.0 if holds_in(granite, X, larger, name, holds) else -1.0
    temp = np.array([float(cell) for cell in cells(new, "temp")])
    assert predicted[absent] == pytest.approx(sign * temp[absent])


@pytest.mark.parametrize("name", ["hr", "weathersit", "city", "workingday"])
def test_a_rule_means_the_same_in_text_sql_python_and_frames(name):
    """Also where a missing value goes that no fitting row had."""
    X, new = rides(), with_gaps(name, 60, 1)
    granite = paper(switched(name, RULES[name][0]), max_depth=1, missing="allow").fit(X)
    partition = granite.partition_
    with pytest.warns(DataWarning, match="D02"):
        regions = granite.apply(new).tolist()
    cells_of_rows = new.astype(object).to_dict("records")
    module = {}
    exec(partition.to_python("region"), module)
    assert [module["region"](row) for row in cells_of_rows] == regions
    for dialect in (None, "duckdb"):
        query = f"SELECT {partition.to_sql(dialect=dialect)} FROM new"
        assert duckdb.sql(query).df()["region"].tolist() == regions
    there = pl.from_pandas(new)
    assert there.with_columns(partition.to_polars())["region"].to_list() == regions
    assert partition.assign(there)["region"].to_list() == regions
    for number, expression in partition.to_pandas().items():
        inside = new.query(expression, engine="python").index
        assert inside.tolist() == np.flatnonzero(np.equal(regions, number)).tolist()
        rule = Rule.parse(str(partition.rules[number]))
        assert np.flatnonzero(rule.contains(new)).tolist() == inside.tolist()


def test_a_missing_value_has_no_region_where_the_fit_did_not_allow_it():
    X, new = rides(), with_gaps("hr", 60, 1)
    refusing = paper(switched("hr", lambda hour: hour > 6), max_depth=1).fit(X)
    query = f"SELECT {refusing.partition_.to_sql(dialect='duckdb')} FROM new"
    assert duckdb.sql(query).df()["region"].isna().tolist() == new["hr"].isna().tolist()


@everywhere(
    ["pandas", "nullable", "arrow", "polars", "pyarrow"],
    ["temp", "hr", "weathersit", "date", "city"],
)
def test_without_leave_missing_values_are_refused_at_fit_and_at_apply(library, name):
    convert, calls = LIBRARIES[library], []

    def model(X):
        calls.append(len(X))
        return switched("workingday", bool)(X)

    with pytest.raises(InputError) as caught:
        paper(model).fit(convert(with_gaps(name)))
    assert (caught.value.code, caught.value.columns, calls) == ("D01", (name,), [])
    granite = paper(model).fit(convert(rides()))
    assert not any("missing" in text for text in texts(granite))
    for use in (granite.apply, granite.predict, granite.evaluate, granite.explain):
        with pytest.raises(InputError, match=rf"D01: X column '{name}'"):
            use(convert(with_gaps(name, 40, 1)))


# Splits against the definition ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [3, 8])
@pytest.mark.parametrize("seed", range(4))
def test_splits_on_levels_and_missing_values_are_those_of_the_definition(levels, seed):
    """Nominal levels (few, and too many for all groupings) and missing values, against the slow loops."""
    generator = np.random.default_rng(seed)
    n = 28
    effect = generator.normal(size=levels + 1)
    x = generator.integers(0, 4, n).astype(float)
    x[generator.random(n) < 0.2] = np.nan
    level = [
        None if generator.random() < 0.15 else f"L{generator.integers(levels)}" for _ in range(n)
    ]
    rows = [
        [None if np.isnan(a) else float(a), b, float(c)]
        for a, b, c in zip(x, level, generator.normal(size=n), strict=True)
    ]

    def values(rows):
        signs = [effect[-1] if gone(row[1]) else effect[int(row[1][1:])] for row in rows]
        return np.array(
            [
                (1.5 if gone(row[0]) else row[0]) * s + row[2] * s**2
                for row, s in zip(rows, signs, strict=True)
            ]
        )

    X = pd.DataFrame(rows, columns=["x", "level", "c"]).astype({"x": float, "level": object})
    settings = {"max_depth": 2, "min_samples_leaf": 4, "alpha": 0.01, "max_candidates": 8}
    granite = paper(
        lambda X: values(X.to_numpy(dtype=object).tolist()), missing="allow", **settings
    ).fit(X)
    problem = oracle.Problem(values, rows, kinds=["numeric", "nominal", "numeric"])
    fit = oracle.grow(oracle.question("ice-pdp"), problem, **settings)
    regions = granite.apply(X)
    assert [
        np.flatnonzero(regions == k).tolist() for k in range(len(granite.partition_))
    ] == fit.regions()
    assert granite.disagreement_ == pytest.approx(fit.disagreement)
    assert granite.remaining_ == pytest.approx(fit.remaining)
    strange = [
        [None, "L0", 0.0],
        [1.0, None, 0.0],
        [1.0, "never", 0.0],
        [9.0, "L1", 1.0],
        [None, None, 1.0],
    ]
    new = pd.DataFrame(strange, columns=["x", "level", "c"]).astype({"x": float, "level": object})
    with pytest.warns(DataWarning, match="D15"):
        assert granite.apply(new).tolist() == oracle.apply(fit.root, problem, strange)
