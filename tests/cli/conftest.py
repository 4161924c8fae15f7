"""Commands write where they run: every test has a folder of its own."""

import sys

import numpy as np
import pandas as pd
import pytest

MODULE = """
import numpy as np

def predict(X):
    return np.asarray(X["a"]) * np.where(np.asarray(X["b"]) > 0, 1.0, -1.0) + 0.25 * np.asarray(X["c"] * X["a"])

def doubled(X):
    return 2 * predict(X)

def fails(X):
    raise RuntimeError("no power")
"""


@pytest.fixture(autouse=True)
def own_folder(tmp_path_factory, monkeypatch):
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table and a module; it is where the command runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "own_model", raising=False)
    (tmp_path / "own_model.py").write_text(MODULE, encoding="utf-8")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(-8, 9, (90, 3)) / 8, columns=["a", "b", "c"])
    scope: dict = {}
    exec(MODULE, scope)
    X.assign(y=scope["predict"](X)).to_csv(tmp_path / "table.csv", index=False)
    return tmp_path
