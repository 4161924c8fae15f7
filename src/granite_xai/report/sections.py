"""What a report says, in the order in which it is read: sections of blocks, for its page and its texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from granite_xai.base.document import (
    Bar,
    Block,
    Document,
    Fold,
    Lead,
    Paragraph,
    RegionLabel,
    Table,
)
from granite_xai.base.numbers import UNKNOWN, amount, share
from granite_xai.base.text import ALL_ROWS, shortened
from granite_xai.regions.words import stop_reason_words
from granite_xai.report.charts import FeatureChart, Figure, both_explanations, overview_figure
from granite_xai.report.facts import Source
from granite_xai.results.facts import FEW_ROWS
from granite_xai.results.printed import tree_of, with_names
from granite_xai.results.sentences import (
    DIFFER,
    DIVIDE,
    HARDLY_MATTER,
    clause,
    first_names,
    region_sentences,
    what_describes,
)

MOST_LARGE = 6  # charts of features that differ; further ones are small
MOST_SMALL = 8  # of features that are the same everywhere
MOST_LISTED = 13  # names in a line
MOST_IN_TITLE = 6
MOST_IN_TABLE = 10  # features that are not folded
MOST_SENTENCES = 2  # about a region
READING = "Point at a chart or use ← → to read values."
TOLD_RANGE = "Thick: where nine of ten rows of the curve lie; ranges in sentences are of this part."

GLOSSARY = (
    (
        "Curve, effect (PDP)",
        "The average prediction if every row had this value of the feature, all else unchanged.",
    ),
    (
        "A row’s own curve (ICE)",
        "The same for one row. Where rows’ own curves differ, the average hides it.",
    ),
    ("Interaction", "The effect of one feature depends on the value of another."),
    ("Region", "Rows that satisfy a rule. Regions share a curve where theirs hardly differ."),
    (
        "Rows stray (heterogeneity)",
        (
            "The typical (root mean square) distance between single rows’ curves and the average curve, in units of "
            "the prediction. With ±: all features together; without: along one feature."
        ),
    ),
    (
        "Describes",
        "Share of the variance of the predictions that the curves reproduce: R² against the model, not the target.",
    ),
    (
        "Range",
        (
            "Highest less lowest point of a curve over the rows of its regions, of numbers between the 5% and the 95% "
            "point of the feature; beyond these curves are thin and dashed, points hollow."
        ),
    ),
    (
        "Search rows, held-out rows",
        (
            "Regions, curves and means come from the search rows. How well they work is measured on held-out rows, set "
            "aside before the search; the model may have been trained on them. Figures are corrected for sampling "
            "noise."
        ),
    ),
    (
        "Interval",
        (
            "Where the figure would lie for other rows from the same source, in 95 of 100 samples, for this model and "
            "these regions."
        ),
    ),
)


@dataclass(frozen=True)
class Card:
    """A region or a row, with a heading of its own.

    Parameters
    ----------
    region : int
    identifier : str
        In links of the page; empty: nothing links to it.
    conditions : sequence
        Of the rule of the region: what stands before a feature, the feature, what is said of it.
    label : str
        Name of the region, or its rule in words.
    aside : str
        What stands below the label.
    blocks : sequence of Block
    """

    region: int
    identifier: str
    conditions: Sequence[Sequence[str]]
    label: str
    aside: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Section:
    """A part of a report with its heading.

    Parameters
    ----------
    identifier : str
        In links of the page.
    title : str
    contents : str
        What the list of sections calls it.
    blocks : sequence
        Blocks of documents, and figures and cards of the page.
    is_read : bool
        Whether texts have it, too.
    """

    identifier: str
    title: str
    contents: str
    blocks: Sequence[Block | Figure | Card]
    is_read: bool = True


def sections_of(source: Source, facts: Mapping[str, Any]) -> list[Section]:
    """The sections of a report behind its finding, those without content left out."""
    regions = facts["regions"]
    cards = [_region_card(source, facts, region) for region in regions if len(regions) > 1]
    sections = [
        *_curve_sections(source),
        Section("regions", f"The {len(regions)} regions", "The regions", cards),
        _splits_section(facts),
        _rows_section(source, facts),
        _trust_section(facts),
        _words_section(facts),
    ]
    return [section for section in sections if section.blocks]


def opening(source: Source, facts: Mapping[str, Any]) -> list[Block]:
    """The finding, and how much of the model curves describe."""
    finding = facts["finding"]
    sentences = [
        *finding["doubts"],
        finding["details"],
        finding["benefit"],
        *finding["by_question"],
        finding["errors"],
    ]
    blocks: list[Block] = [Lead(finding["headline"])]
    blocks += [Paragraph(sentence, "text") for sentence in sentences if sentence]
    described = source.facts.described
    if described is None or not source.facts.is_effect or finding["outcome"] != "regions":
        return blocks
    what, _, _ = what_describes(source.facts)
    by_region = f"{what} by region, where regions differ"
    if not source.curves.differs:
        by_region = f"{what}, and the mean prediction of each region"
    overall = Bar(described.overall_text, max(described.overall, 0.0))
    in_regions = Bar(described.in_regions_text.share, max(described.in_regions, 0.0))
    rows = [[f"{what} for all rows", overall], [by_region, in_regions]]
    return [*blocks, Table(["described", "share of the model"], rows, left=(0,))]


# Curves ------------------------------------------------------------------------------------------------


def _curve_sections(source: Source) -> list[Section]:
    """Features that differ by region, each in one chart; those that divide the regions; those that do neither."""
    curves = source.curves
    main = source.finding.main_feature
    by_range = {label: max(c.range for c in curves.of(label)) for label in curves.labels}
    differ = sorted(curves.differs, key=lambda label: (label != main, -by_range[label]))
    dividing = source.facts.dividing
    same = [label for label in curves.same if by_range[label] > 0 and label not in dividing]
    hardly = [label for label in curves.hardly if label not in dividing]
    compared = both_explanations(source)
    large: list[Block | Figure | Card] = [] if compared is None else [compared]
    with_chart = [label for label in differ if label in source.drawn]
    for label in with_chart[:MOST_LARGE]:
        chart = FeatureChart(source, label)
        if len(chart.curves) > 1:
            large.append(chart.figure("", "half" if large else "whole"))
    large += _without_chart(with_chart[MOST_LARGE:])
    joint = [label for label in differ if label not in source.drawn]
    if joint:
        text = f"The effects of {first_names(joint, MOST_LISTED)} differ by region, too; they have no curve."
        large.append(Paragraph(text))
    sections = []
    if large:
        title = "Both explanations of the main feature"
        if differ:
            title = clause(differ, DIFFER, MOST_IN_TITLE)
        sections.append(Section("differ", title, "What differs by region", large))
    elif same and not dividing and same[0] in source.drawn:
        title = f"The effect of {same[0]}"
        band = "Shaded: where the curves of nine rows in ten lie, each moved to the same mean."
        figure = FeatureChart(source, same[0]).figure(band)
        sections.append(Section("differ", title, title, [figure]))
        same = same[1:]
    if dividing:
        title = clause(dividing, DIVIDE, MOST_IN_TITLE)
        blocks = _small_charts(source, dividing)
        sections.append(Section("divides", title, "What divides the regions", blocks))
    blocks = _small_charts(source, same)
    if hardly:
        blocks.append(Paragraph(f"{clause(hardly, HARDLY_MATTER, MOST_LISTED)}."))
    where = "The same everywhere" if differ and same else "Other features"
    title = f"{where}: {first_names(same, MOST_IN_TITLE)}" if same else where
    sections.append(Section("same", title, where, blocks))
    # The first chart says how charts are read, and the first with thin parts what these are.
    blocks = [block for section in sections for block in section.blocks]
    figures = [block for block in blocks if isinstance(block, Figure)]
    for figure in figures[:1]:
        figure.hint = READING
    for figure in [figure for figure in figures if figure.has_outer][:1]:
        figure.caption = f"{figure.caption} {TOLD_RANGE}".strip()
    return sections


def _small_charts(source: Source, labels: Sequence[str]) -> list[Block | Figure | Card]:
    """Charts of features that have one curve, on one scale, and the names of further ones."""
    drawn = [label for label in labels if label in source.drawn][:MOST_SMALL]
    charts = [FeatureChart(source, label, is_effect=True) for label in drawn]
    ends = [chart.limits for chart in charts]
    limits = (min(ends)[0], max(high for _, high in ends)) if ends else None
    figures = []
    for chart in charts:
        size = source.output.unit.effect(chart.curves[0].range, bare=True)
        figures.append(chart.figure(f"Range {size}.", "third", limits))
    return [*figures, *_without_chart([label for label in labels if label not in drawn])]


def _without_chart(labels: Sequence[str]) -> list[Paragraph]:
    """Names of features whose chart is not shown."""
    whose = "its" if len(labels) == 1 else "their"
    return (
        [Paragraph(f"Without a chart of {whose} own: {first_names(labels, MOST_LISTED)}.")]
        if labels
        else []
    )


# Regions -----------------------------------------------------------------------------------------------


def _region_card(source: Source, facts: Mapping[str, Any], region: Mapping[str, Any]) -> Card:
    """A region with what is only its own."""
    number = region["region"]
    unit = source.output.unit
    everywhere = facts["nodes"][0]
    here = next(node for node in facts["nodes"] if node["region"] == number)
    means = [unit.level(node["mean"], bare=True) for node in (here, everywhere)]
    figures = f"Mean prediction {means[0]} (all rows: {means[1]})"
    if here["stray"] is not None:
        noun = "rows stray" if source.is_per_row else "difference"
        figures += f"; {noun} {source.size(here['stray'])} ({source.size(everywhere['stray'])})"
    sentences = region_sentences(source.facts, number, source.output)
    blocks: list[Block] = [Paragraph(sentence, "lead") for sentence in sentences[:1]]
    blocks += [Paragraph(sentence) for sentence in sentences[1:MOST_SENTENCES]]
    exact = [Paragraph(region["rule"], "code")]
    if region["stop_reason"]:
        exact.append(Paragraph(f"Not split further: {stop_reason_words(region['stop_reason'])}."))
    exact += [Paragraph(sentence) for sentence in region["profile"]]
    blocks += [Paragraph(f"{figures}."), Fold("Exact rule, and who is in it", exact)]
    aside = f"region {number} · {share(region['share'])} of the rows"
    if region["n_samples"] < FEW_ROWS:
        aside += ", few: take it as a hint"
    conditions = [] if region["name"] else region["conditions"]
    label = region["name"] or region["words"]
    return Card(number, f"region-{number}", conditions, label, aside, blocks)


# The ledger --------------------------------------------------------------------------------------------


def _splits_section(facts: Mapping[str, Any]) -> Section:
    """What each split adds, how often it is found again, and why regions were not split further."""
    stability = facts["stability"]
    found = stability["splits"] if stability is not None else []
    splits = [line for line in facts["splits"] if line["region"] < 0]
    rows: list[list[object]] = []
    for number, line in enumerate(splits):
        described = f"{_share(line['described_before'])} → {_share(line['described_after'])}"
        again = instead = "–"
        if number < len(found):
            times = found[number]["times"]
            again = f"{times} of {stability['searches']} ({found[number]['verdict']})"
            instead = found[number]["instead"] or "–"
        where = f"{line['where_words'] or ALL_ROWS}: {line['cut_words']}"
        rows.append([where, described, _share(line["removed"]), again, instead])
    heads = ["split", "describes", "removes", "found again", "otherwise"]
    blocks: list[Block] = [Table(heads, rows, left=(0, 1, 2, 3, 4))] if rows else []
    cuts = [
        [
            RegionLabel(line["region"], line["where_words"]),
            line["cut_words"] or "–",
            _share(line["removed"]),
            line["reason"],
        ]
        for line in facts["splits"]
        if line["region"] >= 0
    ]
    if cuts and rows:
        heads = ["region", "best further cut", "would remove", "not made"]
        blocks.append(Fold("Cuts that were not made", [Table(heads, cuts, left=(0, 1, 2, 3))]))
    return Section("splits", "What each split adds", "What each split adds", blocks)


def _share(value: float | None) -> str:
    return UNKNOWN if value is None else share(max(value, 0.0))


# Rows --------------------------------------------------------------------------------------------------


def _rows_section(source: Source, facts: Mapping[str, Any]) -> Section:
    """Effects of all features on all rows, what averages hide, and single rows."""
    overview = overview_figure(source)
    blocks: list[Block | Figure | Card] = [] if overview is None else [overview]
    blocks += _features_tables(source, facts)
    blocks += [_row_card(source, facts, row) for row in facts["rows"]]
    return Section("rows", "All features and rows", "All features and rows", blocks)


def _features_tables(source: Source, facts: Mapping[str, Any]) -> list[Block]:
    """Average effect, and what it hides, of each feature; of many the first are not folded."""
    features = facts["features"]
    if len(features) < 2:
        return []
    values = facts["values"][0]
    heads = ["feature", "average effect", "what it hides"]
    if not source.is_per_row:
        heads = ["feature", values["second"], f"difference to {values['first']}"]
    if len(facts["regions"]) > 1:
        heads.append("in regions")
    keys = ["average", "hidden", "hidden_in_regions"][: len(heads) - 1]
    sizes = [[feature[key] or 0.0 for key in keys] for feature in features]
    largest = max(map(max, sizes)) or 1.0
    rows = []
    for feature, of_feature in zip(features, sizes, strict=True):
        bars = [Bar(source.unit.effect(size, bare=True), size / largest) for size in of_feature]
        rows.append([feature["feature"], *bars])
    tables: list[Block] = [Table(heads, rows[:MOST_IN_TABLE], left=(0,))]
    if rows[MOST_IN_TABLE:]:
        more = Table(heads, rows[MOST_IN_TABLE:], left=(0,))
        tables.append(Fold(f"Show all {len(rows)} features", [more]))
    return tables


def _row_card(source: Source, facts: Mapping[str, Any], row: Mapping[str, Any]) -> Card:
    unit = source.output.unit.on_scale
    largest = max((abs(adds) for _, _, adds in row["parts"]), default=0.0) or 1.0
    parts = [
        [name, shortened(value, 24), Bar(unit.signed_effect(adds, bare=True), adds / largest)]
        for name, value, adds in row["parts"]
    ]
    region = facts["regions"][row["region"]]
    first, *others = row["sentences"]
    blocks: list[Block] = [
        Paragraph(first, "lead"),
        Fold("In words", [Paragraph(" ".join(others))]),
        Table(["feature", "value", "adds"], parts, left=(0, 1)),
    ]
    aside = f"region {row['region']}"
    return Card(row["region"], "", region["conditions"], region["words"], aside, blocks)


# Trust -------------------------------------------------------------------------------------------------


def _trust_section(facts: Mapping[str, Any]) -> Section:
    """What is found again, notes, how the regions do on rows given for testing, and why so many regions."""
    blocks: list[Block] = []
    finding = facts["finding"]
    if finding["stability"]:
        blocks.append(Paragraph(finding["stability"]))
    elif facts["stability"] is None and len(facts["regions"]) > 1:
        text = "Whether other rows would give the same splits: g.stability() of the fit that searched tells it."
        blocks.append(Paragraph(text))
    blocks += [Paragraph(note, "note") for note in finding["notes"]]
    tested = facts["evaluation"]
    if tested is not None:
        is_less = tested["remaining"] is not None and tested["remaining"] <= 1
        removed = share(1.0 - tested["remaining"]) if is_less else "none"
        blocks.append(
            Paragraph(
                f"On the {tested['n_rows']:,} rows given for testing the regions remove {removed} of the "
                f"heterogeneity, and curves describe {share(tested['described'])} of the model."
            )
        )
    if facts["path"] is not None:
        rows = [
            [
                f"{step['regions']}{' (chosen)' if step['chosen'] else ''}",
                amount(step["alpha"]),
                Bar(share(step["left"]), step["left"]),
                Bar(share(step["left_out"]), step["left_out"]),
            ]
            for step in facts["path"]["steps"]
        ]
        heads = ["regions", "alpha", "left, search rows", "left, left-out rows"]
        blocks.append(Fold("Heterogeneity that fewer regions would leave", [Table(heads, rows)]))
    blocks += [Paragraph(warning, "note") for warning in finding["warnings"]]
    return Section("trust", "How certain this is", "How certain this is", blocks)


# Words and making --------------------------------------------------------------------------------------


def _words_section(facts: Mapping[str, Any]) -> Section:
    """A glossary, and how the report was made."""
    meanings = []
    for question in facts["questions"]:
        first, second = question["first"], question["second"]
        kept = ""
        if question["kept"]:
            kept = (
                f"; {share(question['kept'])} of it would remain if the model had no interactions"
            )
        meaning = (
            f"{first['name']}: {first['meaning']}. {second['name']}: {second['meaning']}. They differ where "
            f"{question['cause']}{kept}."
        )
        meanings.append([f"{first['name']} and {second['name']}", meaning])
    glossary = Table(["word", "meaning"], [*meanings, *map(list, GLOSSARY)], left=(0, 1))
    blocks = [Fold("Glossary", [glossary]), made_block(facts)]
    return Section(
        "made", "Words, and how this was made", "Words and making", blocks, is_read=False
    )


def made_block(facts: Mapping[str, Any]) -> Fold:
    """How the report was made."""
    made = facts["made"]
    fit = facts["fit"]
    read = made["evaluations"]
    calls = f"{made['model_calls']:,} calls, {made['model_rows']:,} rows"
    if read and read != "model":
        calls += f"; recombined rows were read off the model's {read}"
    seconds = f"report {made['seconds']['report']}"
    if made["seconds"]["fit"] is not None:
        seconds = f"fit {made['seconds']['fit']} (of which model {made['seconds']['model']}), with the {seconds}"
    held = "The rows that are explained one by one are in this file, and no other."
    if not facts["rows"]:
        held = "No row of the data is in this file."
    lines = [
        ["question", ", ".join(f"{name}={value}" for name, value in made["settings"].items())],
        ["model", made["model"]],
        ["explained", f"{facts['output']['name']} ({made['explained']})"],
        [
            "rows",
            (
                f"{made['rows']:,} to find the regions, {made['held_out']:,} held out, of {made['available']:,}; "
                f"{made['columns']} features"
            ),
        ],
        [
            "on the search rows",
            f"curves describe {share(fit['global_fidelity'])} without and {share(fit['fidelity'])} with regions",
        ],
        ["model rows", calls],
        ["seconds", seconds],
        ["made", f"{made['made']}, seed {made['seed']}"],
        ["versions", ", ".join(f"{name} {number}" for name, number in made["versions"].items())],
        [
            "data",
            (
                f"{held} Charts and tables hold averages at single values of a feature and dots for rows with about "
                "the same effect, which can stand for a single row."
            ),
        ],
    ]
    return Fold("How this was made", [Table(["", ""], lines, left=(0, 1))])


# Texts -------------------------------------------------------------------------------------------------


def document_of(source: Source, facts: Mapping[str, Any], sections: Sequence[Section]) -> Document:
    """The report without its pictures, for a terminal and for Markdown; of a card texts have its sentences."""
    blocks: list[Block] = [Paragraph(facts["title"])]
    blocks += [block for block in opening(source, facts) if isinstance(block, Paragraph)]
    blocks.append(Paragraph(facts["finding"]["curves"]))
    if len(facts["regions"]) > 1:
        tree = tree_of(source.facts, source.output)
        blocks.append(with_names(tree, source.fitted.partition.region_names))
    for section in sections:
        parts: list[Block] = []
        for block in section.blocks:
            if isinstance(block, Card):
                label = RegionLabel(block.region, block.label)
                said = [part.text for part in block.blocks if isinstance(part, Paragraph)]
                parts.append(Paragraph(f"{label}: {' '.join(said)}"))
            elif not isinstance(block, Figure | Fold):
                parts.append(block)
        if section.is_read and parts:
            blocks.append(Fold(section.title, parts))
    made = facts["made"]
    blocks.append(
        Paragraph(
            f"{' '.join(facts['about'])} {made['model_rows']:,} rows were sent to the model, seed {made['seed']}, "
            f"granite-xai {made['versions'].get('granite-xai', '')}."
        )
    )
    return Document(blocks)
