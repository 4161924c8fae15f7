"""Every program of the page on extending runs, and does what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import granite_xai as gx
from extending.behavior import Deviation
from extending.display import ShareDisplay
from extending.loss import HUBER, huber
from extending.partitioner import Quarters
from extending.question import pfi_sage
from extending.weak_spots import WeakSpots
from granite_xai.algebra.behavior import BEHAVIORS, LOSSES
from strategies import paper

FOLDER = Path(__file__).parent
PAGE = FOLDER.parents[1] / "docs" / "extending.rst"


@pytest.fixture(scope="module")
def toy() -> gx.datasets.Toy:
    return gx.datasets.make_toy(n=120)


@pytest.fixture
def registered(monkeypatch):
    """The one line that a behavior and a loss add to their tables."""
    monkeypatch.setitem(BEHAVIORS, "deviation", Deviation())
    monkeypatch.setitem(LOSSES, "huber", HUBER)


def saved(obj, tmp_path, model):
    gx.save(obj, tmp_path / "saved.json")
    return gx.load(tmp_path / "saved.json", model=model)


def test_weak_spots_are_where_the_model_errs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 2))
    y = X[:, 0] + rng.normal(size=800) * np.where(X[:, 1] > 0.5, 4.0, 1.0)
    weak = gx.Granite(lambda X: X[:, 0] * (1 + X[:, 1]), partitioner=WeakSpots(1)).fit(X, y)
    errors = weak.errors_.frame()
    assert [str(region.rule).split()[0] for region in weak.partition_] == ["x1", "x1"]
    assert errors["ratio"].max() > 2
    with pytest.raises(gx.InputError, match="needs y"):
        gx.Granite(lambda X: X[:, 0] * X[:, 1], partitioner=WeakSpots()).fit(X)


@pytest.mark.usefixtures("registered")
def test_a_behavior_is_the_mean_absolute_deviation_of_the_masked_model(toy):
    """Against the definition, written out; the region is every other row."""
    X, rows = toy.X.iloc[::2], range(0, 120, 2)
    found = (
        gx.Explainer("marginal", "deviation", "pure")
        .explain(toy.model, toy.X, rows=list(rows))
        .frame()
    )

    def deviation(values):
        return np.mean(np.abs(values - np.mean(values)))

    for column, value in zip(found["set"], found["value"], strict=True):
        masked = [np.mean(toy.model(X.assign(**{column: own}))) for own in X[column]]
        assert np.isclose(value, deviation(np.array(masked)))
    full = (
        gx.Explainer("marginal", "deviation", "full")
        .explain(toy.model, toy.X, rows=list(rows))
        .frame()
    )
    for column, value in zip(full["set"], full["value"], strict=True):
        hidden = np.mean([toy.model(X.assign(**{column: other})) for other in X[column]], axis=0)
        assert np.isclose(value, deviation(toy.model(X)) - deviation(hidden))


@pytest.mark.usefixtures("registered")
def test_a_behavior_of_ones_own_finds_regions_and_is_saved(toy, tmp_path):
    full, pure = (
        gx.Explainer("marginal", "deviation", interaction) for interaction in ("full", "pure")
    )
    question = gx.Disagreement(full, pure, name="deviation")
    g = paper(product, question).fit(toy.X)
    assert [str(region.rule) for region in g.partition_] == ["x2 ≤ 0", "x2 > 0"]
    assert g.remaining_ < 1e-12
    again = saved(g, tmp_path, product)
    assert again.disagreement_ == g.disagreement_
    assert again.evaluate(toy.X).remaining == g.evaluate(toy.X).remaining
    assert len(paper(lambda X: X["x1"].to_numpy(), question).fit(toy.X).partition_) == 1


def product(X):
    """An interaction and nothing else: where x2 is constant, the spread is that of x1 alone."""
    return X["x1"].to_numpy() * X["x2"].to_numpy()


@pytest.mark.usefixtures("registered")
def test_a_loss_with_a_name_is_that_function_everywhere(toy, tmp_path):
    y = np.zeros(120)
    for named, own in (
        (gx.question("ice-pdp", loss="huber"), gx.question("ice-pdp", loss=huber)),
        (
            gx.question("pfi-risk", risk_loss="huber"),
            gx.question("pfi-risk", risk_loss=lambda prediction, y: huber(prediction - y)),
        ),
    ):
        g = paper(toy.model, named).fit(toy.X, y)
        assert np.isclose(g.disagreement_, paper(toy.model, own).fit(toy.X, y).disagreement_)
        assert saved(g, tmp_path, toy.model).disagreement_ == g.disagreement_


def test_a_partitioner_of_ones_own_finds_its_regions(toy):
    g = paper(toy.model, "ice-pdp", partitioner=Quarters("x1")).fit(toy.X)
    assert [region.n_samples for region in g.partition_] == [30, 30, 30, 30]
    assert np.isclose(sum(region.disagreement for region in g.partition_), g.remaining_)
    assert np.array_equal(np.bincount(g.apply(toy.X)), [30, 30, 30, 30])


def test_a_display_of_ones_own_shows_what_its_frame_holds(toy):
    g = paper(toy.model, "ice-pdp", partitioner=Quarters("x1")).fit(toy.X)
    display = ShareDisplay.from_estimator(g, toy.X).plot()
    frame = display.frame()
    assert np.isclose(frame["fraction"].sum(), 1.0)
    assert np.isclose(frame["left"].sum(), 1.0)
    widths = [bar.get_width() for bar in display.ax_.patches]
    assert np.allclose(widths, [*frame["fraction"], *frame["left"]])
    display.figure_.clear()


def test_a_question_of_ones_own_is_asked_like_a_named_one(toy):
    y = toy.model(toy.X)
    g = paper(toy.model, pfi_sage, max_depth=1).fit(toy.X, y)
    assert list(g.disagreements_) == ["pfi-sage"]
    assert g.remaining_ < 1.0


def test_the_page_counts_files_and_lines():
    """Each program is shown, with its number of lines."""
    text = PAGE.read_text(encoding="utf-8")
    shown = re.findall(
        r"literalinclude:: \.\./tests/extending/(\w+\.py)\n.*?\*One file, (\d+) lines",
        text,
        re.DOTALL,
    )
    programs = [path for path in FOLDER.glob("*.py") if not path.name.startswith("test_")]
    assert dict(shown) == {
        path.name: str(len(path.read_text(encoding="utf-8").splitlines())) for path in programs
    }
