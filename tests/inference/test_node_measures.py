"""Figures of nodes against the definitions, on search rows and on held-out ones."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.engine.signed_weights import signs
from granite_xai.fitting.kept_run import kept_run
from granite_xai.inference.node_figures import NO_NODE, tree_places
from granite_xai.inference.node_measures import PAIRS_OF_SPLIT_NODES
from granite_xai.inference.perturbed_figures import corrected_figures

import granite_xai as gx
import oracle
from inference.node_fits import figures, fitted, model, rows
from strategies import quiet


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


def test_a_region_without_held_out_rows_says_nothing():
    """Given regions of which no row is held out: how far rows stray is nan, and nothing else suffers."""
    X = rows(900)
    far = gx.partitioners.GivenRules(["x1 ≤ 99", "x1 > 99"])
    (found,) = figures(
        fitted(np.vstack([X, [[0.0, 100.0, 0.0]] * 2]), partitioner=far, holdout=(X, None))
    )
    empty = found.leaves[1]
    assert (empty.n_samples, empty.share) == (0, 0.0)
    assert np.isnan([empty.heterogeneity, *empty.by_set]).all()
    assert (empty.mean, empty.spread) == (0.0, 0.0)  # of its two search rows
    assert found.removed == pytest.approx(np.zeros(3), abs=1e-9)


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


@pytest.mark.parametrize("question", ["ice-pdp", "variance"])
def test_nodes_that_are_split_count_clusters_as_regions_do(question):
    """What chance adds to a figure of few clusters is more than their rows would say."""
    g = fitted(rows(400), question, clusters=np.arange(400) // 20)
    run = kept_run(g, "figures", "", "")
    clusters = run.inputs.clusters
    drawn = signs(clusters, run.result.confidence.seed)[:PAIRS_OF_SPLIT_NODES]
    (found,) = figures(g)
    split_nodes = 0
    for place, node in zip(tree_places(g.partition_), found.nodes, strict=True):
        if node.node == 0 or place.region != NO_NODE:
            continue
        split_nodes += 1
        inside = np.flatnonzero(np.isin(run.result.regions, place.regions))
        truth = corrected_figures(
            run.result.comparisons[0],
            run.evaluations.restrict(inside),
            drawn[:, inside],
            n_clusters=len(np.unique(clusters[inside])),
        )
        assert node.by_set == pytest.approx(truth.corrected_by_set)
    assert split_nodes > 0
