"""The tree of regions as the story tells it: rules in words, figures, and what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from granite_xai.displays.tree import Box, boxes_of
from granite_xai.inference.nodes import NodeFigure
from granite_xai.regions import Region, Rule, Vocabulary, rule_conditions, rule_words
from granite_xai.report.source import ReportSource, number_or_none
from granite_xai.report.wording import stop_text
from granite_xai.results.contrasts import Contrast, contrasts, further_contrasts, heading
from granite_xai.results.notes import HINT_ROWS
from granite_xai.results.profile import profiles
from granite_xai.results.region_curves import region_curves

FEATURES_SHOWN = 3  # small charts of a region


def conditions_of(rule: Rule, vocabulary: Vocabulary) -> list[list[str]]:
    """The conditions of a rule in words, each of three texts (`region_labels.Condition`)."""
    return [
        [words.bounds_before, words.feature, words.predicate]
        for words in rule_conditions(rule, vocabulary)
    ]


def tree(source: ReportSource) -> dict[str, Any]:
    """The nodes of the tree, nested: the root with its ``children``, see `_node`."""
    figures: dict[int, NodeFigure] = {}
    if source.figures is not None:
        figures = {node.node: node for node in source.figures.nodes}
    boxes = boxes_of(source.fitted.partition)
    return _node(source, boxes, boxes[0], figures)


def _node(
    source: ReportSource, boxes: Sequence[Box], box: Box, figures: Mapping[int, NodeFigure]
) -> dict[str, Any]:
    """A node and all below it.

    Parameters
    ----------
    source : ReportSource
    boxes : sequence of Box
        All nodes, by number.
    box : Box
        The node.
    figures : mapping of int to NodeFigure
        Mean, spread and heterogeneity of the nodes; older files have none.

    Returns
    -------
    dict
        ``id``, ``region`` and ``name`` (of a leaf), the ``conditions`` on the edge above it
        and their ``text``, the ``column`` that it splits, ``n_samples``, ``share``
        of the rows, ``mean`` and ``spread`` of the predictions, ``stray`` (heterogeneity), the
        ``regions`` below it, and its ``children``.
    """
    is_root = box.parent is None
    is_leaf = not is_root and not box.children
    children = [_node(source, boxes, boxes[child], figures) for child in box.children]
    below: list[int] = []
    for child in children:
        below += child["regions"]
    figure = figures.get(box.node)
    return {
        "id": _identifier(box),
        "region": box.region if is_leaf else None,
        "name": source.fitted.partition[box.region or 0].name if is_leaf else "",
        "conditions": conditions_of(box.edge, source.finding.vocabulary),
        "text": box.condition,
        "column": box.column,
        "n_samples": box.n_samples,
        "share": number_or_none(box.fraction),
        **_figures_of(figure),
        "regions": below or [box.region or 0],
        "children": children,
    }


def _identifier(box: Box) -> str:
    """What a node is called in links of the page."""
    if box.parent is None:
        return "all"
    if box.children:
        return f"node-{box.node}"
    return f"region-{box.region}"


def _figures_of(figure: NodeFigure | None) -> dict[str, float | None]:
    """Mean and spread of the predictions at a node, and its heterogeneity; None: not known."""
    if figure is None:
        return {"mean": None, "spread": None, "stray": None}
    return {
        "mean": number_or_none(figure.mean),
        "spread": number_or_none(figure.spread),
        "stray": number_or_none(figure.heterogeneity),
    }


def regions(source: ReportSource) -> list[dict[str, Any]]:
    """The regions, each with its rule, rows and figures, and what sets it apart.

    Returns
    -------
    list of dicts
        Rule: ``rule`` (exact), ``words``, ``conditions``. Rows: ``n_samples``, ``share``, ``small``
        (few rows), ``profile`` (who they are). Figures: ``disagreement``, ``mean``, ``spread``,
        ``stray``. What sets it apart:
        ``heading``, ``further``, ``features`` (that its small charts show). ``stop_reason``: why it
        is not split further.
    """
    figures: dict[int, NodeFigure] = {}
    if source.figures is not None:
        figures = {leaf.region: leaf for leaf in source.figures.leaves}
    profile_sentences = _profile_sentences(source)
    cards = []
    for region, sentences in zip(source.fitted.partition, profile_sentences, strict=True):
        cards.append(_card(source, region, figures.get(region.index), sentences))
    return cards


def _profile_sentences(source: ReportSource) -> list[list[str]]:
    """Who is in each region; empty where the rows are not known."""
    if source.values is None:
        return [[] for _ in source.fitted.partition]
    unit = source.finding.output.unit
    described = profiles(source.fitted, *source.values.by_row(), output=unit)
    return [profile.sentences() for profile in described]


def _card(
    source: ReportSource, region: Region, figure: NodeFigure | None, profile: list[str]
) -> dict[str, Any]:
    """One region, as `regions` describes it."""
    finding = source.finding
    number = region.index
    ranked: list[Contrast] = []
    if len(source.fitted.partition) > 1:
        ranked = contrasts(region_curves(source.fitted, number))
    is_quiet = number in finding.quiet_regions
    title = heading(ranked, quiet=is_quiet, main_feature=finding.main_feature)
    figures = _figures_of(figure)
    return {
        "region": number,
        "name": region.name,
        "rule": str(region.rule),
        "words": rule_words(region.rule, finding.vocabulary),
        "conditions": conditions_of(region.rule, finding.vocabulary),
        "n_samples": region.n_samples,
        "share": number_or_none(region.fraction),
        "disagreement": number_or_none(region.disagreement),
        "mean": _mean(source, number) if figures["mean"] is None else figures["mean"],
        "spread": figures["spread"],
        "stray": figures["stray"],
        "heading": title.text,
        "further": further_contrasts(ranked, without=title.feature),
        "features": _features(ranked, finding.main_feature),
        "profile": profile,
        "stop_reason": stop_text(region.stop_reason),
        "small": region.n_samples < HINT_ROWS,
    }


def _mean(source: ReportSource, region: int) -> float | None:
    """Mean prediction of the search rows in a region, which its curves have."""
    surrogate = source.fitted.curves.value.surrogate
    return number_or_none(float(surrogate.regions[region].mean))


def _features(ranked: Sequence[Contrast], main_feature: str) -> list[dict[str, Any]]:
    """The main feature and those that differ most, with what their curves do."""
    main_first = sorted(ranked, key=lambda contrast: contrast.feature != main_feature)
    return [
        {
            "set": contrast.feature,
            "shape": contrast.here_shape.predicate.removeprefix("is "),
            "range": contrast.here.range,
            "overall": contrast.overall.range,
        }
        for contrast in main_first[:FEATURES_SHOWN]
    ]
