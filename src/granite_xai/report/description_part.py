"""Share of the model that curves describe, as the story tells it."""

from __future__ import annotations

from typing import Any

from granite_xai.base.formats import share
from granite_xai.base.typing import Coalition
from granite_xai.explanation.influence import Interactions
from granite_xai.report.source import ReportSource, number_or_none
from granite_xai.report.wording import basis_text, benefit_heading
from granite_xai.results.described import in_regions_text
from granite_xai.results.pair_effects import pair_effects

WHOLE_MODEL = 1.0 - 1e-9  # share described from which on pairs have nothing to add


def describes(source: ReportSource) -> dict[str, Any] | None:
    """Share of the model that curves describe, without and with regions, and what pairs add.

    Returns
    -------
    dict or None
        ``heading``; ``steps`` (what describes the model, ``step``, and its ``share``); ``low`` and
        ``high``, ends of the interval of the last share, which ``in_regions`` and ``interval`` are
        in words, and its ``level``; the ``rows`` that shares are measured on; ``pairs`` of
        features, ``pairs_share`` (with their joint effects) and a ``note`` on them. None where the
        question is not about effects, or where nothing is known.
    """
    finding = source.finding
    described = finding.described
    if described is None or not finding.is_effect or finding.outcome in ("nothing", "noise"):
        return None
    n_regions = len(source.fitted.partition)
    description = _description_words(source)
    steps = [{"step": description, "share": float(described.overall)}]
    if n_regions > 1:
        step = f"{description} in each of {n_regions} regions"
        steps.append({"step": step, "share": float(described.in_regions)})
    in_regions, interval = in_regions_text(described)
    return {
        "heading": benefit_heading(described, n_regions),
        "steps": steps,
        "low": number_or_none(described.low),
        "high": number_or_none(described.high),
        "in_regions": in_regions,
        "interval": interval,
        "level": share(described.confidence_level),
        "rows": basis_text(described),
        **_pairs(source),
    }


def _description_words(source: ReportSource) -> str:
    """What describes the model, in words."""
    influence = source.fitted.comparisons[0].question.first.influence
    if isinstance(influence, Interactions):
        return f"the effects of up to {influence.order} features"
    if influence.key == "individual":
        return "one curve per feature"
    return "one effect per group"


def _pairs(source: ReportSource) -> dict[str, Any]:
    """The pairs of features that matter most on top of the regions, and what they add."""
    no_pairs: dict[str, Any] = {"pairs": [], "pairs_share": None, "note": ""}
    if source.values is None or not _pairs_can_add(source):
        return no_pairs
    effects = pair_effects(source.values)
    if effects.needed:
        costs = f"{effects.needed:,} more evaluations; the fit took {effects.spent:,}"
        return {**no_pairs, "note": f"Pairs of features are left out: they would take {costs}."}
    if effects.explained is None:
        return no_pairs
    pairs = [[_player_name(source, player) for player in pair] for pair in effects.pairs]
    return {"pairs": pairs, "pairs_share": float(effects.explained), "note": ""}


def _pairs_can_add(source: ReportSource) -> bool:
    """Whether there are pairs to look for, and something left that they may describe."""
    fitted = source.fitted
    influence = fitted.comparisons[0].question.first.influence
    is_complete = fitted.additive.value.fidelity >= WHOLE_MODEL
    return (
        len(fitted.layout.explained) > 2
        and not is_complete
        and not isinstance(influence, Interactions)
    )


def _player_name(source: ReportSource, player: Coalition) -> str:
    """A feature or group by its label; otherwise by its columns."""
    layout = source.fitted.layout
    for players, labels in zip(layout.sets, layout.labels, strict=True):
        if len(players) == 1 and players[0] == player:
            return labels[0]
    columns = source.fitted.table.names
    return ", ".join(columns[position] for position in sorted(player))
