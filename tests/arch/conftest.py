# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests on other kernels and processors (see tools/kernels, tools/guest).

A test consists of a script that runs in the guest, and of assertions that run here:

    @in_guest("trace -- basic", targets=("basic",))
    def test_basic(ran, expected):
        assert_sites(ran.process, ran.truth)

Each kernel is booted once and runs the scripts of all its tests. `ran` is a harness.Result of the
test's own script. $KERNELS lists the kernels. No kernel and no test is skipped silently: kernels.py
lists what a kernel cannot do, with the reason, and the tests assert it.
"""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import time

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests/runtime"))
pytest.register_assert_rewrite("harness", "report", "leaks")

# pylint: disable=wrong-import-position
import harness
import kernels

KERNELS = os.environ.get("KERNELS", " ".join(kernels.DEFAULT)).replace(",", " ").split()

# Available to the scripts of all tests. Targets and the tracer are in $PATH.
PRELUDE = """
JIT=/proc/sys/net/core/bpf_jit_enable
PATH=/targets:$PATH
test -w $JIT && echo 1 >$JIT
trace() { mtrace-bpf --format json -o report.json "$@"; }
%(setting)s
%(script)s
"""


def load_guest():
    """tools/guest, which is a program without a .py suffix."""
    loader = importlib.machinery.SourceFileLoader("guest", os.path.join(ROOT, "tools/guest"))
    spec = importlib.util.spec_from_loader("guest", loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules["guest"] = module
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


guest = load_guest()


def pytest_configure(config):
    config.addinivalue_line("markers", "guest(script, targets, …): see in_guest")
    wrong = [name for name in KERNELS if name not in kernels.EXPECTED]
    if wrong or not KERNELS:
        pytest.exit(f"no such kernel: {' '.join(wrong)}; there are {' '.join(kernels.EXPECTED)}",
                    returncode=2)


def pytest_generate_tests(metafunc):
    if "kernel" in metafunc.fixturenames:
        mark = metafunc.definition.get_closest_marker("guest")
        only = mark.kwargs["only"] if mark else None
        metafunc.parametrize("kernel", [name for name in KERNELS if only in (None, name)],
                             scope="session")


def pytest_collection_modifyitems(items):
    """Drop tests for one kernel if that kernel is not requested."""
    def is_wanted(item):
        mark = item.get_closest_marker("guest")
        return not mark or mark.kwargs["only"] in (None, *KERNELS)
    items[:] = filter(is_wanted, items)


class Ran(harness.Result):
    """The result of a test's script, and the kernel's messages during it."""

    def __init__(self, outcome, folder):
        for name, data in outcome.files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(data)
        super().__init__(subprocess.CompletedProcess([], outcome.status, outcome.stdout,
                                                     outcome.stderr),
                         os.path.join(folder, "report.json"))
        self.files = outcome.files
        self.kernel = outcome.kernel


class Guests:
    """The outcomes of the tests by kernel. Each kernel is booted when its first outcome is
    needed."""

    def __init__(self, session):
        self.session = session
        self.outcomes = {}

    def items(self, kernel):
        return [item for item in self.session.items
                if item.get_closest_marker("guest") and item.callspec.params["kernel"] == kernel]

    def boot(self, kernel):
        items = self.items(kernel)
        marks = [item.get_closest_marker("guest").kwargs for item in items]
        expected = kernels.EXPECTED[kernel]
        files = {"/usr/bin/mtrace-bpf": os.path.join(ROOT, expected.build, "mtrace-bpf")}
        for name in sorted({name for mark in marks for name in mark["targets"]}):
            files["/targets/" + os.path.basename(name)] = \
                os.path.join(ROOT, expected.targets, name)
        if expected.compat32:
            files["/targets/compat32"] = os.path.join(ROOT, expected.compat32)
        for mark in marks:
            files.update((place, os.path.join(ROOT, path)) for place, path in mark["files"])
        commands = [(PRELUDE % {"setting": mark["setting"] % item.callspec.params,
                                "script": mark["script"] % item.callspec.params}, mark["seconds"])
                    for item, mark in zip(items, marks)]
        begin = time.monotonic()
        outcomes = guest.run(kernel, files, commands, self.say)
        self.say(f"guest {kernel}: {len(outcomes) - outcomes.count(None)} of {len(outcomes)} "
                 f"commands ran in {time.monotonic() - begin:.0f} s")
        for item, outcome in zip(items, outcomes) if os.environ.get("V") else ():
            self.say(f"    {outcome.seconds if outcome else -1:6.1f} s  {item.name}")
        return {item.nodeid: outcome for item, outcome in zip(items, outcomes)}

    def say(self, line):
        config = self.session.config
        reporter = config.pluginmanager.getplugin("terminalreporter")
        with config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            reporter.ensure_newline()
            reporter.write_line(line)

    def outcome(self, item):
        kernel = item.callspec.params["kernel"]
        if kernel not in self.outcomes:
            try:
                self.outcomes[kernel] = self.boot(kernel)
            except guest.GuestError as why:
                self.outcomes[kernel] = why
        found = self.outcomes[kernel]
        if isinstance(found, Exception):
            pytest.fail(f"guest {kernel}: {found}", pytrace=False)
        if not found[item.nodeid]:
            pytest.fail(f"guest {kernel}: the command did not come to its end", pytrace=False)
        return found[item.nodeid]


@pytest.fixture(scope="session")
def guests(request):
    return Guests(request.session)


@pytest.fixture
def ran(request, guests, tmp_path):  # pylint: disable=redefined-outer-name
    result = Ran(guests.outcome(request.node), str(tmp_path))
    for word in ("BUG:", "WARNING:", "Oops", "general protection", "rcu_sched self-detected"):
        assert word not in result.kernel, result.kernel
    return result


@pytest.fixture
def expected(kernel):
    """What is expected of this kernel. Every test with this fixture runs on each kernel."""
    return kernels.EXPECTED[kernel]
