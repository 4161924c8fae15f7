"""The questions of a saved fit, resolved again as they were."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from granite_xai.base.errors import FormatError, GraniteError
from granite_xai.base.files import broken, require
from granite_xai.compute import Resources
from granite_xai.disagreement.disagreement import Disagreement, ResolvedQuestion
from granite_xai.disagreement.objective import Objective
from granite_xai.estimator import Granite
from granite_xai.explanation.explainer import Explainer
from granite_xai.explanation.interaction import Partial
from granite_xai.explanation.masking.fitted import FittedMaskings
from granite_xai.explanation.resolved import MAX_PAIRS
from granite_xai.fitting.options import chosen_influence
from granite_xai.models import Predictor
from granite_xai.tables import Table

MAX_TERMS = 2**24
"""Terms that questions may have together: resolving them costs about a microsecond each."""

MAX_EXPONENT = 64  # of numbers of coalitions: far more than `MAX_TERMS`, and quickly computed

_REFUSALS = (GraniteError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a fit decided about a question on its way.

    Attributes
    ----------
    by_paths : bool
        Whether its attributions come from paths of trees.
    pairs : (int, int)
        Pairs of orders that were drawn for each side; 0: exact.
    """

    by_paths: bool
    pairs: tuple[int, int]

    def __post_init__(self) -> None:
        if not all(count == 0 or 1 < count <= MAX_PAIRS for count in self.pairs):
            raise ValueError(f"{self.pairs} are no numbers of pairs")

    @classmethod
    def of(cls, question: ResolvedQuestion) -> Resolution:
        """That of a question of a fit."""
        first = question.first
        second = question.second
        return cls(
            by_paths=first.by_paths or second.by_paths,
            pairs=(len(first.draws), len(second.draws)),
        )


class _SavedRoute(NamedTuple):
    """Stands for the route of the fit (`trees.ensembles`): all that is read of it when a question is resolved."""

    table: Table
    predictor: Predictor
    gives_attributions: bool  # as was decided when the file was written


def resolve_again(
    granite: Granite,
    resolutions: Sequence[Resolution],
    seed: int,
    predictor: Predictor,
    table: Table,
    place: str,
) -> tuple[ResolvedQuestion, ...]:
    """Resolve the questions of a loaded Granite as they were.

    Parameters
    ----------
    granite : Granite
        With the parameters of the file.
    resolutions : sequence of Resolution
        One a question.
    seed : int
        Of the fit.
    predictor : Predictor
        The model, or what stands for it.
    table : Table
        That of the file.
    place : str
        Where the fit stands in the file.

    Raises
    ------
    FormatError
        F04: they cannot be resolved; F05: an absurd number of terms.
    """
    try:
        questions = _questions_of(granite)
        fits_questions = len(questions) == len(resolutions) and 0 <= seed < 2**32
        what = f"has {len(resolutions)} entries for {len(questions)} questions"
        require(fits_questions, f"{place}.questions", what)
        _require_few_terms(questions, resolutions, table, place)
        limits = Resources() if granite.resources is None else granite.resources
        resolved = []
        for question, resolution in zip(questions, resolutions, strict=True):
            route: Any = _SavedRoute(
                table=table, predictor=predictor, gives_attributions=resolution.by_paths
            )
            resolved.append(question.compare(route, limits, seed, resolution.pairs))
        return tuple(resolved)
    except FormatError:
        raise
    except _REFUSALS as error:
        what = f"cannot be resolved: {str(error)[:200]}"
        raise broken(f"{place}.parameters.question", what) from error


def _questions_of(granite: Granite) -> list[Disagreement]:
    influence = chosen_influence(granite.influence, granite.groups, granite.features)
    objective = granite.question
    if not isinstance(objective, Objective):
        objective = Objective(objective)
    return [question for question, _ in objective.weighted(influence)]


def _require_few_terms(
    questions: Sequence[Disagreement], resolutions: Sequence[Resolution], table: Table, place: str
) -> None:
    """Refuse an absurd number of terms, which a file can name in a few bytes (F05)."""
    n_terms = 0
    for question, resolution in zip(questions, resolutions, strict=True):
        sides = (question.first, question.second)
        for side, pairs in zip(sides, resolution.pairs, strict=True):
            n_terms += _n_sets(side, table)
            if n_terms <= MAX_TERMS and not resolution.by_paths:
                n_terms += _n_shapley_terms(side, pairs, table)
    if n_terms > MAX_TERMS:
        message = f"{place}.questions have more than {MAX_TERMS:,} terms."
        raise FormatError(message, code="F05", argument="data")


def _order_of(side: Explainer, table: Table) -> int:
    """Columns of a set: 1, or the order of interactions."""
    return min(getattr(side.influence, "order", 1), table.n_columns)


def _n_sets(side: Explainer, table: Table) -> int:
    """How many sets an influence may name, at most."""
    return math.comb(table.n_columns, _order_of(side, table))


def _n_shapley_terms(side: Explainer, pairs: int, table: Table) -> int:
    """Terms of attributions, which are summed over coalitions: those drawn, or all of them."""
    if not isinstance(side.interaction, Partial):
        return 0
    layout = side.influence.layout(table)
    if pairs:
        n_coalitions = 2 * pairs
    else:
        n_coalitions = 2 ** min(len(layout.players), MAX_EXPONENT)
    return int(len(layout.sets) * 2 ** _order_of(side, table) * n_coalitions)


def as_learned(question: ResolvedQuestion, reference: FittedMaskings) -> ResolvedQuestion:
    """The question with the masking of the file.

    That is what the rows chose, or bins in the paper's algorithm.

    Parameters
    ----------
    question : ResolvedQuestion
        With the masking of the paper's algorithm.
    reference : FittedMaskings
        What the maskings of the file learned.
    """
    learned = {masking for masking, _ in reference.bins} | reference.copulas.keys()
    chosen = question.chosen_by_rows()
    if {chosen.first.masking, chosen.second.masking} & learned:
        return chosen
    return question
