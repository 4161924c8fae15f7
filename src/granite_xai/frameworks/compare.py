"""All frameworks side by side, the paper's overview of what they address, and importance inside the regions of one."""

from __future__ import annotations

import time
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from granite_xai.base.errors import GraniteWarning, InputError
from granite_xai.base.typing import IntArray
from granite_xai.base.validation import choose, whole_number
from granite_xai.disagreement.disagreement import Disagreement
from granite_xai.estimator import Granite
from granite_xai.explanation.catalog import explanations
from granite_xai.explanation.explainer import Explainer
from granite_xai.fitting.evaluation import evaluate_rows
from granite_xai.fitting.fitted_view import fitted_view
from granite_xai.frameworks import published
from granite_xai.regions.partition import Partition
from granite_xai.tables import frame, read_table

SHARE = 0.8  # part of the rows that a refit sees
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "granite": ("question",),
    "vine": ("feature",),
    "cohex": (),
}
ARGUMENTS |= {
    "repid": ("feature",),
    "gadget": (),
    "fd_trees": (),
    "transformation_trees": ("feature", "question"),
}
"""What each is given. Regions of the last depend on the rows alone: the question is only what is reported in them."""
READING = (
    "output",
    "response",
    "missing",
    "kinds",
    "max_samples",
    "n_jobs",
    "random_state",
    "resources",
)  # of rows
_LETTERS = {"marginal": "m", "conditional": "c", "accumulated": "c", "baseline": "b"}
_INTERACTIONS = ("full", "partial", "pure")
_CELLS = {True: "✓", False: "✗", None: "–"}


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
    """Fit every framework and measure its regions with the same questions on other rows: a frame.

    Its columns: framework, feature, regions, rules, "remaining …" for each question, fidelity (of the regional additive
    surrogate on the test rows), stability (mean adjusted Rand index on the test rows between the regions and those of
    the refits), seconds (of the fit).

    Parameters
    ----------
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
    **options
        Of every `Granite` made here.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Z = rng.uniform(-1, 1, (120, 3)), rng.uniform(-1, 1, (80, 3))
    >>> model = lambda X: X[:, 0] * np.sign(X[:, 2])
    >>> found = compare(model, X, test=Z, frameworks=["granite", "repid"], resamples=0)
    >>> found["regions"].tolist()
    [2, 2]
    """
    whole_number("resamples", resamples, at_least=0)
    if not questions or isinstance(questions, str):
        raise InputError("questions is not a list of questions.", code="P01", argument="questions")
    reading = {name: options[name] for name in READING if name in options} | {
        "confidence_level": None
    }  # all rows
    fitted = [Granite(model, question, max_depth=0, **reading).fit(X, y) for question in questions]
    rulers = {
        " + ".join(question.label for question in published.asked(ruler)): ruler for ruler in fitted
    }
    chosen = _chosen(model, X, questions[0], frameworks, feature, options)
    lines = [
        _line(name, g, X, y, test, rulers, resamples, random_state) for name, g in chosen.items()
    ]
    return frame(
        {key: [line[key] for line in lines] for key in lines[0]},
        like=read_table(X, missing="allow"),
    )


def _line(
    name: str,
    granite: Granite,
    X: Any,
    y: Any,
    test: Any,
    rulers: dict[str, Any],
    resamples: int,
    random_state: int,
) -> dict[str, Any]:
    """One framework, fitted and measured on other rows."""
    other_X, other_y = test if isinstance(test, tuple) and len(test) == 2 else (test, None)
    begin = time.perf_counter()
    partition, seconds = granite.fit(X, y).partition_, time.perf_counter() - begin
    return {
        "framework": name,
        "feature": "all" if granite.features is None else ", ".join(map(str, granite.features)),
        "regions": len(partition),
        "rules": " | ".join(map(str, partition.rules)),
        **{
            f"remaining {label}": remaining(ruler, partition, other_X, other_y)
            for label, ruler in rulers.items()
        },
        "fidelity": fitted_view(granite).held_out_fidelity(other_X),
        "stability": stability(granite, X, y, other_X, resamples, random_state),
        "seconds": seconds,
    }


def _chosen(
    model: Any,
    X: Any,
    question: Any,
    frameworks: Any,
    feature: Hashable | None,
    options: Mapping[str, Any],
) -> dict[str, Granite]:
    """The frameworks to compare, unfitted, by name."""
    if isinstance(frameworks, Mapping):
        return dict(frameworks)
    known = {name: name for name in ARGUMENTS}
    names = (
        list(known)
        if frameworks is None
        else [choose("frameworks", name, known) for name in frameworks]
    )
    if not names:
        raise InputError(
            "frameworks is empty.", code="P01", argument="frameworks", hint="Name at least one."
        )
    if feature is None and any("feature" in ARGUMENTS[name] for name in names):
        feature = busiest_column(model, X, options)
    given, makers = (
        {"feature": feature, "question": question},
        {n: getattr(published, n, Granite) for n in names},
    )
    return {
        name: make(model, *(given[a] for a in ARGUMENTS[name]), **options)
        for name, make in makers.items()
    }


def busiest_column(model: Any, X: Any, options: Mapping[str, Any]) -> str:
    """The column whose full and pure local effects differ most."""
    chosen = {
        name: options[name] for name in ("output", "response", "resources") if name in options
    }
    ice, pdp = (explanations()[name].explain(model, X, **chosen) for name in ("ice", "pdp"))
    gaps = np.square(ice.values - pdp.values).mean(axis=0)
    first = int(np.argmax(gaps >= (1 - 1e-9) * gaps.max()))  # of equal ones, whatever the rounding
    return ice.sets[first][0]


def stability(
    granite: Granite, X: Any, y: Any, test: Any, resamples: int = 3, random_state: int = 0
) -> float:
    """Mean adjusted Rand index between a fit and its refits on parts of the rows, on other rows; NaN without any."""
    if resamples == 0:
        return float("nan")
    table, known = read_table(X, missing="allow"), granite.apply(test)
    rng, found = np.random.default_rng(random_state), []
    for _ in range(resamples):
        rows = np.sort(
            rng.choice(table.n_rows, size=max(1, int(SHARE * table.n_rows)), replace=False)
        )
        part = None if y is None else np.asarray(y)[rows]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GraniteWarning)  # said once already, by the fit itself
            again = clone(granite).fit(table.take(rows).native, part)
            found.append(adjusted_rand_score(known, again.apply(test)))
    return float(np.mean(found))


def remaining(ruler: Granite, partition: Partition, X: Any, y: Any) -> float:
    """Share of the disagreement on other rows that some regions leave."""
    new, _ = fitted_view(ruler).other_rows(X, y)
    plain = replace(new, fitted=replace(new.fitted, partition=partition, confidence=None))
    return evaluate_rows(plain, partition.apply(new.route.table)).remaining


def configurations() -> dict[str, list[Granite]]:
    """Each framework in all its forms, without a model, and GRANITE with every pair that the algebra allows."""
    every = list(product(("marginal", "conditional", "baseline"), _INTERACTIONS))
    pairs = [(a, b) for a, b in product(every, every) if a < b]
    axes = product(("local", "risk", "sensitivity"), pairs)
    anything = [
        Disagreement(Explainer(m, b, i), Explainer(n, b, j)) for b, ((m, i), (n, j)) in axes
    ]
    return {
        "VINE": [published.vine(None, 0)],
        "CohEx": [published.cohex(None)],
        "REPID": [published.repid(None, 0)],
        "GADGET": [published.gadget(None, effect=effect) for effect in published.EFFECTS],
        "FD-Trees": [published.fd_trees(None, objective) for objective in published.OBJECTIVES],
        "Transf. Trees": [
            published.transformation_trees(None, 0, question)
            for question in ("cfi-pfi", "mplot-pdp")
        ],
        "GRANITE": [Granite(None, anything)],
    }


def overview() -> Any:
    """Which disagreement, behavior, masking and interaction each framework addresses, as a frame.

    ✓ fulfilled, ✗ not fulfilled, * all choices, – not defined.

    Examples
    --------
    >>> overview().iloc[0].tolist()
    ['VINE', '✓', '✗', '–', '✓', '✗', '✗', 'm', '–']
    """
    rows = {
        name: _row([q for one in forms for q in published.asked(one)])
        for name, forms in configurations().items()
    }
    return frame(
        {
            "framework": list(rows),
            **{key: [row[key] for row in rows.values()] for key in rows["GRANITE"]},
        }
    )


def _row(questions: list[Disagreement]) -> dict[str, str]:
    sides = ((question.first, question.second) for question in questions)
    keys = [(a.masking.key, a.interaction.key, b.masking.key, b.interaction.key) for a, b in sides]
    interactions = {
        (m, frozenset({i, j})) for m, i, n, j in keys if m == n and {i, j} <= set(_INTERACTIONS)
    }
    maskings = {(i, frozenset({m, n})) for m, i, n, j in keys if i == j and m != n}
    behaviors = {question.behavior.key for question in questions}
    return {
        "full → pure": _met({"full", "pure"}, interactions),
        "partial → pure": _met({"partial", "pure"}, interactions),
        "conditional → marginal": _met({"conditional", "marginal"}, maskings),
        **{key: _CELLS[key in behaviors] for key in ("local", "risk", "sensitivity")},
        "masking": _listed({_LETTERS[m] for m, _ in interactions}, "mcb"),
        "interaction": _listed({i for i, _ in maskings}, _INTERACTIONS),
    }


def _met(wanted: set[str], pairs: set[tuple[str, frozenset[str]]]) -> str:
    return _CELLS[wanted in [pair for _, pair in pairs] if pairs else None]


def _listed(found: set[str], every: Iterable[str]) -> str:
    return (
        "–"
        if not found
        else "*"
        if found == set(every)
        else ", ".join(one for one in every if one in found)
    )


@dataclass(frozen=True, slots=True)
class Band:
    """An importance, and the 5 % and 95 % quantiles of its values on resampled rows."""

    value: float
    low: float
    high: float


def subgroup_importance(
    granite: Granite, X: Any, y: Any, *, repeats: int = 20, random_state: int = 0
) -> Band:
    """Conditional importance of a column: marginal importance inside regions, weighted by their rows.

    Every row is combined with every other one of its region, so that nothing is left to a random permutation; the
    band is about the rows. With ``gx.question("cfi-pfi", average="loss")`` this is permutation importance in the
    subgroups (cs-PFI) in expectation, and no row is combined with itself; a loss of averaged predictions, as the
    named questions have, averages over all rows of the region.

    Parameters
    ----------
    granite : Granite
        Fitted for one column and a question with "pfi" on one side, say by `transformation_trees`.
    X, y : table, array
        Rows to measure on, other than those of the fit.
    repeats : int
        Resamples of these rows for the band.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> g = published.transformation_trees(lambda X: 2 * X[:, 0], "x0", "pfi-risk").fit(X, 2 * X[:, 0])
    >>> band = subgroup_importance(g, X, 2 * X[:, 0], repeats=5)
    >>> band.low < band.value < band.high
    True
    """
    whole_number("repeats", repeats, at_least=1)
    table, target, rng = (
        read_table(X, missing="allow"),
        np.asarray(y),
        np.random.default_rng(random_state),
    )
    draws = [rng.integers(table.n_rows, size=table.n_rows) for _ in range(repeats)]
    values = [_weighted(granite, table.take(rows).native, target[rows], rows) for rows in draws]
    value = _weighted(granite, X, y, np.arange(table.n_rows))
    return Band(value, *np.quantile(values, [0.05, 0.95]).tolist())


def _weighted(granite: Granite, X: Any, y: Any, drawn: IntArray) -> float:
    """Mean over regions; a mean over all pairs of rows holds those of a row (drawn once or more) with itself, all 0."""
    importances = [part for part in granite.explain(X, y).parts if part.name == "pfi"]
    if not importances or any(
        part.rows is not None or len(part.values) != 1 for part in importances
    ):
        words = "the question holds no permutation importance of one feature."
        hint = 'Fit transformation_trees(model, feature, "cfi-pfi").'
        raise InputError(words, code="P03", argument="granite", hint=hint)
    regions, total = granite.apply(X), 0.0
    counts = np.bincount(regions)
    by_pairs = any(
        getattr(question.behavior, "average", None) == "loss"
        for question in published.asked(granite)
    )
    for part in importances:
        same = np.square(np.bincount(drawn[regions == part.region])).sum() if by_pairs else 0
        pairs = counts[part.region] ** 2
        total += (
            counts[part.region] * part.values[0] * (pairs / (pairs - same) if same < pairs else 1.0)
        )
    return float(total / counts.sum())
