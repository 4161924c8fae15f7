"""Explainer: a choice on the four axes of the algebra."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from granite_xai.base.diagnostics import Diagnostics
from granite_xai.base.validation import choose
from granite_xai.compute import Resources, one_blas_thread, require_supported
from granite_xai.engine.signed_weights import signs
from granite_xai.evaluations.coordinates import Coordinates
from granite_xai.explanation.behavior import BEHAVIORS, Behavior
from granite_xai.explanation.behavior.target import target_for
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.influence import Individual, Influence, Interactions
from granite_xai.explanation.interaction import INTERACTIONS, Interaction, Partial
from granite_xai.explanation.masking import MASKINGS, Masking
from granite_xai.explanation.masking.fitted import fit_maskings
from granite_xai.explanation.regional_part import regional_part
from granite_xai.explanation.request import request
from granite_xai.explanation.resolved import ResolvedExplainer, resolve
from granite_xai.explanation.result import Explanation
from granite_xai.models import as_predictor
from granite_xai.models.model_table import allows_missing, read_input
from granite_xai.models.row_arguments import read_rows, read_weights
from granite_xai.models.target_columns import note_columns_that_are_y
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
        """This explanation resolved on a table: which values of the game its effects are made of.

        Parameters
        ----------
        route : Route
            The table, and how its rows are evaluated.
        resources : Resources
            With the number of rows that may be sent to the model.
        seed : int
        pairs : int, optional
            Pairs of orders of arrival that sampled effects are drawn from, as in `resolve`.
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
            order_pairs=pairs,
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
        full_table = read_input(X, model, requested=named_features)
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
        record = Diagnostics()
        note_columns_that_are_y(y, full_table, record)
        full_weights = read_weights(sample_weight, full_table)
        region = read_rows(rows, full_weights)
        route = Route(predictor, full_table.take(region))
        effect = self.effect(route, resources, random_state)
        effect = replace(effect, masking=effect.masking.chosen_by_rows())
        # Bins and ranks are those among all rows.
        fitted = fit_maskings(
            effect.readings(),
            effect.changes(),
            full_table,
            full_weights,
            random_state,
            record,
        )
        requested = request(route.table, [effect], values=resources.grid, cells=route.cells)
        coordinates = None
        if requested.coordinates:
            coordinates = Coordinates.of(full_table).restrict(region)
        evaluations, extent = evaluate(
            route,
            requested,
            fitted,
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
