"""The masked model and the values of many regions at once, against one region at a time by the definitions."""

from __future__ import annotations

import numpy as np
import pytest
from granite_xai.engine.splits import Splits
from granite_xai.explanation.behavior import Local, Risk, Sensitivity
from granite_xai.explanation.behavior.behavior import Game
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.influence import Individual
from granite_xai.explanation.interaction import Partial
from granite_xai.explanation.masking.fitted import fit_maskings
from granite_xai.explanation.request import request
from granite_xai.explanation.resolved import resolve
from hypothesis import given, strategies as st

import oracle as o
from granite_xai.base.limits import Resources
from granite_xai.base.parallel import primitives
from granite_xai.base.typing import JansenTotal
from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from granite_xai.trees.ensembles import Route
from strategies import Case, cases, examples, maskings, quiet


def known(case: Case, masking):
    """Everything the package knows of the model on the rows with weight, for every coalition."""
    everyone = read_table(case.X, missing="allow")
    weights = np.ones(case.n) if case.weights is None else np.array(case.weights)
    used = np.flatnonzero(weights > 0)
    table, weights = everyone.take(used), weights[used]
    effect = resolve(masking, Sensitivity(), Partial(), Individual(), table, max_evaluations=10**6)
    reference = fit_maskings(effect.readings(), effect.changes(), table, weights, 0)
    y = np.array(case.y)[used]
    asked = request(table, [effect])
    model = as_predictor(case.model)
    return evaluate(
        Route(model, table), asked, reference, weights=weights, y=y, resources=Resources()
    )[0]


@st.composite
def batches(draw):
    """A case, a masking, and a batch of ways to split its rows in two."""
    case = draw(cases(min_rows=1, max_rows=8, max_columns=3, weighted=None))
    masking, words = draw(maskings(case))
    rows = case.problem().rows
    sides = draw(
        st.lists(
            st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)), min_size=1, max_size=3
        )
    )
    return case, masking, o.Setting(**words), np.array(sides)


def sides_of(inside, rows):
    """The rows of the inner and the outer side."""
    return [
        [n for n, chosen in zip(rows, inside, strict=True) if bool(chosen) is side]
        for side in (True, False)
    ]


def size_of(case: Case, problem: o.Problem) -> float:
    return 1e-9 + max(
        abs(v)
        for T in o.subsets(range(case.d))
        for line in problem.R(T).values()
        for v in line.values()
    )


@given(batch=batches(), cells=st.sampled_from([1, 6, primitives.CELLS]))
@examples(150)
def test_the_masked_model_of_every_row_is_that_of_its_own_side(batch, cells):
    """``F_T`` of every coalition, for a batch of splits, each row in the region that holds it; bins in small tiles."""
    case, masking, setting, inside = batch
    problem = case.problem()
    with quiet():
        evaluations = known(case, masking)
    game = Game.of(Local(), masking, evaluations, Splits.of(inside, evaluations.weights))
    scale = size_of(case, problem)
    for T in o.subsets(range(case.d)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(primitives, "CELLS", cells)
            found = game.values({T: 1.0}) + evaluations.offset
        for k, split in enumerate(inside):
            for rows in sides_of(split, problem.rows):
                for n in rows:
                    wanted = o.masked(problem, setting, T, n, rows)
                    assert abs(found[k, problem.rows.index(n)] - wanted) <= 1e-10 * scale


@given(batch=batches(), behavior=st.sampled_from(["sensitivity", "prediction", "loss", "jansen"]))
@examples(150)
def test_the_value_of_every_side_is_that_of_the_region_alone(batch, behavior):
    """Variances, risks, mean losses and Jansen's totals of both sides of every split."""
    case, masking, setting, inside = batch
    if behavior == "jansen" and setting.masking == "baseline":
        return
    problem = case.problem()
    with quiet():
        evaluations = known(case, masking)
    splits = Splits.of(inside, evaluations.weights)
    risk = behavior in ("prediction", "loss")
    operator = Risk("squared", behavior) if risk else Sensitivity()
    game = Game.of(operator, masking, evaluations, splits)
    words = {
        "behavior": "risk" if risk else "sensitivity",
        "average": behavior if risk else "prediction",
    }
    setting = o.replace(setting, **words)
    scale = (size_of(case, problem) + 2.0) ** 2
    for T in o.subsets(range(case.d)):
        if behavior == "jansen" and not T:
            continue
        found = game.values({JansenTotal(T) if behavior == "jansen" else T: 1.0})
        for k, split in enumerate(inside):
            for side, rows in enumerate(sides_of(split, problem.rows)):
                if rows:
                    if behavior == "jansen":
                        wanted = o.jansen(problem, setting, T, rows)
                    else:
                        wanted = o.game(problem, setting, rows)(T)
                    assert abs(found[k, side] - wanted) <= 1e-10 * scale, (T, k, side)


@given(
    batch=batches(),
    coefficients=st.lists(st.sampled_from([-1.0, 0.5, 2.0]), min_size=8, max_size=8),
)
@examples(60)
def test_a_combination_of_masked_models_is_the_sum_of_its_terms(batch, coefficients):
    """Terms of one mass are added before they are averaged; the numbers are those of one term after the other."""
    case, masking, _, inside = batch
    with quiet():
        evaluations = known(case, masking)
    game = Game.of(Local(), masking, evaluations, Splits.of(inside, evaluations.weights))
    terms = dict(zip(o.subsets(range(case.d)), coefficients, strict=False))
    wanted = sum(value * game.values({T: 1.0}) for T, value in terms.items())
    np.testing.assert_allclose(
        game.values(terms), wanted, atol=1e-10 * (1e-9 + np.abs(wanted).max())
    )
    game.keep_values(terms)
    np.testing.assert_allclose(
        game.values(terms), wanted, atol=1e-10 * (1e-9 + np.abs(wanted).max())
    )
