"""The ledger: how much of the model's variance simpler descriptions explain, one step after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.compute import Resources
from granite_xai.curves import dependence_bins
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.evaluations.plan import plan
from granite_xai.influence import Interactions
from granite_xai.interaction import Additive, union
from granite_xai.masking.fitted import FittedMaskings
from granite_xai.report.basis import Basis, additive_game
from granite_xai.report.charts import cut
from granite_xai.report.words import plain
from granite_xai.requests import evaluate, request

PAIRS = 3
CHEAP_TREES = 4
"""Where the evaluations come from the model's trees, a pair may take this many times the evaluations of the fit."""

Pair = tuple[Coalition, Coalition]


def ledger(basis: Basis) -> dict[str, Any]:
    """Explained variance: one curve per column, the same in each region, and the strongest pairs on top."""
    fitted = basis.fitted
    steps = [{"step": basis.unit, "explained": float(fitted.global_fidelity)}]
    if len(fitted.partition) > 1:
        text = f"{basis.unit} in each of {len(fitted.partition)} regions"
        steps.append({"step": text, "explained": float(fitted.fidelity)})
    note, pairs = "", []
    if basis.evaluations is not None and _wanted(basis):
        found = _pairs(basis)
        note, pairs = found["note"], found["pairs"]
        if found["explained"] is not None:
            names = ", ".join(" with ".join(cut(plain(name), 40) for name in pair) for pair in pairs)
            steps.append({"step": f"the joint effects of the strongest pairs: {names}", **_explained(found)})
    return {"steps": steps, "note": note, "pairs": pairs}


def _explained(found: dict[str, Any]) -> dict[str, float]:
    return {"explained": float(found["explained"])}


def _wanted(basis: Basis) -> bool:
    """Whether pairs could add anything: there are three of them, and the surrogate has none yet."""
    order_two = isinstance(basis.fitted.comparisons[0].question.first.influence, Interactions)
    return len(basis.fitted.layout.players) > 2 and not order_two and basis.fitted.fidelity < 1 - 1e-9


def _pairs(basis: Basis) -> dict[str, Any]:
    chosen = strongest_pairs(basis)
    coalitions = {union(pair) for pair in chosen}
    everything = basis.known.everything
    parts = [(rows, basis.table.take(rows)) for rows in basis.regions]
    cost = sum(plan(part, coalitions).rows for _, part in parts)
    trees = basis.granite.diagnostics_["evaluations"]["path"] != "model"
    spent = sum(matrix.values.size for matrix in basis.known.matrices.values())
    resources = basis.granite.resources or Resources()
    limit = min((CHEAP_TREES if trees else 1) * spent, resources.max_evaluations, resources.memory_limit // 8)
    pairs = [[_player(basis, player) for player in pair] for pair in chosen]
    if not chosen or everything in coalitions or cost > limit:
        text = f"Pairs of columns are left out: they would take {cost:,} more evaluations; the fit took {spent:,}."
        return {"explained": None, "pairs": [], "note": text if chosen and cost > limit else ""}
    wrong = sum(_squared_error(basis, rows, part, chosen, resources) for rows, part in parts)
    explained = 1.0 - wrong / float(basis.known.weights.sum()) / basis.variance
    return {"explained": explained, "pairs": pairs, "note": ""}


def _player(basis: Basis, player: Coalition) -> str:
    layout = basis.fitted.layout
    for members, names in zip(layout.sets, layout.labels, strict=True):
        if len(members) == 1 and members[0] == player:
            return names[0]
    return ", ".join(basis.table.names[i] for i in sorted(player))


def _squared_error(basis: Basis, rows: IntArray, part: Any, pairs: Sequence[Pair], resources: Resources) -> float:
    """``sum of (F - G)²`` in one region, G with the joint effects of the pairs."""
    node = basis.known.restrict(rows)
    game = additive_game(node)
    total = game.values(Additive(1).terms(basis.fitted.layout.players, ()))[0].copy()
    asked = request(part, [], {union(pair) for pair in pairs})
    further, _ = evaluate(
        basis.fitted.predictor,
        part,
        asked,
        FittedMaskings({}, {}, {}),
        weights=node.weights,
        y=None,
        resources=resources,
    )
    for one, two in pairs:
        joint = _masked(further, one | two) + further.pivot - node.pivot
        total += joint + game.values({one: -1.0, two: -1.0, frozenset(): 1.0})[0]
    return float(node.weights @ np.square(node.predictions - total))


def _masked(evaluations: Evaluations, visible: Coalition) -> FloatArray:
    matrix = evaluations.matrix(visible)
    means: FloatArray = matrix.values @ (evaluations.weights / evaluations.weights.sum())
    return means[matrix.codes]


def strongest_pairs(basis: Basis, amount: int = PAIRS) -> list[Pair]:
    """The pairs of players whose ICE curves depend on each other most, read off the evaluations of the fit.

    How far the ICE curves of each move with the tenths (or levels) of the other, inside the regions; the smaller of
    both, because a column that merely depends on an interacting one has flat curves of its own. Only players of one
    column have such curves and tenths.
    """
    singles = [player for player in basis.fitted.layout.players if len(player) == 1]
    if len(singles) < 2 or len(basis.known.everything) < 3:
        return []
    strength = dict.fromkeys(combinations(singles, 2), 0.0)
    for rows in basis.regions:
        node = basis.known.restrict(rows)
        bins = {p: dependence_bins(basis.table.columns[next(iter(p))].take(rows)) for p in singles}
        curves = {p: _moves(node, p) for p in singles if p in node.places}
        for one, two in strength:
            if one in curves and two in curves:
                both = (_spread(curves[a], bins[b], node.weights) for a, b in ((one, two), (two, one)))
                strength[one, two] += min(both) * float(node.weights.sum())
    ranked = sorted(strength, key=lambda pair: -strength[pair])
    return [pair for pair in ranked[:amount] if strength[pair] > 1e-9 * max(strength.values())]


def _moves(node: Evaluations, player: Coalition) -> FloatArray:
    """ICE curves around their own mean, (values, rows), weighted by the square root of how frequent a value is."""
    matrix = node.matrix(player)
    shares = np.bincount(matrix.codes, weights=node.weights, minlength=len(matrix.values)) / node.weights.sum()
    seen = shares > 0
    values = matrix.values[seen] - shares @ matrix.values
    weighted: FloatArray = values * np.sqrt(shares[seen])[:, None]
    return weighted


def _spread(curves: FloatArray, bins: IntArray, weights: FloatArray) -> float:
    """Variance of the curves between the bins of another column."""
    mass = np.bincount(bins, weights=weights)
    members = np.zeros((len(mass), len(bins)))
    members[bins, np.arange(len(bins))] = weights
    means = curves @ members.T / np.maximum(mass, 1e-300)
    centre = curves @ weights / weights.sum()
    return float((np.square(means - centre[:, None]) @ mass).sum() / weights.sum())
