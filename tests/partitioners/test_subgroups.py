"""Subgroups: a feature modelled from the others, whatever the model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from granite_xai.partitioners import Subgroups
from granite_xai.partitioners.subgroups import describe_values
from granite_xai.tables import read_table
from strategies import paper


def test_columns_are_described_by_their_tenths_levels_or_standardised_values():
    """A column of missing values beside them where there are some."""
    frame = pd.DataFrame(
        {"number": np.arange(20.0), "kind": list("abca") * 5, "gaps": [np.nan, 1.0, 3.0, 5.0] * 5}
    )
    number, kind, gaps = read_table(frame, missing="allow").columns
    below = describe_values(number, "distribution")
    assert below.shape[0] == 20
    assert set(np.unique(below)) == {0.0, 1.0}
    assert (
        np.diff(below, axis=0) <= 0
    ).all()  # lying below a tenth ends somewhere and does not begin again
    assert (np.diff(below, axis=1) >= 0).all()
    assert describe_values(number, "mean") == pytest.approx(
        ((np.arange(20) - 9.5) / np.arange(20).std())[:, None]
    )
    for by in ("distribution", "mean"):
        assert describe_values(kind, by).tolist() == [
            [float(label == level) for level in "abc"] for label in frame["kind"]
        ]
    spread = np.array([1.0, 3.0, 5.0]).std()
    wanted = [[0.0, 1.0], [-2 / spread, 0.0], [0.0, 0.0], [2 / spread, 0.0]]
    assert describe_values(gaps, "mean") == pytest.approx(np.array(wanted * 5))
    assert describe_values(gaps, "distribution")[:, -1].tolist() == [1.0, 0.0, 0.0, 0.0] * 5


def test_subgroups_ignore_the_model_and_the_units():
    rng = np.random.default_rng(4)
    x1 = rng.normal(size=200).round(2)
    x0 = (np.where(x1 > 0.5, 3.0, 0.0) + rng.normal(size=200)).round(2)
    X = np.column_stack([x0, x1])
    options = {"partitioner": Subgroups("x0"), "alpha": 0.02, "max_candidates": 300}
    regions = paper(lambda X: X[:, 0] * X[:, 1], **options).fit(X).apply(X)
    other = paper(lambda X: np.log(X[:, 0]) * X[:, 1] ** 3, **options).fit(np.exp(X))
    assert other.apply(np.exp(X)).tolist() == regions.tolist()
    assert "x0" not in " ".join(map(str, other.partition_.rules))


def test_subgroups_of_a_nominal_column_follow_its_levels():
    rng = np.random.default_rng(5)
    size = rng.normal(size=150)
    frame = pd.DataFrame(
        {"kind": np.where(size > 0, "a", "b"), "size": size, "noise": rng.normal(size=150)}
    )
    frame.loc[::10, "kind"] = "c"
    g = paper(
        lambda X: X["size"].to_numpy() * (X["kind"] == "a").to_numpy(),
        partitioner=Subgroups("kind"),
    ).fit(frame)
    assert g.partition_.root.column == "size"
