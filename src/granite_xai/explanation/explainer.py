"""Explainer: a choice on the four axes, with its values ``phi`` on the rows of a region."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from granite_xai.base.coalitions import union
from granite_xai.base.typing import Coalition, FloatArray, IntArray, Terms
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
        """This explanation resolved on the table of a route.

        Parameters
        ----------
        route : Route
            The table, and how its rows are evaluated.
        resources : Resources
            With the number of rows that may be sent to the model.
        seed : int
        pairs : int, optional
            As in `resolve`.
        """
        return resolve(
            self.masking,
            self.behavior.resolved(route.predictor.is_probability),
            self.interaction,
            self.influence,
            route.table,
            max_evaluations=resources.max_evaluations,
            random_state=seed,
            by_paths=isinstance(self.interaction, Partial) and route.gives_attributions,
            pairs=pairs,
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
        resources = Resources() if resources is None else resources
        require_supported(resources)
        named_features = getattr(self.influence, "features", None) or ()
        full_table = read_input(X, model, named=named_features)
        predictor = as_predictor(
            model,
            output=output,
            response=response,
            batch_size=resources.batch_size,
            device=resources.device,
            block=resources.block,
        )
        allows_missing("auto", model, predictor, full_table)
        name = self.name or "this explanation"
        full_target = target_for(y, full_table, predictor, self.behavior, labels=[name])
        full_weights = read_weights(sample_weight, full_table)
        region = read_rows(rows, full_weights)
        table = full_table.take(region)
        route = Route(predictor, table)
        effect = self.effect(route, resources, random_state)
        # Bins and ranks are those among all rows.
        reference = fit_reference(
            effect.readings(), effect.changes(), full_table, full_weights, random_state
        )
        requested = request(table, [effect], values=resources.grid, cells=route.cells)
        coordinates = None
        if requested.coordinates:
            coordinates = Coordinates.of(full_table).restrict(region)
        evaluations, extent = evaluate(
            route,
            requested,
            reference,
            resources=resources,
            weights=full_weights[region],
            y=None if full_target is None else full_target[region],
            coordinates=coordinates,
        )
        extent.require_sizeable()
        with one_blas_thread():
            random_signs = signs(np.arange(len(region)), random_state)
            part = regional_part(0, self.name or "first", effect, evaluations, region, random_signs)
        return Explanation(sets=effect.layout.labels, parts=(part,), table=full_table)


def target_for(
    y: Any,
    table: Table,
    predictor: Predictor,
    *behaviors: Behavior,
    labels: Sequence[str] = (),
) -> FloatArray | None:
    """The target as these behaviors need it; None where none of them does.

    Parameters
    ----------
    y, table, predictor
        The user's target, the rows it belongs to, and the model.
    behaviors : Behavior
    labels : sequence of str
        What the user calls the question of each behavior, for the message about a target that is missing.

    Returns
    -------
    array of shape (n,) or None
    """
    probability_losses = [b.needs_probability for b in behaviors if b.needs_probability]
    needing = [place for place, behavior in enumerate(behaviors) if behavior.needs_y]
    name = "a question about risk"
    if needing and labels:
        name = labels[needing[0]]
    return read_target(
        y,
        table,
        predictor,
        bool(needing),
        probability_losses[0] if probability_losses else None,
        asked=name,
    )


def regional_part(
    region: int,
    name: str,
    effect: ResolvedExplainer,
    evaluations: Evaluations,
    rows: IntArray,
    random_signs: FloatArray | None = None,
) -> Part:
    """An effect where all rows are the region.

    Parameters
    ----------
    region, name : int, str
        Number of the region, and name of the explanation.
    effect : ResolvedExplainer
    evaluations : Evaluations
        Of the n rows of the region.
    rows : array of shape (n,)
        Positions of these rows.
    random_signs : array of shape (replicates, n), optional
        With them, errors tell how values vary with the sample, too.
    """
    splits = Splits.whole(evaluations.weights, evaluations.primitives)
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
    """How the values of an effect vary with the sample, and (where they are local) their mean sizes."""
    lines = signed_lines(random_signs, evaluations.weights)  # (replicates, n) weights of the rows
    shares = lines / lines.sum(axis=1, keepdims=True)
    splits = Splits.weighted(lines, evaluations.weights, evaluations.primitives)
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
    return np.stack(errors, axis=-1), np.array(size_errors) if size_errors else None


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
