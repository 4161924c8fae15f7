"""The comparison with other packages measures what it says."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from experiments.peer_methods import Description, Indicators, _with_slopes, one_curve
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


PAIRS = (("bike", "xgboost"), ("step", "formula"))


def test_tasks_come_seed_by_seed_and_slow_methods_alone():
    todo = peers.tasks(range(4), PAIRS)
    slow = [task for task in todo if set(task.methods) & set(peers.ONE_AT_A_TIME)]
    others = [task.seed for task in todo if task not in slow]
    assert others == sorted(others)
    assert all(len(task.methods) == 1 for task in slow)
    assert todo[0] in slow
    assert [task.seed for task in todo[-2:]] == [2, 2]  # further seeds of slow methods are last
    assert {task.seed for task in todo if task.methods == ("EBM",)} == {0, 1}
    assert not any(task.importance for task in todo if task.model == "formula")


def test_after_an_earlier_run_only_what_changes_is_measured():
    before = {"records": [record("granite-xai", 0.9), record("FIGS", 0.5)], "machine": {"cores": 1}}
    bike = (("bike", "histogram boosting"),)
    todo = peers.tasks(range(2), bike, peers._measured(before))
    by_seed = {task.seed: task.methods for task in todo if len(task.methods) > 1}
    assert "granite-xai" in by_seed[0]
    assert "FIGS" not in by_seed[0]
    assert "FIGS" in by_seed[1]


def test_collected_after_an_earlier_run_only_other_packages_are_kept(tmp_path):
    before = {"records": [record("granite-xai", 0.9), record("FIGS", 0.5)], "machine": {"cores": 1}}
    lines = tmp_path / "lines.jsonl"
    peers.measure_all([], None, 1, lines, minutes=1.0)
    data = peers.collect([lines], before)
    assert [kept["method"] for kept in data["records"]] == ["FIGS"]
    assert data["earlier"] == {"records": 1, "machine": {"cores": 1}}


def test_methods_are_compared_on_the_seeds_that_both_have():
    records = [
        record("granite-xai", 0.90, seed=0),
        record("granite-xai", 0.10, seed=1),
        record("EBM", 0.905, seed=0),
    ]
    assert Summary(records=records, sizes={}, machine={}).better() == []
    higher = [*records[:2], record("EBM", 0.95, seed=0)]
    [line] = Summary(records=higher, sizes={}, machine={}).better()
    assert (line["ours"], line["more in"]) == ("90.0", "1 of 1 seeds")


def test_slopes_stretch_curves_that_are_too_flat():
    class Flat:
        """Regions by the sign of a; curves of a third of the true height."""

        def predict(self, X):
            return np.where(X["a"] > 0, 2.0, 0.0) + X["b"].to_numpy()

        def apply(self, X):
            return (X["a"] > 0).to_numpy().astype(int)

    def formula(X):
        return np.where(X["a"] > 0, 5.0, -1.0) + 3.0 * X["b"].to_numpy()

    X, other = small_table().X, small_table(50).X
    stretched = _with_slopes(Flat(), CountedModel(Formula(formula)), X, other)
    assert stretched == pytest.approx(formula(other), abs=1e-9)


def test_a_task_that_breaks_does_not_end_the_run(tmp_path):
    broken = peers.Task("no such table", "xgboost", 0, ("FIGS",))
    peers.measure_all([broken], None, 1, tmp_path / "lines.jsonl", minutes=1.0)
    data = peers.collect([tmp_path / "lines.jsonl"])
    assert data["records"] == []
    assert [task["table"] for task in data["failed"]] == ["no such table"]
