"""The oldest versions that pyproject.toml allows, one requirement a line: ``make test-oldest`` installs exactly those.

Requirements of the package, of its extras and of the tests. One without a smallest version would be tested with what
is newest, so it is an error; tools that are pinned (``==``) judge the source text and take no part.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"
REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)(\[[^\]]*\])?>=(?P<version>[0-9][0-9A-Za-z.]*)$"
)
LEFT_OUT = ("granite-xai", "torch")
"""The package itself, and what only a graphics processor needs: no test of the oldest versions asks for those."""


def floors(project: Path = PROJECT) -> dict[str, str]:
    """The smallest version of every package; where two groups name one, they must agree."""
    with project.open("rb") as file:
        content = tomllib.load(file)
    named = [*content["project"]["dependencies"], *content["dependency-groups"]["test"]]
    for extra in content["project"]["optional-dependencies"].values():
        named += extra
    found: dict[str, str] = {}
    for requirement in named:
        if "==" in requirement or re.split(r"[\[>]", requirement)[0] in LEFT_OUT:
            continue
        name, version = _parts(requirement)
        if found.setdefault(name, version) != version:
            raise ValueError(f"{name} has two smallest versions: {found[name]} and {version}")
    return found


def _parts(requirement: str) -> tuple[str, str]:
    match = REQUIREMENT.match(requirement)
    if match is None:
        raise ValueError(f"{requirement!r} names no smallest version")
    return match["name"].lower(), match["version"]


if __name__ == "__main__":
    sys.stdout.writelines(f"{name}=={version}\n" for name, version in sorted(floors().items()))
