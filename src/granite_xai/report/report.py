"""Report: one story about a fit, as text, page, JSON and frame."""

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from granite_xai.base.errors import InputError
from granite_xai.base.files import write_text
from granite_xai.base.text import ALL_ROWS, plain
from granite_xai.display.figures import framed
from granite_xai.estimator import Granite, fit_granite
from granite_xai.fitting.fitted import fitted_view
from granite_xai.fitting.opening import collected
from granite_xai.fitting.settings import GraniteOptions, chosen_seed
from granite_xai.report.markdown import markdown
from granite_xai.report.page import render
from granite_xai.report.source import source_of
from granite_xai.report.story import tell
from granite_xai.report.text import story_text
from granite_xai.results.printed import printed_result

# Line separators, which JavaScript takes for ends of lines, and halves of characters, which UTF-8 lacks.
_ESCAPED_IN_JSON = re.compile("[\u2028\u2029\ud800-\udfff]")
_FRAME_KEYS = "region rule n_samples set question first second disagreement"


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Report:
    """What `explain` found, or what a fit tells: text, HTML, Markdown, JSON and frame.

    Parameters
    ----------
    granite : Granite
        Fitted; one that was loaded or unpickled tells what its curves hold.
    X, y : table and array, optional
        Those of the fit; with them the report also tells of questions about risk.
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
        **contents: Any,
    ) -> None:
        if story is None and vars(granite).get("outputs_"):
            story = _story_of_outputs(granite, X, y, unit, contents)
        elif story is None:
            story = tell(source_of(granite, X, y, unit), **contents)
        object.__setattr__(self, "granite", granite)
        object.__setattr__(self, "story", story)

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
        """The story as text for a terminal."""
        view = fitted_view(self.granite, several=True)
        printed = printed_result(view.result, view.diagnostics)
        tree = printed.named_tree(self.granite.partition_.region_names)
        return story_text(self.story, "" if tree is None else tree.as_text(None))

    def __repr__(self) -> str:
        """The first sentence."""
        return f"<Report: {plain(self.story['opening'])}>"

    def html(self, path: str | os.PathLike[str] | None = None) -> str:
        """One self-contained page; also written to ``path``, replacing what is there at once."""
        return _written(render(self.story), path)

    def json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The story as JSON; also written to ``path``, replacing what is there at once."""
        # JSON has no word for numbers that are not finite.
        finite = json.loads(json.dumps(self.story), parse_constant=lambda _: None)
        text = json.dumps(finite, ensure_ascii=False, allow_nan=False, indent=1)
        escaped = _ESCAPED_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
        return _written(f"{escaped}\n", path)

    def markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """The story in Markdown, for a model card; also written to ``path``."""
        return _written(markdown(self.story), path)

    def frame(self) -> Any:
        """One line for each scope and set, in the library of X: both sides and their disagreement.

        Region -1 stands for all rows; where all outputs are explained, the first column names
        them. first and second are importances: root mean squares of local effects, the number
        itself for sensitivity and risk.
        """
        table = fitted_view(self.granite, several=True).result.table
        if "outputs" not in self.story:
            return framed(_FRAME_KEYS, _frame_lines(self.story), table)
        lines = []
        for output, story in self.story["outputs"].items():
            lines += [(output, *line) for line in _frame_lines(story)]
        return framed(f"output {_FRAME_KEYS}", lines, table)

    def _repr_html_(self) -> str:
        """The page in a frame of its own: neither style nor script reaches the notebook (S16)."""
        escaped = html.escape(self.html(), quote=True)
        frame = '<iframe sandbox="allow-scripts" referrerpolicy="no-referrer" title="Report" '
        size = 'width="100%" height="720" style="border:1px solid #8888"'
        return f'{frame}{size} srcdoc="{escaped}"></iframe>'


def _story_of_outputs(
    granite: Granite, X: Any, y: Any, unit: str, contents: dict[str, Any]
) -> dict[str, Any]:
    """The story of each output, in the regions of all."""
    stories = {}
    for number, name in enumerate(granite.outputs_):
        target = y
        if y is not None and np.ndim(y) == 2:
            target = np.asarray(y)[:, number]
        contents_of_output = {**contents, "title": str(name)}
        report = Report(granite.of_output(name), X, target, unit=unit, **contents_of_output)
        stories[str(name)] = report.story
    return {
        "title": contents.get("title") or f"{len(granite.outputs_)} outputs in the same regions",
        "opening": str(granite).partition("\n")[0],
        "outputs": stories,
    }


def _frame_lines(story: dict[str, Any]) -> list[tuple[Any, ...]]:
    """The lines of the frame of one story."""
    scope_cells = {None: (-1, ALL_ROWS, story["provenance"]["rows"])}
    for region in story["regions"]:
        scope_cells[region["region"]] = (region["region"], region["rule"], region["n_samples"])
    lines: list[tuple[Any, ...]] = []
    for importance in story["importances"]:
        question = importance["question"]
        for scope in importance["scopes"]:
            for number, name in enumerate(importance["sets"]):
                lines.append(
                    (
                        *scope_cells[scope["region"]],
                        name,
                        question,
                        scope["first"][number],
                        scope["second"][number],
                        scope["gap"][number],
                    )
                )
    return lines


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
    >>> print(report.story["opening"])
    The effect of x1 depends on x2.
    >>> len(report.granite.partition_)
    2
    """
    contents = {"test": test, "rows": rows, "title": title}
    if isinstance(model, Granite):
        if options:
            raise InputError(
                "a fit has its options already.",
                code="P03",
                argument=next(iter(options)),
                hint="Fit another Granite, or leave the options out.",
            )
        return Report(model, X, y, unit=unit, **contents)
    began = time.perf_counter()
    granite = Granite(model, question, **options)
    seed = chosen_seed(granite.random_state)
    X, y, sample_weight, _ = collected(granite, X, y, sample_weight, seed=seed)
    fit_granite(granite, X, y, sample_weight, seed=seed)
    story = None
    if not granite.outputs_:
        story = tell(source_of(granite, X, y, unit), began=began, **contents)
    return Report(granite, X, y, story=story, unit=unit, **contents)


def _with_options_of_granite() -> inspect.Signature:
    """The signature of `explain` with every option that it passes on, for help and completion."""
    of_explain = inspect.signature(explain).parameters
    of_granite = inspect.signature(Granite).parameters
    named = [parameter for name, parameter in of_explain.items() if name != "options"]
    options = [parameter for name, parameter in of_granite.items() if name not in of_explain]
    return inspect.Signature([*named, *options])


explain.__signature__ = _with_options_of_granite()  # type: ignore[attr-defined]
