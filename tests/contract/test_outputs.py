"""What README and manual print is what the programs print."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def outputs():
    return runpy.run_path(str(DOCS / "make_outputs.py"))


def test_every_marker_has_a_program_and_every_program_a_place(outputs):
    names = {name for page in outputs["PAGES"] for name in outputs["outputs_of"](page)}
    assert names == set(outputs["PROGRAMS"])


def test_outputs_are_what_the_programs_print(outputs, data_folder):
    """Figures depend on the versions of NumPy and scikit-learn; with others only the markers are checked."""
    recorded = outputs["MADE_WITH"].read_text(encoding="utf-8")
    if recorded != outputs["made_with"]():
        pytest.skip(
            f"the outputs were made with {recorded.replace(chr(10), ', ')}not with these versions"
        )
    assert outputs["stale_pages"]() == []


def test_a_stale_output_is_noticed(outputs, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- output: seven -->\n```text\nsix\n```\n", encoding="utf-8")
    outputs["PROGRAMS"]["seven"] = lambda: "seven"
    text = page.read_text(encoding="utf-8")
    assert outputs["_written"](page, text) == text.replace("six", "seven")


@pytest.fixture(scope="module")
def pictures():
    return runpy.run_path(str(DOCS / "make_picture.py"))


def test_pictures_show_what_their_programs_draw(outputs, pictures, data_folder):
    """Every picture of the manual that no other test checks has a program and a record of its texts and numbers."""
    recorded = outputs["MADE_WITH"].read_text(encoding="utf-8")
    if recorded != outputs["made_with"]():
        pytest.skip("the pictures were made with other versions")
    assert pictures["stale_pictures"]() == []


def test_every_picture_has_a_program():
    """Those of the comparison are drawn by `docs/make_compare.py`."""
    pictures = runpy.run_path(str(DOCS / "make_picture.py"))["PICTURES"]
    shown = {path.stem for path in (DOCS / "images").glob("*.png")}
    assert {name for name in shown if not name.startswith("compare-")} == set(pictures)


def test_a_picture_that_shows_something_else_is_noticed(pictures):
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.subplots()
    axes.plot([0, 1], [0.0, 2.0])
    axes.set_title("hr")
    record = pictures["record"]
    before = record(figure)
    assert "'hr'" in before
    axes.set_title("hour")
    assert record(figure) != before
    axes.set_title("hr")
    assert record(figure) == before
    axes.plot([0, 1], [0.0, 2.1])
    assert record(figure) != before
