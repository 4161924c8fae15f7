"""Record the default fits anew: ``python tests/spec/record.py [name of a case ...]``.

Recording is a deliberate act: a change that should alter nothing leaves the records as they are. The program prints
every difference to the records before, of a tree that differs both trees, and what the regions of such trees leave on
rows that no fit has seen, before and after; then it writes ``defaults.json``. Names of cases record only these; without
a name all cases are recorded, and those that are gone are dropped. ``--look`` prints and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from default_cases import CASES
from default_figures import RECORD, Figures, differences, figures, read_records, write_records


def compare(before: dict[str, Figures], after: dict[str, Figures]) -> None:
    """Print every difference of the cases that stand in both."""
    kinds: Counter[str] = Counter()
    unseen = []
    for name in [name for name in after if name in before]:
        found = list(differences(before[name], after[name]))
        kinds.update({kind for kind, _ in found})
        for kind, words in found:
            print(f"{name} / {kind}: {words}")
        if "tree" in dict(found):
            unseen.append(
                [one["estimate"]["left on other rows"] for one in (before[name], after[name])]
            )
    told = ", ".join(f"{kind} {number}" for kind, number in kinds.items()) or "none"
    print(f"{len(after)} cases recorded, {len(set(after) - set(before))} new; that differ: {told}")
    known = np.array([pair for pair in unseen if None not in pair], dtype=float)
    if len(known):
        means = "recorded {:.4f}, computed {:.4f}".format(*known.mean(axis=0))
        print(f"left on other rows by the {len(known)} trees that differ, in the mean: {means}")


def main() -> None:
    """Record some cases, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="cases; without a name all of them")
    parser.add_argument("--look", action="store_true", help="print differences and write nothing")
    asked = parser.parse_args()
    before = read_records() if RECORD.exists() else {}
    after = {name: figures(CASES[name]) for name in asked.names or CASES}
    compare(before, after)
    if not asked.look:
        kept = {**before, **after}
        write_records({name: kept[name] for name in CASES if name in kept})


if __name__ == "__main__":
    main()
