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
