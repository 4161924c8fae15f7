"""What is compared: several models on one table, or one model on several tables."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import granite_xai as gx
from granite_xai.studies.cases import MEASURED_HALF, SEARCH_HALF, CaseInput, read_cases
from studies.two_models import X, challenger, champion, y


def test_models_of_a_list_are_numbered_and_share_the_rows():
    cases = read_cases([champion, challenger, champion, challenger], X, y, None)
    assert [case.name for case in cases] == ["first", "second", "model 3", "model 4"]
    assert [case.model for case in cases] == [champion, challenger, champion, challenger]
    assert all(case.X is X and case.y is y for case in cases)


def test_tables_have_their_own_target_and_clusters():
    cluster = np.arange(400) // 4
    then, now = read_cases(champion, {"then": (X, y), "now": X}, None, {"now": cluster})
    assert (then.name, now.name) == ("then", "now")
    assert then.y is y
    assert now.y is None
    assert then.clusters is None
    assert now.clusters is cluster
    assert then.model is now.model is champion


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(gx.InputError, match="one case"):
        read_cases(champion, X, y, None)
    with pytest.raises(gx.InputError, match="one case"):
        read_cases(champion, {"then": X}, None, None)
    with pytest.raises(gx.InputError, match="compare needs two"):
        read_cases([], {"a": X, "b": X}, None, None)
    with pytest.raises(gx.InputError, match="several models on several tables"):
        read_cases([champion, challenger], {"a": X, "b": X}, None, None)
    with pytest.raises(gx.InputError, match="clusters have no table"):
        read_cases(champion, {"a": X, "b": X}, None, np.arange(400))
    with pytest.raises(gx.InputError, match="weights have no table"):
        read_cases(champion, {"a": X, "b": X}, None, sample_weight=np.ones(400))


def test_weights_go_with_their_rows():
    weights = np.arange(400.0)
    then, now = read_cases(champion, {"then": X, "now": X}, None, sample_weight={"now": weights})
    assert then.weights is None
    assert now.half(MEASURED_HALF).weights.tolist() == weights[1::2].tolist()
    for case in read_cases([champion, challenger], X, y, sample_weight=weights):
        assert case.weights is weights


@pytest.mark.parametrize("container", [np.asarray, list, pl.Series])
def test_halves_hold_every_other_row(container):
    case = CaseInput(name="a", model=champion, X=X, y=container(np.arange(400)))
    first = case.half(SEARCH_HALF)
    second = case.half(MEASURED_HALF)
    assert list(first.y) == list(range(0, 400, 2))
    assert list(second.y) == list(range(1, 400, 2))
    assert first.X.equals(X.iloc[::2])
    assert second.clusters is None


@pytest.mark.parametrize("container", [list, tuple])
@pytest.mark.parametrize("clusters", [None, [0, 1, 0, 1]])
def test_halves_of_a_list_of_rows_keep_numbers_beside_text(container, clusters):
    rows = container([[1.0, "a"], [2.0, "b"], [3.0, "c"], [4.0, "d"]])
    case = CaseInput(name="a", model=champion, X=rows, clusters=clusters)
    assert list(case.half(SEARCH_HALF).X) == [[1.0, "a"], [3.0, "c"]]
    assert list(case.half(MEASURED_HALF).X) == [[2.0, "b"], [4.0, "d"]]


@pytest.mark.parametrize("container", [np.asarray, list])
def test_halves_do_not_part_a_cluster(container):
    names = container(["u", "v", "v", "w", "u", "w"])
    case = CaseInput(name="a", model=champion, X=np.arange(6)[:, None], clusters=names)
    first = case.half(SEARCH_HALF)
    second = case.half(MEASURED_HALF)
    assert sorted(first.clusters) == ["u", "u", "w", "w"]
    assert first.X.ravel().tolist() == [0, 3, 4, 5]
    assert second.X.ravel().tolist() == [1, 2]


def test_halves_of_a_pyarrow_table_do_not_part_a_cluster():
    table = pa.table({"a": np.arange(6)})
    names = pa.array(["u", "v", "v", "w", "u", "w"])
    case = CaseInput(name="a", model=champion, X=table, y=table["a"], clusters=names)
    first = case.half(SEARCH_HALF)
    assert first.X["a"].to_pylist() == first.y.to_pylist() == [0, 3, 4, 5]
    assert first.clusters.to_pylist() == ["u", "w", "u", "w"]
