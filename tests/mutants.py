"""Plant small faults in the search and in what chance allows, and count those that the tests notice.

    .venv/bin/python tests/mutants.py --seed 4 --count 200 --out mutants.json
    .venv/bin/python tests/mutants.py --only mutants.json --out survivors.json      the survivors of that run again
    .venv/bin/python tests/mutants.py --rooms algebra regions --workers 16           other rooms, 16 at once

A mutant is the package with one expression changed: ``<`` for ``<=``, ``+`` for ``-``, a condition negated, a constant
moved by one. Each is written into a scratch copy of the package, and the tests of what the package promises, then those
of the room, run until the first failure. A mutant that passes them all survived: either no caller can see the change,
or a test is missing. Constants that only bound memory, or say what is worth its time, are left alone (`BOUNDS`).

Not collected by pytest.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import multiprocessing
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, settings

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "src/granite_xai"
DRAWN_FROM = ("search", "algebra/moments", "inference", "fitting/judge")
"""Rooms whose faults are drawn unless others are named."""
ENDLESS = 3.0
"""A mutant that takes so many times what the tests take without a fault is taken for one that never ends."""
PATIENCE = 30.0
"""Seconds that a mutant may take in any case."""

FIRST = ("spec", "use", "words", "parts")
"""Folders of tests that judge every file, in this order, as far as they are there: they know no module by its name.
Before them come the file's own examples, after them the folder of its room."""

# Constants and functions that only bound how much is done at once, or say from where another way to the same numbers is
# worth it: by file, and only those that no result depends on. Changed, they are no faults, and are left alone.
BOUNDS: dict[str, set[str]] = {
    "algebra/accumulated": {"CELLS_AT_ONCE"},
    "evaluations/probe": {"CELLS_AT_ONCE"},
    "frameworks/cohex": {"BLOCK"},
    "search/growth": {"CELLS_AT_ONCE"},
    "search/tables": {"NUMBERS_AT_ONCE"},
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
        written = folder / self.file
        written.write_bytes(text[: self.span[0]] + self.after.encode() + text[self.span[1] :])
        forget_bytecode(written)

    def undo(self, folder: Path) -> None:
        """Put the file back as it was."""
        shutil.copy(ROOT / self.file, folder / self.file)
        forget_bytecode(folder / self.file)


def forget_bytecode(file: Path) -> None:
    """Compiled code is kept by time in whole seconds and by size: of two quick mutants the first would run twice."""
    Path(cache_from_source(str(file))).unlink(missing_ok=True)


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
    """A file within the package, such as ``search/growth``."""
    return file.removeprefix(PACKAGE + "/").removesuffix(".py")


def tests_of(file: str) -> list[str]:
    """The file's own examples, the tests of what the package promises, then those of its room."""
    room = place_of(file).partition("/")[0]
    folders = [f"tests/{name}" for name in (*FIRST, room) if (ROOT / "tests" / name).is_dir()]
    return [file, *folders]


class Failures:
    """A plugin of pytest that writes down which tests failed."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            with self.file.open("a", encoding="utf-8") as written:
                written.write(report.nodeid + "\n")


def session(folder: Path, arguments: list[str], failures: Path) -> int:
    """Pytest's answer, in a process of its own; the copy, and not the installed package, is what the tests import."""
    os.setsid()
    os.chdir(folder)
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    places = [str(folder / name) for name in ("src", "tests", "tests/spec")]
    sys.path[:0] = places
    os.environ["PYTHONPATH"] = os.pathsep.join(places)
    if not str(find_spec("granite_xai").origin).startswith(str(folder)):
        return int(pytest.ExitCode.USAGE_ERROR)
    quiet = ["-q", "-p", "no:cacheprovider", "-m", "not slow and not browser"]
    return int(pytest.main([*quiet, *arguments], plugins=[Failures(failures)]))


def run(folder: Path, arguments: list[str], limit: float) -> tuple[str, float, list[str]]:
    """Run some tests in the scratch copy: what became of the mutant, the seconds it took, and which tests failed.

    In a child of this process, which has loaded every library but the package, so that none is loaded again.
    """
    failures = folder / "failures.txt"
    failures.write_text("", encoding="utf-8")
    start = time.perf_counter()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = session(folder, arguments, failures)
        finally:
            os._exit(code)
    outcome = "time-out"
    while outcome == "time-out" and time.perf_counter() - start < limit:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED):
                raise SystemExit(f"pytest did not run {' '.join(arguments)}")
            outcome = "killed" if code else "survived"
        else:
            time.sleep(0.05)
    if outcome == "time-out":
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    seconds = time.perf_counter() - start
    return outcome, seconds, failures.read_text(encoding="utf-8").split("\n")[:-1]


@dataclass(frozen=True)
class Room:
    """The tests of a file without a fault."""

    tests: tuple[str, ...]
    seconds: float
    failed: tuple[str, ...]  # these are left out: they fail here without a fault, too


def try_without_fault(folder: Path, tests: tuple[str, ...]) -> Room:
    """How long some tests take, and which of them fail anyway (because a package is missing here)."""
    _, seconds, failed = run(folder, list(tests), 1800)
    return Room(tests, seconds, tuple(failed))


def try_mutant(folder: Path, mutant: Mutant, room: Room) -> dict[str, Any]:
    """The entry of the table for one mutant."""
    mutant.write(folder)
    left_out = [f"--deselect={test}" for test in room.failed]
    limit = max(PATIENCE, ENDLESS * room.seconds)
    outcome, seconds, failed = run(folder, ["-x", *left_out, *room.tests], limit)
    mutant.undo(folder)
    noticed_by = failed[0] if failed else ""
    return {
        **asdict(mutant),
        "outcome": outcome,
        "seconds": round(seconds, 1),
        "noticed_by": noticed_by,
    }


def scratch_copy(folder: Path) -> Path:
    """A copy of what the tests need."""
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(ROOT / name, folder / name)
    return folder


class Workers:
    """Processes that each have a copy of the package."""

    def __init__(self, number: int, scratch: Path) -> None:
        context = multiprocessing.get_context("fork")
        folders = context.SimpleQueue()
        for worker in range(number):
            folders.put(scratch_copy(scratch / str(worker)))
        self.pool = ProcessPoolExecutor(number, context, _take_folder, (folders,))

    def rooms(self, files: list[str], clean_seconds: float | None) -> dict[str, Room]:
        """The tests of each file without a fault; files of one room share a run.

        They are not run if they are known to pass in some seconds.
        """
        tests = {file: tuple(tests_of(file)) for file in files}
        if clean_seconds is not None:
            return {file: Room(chosen, clean_seconds, ()) for file, chosen in tests.items()}
        distinct = list(dict.fromkeys(chosen[1:] for chosen in tests.values()))
        by_tests = dict(zip(distinct, self.pool.map(_try_without_fault, distinct), strict=True))
        rooms = dict[str, Room]()
        for file, chosen in tests.items():
            clean = by_tests[chosen[1:]]
            rooms[file] = Room(tests=chosen, seconds=clean.seconds, failed=clean.failed)
        return rooms

    def entries(self, mutants: list[Mutant], rooms: dict[str, Room]) -> Iterator[dict[str, Any]]:
        """The entries of the table as they come."""
        tasks = [self.pool.submit(_try_mutant, mutant, rooms[mutant.file]) for mutant in mutants]
        for task in as_completed(tasks):
            yield task.result()


FOLDER: Path | None = None
"""Of this worker."""


def _take_folder(folders: Any) -> None:
    global FOLDER
    FOLDER = folders.get()


def _try_without_fault(tests: tuple[str, ...]) -> Room:
    return try_without_fault(FOLDER, tests)


def _try_mutant(mutant: Mutant, room: Room) -> dict[str, Any]:
    return try_mutant(FOLDER, mutant, room)


def files_of(room: str) -> list[Path]:
    """The files of a room, or the one file that is meant."""
    path = ROOT / PACKAGE / room
    if path.is_dir():
        return sorted(path.rglob("*.py"))
    return [path.with_suffix(".py")]


def chosen_mutants(arguments: argparse.Namespace) -> list[Mutant]:
    """The mutants of this run: drawn, or the survivors of an earlier one."""
    files = [file for room in arguments.rooms for file in files_of(room)]
    everyone = [mutant for file in files for mutant in mutants_of(file)]
    print(f"{len(everyone)} places in {len(files)} files", flush=True)
    if arguments.only:
        survivors = [entry for entry in entries(arguments.only) if entry["outcome"] == "survived"]
        mutants = [same_fault(entry, everyone) for entry in survivors]
        return [mutant for mutant in mutants if mutant is not None]
    drawn = random.Random(arguments.seed).sample(everyone, arguments.count)
    if arguments.go_on:
        tried = {
            (entry["file"], *entry["span"], entry["after"]) for entry in entries(arguments.go_on)
        }
        drawn = [
            mutant for mutant in drawn if (mutant.file, *mutant.span, mutant.after) not in tried
        ]
    return drawn


def entries(table: str) -> list[dict[str, Any]]:
    """The mutants of an earlier run."""
    mutants: list[dict[str, Any]] = json.loads(Path(table).read_text(encoding="utf-8"))["mutants"]
    return mutants


def same_fault(entry: dict[str, Any], everyone: list[Mutant]) -> Mutant | None:
    """The mutant of an earlier run in the package of today: the same change, nearest to its line."""
    sought = (entry["file"], entry["before"], entry["after"])
    same = [mutant for mutant in everyone if (mutant.file, mutant.before, mutant.after) == sought]
    if not same:
        print(f"no longer there: {entry['file']}:{entry['line']}  {entry['before']:.90}")
        return None
    return min(same, key=lambda mutant: abs(mutant.line - entry["line"]))


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


def read_arguments() -> argparse.Namespace:
    """What is asked for on the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--rooms", nargs="+", default=list(DRAWN_FROM), help="folders or files")
    parser.add_argument("--only", help="the table of an earlier run: plant its survivors only")
    parser.add_argument("--go-on", help="the table of a run that was stopped: plant what it lacks")
    parser.add_argument("--out", default="mutants.json", help="the table to write")
    parser.add_argument("--workers", type=int, default=1, help="mutants that are tried at once")
    parser.add_argument(
        "--clean-seconds", type=float, help="what the tests take without a fault, if they all pass"
    )
    parser.add_argument(
        "--examples", type=int, default=100, help="of the property tests, in percent of the usual"
    )
    return parser.parse_args()


def main() -> None:
    """Plant the mutants and keep a table of what became of them."""
    arguments = read_arguments()
    prepare(arguments.examples)
    mutants = chosen_mutants(arguments)
    table: dict[str, Any] = {"seed": arguments.seed, "planned": len(mutants), "mutants": []}
    with tempfile.TemporaryDirectory() as name:
        workers = Workers(arguments.workers, Path(name).resolve())
        files = sorted({mutant.file for mutant in mutants})
        rooms = workers.rooms(files, arguments.clean_seconds)
        for file, room in rooms.items():
            print(f"{file}: {room.seconds:.0f} s without a fault", *room.failed, flush=True)
        for number, entry in enumerate(workers.entries(mutants, rooms), 1):
            table["mutants"].append(entry)
            table["killed"] = sum(one["outcome"] != "survived" for one in table["mutants"])
            text = json.dumps(table, indent=1, ensure_ascii=False) + "\n"
            Path(arguments.out).write_text(text, encoding="utf-8")
            place = f"{entry['file']}:{entry['line']}"
            words = f"{place}  {entry['before']:.90}  →  {entry['after']:.90}"
            outcome = f"{entry['outcome']:9}{entry['seconds']:6.1f} s"
            print(f"{number:4} {outcome}  {' '.join(words.split())}", flush=True)
        workers.pool.shutdown()
    print(f"killed: {table['killed']} of {len(mutants)}")


if __name__ == "__main__":
    main()
