"""A model fitted on the spot."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cli.running import run


def test_train_on_fits_a_model_and_holds_rows_out(folder, capsys):
    code, out, err = run(
        capsys, "explain", "table.csv", "--train-on", "y", "--min-samples-leaf", "10"
    )
    assert code == 0
    assert err.startswith("HistGradientBoostingRegressor fitted to 'y' on 67 rows; R² ")
    assert err.rstrip().endswith("on the other 23 rows.")
    assert "Rows: 67." in out


def test_train_on_labels_fits_a_classifier_to_text(folder, capsys):
    table = pd.read_csv("table.csv").assign(weather=["mist", "clear"] * 45)
    table.assign(y=np.where(table["y"] > 0, "late", "in time")).to_csv("labels.csv", index=False)
    code, out, err = run(capsys, "explain", "labels.csv", "--train-on", "y")
    assert code == 0
    assert err.startswith("HistGradientBoostingClassifier fitted to 'y'")
    assert "the probability of y = late" in " ".join(out.split())
