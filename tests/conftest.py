"""How tests are run: property-test profiles, the data folder, missing packages."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import settings

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)
HEAVY = "'torch'"
"""The one package that no dependency group installs: its default build brings gigabytes for graphics processors."""

# The default group must be over in minutes on two cores; the whole one (make test-all) looks at many more examples.
settings.register_profile("default", derandomize=True, deadline=None, max_examples=40)
settings.register_profile("deep", settings.get_profile("default"), max_examples=1000)
settings.load_profile(os.environ.get("GRANITE_TEST_PROFILE") or "default")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require-packages",
        action="store_true",
        help="a test skipped because a package is missing counts as failed",
    )


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the paper's data; without it the test is skipped."""
    folder = os.environ.get("GRANITE_DATA")
    if not folder:
        pytest.skip("GRANITE_DATA is not set")
    return Path(folder)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _demanding(item.config, (yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _demanding(collector.config, (yield))


def _demanding(config: pytest.Config, report: Report) -> Report:
    """Turn the skip of ``pytest.importorskip`` into a failure when every package should be there."""
    missing = "could not import" in str(report.longrepr) and HEAVY not in str(report.longrepr)
    if report.skipped and config.getoption("--require-packages") and missing:
        report.outcome = "failed"
        report.longrepr = str(report.longrepr)
    return report
