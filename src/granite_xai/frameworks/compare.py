"""All frameworks side by side on one model and one table."""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from granite_xai.base.errors import InputError
from granite_xai.base.options import whole_number
from granite_xai.estimator import Granite
from granite_xai.frameworks.measures import held_out_fidelity, question_label, remaining, stability
from granite_xai.frameworks.roster import reading, roster
from granite_xai.tables import frame, read_table


def compare(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    test: Any,
    questions: Sequence[Any] = ("ice-pdp",),
    frameworks: Sequence[str] | Mapping[str, Granite] | None = None,
    feature: Hashable | None = None,
    resamples: int = 3,
    random_state: int = 0,
    **options: Any,
) -> Any:
    """Fit every framework and measure its regions with the same questions on other rows.

    Parameters
    ----------
    model : object
    X, y : table, array
        Fitting rows; y for questions about risk.
    test : tuple (X, y) or table
        Rows that the regions are measured on.
    questions : sequence, as in `Granite`
        Whose disagreement is measured, over all columns, whatever the framework itself looked at.
    frameworks : sequence of names, or mapping from names to unfitted `Granite` objects, optional
        None: granite, vine, cohex, repid, gadget, fd_trees and transformation_trees.
    feature : label, optional
        The column of frameworks for one column. None: that with the largest gap between ICE and PDP.
    resamples : int
        Refits on four fifths of the rows, for stability; 0: none.
    random_state : int
    **options
        Of every `Granite` made here.

    Returns
    -------
    frame
        framework, feature, regions, rules, "remaining …" for each question, fidelity (of the regional additive
        surrogate on the test rows), stability (mean adjusted Rand index on the test rows between the regions and those
        of the refits), seconds (of the fit).

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.uniform(-1, 1, (120, 3)), rng.uniform(-1, 1, (80, 3))
    >>> model = lambda X: X[:, 0] * np.sign(X[:, 2])
    >>> found = compare(model, X, test=Z, frameworks=["granite", "repid"], resamples=0)
    >>> found["regions"].tolist()
    [2, 2]
    """
    whole_number("resamples", resamples, at_least=0)
    other_X, other_y = test if isinstance(test, tuple) and len(test) == 2 else (test, None)
    if not questions or isinstance(questions, str):
        raise InputError("questions is not a list of questions.", code="P01", argument="questions")
    rulers = [Granite(model, question, max_depth=0, **reading(options)).fit(X, y) for question in questions]
    chosen = roster(model, X, questions[0], frameworks, feature, options)
    lines = []
    for name, granite in chosen.items():
        begin = time.perf_counter()
        granite.fit(X, y)
        seconds = time.perf_counter() - begin
        line = _described(name, granite)
        line |= {f"remaining {question_label(r)}": remaining(r, granite.partition_, other_X, other_y) for r in rulers}
        line["fidelity"] = held_out_fidelity(granite, other_X)
        line["stability"] = stability(granite, X, y, other_X, resamples, random_state)
        lines.append(line | {"seconds": seconds})
    like = read_table(X, missing="allow")
    return frame({key: [line[key] for line in lines] for key in lines[0]}, like=like)


def _described(name: str, granite: Granite) -> dict[str, Any]:
    features = "all" if granite.features is None else ", ".join(map(str, granite.features))
    rules = " | ".join(map(str, granite.partition_.rules))
    return {"framework": name, "feature": features, "regions": len(granite.partition_), "rules": rules}
