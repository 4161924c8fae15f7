"""The route of a table's evaluations: by the model itself, or by its trees."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from granite_xai.base.diagnostics import Diagnostics, warn
from granite_xai.base.errors import GraniteError, ModelWarning
from granite_xai.base.typing import Coalition, FloatArray, IntArray
from granite_xai.compute.compiled import available
from granite_xai.compute.primitives import ArrayNamespace
from granite_xai.evaluations.device_model import DeviceModel, find_device_model
from granite_xai.evaluations.distinct_values import DistinctValues
from granite_xai.evaluations.model_matrix import evaluate_matrix
from granite_xai.evaluations.request import MatrixRequest
from granite_xai.models import Predictor
from granite_xai.tables import Table
from granite_xai.tables.table import distinct_rows
from granite_xai.trees.additive import TermsOnTable
from granite_xai.trees.audit import Audit, ReadModel, audit
from granite_xai.trees.ensembles import TreesOnTable, read_ensemble
from granite_xai.trees.refusal import RefusalError

PartsOnTable = TreesOnTable | TermsOnTable  # the parts of a model, on the rows of a table
# Leaves times rows times matrices from which the compiled walk is worth loading (0.1 s).
WORTH_COMPILING = 2 * 10**7
# A matrix by the trees costs about 2.5 ns a leaf and row, a value by the model's own predict about 5 ns a step and
# row (a step: one level of one tree). Both were measured on boosted trees and forests of 8 to 280 leaves a tree.
LEAVES_PER_STEP = 2.0
# The compiled walk visits few leaves of a deep tree: a matrix costs at most as much as so many values by the model
# (measured: 0.2 to 2.6 from 8 to 10,000 leaves a tree).
VALUES_PER_WALK = 3
MOST_PAIRS = 2 * 10**10  # leaves times pairs of rows for attributions, at most
LONGEST_REASON = 200  # characters of what an error says


class Refusal(NamedTuple):
    """Why a model is not read; an error that is kept would keep every array of its callers."""

    reason: str
    code: str | None


class Decision(NamedTuple):
    """Whether a table is evaluated by trees or by the model."""

    trees: PartsOnTable | None  # None: by the model
    reason: str | None  # why it is not the trees
    audit: Audit


# What was read of the models that are in use.
_ENSEMBLES: WeakKeyDictionary[Predictor, ReadModel | Refusal] = WeakKeyDictionary()


class Route:
    """How a table is evaluated: by the model's trees where they answer as it does, otherwise by itself.

    Parameters
    ----------
    predictor : Predictor
    table : Table
    record : Diagnostics, optional
        Remembers the warnings that the trees are not used (M23 to M30).
    seed : int
        Draws the rows of the audit.
    decision : Decision, optional
        Where it is made already; None: it is made when it is first asked for.
    """

    def __init__(
        self,
        predictor: Predictor,
        table: Table,
        record: Diagnostics | None = None,
        seed: int = 0,
        decision: Decision | None = None,
    ) -> None:
        self.predictor = predictor
        self.table = table
        self._record = record
        self._seed = seed
        self._made_decision = decision
        self._device_model: DeviceModel | None = None
        self._looked_for_device_model = False

    @cached_property
    def others(self) -> tuple[Route, ...]:
        """The routes of further outputs."""
        return tuple(
            Route(predictor, self.table, self._record, self._seed)
            for predictor in self.predictor.further_outputs
        )

    @cached_property
    def _decision(self) -> Decision:
        """Made when it is first asked for: the trees are read, and compared with the model."""
        if self._made_decision is not None:
            return self._made_decision
        # The trees answer for all outputs, or the model does, which answers for all at once.
        for output in self.others:
            if output.reason is not None:
                return Decision(trees=None, reason=output.reason, audit=Audit())
        try:
            ensemble = _ensemble(self.predictor)
            audited = audit(self.predictor, self.table, ensemble, self._seed)
            trees = ensemble.on(self.table)
        except RefusalError as refusal:
            return self._by_model_because(refusal.reason, refusal.code, Audit())
        except GraniteError:  # the model itself failed on the rows of the audit
            raise
        except Exception as error:  # whatever a library does in another way than we know
            what = f"{type(error).__name__}: {str(error)[:LONGEST_REASON]}"
            return self._by_model_because(f"its trees cannot be read here ({what})", "M30", Audit())
        if audited.difference <= audited.tolerance:
            return Decision(trees=trees, reason=None, audit=audited)
        reason = (
            f"the trees differ from the model's answers by up to {audited.difference:.3g} on "
            f"{audited.rows} recombined rows"
        )
        rounding = f" (rounding: {audited.tolerance:.1g})"
        return self._by_model_because(reason, "M23", audited, rounding)

    def _by_model_because(
        self, reason: str, code: str | None, audited: Audit, aside: str = ""
    ) -> Decision:
        """The decision for the model, with a warning where users may expect that we read it."""
        if code == "M30":  # a model that is not fitted, or fails, says so itself
            self.predictor.on_rows(self.table.take(np.arange(1)))
        if code is not None:
            give_warning = warn if self._record is None else self._record.warn
            text = f"{code}: {reason}{aside}: every evaluation is a call of the model."
            give_warning(text, ModelWarning)
        return Decision(trees=None, reason=reason, audit=audited)

    @property
    def trees(self) -> PartsOnTable | None:
        """The trees on this table; None: by the model."""
        return self._decision.trees

    @property
    def reason(self) -> str | None:
        """Why it is not the trees."""
        return self._decision.reason

    @property
    def cells(self) -> IntArray | None:
        """Where the trees answer, the cell of each row in each column, (n, d).

        They tell no values of one cell apart.
        """
        of_outputs = [
            route.trees.cell_numbers
            for route in (self, *self.others)
            if isinstance(route.trees, TreesOnTable)
        ]
        if not of_outputs:
            return None
        if len(of_outputs) == 1:
            return of_outputs[0]
        numbers = []
        for column in range(self.table.n_columns):
            by_output = [cells[:, column] for cells in of_outputs]
            numbers.append(distinct_rows(self.table.n_rows, by_output)[0])
        return np.stack(numbers, axis=1)

    @property
    def gives_attributions(self) -> bool:
        """Whether pairwise attributions come from the trees, whatever the number of columns."""
        if self.trees is None or not self.trees.ensemble.is_sum:
            return False
        return self.table.n_rows**2 * self.trees.ensemble.n_leaves <= MOST_PAIRS

    def for_requests(self, *requests: MatrixRequest) -> Route:
        """The same route, unless the model's own ``predict`` is cheaper for these matrices.

        Parameters
        ----------
        *requests : MatrixRequest
            The matrices that will be evaluated.
        """
        if not isinstance(self.trees, TreesOnTable):
            return self
        ensemble = self.trees.ensemble
        n_matrices = 0
        n_values = 0
        for request in requests:
            n_matrices += len(request.stores)
            n_values += sum(len(distinct) for distinct in request.stores.values())
        steps = sum(forest.n_steps for forest in ensemble.forests)
        n_outputs = 1 + len(self.others)  # each has trees of its own, the model answers for all
        # In visits of a leaf by a row, for all rows.
        cost_of_value = steps * LEAVES_PER_STEP
        cost_of_matrix = float(ensemble.n_leaves)
        if available():
            cost_of_matrix = min(cost_of_matrix, VALUES_PER_WALK * cost_of_value)
        if n_outputs * n_matrices * cost_of_matrix <= n_values * cost_of_value:
            return self
        return self.by_model("the model's own predict is cheaper", self._decision.audit.rows)

    def by_model(self, reason: str | None, audited: int = 0) -> Route:
        """The same table, where every evaluation is a call of the model.

        Parameters
        ----------
        reason : str or None
            Why it is not the trees.
        audited : int
            Rows on which trees and model were compared.
        """
        decision = Decision(trees=None, reason=reason, audit=Audit(rows=audited))
        return Route(self.predictor, self.table, decision=decision)

    def is_worth_compiling(self, n_matrices: int) -> bool:
        """Whether so many matrices are worth the compiled walk; by counts alone, so that repeats are equal."""
        if not isinstance(self.trees, TreesOnTable) or not available():
            return False
        return n_matrices * self.table.n_rows * self.trees.ensemble.n_leaves >= WORTH_COMPILING

    def path(self, n_matrices: int) -> str:
        """How so many matrices are evaluated, in the words of ``diagnostics_``."""
        if isinstance(self.trees, TermsOnTable):
            return "additive terms"
        if isinstance(self.trees, TreesOnTable):
            return "trees (numba)" if self.is_worth_compiling(n_matrices) else "trees (numpy)"
        return "model" if self._device_model is None else "model (device)"

    def note(self, n_matrices: int) -> dict[str, Any]:
        """What ``diagnostics_`` says about the evaluations of so many matrices."""
        return {
            "path": self.path(n_matrices),
            "reason": self.reason,
            "audited_rows": self._decision.audit.rows,
            "largest_difference": self._decision.audit.difference,
        }

    def device_model(self, primitives: ArrayNamespace | None) -> DeviceModel | None:
        """The model on a device; looked for once."""
        if primitives is not None and not self._looked_for_device_model:
            self._device_model = find_device_model(self.predictor, self.table, primitives)
            self._looked_for_device_model = True
        return self._device_model

    def predictions(self, fast: bool, block: int) -> FloatArray:
        """F of the table's rows; the model is asked as well, as a further check of its answers."""
        answers = self.predictor.on_rows(self.table)
        if self.trees is None:
            return answers
        return self.trees.predictions(fast=fast, block=block)

    def matrix(
        self,
        columns: Coalition,
        distinct: DistinctValues,
        block: int,
        *,
        fast: bool,
        n_jobs: int | None = None,
    ) -> FloatArray:
        """``E_S[u, n] = F(value u on S, row n elsewhere)``, (U, n).

        Parameters
        ----------
        columns : coalition
            S.
        distinct : DistinctValues
            The U values.
        block : int
            Bytes of what is made on the way.
        fast, n_jobs
            How trees are walked.
        """
        if self.trees is None:
            return evaluate_matrix(self.predictor, self.table, columns, distinct, block)
        return self.trees.matrix_of(
            columns, distinct.representatives, fast=fast, n_jobs=n_jobs, block=block
        )


def _ensemble(predictor: Predictor) -> ReadModel:
    """The ensemble behind a predictor, read once; a refusal is remembered as well."""
    remembered = _ENSEMBLES.get(predictor)
    if remembered is None:
        try:
            remembered = read_ensemble(predictor)
        except RefusalError as refusal:
            remembered = Refusal(reason=refusal.reason, code=refusal.code)
        _ENSEMBLES[predictor] = remembered
    if isinstance(remembered, Refusal):
        raise RefusalError(remembered.reason, remembered.code)
    return remembered


class Routed:
    """What has a route: its rows and its model."""

    __slots__ = ()
    route: Route

    @property
    def table(self) -> Table:
        """The rows, explained and reference alike."""
        return self.route.table

    @property
    def predictor(self) -> Predictor:
        """The model."""
        return self.route.predictor
