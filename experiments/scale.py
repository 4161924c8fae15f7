"""Whether another scale does what regions do: shares described with one curve per feature, in regions, and on log-odds.

Tables and models are those of `experiments.peers`, with a logistic regression for each table of classes. A fit with
default options says what one curve per feature describes on another scale, turned back; a second fit has that
``scale=``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments.peer_tables import fit_model, load, split_rows
from experiments.results import Result, table

SEED = 0
LOGISTIC = "logistic regression"
MODELS: tuple[tuple[str, str], ...] = (
    ("insurance", LOGISTIC),
    ("penguins", LOGISTIC),
    ("wine", LOGISTIC),
    ("cancer", LOGISTIC),
    ("digits", LOGISTIC),
    ("wine", "Gaussian process"),
    ("cancer", "support vectors"),
    ("cancer", "random forest"),
    ("penguins", "histogram boosting"),
    ("insurance", "histogram boosting"),
    ("digits", "neural network"),
    ("diamonds", "histogram boosting"),
    ("diamonds", "neural network"),
    ("computers", "random forest"),
    ("bike", "histogram boosting"),
    ("bike", "neural network"),
    ("diabetes", "random forest"),
    ("kin8nm", "neural network"),
)
SCALES = ("log-odds", "log")
Line = dict[str, Any]


def measure(name: str, kind: str, folder: Path | None = None) -> Line:
    """Regions and shares described of one model, on the scale of its predictions and on another."""
    import granite_xai as gx

    data = load(name, folder)
    split = split_rows(data, SEED)
    model = fit_model(kind, data, split.train, SEED)
    X = data.X.iloc[split.samples[0]].reset_index(drop=True)
    options = {"output": data.output, "missing": "allow" if X.isna().any(axis=None) else "auto"}
    began = time.process_time()
    g = gx.Granite(model, **options).fit(X)
    shares = g.estimate_.fidelities.value
    line: Line = {
        "table": name,
        "model": kind,
        "rows": len(X),
        "one curve": shares.overall.value,
        "in regions": shares.in_regions.value,
        "regions": len(g.partition_),
        "scale": shares.other_scale,
        "one curve there": shares.on_other_scale.value,
    }
    scale = SCALES[0] if data.output is not None else SCALES[1]
    try:
        there = gx.Granite(model, scale=scale, **options).fit(X)
    except gx.ModelError as error:  # predictions below 0 have no logarithm
        line["refused"] = str(error).splitlines()[0]
    else:
        line["with scale"] = scale
        line["in regions there"] = there.estimate_.fidelity
        line["regions there"] = len(there.partition_)
    line["seconds"] = time.process_time() - began
    return line


def lines_of(records: Sequence[Line]) -> list[Line]:
    """A line for each model, shares in percent, in brackets the number of regions."""
    return [
        {
            "table": record["table"],
            "model": record["model"],
            "rows": f"{record['rows']:,}",
            "one curve": _percent(record["one curve"]),
            "in regions": _in_regions(record["in regions"], record["regions"]),
            "other scale": record["scale"] or "–",
            "one curve there": _percent(record["one curve there"]),
            "in regions there": _in_regions(
                record.get("in regions there"), record.get("regions there")
            ),
        }
        for record in records
    ]


def _percent(described: float | None) -> str:
    is_known = described is not None and not math.isnan(described)
    return f"{100 * described:.1f}" if is_known else "–"


def _in_regions(described: float | None, n_regions: int | None) -> str:
    return "–" if n_regions is None else f"{_percent(described)} ({n_regions})"


def sentences_of(records: Sequence[Line]) -> str:
    """What the table says, and where another scale does not help."""
    looked_at = [record for record in records if record["scale"]]
    classifiers = [record for record in looked_at if record["scale"] == "log-odds"]
    enough = [each for each in classifiers if each["one curve there"] >= each["in regions"]]
    half = [
        each
        for each in classifiers
        if each not in enough
        and each["one curve there"] >= (each["one curve"] + each["in regions"]) / 2
    ]
    worse = [each for each in looked_at if each["one curve there"] < each["one curve"]]
    without = [record for record in records if not record["scale"]]
    return (
        "On log-odds one curve per feature describes at least as much as regions of the probability do for "
        f"{len(enough)} of {len(classifiers)} classifiers, and at least half of what regions add for {len(half)} more; "
        "a logistic regression of two classes needs no region there (with more classes the log-odds of one of them are "
        "no sum of terms, and some regions stay). It does not help where features interact on every scale, or where "
        "what logs miss grows when it is turned back: there one curve on the other scale describes less than one on "
        f"the model's own ({_named(worse)}); and predictions below 0 have no logarithm ({_named(without)})."
    )


def _named(records: Sequence[Line]) -> str:
    return "; ".join(f"{record['table']}, {record['model']}" for record in records)


def result_of(records: Sequence[Line]) -> Result:
    """The table with what it is about."""
    words = (
        "Percent of the model that is described on the rows that judge a fit (held-out ones, cross-validated below 600 "
        "rows), always of the predictions themselves, and in brackets the number of regions. One curve, in regions: "
        "`gx.Granite(model)`. One curve there: what that fit says of one curve per feature on log-odds (of a "
        "probability) or logs, turned back. In regions there: a fit with that `scale=`. One seed."
    )
    lines = lines_of(records)
    sentences = sentences_of(records)
    data = {"words": words, "lines": lines, "sentences": sentences, "records": list(records)}
    return Result("Scale", f"{words}\n\n{table(lines)}\n\n{sentences}", data)


def run(quick: bool) -> Result:
    """The table, for the page of all experiments."""
    models = [pair for pair in MODELS if pair[0] in ("wine", "cancer")] if quick else MODELS
    return result_of([measure(*pair) for pair in models])
