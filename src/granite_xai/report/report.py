"""Report: one story about a fit, told as text, page, JSON and frame."""

from __future__ import annotations

import html
import inspect
import json
import os
import re
import sys
import tempfile
import time
import webbrowser
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.files import write_text
from granite_xai.base.text import plain
from granite_xai.base.typing import FloatArray, IntArray
from granite_xai.base.wording import ALL_ROWS, brief
from granite_xai.compute import Meter, one_blas_thread
from granite_xai.display.figures import framed
from granite_xai.estimator import Granite, fit_with_evaluations
from granite_xai.fitting.inputs import collected_for
from granite_xai.fitting.new_rows import FittedGranite, fitted_view
from granite_xai.fitting.options import GraniteOptions
from granite_xai.fitting.pipeline import FitRun
from granite_xai.report import page, sentences
from granite_xai.report.panels import (
    disagreement_map,
    effects,
    gaps_left,
    importance,
    ledger,
    regions,
    tree,
    triage,
)
from granite_xai.report.sentences import Amounts, ReportSource
from granite_xai.results.fit_values import known_values
from granite_xai.search.clarity import smooth_changes
from granite_xai.search.problem import GivenRules

VERSION = 2  # of the dict
MOST_ROWS, MOST_SETS = 20, 8  # rows that are told one by one, and sets of columns of each
HALVES, SEARCHED = (
    4,
    10_000,
)  # halves that the search is repeated on, where a table has at most so many cells
_NOT_IN_JSON = re.compile("[\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Report:
    """What `explain` found, or what a fit tells: text, HTML, Markdown, JSON and frame.

    Parameters
    ----------
    granite : Granite
        Fitted; one that was loaded or unpickled tells what its curves hold.
    X, y : table and array, optional
        Those of the fit; with them the report also maps questions about risk.
    test, rows, title
        As in `explain`.

    Attributes
    ----------
    story : dict
        Everything that is told, in plain types.
    granite : Granite
        The fitted estimator behind it.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy()
    >>> report = gx.explain(toy.model, toy.X, title="A toy")
    >>> str(report).startswith("A toy")
    True
    >>> list(report.frame())
    ['region', 'rule', 'n_samples', 'set', 'question', 'first', 'second', 'disagreement']
    """

    story: dict[str, Any]
    granite: Granite = field(compare=False)

    def __init__(
        self,
        granite: Granite,
        X: Any = None,
        y: Any = None,
        *,
        story: Any = None,
        unit: str = "",
        **told: Any,
    ) -> None:
        if story is None and vars(granite).get(
            "outputs_"
        ):  # the story of each output, in the regions of all
            title, each = (
                told.pop("title", None) or f"{len(granite.outputs_)} outputs in the same regions",
                {},
            )
            for k, name in enumerate(granite.outputs_):
                own = y if y is None or np.ndim(y) < 2 else np.asarray(y)[:, k]
                each[str(name)] = Report(
                    granite.of_output(name), X, own, unit=unit, title=str(name), **told
                ).story
            story = {
                "title": title,
                "opening": str(granite).partition("\n")[0],
                "outputs": each,
            }
        elif story is None:
            story = tell(_source(granite, fitted_view(granite).run, X, y, unit), **told)
        object.__setattr__(self, "granite", granite)
        object.__setattr__(self, "story", story)

    def show(self) -> None:
        """Show the page: in the notebook if this is one, otherwise in the browser, from a temporary file."""
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        if getattr(shell, "kernel", None) is not None:
            sys.modules["IPython"].display.display(self)
        else:
            path = Path(tempfile.mkdtemp(prefix="granite-")) / "report.html"
            self.html(path)
            webbrowser.open(path.as_uri())

    def __str__(self) -> str:
        """The story as text for a terminal."""
        return page.story_text(self.story, str(self.granite.partition_))

    def __repr__(self) -> str:
        """The first sentence."""
        return f"<Report: {plain(self.story['opening'])}>"

    def html(self, path: str | os.PathLike[str] | None = None) -> str:
        """One self-contained page; also written to ``path``, replacing what is there in one step."""
        return _written(page.render(self.story), path)

    def json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The story as JSON; also written to ``path``, replacing what is there in one step."""
        finite = json.loads(
            json.dumps(self.story), parse_constant=lambda _: None
        )  # JSON has no word for the others
        text = json.dumps(finite, ensure_ascii=False, allow_nan=False, indent=1)
        return _written(
            _NOT_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n", path
        )

    def markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """The story in Markdown, for a model card; also written to ``path``, replacing what is there in one step."""
        return _written(page.markdown(self.story), path)

    def figures(
        self, folder: str | os.PathLike[str], formats: Sequence[str] = ("png",)
    ) -> list[Path]:
        """Write the figures, as PNG, SVG or PDF, and the numbers behind them as CSV; returns the files."""
        return page.write_figures(self, Path(folder), formats)

    def frame(self) -> Any:
        """One line for each scope and set, in the library of X: both sides and their disagreement.

        Region -1 stands for all rows; where all outputs are explained, the first column names them. first and second
        are importances: root mean squares of local effects, the number itself for sensitivity and risk.
        """
        stories, lines = self.story.get("outputs", {"": self.story}), list[tuple[Any, ...]]()
        for output, story in stories.items():
            regions = {None: (-1, ALL_ROWS, story["provenance"]["rows"])}
            regions |= {
                r["region"]: (r["region"], r["rule"], r["n_samples"]) for r in story["regions"]
            }
            asked = ((told, scope) for told in story["importances"] for scope in told["scopes"])
            for told, scope in asked:
                cells = zip(
                    told["sets"], *(scope[k] for k in ("first", "second", "gap")), strict=True
                )
                head = (*([output] if output else []), *regions[scope["region"]])
                lines += [(*head, name, told["question"], *rest) for name, *rest in cells]
        keys = "output region rule n_samples set question first second disagreement"
        table = fitted_view(self.granite, several=True).result.table
        return framed(
            keys if "outputs" in self.story else keys.removeprefix("output "), lines, table
        )

    def _repr_html_(self) -> str:
        """The page in a frame of its own: neither its style nor its script reaches the notebook (S16)."""
        escaped = html.escape(self.html(), quote=True)
        frame = '<iframe sandbox="allow-scripts" referrerpolicy="no-referrer" title="Report" width="100%" '
        return f'{frame}height="720" style="border:1px solid #8888" srcdoc="{escaped}"></iframe>'


def _written(text: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        write_text(path, text)
    return text


def explain(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    question: Any = "ice-pdp",
    sample_weight: Any = None,
    test: Any = None,
    rows: Any = None,
    title: str | None = None,
    unit: str = "",
    **options: Unpack[GraniteOptions],
) -> Report:
    """Find the regions of a model and tell the story: in a terminal, a notebook or one HTML file.

    Parameters
    ----------
    model, X, y, question
        As in `Granite`. With y the report also maps questions about risk. A fitted Granite in the place of the model:
        the report of that fit, with the X and y it was fitted on.
    sample_weight : array, optional
        Weights of the rows, as in ``Granite.fit``.
    test : tuple (X, y) or table, optional
        Rows that the fit does not see; adds figures on them.
    rows : table, optional
        A few rows to explain one by one; the page then holds their values.
    title : str, optional
        What the report is about, above its headline.
    unit : str, optional
        What predictions are counted in, such as "bikes an hour".
    **options
        Of `Granite`.

    Returns
    -------
    Report
        ``print(report)``, ``report.html("report.html")``, ``report.json()``, ``report.frame()``, ``report.granite``.

    Examples
    --------
    >>> from granite_xai.datasets import make_toy
    >>> toy = make_toy()
    >>> report = explain(toy.model, toy.X)
    >>> print(report.story["opening"])
    Single rows stray from the average curves by 4.0, all columns together; in 2 regions by 0.
    >>> len(report.granite.partition_)
    2
    """
    how = {"test": test, "rows": rows, "title": title}
    if isinstance(model, Granite):
        if options:
            hint = "Fit another Granite, or leave the options out."
            raise InputError(
                "a fit has its options already.",
                code="P03",
                argument=next(iter(options)),
                hint=hint,
            )
        return Report(model, X, y, unit=unit, **how)
    begin, granite = time.perf_counter(), Granite(model, question, **options)
    X, y, sample_weight, _ = collected_for(granite, X, y, sample_weight)
    found = fit_with_evaluations(granite, X, y, sample_weight)
    story = (
        None if granite.outputs_ else tell(_source(granite, found, X, y, unit), **how, began=begin)
    )
    return Report(granite, X, y, story=story, unit=unit, **how)


_OWN, _PASSED = (inspect.signature(each).parameters for each in (explain, Granite))
_NAMED = [
    *(_OWN[name] for name in _OWN if name != "options"),
    *(_PASSED[name] for name in _PASSED if name not in _OWN),
]
explain.__signature__ = inspect.Signature(_NAMED)  # type: ignore[attr-defined]


def _source(granite: Granite, found: FitRun | None, X: Any, y: Any, unit: str) -> ReportSource:
    """What is told of a fit: from its evaluations where they are known, and with X and y also the model's score."""
    if found is None:
        return ReportSource(granite, None, unit)
    small = (
        found.result.table.n_rows * found.result.table.n_columns <= SEARCHED
        and len(granite.partition_) > 1
    )
    given = isinstance(found.inputs.partitioner, GivenRules)
    if small and granite.stability_ is None and granite.confidence_level is not None and not given:
        granite.stability(HALVES)
    values, target = known_values(granite, found, X, y)
    known, score = values.evaluations, None
    if target is not None:
        predictions = known.predictions + known.offset
        fitting = found.inputs.positions
        score = _score(fitted_view(granite), X, predictions, fitting, target)
    return ReportSource(granite, values, unit, str(getattr(y, "name", None) or ""), score)


def _score(
    view: FittedGranite, X: Any, predictions: FloatArray, fitting: IntArray, target: FloatArray
) -> dict[str, str]:
    """How good the model is: on the rows that were held out of the search, otherwise on those of the search.

    Parameters
    ----------
    predictions : array
        Of the fitting rows.
    fitting : array
        Where these stand in X.
    target : array
        Of all rows of X.
    """
    from sklearn.metrics import log_loss, r2_score, roc_auc_score

    rows = fitting
    which = "fitting"
    if held_out := view.diagnostics["rows"]["held_out"]:
        rows = np.asarray(held_out, dtype=np.intp)
        which = "held-out"
        predictions = view.result.predictor.on_rows(view.read(X).take(rows))
    truth = target[rows]
    told = f"on {len(rows):,} {which} rows of this report; the model may have been trained on them"
    if len(rows) < 2 or np.ptp(truth) == 0:
        return {"text": "not defined", "rows": f"one value of y {told}"}
    if not view.result.predictor.is_probability:
        error = float(np.sqrt(np.mean(np.square(truth - predictions))))
        return {
            "text": f"R² {r2_score(truth, predictions):.2f}, typical error {brief(error)}",
            "rows": told,
        }
    text = f"AUC {roc_auc_score(truth, predictions):.2f}, log loss {log_loss(truth, np.clip(predictions, 0, 1)):.2f}"
    return {"text": text, "rows": told}


def tell(
    source: ReportSource,
    test: Any = None,
    title: str | None = None,
    began: float = 0.0,
    rows: Any = None,
) -> dict[str, Any]:
    """Build the dict; without evaluations (a loaded object) it holds what the stored curves tell."""
    begin, fitted, granite, amounts = (
        began or time.perf_counter(),
        source.fitted,
        source.granite,
        Amounts.of(source),
    )
    gaps, values, found = gaps_left(source), source.values, fitted.estimate
    with (
        one_blas_thread(),
        closing(Meter(fitted_view(granite).resources, 3, desc="report", unit="parts")) as done,
    ):
        sizes = (
            [] if values is None else [importance(values, asked) for asked in fitted.comparisons]
        )
        columns = triage(source, sizes[0], amounts) if sizes else []
        done(1)
        told = {"sets": [], "questions": []} if values is None else disagreement_map(values)
        done(1)
        explained, curves = ledger(source), effects(source, columns)
        parts = regions(source, curves, gaps)
    evaluation = None if test is None else _evaluation(granite, test)
    figures = {
        key: getattr(granite, f"{key}_")
        for key in ("disagreement", "remaining", "fidelity", "global_fidelity")
    }
    return {
        "version": VERSION,
        "title": title or f"Where {sentences.sides_of(fitted.comparisons[0].question)} agree",
        **page.sentences(source, parts, evaluation),
        "facts": sentences.facts(source),
        "unit": source.unit,
        "predicted": source.measured_in
        or ("probability" if fitted.predictor.is_probability else "value"),
        "amounts": {
            "squared": amounts.squared,
            "unit": amounts.unit,
            "rows": sentences.which_rows(source),
        },
        "questions": [
            sentences.question_facts(resolved, source) for resolved in fitted.comparisons
        ],
        "figures": {**figures, "nothing_to_explain": fitted.below_noise_floor},
        "estimate": None if found is None else found.facts(),
        "ledger": explained,
        "effects": curves,
        "map": told,
        "importances": sizes,
        "triage": columns,
        "regions": parts,
        "tree": tree(source, gaps),
        "stability": sentences.stability(source),
        "smooth": smooth_changes(granite.diagnostics_.get("splits", ())),
        "path": None if fitted.path is None else fitted.path.facts(),
        "evaluation": evaluation,
        "rows": [] if rows is None else _single_rows(granite, rows),
        "glossary": sentences.glossary(),
        "warnings": list(granite.diagnostics_.get("warnings", [])),
        "provenance": sentences.provenance(source, time.perf_counter() - begin),
    }


def _single_rows(granite: Granite, rows: Any) -> list[dict[str, Any]]:
    """Some rows one by one: in words, and what each column adds to the mean of its region."""
    table, told = fitted_view(granite).read(rows), []
    if table.n_rows > MOST_ROWS:
        hint = "Use explain_row, or granite row, for more."
        raise InputError(
            f"a report tells of {MOST_ROWS} rows at most.", code="P02", argument="rows", hint=hint
        )
    for number in range(table.n_rows):
        found = granite.explain_row(table.take(np.array([number])).native)
        lines = [
            (found.sets[i], found.values[i], float(found.contributions[i]))
            for i in found.order[:MOST_SETS]
        ]
        rest = [("all others", "", float(found.contributions[found.order[MOST_SETS:]].sum()))]
        lines += [*rest[: len(found.order) > MOST_SETS], ("only together", "", float(found.rest))]
        told.append({"region": found.region, "sentences": found.sentences(), "lines": lines})
    return told


def _evaluation(granite: Granite, test: Any) -> dict[str, Any]:
    """The regions on rows that the fit did not see."""
    X, y = test if isinstance(test, tuple) and len(test) == 2 else (test, None)
    found, fitted = granite.evaluate(X, y), fitted_view(granite).result
    floors = fitted.floors
    if (
        len(floors) == 1 and found.disagreement <= floors[0] > 0.0
    ):  # rounding, as on the fitting rows
        before = found.global_disagreement if found.global_disagreement > floors[0] else 0.0
        zeros = np.zeros_like(found.regional)
        found = replace(found, disagreement=0.0, global_disagreement=before, regional=zeros)
    keys = ("region", "rule", "n_samples", "disagreement")
    lines = zip(
        range(len(found.rules)), found.rules, found.counts, found.regional.tolist(), strict=True
    )
    return {
        "n_rows": int(sum(found.counts)),
        **{
            key: getattr(found, key) for key in ("global_disagreement", "disagreement", "remaining")
        },
        "explained": fitted_view(granite).held_out_fidelity(X),
        "regions": [dict(zip(keys, line, strict=True)) for line in lines],
    }
