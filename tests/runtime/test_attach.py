# SPDX-License-Identifier: GPL-2.0-or-later
"""mtrace-bpf -p PID does not disturb the process, and the report equals its truth since the
attach."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import threading

import pytest

import harness
import report
from harness import Steady
from machine import need
from report import assert_sites, difference

ROUNDS = 5


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_truth_since_the_attach(attach, pairing, threads):
    with Steady(threads) as steady:
        before = steady.tell("w")
        with attach(steady.pid, options=pairing) as tracer:
            for _ in range(ROUNDS):
                after = steady.tell("w")
            result = tracer.stop()
        assert result.status == 0
        assert_sites(result.process, difference(after, before))
        assert result.process["losses"]["unmatched_frees"] == 0
        assert result.process["exited"] is False
        assert steady.tell("c")["corrupt"] == 0
        assert steady.quit() == 0


def test_blocks_from_before_the_attach(attach):
    with Steady() as steady:
        before = steady.tell()
        with attach(steady.pid) as tracer:
            after = steady.tell("f")
            result = tracer.stop()
        changes = difference(after, before)
        old = next(site for site in changes["sites"] if site["function"] == "t_old")
        assert old["frees"] == 50
        assert result.process["losses"]["unmatched_frees"] == 50
        assert result.process["totals"]["frees"] == 0


def test_no_block_is_invented_by_attaching_under_load(attach):
    """Probes are placed and removed one by one while the program allocates."""
    with harness.Running(harness.target("churn")) as churn:
        assert churn.process.stdout.readline() == "ready\n"
        for _ in range(ROUNDS):
            with attach(churn.pid) as tracer:
                result = tracer.stop()
            assert result.process["live"]["blocks"] <= 1
            assert result.process["losses"]["collisions"] == 0


PAIRS = 5000  # per child of steady
CRAMPED = ("--buffer", "64k", "--stack", "none")  # room for calls only, not for stacks


@contextlib.contextmanager
def unread(tracer):
    """The tracer is stopped: nobody reads the ring buffer."""
    tracer.process.send_signal(signal.SIGSTOP)
    os.waitpid(tracer.pid, os.WUNTRACED)
    yield
    tracer.process.send_signal(signal.SIGCONT)


def tell_unread(steady, tracer, commands):
    with unread(tracer):
        for command in commands:
            steady.tell(command)


def test_losses_are_exact(attach):
    """With a tiny ring buffer and a reader that is stopped for a while, the report accounts for
    each call once, as counted or as dropped. ptrace drops nothing."""
    need("bpf")
    with Steady(8) as steady:
        before = steady.tell("p")
        with attach(steady.pid, options=CRAMPED) as tracer:
            steady.tell("p")
            tell_unread(steady, tracer, "p")
            after = steady.tell("p")
            result = tracer.stop()
    assert result.process["losses"]["events"] > 0
    assert result.process.calls_told() == sum(
        site["allocations"] + site["frees"] for site in difference(after, before)["sites"])


def test_forks_are_reported_when_the_buffer_is_full(attach):
    """Children that are forked while the ring buffer is full are reported like all others: each has
    a section that accounts for all its calls, as counted or as dropped."""
    need("bpf")
    with Steady(8) as steady:
        steady.tell("t")
        with attach(steady.pid, options=("-f", *CRAMPED)) as tracer:
            tell_unread(steady, tracer, "pbbb")
            steady.tell("b")
            result = tracer.stop()
    children = [process for process in result.processes if process["pid"] != steady.pid]
    assert [child["ppid"] for child in children] == 4 * [steady.pid]
    assert [child.calls_told() for child in children] == 4 * [2 * PAIRS]
    assert sorted(child["losses"]["events"] for child in children)[1:] == 3 * [2 * PAIRS]


TOLD_LATE = "is reported late"


def calls(*truths):
    return sum(site["allocations"] + site["frees"] for truth in truths for site in truth["sites"])


def functions(process):
    """All functions that the stacks of its sites name."""
    return {frame["function"] for site in process["sites"] for frame in process.frames(site)}


def test_execs_are_reported_when_the_buffer_is_full(attach):
    """An image that begins while the ring buffer is full has a section of its own, without blocks
    of the old image. The report accounts for every call of the program; the C library adds a few of
    its own. The mappings of the new image are known, although their events were dropped as well."""
    need("bpf")
    with Steady() as steady:
        before = steady.tell("w")
        with attach(steady.pid, options=("--buffer", "64k", "-v")) as tracer:
            steady.tell("p")
            with unread(tracer):
                old = steady.tell("p")
                steady.begin_anew()
                steady.tell("p")
            tracer.wait_for(TOLD_LATE)
            new = steady.tell("p")
            result = tracer.stop()
    first, second = result.processes
    assert [first["image"], second["image"]] == [0, 1]
    assert second["origin"] == "exec" and second["exe"] == first["exe"]
    assert "t_work" in functions(second)
    assert second["live"]["blocks"] < 100  # 50 of them are t_old's
    more = first.calls_told() + second.calls_told() - calls(difference(old, before), new)
    assert 0 <= more < 50


@pytest.mark.whole_machine
def test_exec_of_unselected_program_is_reported_when_the_buffer_is_full(attach, tmp_path):
    """While the ring buffer is full, the process executes a program that the options do not
    select."""
    need("bpf")
    shutil.copy(harness.target("steady"), tmp_path / "other")
    with Steady(command=[harness.target("steady"), "1", str(tmp_path / "other")]) as steady:
        before = steady.tell()
        with attach(options=("--exe", harness.target("steady"), "-v", *CRAMPED)) as tracer:
            with unread(tracer):
                after = steady.tell("p")
                steady.begin_anew()
            tracer.wait_for(TOLD_LATE)
            steady.tell("p")
            result = tracer.stop()
    process = next(process for process in result.processes if process["pid"] == steady.pid)
    assert process["left"]
    assert 0 <= process.calls_told() - calls(difference(after, before)) < 50


def test_children_forked_around_a_dropped_exec(attach):
    """Two forks and the exec between them are dropped. Each child still inherits the blocks of the
    image that its parent had at the time of the fork."""
    need("bpf")
    with Steady() as steady:
        with attach(steady.pid, options=("-f", "-v", *CRAMPED)) as tracer:
            steady.tell("w")
            with unread(tracer):
                steady.tell("p")
                steady.tell("b")
                steady.begin_anew()
                steady.tell("b")
            tracer.wait_for(TOLD_LATE)
            result = tracer.stop()
    images = [process for process in result.processes if process["pid"] == steady.pid]
    assert [image["image"] for image in images] == [0, 1]
    older, younger = [process for process in result.processes if process["pid"] != steady.pid]
    assert {older["ppid"], younger["ppid"]} == {steady.pid}
    assert older["inherited"]["blocks"] > 0
    assert younger["inherited"]["blocks"] == 0


def test_several_processes(attach):
    with Steady() as one, Steady(2) as two:
        before = one.tell(), two.tell()
        with attach(one.pid, two.pid) as tracer:
            after = one.tell("w"), two.tell("w")
            result = tracer.stop()
        processes = {process["pid"]: process for process in result.processes}
        assert set(processes) == {one.pid, two.pid}
        assert_sites(processes[one.pid], difference(after[0], before[0]))
        assert_sites(processes[two.pid], difference(after[1], before[1]))


def test_two_tracers_of_different_processes(attach):
    """Two tracers of the same library each trace their own process. What they leave in the kernel
    is not mixed up, whichever came first."""
    with Steady() as one, Steady() as two:
        before = one.tell(), two.tell()
        with attach(one.pid) as first, attach(two.pid) as second:
            after = one.tell("w"), two.tell("w")
            results = first.stop(), second.stop()
        for result, old, new in zip(results, before, after):
            assert_sites(result.process, difference(new, old))
            assert result.process["losses"]["collisions"] == 0


def test_two_tracers_of_one_process(attach):
    need("bpf")
    with Steady() as steady:
        before = steady.tell()
        with attach(steady.pid) as first:
            with attach(steady.pid) as second:
                after = steady.tell("w")
                results = first.stop(), second.stop()
        for result in results:
            assert_sites(result.process, difference(after, before))


def test_process_exits_while_attached(attach):
    with Steady() as steady:
        before = steady.tell()
        with attach(steady.pid) as tracer:
            after = steady.tell("w")
            assert steady.quit() == 0
            result = tracer.finish()
        assert result.status == 0
        assert result.process["exited"] is True
        assert_sites(result.process, difference(after, before))


def test_attached_process_is_never_signalled(attach):
    with Steady() as steady:
        with attach(steady.pid) as tracer:
            steady.tell("w")
            assert tracer.stop().status == 0
        with open(f"/proc/{steady.pid}/status", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        assert fields["SigPnd"].strip() == fields["ShdPnd"].strip() == "0" * 16
        assert fields["TracerPid"].strip() == "0"
        assert steady.tell("w")["rounds"] == 2


def test_second_tracer_attaches_and_detaches(attach):
    need("bpf")
    with Steady(2) as steady:
        start = steady.tell()
        with attach(steady.pid) as first:
            middle = steady.tell("w")
            with attach(steady.pid) as second:
                end = steady.tell("w")
                later = second.stop()
            last = steady.tell("w")
            whole = first.stop()
        assert_sites(later.process, difference(end, middle))
        assert_sites(whole.process, difference(last, start))
        assert steady.tell("c")["corrupt"] == 0


class Worker(threading.Thread):
    """Keeps a target working until stopped."""

    def __init__(self, steady):
        super().__init__()
        self.steady = steady
        self.stopped = threading.Event()
        self.answers = 0

    def run(self):
        while not self.stopped.is_set():
            self.steady.tell("w")
            self.answers += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.join()


def test_killed_tracer_does_not_disturb_the_process(attach):
    """Kill the tracer 25 times while two threads of the target work. No breakpoint is left."""
    with Steady(2) as steady:
        code = harness.libc_code(steady.pid)
        with Worker(steady) as worker:
            for _ in range(25):
                with attach(steady.pid) as tracer:
                    tracer.kill()
                harness.await_no_tracer(steady.pid)
        harness.await_libc_code(steady.pid, code)
        truth = steady.tell("c")
        assert truth["corrupt"] == 0
        assert truth["rounds"] == worker.answers > 0
        before = steady.tell()
        with attach(steady.pid) as tracer:
            after = steady.tell("w")
            assert_sites(tracer.stop().process, difference(after, before))
        assert steady.quit() == 0


def test_tracer_killed_while_it_attaches(uprobes):
    """Kill it at twenty moments of its startup, 20 ms apart. The target must still answer."""
    with Steady(2) as steady:
        with Worker(steady):
            kill_at_twenty_moments(steady.pid)
        truth = steady.tell("c")
        assert (truth["corrupt"], steady.quit()) == (0, 0)


def kill_at_twenty_moments(pid):
    for moment in range(20):
        tracer = subprocess.Popen([harness.MTRACE, *harness.BACKEND_OPTIONS, "-p", str(pid)],
                                  stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            tracer.wait(moment * 0.02)
        except subprocess.TimeoutExpired:
            pass
        tracer.kill()
        tracer.wait()


def test_tracer_killed_while_it_detaches(attach):
    """Kill it at twenty moments, 6 ms apart, while the kernel removes the breakpoints."""
    with Steady() as steady:
        code = harness.libc_code(steady.pid)
        for moment in range(20):
            with attach(steady.pid) as tracer:
                tracer.process.send_signal(signal.SIGINT)
                try:
                    tracer.process.wait(moment * 0.006)
                except subprocess.TimeoutExpired:
                    pass
                tracer.kill()
            harness.await_libc_code(steady.pid, code)
        assert steady.tell("c")["corrupt"] == 0


def test_sigusr1_writes_a_report_and_tracing_continues(attach):
    with Steady() as steady:
        before = steady.tell()
        with attach(steady.pid) as tracer:
            steady.tell("w")
            tracer.process.send_signal(signal.SIGUSR1)
            after = steady.tell("w")
            result = tracer.stop()
        assert result.status == 0
        assert_sites(result.process, difference(after, before))


def read_numbered(folder):
    """The numbers of the reports in a folder. Each report must be complete."""
    numbers = []
    for path in folder.glob("report-*"):
        report.check(json.loads(path.read_text(encoding="utf-8")))
        numbers.append(int(path.name.removeprefix("report-")))
    return sorted(numbers)


def test_count_limits_the_interval_reports(uprobes, tmp_path):
    """--count ends the trace after that many reports."""
    del uprobes
    with Steady() as steady:
        done = harness.mtrace("--interval", "100ms", "--count", "3", "--format", "json", "-o",
                              str(tmp_path / "report-%n"), "-p", str(steady.pid),
                              *harness.BACKEND_OPTIONS)
        assert done.status == 0, done.stderr
        assert read_numbered(tmp_path) == [1, 2, 3]
        assert steady.tell("w")["rounds"] == 1


def test_interval_reports_replace_each_other(uprobes, tmp_path):
    """Each report replaces the previous one."""
    del uprobes
    path = tmp_path / "report.json"
    with subprocess.Popen([harness.MTRACE, *harness.BACKEND_OPTIONS, "--interval", "100ms",
                           "--format", "json", "-o", str(path), harness.target("steady")],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tracer:
        assert tracer.stdout.readline() == "READY\n"
        while not path.exists():
            assert tracer.poll() is None
        first = os.stat(path).st_ino
        while os.stat(path).st_ino == first:
            assert tracer.poll() is None
        tracer.stdin.write("wq")
        tracer.stdin.close()
        truth = json.loads(tracer.stdout.readline())
        assert tracer.wait() == 0
    with open(path, encoding="utf-8") as file:
        process, = json.load(file)["processes"]
    assert process["exited"]
    assert_sites(report.Process(process), truth)


def test_launched_program_outlives_the_count(uprobes, tmp_path):
    """The tracer waits for the program, and exits with its status."""
    del uprobes
    last = tmp_path / "report-2"
    done = harness.mtrace("--interval", "100ms", "--count", "2", "--format", "json", "-o",
                          str(tmp_path / "report-%n"), *harness.BACKEND_OPTIONS,
                          "sh", "-c", f"until [ -e {last} ]; do :; done; exit 5")
    assert done.status == 5, done.stderr
    assert read_numbered(tmp_path) == [1, 2]


def test_interrupt_by_sigterm(attach):
    with Steady() as steady:
        with attach(steady.pid) as tracer:
            steady.tell("w")
            tracer.process.send_signal(signal.SIGTERM)
            result = tracer.finish()
        assert result.process.heap()["allocations"] > 0
        assert steady.tell("w")["rounds"] == 2


def test_deleted_executable(attach, tmp_path):
    """Names come from the file that the process runs, even if its path is gone."""
    path = str(tmp_path / "steady")
    shutil.copy(harness.target("steady"), path)
    with Steady(command=[path]) as steady:
        os.unlink(path)
        before = steady.tell()
        with attach(steady.pid) as tracer:
            after = steady.tell("w")
            result = tracer.stop()
        assert_sites(result.process, difference(after, before))
