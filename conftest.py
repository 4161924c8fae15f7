"""What every run needs, of tests or of the examples in docstrings: all modules, and some data."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest
from _pytest.doctest import DoctestItem

import granite_xai


def pytest_sessionstart() -> None:
    """Load the whole package: a module that is loaded first while a test has replaced something would keep it."""
    for module in walk_packages(granite_xai.__path__, "granite_xai."):
        if not module.name.endswith("__main__"):
            import_module(module.name)


@pytest.fixture(autouse=True)
def _five_rows_for_examples(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An example may load a data set; where none is at hand it gets the five rows the tests carry."""
    if isinstance(request.node, DoctestItem) and not os.environ.get("GRANITE_DATA"):
        monkeypatch.setenv("GRANITE_DATA", str(Path(__file__).parent / "tests" / "data"))
