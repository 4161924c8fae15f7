"""Plant small faults between the masked model and the regions and count those that the tests of the room notice.

    .venv/bin/python tests/mutants.py --seed 4 --count 200 --out mutants.json
    .venv/bin/python tests/mutants.py --only mutants.json --out survivors.json      the survivors of that run again

A mutant is the package with one expression changed: ``<`` for ``<=``, ``+`` for ``-``, a condition negated, a constant
moved by one. Each is written into a scratch copy of the package, and the tests of its own room run until the first
failure. A mutant that passes them all survived: either no caller can see the change, or a test is missing. Constants
that only bound memory, or say what is worth its time, are left alone (`BOUNDS`).

Not collected by pytest.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "src/granite_xai"
RULES = ("search/test_splitting.py", "regions")
TREES = ("search/test_candidates.py", "partitioners/test_partitioners.py", "search/test_tree.py")
FRAMEWORKS = (
    "partitioners/test_partitioners.py",
    "frameworks/test_exact.py",
    "frameworks/test_known_answers.py",
)
VECTORS = ("partitioners/test_cohorts.py", "partitioners/test_scatter.py", *FRAMEWORKS)
MASKED = ("engine/test_masked.py", "engine", "test_fuzz.py", "paper")
LOOKED_AHEAD = ("search/test_growth.py", *TREES)
BY_CHANCE = (
    "inference/test_replicates.py",
    "inference/test_estimate.py",
)  # what moves with the weights of the rows

# Which tests belong to which file or room, quick and decisive ones first; the file's own examples run before them. The
# name of a room is also that of the one file it may be.
ROOMS: dict[str, tuple[str, ...]] = {
    "engine": MASKED,
    "engine/splits": (*MASKED, BY_CHANCE[1]),
    "engine/signed_weights": ("engine/test_signed_weights.py", BY_CHANCE[1]),
    "explanation/masking": ("explanation/masking", *MASKED, BY_CHANCE[0]),
    "explanation/behavior": (
        "models/test_targets.py",
        *MASKED,
        "disagreement/test_disagreement.py",
    ),
    "explanation/interaction": ("engine/test_games.py", *MASKED),
    "disagreement/disagreement": (
        "disagreement/test_disagreement.py",
        "disagreement/test_objective.py",
        "whole/test_numerics.py",
        "test_fuzz.py",
    ),
    "inference": ("inference", "fitting/test_new_rows.py"),
    "partitioners": VECTORS,
    "regions": (*RULES, FRAMEWORKS[0]),
    "search": (*VECTORS, "search"),  # what no line below names
    "search/scoring": (*TREES, LOOKED_AHEAD[0]),
    "search/tree": (*TREES, "whole/test_numerics.py", LOOKED_AHEAD[0]),  # where ties are told
    "search/problem": (
        *TREES,
        LOOKED_AHEAD[0],
        "inference/test_path.py",
    ),  # shares, which the path reads
    "search/candidates": (*RULES, *TREES),
    "search/clarity": ("search/test_clarity.py",),
    "moments": ("moments", "search/test_tables.py", "inference/test_by_sums.py"),
    "search/tables": ("search/test_tables.py", "search/test_optimal.py"),
    "search/finer": ("search/test_finer.py",),
    "search/lookahead": ("search/test_lookahead.py",),
    "search/second_thoughts": ("search/test_second_thoughts.py",),
    "search/optimal": ("search/test_optimal.py",),
    "search/growth": ("search/test_growth.py", *TREES),
}

# Constants and functions that only bound how much is done at once, or say from where another way to the same numbers is
# worth it: by file, and only those that no result depends on. Changed, they are no faults, and are left alone.
BOUNDS: dict[str, set[str]] = {
    "inference/replicates": {"LINES"},
    "engine/splits": {"CUT_BYTES", "CELLS_ALIVE", "FEWEST_ROWS", "_worthwhile_primitives"},
    "partitioners/cohorts": {"BLOCK"},
    "search/tables": {"CACHED", "NODES_KEPT"},
    "search/scoring": {"BLOCK", "ON_DEVICE", "WIDE", "FIRST", "SHARE"},
}

COMPARISONS = {"Lt": "LtE", "Gt": "GtE", "Eq": "NotEq", "In": "NotIn", "Is": "IsNot"}
OPERATORS = {
    "Add": "Sub",
    "Mod": "FloorDiv",
    "FloorDiv": "Div",
    "Mult": "Div",
    "BitAnd": "BitOr",
    "And": "Or",
}
NAMES = {
    "min": "max",
    "argmin": "argmax",
    "any": "all",
    "minimum": "maximum",
    "floor": "ceil",
    "left": "right",
}
COMPARISONS, OPERATORS, NAMES = (
    {**{v: k for k, v in t.items()}, **t} for t in (COMPARISONS, OPERATORS, NAMES)
)
SILENT = {
    "strict",
    "stacklevel",
    "code",
    "hint",
    "argument",
    "dtype",
    "axis",
}  # arguments that check or word something


@dataclass(frozen=True)
class Mutant:
    """One expression of one file, and what stands there instead."""

    file: str
    line: int
    before: str
    after: str
    span: tuple[int, int]  # bytes of the file

    def write(self, folder: Path) -> None:
        """Put the fault into a copy of the package."""
        text = (ROOT / self.file).read_bytes()
        (folder / self.file).write_bytes(
            text[: self.span[0]] + self.after.encode() + text[self.span[1] :]
        )


def mutants_of(file: Path) -> list[Mutant]:
    """Every fault that can be planted in a file, in the order of its lines."""
    text = file.read_bytes()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found, tree = [], ast.parse(text)
    tree.body = [statement for statement in tree.body if not only_bounds(file, statement)]
    for number, (node, fault) in enumerate(changes(tree)):
        if (
            isinstance(node, ast.Return) and number % 4
        ):  # sparingly: a missing result rarely goes unseen
            continue
        span = (
            starts[node.lineno - 1] + node.col_offset,
            starts[node.end_lineno - 1] + node.end_col_offset,
        )
        after = ast.unparse(fault)
        after = f"({after})" if isinstance(node, ast.expr) else after
        found.append(
            Mutant(file.relative_to(ROOT).as_posix(), node.lineno, ast.unparse(node), after, span)
        )
    return found


def only_bounds(file: Path, statement: ast.stmt) -> bool:
    """Whether a statement is a function in `BOUNDS`, or only gives values to constants there."""
    names = BOUNDS.get(place_of(file.relative_to(ROOT).as_posix()), set())
    if isinstance(statement, ast.FunctionDef):
        return statement.name in names
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    given = {
        node.id for target in targets for node in ast.walk(target) if isinstance(node, ast.Name)
    }
    return bool(given) and given <= names


def changes(node: ast.AST) -> Iterator[tuple[Any, ast.AST]]:
    """Every expression below a node that can be changed, with the change; words and annotations are left alone."""
    for field, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not left_alone(node, field, child):
                tests = field == "test" or (isinstance(node, ast.comprehension) and field == "ifs")
                if tests and not isinstance(child, ast.UnaryOp):
                    yield child, ast.UnaryOp(ast.Not(), child)
                if isinstance(node, ast.Slice) and not isinstance(child, ast.Constant):
                    yield child, ast.BinOp(child, ast.Add(), ast.Constant(1))
                if fault := changed(child):
                    yield child, fault
                yield from changes(child)


def left_alone(parent: ast.AST, field: str, child: ast.AST) -> bool:
    """Whether something only words a message, checks a promise or describes types."""
    if isinstance(child, ast.JoinedStr | ast.Raise) or field in (
        "annotation",
        "returns",
        "decorator_list",
    ):
        return True
    if (
        isinstance(parent, ast.keyword) and parent.arg in SILENT
    ):  # an axis is changed with its keyword
        return True
    if isinstance(child, ast.Assign) and isinstance(
        parent, ast.Module
    ):  # Condition = Interval | Levels
        return not isinstance(child.value, ast.Constant | ast.Dict | ast.Tuple)
    if isinstance(child, ast.If):
        return ast.unparse(child.test) == "TYPE_CHECKING"
    if isinstance(
        child, ast.FunctionDef
    ):  # how much memory something takes: blocks are the larger or smaller for it
        return child.name.endswith("_bytes")
    return isinstance(child, ast.Call) and ast.unparse(child.func) in (
        "isinstance",
        "TypeVar",
        "cast",
    )


def changed(node: ast.AST) -> ast.AST | None:
    """The fault that fits a node, if any."""
    new: Any = copy.deepcopy(node)
    value = getattr(new, "value", None)
    if (
        isinstance(new, ast.Compare)
        and len(new.ops) == 1
        and type(new.ops[0]).__name__ in COMPARISONS
    ):
        new.ops = [getattr(ast, COMPARISONS[type(new.ops[0]).__name__])()]
    elif (
        isinstance(new, ast.BinOp | ast.BoolOp | ast.AugAssign)
        and type(new.op).__name__ in OPERATORS
    ):
        new.op = getattr(ast, OPERATORS[type(new.op).__name__])()
    elif isinstance(new, ast.UnaryOp):
        new = new.operand
    elif isinstance(new, ast.Constant) and isinstance(value, bool | int | float):
        new.value = not value if isinstance(value, bool) else value + 1
    elif (
        isinstance(new, ast.keyword)
        and new.arg in ("axis", "side")
        and isinstance(value, ast.Constant)
    ):
        value.value = 1 - value.value if new.arg == "axis" else NAMES[value.value]
    elif isinstance(new, ast.Call) and isinstance(new.func, ast.Name) and new.func.id in NAMES:
        new.func.id = NAMES[new.func.id]
    elif (
        isinstance(new, ast.Call) and isinstance(new.func, ast.Attribute) and new.func.attr in NAMES
    ):
        new.func.attr = NAMES[new.func.attr]
    elif isinstance(new, ast.Return) and value is not None and ast.unparse(value) != "None":
        new.value = ast.Constant(None)
    else:
        return None
    return new


def place_of(file: str) -> str:
    """A file within the package, such as ``search/tree``."""
    return file.removeprefix(PACKAGE + "/").removesuffix(".py")


def room_of(file: str) -> list[str]:
    """The file's own examples, then the tests of its room."""
    place = place_of(file)
    chosen = dict.fromkeys(ROOMS[place if place in ROOMS else place.split("/")[0]])
    known = [f"tests/{name}" for name in chosen if (ROOT / "tests" / name).exists()]
    if not known:
        raise SystemExit(f"no tests are known for {file}")
    return [file, *known]


def run(folder: Path, tests: list[str], limit: float) -> tuple[str, float]:
    """Run some tests in the scratch copy: what became of the mutant, and the seconds it took.

    In a child of this process, which has loaded every library but the package, so that none is loaded again.
    """
    start = time.perf_counter()
    child = os.fork()
    if child == 0:
        os._exit(session(folder, tests))
    while time.perf_counter() - start < limit:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
                raise SystemExit(f"pytest did not run {' '.join(tests)}")
            return "killed" if code else "survived", time.perf_counter() - start
        time.sleep(0.05)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "time-out", time.perf_counter() - start


def session(folder: Path, tests: list[str]) -> int:
    """Pytest's answer, in a process of its own; the copy, and not the installed package, is what the tests import."""
    os.setsid()
    os.chdir(folder)
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    sys.path.insert(0, str(folder / "src"))
    os.environ["PYTHONPATH"] = str(folder / "src")
    if not str(find_spec("granite_xai").origin).startswith(str(folder)):
        return int(pytest.ExitCode.USAGE_ERROR)
    return int(
        pytest.main(
            ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow and not browser", *tests]
        )
    )


def scratch_copy(folder: Path) -> None:
    """A copy of what the tests need."""
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, folder / name)


def chosen_mutants(arguments: argparse.Namespace) -> list[Mutant]:
    """The mutants of this run: drawn, or the survivors of an earlier one."""
    rooms = [ROOT / PACKAGE / name for name in ROOMS if "/" not in name]
    files = [room.with_suffix(".py") for room in rooms if room.with_suffix(".py").is_file()]
    files += [file for room in rooms for file in sorted(room.rglob("*.py"))]
    everyone = [mutant for file in files for mutant in mutants_of(file)]
    print(f"{len(everyone)} places in {len(files)} files", flush=True)
    if not arguments.only:
        return random.Random(arguments.seed).sample(everyone, arguments.count)
    earlier = json.loads(Path(arguments.only).read_text(encoding="utf-8"))["mutants"]
    wanted = [(e["file"], *e["span"], e["after"]) for e in earlier if e["outcome"] == "survived"]
    return [mutant for mutant in everyone if (mutant.file, *mutant.span, mutant.after) in wanted]


def prepare(examples: int) -> None:
    """Load what every test session loads, once, and a profile in which failures are neither made smaller nor kept."""
    os.environ |= {"OMP_NUM_THREADS": "1", "GRANITE_TEST_PROFILE": "mutants"}
    phases = (Phase.explicit, Phase.generate)
    settings.register_profile(
        "mutants",
        derandomize=True,
        deadline=None,
        database=None,
        phases=phases,
        max_examples=examples,
    )
    for name in (
        "pandas",
        "narwhals",
        "scipy.stats",
        "numba",
        "joblib",
        "sklearn.cluster",
        "sklearn.ensemble",
    ):
        import_module(name)


def main() -> None:
    """Plant the mutants one after another and keep a table of what became of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--only", help="the table of an earlier run: plant its survivors only")
    parser.add_argument("--out", default="mutants.json", help="the table to write")
    parser.add_argument(
        "--examples", type=int, default=100, help="of the property tests, in percent of the usual"
    )
    arguments = parser.parse_args()
    prepare(arguments.examples)
    mutants = chosen_mutants(arguments)
    table: dict[str, Any] = {"seed": arguments.seed, "mutants": []}
    clean: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        scratch_copy(folder)
        for number, mutant in enumerate(mutants, 1):
            tests = room_of(mutant.file)
            room = " ".join(tests[1:])
            if room not in clean:
                outcome, clean[room] = run(folder, tests, 1800)
                if outcome != "survived":
                    raise SystemExit(f"without a fault these tests fail: {room}")
            mutant.write(folder)
            outcome, seconds = run(folder, tests, 5 * clean[room])
            shutil.copy(ROOT / mutant.file, folder / mutant.file)
            table["mutants"].append(
                {**asdict(mutant), "outcome": outcome, "seconds": round(seconds, 1)}
            )
            table["killed"] = sum(entry["outcome"] != "survived" for entry in table["mutants"])
            table["clean"] = {room: round(seconds, 1) for room, seconds in clean.items()}
            Path(arguments.out).write_text(
                json.dumps(table, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
            )
            words = f"{mutant.file}:{mutant.line}  {mutant.before:.90}  →  {mutant.after:.90}"
            print(f"{number:4} {outcome:9}{seconds:6.1f} s  {' '.join(words.split())}", flush=True)
    print(f"killed: {table['killed']} of {len(mutants)}")


if __name__ == "__main__":
    main()
