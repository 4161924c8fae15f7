"""Record the golden fits anew: ``python tests/spec/golden/record.py [name of a case ...]``.

Recording is a deliberate act. The records say what the paper's algorithm computes, and a change of
the engine has to leave them as they are; write them anew only where a figure was wrong, or where
the words of a rule or of a stop reason have changed. The program prints every difference to the
records before, so that the change can be reviewed, then writes ``golden.json``. Names of cases
record only these; without a name all cases are recorded, and those that are gone are dropped.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from golden.cases import CASES
from golden.figures import RECORD, Figures, differences, figures, read_records, write_records
from golden.models import prediction_fingerprint


def record(name: str) -> Figures:
    """The figures of a case, with the fingerprint of its model where that was trained."""
    case = CASES[name]
    computed = figures(case)
    fingerprint = prediction_fingerprint(case.model, case.table)
    if fingerprint is not None:
        computed["fingerprint"] = fingerprint
    return computed


def main(names: list[str]) -> None:
    """Record some cases, or all of them, and print what is different from before."""
    before = read_records() if RECORD.exists() else {}
    after = {name: before[name] for name in CASES if name in before}
    for name in names or CASES:
        after[name] = record(name)
        if name not in before:
            print(f"{name}: new")
            continue
        for difference in differences(before[name], after[name], CASES[name].tolerance):
            print(f"{name}{difference}")
    write_records({name: after[name] for name in CASES if name in after})


if __name__ == "__main__":
    main(sys.argv[1:])
