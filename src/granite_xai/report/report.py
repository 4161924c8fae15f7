"""Report: what a fit tells, as text, page, Markdown, JSON and frame."""

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
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from granite_xai.base.document import Document
from granite_xai.base.errors import InputError
from granite_xai.base.files import write_text
from granite_xai.base.parallel import one_blas_thread
from granite_xai.base.text import ALL_ROWS, plain
from granite_xai.displays.output import OutputDisplay
from granite_xai.document.figure import framed
from granite_xai.estimator import Granite, fit_granite
from granite_xai.fitting.fit_result import fitted_view
from granite_xai.fitting.settings import GraniteOptions, Settings, collected
from granite_xai.models import Predictor
from granite_xai.report.facts import Source, facts_of
from granite_xai.report.page import render, render_outputs
from granite_xai.report.sections import document_of, made_block, opening, sections_of
from granite_xai.tables import Outline

WIDTH = 100  # letters of a line of text
# Line separators, which JavaScript takes for ends of lines, and halves of characters, which UTF-8 lacks.
_ESCAPED_IN_JSON = re.compile("[\u2028\u2029\ud800-\udfff]")
_FRAME_KEYS = "region rule n_samples set question first second disagreement"


class Report:
    """What `explain` found, or what a fit tells: text, HTML, Markdown, JSON and frame.

    Parameters
    ----------
    granite : Granite
        Fitted; one that was loaded or unpickled tells what its curves hold.
    X, y : table and array, optional
        Those of the fit; with them the report also tells of questions about risk.
    unit, test, rows, title
        As in `explain`.

    Attributes
    ----------
    granite : Granite
        The fitted estimator behind it.
    facts : dict
        Everything that is told, in plain types, as `json` writes it: ``finding``, ``nodes``, ``regions``, ``curves``,
        ``features``, ``values``, ``splits``, ``rows``, ``made`` and others; of several outputs those of each, by name,
        in ``outputs``.

    Examples
    --------
    >>> import granite_xai as gx
    >>> toy = gx.datasets.make_toy()
    >>> report = gx.explain(toy.model, toy.X, title="A toy")
    >>> str(report).startswith("A toy")
    True
    >>> report.facts["finding"]["headline"]
    'The effect of x1 depends on x2.'
    >>> list(report.frame())
    ['region', 'rule', 'n_samples', 'set', 'question', 'first', 'second', 'disagreement']
    """

    def __init__(
        self,
        granite: Granite,
        X: Any = None,
        y: Any = None,
        *,
        unit: str = "",
        test: Any = None,
        rows: Any = None,
        title: str | None = None,
        began: float | None = None,
    ) -> None:
        self.granite = granite
        self.facts: dict[str, Any]
        self._parts = {"": self}
        began = time.perf_counter() if began is None else began
        if not vars(granite).get("outputs_"):
            with one_blas_thread():
                source = Source(granite, X, y, unit)
                self.facts = facts_of(source, title, test, rows, began)
                sections = sections_of(source, self.facts)
                self._document = document_of(source, self.facts, sections)
                self._page = render(source, self.facts, opening(source, self.facts), sections)
            self._said: str = source.finding.headline
            return
        self._parts = {}
        has_events = fitted_view(granite, several=True).result.model.is_survival
        for number, name in enumerate(granite.outputs_):
            target = np.asarray(y)[:, number] if np.ndim(y) == 2 and not has_events else y
            self._parts[str(name)] = Report(
                granite.of_output(name),
                X,
                target,
                unit=unit,
                test=test,
                rows=rows,
                title=str(name),
            )
        self._said = str(granite).partition("\n")[0]
        self.facts = {
            "title": title or f"{len(granite.outputs_)} outputs in the same regions",
            "opening": self._said,
            "outputs": {name: report.facts for name, report in self._parts.items()},
        }
        pages = {name: report.html() for name, report in self._parts.items()}
        picture = _picture_of_outputs(granite, X)
        self._page = render_outputs(self.facts["title"], self._said, pages, picture)

    def show(self) -> None:
        """Show the page: in the notebook if this is one, otherwise in the browser."""
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        if getattr(shell, "kernel", None) is not None:
            sys.modules["IPython"].display.display(self)
        else:
            path = Path(tempfile.mkdtemp(prefix="granite-")) / "report.html"
            self.html(path)
            webbrowser.open(path.as_uri())

    def __str__(self) -> str:
        """The report as text for a terminal."""
        return "\n\n".join(report._document.text(WIDTH) for report in self._parts.values())

    def __repr__(self) -> str:
        """The first sentence."""
        return f"<Report: {plain(self._said)}>"

    def html(self, path: str | os.PathLike[str] | None = None) -> str:
        """One self-contained page; also written to ``path``, replacing what is there at once."""
        return _written(self._page, path)

    def json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The facts as JSON; also written to ``path``, replacing what is there at once."""
        text = json.dumps(self.facts, ensure_ascii=False, allow_nan=False, indent=1)
        escaped = _ESCAPED_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
        return _written(f"{escaped}\n", path)

    def markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """The report in Markdown, for a model card; also written to ``path``."""
        texts = []
        for report in self._parts.values():
            title, *others = report._document.blocks
            body = Document([*others, made_block(report.facts)]).markdown()
            texts.append(f"# {title.as_markdown()}\n\n{body}\n")
        return _written("\n".join(texts), path)

    def frame(self) -> Any:
        """One line for each scope and set, in the library of X: both sides and their disagreement.

        Region -1 stands for all rows; where all outputs are explained, the first column names
        them. first and second are importances: root mean squares of local effects, the number
        itself for sensitivity and risk.
        """
        like = fitted_view(self.granite, several=True).result.table
        lines = [
            (name, *line)
            for name, report in self._parts.items()
            for line in _frame_lines(report.facts)
        ]
        if "outputs" in self.facts:
            return framed(f"output {_FRAME_KEYS}", lines, like)
        return framed(_FRAME_KEYS, [line[1:] for line in lines], like)

    def _repr_html_(self) -> str:
        """The page in a frame of its own: neither style nor script reaches the notebook (S16)."""
        escaped = html.escape(self.html(), quote=True)
        opened = '<iframe sandbox="allow-scripts" referrerpolicy="no-referrer" title="Report" '
        size = 'width="100%" height="720" style="border:1px solid #8888"'
        return f'{opened}{size} srcdoc="{escaped}"></iframe>'


def _frame_lines(facts: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """The lines of the frame of one output."""
    scopes = {None: (-1, ALL_ROWS, facts["made"]["rows"])}
    for region in facts["regions"]:
        scopes[region["region"]] = (region["region"], region["rule"], region["n_samples"])
    for values in facts["values"]:
        for scope in values["scopes"]:
            sides = (scope["first"], scope["second"], scope["difference"])
            for name, *figures in zip(values["features"], *sides, strict=True):
                yield (*scopes[scope["region"]], name, values["question"], *figures)


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
    """Find the regions of a model and tell what they are: in a terminal, a notebook or one HTML file.

    Parameters
    ----------
    model, X, y, question
        As in `Granite`. With y the report also tells of questions about risk. A fitted Granite in
        the place of the model: the report of that fit, with the X and y it was fitted on.
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
        ``print(report)``, ``report.html("report.html")``, ``report.json()``, ``report.frame()``,
        ``report.granite``.

    Examples
    --------
    >>> from granite_xai.datasets import make_toy
    >>> toy = make_toy()
    >>> report = explain(toy.model, toy.X)
    >>> print(report.facts["finding"]["headline"])
    The effect of x1 depends on x2.
    >>> len(report.granite.partition_)
    2
    """
    if isinstance(model, Granite):
        if options:
            raise InputError(
                "a fit has its options already.",
                code="P03",
                argument=next(iter(options)),
                hint="Fit another Granite, or leave the options out.",
            )
        return Report(model, X, y, unit=unit, test=test, rows=rows, title=title)
    began = time.perf_counter()
    granite = Granite(model, question, **options)
    settings = Settings.of(granite)
    X, y, sample_weight, _ = collected(settings, X, y, sample_weight)
    fit_granite(granite, X, y, sample_weight, settings=settings)
    return Report(granite, X, y, unit=unit, began=began, test=test, rows=rows, title=title)


def _picture_of_outputs(granite: Granite, X: Any) -> OutputDisplay | None:
    """The feature that moves an output most, over all of them; None where model or rows are not at hand."""
    from matplotlib.figure import Figure

    result = fitted_view(granite, several=True).result
    if not isinstance(result.model, Predictor):  # loaded without it
        return None
    if X is None:
        if isinstance(result.table.container, Outline):
            return None
        X = result.table.native
    axes = Figure(figsize=(9.5, 3.4), layout="constrained").add_subplot()
    return OutputDisplay.from_estimator(granite, X).plot(axes)


def _with_options_of_granite() -> inspect.Signature:
    """The signature of `explain` with every option that it passes on, for help and completion."""
    of_explain = inspect.signature(explain).parameters
    of_granite = inspect.signature(Granite).parameters
    named = [parameter for name, parameter in of_explain.items() if name != "options"]
    options = [parameter for name, parameter in of_granite.items() if name not in of_explain]
    return inspect.Signature([*named, *options])


explain.__signature__ = _with_options_of_granite()  # type: ignore[attr-defined]
