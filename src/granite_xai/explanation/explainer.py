"""Explainer: a choice on the four axes, and its values ``phi`` on the rows of a region."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from granite_xai.base.coalitions import union
from granite_xai.base.typing import FloatArray, IntArray, Terms
from granite_xai.base.validation import choose
from granite_xai.compute import Resources, one_blas_thread, require_supported
from granite_xai.engine.signed_weights import signed_lines, signs, standard_errors
from granite_xai.engine.splits import Splits
from granite_xai.evaluations.coordinates import Coordinates
from granite_xai.evaluations.evaluations import Evaluations
from granite_xai.explanation.behavior import BEHAVIORS, Behavior
from granite_xai.explanation.behavior.behavior import Game
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.influence import Individual, Influence, Interactions
from granite_xai.explanation.interaction import INTERACTIONS, Interaction, Partial
from granite_xai.explanation.masking import MASKINGS, Masking
from granite_xai.explanation.masking.fitted import fit_reference
from granite_xai.explanation.masking.masking import smallest_cells
from granite_xai.explanation.request import request
from granite_xai.explanation.resolved import ResolvedExplainer, resolve
from granite_xai.explanation.result import Explanation, Part
from granite_xai.models import Predictor, as_predictor
from granite_xai.models.model_table import allows_missing, read_input
from granite_xai.models.row_arguments import read_rows, read_weights
from granite_xai.models.target import read_target
from granite_xai.tables import Table
from granite_xai.trees.routes import Route

INFLUENCES: dict[str, Influence] = {"individual": Individual(), "interaction": Interactions()}


@dataclass(frozen=True, slots=True, init=False)
class Explainer:
    """One of the 81 explanations of the algebra.

    Parameters
    ----------
    masking : "marginal", "conditional", "baseline" or an operator
        What stands in for hidden columns.
    behavior : "local", "sensitivity", "risk" or an operator
        Which aspect of the model counts.
    interaction : "pure", "partial", "full" or an operator
        How much of its interactions a set is credited with.
    influence : "individual", "interaction" or an operator
        Whose effect: columns, sets of columns, or groups (``Joint({name: columns})``).
    name : str, optional
        A familiar name, such as "pdp".

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> pdp = Explainer("marginal", "local", "pure")
    >>> pdp.explain(lambda X: X[:, 0] * X[:, 1], X).values
    array([[-0.25, -0.25],
           [ 0.25,  0.25],
           [-0.25,  0.25],
           [ 0.25, -0.25]])
    """

    masking: Masking
    behavior: Behavior
    interaction: Interaction
    influence: Influence
    name: str | None = field(default=None, compare=False)

    def __init__(
        self,
        masking: Masking | str = "marginal",
        behavior: Behavior | str = "local",
        interaction: Interaction | str = "full",
        influence: Influence | str = "individual",
        name: str | None = None,
    ) -> None:
        object.__setattr__(self, "masking", choose("masking", masking, MASKINGS))
        object.__setattr__(self, "behavior", choose("behavior", behavior, BEHAVIORS))
        object.__setattr__(
            self,
            "interaction",
            choose("interaction", interaction, INTERACTIONS, accept=Interaction),
        )
        object.__setattr__(
            self, "influence", choose("influence", influence, INFLUENCES, accept=Influence)
        )
        object.__setattr__(self, "name", name)

    def with_influence(self, influence: Influence) -> Explainer:
        """The same explanation of other sets."""
        return replace(self, influence=influence)

    def effect(
        self, route: Route, resources: Resources, seed: int, pairs: int | None = None
    ) -> ResolvedExplainer:
        """This explanation resolved on the table of a route: the terms of each set, drawn from ``pairs`` of orders."""
        behavior = self.behavior.resolved(route.predictor.is_probability)
        axes = (self.masking, behavior, self.interaction, self.influence, route.table)
        most, by_paths = (
            resources.max_evaluations,
            isinstance(self.interaction, Partial) and route.attributes,
        )
        return resolve(
            *axes, max_evaluations=most, random_state=seed, by_paths=by_paths, pairs=pairs
        )

    def explain(
        self,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        rows: Any = None,
        output: Any = None,
        response: str = "auto",
        resources: Resources | None = None,
        random_state: int = 0,
    ) -> Explanation:
        """Explain the rows of a region, with the same rows as reference.

        Parameters
        ----------
        model, X, y, sample_weight, output, response, resources, random_state
            As in `Granite` and its ``fit``.
        rows : array of int, optional
            Positions that form the region, explained and reference alike; None: all.

        Returns
        -------
        Explanation
        """
        limits = Resources() if resources is None else resources
        require_supported(limits)
        everyone = read_input(X, model, named=getattr(self.influence, "features", None) or ())
        predictor = as_predictor(
            model,
            output=output,
            response=response,
            batch_size=limits.batch_size,
            device=limits.device,
            block=limits.block,
        )
        allows_missing("auto", model, predictor, everyone)
        target, weights = (
            target_for(
                y, everyone, predictor, self.behavior, asked=[self.name or "this explanation"]
            ),
            read_weights(sample_weight, everyone),
        )
        chosen = read_rows(rows, weights)
        table = everyone.take(chosen)
        route = Route(predictor, table)
        effect = self.effect(
            route, limits, random_state
        )  # what it costs is decided by the region's rows
        reference = fit_reference(
            effect.readings(), effect.changes(), everyone, weights, random_state
        )
        asked = request(table, [effect], values=limits.grid, cells=route.cells)
        # Ranks, like bins, are those among all rows.
        ranks = Coordinates.of(everyone).restrict(chosen) if asked.coordinates else None
        weights, target = weights[chosen], None if target is None else target[chosen]
        evaluations, extent = evaluate(
            route,
            asked,
            reference,
            resources=limits,
            weights=weights,
            y=target,
            coordinates=ranks,
        )
        extent.require_sizeable()
        with one_blas_thread():
            drawn = signs(np.arange(len(chosen)), random_state)
            part = regional_part(0, self.name or "first", effect, evaluations, chosen, drawn)
        return Explanation(effect.layout.labels, (part,), everyone)


def target_for(
    y: Any,
    table: Table,
    predictor: Predictor,
    *behaviors: Behavior,
    asked: Sequence[str] = (),
) -> FloatArray | None:
    """The target as these behaviors need it; None where none of them does.

    Parameters
    ----------
    asked : sequence of str
        What the user calls the question of each behavior, for the message about a target that is missing.
    """
    of_probability = next((b.needs_probability for b in behaviors if b.needs_probability), None)
    needing = [i for i, behavior in enumerate(behaviors) if behavior.needs_y]
    name = asked[needing[0]] if needing and asked else "a question about risk"
    return read_target(y, table, predictor, bool(needing), of_probability, asked=name)


def regional_part(
    region: int,
    name: str,
    side: ResolvedExplainer,
    known: Evaluations,
    rows: IntArray,
    drawn: FloatArray | None = None,
) -> Part:
    """An effect where all rows are the region; with signs, errors tell of the sample, too."""
    splits = Splits.whole(known.weights, known.primitives)
    game = Game.of(side.behavior, side.masking, known, splits)
    values, local = _effects(game, side, side.combined), side.behavior.per_row
    start = game.values({frozenset(): 1.0})[0, slice(None) if local else slice(1)]
    start = start + (known.offset if side.behavior.is_linear else 0.0)
    errors, sizes = _errors(game, side, values), None
    if drawn is not None:
        sampled, sizes = _sampling_errors(side, known, drawn)
        errors = np.hypot(errors, sampled)
    own, labels = rows if local else None, side.layout.labels
    return Part(region, name, own, values, errors, start, labels, sizes, bool(side.draws))


def _sampling_errors(
    effect: ResolvedExplainer, evaluations: Evaluations, drawn: FloatArray
) -> tuple[FloatArray, FloatArray | None]:
    """How the values of an effect vary with the sample, and (where they are local) their mean sizes."""
    lines = signed_lines(drawn, evaluations.weights)
    splits = Splits.weighted(lines, evaluations.weights, evaluations.primitives)
    shares = lines / lines.sum(axis=1, keepdims=True)
    game, errors, sizes = Game.of(effect.behavior, effect.masking, evaluations, splits), [], []
    for members, terms in zip(effect.layout.sets, effect.combined, strict=True):
        own = evaluations.on_grid(union(members))
        its = game if own is evaluations else Game.of(effect.behavior, effect.masking, own, splits)
        values = its.values(terms)
        if effect.behavior.per_row:
            errors.append(standard_errors(values, smallest_cells({effect.masking: terms}, own)))
            sizes.append(
                standard_errors(np.einsum("kn,kn->k", np.abs(values), shares), evaluations.n_rows)
            )
        else:
            errors.append(standard_errors(values[:, 0], evaluations.n_rows))
    return np.stack(errors, axis=-1), np.array(sizes) if sizes else None


def _effects(game: Game, effect: ResolvedExplainer, terms: Iterable[Terms]) -> FloatArray:
    """One column (or number) for each set."""
    columns = []
    for members, combination in zip(effect.layout.sets, terms, strict=True):
        own = game.evaluations.on_grid(union(members))
        its = (
            game
            if own is game.evaluations
            else Game.of(effect.behavior, effect.masking, own, game.splits)
        )
        value = its.values(combination)[0]
        # Attributions and total variances are differences already.
        counted = game.behavior.is_linear and all(
            isinstance(term, frozenset) for term in combination
        )
        level = game.evaluations.offset * sum(combination.values()) if counted else 0.0
        columns.append(value + level if game.behavior.per_row else value[0])
    return np.stack(columns, axis=-1)


def _errors(game: Game, effect: ResolvedExplainer, values: FloatArray) -> FloatArray:
    """Standard errors over the draws of sampled effects; attributions carry theirs with the evaluations."""
    if not effect.draws:
        return np.zeros_like(values)
    if effect.pairwise:
        return np.stack([game.evaluations.errors[term] for term in effect.attributions], axis=-1)
    draws = np.stack([_effects(game, effect, draw) for draw in effect.draws])
    return np.asarray(draws.std(axis=0, ddof=1) / np.sqrt(len(draws)))
