# SPDX-License-Identifier: GPL-2.0-or-later
"""What is the ptrace source's own: when it is taken, by whom it can be used, what a target may
notice of it, and what is left behind. All else of it is shown by the other tests, which run with
BACKEND=ptrace too."""

import errno
import os
import shutil
import signal
import subprocess
import time

import pytest

import harness
from harness import Steady, mtrace, target
from machine import need, ptrace_scope
from report import assert_sites, difference

PTRACE = ("--backend", "ptrace")
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--")


def launch(tmp_path, *command, options=PTRACE, before=()):
    """Trace by ptrace, with words before the tracer's own name."""
    path = str(tmp_path / "report.json")
    run = subprocess.run([*before, harness.MTRACE, "--format", "json", "-o", path, *options, "--",
                          *command], capture_output=True, text=True, check=False,
                         stdin=subprocess.DEVNULL, timeout=harness.TIMEOUT)
    return harness.Result(run, path)


def tracer_of(pid):
    return int(harness.status(pid).get("TracerPid", "0"))


def assert_original(pid, before):
    """The code of its C library is as it was."""
    assert harness.libc_code(pid) == before


# When it is taken.

@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM, errno.EACCES])
def test_where_bpf_is_refused(tmp_path, number):
    """One line says that it is ptrace, and why."""
    result = launch(tmp_path, target("basic"), options=(), before=(target("refuse"), str(number)))
    assert result.status == 0
    assert result.process["backend"] == "ptrace"
    assert_sites(result.process, result.truth)
    lines = [line for line in result.stderr.splitlines() if "ptrace" in line]
    assert len(lines) == 1 and lines[0].startswith("mtrace-bpf: tracing by ptrace because BPF ")


def test_doctor_says_which_and_why():
    result = subprocess.run([target("refuse"), str(errno.EPERM), harness.MTRACE, "doctor"],
                            capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
    assert "by ptrace" in result.stdout.splitlines()[-1]


def test_the_whole_system_is_refused():
    result = mtrace("--system-wide", *PTRACE)
    assert result.status == 1 and harness.one_line(result.stderr)
    assert "needs BPF" in result.stderr


# By whom.

def test_unprivileged(tmp_path):
    """Launch, stacks and leak scan of a program of one's own."""
    need("root", "setpriv")
    tmp_path.chmod(0o777)
    for directory in tmp_path.parents:
        if directory.stat().st_uid == os.getuid() and directory != directory.parent:
            directory.chmod(directory.stat().st_mode | 0o055)
    result = launch(tmp_path, target("leak"), options=("-a",), before=NOBODY)
    process = result.process
    assert process["backend"] == "ptrace"
    assert process["scan"]["done"], process["scan"]
    assert process["scan"]["definite"]["blocks"] > 0
    assert process["stack_quality"]["complete"] == process["stack_quality"]["stacks"] > 0


def test_unprivileged_attach(tmp_path):
    need("root", "setpriv")
    if ptrace_scope():
        pytest.skip("kernel.yama.ptrace_scope is not 0")
    with Steady(command=[*NOBODY, target("steady"), "1"]) as steady:
        before = steady.tell()
        path = str(tmp_path / "report.json")
        tmp_path.chmod(0o777)
        tracer = subprocess.Popen([*NOBODY, harness.MTRACE, "--format", "json", "-o", "-", "-p",
                                   str(steady.pid)], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True)
        with tracer:
            line = ""
            while "tracing" not in line or f"({steady.pid})" not in line:
                line = tracer.stderr.readline()
                assert line
            after = steady.tell("w")
            tracer.send_signal(signal.SIGINT)
            stdout, _ = tracer.communicate(timeout=harness.TIMEOUT)
        with open(path, "w", encoding="utf-8") as file:
            file.write(stdout)
        result = harness.Result(subprocess.CompletedProcess([], 0, "", ""), path)
        assert_sites(result.process, difference(after, before))


@pytest.mark.parametrize("how", ["traced", "another's"])
def test_refusals_are_told_apart(tmp_path, how):
    need("root", "setpriv", "strace")
    del tmp_path
    with Steady() as steady:
        if how == "traced":
            with subprocess.Popen(["strace", "-o", "/dev/null", "-p", str(steady.pid)],
                                  stderr=subprocess.PIPE, text=True) as strace:
                assert "attached" in strace.stderr.readline()
                result = mtrace(*PTRACE, "-p", str(steady.pid))
                strace.send_signal(signal.SIGINT)
            words = f"process {strace.pid} already traces it"
        else:
            run = subprocess.run([*NOBODY, harness.MTRACE, *PTRACE, "-p", str(steady.pid)],
                                 capture_output=True, text=True, check=False)
            result, words = harness.Result(run, None), "another user's"
        assert result.status == 1
        assert words in result.stderr and harness.one_line(result.stderr), result.stderr
        assert steady.tell("w")["rounds"] == 1


# What a target may notice.

def test_signals_arrive(tmp_path):
    """As often as they were sent, also SIGTRAP, and nothing is lost by them."""
    result = launch(tmp_path, target("signals"))
    assert result.status == 0
    assert_sites(result.process, result.truth)


def test_job_control(tmp_path):
    """A process that was stopped stays so, and goes on."""
    with Steady(2) as steady:
        before = steady.tell()
        with harness.Tracer(str(tmp_path), steady.pid, options=PTRACE) as tracer:
            for _ in range(5):
                os.kill(steady.pid, signal.SIGSTOP)
                _, status = os.waitpid(steady.pid, os.WUNTRACED)
                assert os.WIFSTOPPED(status)
                os.kill(steady.pid, signal.SIGCONT)
                after = steady.tell("w")
            result = tracer.stop()
        assert_sites(result.process, difference(after, before))


# What is left behind.

@pytest.mark.parametrize("end", ["stop", "kill"])
def test_code_is_put_back(tmp_path, end):
    with Steady(2) as steady:
        original = harness.libc_code(steady.pid)
        with harness.Tracer(str(tmp_path), steady.pid, options=PTRACE) as tracer:
            steady.tell("w")
            assert harness.libc_code(steady.pid) != original
            tracer_process = tracer_of(steady.pid)
            getattr(tracer, end)()
        harness.wait_for_end(tracer_process)
        assert_original(steady.pid, original)
        assert tracer_of(steady.pid) == 0
        assert steady.tell("w")["rounds"] == 2
        assert steady.quit() == 0


@pytest.mark.parametrize("command", [("threads", "4", "200"), ("forker",), ("exec", "-t", "basic")])
def test_again_and_again(tmp_path, command):
    """No deadlock, nobody left standing."""
    words = [target(word) if os.path.exists(target(word)) else word for word in command]
    for _ in range(10):
        result = launch(tmp_path, *words)
        assert result.status == 0


@pytest.mark.parametrize("follow", [(), ("-f",), ("-f", "--scan")])
@pytest.mark.parametrize("way", ["exit", "kill", "exec"])
def test_children_of_whom_nobody_tells(tmp_path, way, follow):
    """Their parent ends just when they are born. They are traced, or let go, and all end: each has
    allocated once. On a busy machine every parent may end before it has a child."""
    children = 0
    for _ in range(10):
        result = launch(tmp_path, target("orphans"), way, "20", options=(*PTRACE, *follow))
        assert result.status == 0
        children = int(result.stdout)
        if follow:
            freed = [process for process in result.processes
                     if process["totals"]["bytes_freed"] == 100]
            assert len(freed) >= children
        if children:
            break
    assert children


def steady_alone(tmp_path):
    """With an allocator of its own, on which nobody else has probes: of some whose tracers are gone
    the kernel may still take the hits."""
    path = str(tmp_path / "steady")
    shutil.copy(target("steady-static"), path)
    return Steady(command=[path])


def test_uprobes_that_come_and_go(tmp_path, uprobes):
    """They take what our breakpoints would meet, and these with them when they go: told as a gap,
    and mended."""
    del uprobes
    need("bpf")

    with steady_alone(tmp_path) as steady:
        with harness.Tracer(str(tmp_path), steady.pid, options=PTRACE, name="ptrace") as tracer:
            steady.tell("w")
            with harness.Tracer(str(tmp_path), steady.pid, name="bpf") as other:
                steady.tell("w")
                once = other.stop().process["totals"]["allocations"]
            for _ in range(20):  # the kernel takes its time
                time.sleep(0.5)
                steady.tell("w")
            process = tracer.stop().process
        assert 2 * once <= process["totals"]["allocations"] <= 21 * once
        assert process.lost()["gap_ns"] > 0
        assert steady.tell("c")["corrupt"] == 0


def test_uprobes_that_went_just_now(tmp_path, uprobes):
    """They have taken our breakpoints with them, and the trace ends before anybody has looked."""
    del uprobes
    need("bpf")
    with steady_alone(tmp_path) as steady:
        with harness.Tracer(str(tmp_path), steady.pid, options=PTRACE, name="ptrace") as tracer:
            old = steady.tell("w")
            with harness.Tracer(str(tmp_path), steady.pid, name="bpf") as other:
                other.stop()
            new = steady.tell("w")
            process = tracer.stop().process
        made = sum(site["allocations"] for site in difference(new, old)["sites"])
        assert process["totals"]["allocations"] >= 2 * made or process.lost()["gap_ns"] > 0


def test_uprobes_from_before(tmp_path, uprobes):
    """Who comes later cannot know whether they are gone, until a breakpoint is met."""
    del uprobes
    need("bpf")
    with steady_alone(tmp_path) as steady:
        with harness.Tracer(str(tmp_path), steady.pid, name="bpf") as other:
            steady.tell("w")
            other.stop()
        with harness.Tracer(str(tmp_path), steady.pid, options=PTRACE, name="idle") as tracer:
            assert tracer.stop().process.lost()["gap_ns"] > 0
        with harness.Tracer(str(tmp_path), steady.pid, options=PTRACE, name="ptrace") as tracer:
            steady.tell("w")
            process = tracer.stop().process
    assert process["totals"]["allocations"] > 0 and process.lost() == {}


def test_uprobes_that_stay(tmp_path, uprobes):
    """Nobody has taken anything back yet when the trace ends."""
    del uprobes
    need("bpf")
    with Steady() as steady:
        with harness.Tracer(str(tmp_path), steady.pid, options=PTRACE, name="ptrace") as tracer, \
                harness.Tracer(str(tmp_path), steady.pid, name="bpf") as other:
            steady.tell("w")
            time.sleep(2)
            steady.tell("w")
            assert tracer.stop().process.lost()["gap_ns"] > 0
            steady.tell("w")
            other.stop()
        assert steady.tell("c")["corrupt"] == 0
