"""Reports that several files look at."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from report.cases import hostile_report, interacting, stories


@pytest.fixture(scope="session")
def X():
    return pd.DataFrame(np.random.default_rng(0).normal(size=(150, 4)), columns=list("abcd"))


@pytest.fixture(scope="session")
def report(X):
    return gx.explain(
        interacting,
        X,
        interacting(X),
        test=(X.iloc[:60], None),
        min_samples_leaf=30,
        search="greedy",
    )


@pytest.fixture(scope="session")
def large():
    """A report of a fit that holds rows out, and its table."""
    rows = pd.DataFrame(np.random.default_rng(5).normal(size=(900, 4)), columns=list("abcd"))
    return gx.explain(interacting, rows, interacting(rows), max_depth=1), rows


@pytest.fixture(scope="session")
def golden_reports():
    """The reports of the golden texts, by name."""
    return dict(stories())


@pytest.fixture(scope="session")
def hostile():
    return hostile_report()
