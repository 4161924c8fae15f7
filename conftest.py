"""Lets the examples in docstrings run on machines without the data folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from _pytest.doctest import DoctestItem


@pytest.fixture(autouse=True)
def _five_rows_for_examples(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """An example may load a data set; where none is at hand it gets the five rows the tests carry."""
    if isinstance(request.node, DoctestItem) and not os.environ.get("GRANITE_DATA"):
        monkeypatch.setenv("GRANITE_DATA", str(Path(__file__).parent / "tests" / "data"))
