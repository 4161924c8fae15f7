"""Explainer: a choice on the four axes of the algebra."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from granite_xai.base.errors import DataWarning, Diagnostics, ResourceError, warn
from granite_xai.base.options import choose, whole_number
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.compute import Resources, one_blas_thread, require_evaluations, require_supported
from granite_xai.engine.signed_weights import signs
from granite_xai.explanation.behavior import BEHAVIORS, Behavior
from granite_xai.explanation.behavior.target import target_for
from granite_xai.explanation.evaluating import evaluate
from granite_xai.explanation.influence import Individual, Influence, Interactions
from granite_xai.explanation.interaction import INTERACTIONS, Interaction, Partial
from granite_xai.explanation.masking import MASKINGS, Masking
from granite_xai.explanation.masking.fitted import fit_maskings
from granite_xai.explanation.memory import require_room_for
from granite_xai.explanation.regional_part import regional_part
from granite_xai.explanation.request import request
from granite_xai.explanation.resolved import ResolvedExplainer, resolve
from granite_xai.explanation.result import Explanation
from granite_xai.models import as_predictor
from granite_xai.models.columns import allows_missing, read_input
from granite_xai.models.targets import note_columns_that_are_y, read_rows, read_weights
from granite_xai.tables import fixed_row_order
from granite_xai.trees.ensembles import Route

# Rows of a sample that is drawn because all rows are too many: partial effects cost as their square.
FEWEST_DRAWN = 30
MOST_DRAWN = 1000

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
        max_samples: int | str | None = "auto",
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
        max_samples : "auto", int or None
            Of these rows use so many, drawn with ``random_state``. "auto": all; where that is too much for partial
            effects, as many as ``Resources(max_evaluations=)``, 20 million model rows, pays for, at most 1,000, with a
            warning that says how many. None: all.

        Returns
        -------
        Explanation
        """
        resources = Resources() if resources is None else resources
        require_supported(resources)
        named_features = getattr(self.influence, "features", None) or ()
        table = read_input(X, model, requested=named_features)
        predictor = as_predictor(
            model,
            output=output,
            response=response,
            batch_size=resources.batch_size,
            device=resources.device,
            block=resources.block,
        )
        allows_missing("auto", model, predictor, table)
        name = self.name or "this explanation"
        target = target_for(y, table, predictor, self.behavior, labels=[name])
        record = Diagnostics()
        note_columns_that_are_y(y, table, record)
        weights = read_weights(sample_weight, table)
        region = read_rows(rows, weights)
        route = Route(predictor, table.take(region))
        target_of_region = None if target is None else target[region]
        drawn = self._drawn_rows(
            max_samples, route, target_of_region, weights[region], resources, random_state
        )
        if len(drawn) < len(region):
            region = region[drawn]
            route = Route(predictor, table.take(region))
        # Bins are those among all rows that are used: of a region, those among all rows of the table.
        full_table = table
        full_weights = weights
        if rows is None:
            full_table = route.table
            full_weights = weights[region]
        effect = self.effect(route, resources, random_state)
        effect = replace(effect, masking=effect.masking.chosen_by_rows())
        fitted = fit_maskings(
            effect.readings(),
            effect.changes(),
            full_table,
            full_weights,
            random_state,
            record,
        )
        requested = request(route.table, [effect], values=resources.grid, cells=route.cells)
        evaluations, extent = evaluate(
            route,
            requested,
            fitted,
            resources=resources,
            weights=weights[region],
            y=None if target is None else target[region],
        )
        extent.require_sizeable()
        with one_blas_thread():
            random_signs = signs(np.arange(len(region)), random_state)
            part = regional_part(0, self.name or "first", effect, evaluations, region, random_signs)
        return Explanation(
            sets=effect.layout.labels, parts=(part,), table=table, n_explained=len(region)
        )

    def _drawn_rows(
        self,
        max_samples: int | str | None,
        route: Route,
        target: FloatArray | None,
        weights: FloatArray,
        resources: Resources,
        seed: int,
    ) -> IntArray:
        """Which rows of a region are used, by their places in it.

        Parameters
        ----------
        max_samples, resources, seed
            As in `explain`.
        route : Route
            The model, and the rows of the region.
        target, weights : arrays of shape (n_rows,)
            Of these rows.
        """
        n_rows = route.table.n_rows
        all_rows = np.arange(n_rows)
        n_drawn = None  # as many as are paid for
        if isinstance(max_samples, str):
            choose("max_samples", max_samples, {"auto": "auto"})
            is_cheap = not isinstance(self.interaction, Partial)
            if is_cheap or self._is_paid_for(route, resources, seed):
                return all_rows
        elif max_samples is None:
            return all_rows
        else:
            n_drawn = whole_number("max_samples", max_samples, at_least=1)
            if n_drawn >= n_rows:
                return all_rows
        # An order that depends only on what the rows hold; each is a cluster of its own.
        order = fixed_row_order(route.table, target, weights, all_rows)
        order = order[np.random.default_rng(seed).permutation(n_rows)]
        if n_drawn is None:
            n_drawn = self._n_affordable(route, order, resources, seed)
        return np.sort(order[:n_drawn])

    def _n_affordable(self, route: Route, order: IntArray, resources: Resources, seed: int) -> int:
        """How many of the first rows in an order are used where all are too many, with a warning that says so.

        All of them where not even a few are paid for: that is refused, with the remedies.
        """

        def is_too_much(n_first: int) -> bool:
            some = Route(route.predictor, route.table.take(order[:n_first]))
            return not self._is_paid_for(some, resources, seed)

        sizes = range(FEWEST_DRAWN, min(MOST_DRAWN, len(order)) + 1)
        n_affordable = bisect_left(sizes, True, key=is_too_much)
        if n_affordable == 0:
            return len(order)
        n_drawn = sizes[n_affordable - 1]
        remedy = "a larger Resources(max_evaluations=) pays for more"
        if n_drawn == MOST_DRAWN:
            remedy = "max_samples= takes more"
        warn(
            f"M13: {n_drawn:,} of {len(order):,} rows were used, drawn at random. More rows give smaller standard "
            f"errors; {remedy}.",
            DataWarning,
        )
        return n_drawn

    def _is_paid_for(self, route: Route, resources: Resources, seed: int) -> bool:
        """Whether the limits allow what this explanation of some rows takes."""
        try:
            effect = self.effect(route, resources, seed)
            requested = request(route.table, [effect], values=resources.grid, cells=route.cells)
            require_room_for(requested, route, resources)
            by_model = requested.cheaper_route(route).trees is None
            require_evaluations(resources, requested.n_model_rows(route.table, recombined=by_model))
        except ResourceError:
            return False
        return True
