"""The paper's data and toys, whatever the source."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from granite_xai import InputError, datasets

FIVE_ROWS = Path(__file__).parents[1] / "data"


@pytest.fixture
def openml(monkeypatch):
    """OpenML answers with five rows in its own names and units; types as scikit-learn's parser gives them."""
    text = {
        "season": "category",
        "holiday": "category",
        "workingday": "category",
        "weather": "category",
    }
    frame = pd.read_csv(FIVE_ROWS / "openml" / "bike.csv", dtype=text)
    monkeypatch.delenv("GRANITE_DATA", raising=False)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: SimpleNamespace(frame=frame))
    return frame


@pytest.fixture
def no_source(monkeypatch):
    def refuse(**_):
        raise OSError("Name or service not known")

    monkeypatch.delenv("GRANITE_DATA", raising=False)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)


@pytest.fixture
def published(monkeypatch):
    monkeypatch.setenv("GRANITE_DATA", str(FIVE_ROWS))


def test_bike_sharing_is_the_table_of_the_paper(data_folder):
    """17K examples, ten features; the target has a standard deviation of 181.45 on the paper's test rows."""
    raw = pd.read_csv(data_folder / "bike-sharing" / "hour.csv")
    X, y = datasets.load_bike_sharing(as_frame=True)
    assert list(X) == [
        "yr",
        "mnth",
        "hr",
        "holiday",
        "weekday",
        "workingday",
        "weathersit",
        "temp",
        "hum",
        "windspeed",
    ]
    assert X.shape == (17379, 10)
    assert sorted(X["mnth"].unique()) == list(range(12))
    assert np.array_equal(X["temp"], raw["temp"] * 41)
    assert np.array_equal(X["windspeed"], raw["windspeed"])
    assert y.name == "cnt"
    assert y.std() == pytest.approx(181.4, abs=0.1)


def test_diabetes_is_in_readable_units():
    X, y = datasets.load_diabetes(as_frame=True)
    assert list(X) == ["age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6"]
    assert X["age"].between(18, 80).all()
    assert len(y) == 442


@pytest.mark.parametrize("load", [datasets.load_bike_sharing, datasets.load_diabetes])
def test_arrays_hold_the_numbers_of_the_frame(published, load):
    frame, target = load(as_frame=True)
    X, y = load(as_frame=False)
    assert X.dtype == y.dtype == np.float64
    assert np.array_equal(X, frame.to_numpy())
    assert np.array_equal(y, target.to_numpy())


def test_openml_gives_bitwise_the_published_numbers(openml, monkeypatch):
    X, y = datasets.load_bike_sharing()
    monkeypatch.setenv("GRANITE_DATA", str(FIVE_ROWS))
    published_X, published_y = datasets.load_bike_sharing()
    pd.testing.assert_frame_equal(X, published_X, check_exact=True)
    pd.testing.assert_series_equal(y, published_y)


def test_the_made_up_rows_have_the_columns_of_the_published_table(data_folder):
    """The fixture is invented; its form must not drift from the real file."""
    real = pd.read_csv(data_folder / "bike-sharing" / "hour.csv")
    five = pd.read_csv(FIVE_ROWS / "bike-sharing" / "hour.csv")
    assert list(five) == list(real)
    assert five.dtypes.astype(str).to_dict() == real.dtypes.astype(str).to_dict()


def test_openml_with_an_unknown_weather_is_refused(openml):
    openml["weather"] = openml["weather"].cat.rename_categories({"clear": "sunny"})
    with pytest.raises(InputError, match="'weather' has unexpected values.*sunny"):
        datasets.load_bike_sharing()


def test_a_folder_without_the_file_falls_back_to_openml(openml, monkeypatch, tmp_path):
    monkeypatch.setenv("GRANITE_DATA", str(tmp_path))
    assert len(datasets.load_bike_sharing()[0]) == 5


def test_labels_name_the_codes(published):
    X, _ = datasets.load_bike_sharing(labels=True)
    row = X.iloc[1]
    named = ["yr", "holiday", "weekday", "workingday", "weathersit"]
    assert list(row[named]) == ["2011", "yes", "Monday", "no", "rain"]
    assert all(isinstance(X[column].dtype, pd.CategoricalDtype) for column in named)
    assert all(pd.api.types.is_numeric_dtype(X[column]) for column in X.columns.difference(named))


def test_labels_need_a_frame(published):
    with pytest.raises(InputError, match="P03: labels=True needs as_frame=True"):
        datasets.load_bike_sharing(as_frame=False, labels=True)


def test_without_any_source_the_error_says_what_to_do(no_source):
    with pytest.raises(
        InputError, match="GRANITE_DATA is not set, and OpenML did not answer"
    ) as caught:
        datasets.load_bike_sharing()
    assert caught.value.code == "D44"
    assert "bike-sharing/hour.csv" in str(caught.value)


def test_the_toy_of_figure_one_follows_its_distribution():
    """x2 and x3 are signs, x4 is centred at x3, x1 at 0."""
    toy = datasets.make_toy(n=20_000)
    x1, x2, x3, x4 = toy.X.to_numpy().T
    assert list(toy.X) == ["x1", "x2", "x3", "x4"]
    assert set(x2) == set(x3) == {-1.0, 1.0}
    assert abs(np.corrcoef([x1, x2, x3])[np.triu_indices(3, 1)]).max() < 0.03
    assert x4[x3 > 0].mean() == pytest.approx(1, abs=0.05)
    assert (x4 - x3).std() == pytest.approx(1, abs=0.03)
    assert np.allclose(toy.model(toy.X), 3 * x1 * x2 + x3 + 2 * x4)


def test_the_order_two_illustration_has_two_halves():
    toy = datasets.make_order_two()
    x1, x2, x3, x4 = toy.X.to_numpy().T
    F = toy.model(toy.X)
    right = x3 >= 0
    assert len(toy.X) == 2000
    assert np.allclose(F[right], (x1 + 0.7 * x1 * x2)[right])
    assert np.allclose(F[~right], (-x1 + 0.7 * x1 * x4)[~right])


@pytest.mark.parametrize("make", [datasets.make_toy, datasets.make_order_two])
def test_toys_repeat_and_travel(make):
    toy, again, other = make(n=50), make(n=50), make(n=50, random_state=1)
    copy = pickle.loads(pickle.dumps(toy))
    pd.testing.assert_frame_equal(toy.X, again.X)
    assert not toy.X.equals(other.X)
    assert np.array_equal(copy.model(copy.X), again.model(again.X))
    with pytest.raises(AttributeError):
        toy.model = None


@pytest.mark.parametrize("n", [0, 2.5])
@pytest.mark.parametrize("make", [datasets.make_toy, datasets.make_rentals])
def test_sizes_are_checked(make, n):
    with pytest.raises(InputError, match="P02: n"):
        make(n=n)


def test_rentals_follow_the_mechanism_that_is_described():
    """Working days peak at 8 and 17 o'clock, days off around midday, and warmth multiplies both."""
    X, y = datasets.make_rentals(n=40_000)
    by_hour = y.groupby([X["workingday"], X["hour"]]).mean()
    assert sorted(by_hour[1].nlargest(2).index) in ([8, 17], [16, 17], [17, 18])
    assert by_hour[1][8] > by_hour[1][11] < by_hour[1][17]
    assert 12 <= by_hour[0].idxmax() <= 16
    is_warm = X["temperature"] > 15
    rush_hour = (X["workingday"] == 1) & (X["hour"] == 17)
    assert y[is_warm & rush_hour].mean() > 1.3 * y[~is_warm & rush_hour].mean()
