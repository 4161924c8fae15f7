"""Questions as they were resolved at fit: players, sets, and the terms of every set's effect."""

from __future__ import annotations

import re
from typing import Any

from granite_xai.base.files import broken, entry, members, texts
from granite_xai.base.typing import AleDifference, Coalition, JansenTotal, Term, Terms
from granite_xai.behavior import Local, Risk, Sensitivity
from granite_xai.disagreement import Disagreement, ResolvedQuestion
from granite_xai.effects import ResolvedExplainer
from granite_xai.influence import PlayersAndSets
from granite_xai.masking import Accumulated, Baseline, Conditional, Marginal
from granite_xai.persistence.values import value_from_json, value_to_json

MASKINGS = (Marginal, Conditional, Baseline, Accumulated)
_BEHAVIORS = (Local, Sensitivity, Risk)
_CHANGES = {"own": False, "mean": True}


def mask_to_text(columns: Coalition) -> str:
    """Write a coalition as the hexadecimal number whose bit i stands for column i.

    Examples
    --------
    >>> mask_to_text(frozenset({0, 4}))
    '11'
    """
    return format(sum(1 << i for i in columns), "x")


def mask_from_text(text: object, n_columns: int, place: str) -> Coalition:
    """Read what `mask_to_text` wrote.

    Examples
    --------
    >>> sorted(mask_from_text("11", 5, "players"))
    [0, 4]
    """
    if not isinstance(text, str) or re.fullmatch(rf"[0-9a-f]{{1,{n_columns // 4 + 1}}}", text) is None:
        raise broken(place, f"has {str(text)[:60]!r}, which is no set of columns")
    bits = int(text, 16)
    if bits >> n_columns:
        raise broken(place, f"has the set {text}, which names more than {n_columns} columns")
    return frozenset(i for i in range(n_columns) if bits >> i & 1)


def comparison_to_dict(comparison: ResolvedQuestion) -> dict[str, Any]:
    """Write a question and both of its sides."""
    sides = {"first": comparison.first, "second": comparison.second}
    question = value_to_json(comparison.question, "question")
    return {"question": question, **{key: _effect_to_dict(side) for key, side in sides.items()}}


def comparison_from_dict(data: object, n_columns: int, place: str) -> ResolvedQuestion:
    """Read what `comparison_to_dict` wrote."""
    question = value_from_json(entry(data, "question", dict, place), f"{place}.question")
    if not isinstance(question, Disagreement) or not isinstance(question.loss, str):
        raise broken(f"{place}.question", "is not a question")
    first, second = (
        _effect_from_dict(entry(data, key, dict, place), n_columns, f"{place}.{key}") for key in ("first", "second")
    )
    if first.layout.sets != second.layout.sets or first.behavior != second.behavior:
        raise broken(place, "has two sides that cannot be compared")
    return ResolvedQuestion(question, first, second)


def _effect_to_dict(effect: ResolvedExplainer) -> dict[str, Any]:
    return {
        "masking": value_to_json(effect.masking, "masking"),
        "behavior": value_to_json(effect.behavior, "behavior"),
        "players": [mask_to_text(player) for player in effect.layout.players],
        "sets": [[mask_to_text(player) for player in members] for members in effect.layout.sets],
        "labels": [list(label) for label in effect.layout.labels],
        "terms": [_terms_to_dict(terms) for terms in effect.terms],
        "draws": [[_terms_to_dict(terms) for terms in draw] for draw in effect.draws],
    }


def _effect_from_dict(data: dict[str, Any], n_columns: int, place: str) -> ResolvedExplainer:
    masking = value_from_json(entry(data, "masking", dict, place), f"{place}.masking")
    behavior = value_from_json(entry(data, "behavior", dict, place), f"{place}.behavior")
    if not isinstance(masking, MASKINGS) or not isinstance(behavior, _BEHAVIORS):
        raise broken(place, "has a masking or a behavior that is none")
    layout = _layout(data, n_columns, place)
    terms = _terms(members(data, "terms", place), len(layout.sets), n_columns, f"{place}.terms")
    draws = members(data, "draws", place)
    if not all(isinstance(draw, list) for draw in draws) or len(draws) == 1:
        raise broken(f"{place}.draws", "is not a list of two or more draws")
    drawn = tuple(_terms(draw, len(layout.sets), n_columns, f"{place}.draws[{i}]") for i, draw in enumerate(draws))
    return ResolvedExplainer(masking, behavior, layout, terms, drawn)


def _layout(data: dict[str, Any], n_columns: int, place: str) -> PlayersAndSets:
    players = tuple(mask_from_text(t, n_columns, f"{place}.players") for t in texts(data, "players", place))
    if sorted(i for player in players for i in player) != list(range(n_columns)) or not all(players):
        raise broken(f"{place}.players", "do not divide the columns")
    sets, known = [], set(players)
    for i, item in enumerate(members(data, "sets", place)):
        if not isinstance(item, list) or not item:
            raise broken(f"{place}.sets[{i}]", "is not a list of players")
        sets.append(tuple(mask_from_text(text, n_columns, f"{place}.sets[{i}]") for text in item))
        if not set(sets[-1]) <= known:
            raise broken(f"{place}.sets[{i}]", "has a member that is no player")
    labels = members(data, "labels", place)
    named = all(isinstance(item, list) and item and all(isinstance(t, str) for t in item) for item in labels)
    if not sets or not named or len(labels) != len(sets):
        raise broken(f"{place}.labels", "do not name the sets")
    return PlayersAndSets(players, tuple(sets), tuple(tuple(item) for item in labels))


def _terms_to_dict(terms: Terms) -> dict[str, float]:
    return {_term_to_text(term): float(value) for term, value in terms.items()}


def _term_to_text(term: Term) -> str:
    if isinstance(term, JansenTotal):
        return f"total {mask_to_text(term.hidden)}"
    if isinstance(term, AleDifference):
        return f"change {term.column} {'mean' if term.averaged else 'own'}"
    if isinstance(term, frozenset):
        return mask_to_text(term)
    raise TypeError(f"{term} is made from coalitions and is not stored")


def _terms(items: list[Any], count: int, n_columns: int, place: str) -> tuple[Terms, ...]:
    if len(items) != count:
        raise broken(place, f"has {len(items)} entries for {count} sets")
    return tuple(_combination(item, n_columns, f"{place}[{i}]") for i, item in enumerate(items))


def _combination(data: object, n_columns: int, place: str) -> Terms:
    if not isinstance(data, dict) or not data or not all(type(value) in (int, float) for value in data.values()):
        raise broken(place, "is not a set of terms with their coefficients")
    return {_term_from_text(text, n_columns, place): float(value) for text, value in data.items()}


def _term_from_text(text: str, n_columns: int, place: str) -> Term:
    kind, _, rest = text.partition(" ")
    if kind == "total":
        return JansenTotal(mask_from_text(rest, n_columns, place))
    if kind != "change":
        return mask_from_text(text, n_columns, place)
    column, _, how = rest.partition(" ")
    if how not in _CHANGES or re.fullmatch(r"\d{1,9}", column, re.ASCII) is None or int(column) >= n_columns:
        raise broken(place, f"has the term {text[:60]!r}, which is not known")
    return AleDifference(int(column), _CHANGES[how])
