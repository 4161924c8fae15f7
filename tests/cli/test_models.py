"""Models from files: pickles only if the user says so."""

from __future__ import annotations

import os
import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from cli.running import run


def test_S11_a_pickle_is_loaded_only_when_allowed(folder, capsys):
    class Bomb:
        def __reduce__(self):
            return (os.mkdir, ("exploded",))

    (folder / "m.pkl").write_bytes(pickle.dumps(Bomb()))
    code, _, err = run(capsys, "explain", "table.csv", "--model", "m.pkl")
    assert code == 4
    assert "runs whatever code it holds" in err
    assert not (folder / "exploded").exists()
    run(capsys, "explain", "table.csv", "--model", "m.pkl", "--allow-pickle")
    assert (folder / "exploded").exists()  # the warning tells the truth


def test_S11_a_pickled_model_is_explained_when_allowed(folder, capsys):
    from sklearn.tree import DecisionTreeRegressor

    table = pd.read_csv("table.csv")
    model = DecisionTreeRegressor(max_depth=3).fit(table[["a", "b", "c"]], table["y"])
    (folder / "m.pkl").write_bytes(pickle.dumps(model))
    assert (
        run(capsys, "explain", "table.csv", "--model", "m.pkl", "--allow-pickle", "--target", "y")[
            0
        ]
        == 0
    )


@pytest.mark.parametrize("ending", ["json", "ubj", "txt", "cbm", "onnx"])
def test_S11_models_of_other_libraries_are_read(folder, capsys, ending):
    table = pd.read_csv("table.csv")
    X, y = table[["a", "b", "c"]], table["y"]
    path = f"m.{ending}"
    if ending in ("json", "ubj"):
        xgboost = pytest.importorskip("xgboost")
        xgboost.XGBRegressor(n_estimators=5).fit(X, y).save_model(path)
    elif ending == "txt":
        lightgbm = pytest.importorskip("lightgbm")
        lightgbm.LGBMRegressor(n_estimators=5, verbose=-1).fit(X, y).booster_.save_model(path)
    elif ending == "cbm":
        catboost = pytest.importorskip("catboost")
        options = {"verbose": 0, "allow_writing_files": False}
        catboost.CatBoostRegressor(iterations=5, **options).fit(X, y).save_model(path)
    else:
        pytest.importorskip("onnxruntime")
        from sklearn.linear_model import LinearRegression

        convert = pytest.importorskip("skl2onnx").to_onnx
        model = convert(LinearRegression().fit(X, y), X.to_numpy(dtype=np.float32)[:1])
        (folder / path).write_bytes(model.SerializeToString())
    code, out, err = run(
        capsys, "explain", "table.csv", "--model", path, "--target", "y", "--max-samples", "40"
    )
    assert code == 0, err
    assert "One curve per feature describes" in out
    assert "come from 40 of them" in out


def test_S11_a_skops_file_holds_only_named_types(folder, capsys, monkeypatch):
    """With a stand-in for skops, which few have: unknown types are refused by name unless they are named as trusted."""
    loaded = []

    def load(path, trusted):
        loaded.append(trusted)
        return lambda X: np.asarray(X["a"])

    stand_in = SimpleNamespace(get_untrusted_types=lambda file: ["own.Type"], load=load)
    monkeypatch.setitem(sys.modules, "skops", SimpleNamespace(io=stand_in))
    monkeypatch.setitem(sys.modules, "skops.io", stand_in)
    (folder / "m.skops").write_bytes(b"?")
    code, _, err = run(capsys, "explain", "table.csv", "--model", "m.skops", "--target", "y")
    assert (code, loaded) == (4, [])
    assert "own.Type" in err
    command = ("explain", "table.csv", "--model", "m.skops", "--target", "y", "--trust", "own.Type")
    assert run(capsys, *command)[0] == 0
    assert loaded == [["own.Type"]]


@pytest.mark.slow
def test_S11_a_skops_file_that_is_no_zip_is_refused(folder, capsys):
    pytest.importorskip("skops")
    (folder / "m.skops").write_bytes(b"?")
    code, _, err = run(capsys, "explain", "table.csv", "--model", "m.skops", "--target", "y")
    assert code == 4
    assert "skops cannot read m.skops (BadZipFile" in err
