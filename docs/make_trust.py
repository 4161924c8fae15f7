"""Write docs/trust_figures.rst: how often the printed figures hold, from experiments/results/chance.json.

python docs/make_trust.py
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "trust_figures.rst"
FIGURES = ROOT / "experiments" / "results" / "chance.json"

Line = dict[str, Any]
FALSE = "false regions, %"
KINDS = ("normal", "heavy", "binary", "mixed")  # of columns
OF_SHARES = {
    "share left, bias in points": "share left: bias",
    "share left covered, %": "covered",
    "described in regions, bias": "described in regions: bias",
    "in regions covered, %": "covered",
    "described overall, bias": "by one curve: bias",
    "overall covered, %": "covered",
}


def page() -> str:
    """The tables of the experiment, a line of text for each of their lines."""
    tables = json.loads(FIGURES.read_text(encoding="utf-8"))["data"]
    text = [
        ".. Written by docs/make_trust.py from experiments/results/chance.json; change it there.",
        "",
    ]
    text += [*_in_short(tables), ""]
    text += _csv_table(
        "**Regions in noise**: percent of additive samples in which any region was found (standard error). First by "
        f"rows, then by kind of columns, then with {_clusters(tables['size'])} together.",
        list(_false_regions(tables["size"])),
    )
    text += _csv_table(
        "**Power**: percent of samples in which regions were found where an interaction and a dependence are planted in "
        "six columns (standard error).",
        list(_power(tables.get("power", []))),
    )
    text += _csv_table(
        "**600 rows or more**, judged on held-out rows: bias in points (standard error), and how often the 95% "
        "interval holds the truth, in percent of the samples; found: samples with regions.",
        [_of_shares(line) for line in tables.get("coverage", [])],
    )
    text += _csv_table(
        "**Small tables**, where figures are cross-validated and have no interval: bias in points (standard error).",
        [_of_shares(line) for line in tables.get("small tables", [])],
    )
    return "\n".join(text)


def _in_short(tables: dict[str, list[Line]]) -> list[str]:
    """The tables in a few sentences."""
    rows = [line for line in tables["size"] if line["clusters"] == "–"]
    of_question = {
        question: _share(
            [(line[FALSE], line["samples"]) for line in rows if line["question"] == question]
        )
        for question in dict.fromkeys(line["question"] for line in rows)
    }
    worst = max(of_question, key=lambda question: of_question[question].percent)
    binary = [(line["binary columns"], line["samples"] / len(KINDS)) for line in rows]
    others = [
        (line[f"{kind} columns"], line["samples"] / len(KINDS))
        for line in rows
        for kind in KINDS
        if kind != "binary"
    ]
    clustered = [
        (line[FALSE], line["samples"]) for line in tables["size"] if line["clusters"] != "–"
    ]
    together = _share([(line[FALSE], line["samples"]) for line in rows])
    sentence = (
        f"- **Regions in noise** are found in {together.percent:.1f}% of {together.samples:,.0f} samples, at most in "
        f"{of_question[worst].percent:.1f}% for a question (``{worst}``): in {_share(binary).percent:.1f}% where all columns "
        f"are binary, in {_share(others).percent:.1f}% of the others. With clusters in {_share(clustered).percent:.1f}% of "
        f"{_share(clustered).samples:,.0f} samples."
    )
    sentences = [sentence]
    coverage = tables.get("coverage", [])
    for title, name, found in (
        ("the share left", "share left covered, %", "with regions"),
        ("the share described in regions", "in regions covered, %", "with regions"),
        ("the share that one curve per feature describes", "overall covered, %", "samples"),
    ):
        held = [(line[name], line[found]) for line in coverage if line.get(name, "–") != "–"]
        if held:
            line = min(coverage, key=lambda line: float(line[name].replace("–", "inf")))
            sentences.append(
                f"- **Intervals of {title}** (95%) hold the truth in {_share(held).percent:.1f}% of "
                f"{_share(held).samples:,.0f} fits; lowest {line[name]}% of {line[found]}: ``{line['question']}``, "
                f"{line['data']}, {line['rows']:,} rows."
            )
    return sentences


class Share(NamedTuple):
    """Percent of some samples, with its standard error."""

    percent: float
    error: float
    samples: float


def _share(shares: list[tuple[str, float]]) -> Share:
    """Of all samples, from the percent and the number of each group."""
    n_samples = sum(number for _, number in shares)
    share = sum(float(percent) / 100 * number for percent, number in shares) / n_samples
    return Share(100 * share, 100 * sqrt(share * (1 - share) / n_samples), n_samples)


def _false_regions(lines: list[Line]) -> Iterable[Line]:
    """A line for each question: its samples together, by rows, by kind of columns, and with clusters."""
    sizes = sorted({line["rows"] for line in lines if line["clusters"] == "–"})
    for question in dict.fromkeys(line["question"] for line in lines):
        of_question = [line for line in lines if line["question"] == question]
        alone = [line for line in of_question if line["clusters"] == "–"]
        row: Line = {"question": question, "samples": sum(line["samples"] for line in alone)}
        row["all"] = _with_error([(line[FALSE], line["samples"]) for line in alone])
        for size in sizes:
            row[f"{size:,} rows"] = _with_error(
                [(line[FALSE], line["samples"]) for line in alone if line["rows"] == size]
            )
        for kind in KINDS:
            share = [(line[f"{kind} columns"], line["samples"] / len(KINDS)) for line in alone]
            row[f"{kind} columns"] = _with_error(share)
        clustered = [line for line in of_question if line["clusters"] != "–"]
        row["clusters"] = _with_error([(line[FALSE], line["samples"]) for line in clustered])
        yield row


def _clusters(lines: list[Line]) -> str:
    """The numbers of clusters, and of how many rows: "5, 10 and 20 clusters of 1,000 and 3,000 rows"."""
    with_clusters = [line for line in lines if line["clusters"] != "–"]
    clusters = sorted({line["clusters"] for line in with_clusters})
    sizes = sorted({line["rows"] for line in with_clusters})
    return f"{_listed(clusters)} clusters of {_listed(sizes)} rows"


def _listed(numbers: list[int]) -> str:
    *others, last = [f"{number:,}" for number in numbers]
    return f"{', '.join(others)} and {last}" if others else last


def _power(lines: list[Line]) -> Iterable[Line]:
    """A line for each question and strength: how often regions were found, by rows."""
    for question in dict.fromkeys(line["question"] for line in lines):
        of_question = [line for line in lines if line["question"] == question]
        for strength in dict.fromkeys(line["strength"] for line in of_question):
            row: Line = {"question": question, "strength": strength}
            for line in of_question:
                if line["strength"] == strength:
                    row[f"{line['rows']:,} rows"] = _with_error(
                        [(line["found, %"], line["samples"])]
                    )
            yield row


def _with_error(shares: list[tuple[str, float]]) -> str:
    """Percent of all samples, with its standard error, from the percent and the number of each group."""
    if not shares:
        return "–"
    share = _share(shares)
    return f"{share.percent:.1f} ({share.error:.1f})"


def _of_shares(line: Line) -> Line:
    """Bias and coverage of the three shares, in words that fit a table."""
    clusters = "" if line["clusters"] == "–" else f", {line['clusters']} clusters"
    row: Line = {
        "question": line["question"],
        "rows": f"{line['data']}, {line['rows']:,}{clusters}",
        "found": f"{line['with regions']} of {line['samples']}",
    }
    for number, (name, title) in enumerate(OF_SHARES.items()):
        if name in line:
            # Three columns are called "covered"; a space more tells them apart as keys.
            row[title + " " * number] = _bias(line[name])
    return row


def _bias(cell: str) -> str:
    value, _, error = cell.replace("-", "−").partition(" ± ")
    return f"{value} ({error})" if error else value


def _csv_table(title: str, lines: list[Line]) -> list[str]:
    """A table of reStructuredText with a line of text for each dict."""
    if not lines:
        return []
    rows = [[name.strip() for name in lines[0]], *(list(line.values()) for line in lines)]
    body = ["   " + ", ".join(f'"{cell}"' for cell in row) for row in rows]
    return [title, "", ".. csv-table::", "   :header-rows: 1", "", *body, ""]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
