"""The masked model and the values of many regions at once, against one region at a time by the definitions."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

import oracle as o
from granite_xai.effects import resolve
from granite_xai.engine.games import RegionalGame
from granite_xai.engine.masked import masked_model
from granite_xai.engine.membership import Splits
from granite_xai.frames import read_table
from granite_xai.models import as_predictor
from granite_xai.operators.behavior import Local, Risk, Sensitivity
from granite_xai.operators.influence import Individual
from granite_xai.operators.interaction import Partial
from granite_xai.reference import fit_reference
from granite_xai.requests import evaluate, request
from granite_xai.resources import Resources
from granite_xai.typing import Total
from strategies import Case, cases, examples, maskings, quiet


def known(case: Case, masking):
    """Everything the package knows of the model on the rows with weight, for every coalition."""
    everyone = read_table(case.X, missing="allow")
    weights = np.ones(case.n) if case.weights is None else np.array(case.weights)
    used = np.flatnonzero(weights > 0)
    table, weights = everyone.take(used), weights[used]
    effect = resolve(masking, Sensitivity(), Partial(), Individual(), table, max_evaluations=10**6)
    reference = fit_reference(effect.readings(), effect.changes(), table, weights, 0)
    y = np.array(case.y)[used]
    asked = request(table, [effect])
    model = as_predictor(case.model)
    return evaluate(model, table, asked, reference, weights=weights, y=y, resources=Resources())[0]


@st.composite
def batches(draw):
    """A case, a masking, and a batch of ways to split its rows in two."""
    case = draw(cases(min_rows=1, max_rows=8, max_columns=3, weighted=None))
    masking, words = draw(maskings(case))
    rows = case.problem().rows
    sides = draw(st.lists(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)), min_size=1, max_size=3))
    return case, masking, o.Setting(**words), np.array(sides)


def sides_of(inside, rows):
    """The rows of the inner and the outer side."""
    return [[n for n, chosen in zip(rows, inside, strict=True) if bool(chosen) is side] for side in (True, False)]


def size_of(case: Case, problem: o.Problem) -> float:
    return 1e-9 + max(abs(v) for T in o.subsets(range(case.d)) for line in problem.R(T).values() for v in line.values())


@given(batch=batches())
@examples(150)
def test_the_masked_model_of_every_row_is_that_of_its_own_side(batch):
    """``F_T`` of every coalition, for a batch of splits, each row in the region that holds it."""
    case, masking, setting, inside = batch
    problem = case.problem()
    with quiet():
        evaluations = known(case, masking)
    masked = masked_model(masking, evaluations, Splits.of(inside, evaluations.weights))
    scale = size_of(case, problem)
    for T in o.subsets(range(case.d)):
        found = np.broadcast_to(masked(T), inside.shape) + evaluations.pivot
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
    game = RegionalGame(operator, masked_model(masking, evaluations, splits), evaluations, splits)
    words = {"behavior": "risk" if risk else "sensitivity", "average": behavior if risk else "prediction"}
    setting = o.replace(setting, **words)
    scale = (size_of(case, problem) + 2.0) ** 2
    for T in o.subsets(range(case.d)):
        if behavior == "jansen" and not T:
            continue
        found = np.broadcast_to(game(Total(T) if behavior == "jansen" else T), (len(inside), 2))
        for k, split in enumerate(inside):
            for side, rows in enumerate(sides_of(split, problem.rows)):
                if rows:
                    if behavior == "jansen":
                        wanted = o.jansen(problem, setting, T, rows)
                    else:
                        wanted = o.game(problem, setting, rows)(T)
                    assert abs(found[k, side] - wanted) <= 1e-10 * scale, (T, k, side)


@given(batch=batches())
@examples(30)
def test_local_values_are_the_masked_model(batch):
    """``nu(T) = F_T`` for local behavior."""
    _, masking, _, inside = batch
    with quiet():
        evaluations = known(batch[0], masking)
    splits = Splits.of(inside, evaluations.weights)
    masked = masked_model(masking, evaluations, splits)
    game = RegionalGame(Local(), masked, evaluations, splits)
    for T in o.subsets(range(batch[0].d)):
        assert np.array_equal(game(T), masked(T))
