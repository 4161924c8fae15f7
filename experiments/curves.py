"""How many curves describe how much: shared along the tree, one a feature and region, and beside other packages.

``python -m experiments.curves --data DIR --out FILE`` measures (tables as ``experiments.peers --export DIR`` wrote
them) and writes one line of JSON for each table, model and seed, so that a run that was stopped goes on where it
ended; ``--collect FILE …`` puts such files together as ``results/curves.json``. Figures of effector and of EBMs are
those of ``results/peers.json``: the same tables, models, rows and seeds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.peer_tables import PAIRS, CountedModel, fit_model, load, split_rows
from experiments.results import Result, table, write

SEEDS = 5
FRACTIONS = (0.15, 0.4, 1.0)  # of what regions add, that sharing may cost: fewer and fewer curves
OTHERS = ("effector PDP", "EBM")
HERE = Path(__file__).parent / "results"
Line = dict[str, Any]


def measure(name: str, kind: str, seed: int, folder: Path | None) -> Line:
    """Curves and shares described on unseen rows, of one model on one sample."""
    import granite_xai as gx

    data = load(name, folder)
    split = split_rows(data, seed)
    model = fit_model(kind, data, split.train, seed)
    predict = CountedModel(model, data.output)
    sample = data.X.iloc[split.samples[0]].reset_index(drop=True)
    test = data.X.iloc[split.test].reset_index(drop=True)
    truth = predict(test)
    missing = "allow" if sample.isna().any(axis=None) else "auto"

    def described(**options: Any) -> tuple[int, float]:
        g = gx.Granite(model, "ice-pdp", output=data.output, missing=missing, **options).fit(sample)
        left = np.mean(np.square(truth - g.predict(test)))
        return len(g.curves_), float(1.0 - left / np.var(truth))

    began = time.process_time()
    shared = described()
    seconds = time.process_time() - began
    return {
        "table": name,
        "model": kind,
        "seed": seed,
        "seconds": seconds,
        "shared": shared,
        "unshared": described(shared_curves=0),
        "fewer": [described(shared_curves=fraction) for fraction in FRACTIONS],
        "finer": described(max_depth=3, alpha=0.01),
    }


def _others() -> dict[tuple[str, str, int, str], tuple[int, float]]:
    """Pieces and shares of other packages where they choose by themselves."""
    peers = json.loads((HERE / "peers.json").read_text(encoding="utf-8"))
    found = {}
    for record in peers["data"]["records"]:
        if record.get("method") in OTHERS and record["limit"] is None and "described" in record:
            key = (record["table"], record["model"], record["seed"], record["method"])
            found[key] = (int(record["pieces"]), float(record["described"]))
    return found


def _at_most(line: Line, n_curves: int) -> tuple[float, float]:
    """Of what was tried the most curves that are no more than so many, and their share; NaN where all are more."""
    tried = [line["unshared"], line["shared"], *line["fewer"]]
    few = [(curves, share) for curves, share in tried if curves <= n_curves]
    return max(few) if few else (float("nan"), float("nan"))


def _text(curves: float, share: float) -> str:
    """A share in percent, and in brackets how many curves there are to read."""
    return f"{100 * share:.1f} ({curves:.0f})"


def _mean_text(pairs: Sequence[Sequence[float]]) -> str:
    curves = statistics.mean(pair[0] for pair in pairs)
    share = statistics.mean(pair[1] for pair in pairs)
    return _text(curves, share)


def lines_of(records: Iterable[Line]) -> list[Line]:
    """A line for each table and model: means over the seeds, curves and the share that they describe."""
    others = _others()
    by_pair: dict[tuple[str, str], list[Line]] = {}
    for record in records:
        by_pair.setdefault((record["table"], record["model"]), []).append(record)
    lines = []
    for name, kind in PAIRS:
        found = by_pair.get((name, kind), [])
        if not found:
            continue
        line: Line = {
            "table": name,
            "model": kind,
            "seeds": len(found),
            "shared": _mean_text([record["shared"] for record in found]),
            "one a region": _mean_text([record["unshared"] for record in found]),
            "finer regions, shared": _mean_text([record["finer"] for record in found]),
        }
        for method in OTHERS:
            keys = [(name, kind, record["seed"], method) for record in found]
            theirs = [others[key] for key in keys if key in others]
            line[method] = _mean_text(theirs) if theirs else "–"
        matched = []
        for record in found:
            theirs_here = others.get((name, kind, record["seed"], "effector PDP"))
            if theirs_here is not None:
                matched.append(_at_most(record, theirs_here[0]))
        known = [pair for pair in matched if np.isfinite(pair[0])]
        line["ours, no more than effector"] = _mean_text(known) if known else "–"
        lines.append(line)
    return lines


def medians(records: Sequence[Line]) -> Line:
    """Medians over tables and models of the means over seeds."""
    others = _others()
    line: Line = {"table": "median", "model": "", "seeds": ""}

    def median_text(of: Callable[[Line], Sequence[float] | None]) -> str:
        means = []
        for pair in PAIRS:
            found = [of(record) for record in records if (record["table"], record["model"]) == pair]
            known = [value for value in found if value is not None]
            if known:
                means.append(np.mean(known, axis=0))
        curves, share = np.median(means, axis=0)
        return _text(curves, share)

    line["shared"] = median_text(lambda record: record["shared"])
    line["one a region"] = median_text(lambda record: record["unshared"])
    line["finer regions, shared"] = median_text(lambda record: record["finer"])
    for method in OTHERS:
        line[method] = median_text(
            lambda record, method=method: others.get(
                (record["table"], record["model"], record["seed"], method)
            )
        )
    line["ours, no more than effector"] = ""
    return line


def against_effector(records: Sequence[Line]) -> str:
    """At how many models ours describe as much as effector with no more curves than effector has, and where not."""
    others = _others()
    behind: list[str] = []
    n_known = 0
    for name, kind in PAIRS:
        gaps = []
        for record in records:
            theirs = others.get((name, kind, record["seed"], "effector PDP"))
            if (record["table"], record["model"]) == (name, kind) and theirs is not None:
                gaps.append(_at_most(record, theirs[0])[1] - theirs[1])
        known = [gap for gap in gaps if np.isfinite(gap)]
        if not known:
            continue
        n_known += 1
        gap = 100 * statistics.mean(known)
        if gap < -0.05:
            behind.append(f"{name}, {kind} ({-gap:.1f} points)")
    text = (
        "With no more curves than effector has, ours describe as much or more for "
        f"{n_known - len(behind)} of {n_known} models (of the five degrees of sharing that were tried, "
        "the one with the most curves that are no more than effector's)"
    )
    return f"{text}; behind on {'; '.join(behind)}." if behind else f"{text}."


def result_of(records: Sequence[Line]) -> Result:
    """The table with what it is about."""
    words = (
        "Percent of the model that is described on unseen rows, and in brackets the curves there are to read (EBM: "
        "curves and surfaces); means over seeds. Shared: a feature's curve is told once where regions do not differ "
        "(the default). One a region: `shared_curves=0`. Finer regions: `max_depth=3, alpha=.01`. Last: ours, shared "
        "more and more (`shared_curves=.15`, `.4`, `1`) until there are no more curves than effector's."
    )
    lines = [*lines_of(records), medians(records)]
    sentence = against_effector(records)
    data = {"words": words, "lines": lines, "against_effector": sentence, "records": list(records)}
    return Result("Curves", f"{words}\n\n{table(lines)}\n\n{sentence}", data)


def run(quick: bool) -> Result:
    """The table, for the page of all experiments."""
    pairs = (("step", "formula"), ("three-way", "formula")) if quick else PAIRS
    seeds = 1 if quick else SEEDS
    return result_of([measure(*pair, seed, None) for seed in range(seeds) for pair in pairs])


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what a file lacks, or put files together."""
    parser = argparse.ArgumentParser(prog="python -m experiments.curves", description=__doc__)
    parser.add_argument("--data", type=Path, help="folder of tables that peers --export wrote")
    parser.add_argument("--out", type=Path, help="file of lines of JSON to write or to go on with")
    parser.add_argument("--collect", type=Path, nargs="+", metavar="FILE", help="files of --out")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no task after these")
    parser.add_argument("--seeds", default=f"0:{SEEDS}", help="first:last+1")
    options = parser.parse_args(arguments)
    if options.collect:
        records = [
            json.loads(text)
            for path in options.collect
            for text in path.read_text(encoding="utf-8").splitlines()
        ]
        seconds = sum(record["seconds"] for record in records)
        write(result_of(records), "curves", HERE, seconds, quick=False)
        return
    done = set()
    if options.out.exists():
        for text in options.out.read_text(encoding="utf-8").splitlines():
            record = json.loads(text)
            done.add((record["table"], record["model"], record["seed"]))
    began = time.monotonic()
    first, last = map(int, options.seeds.split(":"))
    with options.out.open("a", encoding="utf-8") as lines:
        for seed in range(first, last):
            for name, kind in PAIRS:
                if (name, kind, seed) in done or time.monotonic() - began > 60 * options.minutes:
                    continue
                lines.write(json.dumps(measure(name, kind, seed, options.data)) + "\n")
                lines.flush()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
