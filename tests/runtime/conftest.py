# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures of the runtime tests. make builds the programs (see the target "runtime")."""

import os
import signal

import pytest

pytest.register_assert_rewrite("gates", "harness", "report")

# pylint: disable=wrong-import-position
import harness
from machine import need

# Ways to match a call's return with its entry, and what each needs besides uprobes. They differ in
# where the pending call is stored (session cookie, task storage, hash map) and in how probes are
# attached (one link for all probes, or one perf event each). The kernel takes seconds to remove
# perf events.
PAIRINGS = {"session": ("session",), "task": ("multi",), "hash": ("multi",), "perf-hash": ()}
USUAL_PAIRINGS = ("session", "task")
PERF_TASK = ("--pairing", "perf-task")


def pytest_configure(config):
    del config
    if not os.path.exists(harness.MTRACE) or not os.path.isdir(harness.TARGETS):
        pytest.exit(f"{harness.MTRACE} is not built: run `make all targets`", returncode=2)
    # Shells start background jobs with SIGINT ignored. Programs inherit that and would not die of
    # ^C.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def what_is_traced(request):
    harness.whole_machine = bool(request.node.get_closest_marker("whole_machine"))


@pytest.fixture
def uprobes():
    """Required by every test that traces."""
    need("uprobes")


if harness.BACKEND != "bpf":
    PAIRINGS = {None: ()}
    USUAL_PAIRINGS = (None,)


def options_of_pairing(name):
    need(*PAIRINGS[name])
    return ("--pairing", name) if name else ()


@pytest.fixture(params=USUAL_PAIRINGS)
def pairing(request):
    """Options for the two pairings that are the default for attached and followed processes."""
    return options_of_pairing(request.param)


@pytest.fixture(params=PAIRINGS)
def every_pairing(request):
    """Options for each pairing, for tests of the pairing itself."""
    return options_of_pairing(request.param)


@pytest.fixture
def launch(uprobes, tmp_path):
    """launch(COMMAND, ARG…, options=…): trace a command until it exits."""
    del uprobes

    def run(*command, **more):
        return harness.launch(str(tmp_path), *command, **more)
    return run


@pytest.fixture
def attach(uprobes, tmp_path):
    """attach(PID…, options=…): returns a Tracer, for use in a with statement."""
    del uprobes
    count = 0

    def run(*pids, **more):
        nonlocal count
        count += 1
        return harness.Tracer(str(tmp_path), *pids, name=f"attached{count}", **more)
    return run
