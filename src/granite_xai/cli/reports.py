"""The report of a fit, in the forms that a command was asked for."""

from __future__ import annotations

import argparse

import granite_xai as gx
from granite_xai.cli.printing import remark, say
from granite_xai.estimator import result_text

REPORT_NEXT = "--report report.html writes the report"
"""What the result suggests as the next step."""


def write_report(report: gx.Report, options: argparse.Namespace) -> None:
    """Write what the options ask for, print the result, and say what was written.

    Parameters
    ----------
    report : Report
    options : Namespace
        Where to write a page, Markdown and figures, as far as the command has these; and ``json``.
    """
    page = options.report
    markdown = getattr(options, "markdown", None)
    figures = getattr(options, "figures", None)
    if page:
        report.html(page)
    if markdown:
        report.markdown(markdown)
    if figures:
        report.figures(figures, formats=("png", "svg"))
    if options.json:
        say(report.json().rstrip("\n"))
    else:
        next_step = f"see {page}" if page else REPORT_NEXT
        say(result_text(report.granite, next_step))
    for path in (page, markdown, figures):
        if path:
            remark(f"Written: {path}")
