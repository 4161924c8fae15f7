"""``scale=``: effects are compared and added up on log-odds, logs and the like; what users read is the prediction."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, PoissonRegressor

import granite_xai as gx
from granite_xai.cli import main

RNG = np.random.default_rng(7)
X = pd.DataFrame(RNG.normal(size=(900, 3)), columns=["a", "b", "c"])
ODDS = 2.5 * X["a"] - 2.0 * X["b"] + X["c"]
Y = (RNG.uniform(size=900) < expit(ODDS)).astype(int)


@pytest.fixture(scope="module")
def logistic():
    return LogisticRegression().fit(X, Y)


def r2(model, described):
    return 1 - np.mean((model - described) ** 2) / np.var(model)


def test_a_logistic_regression_needs_no_regions_on_log_odds(logistic):
    assert len(gx.Granite(logistic).fit(X).partition_) > 1
    g = gx.Granite(logistic, scale="log-odds").fit(X)
    assert len(g.partition_) == 1
    assert g.global_fidelity_ > 0.9999
    assert r2(logistic.predict_proba(X)[:, 1], g.predict(X)) > 0.999


def test_the_same_holds_for_the_other_class(logistic):
    first, second = (gx.Granite(logistic, scale="log-odds", output=k).fit(X) for k in (0, 1))
    assert first.disagreement_ == pytest.approx(second.disagreement_, abs=1e-12)
    np.testing.assert_allclose(first.predict(X) + second.predict(X), 1.0, atol=1e-9)


def test_a_poisson_regression_needs_no_regions_on_logs():
    rate = np.exp(0.8 * X["a"] - 0.6 * X["b"] + 1)
    model = PoissonRegressor(alpha=0).fit(X, RNG.poisson(rate))
    g = gx.Granite(model, scale="log").fit(X)
    assert len(g.partition_) == 1
    assert r2(model.predict(X), g.predict(X)) > 0.995


def test_a_hazard_that_multiplies_needs_no_regions_on_log_log():
    def survival(frame):
        return np.exp(-0.5 * np.exp(0.9 * frame["a"] - 0.7 * frame["b"]))

    g = gx.Granite(survival, scale="log-log").fit(X)
    assert len(g.partition_) == 1
    assert r2(survival(X), g.predict(X)) > 0.999
    assert len(gx.Granite(survival).fit(X).partition_) > 1


def test_two_functions_are_a_scale():
    def root_of_sum(frame):
        return np.sqrt(10 + frame["a"] + frame["b"])

    g = gx.Granite(root_of_sum, scale=(np.square, np.sqrt)).fit(X)
    assert len(g.partition_) == 1
    assert g.global_fidelity_ > 0.9999


def test_an_interaction_on_every_scale_keeps_its_regions():
    def model(frame):
        return expit(2 * frame["a"] * np.where(frame["b"] > 0, 1, -1))

    for scale in ("response", "log-odds"):
        g = gx.Granite(model, scale=scale, max_depth=1).fit(X)
        assert [region.rule.conditions[0][0] for region in g.partition_] == ["b", "b"]


@pytest.mark.parametrize(
    "make",
    [
        LogisticRegression,
        lambda: HistGradientBoostingClassifier(max_iter=20, random_state=0),
        lambda: GradientBoostingClassifier(n_estimators=20, random_state=0),
    ],
)
def test_log_odds_are_the_margin_where_the_model_has_one(make):
    model = make().fit(X, Y)
    g = gx.Granite(model, scale="log-odds", search="greedy", confidence_level=None).fit(X)
    by_hand = gx.Granite(model, response="raw", search="greedy", confidence_level=None).fit(X)
    assert str(g.partition_.rules) == str(by_hand.partition_.rules)
    assert g.disagreement_ == pytest.approx(by_hand.disagreement_, rel=1e-9)
    assert g.diagnostics_["scale"] == {"name": "log-odds", "clipped": 0.0}


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_log_odds_are_the_margin_of_boosters(library):
    module = pytest.importorskip(library)
    if library == "xgboost":
        model = module.XGBClassifier(n_estimators=15, max_depth=3).fit(X, Y)
    else:
        model = module.LGBMClassifier(n_estimators=15, verbose=-1).fit(X, Y)
    g = gx.Granite(model, scale="log-odds", max_depth=1).fit(X)
    raw = gx.Granite(model, response="raw", max_depth=1).fit(X)
    assert g.diagnostics_["scale"] == {"name": "log-odds", "clipped": 0.0}
    assert g.disagreement_ == pytest.approx(raw.disagreement_, rel=1e-9)
    np.testing.assert_allclose(g.predict(X), expit(raw.predict(X)), atol=1e-9)


def test_a_forest_that_is_sure_is_read_beside_the_ends():
    forest = RandomForestClassifier(20, random_state=0).fit(X, Y)
    probabilities = forest.predict_proba(X)[:, 1]
    assert (probabilities == 1.0).any()
    g = gx.Granite(forest, scale="log-odds", holdout=False, max_samples=None).fit(X)
    assert g.diagnostics_["scale"]["clipped"] == pytest.approx(
        np.mean((probabilities == 0) | (probabilities == 1))
    )
    assert np.isfinite(g.disagreement_)
    # Probabilities of 20 trees are 0, .05, .1, ...: those of 0 are read at half of .05.
    assert np.min(g.predict(X)) >= 0.0
    assert g.partition_.frame()["mean_prediction"].between(0, 1).all()


def test_predictions_without_a_place_on_the_scale_are_named():
    with pytest.raises(gx.ModelError, match="M33.*no place on the scale 'log'"):
        gx.Granite(lambda frame: frame["a"] + frame["b"], scale="log").fit(X)
    with pytest.raises(gx.ModelError, match="no place on the scale 'log-odds'"):
        gx.Granite(lambda frame: 3 + frame["a"], scale="log-odds").fit(X)


def test_options_that_do_not_go_together_are_refused(logistic):
    with pytest.raises(gx.InputError, match="P03"):
        gx.Granite(logistic, response="raw", scale="log-odds").fit(X)
    with pytest.raises(gx.InputError, match="log-odds"):
        gx.Granite(logistic, scale="logodds").fit(X)
    with pytest.raises(gx.InputError, match="two functions"):
        gx.Granite(logistic, scale=3).fit(X)


def test_what_users_read_is_the_prediction(logistic):
    g = gx.Granite(logistic, scale="log-odds", max_depth=1).fit(X, Y)
    probabilities = logistic.predict_proba(X)[:, 1]
    curve = g.curves_.of("a")[0]
    assert curve.mean == pytest.approx(np.mean(probabilities), abs=0.05)
    # The curve of a where the others are at their mean log-odds, as changes of the probability.
    by_level = curve.mean + curve.effects[1:]
    assert np.ptp(curve.effects) < 1.0
    assert np.all(np.diff(by_level) >= -1e-12)
    start = logit(probabilities).mean()
    assert curve.start == pytest.approx(start, abs=0.25)


def test_a_risk_averages_on_the_scale_and_takes_the_loss_of_the_probability(logistic):
    g = gx.Granite(logistic, "pfi-risk", scale="log-odds", confidence_level=None, max_depth=0).fit(
        X, Y
    )
    margin = logistic.decision_function(X)
    coefficients = logistic.coef_[0]

    def risk(log_odds):
        p = np.clip(expit(log_odds), 1e-15, 1 - 1e-15)
        return -np.mean(-(Y * np.log(p) + (1 - Y) * np.log(1 - p)))

    gaps = []
    for number, name in enumerate(X):
        part = coefficients[number] * X[name].to_numpy()
        hidden = margin - part + part.mean()  # the mean over other values of the log-odds
        shown = margin.mean() + part - part.mean()
        full = risk(margin) - risk(hidden)
        pure = risk(shown) - risk(np.full(len(X), margin.mean()))
        gaps.append((full - pure) ** 2)
    assert g.disagreement_ == pytest.approx(sum(gaps), rel=1e-6)


def test_saved_and_loaded(logistic, tmp_path):
    forest = RandomForestClassifier(15, random_state=0).fit(X, Y)
    for model in (logistic, forest):
        g = gx.Granite(model, scale="log-odds", max_depth=1).fit(X, Y)
        gx.save(g, path := tmp_path / f"{type(model).__name__}.json")
        loaded = gx.load(path, model=model)
        np.testing.assert_allclose(loaded.predict(X), g.predict(X), rtol=1e-12)
        assert str(loaded) == str(g)
        again, before = loaded.evaluate(X, Y).frame(), g.evaluate(X, Y).frame()
        pd.testing.assert_frame_equal(again, before)
    g = gx.Granite(lambda Z: 2 + Z["a"] ** 2, scale=(np.log, np.exp)).fit(X)
    with pytest.raises(gx.InputError, match="F08"):
        gx.save(g, tmp_path / "own.json")


def test_several_classes_weights_and_clusters():
    labels = np.where(X["a"] > 0.3, "high", np.where(X["b"] > 0, "mid", "low"))
    model = LogisticRegression(max_iter=500).fit(X, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        g = gx.Granite(model, output="all", scale="log-odds", max_depth=2).fit(
            X, sample_weight=RNG.uniform(0.5, 2, len(X)), clusters=np.arange(len(X)) // 3
        )
    described = g.predict(X)
    assert described.shape == (len(X), 3) or described.ndim == 1
    assert g.global_fidelity_ > 0.8


def test_the_order_of_rows_does_not_matter():
    forest = RandomForestClassifier(15, random_state=0).fit(X, Y)
    g = gx.Granite(forest, scale="log-odds", max_depth=2).fit(X)
    shuffled = RNG.permutation(len(X))
    again = gx.Granite(forest, scale="log-odds", max_depth=2).fit(
        X.iloc[shuffled].reset_index(drop=True)
    )
    assert str(again.partition_.rules) == str(g.partition_.rules)
    assert again.global_fidelity_ == pytest.approx(g.global_fidelity_, rel=1e-9)


def test_the_default_says_first_that_log_odds_need_no_regions(logistic):
    g = gx.Granite(logistic).fit(X, Y)
    first = str(g).splitlines()[0]
    assert first.startswith("No regions needed on the log-odds scale: one curve per feature")
    on_log_odds = g.estimate_.fidelities.value.on_other_scale.value
    # By hand: the curves of a logistic regression on log-odds are its terms, those of the fit are straight between
    # a few values.
    assert on_log_odds > 0.99


def test_logs_are_tried_where_predictions_are_positive():
    def model(frame):
        return np.exp(0.8 * frame["a"] - 0.6 * frame["b"])

    assert "on the log scale" in str(gx.Granite(model).fit(X)).splitlines()[0]


def test_the_default_says_first_that_a_hazard_that_multiplies_needs_no_regions_on_log_log():
    class Cox:
        def predict_survival_function(self, frame, times):
            hazard = 0.5 * np.exp(0.9 * frame["a"] - 0.7 * frame["b"])
            return pd.DataFrame(np.exp(-np.outer(times, hazard)), index=times)

    g = gx.Granite(gx.survival(Cox(), times=[1, 2, 4]), output="all").fit(X)
    lines = str(g).splitlines()
    assert lines[0].startswith("No regions needed on the log-log scale: one curve per feature")
    assert 'Fit with scale="log-log"' in str(g)


def test_regions_that_follow_are_said_to_be_those_of_the_prediction():
    def model(frame):
        return np.exp(0.8 * frame["a"] - 0.6 * frame["b"])

    second = str(gx.Granite(model).fit(X)).splitlines()[1]
    assert second.startswith("The regions shown are those of the prediction: the effect")


def test_a_scale_of_two_functions_is_called_the_given_one():
    def model(frame):
        return np.sqrt(10 + frame["a"] * np.where(frame["b"] > 0, 1, -1))

    text = str(gx.Granite(model, scale=(np.square, np.sqrt), max_depth=1).fit(X))
    assert text.startswith("The effect of a on the prediction on the given scale depends on b.")
    assert "compared and added up on the given scale," in text
    assert "scale scale" not in text


def test_nothing_is_said_of_another_scale_where_it_does_not_help():
    def interaction(frame):
        return expit(2 * frame["a"] * np.where(frame["b"] > 0, 1, -1))

    def crossing_zero(frame):
        return frame["a"] * np.where(frame["b"] > 0, 1, -1)

    for model in (interaction, crossing_zero):
        g = gx.Granite(model, max_depth=1).fit(X)
        assert len(g.partition_) == 2
        assert "scale" not in str(g)


def test_the_share_on_another_scale_is_that_of_the_rows_that_judge(logistic):
    """One curve per feature of log-odds by hand: partial dependence at the search rows, judged on held-out rows."""
    g = gx.Granite(logistic, holdout=0.4, max_samples=None).fit(X)
    shares = g.estimate_.fidelities.value
    by_option = gx.Granite(logistic, scale="log-odds", holdout=0.4, max_samples=None).fit(X)
    assert shares.on_other_scale.value == pytest.approx(
        by_option.estimate_.global_fidelity, abs=0.01
    )


def test_cases_on_different_scales_are_not_compared(logistic):
    one = gx.Granite(logistic).fit(X, Y)
    other = gx.Granite(logistic, scale="log-odds").fit(X, Y)
    with pytest.raises(gx.InputError, match="different scales"):
        gx.compare({"one": one, "other": other}, X)


def test_a_row_is_explained_on_the_scale(logistic):
    g = gx.Granite(logistic, scale="log-odds").fit(X, Y)
    row = g.explain_row(X.iloc[[3]])
    margin = float(logistic.decision_function(X.iloc[[3]])[0])
    assert row.prediction == pytest.approx(margin)
    assert row.mean + row.contributions.sum() + row.rest == pytest.approx(margin)
    assert "log-odds" in str(row)


def test_several_questions_and_the_report(logistic):
    g = gx.Granite(logistic, ["ice-pdp", "shap-pdp"], scale="log-odds", max_depth=1).fit(X, Y)
    html = g.report(X, Y).html()
    assert "log-odds" in html


def test_on_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    module = "import numpy as np\ndef rate(X):\n    return np.exp(0.8 * X['a'] - 0.6 * X['b'])\n"
    (tmp_path / "rates.py").write_text(module, encoding="utf-8")
    monkeypatch.setattr("sys.path", list(sys.path))
    X.iloc[:400].to_csv("table.csv", index=False)
    asked = ["explain", "table.csv", "--predictor", "rates:rate", "--scale"]
    assert main([*asked, "log"]) == 0
    assert "on the log scale" in capsys.readouterr().out
    assert main([*asked, "logs"]) == 2
    assert "--scale" in capsys.readouterr().err


def test_unknown_predictions_of_several_outputs_share_a_scale():
    """Each output is read beside its own ends; a risk of one of them follows."""
    forest = RandomForestClassifier(10, random_state=0).fit(X, np.digitize(X["a"], [-0.5, 0.5]))
    g = gx.Granite(forest, output="all", scale="log-odds", max_depth=1, holdout=False).fit(X)
    shares = forest.predict_proba(X)
    on_end = [np.mean((shares[:, k] == 0) | (shares[:, k] == 1)) for k in range(3)]
    assert g.diagnostics_["scale"]["clipped"] == pytest.approx(max(on_end))
    described = g.predict(X)
    assert described.min() >= 0.0
    assert described.max() <= 1.0


def test_a_prediction_on_an_end_is_read_beside_it_wherever_it_comes_up():
    """No own prediction is 0, some recombined ones are: they are not hundreds of log-odds away."""

    def model(frame):
        p = 0.2 + 0.3 * expit(frame["c"])
        return np.where((frame["a"] > 1.5) & (frame["b"] < -1.5), 0.0, p)

    inside = X[~((X["a"] > 1.4) & (X["b"] < -1.4))].reset_index(drop=True)
    g = gx.Granite(model, scale="log-odds", max_depth=0).fit(inside)
    assert g.disagreement_ < 0.5


def test_a_scale_of_ones_own_says_which_predictions_have_no_place(logistic):
    forest = RandomForestClassifier(10, random_state=0).fit(X, Y)
    with pytest.raises(gx.ModelError, match="M33"):
        gx.Granite(forest, scale=(lambda p: np.log(p), np.exp)).fit(X)


def test_a_score_that_fails_is_no_margin():
    class Fails(LogisticRegression):
        def decision_function(self, X):
            raise ValueError("no score")

        def predict_proba(self, X):
            p = expit(np.asarray(X) @ self.coef_[0] + self.intercept_[0])
            return np.column_stack([1 - p, p])

    g = gx.Granite(Fails().fit(X, Y), scale="log-odds", max_depth=0).fit(X)
    assert g.global_fidelity_ > 0.99


def test_curves_on_a_scale_are_predictions_wherever_they_are_drawn(logistic):
    g = gx.Granite(logistic, scale="log-odds", max_depth=1).fit(X, Y)
    for curve in g.curves_:
        for part in (curve.effects, curve.low, curve.high):
            drawn = curve.mean + part
            assert drawn.min() >= 0.0
            assert drawn.max() <= 1.0
        by_hand = expit(curve.start + curve.added[1:])
        np.testing.assert_allclose(curve.mean + curve.effects[1:], by_hand)


def test_the_share_on_test_rows_of_a_report_is_that_of_predictions(logistic):
    g = gx.Granite(logistic, scale="log-odds").fit(X, Y)
    facts = g.report(X, Y, test=(X, Y)).facts
    described = facts["evaluation"]["described"]
    assert described == pytest.approx(r2(logistic.predict_proba(X)[:, 1], g.predict(X)))
    gx_loaded = g.evaluate(X, Y).estimate.fidelity
    assert described == pytest.approx(gx_loaded, abs=1e-9)


def test_other_names_of_scales_are_told(logistic):
    with pytest.raises(gx.InputError, match="Did you mean 'log-odds'"):
        gx.Granite(logistic, scale="logit").fit(X)


@pytest.mark.parametrize("options", [{}, {"confidence_level": None, "search": "greedy"}])
def test_neither_the_order_of_rows_nor_of_columns_moves_the_ends(options):
    """Some recombined rows come nearer to the end than any row itself: which ones are asked must not matter."""

    def model(frame):
        p = expit(3 * (frame["a"] + frame["b"] + frame["c"]))
        return np.where(p < 0.001, 0.0, np.minimum(p, 0.5))

    fits = []
    order = np.random.default_rng(5).permutation(300)
    for table in (X.iloc[:300], X.iloc[:300][["c", "a", "b"]], X.iloc[:300].iloc[order]):
        table = table.reset_index(drop=True)
        fits.append(gx.Granite(model, scale="log-odds", max_depth=1, **options).fit(table))
    figures = [g.disagreement_ for g in fits]
    assert figures == pytest.approx([figures[0]] * 3, rel=1e-9)
