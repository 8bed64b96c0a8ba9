# SPDX-License-Identifier: GPL-2.0-or-later
"""What the tests of stacks have in common."""

import json
import os

import harness
import test_programs
from report import Process

DEPTH = 127  # the deepest that we record
OPTIONS = ("--depth", str(DEPTH), "--top", "0")


def trace(directory, command, **more):
    """A command's process as reported, whose report may be large: without the check by its schema,
    that would take longer than all else. Returns what it wrote, and the process."""
    path = os.path.join(directory, "report.json")
    run = harness.mtrace("--format", "json", "-o", path, *OPTIONS, "--", *command,
                         env=test_programs.ENVIRONMENT, **more)
    assert run.status == 0, run.stderr
    with open(path, encoding="utf-8") as file:
        [process] = json.load(file)["processes"]
    return run.stdout, Process(process)


def is_physical(frame):
    return not frame["inlined"]
