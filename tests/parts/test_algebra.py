"""Parts of the algebra with a definition of their own: the formula, weighings, bins, density ratios, coalitions."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import granite_xai as gx
from granite_xai.algebra import masked_model
from granite_xai.algebra.conditional import _gain_by_chance, common_bins, fit_bins
from granite_xai.algebra.copula import Copula, learn_copula
from granite_xai.algebra.disagreement import Disagreement, question
from granite_xai.algebra.explainer import Explainer
from granite_xai.algebra.masked_model import MaskedModel
from granite_xai.algebra.masking import Baseline, Conditional, Marginal
from granite_xai.algebra.objective import Objective, ResolvedObjective
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.base.errors import Diagnostics
from granite_xai.evaluations.evaluations import Attribution
from granite_xai.tables import Rows, read_table
from parts.by_hand import drawn, evaluations_of, named, waves

N, K = 30, 6
rng = np.random.default_rng(0)
WEIGHTS = rng.uniform(0.5, 2.0, size=N)
GOES_LEFT = rng.uniform(size=(N, K)) < 0.5
BINS = rng.integers(0, 4, size=N)
LEFT, RIGHT = rng.normal(size=(N, 5)), rng.normal(size=(N, 5))
CODES = rng.integers(0, 5, size=N)
ONE_HOT = np.eye(5)[CODES]


def by_loops(predictions, ratios=None, bins=None, lines=None):
    """``F_T[n, k]`` from the prediction for row n against row m, (n, m), by its definition."""
    values = np.empty((N, K))
    for n in range(N):
        for k in range(K):
            weights = WEIGHTS * (GOES_LEFT[:, k] == GOES_LEFT[n, k])
            if lines is not None:
                weights = lines[:, k]
            if bins is not None:
                weights = weights * (bins == bins[n])
            if ratios is not None:
                weights = weights * ratios[n]
            values[n, k] = np.average(predictions[n], weights=weights)
    return values


RATIOS = rng.uniform(0.1, 3.0, size=(N, 5))
FORMS = {
    "hidden": (MaskedModel(LEFT, ONE_HOT), LEFT @ ONE_HOT.T, None),
    "shown": (MaskedModel(ONE_HOT, RIGHT, is_shown=True), ONE_HOT @ RIGHT.T, None),
    "pairs": (MaskedModel(LEFT @ RIGHT.T), LEFT @ RIGHT.T, None),
    "the model": (MaskedModel.of_rows(LEFT[:, 0]), np.tile(LEFT[:, :1], N), None),
    "its mean": (MaskedModel.mean_of(LEFT[:, 0]), np.tile(LEFT[:, 0], (N, 1)), None),
    "hidden, weighed": (
        MaskedModel(LEFT, ONE_HOT, ratios=RATIOS),
        LEFT @ ONE_HOT.T,
        RATIOS @ ONE_HOT.T,
    ),
    "shown, weighed": (
        MaskedModel(ONE_HOT, RIGHT, ratios=RATIOS, is_shown=True),
        ONE_HOT @ RIGHT.T,
        ONE_HOT @ RATIOS.T,
    ),
}


@pytest.mark.parametrize("binned", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_a_masked_model_is_a_mean_over_the_rows_of_the_side(form, binned):
    masked, predictions, ratios = FORMS[form]
    bins = BINS if binned else None
    masked = MaskedModel(masked.row_part, masked.region_part, bins, masked.ratios, masked.is_shown)
    regions = RegionWeights.sides(GOES_LEFT, WEIGHTS)
    expected = by_loops(predictions, ratios, bins)
    np.testing.assert_allclose(masked.values(regions), expected, rtol=1e-12)
    lines = rng.uniform(0.1, 1.0, size=(N, K))
    expected = by_loops(predictions, ratios, bins, lines)
    np.testing.assert_allclose(masked.values(RegionWeights(lines)), expected, rtol=1e-12)
    cubes = masked.means_of_each(lambda p, places: p**3 + places[:, None], regions)
    expected = by_loops(predictions**3 + np.arange(N)[:, None], ratios, bins)
    np.testing.assert_allclose(cubes, expected, rtol=1e-11)
    part = np.arange(0, N, 2)
    values = masked.take(part).values(RegionWeights.whole(WEIGHTS[part]))
    alone = MaskedModel(predictions, bins=bins, ratios=ratios).take(part)
    np.testing.assert_allclose(values, alone.values(RegionWeights.whole(WEIGHTS[part])))


def test_predictions_of_pairs_are_made_a_few_rows_at_a_time(monkeypatch):
    regions = RegionWeights.sides(GOES_LEFT, WEIGHTS)
    masked = MaskedModel(ONE_HOT, RIGHT, BINS, is_shown=True)
    at_once = masked.means_of_each(lambda p, places: p**3 + places[:, None], regions)
    monkeypatch.setattr(masked_model, "PAIRS_AT_ONCE", 20)
    in_turn = masked.means_of_each(lambda p, places: p**3 + places[:, None], regions)
    np.testing.assert_allclose(in_turn, at_once, rtol=1e-12)


def test_rows_without_weight_read_the_others():
    """So other rows are explained against those of the fit."""
    weights = WEIGHTS * (np.arange(N) < 20)
    values = MaskedModel(LEFT @ RIGHT.T).values(RegionWeights.whole(weights))[:, 0]
    np.testing.assert_allclose(values, (LEFT @ RIGHT.T) @ weights / weights.sum())


@pytest.mark.parametrize("form", ["hidden", "shown", "pairs"])
def test_masked_models_add_up_before_they_are_averaged(form):
    regions = RegionWeights.sides(GOES_LEFT, WEIGHTS)
    parts = [(2.0, FORMS[form][0]), (-1.0, FORMS["the model"][0]), (-1.0, FORMS["pairs"][0])]
    parts += [(0.5, FORMS["shown, weighed"][0]), (1.0, FORMS["its mean"][0])]
    total = sum(masked.values(regions) for masked in MaskedModel.combined(parts))
    expected = sum(factor * masked.values(regions) for factor, masked in parts)
    np.testing.assert_allclose(total, expected, rtol=1e-11, atol=1e-12)
    assert len(MaskedModel.combined(parts)) < len(parts)


def test_cells_are_as_large_as_their_bin_or_what_ratios_leave():
    binned = MaskedModel(LEFT, ONE_HOT, bins=BINS).cell_sizes()
    np.testing.assert_array_equal(binned, [np.sum(own == BINS) for own in BINS])
    assert MaskedModel(LEFT, ONE_HOT).cell_sizes() is None
    for form in ("hidden, weighed", "shown, weighed"):
        masked, _, ratios = FORMS[form]
        effective = ratios.sum(axis=1) ** 2 / np.square(ratios).sum(axis=1)
        np.testing.assert_array_equal(masked.cell_sizes(), np.rint(effective))


def test_cuts_of_columns_are_sides():
    classes = rng.integers(0, 4, size=(N, 2))
    cuts = [
        SimpleNamespace(column=0, classes=classes[:, 0], left=np.tri(3, 4, dtype=bool)),
        SimpleNamespace(column=1, classes=classes[:, 1], left=np.eye(4, dtype=bool)),
    ]
    along = RegionWeights.along(cuts, WEIGHTS)
    goes_left = np.hstack([of.left.T[of.classes] for of in cuts])
    sides = RegionWeights.sides(goes_left, WEIGHTS)
    numbers = rng.normal(size=(N, 3))
    np.testing.assert_allclose(along.sums(numbers), sides.sums(numbers))
    np.testing.assert_allclose(along.mass(), sides.mass())
    part = np.arange(5, 25)
    np.testing.assert_allclose(
        along.take(part).sums(numbers[part]), sides.take(part).sums(numbers[part])
    )
    blocks = [block.means(numbers[:, :1]) for block in along.blocks(2)]
    np.testing.assert_allclose(np.hstack(blocks), sides.means(numbers[:, :1]))


def test_a_side_without_rows_has_no_disagreement():
    everywhere = np.ones((N, 1), dtype=bool)
    regions = RegionWeights.sides(everywhere, WEIGHTS)
    assert regions.mass()[1, 0] == 0.0
    np.testing.assert_array_equal(regions.means(LEFT[:, :1])[1], [0.0])
    for name in ("ice-pdp", "sobol", "pfi-risk"):
        known = evaluations_of(waves, drawn(N), y=LEFT[:, 0], weights=WEIGHTS)
        found = named(name, 3).regional(known, regions)
        assert found[1, 0] == 0.0
        whole = named(name, 3).regional(known, RegionWeights.whole(WEIGHTS))
        assert found[0, 0] == pytest.approx(whole[0, 0])


# Bins and density ratios ---------------------------------------------------------------------------


def dependent(n=300, r=0.95):
    first = np.random.default_rng(1).normal(size=n)
    second = r * first + np.sqrt(1 - r * r) * np.random.default_rng(2).normal(size=n)
    return pd.DataFrame({"a": first, "b": second, "c": np.random.default_rng(3).normal(size=n)})


def rows_of(X, weights=None):
    return Rows.of(read_table(X, missing="allow"), weights=weights, in_fixed_order=False)


def test_bins_of_other_rows_are_those_of_the_fit():
    X = dependent()
    X["town"] = pd.Categorical(np.where(X["c"] > 0, "x", "y"))
    rows = rows_of(X)
    other = read_table(X.iloc[::3], missing="allow")
    for visible in (frozenset({0}), frozenset({3}), frozenset({0, 2, 3})):
        for kind in ("tree", "exact"):
            bins = fit_bins(kind, rows, visible, seed=0)
            of_others, of_fit = common_bins(bins, other, rows.table)
            np.testing.assert_array_equal(of_others, of_fit[::3])
    tenths = fit_bins("tree", rows, frozenset({0}), seed=0).of(rows.table)
    np.testing.assert_array_equal(np.bincount(tenths), 30)
    assert fit_bins("tree", rows, frozenset(), seed=0) is None
    assert fit_bins("tree", rows, frozenset(range(4)), seed=0) is None


def test_a_guarded_tree_does_not_split_on_chance():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(400, 4)))
    X.columns = list("abcd")
    rows = rows_of(X)
    visible = frozenset({0, 1})
    free = fit_bins("tree", rows, visible, seed=0).of(rows.table)
    guarded = fit_bins("tree", rows, visible, seed=0, guarded=True).of(rows.table)
    assert len(np.unique(free)) == 10
    assert len(np.unique(guarded)) == 1


def test_density_ratios_weigh_rows_as_a_normal_distribution_does():
    """Of two normal columns: the mean of b beside a, weighed, is r times a."""
    X = dependent(n=1500)
    table = read_table(X, missing="error")
    densities = Copula.of(table, np.ones(len(X))).density_ratios(table, 0)
    weights = densities.ratios[:, densities.intervals]  # of row m's a beside row n's others
    predicted = weights @ X["a"].to_numpy() / weights.sum(axis=1)
    inner = np.abs(X["b"]) < 1.5
    assert np.max(np.abs(predicted - 0.95 * X["b"])[inner]) < 0.25


def test_what_the_rows_choose_is_noted_and_bins_that_are_too_wide_are_named():
    conditioned = [frozenset({j}) for j in range(3)]
    record = Diagnostics()
    Conditional().learn(rows_of(dependent()), set(conditioned), 0, True, record)
    assert record.as_dict()["conditional"]["sampler"] == "copula"
    with pytest.warns(gx.BinWarning, match=r"^D49: the bins of conditional masking are too wide"):
        Conditional(sampler="bins").learn(
            rows_of(dependent()), set(conditioned), 0, True, Diagnostics()
        )


def test_a_copula_is_refused_where_several_columns_are_shown_and_several_hidden():
    X = dependent()
    X["d"] = X["a"] + X["c"]
    with pytest.raises(gx.InputError, match=r"P03: .*a, b.*several hidden"):
        learn_copula(rows_of(X), [frozenset({0, 1})])
    X["town"] = "x"
    with pytest.raises(gx.InputError, match="a copula needs ranks"):
        learn_copula(rows_of(X), [frozenset({0})])


# Effects -------------------------------------------------------------------------------------------


def table(n, d, seed=0):
    return read_table(np.random.default_rng(seed).normal(size=(n, d)), missing="error")


def test_sampled_effects_add_up_and_are_drawn_once():
    shapley = Explainer("marginal", "risk", "partial")
    effect = shapley.resolve(table(20, 8), max_evaluations=30_000)
    assert effect.is_sampled
    assert len(effect.draws) in (8, 16, 32, 64)
    everything = frozenset(range(8))
    for draw in effect.draws:  # an order of arrival and its reverse
        for terms in draw:
            by_visible = {term.visible: factor for term, factor in terms.items()}
            for visible, factor in by_visible.items():
                assert by_visible[everything - visible] == -factor
    total: dict = {}
    for terms in effect.terms:
        for term, factor in terms.items():
            total[term.visible] = total.get(term.visible, 0.0) + factor
    total = {visible: factor for visible, factor in total.items() if abs(factor) > 1e-12}
    assert total == {everything: pytest.approx(1.0), frozenset(): pytest.approx(-1.0)}
    again = shapley.resolve(table(35, 8, seed=1), pairs=len(effect.draws))
    assert again.terms == effect.terms
    with pytest.raises(
        gx.ResourceError, match=r"M13: partial effects of 8 players on 20 rows: .* pays for"
    ):
        shapley.resolve(table(20, 8), max_evaluations=2_000)


def test_columns_that_the_model_does_not_read_need_no_coalitions():
    """Of 14 columns three are read: their Shapley values are exact, the others' 0."""
    cells = read_table(drawn(40, d=14), missing="error")
    used = frozenset({0, 1, 2})
    shapley = Explainer("marginal", "local", "partial")
    effect = shapley.resolve(cells, used=used)
    assert not effect.is_sampled
    combinations = [summed.terms for summed in effect.attributions.values()]
    assert not any(combinations[3:])
    # The same coalitions as of the three columns alone, but that with all of these everything is visible.
    alone = shapley.resolve(table(40, 3), pairs=0)
    for terms, summed in zip(combinations[:3], alone.attributions.values(), strict=True):
        assert all(visible < used or len(visible) == 14 for visible in terms)
        as_alone = {visible & used: factor for visible, factor in terms.items()}
        assert as_alone == pytest.approx(dict(summed.terms))


def test_what_questions_need_is_told_by_their_maskings():
    numbers = table(20, 3)
    marginal = question("ice-pdp").resolve(numbers).needs
    assert not marginal.facts
    assert {len(visible) for visible in marginal.coalitions} == {0, 1, 2}
    conditional = question("cice-mplot").resolve(numbers).needs
    assert {masking for masking, _ in conditional.facts} == {Conditional()}
    against = Disagreement(
        Explainer(Baseline(), "local", "full"), Explainer(Baseline(), "local", "pure")
    )
    needs = against.resolve(numbers).needs
    assert not needs.coalitions
    assert (Baseline(), frozenset()) in needs.facts
    ale = question("ale").resolve(numbers).needs
    assert {visible for _, visible in ale.facts} == {frozenset({j}) for j in range(3)}


# Names and refusals ----------------------------------------------------------------------------------


REFUSED = {
    "a masking": (lambda: Explainer("conditinal"), r"P01: masking='conditinal'.*conditional"),
    "a loss": (lambda: question("pfi-risk", risk_loss="sqared"), r"P01: loss='sqared'.*squared"),
    "a loss of gaps": (lambda: question("ice-pdp", loss="log"), r"P01: loss='log' is not known"),
    "a row": (lambda: Baseline("region"), r"P01: row='region' is not known"),
    "bins": (lambda: Conditional(bins=3), r"P01: bins=3 is neither 'tree' nor 'exact'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_what_is_valid(name):
    make, message = REFUSED[name]
    with pytest.raises(gx.InputError, match=message):
        make()


def test_operators_are_equal_by_their_fields():
    assert Conditional() == Conditional(sampler="auto")
    assert Conditional("exact") != Conditional()
    assert Marginal() == Explainer().masking
    assert {Baseline([1, 2]), Baseline((1, 2))} == {Baseline([1, 2])}
    assert repr(Conditional()) == "Conditional(bins='tree', sampler='auto')"


def test_shares_count_questions_above_their_floors():
    known = evaluations_of(waves, drawn(N), y=LEFT[:, 0])
    asked = [named(name, 3) for name in ("ice-pdp", "sobol", "pfi-risk")]
    roots, floors = np.array([2.0, 4.0, 1.0]), np.array([0.1, 0.1, 1.0])
    shares = ResolvedObjective.of(
        Objective("ice-pdp"), asked, [1.0, 3.0, 5.0], roots, floors, [known]
    )
    np.testing.assert_allclose(shares.factors, [0.25 / 2.0, 0.75 / 4.0, 0.0])
    mass = np.array(shares.total)
    assert shares.objective(roots, mass) == pytest.approx(1.0)
    assert shares.objective(roots, mass / 2) == pytest.approx(0.5)
    assert shares.is_at_floor(np.array([0.05, 0.1, 9.0]))
    assert not shares.is_at_floor(np.array([0.2, 0.1, 0.0]))
    variance = np.average(np.square(known.f - known.f.mean()))
    by_variance = ResolvedObjective.of(
        Objective("ice-pdp", weighting="uniform", normalize="variance"),
        asked,
        [1.0, 3.0, 5.0],
        roots,
        floors,
        [known],
    )
    np.testing.assert_allclose(by_variance.factors, [0.25 / variance, 0.75 / variance, 0.0])
    assert by_variance.objective(roots, mass / 2) == by_variance.objective(roots, mass)
    assert by_variance.share(roots, mass) == pytest.approx(1.0)


def test_the_floor_is_that_of_the_method():
    known = evaluations_of(waves, drawn(N), y=LEFT[:, 0])
    delta = 1e-6
    assert named("ice-pdp", 3).floor(known, delta) == pytest.approx(3 * (4 * delta) ** 2)
    assert named("ice-pdp", 3, order=2).floor(known, delta) == pytest.approx(3 * (8 * delta) ** 2)
    of_value = 2 * np.std(known.f) * delta + delta**2
    assert named("sobol", 3).floor(known, delta) == pytest.approx(3 * (4 * of_value) ** 2)


def test_the_floor_of_a_risk_is_the_largest_change_of_a_mean_loss():
    """By hand: squared errors of the model, and of its mean, where every prediction moves by delta."""
    weights = np.random.default_rng(3).uniform(0.5, 2.0, size=N)
    known = evaluations_of(waves, drawn(N), y=LEFT[:, 0], weights=weights)
    delta = 1e-3
    changes = []
    for masked in (known.f + known.offset, np.full(N, known.offset)):
        residuals = masked - known.y
        largest = np.maximum(
            np.abs((residuals + delta) ** 2 - residuals**2),
            np.abs((residuals - delta) ** 2 - residuals**2),
        )
        changes.append(np.average(largest, weights=weights))
    found = named("pfi-risk", 3).floor(known, delta)
    assert found == pytest.approx(3 * (4 * max(changes)) ** 2)


def test_sampled_effects_raise_the_floor_by_their_standard_errors():
    """Of local effects: the mean over rows of the squared double standard error, for each set."""
    cells = read_table(drawn(20, d=3), missing="error")
    known = evaluations_of(waves, drawn(20), y=None)
    shap = question("shap-pdp").resolve(cells, pairs=8)
    errors = np.random.default_rng(0).uniform(size=(20, 3))
    facts = {}
    for place, key in enumerate(shap.first.attributions):
        facts[key] = Attribution(np.zeros((20, 20)), errors[:, place])
    known = replace(known, facts=facts)
    assert shap.is_sampled
    assert shap.floor(known, 0.0) == pytest.approx(np.square(2 * errors).mean(axis=0).sum())
    np.testing.assert_allclose(shap.first.errors_of_draws(known), errors)
    assert not question("ice-pdp").resolve(cells).is_sampled


def test_standard_errors_of_drawn_risks_are_those_of_their_draws():
    """Each pair of orders gives an effect: their spread over the root of their number is the error."""
    cells = drawn(20, d=3)
    table_of_cells = read_table(cells, missing="error")
    effect = Explainer("marginal", "risk", "partial").resolve(table_of_cells, pairs=8)
    known = evaluations_of(waves, cells, y=LEFT[:20, 0])
    whole = RegionWeights.whole(known.weights)
    by_draw = [
        [
            sum(factor * term.value(known, whole)[0, 0] for term, factor in terms.items())
            for terms in draw
        ]
        for draw in effect.draws
    ]
    expected = np.std(by_draw, axis=0, ddof=1) / np.sqrt(8)
    np.testing.assert_allclose(effect.errors_of_draws(known)[0], expected)
    assert expected.max() > 0


def test_a_baseline_is_named_by_column_or_in_order():
    X = dependent(n=40)
    row = {"a": 0.5, "b": -1.0, "c": 2.0}

    def model(X):
        return (X["a"] * X["b"] + X["c"]).to_numpy()

    found = []
    for baseline in (Baseline(row), Baseline(list(row.values()))):
        explainer = Explainer(baseline, "local", "pure")
        found.append(explainer.explain(model, X).values)
    expected = [(X["a"] - 0.5) * -1.0, 0.5 * (X["b"] + 1.0), X["c"] - 2.0]
    for values in found:
        np.testing.assert_allclose(values, np.column_stack(expected), atol=1e-12)


def test_the_guard_of_a_tree_is_a_quantile_of_its_best_gain_by_chance():
    """Of three independent targets of variance 1: a chi-square with 3 degrees, for 10 splits a pair of columns."""
    targets = np.linalg.qr(np.random.default_rng(0).normal(size=(500, 4)))[0]
    targets -= targets.mean(axis=0)
    targets = np.linalg.svd(targets[:, :3], full_matrices=False)[0] * np.sqrt(500)
    expected = chi2.isf(0.05 / (10 * 5 * 4), 3) / 3
    assert _gain_by_chance(targets, n_columns=5) == pytest.approx(expected)
