"""Where the data live: samples are drawn by the engine that holds the rows."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from granite_xai.tables import collect_rows, is_lazy
from parts.lazy_tables import LAZY, N, X, model


@pytest.mark.parametrize("engine", LAZY)
def test_a_lazy_table_is_fitted_applied_and_evaluated(engine):
    frame = LAZY[engine](X)
    assert is_lazy(frame)
    g = gx.Granite(model, max_samples=200, min_samples_leaf=10).fit(frame)
    assert g.diagnostics_["plan"]["rows"] == 200
    assert "drawn by their number (D48)" in g.diagnostics_["lazy"]
    assert "lazy" not in gx.Granite(model, max_samples=200).fit(X).diagnostics_
    again = gx.Granite(model, max_samples=200, min_samples_leaf=10).fit(frame)
    assert [str(region.rule) for region in again.partition_] == [
        str(region.rule) for region in g.partition_
    ]
    assert again.disagreement_ == g.disagreement_
    assert g.apply(frame).tolist() == g.partition_.apply(X).tolist()
    found = g.evaluate(frame)
    assert 0 <= found.remaining < 1
    assert sum(found.counts) == N


@pytest.mark.parametrize("engine", LAZY)
def test_the_target_of_a_lazy_table_is_one_of_its_columns(engine):
    frame = LAZY[engine](X.assign(y=model(X), w=1.0 + (X["b"] > 0)))
    g = gx.Granite(model, "pfi-risk", max_samples=100, min_samples_leaf=10).fit(frame, "y", "w")
    assert g.feature_names_in_.tolist() == [*X]
    with pytest.raises(gx.InputError, match="P04: y of a lazy table is the name"):
        g.evaluate(frame, y=np.zeros(N))


def test_a_sample_is_drawn_by_the_seed_and_holds_rows_of_the_table():
    for convert in LAZY.values():
        first, second, other = (
            collect_rows(convert(X), None, None, 50, seed)[0] for seed in (0, 0, 1)
        )
        first, second, other = (
            f.to_pandas() if hasattr(f, "to_pandas") else f for f in (first, second, other)
        )
        assert len(first) == len(other) == 50
        assert first["a"].tolist() == second["a"].tolist() != other["a"].tolist()
        assert set(first["a"]) <= set(X["a"])
    assert len(collect_rows(LAZY["dask"](X), None, None, None, 0)[0]) == N


def test_D26_what_takes_rows_in_memory_says_how_to_collect_them():
    for convert, how in zip(LAZY.values(), ("collect", "df", "compute"), strict=True):
        with pytest.raises(gx.InputError, match=rf"D26.*\.{how}\(\)"):
            gx.Explainer().explain(model, convert(X))
