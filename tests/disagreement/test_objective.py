"""Several questions in one objective: weights, shares and noise floors."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from granite_xai.disagreement.objective import Objective, ScaledObjective, scaled_objective
from hypothesis import given, strategies as st

import granite_xai as gx
from strategies import paper

ROWS = SimpleNamespace(weights=np.array([1.0, 1.0, 2.0]), predictions=np.array([0.0, 4.0, 2.0]))
ROWS.outputs = (ROWS,)
VARIANCE = 2.0  # mean 2, squared distances 4, 4, 0, 0
levels = st.lists(st.sampled_from([0.0, 0.25, 0.5, 2.0]), min_size=3, max_size=3).map(np.array)


def scaled(roots, floors, weights=(1.0, 1.0, 1.0), **options):
    asked = [SimpleNamespace(output=0)] * len(roots)
    return scaled_objective(
        asked, weights, np.array(roots), np.array(floors), Objective("ice-pdp", **options), ROWS
    )


@given(
    roots=levels,
    floors=levels,
    weights=st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=3, max_size=3),
)
def test_questions_at_their_floor_have_no_say_and_the_others_share_the_weight(
    roots, floors, weights
):
    """A disagreement that is as large as its noise is noise; the weights of the rest add up to one."""
    heard = [root > floor for root, floor in zip(roots, floors, strict=True)]
    total = sum(weight for weight, loud in zip(weights, heard, strict=True) if loud)
    for normalize in ("root", "variance"):
        found = scaled(roots, floors, weights, normalize=normalize).factors
        for factor, weight, root, loud in zip(found, weights, roots, heard, strict=True):
            divisor = root if normalize == "root" else VARIANCE
            assert factor == pytest.approx(weight / total / divisor if loud else 0.0)


def test_a_disagreement_too_small_to_divide_by_is_nothing():
    """One over a denormal number is infinite."""
    found = scaled([5e-324, 1.0, np.finfo(float).tiny], [0.0, 0.0, 0.0]).factors
    assert np.isfinite(found).all()
    assert found[0] == 0.0
    assert found[1:].tolist() == [0.5, pytest.approx(0.5 / np.finfo(float).tiny)]


@pytest.mark.parametrize("weighting", ["mass", "uniform"])
def test_a_region_counts_by_its_mass_unless_regions_count_alike(weighting):
    found = scaled([2.0, 4.0, 1.0], [0.0, 0.0, 1.0], (3.0, 1.0, 7.0), weighting=weighting)
    assert found.total == 4.0
    share = 0.75 * 1.0 / 2.0 + 0.25 * 3.0 / 4.0
    mass = 0.25 if weighting == "mass" else 1.0
    assert found.of(np.array([1.0, 3.0, 9.0]), np.array(1.0)) == pytest.approx(share * mass)


def test_a_region_is_at_the_floor_when_every_question_that_counts_is():
    objective = ScaledObjective((), np.array([1.0, 0.5, 0.0]), np.array([0.1, 0.2, 0.0]), 1.0)
    assert objective.is_at_floor(np.array([0.1, 0.2, 5.0]))  # the last has no say
    assert not objective.is_at_floor(np.array([0.1, 0.3, 0.0]))
    assert not objective.is_at_floor(np.array([0.2, 0.2, 0.0]))


def test_scoring_needs_room_for_the_widest_of_its_questions():
    measures = tuple(
        SimpleNamespace(split_bytes=lambda n, u, width=width: width * n + u) for width in (6, 9, 7)
    )
    node = SimpleNamespace(n_rows=10, matrices={k: SimpleNamespace(n_values=k) for k in (2, 4, 3)})
    assert ScaledObjective(measures, np.ones(3), np.zeros(3), 1.0).split_bytes(node) == 9 * 10 + 4


def test_questions_may_be_one_several_or_weighted():
    pair = gx.Disagreement("ice", "pdp")
    names = {"ice-pdp": 1.0, "sobol": 1.0}
    assert [(q.name, w) for q, w in Objective("sobol").weighted()] == [("sobol", 1.0)]
    assert Objective(pair).weighted() == ((pair, 1.0),)
    assert {q.name: w for q, w in Objective(list(names)).weighted()} == names
    assert [w for _, w in Objective({"ice-pdp": 0.5, pair: 1}).weighted()] == [0.5, 1.0]
    assert [w for _, w in Objective([("ice-pdp", 0.25), "sobol"]).weighted()] == [0.25, 1.0]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Objective("ice-pdp", weighting="rows"), "weighting='rows'"),
        (lambda: Objective("ice-pdp", normalize="sd"), "normalize='sd'"),
        (lambda: Objective(3), "question=3"),
        (lambda: Objective([]).weighted(), "there is no question"),
        (lambda: Objective({"ice-pdp": 0}).weighted(), "question"),
        (lambda: Objective({"ice-pdp": -1.0}).weighted(), "question"),
        (lambda: Objective(["ice-pdb"]).weighted(), "Did you mean 'ice-pdp'"),
    ],
)
def test_wrong_objectives_are_named(make, words):
    with pytest.raises(gx.InputError, match=words):
        make()


def test_only_questions_given_by_name_take_the_influence():
    from granite_xai.explanation.influence import Interactions

    pairs, own = Interactions(), gx.question("ice-pdp")
    named, given = Objective(["ice-pdp", own]).weighted(pairs)
    assert named[0].first.influence == pairs
    assert given[0] == own


def test_weights_whose_sums_are_no_numbers_are_refused():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(gx.InputError, match="P02: question=1e"):
        paper(lambda X: X[:, 0] * X[:, 1], {"ice-pdp": 1e308, "coe": 1e308}).fit(X)
