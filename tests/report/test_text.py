"""The terminal text, word by word."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import granite_xai as gx
from report.cases import HOSTILE

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="module")
def texts(golden_reports):
    return {name: without_version(report) for name, report in golden_reports.items()}


def without_version(report):
    """The text but for the version of the package."""
    text = str(report)
    version = report.story["provenance"]["versions"]["granite-xai"]
    return text.replace(f"granite-xai {version}", "granite-xai VERSION") + "\n"


@pytest.mark.parametrize("name", ["diabetes", "additive", "classifier"])
def test_terminal_text(texts, name):
    """To accept a new text: GRANITE_GOLDEN=write, and read the difference."""
    file = GOLDEN / f"{name}.txt"
    if os.environ.get("GRANITE_GOLDEN") == "write":
        file.write_text(texts[name], encoding="utf-8", newline="\n")
    assert texts[name] == file.read_text(encoding="utf-8")


def test_an_additive_model_has_nothing_to_explain(texts):
    assert "No interactions: every row follows the average curves." in texts["additive"]


@pytest.mark.slow
def test_bike_sharing_opens_with_the_sentence_a_reader_needs(data_folder):
    from sklearn.ensemble import HistGradientBoostingRegressor

    X, y = gx.datasets.load_bike_sharing()
    model = HistGradientBoostingRegressor(random_state=0, max_iter=40).fit(X, y)
    report = gx.explain(model, X, y, max_samples=1000, max_depth=2)
    opening = report.story["opening"]
    assert opening.startswith("The effect of hr depends on workingday")
    assert any("peaks at hr 8 and 17" in sentence for sentence in report.story["further"])
    assert "held-out rows" in report.story["further"][-1]
    assert len(report.html().encode()) < 400_000


def test_nothing_in_a_name_acts_on_a_terminal(hostile):
    text = str(hostile)
    assert all(character == "\n" or character.isprintable() for character in text)
    assert "\\u202eevil" in text
    assert repr(hostile).isprintable()
    assert HOSTILE[10] not in text
