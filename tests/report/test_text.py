"""The terminal text, word by word."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import granite_xai as gx
from report.cases import HOSTILE, hostile_report, stories

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def texts():
    return {
        name: str(report).replace(gx.__version__, "VERSION") + "\n" for name, report in stories()
    }


@pytest.mark.parametrize("name", ["diabetes", "additive", "classifier"])
def test_terminal_text(texts, name):
    """To accept a new text: GRANITE_GOLDEN=write, and read the difference."""
    file = GOLDEN / f"{name}.txt"
    if os.environ.get("GRANITE_GOLDEN") == "write":
        file.write_text(texts[name], encoding="utf-8", newline="\n")
    assert texts[name] == file.read_text(encoding="utf-8")


def test_an_additive_model_has_nothing_to_explain(texts):
    assert "agree: there is nothing to explain" in texts["additive"]
    assert "100.0 %  one curve per column" in texts["additive"]


def test_a_first_cut_that_gains_nothing_by_itself_is_told_so():
    """The refined search may begin with a cut that raises the gap: the next ones lower it."""
    X = np.random.default_rng(3).uniform(-1, 1, size=(120, 3))
    asked = {
        "features": ["x0"],
        "split_features": ["x1", "x2"],
        "min_samples_leaf": 5,
        "max_depth": 2,
    }
    model = lambda X: X[:, 0] * np.sign(X[:, 1]) * np.sign(X[:, 2])  # noqa: E731
    g = gx.Granite(model, confidence_level=None, **asked).fit(X)
    assert sum(child.disagreement for child in g.partition_.root.children) > 1.0
    told = [sentence for sentence in g.report(X).story["further"] if "alone" in sentence]
    assert told == ["x2 alone takes away nothing of the gap (fitting rows, in squares)."]


@pytest.mark.slow
def test_bike_sharing_opens_with_the_sentence_a_reader_needs(data_folder):
    from sklearn.ensemble import HistGradientBoostingRegressor

    X, y = gx.datasets.load_bike_sharing()
    model = HistGradientBoostingRegressor(random_state=0, max_iter=40).fit(X, y)
    report = gx.explain(model, X, y, max_samples=1000, max_depth=2)
    opening = report.story["opening"]
    assert opening.startswith("Single rows stray from the average curves by ")
    assert ", all columns together; in 3 regions by " in opening
    assert any(sentence.startswith("hr alone takes away ") for sentence in report.story["further"])
    assert "interval" in report.story["sure"][0]
    assert "held-out rows" in report.story["sure"][0]
    assert len(report.html().encode()) < 700_000


def test_S04_nothing_in_a_name_acts_on_a_terminal():
    report = hostile_report()
    text = str(report)
    assert all(character == "\n" or character.isprintable() for character in text)
    assert "\\u202eevil" in text
    assert repr(report).isprintable()
    assert HOSTILE[10] not in text
