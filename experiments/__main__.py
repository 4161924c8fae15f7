"""Run the experiments and assemble RESULTS.md: ``python -m experiments [NAME …] [--quick] [--out DIR]``."""

from __future__ import annotations

import argparse
import importlib
import json
import time
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib import pyplot

from experiments import NAMES
from experiments.results import write

HOME = Path(__file__).parent
RESULTS = HOME / "results"
ABOUT = """Every table and figure of Herbinger et al., *GRANITE* (AISTATS 2026), by one command each, with the paper's
number beside ours. `make experiments` runs all, `make experiment NAME=…` one. Each experiment is a short script on the
public interface; its numbers are in `results/NAME.json`. This page is assembled from them.
But for "Chance", "Curves" and "Scale" they were measured with version 0.2.0, before the numeric core was written anew:
fits of the paper's algorithm are the same now, noise bars, intervals and some refined trees are not (CHANGELOG.md)."""
QUICK = HOME / ".cache" / "quick"  # the small variant never replaces the results


def main(arguments: list[str] | None = None) -> None:
    """Run the chosen experiments; the default folder also gets RESULTS.md."""
    options = _options(arguments)
    folder = RESULTS
    if options.out:
        folder = options.out
    elif options.quick:
        folder = QUICK
    matplotlib.use("agg")
    for name in options.names or NAMES:
        began = time.perf_counter()
        result = importlib.import_module(f"experiments.{name}").run(quick=options.quick)
        seconds = time.perf_counter() - began
        write(result, name, folder, seconds, quick=options.quick)
        pyplot.close("all")
        print(f"{name:20s}{seconds:8.1f} s")
    if folder == RESULTS:
        (HOME / "RESULTS.md").write_text(assembled(RESULTS), encoding="utf-8")


def assembled(folder: Path) -> str:
    """All sections in order, behind a head with commands, seconds and differences."""
    records = {}
    for name in NAMES:
        if (folder / f"{name}.json").exists():
            records[name] = _record(folder, name)
    sections = [_head(records), _differences(records)]
    sections += [_body(folder, name) for name in records]
    return "\n\n".join(sections) + "\n"


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m experiments", description="The paper's experiments."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"some of: {', '.join(NAMES)}; none: all"
    )
    parser.add_argument("--quick", action="store_true", help="fewer rows, one seed")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where results go (default: experiments/results)"
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in NAMES]
    if unknown:
        parser.error(f"there is no experiment {', '.join(unknown)}; there are {', '.join(NAMES)}")
    return options


def _record(folder: Path, name: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return record


def _head(records: dict[str, dict[str, Any]]) -> str:
    lines = [
        "# The paper, reproduced and corrected",
        "",
        ABOUT,
        "",
        "| experiment | command | seconds |",
        "| --- | --- | --- |",
    ]
    for name, record in records.items():
        link = f"[{record['title']}](#{_anchor(record['title'])})"
        lines.append(f"| {link} | `make experiment NAME={name}` | {record['seconds']:.0f} |")
    total = sum(record["seconds"] for record in records.values())
    lines.append(f"| all | `make experiments` | {total:.0f} |")
    lines += ["", *_caveats(records)]
    return "\n".join(lines)


def _caveats(records: dict[str, dict[str, Any]]) -> list[str]:
    """Say what is missing and what is small, so that nobody takes this page for complete when it is not."""
    caveats = [
        "Seconds are wall time on two cores; models that are already tuned are fitted again, not tuned again."
    ]
    missing = [name for name in NAMES if name not in records]
    small = [name for name, record in records.items() if record["quick"]]
    if missing:
        caveats.append(f"Not run yet: {', '.join(missing)}.")
    if small:
        caveats.append(f"Only the small variant: {', '.join(small)}.")
    return caveats


def _differences(records: dict[str, dict[str, Any]]) -> str:
    lines = ["## Differences from the paper, and why", ""]
    for record in records.values():
        lines += [f"- *{record['title']}.* {line}" for line in record["differences"]]
    return "\n".join(lines)


def _body(folder: Path, name: str) -> str:
    """A section, one level down, its pictures found from one folder up; the differences stand at the top already."""
    text = (folder / f"{name}.md").read_text(encoding="utf-8")
    text, _, _ = text.partition("\n\n**Different from the paper:**")
    text = text.replace(f"]({name}-", f"]({folder.name}/{name}-")
    lines = []
    for line in text.strip().splitlines():
        is_headline = line.startswith("#")
        lines.append(f"#{line}" if is_headline else line)
    return "\n".join(lines)


def _anchor(title: str) -> str:
    """The address of a headline as GitHub writes it."""
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")


if __name__ == "__main__":
    main()
