"""Growing trees: what is followed, when growth stops, and what must not change the tree."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

import granite_xai as gx
from granite_xai.algebra.region_weights import RegionWeights
from granite_xai.search.growth import Growth, Tree
from granite_xai.search.problem import AllExcept
from granite_xai.tables import read_table
from parts.by_hand import drawn, evaluations_of, problem_of, steps, waves

SEARCHES = ("greedy", "refined")
FREE = {"alpha": 0.01, "min_samples_leaf": 8}


def three_way(x):
    return 4 * (x[:, 0] + 0.3) * np.sign(x[:, 1] - 0.1) * np.sign(x[:, 2] + 0.2)


def grown(problem):
    return problem.tree.partition(problem).partition


def rules(partition):
    return [str(region.rule) for region in partition]


def remaining(partition):
    return sum(region.disagreement for region in partition)


def best_tree(problem, places, depth, options):
    """The greedy tree as a loop: regions with their cost, and with the rows of each."""
    region = problem.share(places) + options.alpha, [places]
    if region[0] < 2 * options.alpha or depth == options.max_depth:
        return region
    candidates = []
    for column in problem.table.columns:
        codes = column.codes[places]
        present = np.unique(codes)
        ends = present[:-1]
        if len(present) >= options.max_candidates:
            order = np.sort(codes)
            B = options.max_candidates
            ends = np.unique([order[(len(codes) - 1) * k // B] for k in range(1, B)])
            ends = ends[ends < present[-1]]
        for end in ends:
            left, right = places[codes <= end], places[codes > end]
            if min(len(left), len(right)) >= options.min_samples_leaf:
                candidates.append((problem.share(left) + problem.share(right), left, right))
    if not candidates:
        return region
    _, left, right = min(candidates, key=lambda entry: round(entry[0], 10))
    below = [best_tree(problem, side, depth + 1, options) for side in (left, right)]
    subtree = below[0][0] + below[1][0], below[0][1] + below[1][1]
    return region if region[0] <= subtree[0] + 1e-10 else subtree


@pytest.mark.parametrize("question", ["ice-pdp", "variance", "coe"])
def test_the_greedy_tree_is_that_of_a_loop_over_all_cuts(question):
    options = Tree(search="greedy", max_depth=2, max_candidates=6, **FREE)
    problem = problem_of(waves, drawn(100), question, options)
    _, regions = best_tree(problem, problem.every_row, 0, options)
    numbers = grown(problem).apply(problem.table)
    assert len(np.unique(numbers)) == len(regions)
    for places in regions:
        assert len(np.unique(numbers[places])) == 1


@pytest.mark.parametrize("question", ["ice-pdp", "pfi-risk", "coe"])
def test_the_refined_tree_costs_no_more_than_the_greedy_one(question):
    """In these cases; it is not promised for all."""
    x = drawn(200)
    y = steps(x) + np.random.default_rng(0).normal(size=200)
    costs = {}
    for search in SEARCHES:
        problem = problem_of(steps, x, question, Tree(search=search, **FREE), y=y)
        partition = grown(problem)
        costs[search] = remaining(partition) + 0.01 * len(partition)
    assert costs["refined"] <= costs["greedy"] + 1e-9


def test_an_interaction_that_no_single_cut_lowers_is_found():
    problem = problem_of(three_way, drawn(300), tree=Tree(max_depth=2))
    partition = grown(problem)
    assert len(partition) == 4
    assert remaining(partition) < 0.05


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("question", ["ice-pdp", "sobol", "coe"])
def test_the_order_of_rows_changes_nothing(search, question):
    x = drawn(150)
    order = np.random.default_rng(5).permutation(150)
    first, second = (
        grown(problem_of(steps, rows, question, Tree(search=search, **FREE)))
        for rows in (x, x[order])
    )
    assert rules(first) == rules(second)
    assert remaining(first) == pytest.approx(remaining(second))


@pytest.mark.parametrize("search", SEARCHES)
def test_increasing_transforms_of_columns_change_no_region(search):
    x = drawn(150)
    stretched = x.copy()
    stretched[:, 1] = np.exp(3 * x[:, 1])

    def model(z):
        return steps(np.column_stack([z[:, 0], np.round(np.log(z[:, 1]) / 3 * 9) / 9, z[:, 2]]))

    first = problem_of(steps, x, tree=Tree(search=search, **FREE))
    second = problem_of(model, stretched, tree=Tree(search=search, **FREE))
    numbers = [grown(problem).apply(problem.table).tolist() for problem in (first, second)]
    assert numbers[0] == numbers[1]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("n_levels", [4, 9])
def test_relabelled_levels_change_no_region(search, n_levels):
    """Which of two equally good sides is called left may depend on the labels, the regions do not."""
    rng = np.random.default_rng(3)
    x = np.column_stack([rng.integers(0, n_levels, size=200), rng.uniform(-1, 1, size=200)])
    slopes = rng.normal(size=n_levels)
    problem = problem_of(
        lambda x: x[:, 1] * slopes[x[:, 0].astype(int)], x, tree=Tree(search=search, **FREE)
    )
    regions = []
    for names in (np.array(list("abcdefghi")), np.array(list("ihgfedcba"))):
        frame = pd.DataFrame({"kind": pd.Categorical(names[x[:, 0].astype(int)]), "x": x[:, 1]})
        sample = problem.sample
        rows = type(sample.rows)(table=read_table(frame, missing="error"), weights=problem.weights)
        named = type(sample)(rows=rows, outputs=sample.outputs)
        partition = grown(replace(problem, sample=named))
        numbers = partition.apply(rows.table)
        regions.append({frozenset(np.flatnonzero(numbers == k).tolist()) for k in set(numbers)})
    assert len(regions[0]) > 1
    assert regions[0] == regions[1]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("question", ["ice-pdp", "coe"])
def test_threads_change_nothing(search, question, monkeypatch):
    from granite_xai.search import growth

    problem = problem_of(steps, drawn(150), question, Tree(search=search, **FREE))
    alone = grown(problem)
    monkeypatch.setattr(growth, "CELLS_AT_ONCE", 150)
    together = grown(replace(problem, n_jobs=2))
    assert rules(alone) == rules(together)
    assert remaining(alone) == pytest.approx(remaining(together), abs=1e-12)


@pytest.mark.parametrize("search", SEARCHES)
def test_two_columns_may_be_read_from_one(search):
    x = drawn(120, d=2)
    problem = problem_of(lambda x: x[:, 0] * x[:, 1], x, tree=Tree(search=search, **FREE))
    assert len(grown(problem)) > 1


class Spread:
    """A measure of one's own: the variance of the predictions."""

    output = 0

    def regional(self, evaluations, regions):
        f = evaluations.f[:, None]
        means = regions.means(np.broadcast_to(f, regions.weights.shape))
        return regions.means(np.square(f - regions.at_rows(*means)))


@pytest.mark.parametrize("search", SEARCHES)
def test_another_measure_may_become_small_in_a_table_of_one_column(search):
    x = drawn(120)[:, :1]
    problem = problem_of(lambda x: np.sign(x[:, 0]), x, tree=Tree(search=search, **FREE), root=1.0)
    f = problem.sample.outputs[0].f
    shares = replace(problem.shares, factors=np.array([1 / f.var()]))
    partition = grown(replace(problem, measures=(Spread(),), shares=shares))
    assert remaining(partition) < 0.05


class Grid:
    """Numbers at places along a column, of which a region that is cut there keeps its own."""

    def __init__(self, column, values, places, n):
        self.column, self.values, self.places, self.n = column, values, places, n

    def take(self, places):
        return Grid(self.column, self.values[places], self.places, len(places))

    def on_side(self, column, goes_left, is_left):
        inside = self.take(np.flatnonzero(goes_left == is_left))
        if column == self.column:
            end = self.values[goes_left].max()
            inside.places = self.places[(self.places <= end) == is_left]
        return inside


class PlacesLeft:
    """How many places of a grid a region still has."""

    output = 0

    def regional(self, evaluations, regions):
        grid = evaluations.facts["grid"]
        assert grid.n == len(evaluations)
        left = np.full(regions.mass().shape, float(len(grid.places)))
        if regions.columns is None:  # a region as it is
            return left
        for cut in np.flatnonzero(regions.columns == grid.column):
            end = grid.values[regions.weights[:, cut] > 0].max()
            left[:, cut] = np.sum(grid.places <= end), np.sum(grid.places > end)
        return left


def test_candidates_are_scored_as_what_is_left_when_they_are_followed():
    """Cuts of any column may be scored together: regions say which column each of them cuts."""
    x = drawn(100)
    grid = Grid(0, x[:, 0], np.linspace(-1, 1, 9), 100)
    problem = problem_of(steps, x, tree=Tree(search="greedy", max_depth=1, **FREE), root=1.0)
    (evaluations,) = problem.sample.outputs
    sample = type(problem.sample)(
        rows=problem.sample.rows, outputs=(replace(evaluations, facts={"grid": grid}),)
    )
    shares = replace(problem.shares, factors=np.array([1 / 9]), by_mass=False)
    posed = replace(problem, sample=sample, measures=(PlacesLeft(),), shares=shares)
    growth = Growth.of(posed)
    root = growth.root()
    columns = [growth.candidates(root, column) for column in range(3)]
    scores = growth.sides_on_evaluations(root.outputs, columns)
    for cuts, sides in zip(columns, scores, strict=True):
        for number, cut in enumerate(cuts.options):
            followed = [growth.open(side) for side in growth.sides(root, cut)]
            assert sides[:, number].tolist() == [node.objective for node in followed]


# When growth stops -----------------------------------------------------------------------------


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"max_depth": 0}, "maximum depth"),
        ({"min_samples_leaf": 200}, "too few samples"),
        ({"alpha": 1.5}, "below alpha"),
        ({"alpha": 0.99}, "split undone"),
        ({"split_features": []}, "no split leaves enough rows"),
    ],
)
def test_one_region_says_why(search, options, reason):
    problem = problem_of(waves, drawn(150), tree=Tree(search=search, **options))
    (region,) = grown(problem)
    assert region.stop_reason == reason
    assert region.disagreement == pytest.approx(1.0)


class SaidOfRegion(NamedTuple):
    disagreements: np.ndarray
    corrected: float
    is_exceeded: bool


@pytest.mark.parametrize("search", SEARCHES)
def test_growth_counts_what_is_left_without_chance(search):
    """Small regions are chance here; what a region counts for is half of what it shows."""
    problem = problem_of(steps, drawn(200), tree=Tree(search=search, **FREE))

    def shown(outputs):
        whole = RegionWeights.whole(outputs[0].weights)
        return problem.disagreements(outputs, whole)[0, 0]

    def noise(outputs, places):
        corrected = problem.shares.factors @ shown(outputs) / 2
        return SaidOfRegion(shown(outputs), corrected, is_exceeded=len(places) > 120)

    partition = grown(replace(problem, noise=noise))
    assert {region.stop_reason for region in partition} <= {"no more than chance", "below alpha"}
    assert remaining(partition) == pytest.approx(
        sum(problem.share(np.flatnonzero(partition.apply(problem.table) == k)) for k in range(2))
    )
    everything = replace(
        problem, noise=lambda outputs, places: SaidOfRegion(shown(outputs), 1.0, False)
    )
    (region,) = grown(everything)
    assert region.stop_reason == "no more than chance"


def test_a_silent_region_has_nothing_to_explain():
    problem = problem_of(steps, drawn(150), tree=Tree(search="greedy", **FREE))
    silent = replace(problem, shares=replace(problem.shares, floors=np.array([1e9])))
    (region,) = grown(silent)
    assert region.stop_reason == "nothing to explain"


# Options of trees --------------------------------------------------------------------------------


def test_splits_must_gain_what_is_asked():
    """REPID's rule: at the root a share of the objective, below it a share of the gain above."""
    free = {"search": "greedy", "alpha": 0.0, "min_samples_leaf": 8, "max_depth": 3}
    loose = grown(problem_of(waves, drawn(150), tree=Tree(min_improvement=0.0, **free)))
    strict = grown(problem_of(waves, drawn(150), tree=Tree(min_improvement=0.4, **free)))
    never = grown(problem_of(waves, drawn(150), tree=Tree(min_improvement=1.0, **free)))
    assert len(loose) > len(strict) > len(never) == 1
    assert never[0].stop_reason == "improvement too small"


def test_a_lower_split_must_gain_a_share_of_the_gain_above_it():
    """Not of what its node holds: such splits are kept, too."""
    options = Tree(min_improvement=0.1, search="greedy", alpha=0.0, min_samples_leaf=8)
    pairs = list(lower_splits(Growth.of(problem_of(waves, drawn(150), tree=options)).tree()))
    assert all(gain_of(lower) >= 0.1 * gain_of(upper) for upper, lower in pairs)
    assert any(gain_of(lower) < 0.1 * upper.objective for upper, lower in pairs)


def lower_splits(upper):
    """Every split below another one, with that one."""
    for side in upper.below:
        if side.below:
            yield upper, side
            yield from lower_splits(side)


def gain_of(node):
    return node.objective - sum(side.objective for side in node.below)


def test_all_values_may_be_cut():
    options = {"search": "greedy", "max_candidates": 3, **FREE}
    by_quantiles = grown(problem_of(steps, drawn(150), tree=Tree(**options)))
    by_values = grown(problem_of(steps, drawn(150), tree=Tree(cuts="values", **options)))
    assert remaining(by_values) < remaining(by_quantiles)


def test_a_beam_is_no_worse_than_the_best_column_alone():
    options = {"search": "greedy", "max_depth": 2, **FREE}
    costs = []
    for beam in (1, 3):
        partition = grown(problem_of(three_way, drawn(200), tree=Tree(beam=beam, **options)))
        costs.append(remaining(partition) + 0.01 * len(partition))
    assert costs[1] <= costs[0]


@pytest.mark.parametrize(
    ("chosen", "columns"),
    [(None, [0, 1, 2]), (["x2"], [2]), ("x2", [2]), (1, [1]), (AllExcept("x1"), [0, 2])],
)
def test_only_some_columns_may_be_split(chosen, columns):
    options = Tree(split_features=chosen, **FREE)
    problem = problem_of(steps, drawn(150), tree=options)
    assert options.columns(problem.table) == columns
    used = {condition for region in grown(problem) for condition, _ in region.rule.conditions}
    assert {int(name[1]) for name in used} <= set(columns)


def test_an_unknown_column_is_named():
    problem = problem_of(steps, drawn(150), tree=Tree(split_features=["x9"]))
    with pytest.raises(gx.InputError, match="P04"):
        grown(problem)


@pytest.mark.parametrize("option", [{"beam": 2}, {"min_improvement": 0.1}, {"cuts": "values"}])
def test_options_of_the_greedy_search_are_refused_elsewhere(option):
    with pytest.raises(gx.InputError, match=r"P03.*greedy"):
        Tree(**option)
    Tree(search="greedy", **option)


@pytest.mark.parametrize(
    "option",
    [
        {"max_depth": -1},
        {"min_samples_leaf": 0},
        {"max_candidates": 1},
        {"alpha": -0.1},
        {"search": "greedy", "beam": 0},
        {"search": "optimal"},
        {"search": "greedy", "cuts": "thirds"},
        {"search": "greedy", "min_improvement": -1},
    ],
)
def test_options_that_make_no_sense_are_refused(option):
    with pytest.raises(gx.InputError):
        Tree(**option)


def test_the_defaults_are_those_of_the_manual():
    tree = Tree()
    assert (tree.max_depth, tree.min_samples_leaf, tree.alpha) == (3, 20, 0.05)
    assert (tree.max_candidates, tree.beam, tree.split_features) == (40, 1, None)


def test_regions_may_count_alike():
    """Without the mass, a small region with a large disagreement costs as much as a large one."""
    problem = problem_of(steps, drawn(150), tree=Tree(search="greedy", **FREE))
    alike = replace(problem, shares=replace(problem.shares, by_mass=False))
    growth = Growth.of(alike)
    tree = growth.tree()
    for leaf in tree.leaves():
        assert leaf.share == pytest.approx(leaf.objective * leaf.mass / 150)


def test_several_questions_count_by_their_weight():
    """A question of weight 0 decides nothing."""
    x = drawn(150)
    one = problem_of(steps, x, "ice-pdp", Tree(**FREE))
    other = problem_of(waves, x, "sobol", Tree(**FREE))
    both = replace(
        one,
        measures=(*one.measures, replace(other.measures[0], output=1)),
        sample=type(one.sample)(
            rows=one.sample.rows, outputs=(*one.sample.outputs, evaluations_of(waves, x))
        ),
    )
    factor = float(other.shares.factors[0])
    first = float(one.shares.factors[0])
    floors = np.array([1e-20, 1e-20])
    for weights, expected in (((1.0, 0.0), one), ((0.0, 1.0), other)):
        factors = np.array([weights[0] * first, weights[1] * factor])
        posed = replace(both, shares=replace(one.shares, factors=factors, floors=floors))
        assert rules(grown(posed)) == rules(grown(expected))
    halves = np.array([first, factor]) / 2
    posed = replace(both, shares=replace(one.shares, factors=halves, floors=floors))
    partition = grown(posed)
    assert posed.share(posed.every_row) == pytest.approx(1.0)
    assert remaining(partition) < 1.0
