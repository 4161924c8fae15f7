"""Which way the evaluations of a table take: the model itself, or its trees."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from granite_xai.base.diagnostics import warn
from granite_xai.base.errors import ModelWarning
from granite_xai.base.typing import Coalition, FloatArray
from granite_xai.compute import Workspace
from granite_xai.compute.compiling import available
from granite_xai.evaluations.agnostic import evaluate_matrix
from granite_xai.trees.audit import audit
from granite_xai.trees.ensembles import Ensemble, TreesOnTable, read_ensemble
from granite_xai.trees.refusal import RefusalError

if TYPE_CHECKING:
    from collections.abc import Callable

    from granite_xai.base.diagnostics import Diagnostics
    from granite_xai.evaluations.plan import Plan
    from granite_xai.evaluations.values import Distinct
    from granite_xai.models import Predictor
    from granite_xai.tables import Table

WORTH_COMPILING = 2 * 10**7
"""Leaves times rows times matrices from which the compiled walk is worth loading (about 0.1 s of products)."""
MOST_PAIRS = {True: 10**12, False: 2 * 10**10}
"""Leaves times pairs of rows up to which attributions are computed, with and without the compiled walk."""
_ENSEMBLES: WeakKeyDictionary[Predictor, Ensemble | tuple[str, str | None]] = WeakKeyDictionary()
"""What was read of each model that is still in use, so that further tables do not read it again."""


class _Way(NamedTuple):
    """The trees, or why it is not they; on how many rows they were compared with the model, and the difference."""

    trees: TreesOnTable | None
    reason: str | None = None
    audited: int = 0
    difference: float = 0.0


class Route:
    """How a table is evaluated: by the model's trees where they answer as it does, otherwise by the model itself.

    Which of the two is found when it is first asked for, after all that the data alone decide, and once.

    Parameters
    ----------
    predictor : Predictor
    table : Table
    diagnostics : Diagnostics, optional
        Remembers the warnings.

    Warns
    -----
    ModelWarning
        M23 trees that do not answer as the model does, M24 to M30 an ensemble that is not recognised.
    """

    def __init__(self, predictor: Predictor, table: Table, diagnostics: Diagnostics | None = None) -> None:
        self.predictor = predictor
        self.table = table
        self._tell = warn if diagnostics is None else diagnostics.warn

    @cached_property
    def _way(self) -> _Way:
        return _find(self.predictor, self.table, self._tell)

    @property
    def trees(self) -> TreesOnTable | None:
        """The trees on this table; None: by the model."""
        return self._way.trees

    @property
    def reason(self) -> str | None:
        """Why it is not the trees."""
        return self._way.reason

    @property
    def attributes(self) -> bool:
        """Whether pairwise attributions come from the trees, whatever the number of columns."""
        if self.trees is None or not self.trees.ensemble.is_sum:
            return False
        return self.table.n_rows**2 * self.trees.ensemble.n_leaves <= MOST_PAIRS[available()]

    def for_plans(self, *plans: Plan) -> Route:
        """The same route, unless the model's own ``predict`` is cheaper for these plans."""
        if self.trees is None or available():
            return self
        ensemble, count = self.trees.ensemble, sum(len(plan.stores) for plan in plans)
        values = sum(len(distinct) for plan in plans for distinct in plan.stores.values())
        steps = sum(forest.n_trees * len(forest.levels) for forest in ensemble.forests)
        if ensemble.n_leaves * count <= values * steps:
            return self
        cheaper = Route(self.predictor, self.table)
        cheaper.__dict__["_way"] = _Way(None, "the model's own predict is cheaper", self._way.audited)
        return cheaper

    def fast(self, count: int) -> bool:
        """Whether so many matrices are worth the compiled walk; by counts alone, so that repeats are equal."""
        if self.trees is None or not available():
            return False
        return count * self.table.n_rows * self.trees.ensemble.n_leaves >= WORTH_COMPILING

    def name(self, count: int) -> str:
        """The words for ``diagnostics_``."""
        if self.trees is None:
            return "model"
        return "trees (numba)" if self.fast(count) else "trees (numpy)"

    def note(self, count: int) -> dict[str, Any]:
        """What ``diagnostics_`` says about the evaluations."""
        return {
            "path": self.name(count),
            "reason": self.reason,
            "audited_rows": self._way.audited,
            "largest_difference": self._way.difference,
        }

    def predictions(self, fast: bool, space: Workspace) -> FloatArray:
        """F of the table's rows; the model is asked as well, as a further check of its answers."""
        answers = self.predictor.on_rows(self.table)
        return answers if self.trees is None else self.trees.predictions(fast=fast, space=space)

    def matrix(
        self, columns: Coalition, distinct: Distinct, *, fast: bool, space: Workspace, n_jobs: int | None = None
    ) -> FloatArray:
        """``E_S[u, n] = F(value u on S, row n elsewhere)``, shape (U, n)."""
        if self.trees is None:
            return evaluate_matrix(self.predictor, self.table, columns, distinct, space)
        return self.trees.matrix_of(columns, distinct.representatives, fast=fast, n_jobs=n_jobs, space=space)


def _find(predictor: Predictor, table: Table, tell: Callable[[str, type[Warning]], None]) -> _Way:
    try:
        ensemble = _ensemble(predictor)
        found = audit(predictor, table, ensemble)
        trees = ensemble.on(table)
    except RefusalError as refusal:
        if refusal.code is not None:
            tell(f"{refusal.code}: {refusal.reason}: every evaluation is a call of the model.", ModelWarning)
        return _Way(None, refusal.reason)
    except (AttributeError, ImportError) as error:  # a library's own view of its input has moved
        reason = f"this version of the model's library is not known here ({error})"
        tell(f"M30: {reason}: every evaluation is a call of the model.", ModelWarning)
        return _Way(None, reason)
    if found.passed:
        return _Way(trees, None, found.rows, found.difference)
    reason = (
        f"the trees differ from the model's answers by up to {found.difference:.3g} on {found.rows} recombined rows"
    )
    tell(f"M23: {reason} (rounding: {found.tolerance:.1g}): every evaluation is a call of the model.", ModelWarning)
    return _Way(None, reason, found.rows, found.difference)


def _ensemble(predictor: Predictor) -> Ensemble:
    """The ensemble behind a predictor, read once; a refusal is remembered as well."""
    known = _ENSEMBLES.get(predictor)
    if known is None:
        try:
            known = read_ensemble(predictor)
        except RefusalError as refusal:
            known = (refusal.reason, refusal.code)  # an error that is kept keeps every array of its callers
        _ENSEMBLES[predictor] = known
    if isinstance(known, tuple):
        raise RefusalError(*known)
    return known
