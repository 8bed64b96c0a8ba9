# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes the outcome of each test to the file $TEST_RECORDS, as one line of JSON for each of setup,
call and teardown. tools/check reads it."""

import json
import os


def reason(report):
    """Why a test failed or was skipped."""
    if report.skipped and isinstance(report.longrepr, tuple):
        return report.longrepr[2]
    captured = [content for _, content in report.sections if content.strip()]
    return "\n".join([report.longreprtext, *captured])


def write(record):
    with open(os.environ["TEST_RECORDS"], "a", encoding="utf-8") as file:
        print(json.dumps(record), file=file)


def pytest_runtest_logreport(report):
    if "TEST_RECORDS" in os.environ:
        write({"test": report.nodeid, "outcome": report.outcome, "seconds": report.duration,
               "text": "" if report.passed else reason(report)})


def pytest_configure(config):
    config.addinivalue_line("markers", "whole_machine: traces or observes all processes of the "
                            "machine, so nothing else may run meanwhile")
