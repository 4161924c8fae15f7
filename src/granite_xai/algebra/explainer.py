"""Explainer: a choice on the four axes of the algebra."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from granite_xai.algebra.accumulated import Accumulated
from granite_xai.algebra.behavior import BEHAVIORS, Behavior
from granite_xai.algebra.effects import Effect, resolve
from granite_xai.algebra.explanation import Explanation, random_signs, regional_part
from granite_xai.algebra.influence import Individual, Influence, Interactions
from granite_xai.algebra.interaction import INTERACTIONS, Interaction, Partial
from granite_xai.algebra.masking import Baseline, Conditional, Marginal, Masking, learn
from granite_xai.base.errors import DataWarning, Diagnostics, ResourceError, warn
from granite_xai.base.limits import Resources, require_evaluations, require_supported
from granite_xai.base.options import choose, whole_number
from granite_xai.base.parallel import one_blas_thread
from granite_xai.base.typing import Coalition, IntArray
from granite_xai.evaluations.asking import ask
from granite_xai.evaluations.ensembles import Reading
from granite_xai.evaluations.probe import require_sizeable
from granite_xai.evaluations.request import (
    Learned,
    Request,
    request,
    require_few_values,
    require_room,
)
from granite_xai.evaluations.values import stand_ins
from granite_xai.models import Predictor, as_predictor
from granite_xai.models.columns import allows_missing, read_input
from granite_xai.models.targets import note_columns_that_are_y, read_rows, read_target, read_weights
from granite_xai.tables import Rows, Table, fixed_row_order

# Rows of a sample that is drawn because all rows are too many: partial effects cost as their square.
FEWEST_DRAWN = 30
MOST_DRAWN = 1000

MASKINGS: dict[str, Masking] = {
    "marginal": Marginal(),
    "baseline": Baseline(),
    "conditional": Conditional(),
    "accumulated": Accumulated(),
}
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
        choices = {
            "masking": choose("masking", masking, MASKINGS, accept=Masking),
            "behavior": choose("behavior", behavior, BEHAVIORS, accept=Behavior),
            "interaction": choose("interaction", interaction, INTERACTIONS, accept=Interaction),
            "influence": choose("influence", influence, INFLUENCES, accept=Influence),
            "name": name,
        }
        for field_name, value in choices.items():
            object.__setattr__(self, field_name, value)

    def with_influence(self, influence: Influence) -> Explainer:
        """The same explanation of other sets."""
        return replace(self, influence=influence)

    @property
    def is_partial(self) -> bool:
        """Whether effects are divided among features, so that paths of trees may give them."""
        return isinstance(self.interaction, Partial)

    def resolve(
        self,
        table: Table,
        *,
        is_probability: bool = False,
        is_survival: bool = False,
        gives_paths: bool = False,
        max_evaluations: int | None = None,
        seed: int = 0,
        pairs: int | None = None,
        used: Coalition | None = None,
    ) -> Effect:
        """This explanation on the columns of a table: which values of which games its effects are made of.

        Parameters
        ----------
        table : Table
            Rows on which the costs of partial effects are counted.
        is_probability : bool
            Whether the model predicts a probability.
        is_survival : bool
            Whether that is one to survive to some time.
        gives_paths : bool
            Whether the paths of its trees give Shapley values.
        max_evaluations : int, optional
            Recombined rows that may be sent to the model; None: 20 million.
        seed : int
            For orders of arrival.
        pairs : int, optional
            Pairs of orders of arrival that sampled effects are drawn from; 0: effects are exact; None:
            what can be paid for.
        used : coalition, optional
            Columns that the model reads; None: it may read all.
        """
        return resolve(
            self.masking,
            self.behavior.resolved(is_probability, is_survival),
            self.interaction,
            self.influence,
            table,
            max_evaluations=max_evaluations,
            seed=seed,
            by_paths=gives_paths,
            pairs=pairs,
            used=used,
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
        table = read_input(X, model, requested=getattr(self.influence, "features", None) or ())
        predictor = as_predictor(
            model,
            output=output,
            response=response,
            batch_size=resources.batch_size,
            device=resources.device,
            block=resources.block,
        )
        allows_missing("auto", model, predictor, table)
        needs_y = self.behavior.needs_y
        name = self.name or "this explanation"
        target = read_target(y, table, predictor, needs_y, self.behavior.needs_probability, name)
        record = Diagnostics()
        note_columns_that_are_y(y, table, record)
        weights = read_weights(sample_weight, table)
        every_row = Rows.of(table, target, weights, in_fixed_order=False)
        region = np.searchsorted(every_row.positions, read_rows(rows, weights))
        asking = _Asking(self, predictor, resources, random_state)
        region = region[asking.drawn_places(every_row.take(region), max_samples)]
        of_region = every_row.take(region)
        # Bins and ranks are those among all rows that are used: of a region, those among all rows of the table.
        fitting = of_region if rows is None else every_row
        effect = asking.effect(of_region)
        learned = learn(effect.needs.facts, fitting, random_state, record=record)
        if resources.grid is not None:
            reads = dict(zip(effect.sets, effect.reads, strict=True))
            on_grid = stand_ins(of_region.table, resources.grid).keys()
            require_few_values(reads, of_region.table, on_grid)
        requested, reading = asking.request(effect, of_region, learned)
        asked = ask(predictor, of_region, requested, reading, resources=resources)
        require_sizeable(asked.extents)
        with one_blas_thread():
            part = regional_part(
                effect,
                asked.outputs[0],
                of_region.positions,
                name=self.name or "first",
                signs=random_signs(of_region.clusters, random_state),
            )
        return Explanation(
            sets=effect.layout.labels, parts=(part,), table=table, n_explained=len(region)
        )


@dataclass(frozen=True, eq=False)
class _Asking:
    """One explanation of one model within some limits.

    Parameters
    ----------
    explainer : Explainer
    model : Predictor
    resources : Resources
    seed : int
    """

    explainer: Explainer
    model: Predictor
    resources: Resources
    seed: int

    def effect(self, rows: Rows) -> Effect:
        """The explanation of some rows."""
        return self.explainer.resolve(
            rows.table,
            is_probability=self.model.is_probability,
            is_survival=self.model.is_survival,
            gives_paths=self.explainer.is_partial
            and Reading(self.model, rows.table).gives_attributions,
            max_evaluations=self.resources.max_evaluations,
            seed=self.seed,
        )

    def request(
        self, effect: Effect, rows: Rows, learned: Mapping[Any, Learned] | None = None
    ) -> tuple[Request, Reading]:
        """What is asked about some rows, and who answers."""
        reading = Reading(self.model, rows.table)
        requested = request(
            effect.needs,
            rows.table,
            values=self.resources.grid,
            model_cells=reading.model_cells,
            learned=learned,
        )
        return requested, reading

    def drawn_places(self, rows: Rows, max_samples: int | str | None) -> IntArray:
        """Places of the rows of a region that are used.

        Where all rows are too many for partial effects, a warning says how many are used: all of them where
        not even a few are paid for, which is refused later, with the remedies.
        """
        every_place = np.arange(len(rows))
        n_drawn: int | None = None  # as many as are paid for
        if isinstance(max_samples, str):
            choose("max_samples", max_samples, {"auto": "auto"})
            if not self.explainer.is_partial or self._is_paid_for(rows):
                return every_place
        else:
            n_drawn = len(rows)
            if max_samples is not None:
                n_drawn = whole_number("max_samples", max_samples, at_least=1)
            if n_drawn >= len(rows):
                return every_place
        # An order that depends only on what the rows hold; each is a cluster of its own.
        order = fixed_row_order(rows.table, rows.y, rows.weights, every_place)
        order = order[np.random.default_rng(self.seed).permutation(len(rows))]
        if n_drawn is None:
            sizes = range(FEWEST_DRAWN, min(MOST_DRAWN, len(rows)) + 1)
            n_affordable = bisect_left(
                sizes, True, key=lambda n_first: not self._is_paid_for(rows.take(order[:n_first]))
            )
            if n_affordable == 0:
                return every_place
            n_drawn = sizes[n_affordable - 1]
            remedy = "a larger Resources(max_evaluations=) pays for more"
            if n_drawn == MOST_DRAWN:
                remedy = "max_samples= takes more"
            warn(
                f"M13: {n_drawn:,} of {len(rows):,} rows were used, drawn at random. More rows give smaller standard "
                f"errors; {remedy}.",
                DataWarning,
            )
        return np.sort(order[:n_drawn])

    def _is_paid_for(self, rows: Rows) -> bool:
        """Whether the limits allow what the explanation of some rows takes."""
        try:
            requested, reading = self.request(self.effect(rows), rows)
            is_read = bool(reading.answering(requested).parts)
            require_room(requested, rows.table, self.resources, n_outputs=1)
            require_evaluations(self.resources, requested.n_model_rows(is_read=is_read))
        except ResourceError:
            return False
        return True
