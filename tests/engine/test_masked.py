"""The masked model and the values of many regions at once, against one region at a time by the definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

import oracle as o
from granite_xai.base.typing import JansenTotal
from granite_xai.compute import Resources, compiled_primitives, selection as passes
from granite_xai.compute.primitives import NUMPY
from granite_xai.engine.centres import central_rows
from granite_xai.engine.splits import Cut, Splits
from granite_xai.evaluations.coordinates import Coordinates
from granite_xai.explanation.behavior import Local, Risk, Sensitivity
from granite_xai.explanation.behavior.behavior import Game
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.influence import Individual
from granite_xai.explanation.interaction import Partial
from granite_xai.explanation.masking.fitted import fit_reference
from granite_xai.explanation.request import request
from granite_xai.explanation.resolved import resolve
from granite_xai.models import as_predictor
from granite_xai.tables import read_table
from granite_xai.trees.routes import Route
from strategies import Case, cases, examples, maskings, paper, quiet


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


@given(batch=batches(), cells=st.sampled_from([1, 6, NUMPY.cells]))
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
            patch.setattr(type(NUMPY), "cells", cells)
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
    game.share(terms)
    np.testing.assert_allclose(
        game.values(terms), wanted, atol=1e-10 * (1e-9 + np.abs(wanted).max())
    )


@given(data=st.data())
@examples(60)
def test_the_masked_model_is_the_mean_over_the_references_of_its_pairs(data):
    """Every row against every reference of its side, for each coalition alone and for all of them together."""
    case = data.draw(cases(min_rows=4, max_rows=8, max_columns=3, weighted=None))
    masking, _ = data.draw(
        maskings(case, ["marginal", "baseline"]).filter(lambda found: found[0].in_pairs)
    )
    with quiet():
        evaluations = known(case, masking)
    inside, rows = np.arange(evaluations.n_rows) % 3 == 0, np.arange(evaluations.n_rows)
    splits, every = Splits.of(inside[None], evaluations.weights), o.subsets(range(case.d))
    game = Game.of(Local(), masking, evaluations, splits)
    for terms in ({T: 1.0 + len(T) for T in every}, *({T: 2.0} for T in every)):
        pairs, wanted = (
            masking.masked(evaluations, splits).pair_block(terms, rows, rows),
            game.values(terms)[0],
        )
        for side in (inside, ~inside)[
            : evaluations.n_rows
        ]:  # one row, where the others have no weight, is one side
            found = np.average(pairs[np.ix_(side, side)], axis=0, weights=evaluations.weights[side])
            np.testing.assert_allclose(
                found, wanted[side], atol=1e-9 * size_of(case, case.problem())
            )


# ------------------------------------------------------------------------------------------------- membership of splits


@st.composite
def cut_batches(draw):
    """Cuts of a few columns as tables over places, the place of each row in each, and weights."""
    n = draw(st.integers(1, 9))
    tables, places = [], []
    for _ in range(draw(st.integers(1, 3))):
        width, lines = draw(st.integers(1, 4)), draw(st.integers(1, 3))
        cells = st.lists(st.booleans(), min_size=width, max_size=width)
        tables.append(np.array(draw(st.lists(cells, min_size=lines, max_size=lines))))
        places.append(np.array(draw(st.lists(st.integers(0, width - 1), min_size=n, max_size=n))))
    weights = np.array(draw(st.lists(st.sampled_from([0.5, 1.0, 2.0]), min_size=n, max_size=n)))
    return tables, places, weights


@pytest.mark.parametrize("cells", [0, math.inf], ids=["compiled", "plain"])
@given(batch=cut_batches(), seed=st.integers(0, 10**6))
@examples(60)
def test_splits_along_cuts_are_the_same_splits_row_by_row(cells, batch, seed):
    """Sums over the classes of a cut equal sums over rows, for all that is read of a batch of splits."""
    tables, places, weights = batch
    n, generator = len(weights), np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "WORTHWHILE", cells)
        along = Splits.along(
            [Cut.of(k, *both) for k, both in enumerate(zip(tables, places, strict=True))], weights
        )
        inside = np.concatenate(
            [table[:, place] for table, place in zip(tables, places, strict=True)]
        )
        assert along.inside.tolist() == inside.tolist()
        assert along.columns.tolist() == [k for k, table in enumerate(tables) for _ in table]
        U, B = int(generator.integers(1, 5)), int(generator.integers(1, 4))
        codes, bins = generator.integers(0, U, size=n), generator.integers(0, B, size=n)
        values = generator.integers(-4, 5, size=(U, n)).astype(float)
        rows = np.unique(generator.integers(0, n, size=n))
        for splits, chosen in ((along, np.arange(n)), (along.at(rows), rows)):
            member = np.where(inside[:, chosen], weights[chosen], 0.0)
            mine, own = codes[chosen], values[:, chosen]
            by_bin = [
                [[sum(w[(bins[chosen] == b) & (mine == u)]) for u in range(U)] for w in member]
                for b in range(B)
            ]
            close = {"rtol": 1e-12, "atol": 1e-12}
            np.testing.assert_allclose(splits.left, member, **close)
            np.testing.assert_allclose(splits.mass[:, 0], member.sum(axis=1), **close)
            np.testing.assert_allclose(
                splits.mass.sum(axis=1), np.full(len(member), weights[chosen].sum()), **close
            )
            left, every = splits.shares(bins[chosen] * U + mine, B * U)
            np.testing.assert_allclose(left.reshape(B, U, -1).swapaxes(1, 2), by_bin, **close)
            np.testing.assert_allclose(every.reshape(B, U).sum(), weights[chosen].sum(), **close)
            left, every = splits.sums(own.T)
            np.testing.assert_allclose(left, own @ member.T, **close)
            np.testing.assert_allclose(every, own @ weights[chosen], **close)


@pytest.mark.parametrize("lines", [1, 2, 63, 64, 65, 66, 129, 200])
def test_places_that_some_split_tells_apart_are_two_classes(lines):
    """However many splits a column has, one that separates two places is enough; places that go together are one."""
    generator = np.random.default_rng(lines)
    pattern = generator.random((lines, 3)) < 0.5
    for line in {0, lines // 2, lines - 1, min(64, lines - 1)}:
        table = pattern[:, [0, 0, 1, 0, 2, 1]]
        table[line, 1] ^= True
        cut = Cut.of(0, table, np.arange(6))
        same = (table[:, :, None] == table[:, None, :]).all(axis=0)
        assert (cut.classes[:, None] == cut.classes).tolist() == same.tolist()
        assert cut.left[:, cut.classes].tolist() == table.tolist()
        assert cut.left.shape[1] == len(np.unique(table, axis=1).T)


def test_places_are_told_apart_by_all_splits_together():
    """Six kinds of place among the first splits and two among the later ones are twelve, not fewer that look alike."""
    generator = np.random.default_rng(0)
    first, later = generator.random((64, 6)) < 0.5, generator.random((70, 2)) < 0.5
    table = np.concatenate([np.repeat(first, 2, axis=1), np.tile(later, 6)])
    cut = Cut.of(0, table, np.arange(12))
    assert len(set(cut.classes.tolist())) == 12
    assert cut.left[:, cut.classes].tolist() == table.tolist()


@given(data=st.data())
@examples(60)
def test_means_and_variances_of_both_sides_are_those_of_their_rows(data):
    """One line of values for all splits or one each; 0 on an empty side."""
    n, K = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 3))
    generator = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    inside, weights = generator.random((K, n)) < 0.5, generator.choice([0.5, 1.0, 2.0], size=n)
    splits = Splits.of(inside, weights)
    for lines in (1, K):
        values = generator.normal(size=(lines, n))
        means, variances = splits.means(values), splits.variances(values)
        for k in range(K):
            for side, rows in enumerate((inside[k], ~inside[k])):
                line = values[k % lines][rows]
                mean = np.average(line, weights=weights[rows]) if rows.any() else 0.0
                spread = (
                    np.average((line - mean) ** 2, weights=weights[rows]) if rows.any() else 0.0
                )
                assert means[k, side] == pytest.approx(mean, abs=1e-12)
                assert variances[k, side] == pytest.approx(spread, abs=1e-12)


@pytest.mark.parametrize(
    "question", ["ice-pdp", "coe", "ale", "mplot-pdp", "csobol-sobol", "cfi-pfi"]
)
def test_small_tables_and_machines_without_the_compiler_never_call_it(monkeypatch, question):
    def refuse(kernel):
        raise AssertionError(f"{kernel} was to be compiled")

    monkeypatch.setattr(passes, "WORTHWHILE", math.inf)
    monkeypatch.setattr(compiled_primitives, "compiled", refuse)
    X = np.round(np.random.default_rng(3).normal(size=(60, 3)), 1)
    X[:, 2] += X[:, 0]
    toy = lambda X: X[:, 0] * (X[:, 1] > 0) + X[:, 1] * X[:, 2]  # noqa: E731
    with quiet():
        granite = paper(toy, question, min_samples_leaf=5, alpha=0.01)
        assert len(granite.fit(X, X[:, 0]).partition_) > 1


@given(data=st.data())
@examples(80)
def test_the_central_row_is_closest_to_lower_medians_and_modes(data):
    """Ranks, levels and missing values with weights, one region at a time."""
    n, K = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 3))
    ranks = np.array(
        data.draw(
            st.lists(
                st.lists(st.sampled_from([0.2, 0.4, 0.6, 1.0, np.nan]), min_size=n, max_size=n),
                max_size=2,
            )
        )
    )
    levels = np.array(
        data.draw(st.lists(st.lists(st.integers(-1, 2), min_size=n, max_size=n), max_size=2)),
        dtype=np.intp,
    )
    weights = np.array(
        data.draw(
            st.lists(
                st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=n, max_size=n),
                min_size=K,
                max_size=K,
            )
        )
    )
    found = central_rows(Coordinates(ranks.reshape(-1, n), levels.reshape(-1, n)), weights)
    for k, line in enumerate(weights):
        rows = [m for m in range(n) if line[m] > 0]
        if not rows:
            continue

        def heaviest(cells, rows=rows, line=line):
            totals = {
                cell: sum(line[m] for m in rows if cells[m] == cell)
                for cell in cells[rows]
                if cell >= 0
            }
            return min(
                (cell for cell in totals if totals[cell] == max(totals.values())), default=-1
            )

        def median(cells, rows=rows, line=line):
            present = [m for m in rows if cells[m] == cells[m]]
            half = sum(line[m] for m in present) / 2
            return min(
                (
                    cells[m]
                    for m in present
                    if sum(line[i] for i in present if cells[i] <= cells[m]) >= half
                ),
                default=np.nan,
            )

        def distance(m):
            total = float(sum(cells[m] != heaviest(cells) for cells in levels.reshape(-1, n)))
            for cells in ranks.reshape(-1, n):
                middle = median(cells)
                if np.isnan(cells[m]) != np.isnan(middle):
                    total += 1.0
                elif not np.isnan(middle):
                    total += abs(cells[m] - middle)
            return round(total, 9)

        assert found[k] == min(rows, key=lambda m: (distance(m), m))
