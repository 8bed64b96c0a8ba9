# SPDX-License-Identifier: GPL-2.0-or-later
"""Shared code of the tests of stacks."""

import json
import os

import harness
import test_programs
from report import Process

DEPTH = 127  # the deepest stack that is recorded
OPTIONS = ("--depth", str(DEPTH), "--top", "0")


def trace(directory, command, **more):
    """Trace a command, and return its output and its process. Skips the schema check, which takes
    too long for large reports."""
    path = os.path.join(directory, "report.json")
    run = harness.mtrace("--format", "json", "-o", path, *OPTIONS, "--", *command,
                         env=test_programs.ENVIRONMENT, **more)
    assert run.status == 0, run.stderr
    with open(path, encoding="utf-8") as file:
        [process] = json.load(file)["processes"]
    return run.stdout, Process(process)


def is_physical(frame):
    return not frame["inlined"]
