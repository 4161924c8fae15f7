"""Models and tables that do not fit together say what to do, once; small calls of a model use one thread."""

from __future__ import annotations

import time
import warnings

import lightgbm
import numpy as np
import pandas as pd
import pytest
import threadpoolctl
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import granite_xai as gx

N = 120
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "temp": RNG.normal(size=N),
        "wind": RNG.normal(size=N),
        "weather": RNG.choice(["clear", "rain"], N),
        "day": pd.date_range("2020", periods=N),
    }
)
TEXT = TABLE[["temp", "wind", "weather"]]
DATES = TABLE[["temp", "wind", "day"]]
CODES = TEXT.assign(weather=(TEXT["weather"] == "rain").astype(float))
DAYS = DATES.assign(day=np.arange(float(N)))
Y = TABLE["temp"] * CODES["weather"]
PASS_THE_TABLE = "Pass the table or the Pipeline that the model was fitted on"
QUICK_LIGHTGBM = lightgbm.LGBMRegressor(n_estimators=5, min_child_samples=5, verbose=-1)
MODELS = (
    LinearRegression(),
    RandomForestRegressor(3, random_state=0),
    HistGradientBoostingRegressor(max_iter=5),
    QUICK_LIGHTGBM,
)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize(
    ("X", "fitted_on", "held"),
    [(TEXT, CODES, "text or categories in 'weather'"), (DATES, DAYS, "dates in 'day'")],
    ids=["text", "dates"],
)
@pytest.mark.parametrize(
    "output", [None, "all"]
)  # of "all", one row is asked about before the others
@pytest.mark.filterwarnings("ignore:M30")  # the trees of some of them cannot be read there either
def test_a_model_that_was_fitted_on_another_table_says_so_and_blames_no_row(
    model, X, fitted_on, held, output
):
    model.fit(fitted_on, Y)
    with pytest.raises(gx.ModelError, match="M07: .* at every row that was tried") as caught:
        gx.Granite(model, output=output).fit(X)
    assert caught.value.hint == f"{PASS_THE_TABLE}: X holds {held}."


def test_a_model_of_more_columns_says_so_too():
    model = LinearRegression().fit(CODES.assign(hour=1.0).to_numpy(), Y)
    with pytest.raises(gx.ModelError, match="expecting 4 features .* at every row") as caught:
        gx.Granite(model).fit(CODES)
    assert caught.value.hint == f"{PASS_THE_TABLE}."


def test_where_single_rows_fail_one_is_named_with_few_calls():
    sizes = []

    def model(X):
        sizes.append(len(X))
        if (X["temp"] == TABLE["temp"][70]).any():
            raise KeyError("no such level")
        return X["temp"] * X["wind"]

    with pytest.raises(gx.ModelError, match=r"M07: the model raised KeyError .* \(row 70\)") as c:
        gx.Granite(model, confidence_level=None, resources=gx.Resources(batch_size=N)).fit(CODES)
    assert c.value.rows == (70,)
    assert c.value.hint == "Check the model on these rows."
    assert sum(sizes) <= 6 * N


def test_the_pipeline_that_was_fitted_on_the_table_is_explained():
    encoder = make_column_transformer((OneHotEncoder(), ["weather"]), remainder="passthrough")
    model = make_pipeline(encoder, RandomForestRegressor(3, random_state=0)).fit(TEXT, Y)
    assert gx.Granite(model).fit(TEXT).partition_ is not None


def _warnings_of_a_fit(model, X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = gx.Granite(model).fit(X)
    return fitted, [str(warning.message) for warning in caught]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_an_array_for_a_model_of_named_columns_is_one_warning(model):
    """Also where the library would warn at each of its calls; the fit is that of the frame."""
    model.fit(CODES, Y)
    of_array, texts = _warnings_of_a_fit(model, CODES.to_numpy())
    assert len(texts) == 1
    assert texts[0].startswith("M32: X has no column names")
    assert of_array.diagnostics_["warnings"] == texts
    of_frame, texts = _warnings_of_a_fit(model, CODES)
    assert texts == []
    assert of_array.disagreement_ == pytest.approx(of_frame.disagreement_, rel=1e-5)
    way = of_frame.diagnostics_["evaluations"]["path"]
    assert of_array.diagnostics_["evaluations"]["path"] == way


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_an_array_for_a_model_of_an_array_is_no_warning(model):
    """Lightgbm gives names of its own to the columns of an array, and warns that they are missing."""
    model.fit(CODES.to_numpy(), Y)
    assert _warnings_of_a_fit(model, CODES.to_numpy())[1] == []


def test_an_array_of_text_for_a_pipeline_that_selects_by_name_is_explained():
    encoder = make_column_transformer((OneHotEncoder(), ["weather"]), remainder="passthrough")
    model = make_pipeline(encoder, LinearRegression()).fit(TEXT, Y)
    with pytest.warns(gx.ModelWarning, match="M32"):
        fitted = gx.Granite(model).fit(TEXT.to_numpy(dtype=object))
    assert fitted.disagreement_ == 0.0


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression().fit(CODES, np.digitize(Y, [-0.3, 0.3])),
        lambda X: np.stack([X["temp"], X["wind"], X["weather"]], axis=1),
    ],
    ids=["classes", "columns"],
)
def test_several_outputs_name_the_option_that_explains_all(model):
    with pytest.raises(gx.ModelError, match="M02") as caught:
        gx.Granite(model).fit(CODES)
    assert "output= one of 0, 1, 2" in caught.value.hint
    assert "output='all'" in caught.value.hint
    assert list(gx.Granite(model, output="all").fit(CODES).outputs_) == [0, 1, 2]


def _openmp_threads():
    return {
        library["num_threads"]
        for library in threadpoolctl.threadpool_info()
        if library["user_api"] == "openmp"
    }


def test_small_calls_of_the_model_use_one_thread_of_openmp():
    """The others wait for each other; large calls, and what comes afterwards, have all threads."""
    threads = {}

    def model(X):
        threads.setdefault(len(X), _openmp_threads())
        return X[:, 0] * X[:, 1]

    rows = RNG.normal(size=(9000, 2))
    with threadpoolctl.threadpool_limits(3, user_api="openmp"):
        gx.Explainer("marginal", "local", "pure").explain(
            model, rows, max_samples=400, resources=gx.Resources(max_grid=20, batch_size=5000)
        )
        assert _openmp_threads() == {3}
    assert any(size >= 5000 for size in threads)
    for size, during in threads.items():
        assert during == ({3} if size >= 4096 else {1})


def test_small_calls_of_histogram_boosting_take_less_processor_time():
    """Same answers; a call of 64 rows by three threads takes several times that of one."""
    model = HistGradientBoostingRegressor(max_iter=100).fit(CODES, Y)
    rows = CODES.iloc[:64].to_numpy()
    model.feature_names_in_ = None
    del model.feature_names_in_
    explainer = gx.Explainer("marginal", "local", "pure")

    def seconds(asked):
        begin = time.process_time()
        values = explainer.explain(asked, rows, resources=gx.Resources(max_grid=4)).values
        return time.process_time() - begin, values

    with threadpoolctl.threadpool_limits(3, user_api="openmp"):

        def freed(X):
            with threadpoolctl.threadpool_limits(3, user_api="openmp"):
                return model.predict(X)

        limited, values = min(
            (seconds(lambda X: model.predict(X)) for _ in range(3)), key=lambda each: each[0]
        )
        free, same_values = min((seconds(freed) for _ in range(3)), key=lambda each: each[0])
    np.testing.assert_array_equal(values, same_values)
    assert limited < free
