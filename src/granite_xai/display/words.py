"""How names, levels and rules are written into a picture: harmless, short, and still told apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from granite_xai.regions.nodes import shortened
from granite_xai.regions.words import quoted

LONGEST = 60
"""Characters of a name that are shown (S07); the frame has it in full."""

FEW = 20
"""Rows below which a region is flagged (S15)."""

FAMILIAR = {
    "ice": "ICE",
    "pdp": "PDP",
    "shap": "SHAP",
    "baseline-shap": "baseline SHAP",
    "cice": "conditional ICE",
    "mplot": "M-plot",
    "cshap": "conditional SHAP",
    "local-change": "local changes",
    "ale": "ALE",
    "sobol-total": "total Sobol",
    "sobol-closed": "closed Sobol",
    "csobol-total": "conditional total Sobol",
    "shapley-effects": "Shapley effects",
    "variance-full": "full variance",
    "variance-pure": "pure variance",
    "pfi": "PFI",
    "grouped-pfi": "grouped PFI",
    "pure-risk": "pure risk",
    "sage": "SAGE",
    "cfi": "CFI",
}


def safe(text: str) -> str:
    r"""Write text so that matplotlib shows it as it is: no formula, no line break, no hidden direction mark.

    Examples
    --------
    >>> print(safe("a_$x^2$" + chr(0x202E)))
    a_\$x^2\$\u202e
    """
    # matplotlib reads text between two bare dollars as a formula and shows "\$" as a dollar.
    return "".join(c if c.isprintable() else quoted(c, "") for c in text).replace("$", r"\$")


def shown(text: Any, width: int = LONGEST) -> str:
    """Write a name or label, cut where it is too long.

    Examples
    --------
    >>> shown("a" * 80, 5)
    'aaaa…'
    """
    return safe(shortened(str(text), width))


def told_apart(names: Sequence[str], width: int = LONGEST) -> list[str]:
    """Cut names; those that would become equal lose their middle instead, and are numbered if that does not help.

    Examples
    --------
    >>> told_apart(["income_before_tax", "income_before_fees", "age"], 9)
    ['inco…_tax', 'inco…fees', 'age']
    """
    ends = [shortened(name, width) for name in names]
    twice = {text for text, count in Counter(ends).items() if count > 1}
    half = width // 2
    cut = [
        f"{name[:half]}…{name[half + 1 - width :]}" if end in twice and len(name) > width else end
        for name, end in zip(names, ends, strict=True)
    ]
    seen: Counter[str] = Counter()
    numbered = []
    for text in cut:
        seen[text] += 1
        numbered.append(safe(text) if seen[text] == 1 else f"{safe(text)} ({seen[text]})")
    return numbered


def wrapped(text: str, width: int, lines: int = 3) -> str:
    """Break text into lines, at blanks and underscores where there are some; what does not fit is cut.

    Examples
    --------
    >>> print(wrapped("workingday ≤ 0 and hr > 6", 16, 2))
    workingday ≤ 0
    and hr > 6
    """
    rest = text.strip()
    found: list[str] = []
    while rest and len(found) < lines:
        place = _break(rest, width)
        found.append(rest[:place].rstrip())
        rest = rest[place:].lstrip()
    if rest and found:
        found[-1] = found[-1][: width - 1].rstrip("\\ ") + "…"
    return "\n".join(found)


def _break(text: str, width: int) -> int:
    """Where the first line ends: after the last blank, underscore or comma that fits, otherwise at the width."""
    if len(text) <= width:
        return len(text)
    conjunction = text.rfind(" and ", width // 2, width + 1)
    if conjunction > 0:
        return conjunction
    blank = text.rfind(" ", width // 2, width + 1)
    if blank > 0:
        return blank
    place = max(text.rfind(mark, width // 2, width) for mark in "_,-/.")
    # Never between a backslash and the dollar that it protects.
    return place + 1 if place > 0 else width - (text[width - 1] == "\\")


def familiar(name: str) -> str:
    """The name of an explanation as people write it.

    Examples
    --------
    >>> familiar("pdp"), familiar("mine")
    ('PDP', 'mine')
    """
    return FAMILIAR.get(name, safe(name))


def rows_of(count: int) -> str:
    """Rows of a region; few ones are flagged.

    Examples
    --------
    >>> rows_of(1234), rows_of(7)
    ('1,234 rows', '7 rows (few)')
    """
    return f"{count:,} row{'' if count == 1 else 's'}{' (few)' if count < FEW else ''}"


def percent(share: float) -> str:
    """Write a share in percent; one that is not zero is never shown as zero.

    Examples
    --------
    >>> percent(0.123), percent(0.0001), percent(0.034)
    ('12 %', '< 1 %', '3 %')
    """
    return "–" if share != share else "< 1 %" if 0 < share < 0.01 else f"{100 * share:.0f} %"
