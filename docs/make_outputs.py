"""Write what programs print into the README and the pages of the manual.

python docs/make_outputs.py            runs the programs and writes their outputs
python docs/make_outputs.py --check    runs them and says which outputs are stale

An output stands in the block of text after a marker: ``<!-- output: NAME -->`` in Markdown, ``.. output: NAME`` in
reStructuredText. The programs are the functions below that carry this name. Bike rentals are read from the folder
``GRANITE_DATA``; figures depend on the version of scikit-learn, which stands in ``outputs_made_with.txt``.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from pprint import pformat

from sklearn.ensemble import HistGradientBoostingRegressor

import granite_xai as gx

DOCS = Path(__file__).resolve().parent
PAGES = [DOCS.parent / "README.md", *sorted(DOCS.glob("*.rst"))]
MADE_WITH = DOCS / "outputs_made_with.txt"
MARKERS = {".md": "<!-- output: {} -->", ".rst": ".. output: {}"}
BLOCKS = {
    ".md": re.compile(r"<!-- output: ([\w-]+) -->\n```text\n(.*?)```", re.DOTALL),
    ".rst": re.compile(
        r"\.\. output: ([\w-]+)\n\n\.\. code-block:: \w+\n\n((?:(?: {3}.*)?\n)+)", re.MULTILINE
    ),
}
PROGRAMS: dict[str, Callable[[], str]] = {}


def output(name: str) -> Callable[[Callable[[], str]], Callable[[], str]]:
    """Register the program whose text stands after the marker of this name."""

    def register(program: Callable[[], str]) -> Callable[[], str]:
        PROGRAMS[name] = program
        return program

    return register


@cache
def bike_fit(max_depth: int) -> tuple[gx.Granite, object]:
    """The fit of the README (depth 2) or of the page on trust (depth 3), and its table."""
    X, y = gx.datasets.load_bike_sharing()
    model = HistGradientBoostingRegressor(random_state=0).fit(X, y)
    return gx.Granite(model, question="ice-pdp", max_depth=max_depth).fit(X, y), X


@output("bike-result")
def bike_result() -> str:
    """What ``print(g)`` says about bike rentals."""
    g, _ = bike_fit(2)
    return str(g)


@output("bike-estimate")
def bike_estimate() -> str:
    """The number to quote."""
    g, _ = bike_fit(3)
    return str(g.estimate_)


@output("bike-stability")
def bike_stability() -> str:
    """How often the splits come back."""
    g, _ = bike_fit(3)
    return str(g.stability())


@output("bike-plan")
def bike_plan() -> str:
    """What a fit would cost; the seconds, which depend on the machine, are left out."""
    g, X = bike_fit(3)
    plan = gx.Granite(g.model).plan(X)
    del plan["seconds"]
    return pformat(plan, width=100, sort_dicts=False, compact=True)


def outputs_of(page: Path) -> dict[str, str]:
    """The outputs that stand in a page, by their names."""
    text = page.read_text(encoding="utf-8")
    blocks = BLOCKS[page.suffix].findall(text)
    return {name: _dedented(block) for name, block in blocks}


def _dedented(block: str) -> str:
    lines = [line.removeprefix("   ") for line in block.splitlines()]
    return "\n".join(lines).strip("\n")


def _written(page: Path, text: str) -> str:
    """The text of a page with every output as its program prints it."""

    def replace(match: re.Match[str]) -> str:
        printed = "\n".join(line.rstrip() for line in PROGRAMS[match[1]]().strip("\n").splitlines())
        marker = MARKERS[page.suffix].format(match[1])
        if page.suffix == ".md":
            return f"{marker}\n```text\n{printed}\n```"
        language = re.search(r"code-block:: (\w+)", match[0])
        indented = "\n".join(f"   {line}".rstrip() for line in printed.splitlines())
        return (
            f"{marker}\n\n.. code-block:: {language[1] if language else 'text'}\n\n{indented}\n\n"
        )

    return BLOCKS[page.suffix].sub(replace, text)


def stale_pages() -> list[str]:
    """The pages whose outputs differ from what their programs print now."""
    stale = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if outputs_of(page) and _written(page, text) != text:
            stale.append(page.name)
    return stale


def made_with() -> str:
    """The packages whose versions the figures depend on."""
    return "".join(f"{name} {version(name)}\n" for name in ("numpy", "scikit-learn"))


def main() -> int:
    """Write all outputs, or check them."""
    if "--check" in sys.argv:
        stale = stale_pages()
        print("\n".join(f"stale: {name}" for name in stale) or "every output is up to date")
        return len(stale)
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if outputs_of(page):
            page.write_text(_written(page, text), encoding="utf-8")
    MADE_WITH.write_text(made_with(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
