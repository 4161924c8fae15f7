"""What every node of a tree says about its rows: against loops, and against what is known of the model."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
import oracle
from granite_xai.fitting.fitted_view import fitted_view
from granite_xai.inference.node_figures import NodeFigures, tree_places
from granite_xai.regions.partition import Partition
from strategies import quiet


def model(X):
    """The effect of x0 turns with the sign of x1, and grows with x2 where x1 is positive."""
    X = np.asarray(X, dtype=float)
    return X[:, 0] * np.sign(X[:, 1]) * np.where(X[:, 1] > 0, 1 + (X[:, 2] > 0), 1)


def rows(n=60, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3)).round(1)


def figures(g) -> tuple[NodeFigures, ...]:
    return fitted_view(g, several=True).result.nodes


def fitted(X, question="ice-pdp", y=None, sample_weight=None, **options):
    options = {"max_depth": 2, "min_samples_leaf": 5, "alpha": 0.0, **options}
    with quiet():
        return gx.Granite(model, question, **options).fit(X, y, sample_weight=sample_weight)


@pytest.mark.parametrize("question", ["ice-pdp", "pfi-risk", "mplot-pdp", "variance"])
def test_figures_of_every_node_are_those_of_the_definitions(question):
    """With the paper's algorithm nothing is corrected: mean squared gaps and importances, by loops."""
    X = rows()
    rng = np.random.default_rng(1)
    y = model(X) + rng.normal(size=len(X))
    weights = rng.integers(1, 4, len(X)) * 1.0
    g = fitted(X, question, y, weights, confidence_level=None)
    (found,) = figures(g)
    places = tree_places(g.partition_)
    assert len(found.nodes) == len(places) > 3
    assert (found.rows, found.n_rows, found.sets) == ("search", 60, (("x0",), ("x1",), ("x2",)))
    problem = oracle.Problem(model, X, y, weights)
    asked = oracle.question(question)
    regions = g.partition_.apply(X)
    for place, node in zip(places, found.nodes, strict=True):
        inside = [n for n in range(len(X)) if regions[n] in place.regions]
        own = weights[inside]
        predictions = model(X[inside])
        assert node.n_samples == len(inside)
        assert node.share == pytest.approx(own.sum() / weights.sum())
        assert node.mean == pytest.approx(np.average(predictions, weights=own))
        squares = np.average((predictions - node.mean) ** 2, weights=own)
        assert node.spread == pytest.approx(np.sqrt(squares))
        gaps = oracle.gaps(asked, problem, inside)
        for number, gap in enumerate(gaps.values()):
            if isinstance(gap, dict):
                truth = np.average([gap[n] ** 2 for n in inside], weights=own)
            else:
                truth = gap**2
                difference = node.first[number] - node.second[number]
                assert difference == pytest.approx(gap, rel=1e-8, abs=1e-10)
            assert node.by_set[number] == pytest.approx(truth, rel=1e-8, abs=1e-10)
        assert node.heterogeneity == pytest.approx(np.sqrt(sum(node.by_set)))


def test_splits_add_up_to_what_the_regions_remove():
    (found,) = figures(fitted(rows(900), holdout="auto"))
    assert (found.rows, found.n_rows) == ("held-out", 300)
    inner = [node.node for node in found.nodes if node.region < 0]
    assert len(inner) > 1
    by_split = sum(found.removed_by_split(node) for node in inner)
    assert by_split == pytest.approx(found.removed, abs=1e-12)
    # x0 and x1 act together: regions of x1 and x2 take that away.
    assert np.argmax(found.removed) == 0
    assert found.root.heterogeneity > 2 * max(leaf.heterogeneity for leaf in found.leaves)
    assert [leaf.region for leaf in found.leaves] == list(range(len(found.leaves)))
    assert found.root.mean == pytest.approx(0.0, abs=0.3)


def test_held_out_figures_are_those_of_the_estimate():
    """Root and regions are measured once; nodes between them have fewer signed pairs."""
    X = rows(900)
    y = model(X) + np.random.default_rng(2).normal(size=900)
    for question in ("ice-pdp", "cfi-pfi"):
        g = fitted(X, question, y)
        (found,) = figures(g)
        lines = g.estimate_.lines
        assert sum(found.root.by_set) == pytest.approx(lines[0].corrected)
        for leaf in found.leaves:
            line = lines[1 + leaf.region]
            assert (line.n_samples, sum(leaf.by_set)) == (
                leaf.n_samples,
                pytest.approx(line.corrected),
            )


def test_mean_and_spread_are_those_of_the_search_rows():
    """Curves and single rows start from the same means; held-out rows say how far rows stray."""
    X = rows(900)
    g = fitted(X)
    (found,) = figures(g)
    assert found.rows == "held-out"
    searched = X[g.diagnostics_["rows"]["search"]]
    regions = g.partition_.apply(searched)
    for place, node in zip(tree_places(g.partition_), found.nodes, strict=True):
        predictions = model(searched[np.isin(regions, place.regions)])
        assert node.mean == pytest.approx(predictions.mean())
        assert node.spread == pytest.approx(predictions.std())
    held_out = X[g.diagnostics_["rows"]["held_out"]]
    assert found.root.mean != pytest.approx(model(held_out).mean(), abs=1e-6)


def test_without_a_split_the_root_is_the_region():
    g = fitted(rows(100), max_depth=0)
    (found,) = figures(g)
    (root,) = found.nodes
    assert (root.node, root.parent, root.region, root.column) == (0, -1, 0, "")
    assert found.removed == pytest.approx(np.zeros(3))


def test_regions_without_a_tree_are_children_of_the_root():
    given = gx.partitioners.Given(["x1 ≤ 0", "x1 > 0"])
    (found,) = figures(fitted(rows(100), partitioner=given))
    assert [(node.parent, node.region) for node in found.nodes] == [(-1, -1), (0, 0), (0, 1)]
    partition = Partition.from_rules(["x0 ≤ 0", "x0 > 0"])
    assert [place.regions for place in tree_places(partition)] == [range(2), range(1), range(1, 2)]


def test_a_region_without_held_out_rows_says_nothing():
    """Given regions of which no row is held out: how far rows stray is nan, and nothing else suffers."""
    X = rows(900)
    far = gx.partitioners.Given(["x1 ≤ 99", "x1 > 99"])
    (found,) = figures(
        fitted(np.vstack([X, [[0.0, 100.0, 0.0]] * 2]), partitioner=far, holdout=(X, None))
    )
    empty = found.leaves[1]
    assert (empty.n_samples, empty.share) == (0, 0.0)
    assert np.isnan([empty.heterogeneity, *empty.by_set]).all()
    assert (empty.mean, empty.spread) == (0.0, 0.0)  # of its two search rows
    assert found.removed == pytest.approx(np.zeros(3), abs=1e-9)


def test_figures_are_saved_and_older_files_have_none(tmp_path):
    g = fitted(rows(700), y=None)
    gx.save(g, tmp_path / "fit.granite")
    loaded = gx.load(tmp_path / "fit.granite", model=model)
    assert figures(loaded) == figures(g)


def test_every_output_has_its_own_figures():
    X = rows(120)

    def two(X):
        X = np.asarray(X, dtype=float)
        return np.column_stack([model(X), 10 * X[:, 0]])

    with quiet():
        g = gx.Granite(two, output="all", max_depth=1).fit(X)
    first, second = (figures(g.of_output(name))[0] for name in g.outputs_)
    assert first.root.spread == pytest.approx(model(X).std(), rel=1e-6)
    assert second.root.spread == pytest.approx(10 * X[:, 0].std(), rel=1e-6)
    assert second.root.heterogeneity == pytest.approx(0.0, abs=1e-6)


def test_absolute_losses_are_not_rooted():
    question = gx.Disagreement("ice", "pdp", loss="absolute")
    (found,) = figures(fitted(rows(60), question, confidence_level=None))
    assert not found.is_rooted
    assert found.root.heterogeneity == pytest.approx(sum(found.root.by_set))


def test_importances_inside_regions_are_those_of_regions_with_rows_by_their_share():
    X = rows(900)
    y = model(X) + np.random.default_rng(2).normal(size=900)
    three = gx.partitioners.Given(["x1 ≤ 0", "x1 > 0 and x1 ≤ 99", "x1 > 99"])
    searching = np.vstack([X, [[0.0, 100.0, 0.0]] * 2])
    (found,) = figures(
        fitted(searching, "pfi-risk", np.append(y, [0.0, 0.0]), partitioner=three, holdout=(X, y))
    )
    first, second = found.importances_inside_regions()
    halves = [leaf for leaf in found.leaves if leaf.n_samples]
    assert len(halves) == 2
    expected = sum(leaf.share * np.array(leaf.first) for leaf in halves)
    assert first == pytest.approx(expected)
    assert second == pytest.approx(sum(leaf.share * np.array(leaf.second) for leaf in halves))
    assert np.isfinite(first).all()
