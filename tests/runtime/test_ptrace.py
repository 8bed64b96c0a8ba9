# SPDX-License-Identifier: GPL-2.0-or-later
"""What is specific to the ptrace backend: when it is chosen, who can use it, what a target may
notice, and what is left behind. All other tests also run with BACKEND=ptrace."""

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
    """Trace with ptrace. `before` is put in front of the tracer's command line."""
    path = str(tmp_path / "report.json")
    run = subprocess.run([*before, harness.MTRACE, "--format", "json", "-o", path, *options, "--",
                          *command], capture_output=True, text=True, check=False,
                         stdin=subprocess.DEVNULL, timeout=harness.TIMEOUT)
    return harness.Result(run, path)


def tracer_of(pid):
    return int(harness.status(pid).get("TracerPid", "0"))


def assert_original(pid, before):
    """The code of its C library is unchanged."""
    assert harness.libc_code(pid) == before


# When ptrace is chosen.

@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EPERM, errno.EACCES])
def test_ptrace_is_used_if_bpf_is_refused(tmp_path, number):
    """One line says that ptrace is used, and why."""
    result = launch(tmp_path, target("basic"), options=(), before=(target("refuse"), str(number)))
    assert result.status == 0
    assert result.process["backend"] == "ptrace"
    assert_sites(result.process, result.truth)
    lines = [line for line in result.stderr.splitlines() if "ptrace" in line]
    assert len(lines) == 1 and lines[0].startswith("mtrace-bpf: tracing by ptrace because BPF ")


def test_doctor_reports_the_backend():
    result = subprocess.run([target("refuse"), str(errno.EPERM), harness.MTRACE, "doctor"],
                            capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
    assert "by ptrace" in result.stdout.splitlines()[-1]


def test_system_wide_tracing_is_refused():
    result = mtrace("--system-wide", *PTRACE)
    assert result.status == 1 and harness.one_line(result.stderr)
    assert "needs BPF" in result.stderr


# Who can use it.

def test_unprivileged_launch(tmp_path):
    """An unprivileged user can launch a program, with stacks and a leak scan."""
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
def test_attach_error_gives_the_reason(tmp_path, how):
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
            result, words = harness.Result(run, None), "it belongs to another user"
        assert result.status == 1
        assert words in result.stderr and harness.one_line(result.stderr), result.stderr
        assert steady.tell("w")["rounds"] == 1


# What a target may notice.

def test_signals_are_delivered(tmp_path):
    """Signals are delivered as often as they were sent, including SIGTRAP, and no events are
    dropped."""
    result = launch(tmp_path, target("signals"))
    assert result.status == 0
    assert_sites(result.process, result.truth)


def test_job_control(tmp_path):
    """A process that is stopped stays stopped until it is continued."""
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
def test_code_is_restored(tmp_path, end):
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
def test_repeated_runs_do_not_hang(tmp_path, command):
    """No deadlock, and no process stays stopped."""
    words = [target(word) if os.path.exists(target(word)) else word for word in command]
    for _ in range(10):
        result = launch(tmp_path, *words)
        assert result.status == 0


@pytest.mark.parametrize("follow", [(), ("-f",), ("-f", "--scan")])
@pytest.mark.parametrize("way", ["exit", "kill", "exec"])
def test_children_of_exiting_parents(tmp_path, way, follow):
    """The parent exits just after the fork. The children are traced or released, and all exit. Each
    of them allocates once. On a busy machine, all parents may exit before they have a child."""
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
    """A target with its own copy of the allocator's file, on which nobody else has probes. The
    kernel may still handle hits of probes whose tracers have exited."""
    path = str(tmp_path / "steady")
    shutil.copy(target("steady-static"), path)
    return Steady(command=[path])


def test_uprobes_added_and_removed_while_tracing(tmp_path, uprobes):
    """uprobes hide our breakpoints, and remove them together with their own. The gap is reported,
    and the breakpoints are placed again."""
    del uprobes
    need("bpf")

    with steady_alone(tmp_path) as steady:
        with harness.Tracer(str(tmp_path), steady.pid, options=PTRACE, name="ptrace") as tracer:
            steady.tell("w")
            with harness.Tracer(str(tmp_path), steady.pid, name="bpf") as other:
                steady.tell("w")
                once = other.stop().process["totals"]["allocations"]
            for _ in range(20):  # the kernel removes uprobes with a delay
                time.sleep(0.5)
                steady.tell("w")
            process = tracer.stop().process
        assert 2 * once <= process["totals"]["allocations"] <= 21 * once
        assert process.lost()["gap_ns"] > 0
        assert steady.tell("c")["corrupt"] == 0


def test_uprobes_removed_just_before_the_end(tmp_path, uprobes):
    """The uprobes have removed our breakpoints, and the trace ends before the tracer notices."""
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


def test_uprobes_removed_before_the_attach(tmp_path, uprobes):
    """A later tracer cannot know whether the old uprobes are gone until a breakpoint is hit."""
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


def test_uprobes_present_at_the_end(tmp_path, uprobes):
    """The uprobes are still there when the trace ends."""
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
