# SPDX-License-Identifier: GPL-2.0-or-later
"""valgrind starts while probes are in processes that the user did not select. It must survive, and
what other processes miss in the meantime is reported."""

import json
import subprocess

import pytest

import harness
from harness import target
from machine import need
from report import assert_sites, difference

pytestmark = pytest.mark.whole_machine

FOLLOW = ("-f",)
HOLD = ("-f", "--hold-exec")


@pytest.mark.parametrize("options", [(), ("--hold-exec",)])
def test_valgrind_during_system_wide_tracing(attach, options):
    """valgrind starts after the trace. All system-wide probes are removed, and placed again when it
    exits."""
    need("valgrind")
    with harness.Steady() as steady:
        before = steady.tell("w")
        with attach(options=("--comm", "steady", "-v", *options)) as tracer:
            steady.tell("w")
            run = subprocess.run(["valgrind", "-q", target("threads"), "2", "100"], capture_output=True,
                                 text=True, check=False, timeout=harness.TIMEOUT)
            assert run.returncode == 0, run.stderr
            assert json.loads(run.stdout)
            while "in every process again" not in (line := tracer.process.stderr.readline()):
                assert line
                tracer.log.append(line)
            after = steady.tell("w")
            result = tracer.stop()
    assert len([line for line in result.stderr.splitlines() if "valgrind" in line]) == 1
    [process] = result.processes
    assert process["losses"]["gap_ns"]
    assert_sites(process, difference(after, before), losses=("gap_ns",))


@pytest.mark.parametrize("options", [FOLLOW, HOLD])
def test_valgrind_among_followed_children(launch, options):
    """For example, a makefile runs valgrind. Programs before and after it are traced."""
    need("valgrind")
    own = f"{target('threads')} 2 100"
    script = f"{own}; valgrind -q {own}; {own}"
    result = launch("sh", "-c", script, options=options)
    assert result.status == 0, result.stderr
    truths = result.truths
    assert len(truths) == 3
    traced = [p for p in result.processes if p["comm"] == "threads" and not
              p["losses"]["no_allocator"]]
    assert len(traced) == 2
    for process, truth in zip(traced, (truths[0], truths[2])):
        assert_sites(process, truth)


def test_program_that_valgrind_runs_natively(launch, tmp_path):
    """A child that leaves the translator is traced again, with a gap."""
    need("valgrind", "programs")
    work = tmp_path / "work"
    work.write_text("for (1..60) { my @some = map { 'x' x $_ } 1..100;"
                    " select(undef, undef, undef, 0.05) }")
    script = f"valgrind -q sh -c 'perl {work}; true'"
    result = launch("sh", "-c", script, options=(*HOLD, "--stack", "none"))
    assert result.status == 0, result.stderr
    [process] = [p for p in result.processes if p["comm"] == "perl"]
    assert process["losses"]["gap_ns"]
    assert process["totals"]["allocations"]
