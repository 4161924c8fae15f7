"""Tables and figures of the comparison with other packages, from its records."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter

from experiments.peer_methods import METHODS
from experiments.results import table as markdown_table

ADDRESS = re.compile(r" at 0x[0-9a-f…]+>?")  # of an object in an error: another one in every run

Line = dict[str, Any]
OURS = "granite-xai"
AUTO = 'granite-xai, alpha="auto"'
SHORT = {
    OURS: "ours",
    AUTO: "ours, auto",
    "effector PDP": "effector PDP",
    "effector RHALE": "effector RHALE",
    "one curve per feature": "one curve",
    "decision tree": "tree",
    "linear model tree": "linear tree",
    "FIGS": "FIGS",
    "EBM": "EBM",
}
MARKERS = dict(zip(METHODS, ["o", "o", "s", "D", "x", "^", "v", "P", "*"], strict=True))
COLORS = dict(zip(METHODS, ["C0", "C9", "C1", "C8", "0.4", "C2", "C3", "C4", "C5"], strict=True))
LOWEST_SHOWN = 0.02  # of the variance: a description that is worse than the mean is drawn here
TAU_STEP = 0.005  # two taus that print alike are alike
PANELS_IN_A_ROW = 4  # at the width of a page of the manual
POINT = 0.01  # one percentage point of the variance: less is no difference


@dataclass(frozen=True)
class Summary:
    """What was measured, arranged to be read.

    Parameters
    ----------
    records : list of dict
        As `experiments.peers.measure` writes them.
    sizes : dict
        Rows and features by table.
    machine : dict
        Cores and versions.
    earlier : dict, optional
        How many records are from an earlier run, and on what machine that was.
    """

    records: list[Line]
    sizes: dict[str, Line]
    machine: Line
    earlier: Line | None = None

    # -- lines of tables ---------------------------------------------------------------------------

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Tables with their models, in the order in which they were measured."""
        from experiments.peer_tables import PAIRS

        measured = {(record["table"], record["model"]) for record in self.records}
        return [pair for pair in PAIRS if pair in measured]

    @property
    def methods(self) -> list[str]:
        measured = {record.get("method") for record in self.records}
        return [name for name in METHODS if name in measured]

    def setup(self) -> list[Line]:
        """Rows, features and model of each line."""
        lines = []
        for table, model in self.pairs:
            size = self.sizes[table]
            lines.append(
                {
                    "table": table,
                    "rows": f"{size['rows']:,}",
                    "features": size["features"],
                    "model": model,
                    "fitted on": f"{size['train']:,}",
                    "sample": f"{size['sample']:,}",
                    "unseen": f"{size['test']:,}",
                }
            )
        return lines

    def seeds(self) -> list[Line]:
        """On how many seeds each method was run."""
        lines = []
        for name in self.methods:
            counts = {pair: len(self._seeds(name, pair)) for pair in self.pairs}
            counts = {pair: count for pair, count in counts.items() if count}
            most = max(counts.values())
            fewer = [f"{pair[0]}, {pair[1]}: {n}" for pair, n in counts.items() if n < most]
            lines.append({"method": name, "seeds": most, "fewer for": "; ".join(fewer) or "–"})
        return lines

    def described(self) -> list[Line]:
        """Share of the model's variance on unseen rows, at what each method chose."""
        return self._by_pair("described", _percent)

    def pieces(self) -> list[Line]:
        """How many things there are to read."""
        return self._by_pair("pieces", lambda value: f"{value:,.0f}")

    def seconds(self) -> list[Line]:
        return self._by_pair("seconds", lambda value: f"{value:.2g}")

    def model_rows(self) -> list[Line]:
        return self._by_pair("model_rows", _thousands)

    def agreement(self) -> list[Line]:
        """Does it come back on another sample: the means over all tables that a method can do."""
        lines = []
        for name in self.methods:
            chosen = self._chosen(name)
            claimed = [r for r in chosen if r.get("claimed") is not None]
            lines.append(
                {
                    "method": name,
                    "same predictions": _percent(_mean(chosen, "agreement")),
                    "same regions": _number(_mean(chosen, "same_regions")),
                    "own figure minus unseen": _points(
                        _mean(claimed, "claimed") - _mean(claimed, "described")
                    ),
                }
            )
        return lines

    def limited(self) -> list[Line]:
        """Share described at 2, 4 and 8 regions, over the tables that every such method can do."""
        names = [name for name in self.methods if METHODS[name].limited]
        common = [pair for pair in self.pairs if all(self._at(n, pair, 8) for n in names)]
        lines = []
        for name in names:
            line: Line = {"method": name}
            for limit in (2, 4, 8):
                found = [r for pair in common for r in self._at(name, pair, limit)]
                line[f"{limit} regions"] = _percent(_mean(found, "described"))
                line[f"to read ({limit})"] = f"{_mean(found, 'pieces'):,.0f}"
            lines.append(line)
        return lines

    def known_answers(self) -> list[Line]:
        """Whether the true columns and thresholds are found, at what each method chose."""
        lines = []
        for table, _ in self.pairs:
            for name in self.methods:
                mine = [r for r in self._chosen(name) if r["table"] == table and r.get("cuts")]
                if mine:
                    lines.append(
                        {
                            "table": table,
                            "method": name,
                            "right features": _percent(_mean(mine, "right_columns")),
                            "right thresholds": _percent(_mean(mine, "right_thresholds")),
                            "cuts": f"{_mean(mine, 'cuts'):.1f}",
                            "described": _percent(_mean(mine, "described")),
                        }
                    )
        return lines

    def importance(self) -> list[Line]:
        """Kendall's tau between two rankings of features, on all unseen rows and inside regions."""
        lines = []
        asked = [r for r in self.records if "question" in r]
        for table, model in self.pairs:
            for question in dict.fromkeys(r["question"] for r in asked):
                mine = [
                    r
                    for r in asked
                    if (r["table"], r["model"], r["question"]) == (table, model, question)
                ]
                done = [r for r in mine if "error" not in r]
                if done:
                    lines.append(
                        {
                            "table": table,
                            "model": model,
                            "question": question,
                            "regions": f"{_mean(done, 'regions'):.1f}",
                            "tau, all rows": _number(_mean(done, "tau_outside")),
                            "tau, inside regions": _number(_mean(done, "tau_inside")),
                        }
                    )
        return lines

    def cannot(self) -> list[Line]:
        """What a method could not do, in its own words."""
        lines: dict[tuple[str, str], Line] = {}
        for record in self.records:
            name = record.get("method", record.get("question"))
            for key in ("error", "error_of_the_other_sample"):
                if key in record:
                    message = ADDRESS.sub("", record[key])
                    entry = lines.setdefault(
                        (str(name), message), {"method": name, "tables": set()}
                    )
                    entry["tables"].add(record["table"])
        return [
            {"method": name, "tables": ", ".join(sorted(entry["tables"])), "its words": words}
            for (name, words), entry in sorted(lines.items())
        ]

    def better(self) -> list[Line]:
        """Where another method describes at least one point more than our default, on the same seeds."""
        lines = []
        for pair in self.pairs:
            for name in self.methods:
                if name in (OURS, AUTO):
                    continue
                ours, theirs = self._paired(pair, name)
                gains = [r["described"] - o["described"] for o, r in zip(ours, theirs, strict=True)]
                if gains and np.mean(gains) >= POINT:
                    more = sum(gain > 0.0 for gain in gains)
                    lines.append(
                        {
                            "table": pair[0],
                            "model": pair[1],
                            "method": name,
                            "described": _percent(_mean(theirs, "described")),
                            "to read": f"{_mean(theirs, 'pieces'):,.0f} {_unit(theirs)}",
                            "seconds": f"{_mean(theirs, 'seconds'):.2g}",
                            "ours": _percent(_mean(ours, "described")),
                            "ours to read": f"{_mean(ours, 'pieces'):,.0f} curves",
                            "our seconds": f"{_mean(ours, 'seconds'):.2g}",
                            "more in": f"{more} of {len(gains)} seeds",
                        }
                    )
        return lines

    def _paired(self, pair: tuple[str, str], name: str) -> tuple[list[Line], list[Line]]:
        """The records of our default and of another method on the seeds that both have."""
        ours = {r["seed"]: r for r in self._at(OURS, pair, None)}
        theirs = {r["seed"]: r for r in self._at(name, pair, None)}
        common = sorted(ours.keys() & theirs.keys())
        return [ours[seed] for seed in common], [theirs[seed] for seed in common]

    # -- figures -----------------------------------------------------------------------------------

    def figures(self) -> dict[str, Figure]:
        """Variance described against what there is to read, and against model rows."""
        return {
            "pieces": self._panels("pieces", "curves, surfaces or numbers to read"),
            "model_rows": self._panels("model_rows", "rows asked of the model"),
        }

    def _panels(self, key: str, label: str) -> Figure:
        columns = min(PANELS_IN_A_ROW, len(self.pairs))
        rows = -(-len(self.pairs) // columns)
        figure = Figure(figsize=(2.4 * columns, 2.1 * rows + 0.9), layout="constrained")
        axes = np.atleast_1d(figure.subplots(rows, columns, sharey=True)).ravel()
        for ax, pair in zip(axes, self.pairs, strict=False):
            for name in self.methods:
                self._draw(ax, name, pair, key)
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter(FuncFormatter(_count_text))
            ax.xaxis.set_minor_formatter(NullFormatter())
            ax.set_ylim(0.0, 1.04)
            ax.yaxis.set_major_formatter(PercentFormatter(1.0))
            ax.grid(color="0.92", linewidth=0.6)
            ax.set_axisbelow(True)
            ax.set_title(f"{pair[0]}, {pair[1]}", fontsize=9)
            ax.tick_params(labelsize=8)
        for ax in axes[len(self.pairs) :]:
            ax.set_axis_off()
        figure.supxlabel(label, fontsize=10)
        figure.supylabel("share of the model's variance, unseen rows", fontsize=10)
        handles, labels = _legend(axes[: len(self.pairs)])
        figure.legend(
            handles, labels, loc="outside upper center", ncols=4, fontsize=9, frameon=False
        )
        return figure

    def _draw(self, ax: Any, name: str, pair: tuple[str, str], key: str) -> None:
        """The method's path over 2, 4, 8 regions as a line, what it chose as a point."""
        path = [self._at(name, pair, limit) for limit in (2, 4, 8)]
        steps = [(_mean(r, key), _mean(r, "described")) for r in path if r]
        if steps and key == "pieces":
            ax.plot(*zip(*steps, strict=True), "-", color=COLORS[name], linewidth=1.0, alpha=0.7)
        chosen = self._at(name, pair, None)
        if chosen:
            point = (_mean(chosen, key), max(_mean(chosen, "described"), LOWEST_SHOWN))
            is_ours = name in (OURS, AUTO)
            ax.plot(
                *point,
                MARKERS[name],
                color=COLORS[name],
                markersize=6.5 if is_ours else 5.5,
                linestyle="none",
                label=name,
            )

    # -- words -------------------------------------------------------------------------------------

    def markdown(self) -> str:
        """The section of RESULTS.md."""
        parts = []
        for heading, lines in self.tables().values():
            if lines:
                parts.append(f"{heading}\n\n{markdown_table(lines)}")
        parts.append("![against what there is to read](pieces)")
        parts.append("![against rows asked of the model](model_rows)")
        parts.append(f"**What a practitioner learns.** {self.lesson()}")
        return "\n\n".join(parts)

    def tables(self) -> dict[str, tuple[str, list[Line]]]:
        """Every table with the sentence above it."""
        lines = {
            "setup": self.setup(),
            "seeds": self.seeds(),
            "described": self.described(),
            "pieces": self.pieces(),
            "limited": self.limited(),
            "seconds": self.seconds(),
            "model_rows": self.model_rows(),
            "agreement": self.agreement(),
            "known": self.known_answers(),
            "importance": self.importance(),
            "better": self.better(),
            "cannot": self.cannot(),
        }
        return {name: (HEADINGS[name], lines[name]) for name in lines}

    def lesson(self) -> str:
        """One paragraph, computed from the records."""
        sentences = []
        for name in (OURS, "effector PDP", "EBM", "linear model tree", "decision tree"):
            if name in self.methods:
                common = [pair for pair in self.pairs if self._at(name, pair, None)]
                mine = [_mean(self._at(name, p, None), "described") for p in common]
                read = [_mean(self._at(name, p, None), "pieces") for p in common]
                unit = _unit(self._chosen(name))
                sentences.append(
                    f"{name}: {_percent(float(np.median(mine)))}% of the variance with "
                    f"{np.median(read):.0f} {unit} ({len(common)} models)"
                )
        return "; ".join(sentences) + "."

    def agreement_of_rankings(self) -> str:
        """Whether regions make two importances agree, in sentences computed from the records."""
        sentences = []
        for question in ("pfi-risk", "cfi-pfi"):
            before, after, regions = self._taus(question)
            if not before:
                continue
            changes = [b - a for a, b in zip(before, after, strict=True)]
            split = [change for change, count in zip(changes, regions, strict=True) if count > 1.0]
            rises = sum(change > TAU_STEP for change in split)
            falls = sum(change < -TAU_STEP for change in split)
            sentences.append(
                f"For ``{question}`` the mean tau over {len(before)} models goes from "
                f"{np.mean(before):.2f} over all rows to {np.mean(after):.2f} inside regions; of the "
                f"{len(split)} models with more than one region it rises for {rises} and falls for "
                f"{falls}."
            )
        return " ".join(sentences)

    def _taus(self, question: str) -> tuple[list[float], list[float], list[float]]:
        """Mean tau over all rows and inside regions, and the number of regions, by table and model."""
        before: list[float] = []
        after: list[float] = []
        regions: list[float] = []
        for pair in self.pairs:
            done = [
                r
                for r in self.records
                if r.get("question") == question
                and (r["table"], r["model"]) == pair
                and "error" not in r
            ]
            if done:
                before.append(_mean(done, "tau_outside"))
                after.append(_mean(done, "tau_inside"))
                regions.append(_mean(done, "regions"))
        return before, after, regions

    def slower_than_default(self) -> str:
        """How many times as long ``alpha="auto"`` takes, from the least to the most, on the same seeds."""
        ratios = []
        for pair in self.pairs:
            ours, auto = self._paired(pair, AUTO)
            if ours:
                ratios.append(_mean(auto, "seconds") / _mean(ours, "seconds"))
        if not ratios:
            return "–"
        low, middle, high = np.quantile(ratios, [0.0, 0.5, 1.0])
        return f"{low:.1f} to {high:.0f} times (median {middle:.0f})"

    def against_others(self) -> str:
        """For how many models our default describes more than each other method, on the same seeds."""
        counts = []
        for name in self.methods:
            if name in (OURS, AUTO):
                continue
            gains = []
            for pair in self.pairs:
                ours, theirs = self._paired(pair, name)
                if ours:
                    gains.append(_mean(ours, "described") - _mean(theirs, "described"))
            counts.append(f"{name} for {sum(gain > 0.0 for gain in gains)} of {len(gains)} models")
        return f"On the same rows our default describes more than {', than '.join(counts)}."

    def mean_of(self, name: str, pair: tuple[str, str], key: str) -> float:
        """The mean of a figure of a method at what it chose; NaN where there is none."""
        return _mean(self._at(name, pair, None), key)

    def unit_of(self, name: str) -> str:
        """What there is to read of a method: curves, numbers, coefficients."""
        return _unit(self._chosen(name))

    # -- records -----------------------------------------------------------------------------------

    def _chosen(self, name: str) -> list[Line]:
        return [
            r
            for r in self.records
            if r.get("method") == name and r["limit"] is None and "error" not in r
        ]

    def _at(self, name: str, pair: tuple[str, str], limit: int | None) -> list[Line]:
        return [
            r
            for r in self.records
            if r.get("method") == name
            and (r["table"], r["model"]) == pair
            and r["limit"] == limit
            and "error" not in r
        ]

    def _seeds(self, name: str, pair: tuple[str, str]) -> set[int]:
        return {
            r["seed"]
            for r in self.records
            if r.get("method") == name and (r["table"], r["model"]) == pair
        }

    def _by_pair(self, key: str, shown: Callable[[float], str]) -> list[Line]:
        lines = []
        for pair in self.pairs:
            line: Line = {"table": pair[0], "model": pair[1]}
            for name in self.methods:
                line[SHORT[name]] = self._cell(name, pair, key, shown)
            lines.append(line)
        return lines

    def _cell(
        self, name: str, pair: tuple[str, str], key: str, shown: Callable[[float], str]
    ) -> str:
        chosen = self._at(name, pair, None)
        if chosen:
            return shown(_mean(chosen, key))
        tried = [
            r for r in self.records if r.get("method") == name and (r["table"], r["model"]) == pair
        ]
        return "cannot" if tried else "–"


HEADINGS = {
    "setup": "**Tables and models.** Rows of the table, features, rows that the model was fitted on, rows of one "
    "sample (what a method sees), and rows that neither model nor method has seen, which judge.",
    "seeds": "**Seeds** on which each method was run: another draw of the rows, another model.",
    "described": "**Described.** Percent of the model's variance on unseen rows, at what each method chose; means over "
    "the seeds of the method.",
    "pieces": "**To read.** Curves (ours, effector, one curve), curves and surfaces (EBM), numbers in leaves (tree, "
    "FIGS), coefficients (linear tree).",
    "limited": "**At the same number of regions.** Percent described when a method is told to make 2, 4 or 8 regions "
    "(effector: in each feature; FIGS: as many rules), and what there is to read then; means over the tables that all "
    "of them can do, three seeds.",
    "seconds": "**Processor seconds** of one description, one thread, from the sample to what is read.",
    "model_rows": "**Model rows**, in thousands: rows that the model was asked for.",
    "agreement": "**Does it come back?** Both descriptions of two disjoint samples on the same unseen rows: one minus "
    "the variance of their difference, in percent of the model's variance; adjusted Rand index of their regions; and "
    "by how many points a method's own figure of what it describes exceeds that on unseen rows.",
    "known": "**Where the answer is known.** Percent of the true cuts whose feature, and whose threshold within 1% of "
    "a standard deviation, is among the cuts; how many cuts there are; percent described.",
    "importance": "**Importance.** Kendall's tau between both rankings of the features, on unseen rows: over all rows, "
    "and inside regions that were found for the question (weighted by rows).",
    "better": "**Where another method describes more** than our default, by at least one point; both on the same "
    "seeds.",
    "cannot": "**What could not be done**, in the words of the package.",
}


def summarize(data: dict[str, Any]) -> Summary:
    """Arrange what `experiments.peers.collect` found."""
    return Summary(
        records=data["records"],
        sizes=data["sizes"],
        machine=data["machine"],
        earlier=data.get("earlier"),
    )


def _count_text(value: float, place: int) -> str:
    """10, 100, 1k, 1M."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _mean(records: Iterable[Line], key: str) -> float:
    values = [r[key] for r in records if r.get(key) is not None]
    return float(np.mean(values)) if values else float("nan")


def _unit(records: list[Line]) -> str:
    return str(records[0]["unit"]).partition(" (")[0] if records else ""


def _thousands(count: float) -> str:
    return f"{count / 1000:,.0f}" if count >= 1000 else f"{count / 1000:.1f}"


def _percent(share: float) -> str:
    return "–" if np.isnan(share) else f"{100 * share:.1f}".replace("-", "−")


def _points(share: float) -> str:
    return "–" if np.isnan(share) else f"{100 * share:+.1f}".replace("-", "−")


def _number(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}"


def _legend(axes: Iterable[Any]) -> tuple[list[Any], list[str]]:
    handles: dict[str, Any] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    return list(handles.values()), list(handles)
