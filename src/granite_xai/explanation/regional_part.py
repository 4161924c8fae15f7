"""The values ``phi`` of an explanation on the rows of a region, with their standard errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from granite_xai.base.coalitions import union
from granite_xai.base.typing import Coalition, FloatArray, IntArray, Terms
from granite_xai.engine.signed_weights import signed_lines, standard_errors
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.behavior.behavior import Game
from granite_xai.explanation.masking.masking import smallest_cells
from granite_xai.explanation.resolved import ResolvedExplainer
from granite_xai.explanation.result import Part


def regional_part(
    region: int,
    name: str,
    effect: ResolvedExplainer,
    evaluations: Evaluations,
    rows: IntArray,
    random_signs: FloatArray | None = None,
) -> Part:
    """The values of an explanation on the rows of a region, with the same rows as reference.

    Parameters
    ----------
    region : int
        Number of the region.
    name : str
        Of the explanation.
    effect : ResolvedExplainer
    evaluations : Evaluations
        Of the n rows of the region.
    rows : array of shape (n,)
        Positions of these rows.
    random_signs : array of shape (vectors, n), optional
        With them, errors tell how values vary with the sample, too.
    """
    splits = Splits.whole(evaluations.weights)
    game = Game.of(effect.behavior, effect.masking, evaluations, splits)
    values = _effects(game, effect, effect.combined)
    base = game.values({frozenset(): 1.0})[0]
    if not effect.behavior.per_row:
        base = base[:1]  # of the left side, which holds all rows
    if effect.behavior.is_linear:
        base = base + evaluations.offset
    errors = _errors_of_draws(game, effect, values)
    size_errors = None
    if random_signs is not None:
        sampling_errors, size_errors = _sampling_errors(effect, evaluations, random_signs)
        errors = np.hypot(errors, sampling_errors)
    return Part(
        region=region,
        name=name,
        rows=rows if effect.behavior.per_row else None,
        values=values,
        errors=errors,
        base=base,
        sets=effect.layout.labels,
        size_errors=size_errors,
        estimated=bool(effect.draws),
    )


def _sampling_errors(
    effect: ResolvedExplainer, evaluations: Evaluations, random_signs: FloatArray
) -> tuple[FloatArray, FloatArray | None]:
    """Standard errors of the values of an effect over the sample, and (where they are local) of their mean sizes.

    The effect is computed again under weights that random signs move (`engine.signed_weights`).

    Parameters
    ----------
    effect : ResolvedExplainer
    evaluations : Evaluations
        Of the n rows of the region.
    random_signs : array of shape (vectors, n)

    Returns
    -------
    errors : array of shape (n, sets) or (sets,)
    size_errors : array of shape (sets,) or None
        None where there is one value for the region.
    """
    lines = signed_lines(random_signs, evaluations.weights)  # (replicates, n) weights of the rows
    shares = lines / lines.sum(axis=1, keepdims=True)
    splits = Splits.weighted(lines, evaluations.weights)
    game = Game.of(effect.behavior, effect.masking, evaluations, splits)
    errors = []
    size_errors = []
    for members, terms in zip(effect.layout.sets, effect.combined, strict=True):
        game_of_set = _game_of_set(game, effect, members)
        values = game_of_set.values(terms)  # (replicates, n) or (replicates, 2)
        if effect.behavior.per_row:
            cells = smallest_cells({effect.masking: terms}, game_of_set.evaluations)
            errors.append(standard_errors(values, cells))
            sizes = np.einsum("kn,kn->k", np.abs(values), shares)
            size_errors.append(standard_errors(sizes, evaluations.n_rows))
        else:
            errors.append(standard_errors(values[:, 0], evaluations.n_rows))
    if not effect.behavior.per_row:
        return np.stack(errors, axis=-1), None
    return np.stack(errors, axis=-1), np.array(size_errors)


def _game_of_set(game: Game, effect: ResolvedExplainer, members: Sequence[Coalition]) -> Game:
    """The game on the values that stand for the columns of one set (C22); the same one where these are all."""
    on_grid = game.evaluations.on_grid(union(members))
    if on_grid is game.evaluations:
        return game
    return Game.of(effect.behavior, effect.masking, on_grid, game.splits)


def _effects(game: Game, effect: ResolvedExplainer, terms: Iterable[Terms]) -> FloatArray:
    """The effect of each set: (n, sets) where there is a value for each row, otherwise (sets,)."""
    columns = []
    for members, combination in zip(effect.layout.sets, terms, strict=True):
        values = _game_of_set(game, effect, members).values(combination)[0]
        if not game.behavior.per_row:
            columns.append(values[0])
            continue
        # Predictions are centred by the offset; attributions and changes are differences already.
        are_predictions = all(isinstance(term, frozenset) for term in combination)
        if game.behavior.is_linear and are_predictions:
            values = values + game.evaluations.offset * sum(combination.values())
        columns.append(values)
    return np.stack(columns, axis=-1)


def _errors_of_draws(game: Game, effect: ResolvedExplainer, values: FloatArray) -> FloatArray:
    """Standard errors over the draws of sampled effects, in the shape of the values; 0 for exact ones."""
    if not effect.draws:
        return np.zeros_like(values)
    if effect.pairwise:  # attributions carry theirs with the evaluations
        return np.stack([game.evaluations.errors[term] for term in effect.attributions], axis=-1)
    draws = np.stack([_effects(game, effect, draw) for draw in effect.draws])
    return np.asarray(draws.std(axis=0, ddof=1) / np.sqrt(len(draws)))
