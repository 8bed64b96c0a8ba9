# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures of the runtime tests. Programs are built by make (see the target "runtime")."""

import os
import signal

import pytest

pytest.register_assert_rewrite("harness", "report")

# pylint: disable=wrong-import-position
import harness
from machine import need

# Ways to bring entry and return together, and what each needs besides uprobes. Which map keeps a
# call and how probes are placed have nothing to do with each other, and the kernel takes seconds to
# let go of probes that were placed one by one: so of those one map is enough but for a few tests.
PAIRINGS = {"session": ("session",), "task": ("multi",), "hash": ("multi",), "perf-hash": ()}
PERF_TASK = ("--pairing", "perf-task")


def pytest_configure(config):
    del config
    if not os.path.exists(harness.MTRACE) or not os.path.isdir(harness.TARGETS):
        pytest.exit(f"{harness.MTRACE} is not built: run `make all targets`", returncode=2)
    # Shells start background jobs with ^C ignored; programs that end by it would run on.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def what_is_traced(request):
    harness.whole_machine = bool(request.node.get_closest_marker("whole_machine"))


@pytest.fixture
def uprobes():
    """For tests that trace."""
    need("uprobes")


if harness.BACKEND != "bpf":
    PAIRINGS = {None: ()}


@pytest.fixture(params=PAIRINGS)
def pairing(request):
    """Each way to bring entry and return together; as options."""
    need(*PAIRINGS[request.param])
    return ("--pairing", request.param) if request.param else ()


@pytest.fixture
def launch(uprobes, tmp_path):
    """launch(COMMAND, ARG…, options=…): trace a command to its end."""
    del uprobes

    def run(*command, **more):
        return harness.launch(str(tmp_path), *command, **more)
    return run


@pytest.fixture
def attach(uprobes, tmp_path):
    """attach(PID…, options=…): a Tracer, for a with statement."""
    del uprobes
    count = 0

    def run(*pids, **more):
        nonlocal count
        count += 1
        return harness.Tracer(str(tmp_path), *pids, name=f"attached{count}", **more)
    return run
