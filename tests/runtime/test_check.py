# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/check: how it handles tests that fail once, fail always, or are skipped."""

import importlib.machinery
import importlib.util
import os
import pathlib
import sys
import tempfile

import pytest

import harness
from report import ROOT

SOURCE = """
import os
import pytest

def test_that_passes():
    pass

def test_that_fails_once():
    if not os.path.exists({mark!r}):
        open({mark!r}, "w").close()
        assert "first" == "try"

def test_that_fails_always():
    assert {value} == 3, "always"

@pytest.mark.skip(reason="no such machine")
def test_that_is_skipped():
    pass
"""


@pytest.fixture(name="runner", scope="module")
def load_runner():
    """tools/check, which is a program without a .py suffix."""
    loader = importlib.machinery.SourceFileLoader("check", os.path.join(ROOT, "tools/check"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", loader))
    sys.modules["check"] = module
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def session_of(runner, *tasks):
    session = runner.Session()
    session.run_all(tasks)
    session.repeat_failed()
    return session


@pytest.fixture(name="folder")
def make_folder():
    """In the project's folder, like all tests: pytest names tests by their path there."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(harness.MTRACE)) as folder:
        yield pathlib.Path(folder)


def pytest_task(runner, folder, value):
    path = folder / "test_some.py"
    path.write_text(SOURCE.format(mark=str(folder / "mark"), value=value))
    command = (*runner.PYTEST, "-p", "tests.conftest", "--rootdir", ROOT)
    return runner.Task("some test_some.py", command, runner.read_pytest, (str(path),))


def test_flaky_test_passes_and_is_listed(runner, folder, capsys):
    session = session_of(runner, pytest_task(runner, folder, 3))
    assert session.sum_up() == 0
    output = capsys.readouterr().out
    assert output.splitlines()[-1] == "3 passed, 0 failed, 1 skipped"
    flaky = output[output.index("flaky:"):]
    assert "test_that_fails_once" in flaky and "'first' == 'try'" in flaky
    assert "skipped 1: Skipped: no such machine" in flaky


def test_that_fails_twice_fails_the_run(runner, folder, capsys):
    session = session_of(runner, pytest_task(runner, folder, 4))
    assert session.sum_up() == 1
    output = capsys.readouterr().out
    assert output.splitlines()[-1] == "2 passed, 1 failed, 1 skipped"
    assert "repeat it: /usr/bin/python3 -m pytest" in output
    failed = [line for line in output.splitlines() if line.startswith("failed: ")]
    assert len(failed) == 1 and failed[0].endswith("::test_that_fails_always")


def test_deterministic_failure_is_not_retried(runner, tmp_path, capsys):
    mark = tmp_path / "mark"
    command = ("sh", "-c", f"test -e {mark} || {{ touch {mark}; exit 3; }}")
    session = session_of(runner, runner.Task("once", command, runner.read_command, by_chance=False))
    assert session.sum_up() == 1
    assert "exit status 3" in capsys.readouterr().out


def test_crash_of_a_unit_test_is_a_failure(runner, capsys):
    """Even though all tests that it printed passed."""
    text = "[       OK ] test_one\n[       OK ] test_two\n"
    command = ("sh", "-c", f"printf '{text}'; kill -SEGV $$")
    session = session_of(runner, runner.Task("unit", command, runner.read_cmocka))
    assert session.sum_up() == 1
    assert capsys.readouterr().out.splitlines()[-1] == "2 passed, 1 failed, 0 skipped"


def test_empty_run_fails(runner, capsys):
    assert session_of(runner).sum_up() == 1
    assert capsys.readouterr().out.splitlines()[-1] == "0 passed, 0 failed, 0 skipped"
