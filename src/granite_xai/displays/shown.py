"""What panels show: explanations, and all rows beside each region, under their titles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from granite_xai.algebra.disagreement import ResolvedQuestion
from granite_xai.algebra.explainer import Explainer
from granite_xai.base.errors import InputError
from granite_xai.base.numbers import rows_of
from granite_xai.base.text import distinct_labels, drawable
from granite_xai.regions import Partition, Rule, rule_words
from granite_xai.results.values import EFFECTS, Scope, Values, sides_shown
from granite_xai.tables import Table

TITLE_NAME = 24  # letters of the name of a feature in a title


def local_sides(question: ResolvedQuestion, wanted: Any) -> tuple[Explainer, ...]:
    """Explanations that are effects of single features on single predictions.

    Parameters
    ----------
    question : ResolvedQuestion
    wanted : name, Explainer, sequence of these, or None
        None: the sides of the question where they are such effects, otherwise ICE and PDP.

    Raises
    ------
    InputError
        P03: one that was asked for is something else.
    """

    def is_shown(side: Explainer) -> bool:
        return side.influence.key == "individual" and _is_local_effect(side)

    sides = sides_shown((question.question.first, question.question.second), wanted, is_shown)
    for side in sides:
        if not _is_local_effect(side):
            name = side.name or "an explanation"
            raise InputError(
                f"{name!r} is no effect of single features on single predictions.",
                code="P03",
                argument="explanations",
                hint="Choose local ones such as 'ice', 'pdp', 'mplot', 'ale' or 'shap'.",
            )
    return sides


def _is_local_effect(side: Explainer) -> bool:
    return side.behavior.key == "local" and side.interaction.key in EFFECTS


def shown_scopes(values: Values) -> tuple[Scope, ...]:
    """All rows, then each region that has some, under a name that is short enough for a title."""
    partition, table = values.fitted.partition, values.table
    return tuple(titled(scope, partition, table) for scope in values.scopes)


def titled(scope: Scope, partition: Partition, table: Table) -> Scope:
    """A scope with the name of its region or, if it has none, its rule in words that are cut where they are alike."""
    if scope.region is None:
        return scope
    region = partition[scope.region]
    return replace(scope, label=region.name or short_words(region.rule, partition, table))


def short_words(
    rule: Rule, partition: Partition, table: Table | None, width: int = TITLE_NAME
) -> str:
    """A rule in words in which the names of features are cut where they are alike.

    Parameters
    ----------
    rule : Rule
    partition : Partition
        Which knows the values of the features.
    table : Table, optional
        Whose names are told apart.
    width : int
        Letters of a name.
    """
    names = [name for name, _ in rule.conditions] if table is None else list(table.names)
    short = dict(zip(names, distinct_labels(names, width), strict=True))
    conditions = tuple((short.get(name, name), condition) for name, condition in rule.conditions)
    vocabulary = {short.get(name, name): words for name, words in partition.vocabulary.items()}
    return rule_words(Rule(conditions), vocabulary)


def title_of(scope: Scope) -> str:
    """All rows, or the number, rows and rule of a region; a frame has all of the rule."""
    rows = rows_of(len(scope.rows))
    if scope.region is None:
        return f"All rows · {rows}"
    return f"Region {scope.region} · {rows}\n{drawable(scope.label or scope.rule)}"
