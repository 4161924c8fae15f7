"""The comparison with other packages measures what it says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from experiments.peer_methods import Description, Indicators, one_curve
from experiments.peer_summary import Summary
from experiments.peer_tables import CountedModel, Formula, Table, split_rows, step, three_way

from experiments import peers


def small_table(rows: int = 400) -> Table:
    values = np.random.default_rng(1).normal(size=(rows, 3))
    X = pd.DataFrame(values, columns=["a", "b", "c"])
    return Table(X, X["a"])


def additive(X: pd.DataFrame) -> np.ndarray:
    return (X["a"] ** 2 + 3.0 * X["b"]).to_numpy()


def test_nobody_sees_the_rows_that_judge():
    split = split_rows(small_table(), seed=3)
    first, second = map(set, split.samples)
    test = set(split.test)
    assert not first & second
    assert first | second <= set(split.train)
    assert not test & set(split.train)
    assert len(test) == 100


def test_a_model_counts_the_rows_it_is_asked_for():
    model = CountedModel(Formula(additive))
    model(small_table(30).X)
    model.predict(small_table(12).X)
    assert model.rows == 42


def test_one_curve_per_feature_describes_an_additive_model():
    X = small_table().X
    model = CountedModel(Formula(additive))
    description = one_curve(model, X, None)
    assert peers._share(description.predict(X), additive(X)) > 0.999
    assert model.rows == 400 + 3 * 100 * 400


def test_levels_and_missing_values_have_a_height_of_their_own():
    X = pd.DataFrame(
        {"level": pd.Categorical(["u", "v", "w"] * 40), "number": [1.0, 2.0, np.nan, 4.0] * 30}
    )

    def formula(frame: pd.DataFrame) -> np.ndarray:
        by_level = frame["level"].map({"u": 0.0, "v": 5.0, "w": -1.0}).astype(float)
        return by_level.to_numpy() + frame["number"].fillna(10.0).to_numpy()

    description = one_curve(CountedModel(Formula(formula)), X, None)
    assert description.predict(X) == pytest.approx(formula(X), abs=1e-9)


def test_indicators_of_other_rows_have_the_same_columns():
    numbers = Indicators(pd.DataFrame({"level": pd.Categorical(["u", "v"]), "a": [1, 2]}))
    other = numbers(pd.DataFrame({"level": pd.Categorical(["w", "u"]), "a": [3, 4]}))
    assert other.to_numpy().tolist() == [[3, 0, 0], [4, 1, 0]]


@pytest.mark.parametrize("cut", [0.217318, 0.2221, 0.2121])
def test_a_threshold_within_a_hundredth_is_right(cut):
    description = Description(np.zeros, 1, "curves", cuts=(("x1", cut), ("x4", 0.0)))
    found = peers._right_cuts(description, step())
    assert found == {"right_columns": 1.0, "right_thresholds": 1.0, "cuts": 2}


def test_a_threshold_further_away_or_of_another_feature_is_not():
    description = Description(np.zeros, 1, "curves", cuts=(("x1", 0.12), ("x3", -0.221937)))
    found = peers._right_cuts(description, three_way())
    assert found == {"right_columns": 0.5, "right_thresholds": 0.0, "cuts": 2}


def test_effectors_surrogate_is_the_one_that_effector_reports():
    """On effector's own rows the curves and offsets give the share that effector prints."""
    effector = pytest.importorskip("effector")
    from experiments.peer_methods import EffectorSurrogate

    table = step()
    values = table.X.to_numpy()[:600]
    effect = effector.PDP(
        values, lambda rows: table.formula(pd.DataFrame(rows, columns=table.X.columns))
    )
    final = effect.select_regions().final
    assert final.partitions
    surrogate = EffectorSurrogate(effect, final.partitions)
    truth = table.formula(table.X[:600])
    assert peers._share(surrogate.predict(values), truth) == pytest.approx(final.r2, abs=1e-12)


def test_kendalls_tau_is_taken_inside_each_region():
    values = pd.DataFrame(
        {
            "region": [0] * 6 + [1] * 6,
            "set": ["a", "b", "c"] * 4,
            "explanation": (["pfi"] * 3 + ["cfi"] * 3) * 2,
            "value": [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 3.0, 2.0, 1.0],
        }
    )
    assert peers._taus(values) == {0: pytest.approx(1.0), 1: pytest.approx(-1.0)}


def record(method: str, described: float, **further: object) -> dict[str, object]:
    figures = {"pieces": 10, "unit": "curves", "seconds": 1.0, "model_rows": 1000}
    head = {"table": "bike", "model": "histogram boosting", "seed": 0, "limit": None}
    return {**head, **figures, "method": method, "described": described, **further}


def test_the_summary_names_what_is_better_and_what_cannot_be_done():
    failed = {"table": "bike", "model": "histogram boosting", "seed": 0, "limit": None}
    records = [
        record("granite-xai", 0.90),
        record("EBM", 0.95),
        record("decision tree", 0.905),
        {**failed, "method": "FIGS", "error": "ValueError: no"},
    ]
    summary = Summary(records=records, sizes={}, machine={})
    assert [line["method"] for line in summary.better()] == ["EBM"]
    assert summary.described()[0]["FIGS"] == "cannot"
    assert summary.cannot() == [{"method": "FIGS", "tables": "bike", "its words": "ValueError: no"}]


def test_tasks_come_seed_by_seed_and_slow_methods_only_in_the_first():
    todo = peers.tasks(range(4), (("bike", "xgboost"), ("step", "formula")))
    assert [task.seed for task in todo] == sorted(task.seed for task in todo)
    assert {task.seed for task in todo if task.methods == ("EBM",)} == {0, 1}
    assert not any(task.importance for task in todo if task.model == "formula")


def test_a_task_that_breaks_does_not_end_the_run(tmp_path):
    broken = peers.Task("no such table", "xgboost", 0, ("FIGS",))
    peers.measure_all([broken], None, 1, tmp_path / "lines.jsonl", minutes=1.0)
    data = peers.collect([tmp_path / "lines.jsonl"])
    assert data["records"] == []
    assert [task["table"] for task in data["failed"]] == ["no such table"]
