"""What each node of a tree has of the disagreement, on the rows that search and on held-out rows."""

from __future__ import annotations

import numpy as np
import pytest

import granite_xai as gx
from parts.node_fits import figures, fitted, model, rows
from strategies import quiet


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


def test_without_a_split_the_root_is_the_region():
    g = fitted(rows(100), max_depth=0)
    (found,) = figures(g)
    (root,) = found.nodes
    assert (root.node, root.parent, root.region, root.column) == (0, -1, 0, "")
    assert found.removed == pytest.approx(np.zeros(3))


def test_figures_are_saved_and_older_files_have_none(tmp_path):
    g = fitted(rows(700), y=None)
    gx.save(g, tmp_path / "fit.granite")
    loaded = gx.load(tmp_path / "fit.granite", model=model)
    assert figures(loaded) == figures(g)


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
