"""The tables of the page on trust are those of the experiment."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_tables_are_up_to_date():
    made = runpy.run_path(str(DOCS / "make_trust.py"))
    assert made["PAGE"].read_text(encoding="utf-8") == made["page"](), (
        "run python docs/make_trust.py"
    )
