"""Curves that are told once: which nodes they are of, what they describe, and what never changes with them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx
from granite_xai.regions.tree import walk

EXACT = gx.Resources(max_grid=None)
NAMES = list("abcde")


def stepwise(rows):
    """The slope of a changes with b and, where b is large, with c; d is added; e does next to nothing."""
    a, b, c, d, e = np.asarray(rows, dtype=float).T
    slope = np.where(b <= 0, 1.0, np.where(c <= 0, -1.0, 2.0))
    return 3 * a * slope + np.sin(2 * d) + 0.3 * c + 0.02 * e


@pytest.fixture(scope="module")
def X():
    """Few values a column, so that hand-made curves are exact; c depends on d."""
    rng = np.random.default_rng(0)
    table = rng.choice(np.linspace(-1, 1, 9), size=(900, 5))
    table[:, 2] = np.where(rng.random(900) < 0.5, table[:, 3], table[:, 2])
    return pd.DataFrame(table, columns=NAMES)


@pytest.fixture(scope="module")
def g(X):
    return gx.Granite(stepwise, resources=EXACT).fit(X)


def search_rows(g, X):
    rows = X.iloc[g.diagnostics_["rows"]["search"]].reset_index(drop=True)
    return rows, g.apply(rows)


def pdp(model, rows, name, values):
    """Mean predictions of some rows with a column set to each of some values."""
    return np.array([model(rows.assign(**{name: value})).mean() for value in values])


def regions_of_nodes(g):
    """For each node of the tree the regions below it, by number."""
    places = list(walk(g.partition_.root))
    below = {place.number: set() for place in places}
    for place in places:
        above = place
        while above is not None and place.region is not None:
            below[above.number].add(place.region)
            above = above.parent
    return below


def share_described(truth, described):
    return 1.0 - np.mean((truth - described) ** 2) / np.var(truth)


def test_every_curve_is_that_of_the_rows_of_one_node(g, X):
    rows, regions = search_rows(g, X)
    below = regions_of_nodes(g)
    assert len(g.partition_) >= 3
    told = list(g.curves_)
    assert 5 < len(told) < 5 * len(g.partition_)
    for curve in [*told, *g.curves_.everywhere]:
        assert set(curve.regions) == below[curve.node]
        inside = rows[np.isin(regions, curve.regions)]
        (name,) = curve.features
        levels = curve.column.levels
        wanted = pdp(stepwise, inside, name, levels)
        wanted -= wanted[np.searchsorted(levels, inside[name])].mean()
        np.testing.assert_allclose(curve.effects[1:], wanted, atol=1e-10)
        shares = inside[name].value_counts(normalize=True).reindex(levels).fillna(0.0)
        np.testing.assert_allclose(curve.shares[1:], shares, atol=1e-12)
        assert curve.mean == pytest.approx(stepwise(inside).mean())
        assert (curve.n_rows, curve.output) == (len(inside), "")
    for number in range(len(g.partition_)):
        assert [curve.label for curve in g.curves_.in_region(number)] == NAMES
        assert all(number in curve.regions for curve in g.curves_.in_region(number))


def test_a_feature_that_interacts_with_nothing_is_told_once(g):
    curves = g.curves_
    assert len(curves.of("d")) == 1
    assert curves.of("d")[0].node == 0
    assert "d" in curves.same
    assert "a" in curves.differs
    assert curves.hardly == ("e",)
    assert curves.labels[0] == "a"


def test_the_share_told_is_the_one_that_predict_reaches(g, X):
    held_out = X.iloc[g.diagnostics_["rows"]["held_out"]]
    rows, _ = search_rows(g, X)
    assert g.fidelity_ == pytest.approx(share_described(stepwise(rows), g.predict(rows)), abs=1e-10)
    reached = share_described(stepwise(held_out), g.predict(held_out))
    assert g.estimate_.fidelity == pytest.approx(reached, abs=1e-10)
    judged = g.evaluate(held_out).estimate
    assert judged.fidelity == pytest.approx(reached, abs=1e-10)


def test_a_description_has_the_mean_of_the_model_in_every_region(g, X):
    rows, regions = search_rows(g, X)
    for number in range(len(g.partition_)):
        inside = rows[regions == number]
        assert g.predict(inside).mean() == pytest.approx(stepwise(inside).mean(), abs=1e-10)


def chosen_by_hand(g, X, model, fraction):
    """The rule of the method page, with a curve by model calls for each node and the whole sum for each join."""
    rows, regions = search_rows(g, X)
    truth = model(rows)
    below = regions_of_nodes(g)
    children = {number: [] for number in below}
    for place in walk(g.partition_.root):
        if place.parent is not None:
            children[place.parent.number].append(place.number)
    at_rows = {}  # of each node and feature
    for node, inside in below.items():
        of_node = rows[np.isin(regions, list(inside))]
        for name in X:
            values = np.unique(rows[name])
            curve = pdp(model, of_node, name, values)
            at_rows[node, name] = curve[np.searchsorted(values, rows[name])]

    def missed(chosen):
        total = 0.0
        for region in range(len(g.partition_)):
            inside = regions == region
            rest = truth - sum(at_rows[chosen[name][region], name] for name in X)
            total += np.sum((rest[inside] - rest[inside].mean()) ** 2)
        return total / np.sum((truth - truth.mean()) ** 2)

    (leaf_of,) = [{next(iter(below[n])): n for n in below if not children[n]}]
    chosen = {name: dict(leaf_of) for name in X}
    rest = truth - sum(at_rows[0, name] for name in X)
    gained = np.var(rest) / np.var(truth) - missed(chosen)
    limit = missed(chosen) + max(fraction * gained, 0.005)
    while True:
        options = []
        for name in X:
            told = set(chosen[name].values())
            for node, below_it in children.items():
                if below_it and told.issuperset(below_it):
                    joined = {k: node if k in below[node] else n for k, n in chosen[name].items()}
                    options.append((missed({**chosen, name: joined}), name, joined))
        if not options:
            return chosen
        cost, name, joined = min(options, key=lambda option: option[0])
        if cost > limit:
            return chosen
        chosen[name] = joined


@pytest.mark.parametrize("fraction", [0.0001, 0.05, 0.15, 0.3, 0.5, 1.0])
def test_the_cheapest_branches_join_until_the_budget_is_spent(X, fraction):
    def model(rows):
        _, b, c, d, e = np.asarray(rows, dtype=float).T
        return stepwise(rows) + 0.9 * d * np.sign(c) + 0.5 * e * b + 0.35 * c * d * e

    g = gx.Granite(model, resources=EXACT, alpha=0.01, shared_curves=fraction).fit(X)
    assert len(g.partition_) >= 4
    wanted = chosen_by_hand(g, X, model, fraction)
    for region in range(len(g.partition_)):
        for curve in g.curves_.in_region(region):
            assert curve.node == wanted[curve.label][region]


def test_sharing_changes_neither_regions_nor_what_they_leave(g, X):
    own = gx.Granite(stepwise, resources=EXACT, shared_curves=0).fit(X)
    assert own.partition_ == g.partition_
    assert (own.remaining_, own.disagreement_) == (g.remaining_, g.disagreement_)
    assert own.estimate_.remaining == g.estimate_.remaining
    assert own.global_fidelity_ == pytest.approx(g.global_fidelity_, abs=1e-12)
    assert len(own.curves_) == 5 * len(g.partition_)
    given_up = own.fidelity_ - g.fidelity_
    assert given_up <= max(0.05 * (own.fidelity_ - own.global_fidelity_), 0.005) + 1e-12
    once = gx.Granite(stepwise, resources=EXACT, shared_curves=1).fit(X)
    assert len(once.curves_) < len(g.curves_)


def test_the_papers_options_share_nothing(X):
    options = {"confidence_level": None, "search": "greedy", "max_samples": 300}
    paper, own = (gx.Granite(stepwise, shared_curves=s, **options).fit(X) for s in ("auto", 0))
    assert len(paper.curves_) == 5 * len(paper.partition_) > 5
    assert paper.fidelity_ == own.fidelity_
    np.testing.assert_array_equal(paper.predict(X), own.predict(X))
    rows, regions = search_rows(paper, X)
    curve = paper.curves_.of("a")[0]  # counted from the mean prediction, as G of the paper
    inside = rows[np.isin(regions, curve.regions)]
    wanted = pdp(stepwise, inside, "a", curve.column.levels) - stepwise(inside).mean()
    np.testing.assert_allclose(curve.effects[1:], wanted, atol=1e-10)
    shared = gx.Granite(stepwise, shared_curves=0.5, **options).fit(X)
    assert len(shared.curves_) < len(own.curves_)


def test_one_region_has_one_line_a_feature(X):
    g = gx.Granite(stepwise, max_depth=0).fit(X)
    frame = g.curves_.frame()
    assert sorted(frame["feature"]) == NAMES
    assert set(frame["node"]) == {0}
    assert not g.curves_.differs
    assert g.fidelity_ == pytest.approx(g.global_fidelity_, abs=1e-12)


def test_rows_in_another_order_share_the_same(g, X):
    order = np.random.default_rng(1).permutation(len(X))
    again = gx.Granite(stepwise, resources=EXACT).fit(X.iloc[order])
    pd.testing.assert_frame_equal(again.curves_.frame(), g.curves_.frame())
    np.testing.assert_allclose(again.predict(X), g.predict(X), atol=1e-12)


def test_given_rules_share_a_curve_or_none_in_any_order(X):
    rules = ["b ≤ 0", "b > 0 and c ≤ 0", "b > 0 and c > 0"]
    fits = []
    for chosen in (rules, rules[::-1]):
        given = gx.partitioners.GivenRules(gx.Partition.from_rules(chosen, names=NAMES))
        fits.append(gx.Granite(stepwise, resources=EXACT, partitioner=given).fit(X))
    one, other = fits
    assert {len(curve.regions) for curve in one.curves_} == {1, 3}
    assert len(one.curves_.of("a")) == 3
    assert len(one.curves_.of("d")) == 1
    assert one.fidelity_ == pytest.approx(other.fidelity_, abs=1e-12)
    assert one.curves_.differs == other.curves_.differs
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=1e-10)


def test_folds_of_a_small_table_share_for_themselves(X):
    """The cross-validated share is that of the whole procedure: it falls with what is shared."""
    few = X.iloc[:400]
    own, all_shared = (gx.Granite(stepwise, shared_curves=s).fit(few) for s in (0, 1))
    assert own.estimate_.rows == "cross-validated"
    assert len(all_shared.curves_) < len(own.curves_)
    on_search_rows = own.fidelity_ - all_shared.fidelity_
    assert on_search_rows > 0.02
    on_others = own.estimate_.fidelity - all_shared.estimate_.fidelity
    assert on_others == pytest.approx(on_search_rows, abs=0.5 * on_search_rows)
    assert all_shared.estimate_.fidelity < all_shared.fidelity_


def test_each_output_shares_by_itself(X):
    def both(rows):
        values = np.asarray(rows, dtype=float)
        return np.column_stack([stepwise(rows), values[:, 3] * np.sign(values[:, 1])])

    g = gx.Granite(both, output="all", resources=EXACT).fit(X)
    first, second = (g.of_output(name).curves_ for name in g.outputs_)
    assert "d" in second.differs
    assert "d" not in first.differs
    assert len(g.curves_) == len(first) + len(second)
    assert set(g.curves_.frame()["output"]) == set(map(str, g.outputs_))
    described = [
        share_described(both(search_rows(g, X)[0])[:, n], g.predict(search_rows(g, X)[0])[:, n])
        for n in range(2)
    ]
    assert g.fidelity_ == pytest.approx(np.mean(described), abs=1e-10)


def with_group(rows):
    a, b, d, e = np.asarray(rows, dtype=float).T
    return 3 * a * np.sign(b - 0.1) + 2 * d * e


def with_pairs(rows):
    a, b, d, e = np.asarray(rows, dtype=float).T
    return 5 * a * e * np.sign(b - 0.1) + 2 * a * d


@pytest.mark.parametrize(
    ("model", "once", "options"),
    [
        (with_group, ("d", "e"), {"influence": "joint", "groups": {"pair": ["d", "e"]}}),
        (with_pairs, ("a", "d"), {"influence": "interaction"}),
    ],
    ids=["group", "pairs"],
)
def test_effects_of_several_features_are_pieces_like_curves(X, model, once, options):
    few = X.iloc[:160][list("abde")]
    g = gx.Granite(model, resources=EXACT, holdout=False, max_depth=1, **options).fit(few)
    assert len(g.partition_) == 2
    told_once = [curve for curve in g.curves_ if curve.features == once]
    assert [curve.node for curve in told_once] == [0]
    assert told_once[0].label == " and ".join(once)
    assert told_once[0].range > 0
    several = g.curves_.of("a" if model is with_group else "a and e")
    assert [curve.regions for curve in several] == [(0,), (1,)]
    assert g.fidelity_ == pytest.approx(share_described(model(few), g.predict(few)), abs=1e-9)
    for number in range(2):
        inside = few[g.apply(few) == number]
        assert g.predict(inside).mean() == pytest.approx(model(inside).mean(), abs=1e-9)


def test_what_was_never_seen_adds_nothing(X):
    """A new label and a value that is missing for the first time: the mean of the region, and the other curves."""
    table = X.assign(kind=np.where(X["d"] > 0.3, "u", "v"))

    def model(rows):
        return stepwise(rows[NAMES].fillna(0.0)) + (rows["kind"] == "u").to_numpy() * 2.0

    g = gx.Granite(model, resources=EXACT, missing="allow").fit(table)
    row = table.iloc[[5]]
    with pytest.warns(gx.DataWarning, match="not seen at fit"):
        added = g.predict(row.assign(kind="w")) - g.predict(row)
    (kind,) = g.curves_.of("kind")
    region = int(g.apply(row)[0])
    inside = table.iloc[g.diagnostics_["rows"]["search"]]
    inside = inside[g.apply(inside) == region]
    level = list(kind.column.levels).index(row["kind"].iloc[0])
    centre = np.mean([kind.effects[1 + list(kind.column.levels).index(k)] for k in inside["kind"]])
    assert added[0] == pytest.approx(centre - kind.effects[1 + level], abs=1e-10)
    with pytest.warns(gx.DataWarning, match="adds nothing"):
        missing = g.predict(row.assign(d=np.nan))
    (curve,) = g.curves_.of("d")
    at_rows = curve.effects[1 + np.searchsorted(curve.column.levels, inside["d"])]
    own = curve.effects[1 + np.searchsorted(curve.column.levels, row["d"])]
    assert missing[0] - g.predict(row)[0] == pytest.approx(at_rows.mean() - own[0], abs=1e-10)


def test_errors_bands_and_sizes_are_those_of_the_rows_own_curves(g, X):
    rows, regions = search_rows(g, X)
    for curve in g.curves_.of("a"):
        inside = rows[np.isin(regions, curve.regions)]
        levels = curve.column.levels
        own = np.stack([stepwise(inside.assign(a=value)) for value in levels], axis=1)
        places = np.searchsorted(levels, inside["a"])
        own = own - (own @ curve.shares[1:])[:, None]
        np.testing.assert_allclose(own.mean(axis=0), curve.effects[1:], atol=1e-10)
        errors = own.std(axis=0) / np.sqrt(len(inside))
        np.testing.assert_allclose(curve.errors[1:], errors, rtol=1e-6, atol=1e-12)
        low = np.quantile(own, 0.05, axis=0, method="inverted_cdf")
        np.testing.assert_allclose(curve.low[1:], low, atol=1e-10)
        high = np.quantile(own, 0.95, axis=0, method="inverted_cdf")
        np.testing.assert_allclose(curve.high[1:], high, atol=1e-10)
        spread = np.sqrt(np.mean(own[np.arange(len(inside)), places] ** 2))
        assert curve.spread == pytest.approx(spread)


def test_a_range_leaves_out_what_few_rows_have():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=2000), rng.normal(size=2000)])
    rows[:20, 0] = 50.0
    table = pd.DataFrame(rows, columns=["a", "b"])
    g = gx.Granite(lambda X: np.asarray(X)[:, 0], max_depth=0, resources=EXACT).fit(table)
    a = table["a"].iloc[g.diagnostics_["rows"]["search"]]
    wanted = np.quantile(a, 0.95) - np.quantile(a, 0.05)
    assert g.curves_.of("a")[0].range == pytest.approx(wanted, rel=0.02)
    assert g.curves_.of("b")[0].range == pytest.approx(0.0, abs=1e-9)


def test_clusters_widen_errors():
    rng = np.random.default_rng(0)
    common = np.repeat(rng.normal(size=60), 20)
    table = pd.DataFrame({"a": rng.normal(size=1200), "b": common})
    model = lambda rows: rows["a"].to_numpy() * (1 + rows["b"].to_numpy())  # noqa: E731
    options = {"max_depth": 0, "holdout": False, "max_samples": None}
    alone = gx.Granite(model, **options).fit(table)
    together = gx.Granite(model, **options).fit(table, clusters=np.repeat(np.arange(60), 20))
    errors = [fit.curves_.of("a")[0].errors[1:] for fit in (alone, together)]
    assert np.median(errors[1] / errors[0]) > 2.5


def test_a_file_holds_the_distinct_curves(g, X, tmp_path):
    loaded = gx.load(gx.save(g, tmp_path / "g.json"))
    np.testing.assert_array_equal(loaded.predict(X), g.predict(X))
    pd.testing.assert_frame_equal(loaded.curves_.frame(), g.curves_.frame())
    assert (loaded.fidelity_, loaded.global_fidelity_) == (g.fidelity_, g.global_fidelity_)
    assert loaded.curves_.labels == g.curves_.labels
    for one, other in zip(g.curves_, loaded.curves_, strict=True):
        for name in ("effects", "shares", "errors", "low", "high"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        assert (one.spread, one.regions, one.role) == (other.spread, other.regions, other.role)
    assert loaded.get_params()["shared_curves"] == "auto"


@pytest.mark.parametrize("wrong", ["never", -0.1, 1.5, None, "0.1"])
def test_other_options_are_refused(X, wrong):
    with pytest.raises(gx.InputError, match="shared_curves"):
        gx.Granite(stepwise, shared_curves=wrong).fit(X)


def test_a_name_that_no_curve_has_is_refused(g):
    with pytest.raises(gx.InputError, match="Features: 'a'"):
        g.curves_.of("z")


def test_bike_rentals_need_few_curves():
    """Aim of issue 42: at least 90 % of the model on fresh rows with at most 22 curves."""
    X, y = gx.datasets.load_bike_sharing()
    rows = np.random.default_rng(0).permutation(len(X))
    seen, fresh = rows[: 2 * len(X) // 3], rows[2 * len(X) // 3 :]
    y = np.asarray(y, dtype=float)
    model = HistGradientBoostingRegressor(random_state=0).fit(X.iloc[seen], y[seen])
    g = gx.Granite(model).fit(X.iloc[seen])
    others = X.iloc[fresh]
    assert share_described(model.predict(others), g.predict(others)) >= 0.9
    assert len(g.curves_) <= 22


# The ledger of the tree ---------------------------------------------------------------------------------


def test_the_ledger_adds_up(g, X):
    splits = g.partition_.splits()
    made = splits[splits["region"] < 0]
    assert list(splits["node"]) == list(range(2 * len(g.partition_) - 1))
    assert list(made["described_before"])[1:] == list(made["described_after"])[:-1]
    assert made["described_before"].iloc[0] == pytest.approx(g.estimate_.global_fidelity)
    assert made["described_after"].iloc[-1] == pytest.approx(g.estimate_.fidelity)
    assert made["removed"].sum() == pytest.approx(1 - g.remaining_)
    assert made["found_again"].isna().all()
    assert not made["reason"].any()


def test_the_ledger_describes_a_tree_that_stops_there(g, X):
    """After the first split: what a fit that is given these two regions describes of the held-out rows."""
    splits = g.partition_.splits()
    one_split = splits[splits["region"] < 0].iloc[0]
    rules = [one_split["cut"], one_split["cut"].replace("≤", ">")]
    given = gx.partitioners.GivenRules(gx.Partition.from_rules(rules, names=NAMES))
    fit = gx.Granite(stepwise, resources=EXACT, partitioner=given).fit(X)
    assert one_split["described_after"] == pytest.approx(fit.estimate_.fidelity, abs=1e-10)


def test_cuts_that_were_not_made_are_those_of_a_deeper_tree(X):
    """What the best further cut of a region would take away is what it takes away where it is allowed."""
    options = {"resources": EXACT, "holdout": False, "search": "greedy"}
    short = gx.Granite(stepwise, max_depth=1, **options).fit(X).partition_.splits()
    left = short[(short["region"] >= 0) & (short["reason"] == "max_depth reached")].iloc[0]
    long = gx.Granite(stepwise, max_depth=2, **options).fit(X).partition_.splits()
    (split,) = long[(long["where"] == left["where"]) & (long["region"] < 0)].to_dict("records")
    assert (left["feature"], left["cut"]) == (split["feature"], split["cut"])
    assert left["removed"] == pytest.approx(split["removed"], rel=0.05)


def test_halves_that_were_searched_stand_in_the_ledger_and_in_files(X, tmp_path):
    g = gx.Granite(stepwise, resources=EXACT).fit(X)
    stability = g.stability(n_resamples=2)
    splits = g.partition_.splits()
    again = splits.loc[splits["region"] < 0, "found_again"]
    assert list(again) == [split.share for split in stability.splits]
    loaded = gx.load(gx.save(g, tmp_path / "g.json"))
    pd.testing.assert_frame_equal(loaded.partition_.splits(), splits)


def test_rules_without_a_fit_have_a_ledger_of_what_is_known():
    assert len(gx.Partition.from_rules(["a ≤ 1", "a > 1"]).splits()) == 0
