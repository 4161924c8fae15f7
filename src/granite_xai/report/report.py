"""Report: one story in four forms."""

from __future__ import annotations

import html
import json
import math
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from granite_xai.base.files import write_text
from granite_xai.report.text import story_text
from granite_xai.tables import frame

if TYPE_CHECKING:
    from granite_xai.estimator import Granite, fitted_view

_NOT_IN_JSON = re.compile("[\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """What `explain` found: text, HTML, JSON and frame.

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

    def __str__(self) -> str:
        """The story as text for a terminal."""
        return story_text(self.story, str(self.granite.partition_))

    def __repr__(self) -> str:
        """The first sentence."""
        from granite_xai.report.words import plain

        return f"<Report: {plain(self.story['opening'])}>"

    def html(self, path: str | os.PathLike[str] | None = None) -> str:
        """One self-contained page; also written to ``path``, replacing what is there in one step."""
        from granite_xai.report.render import render

        return _written(render(self.story), path)

    def json(self, path: str | os.PathLike[str] | None = None) -> str:
        """The story as JSON; also written to ``path``, replacing what is there in one step."""
        text = json.dumps(_finite(self.story), ensure_ascii=False, allow_nan=False, indent=1)
        return _written(_NOT_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n", path)

    def frame(self) -> Any:
        """One line for each scope and set, in the library of X: both sides and their disagreement.

        Region -1 stands for all rows. first and second are importances: root mean squares of local effects, the
        number itself for sensitivity and risk.
        """
        lines = [line for importance in self.story["importances"] for line in self._lines(importance)]
        keys = ("region", "rule", "n_samples", "set", "question", "first", "second", "disagreement")
        data = {key: [line[i] for line in lines] for i, key in enumerate(keys)}
        return frame(data, like=fitted_view(self.granite).result.table)

    def _lines(self, importance: dict[str, Any]) -> list[tuple[Any, ...]]:
        regions = {None: (-1, "all rows", self.story["provenance"]["rows"])}
        regions |= {r["region"]: (r["region"], r["rule"], r["n_samples"]) for r in self.story["regions"]}
        return [
            (*regions[scope["region"]], name, importance["question"], first, second, gap)
            for scope in importance["scopes"]
            for name, first, second, gap in zip(
                importance["sets"], scope["first"], scope["second"], scope["gap"], strict=True
            )
        ]

    def _repr_html_(self) -> str:
        """The page in a frame of its own: neither its style nor its script reaches the notebook (S16)."""
        page = html.escape(self.html(), quote=True)
        return (
            '<iframe sandbox="allow-scripts" referrerpolicy="no-referrer" title="Report" width="100%" height="720" '
            f'style="border:1px solid #8888" srcdoc="{page}"></iframe>'
        )


def _written(text: str, path: str | os.PathLike[str] | None) -> str:
    if path is not None:
        write_text(path, text)
    return text


def _finite(value: Any) -> Any:
    """The same with None for numbers that JSON has no word for."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
