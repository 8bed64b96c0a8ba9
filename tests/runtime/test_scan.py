# SPDX-License-Identifier: GPL-2.0-or-later
"""When the leak scan pauses a process, what the process notices, and what is reported if it cannot
be paused. What counts as a leak is tested elsewhere."""

import os
import signal
import subprocess
import time

import pytest

import harness
from harness import Running, Steady, status, target
from machine import library, need
from report import assert_sites

LEAKS = {"blocks": 10, "bytes": 480}
SCAN = ("-a",)


def leaks_of(process):
    """The target's own definite leaks, summed over its sites."""
    wanted = [site for site in process["sites"] if process.function(site) == "t_leak"]
    return {"blocks": sum(site["definite_blocks"] for site in wanted),
            "bytes": sum(site["definite_bytes"] for site in wanted)}


def kept_of(process):
    return [site for site in process["sites"] if process.function(site) == "t_keep"]


def assert_scanned(process):
    assert process["scan"]["done"], process["scan"]["reason"]
    assert leaks_of(process) == LEAKS
    for site in kept_of(process):
        assert site["definite_blocks"] == 0


class Waiting(Running):
    """The target "ends wait": leaks on command, exits at the end of its input."""

    def __init__(self, threads=2):
        # Background jobs without job control ignore ^Z. A process group of its own always stops.
        super().__init__([target("ends"), "wait", str(threads)], seconds=120,
                         stdin=subprocess.PIPE, preexec_fn=os.setpgrp)
        assert self.process.stdout.readline() == "READY\n"

    def leak(self):
        self.process.stdin.write("l")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "LEAKED\n"

    def end(self):
        """Returns its exit status and its count of signals."""
        self.process.stdin.close()
        said = self.process.stdout.readline()
        return self.process.wait(60), said


def until(condition, seconds=20):
    """Poll a condition for which there is no file descriptor."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.002)


@pytest.mark.parametrize("how, threads, ended", [
    ("return", 0, 0), ("return", 3, 0), ("worker", 2, 3), ("leader", 3, 0), ("last", 0, 0),
    ("abort", 0, -signal.SIGABRT), ("abort", 2, -signal.SIGABRT), ("crash", 2, -signal.SIGSEGV),
    ("term", 2, -signal.SIGTERM)])
def test_every_exit_is_scanned(launch, how, threads, ended):
    result = launch(target("ends"), how, str(threads), options=SCAN)
    assert result.status == ended
    assert result.stdout == "READY\n"
    assert_scanned(result.process)
    assert result.process["scan"]["mode"] == "stop"
    assert result.process["scan"]["pause_ms"] > 0


def test_sigkill_is_not_scanned(launch):
    result = launch(target("ends"), "kill", "2", options=SCAN)
    assert result.status == -signal.SIGKILL
    assert not result.process["scan"]["done"]
    assert "SIGKILL" in result.process["scan"]["reason"]


@pytest.mark.parametrize("by", [(), ("-t",)])
def test_exec_is_not_scanned_but_the_new_image_is(launch, by):
    result = launch(target("exec"), *by, target("ends"), "return", "2", options=SCAN)
    assert result.status == 0
    old, new = result.processes
    assert not old["scan"]["done"]
    assert "exec" in old["scan"]["reason"]
    assert new["scan"]["done"], new["scan"]["reason"]
    if not new["losses"]["gap_ns"]:  # there is a gap if a thread makes the exec
        assert_scanned(new)


def test_threads_do_not_delay_an_exec(launch):
    """The exec kills all other threads. Their exits are not mistaken for the exit of the
    process."""
    start = time.monotonic()
    launch(target("exec"), "-t", "true")
    without = time.monotonic() - start
    start = time.monotonic()
    launch(target("exec"), "-t", "true", options=SCAN)
    assert time.monotonic() - start < without + 1


def assert_children_scanned(processes):
    """Each child inherits its parent's leaks, and adds as many of its own."""
    assert len(processes) == 3
    for child in processes:
        assert child["scan"]["done"], child["scan"]["reason"]
        assert leaks_of(child) == {"blocks": 20, "bytes": 960}


@pytest.mark.parametrize("options", [("--scan-stop",), ("--scan-live",)])
def test_followed_children_are_scanned(launch, options):
    result = launch(target("ends"), "children", options=(*SCAN, "-f", *options))
    assert result.status == 0
    first, *children = result.processes
    assert_scanned(first)
    assert_children_scanned(children)


def test_programs_executed_by_children_are_scanned(launch):
    """Whether the shell forks or vforks, programs are paused when they exit, however short they
    live."""
    script = f"{target('ends')} return; {target('ends')} abort & {target('ends')} term 2; wait; true"
    result = launch("sh", "-c", script, options=(*SCAN, "-f"))
    ended = [process for process in result.processes if process["exe"].endswith("/ends")]
    assert len(ended) == 3
    for process in ended:
        assert_scanned(process)


@pytest.mark.parametrize("way", ["fork", "vfork", "share", "daemon", "thread", "early", "killed"])
def test_scan_does_not_change_the_trace(launch, way):
    """Every exit is paused, and nothing else changes: the report equals the truth of all
    processes."""
    result = launch(target("family"), way, options=(*SCAN, "-f"))
    by_pid = {}
    for process in result.processes:
        by_pid.setdefault(process["pid"], []).append(process)
    for truth in result.truths:
        assert_sites(by_pid[truth["pid"]][-1], truth)
    for process in result.processes:
        scan = process["scan"]
        assert scan["done"] or "exec" in scan["reason"] or "SIGKILL" in scan["reason"]


def test_many_children_at_once(launch):
    result = launch(target("family"), "storm", "60", "4", options=(*SCAN, "-f"), timeout=300)
    assert result.status == 0
    assert len(result.processes) >= 60
    for process in result.processes:
        assert process["scan"]["done"], process["scan"]["reason"]


@pytest.mark.whole_machine
def test_system_wide_scan_of_running_processes(attach):
    """Running processes are scanned live. For those that exited earlier, the report says that there
    was no scan."""
    with attach(options=("--comm", "ends", *SCAN)) as tracer, Waiting(0) as waiting:
        subprocess.run([target("ends"), "return"], check=True, stdout=subprocess.DEVNULL)
        waiting.leak()
        result = tracer.stop()
        by_pid = {process["pid"]: process for process in result.processes}
        running = by_pid.pop(waiting.pid)
        assert running["scan"]["mode"] == "live"
        assert_scanned(running)
        (ended,) = by_pid.values()
        assert not ended["scan"]["done"]
        assert "exited before the trace ended" in ended["scan"]["reason"]
        assert waiting.end() == (0, "signals 0 0\n")


def test_attached_process_continues_after_the_scan(attach):
    with Waiting() as waiting, attach(waiting.pid, options=SCAN) as tracer:
        waiting.leak()
        result = tracer.stop()
        assert result.status == 0
        assert_scanned(result.process)
        assert status(waiting.pid)["TracerPid"] == "0"
        assert waiting.end() == (0, "signals 0 0\n")


def test_exit_of_attached_process_is_scanned(attach):
    with Waiting() as waiting, attach(waiting.pid, options=SCAN) as tracer:
        waiting.leak()
        assert waiting.end() == (0, "signals 0 0\n")
        result = tracer.finish()
        assert result.status == 0
        assert_scanned(result.process)


def test_exit_status(launch):
    leaks = (*SCAN, "--error-exitcode", "99")
    assert launch(target("ends"), "return", options=leaks).status == 99
    assert launch(target("ends"), "abort", options=leaks).status == 99
    assert launch("true", options=leaks).status == 0
    assert launch("false", options=leaks).status == 1
    assert launch("sh", "-c", "kill -TERM $$", options=leaks).status == -signal.SIGTERM
    assert launch("/nowhere", options=leaks).status == 127


def test_exit_status_of_an_attached_trace(attach):
    with Waiting() as waiting:
        with attach(waiting.pid, options=(*SCAN, "--error-exitcode", "99")) as tracer:
            waiting.leak()
            assert tracer.stop().status == 99


@pytest.mark.parametrize("kind, counted, expected", [
    ("definite", None, 99), ("definite", "none", 0), ("definite", "possible,reachable", 0),
    ("possible", None, 0), ("possible", "definite,possible", 99), ("possible", "all", 99),
    ("possible", "definite,indirect", 0),
    ("reachable", None, 0), ("reachable", "definite,possible", 0), ("reachable", "reachable", 99)])
def test_leak_kinds(launch, kind, counted, expected):
    options = ("--error-exitcode", "99", *(("--leak-kinds", counted) if counted else ()))
    result = launch(target("kinds"), kind, options=options)
    assert result.status == expected
    assert result.process["scan"][kind] == {"blocks": 1, "bytes": 48}


@pytest.mark.parametrize("kind", ["possible", "reachable"])
def test_suppressed_leaks_never_count(launch, kind):
    options = ("--error-exitcode", "99", "--leak-kinds", "all", "--ignore", f"t_{kind}")
    result = launch(target("kinds"), kind, options=options)
    assert result.process["scan"]["suppressed"] == {"blocks": 1, "bytes": 48}
    assert result.process["scan"][kind] == {"blocks": 0, "bytes": 0}
    assert result.status == 0


@pytest.mark.parametrize("pattern, expected",
                         [("t_*", 0), ("t_possible", 99), ("t_reachable", 99)])
def test_sites_below_top_are_suppressed(uprobes, pattern, expected):
    del uprobes
    options = ("--error-exitcode", "99", "--leak-kinds", "all", "--ignore", pattern, "--top", "1")
    result = harness.mtrace(*harness.BACKEND_OPTIONS, *options, "-o", "/dev/null", "--",
                            target("kinds"), "possible", "reachable")
    assert result.status == expected


def test_leak_kinds_of_a_recording(launch, tmp_path):
    path = str(tmp_path / "trace.rec")
    assert launch(target("kinds"), "possible", options=(*SCAN, "--record", path)).status == 0
    report = ("report", "-o", "/dev/null", "--error-exitcode", "99")
    assert harness.mtrace(*report, path).status == 0
    assert harness.mtrace(*report, "--leak-kinds", "definite,possible", path).status == 99
    config = tmp_path / "config"
    config.write_text("leak-kinds possible\n")
    assert harness.mtrace(*report, "--config", str(config), path).status == 99


def test_summary_mentions_possible_leaks(uprobes):
    del uprobes
    result = harness.mtrace(*harness.BACKEND_OPTIONS, *SCAN, "-o", "-", target("kinds"), "possible")
    (summary,) = [line for line in result.stdout.splitlines() if line.startswith("SUMMARY")]
    assert "no definite leaks, 48 B possibly leaked; " in summary


def test_unknown_leak_kind_is_refused():
    result = harness.mtrace("--error-exitcode", "9", "--leak-kinds", "definite,possibel", "true")
    assert result.status == 2 and result.stdout == ""
    assert harness.one_line(result.stderr)
    assert ("\"possibel\" is not one of definite, indirect, possible, stack-only, reachable, "
            "unknown, all, none"
            in result.stderr)


def test_short_programs_are_never_missed(launch):
    for _ in range(20):
        result = launch("true", options=SCAN)
        assert result.status == 0
        assert result.process["scan"]["done"], result.process["scan"]["reason"]


def test_signals_reach_a_watched_process(attach):
    with Waiting() as waiting, attach(waiting.pid, options=SCAN) as tracer:
        waiting.leak()
        for count in range(1, 101):
            os.kill(waiting.pid, signal.SIGUSR1)
            until(lambda: int(status(waiting.pid)["ShdPnd"], 16) == 0)
            if count % 2:
                os.kill(waiting.pid, signal.SIGUSR2)
                until(lambda: int(status(waiting.pid)["ShdPnd"], 16) == 0)
        assert waiting.end() == (0, "signals 100 50\n")
        assert tracer.finish().status == 0


def test_job_control_still_works(attach):
    with Waiting() as waiting, attach(waiting.pid, options=SCAN) as tracer:
        for stop in (signal.SIGSTOP, signal.SIGTSTP):
            os.kill(waiting.pid, stop)
            pid, how = os.waitpid(waiting.pid, os.WUNTRACED)
            assert pid and os.WIFSTOPPED(how) and os.WSTOPSIG(how) == stop
            os.kill(waiting.pid, signal.SIGCONT)
            pid, how = os.waitpid(waiting.pid, os.WCONTINUED)
            assert os.WIFCONTINUED(how)
        waiting.leak()
        os.kill(waiting.pid, signal.SIGSTOP)
        os.waitpid(waiting.pid, os.WUNTRACED)
        result = tracer.stop()
        assert_scanned(result.process)
        until(lambda: status(waiting.pid)["State"].startswith("T (stopped"))
        os.kill(waiting.pid, signal.SIGCONT)
        assert waiting.end() == (0, "signals 0 0\n")


@pytest.mark.parametrize("debugger", ["strace", "gdb"])
def test_scan_of_a_process_traced_by_a_debugger(attach, debugger):
    need("bpf")
    need(debugger)
    commands = {"strace": ["strace", "-f", "-o", "/dev/null", "-p"],
                "gdb": ["gdb", "-q", "-batch", "-ex", "continue", "-p"]}
    with Waiting() as waiting:
        with subprocess.Popen([*commands[debugger], str(waiting.pid)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as other:
            until(lambda: status(waiting.pid)["TracerPid"] == str(other.pid)
                  and not status(waiting.pid)["State"].startswith("t"))
            with attach(waiting.pid, options=SCAN) as tracer:
                waiting.leak()
                result = tracer.stop()
            assert result.status == 0
            assert "traces it" in result.process["scan"]["reason"]
            assert f"process {other.pid}" in result.stderr
            assert waiting.end() == (0, "signals 0 0\n")
            other.wait(60)


def memory_of(pid):
    """Resident pages and minor faults."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return int(fields[21]), int(fields[7])


@pytest.mark.parametrize("mode", ["--scan-stop", "--scan-live"])
def test_scan_does_not_grow_the_process(attach, mode):
    with Waiting(0) as waiting:
        with attach(waiting.pid, options=(*SCAN, mode)) as tracer:
            waiting.leak()
            until(lambda: status(waiting.pid)["State"].startswith("S"))
            before = memory_of(waiting.pid)
            tracer.process.send_signal(signal.SIGINT)
            until(lambda: status(waiting.pid)["TracerPid"] == "0")
            after = memory_of(waiting.pid)
            assert_scanned(tracer.finish().process)
        assert after == before


def test_periodic_scans(attach):
    need("bpf")
    options = ("--scan-every", "200ms")
    with Waiting() as waiting, attach(waiting.pid, options=options) as tracer:
        waiting.leak()
        time.sleep(1.5)
        assert status(waiting.pid)["TracerPid"] == "0"
        result = tracer.stop()
        assert result.process["scan"]["mode"] == "live"
        assert_scanned(result.process)


def test_live_scan_has_no_false_positives(attach):
    """Four threads allocate all the time."""
    with Steady(4) as steady:
        with attach(steady.pid, options=("--scan-every", "100ms", *SCAN)) as tracer:
            for _ in range(100):
                steady.tell("w")
            result = tracer.stop()
        assert result.process["scan"]["done"]
        assert result.process["scan"]["definite"] == {"blocks": 0, "bytes": 0}
        assert steady.tell("c")["corrupt"] == 0
        assert steady.quit() == 0


@pytest.mark.parametrize("options", [SCAN, ("--scan-every", "100ms", "--scan-stop"),
                                     (*SCAN, "--scan-every", "100ms", "--scan-stop")])
def test_tracer_killed_at_any_moment(attach, options):
    """The tracer is killed while it watches, stops or scans. The program continues and exits
    normally."""
    for round_ in range(17):
        with Waiting(4) as waiting, attach(waiting.pid, options=options) as tracer:
            waiting.leak()
            if round_ % 2:
                tracer.process.send_signal(signal.SIGINT)
                time.sleep(round_ * 0.0004)
            else:
                time.sleep(0.1 + round_ * 0.001)
            tracer.kill()
            until(lambda pid=waiting.pid: status(pid)["TracerPid"] == "0")
            os.kill(waiting.pid, signal.SIGUSR1)
            assert waiting.end() == (0, "signals 1 0\n")


def test_tracer_killed_while_the_program_exits(attach):
    """The tracer is killed while the program exits. The program still exits normally."""
    for round_ in range(17):
        with Waiting(4) as waiting, attach(waiting.pid, options=SCAN) as tracer:
            waiting.leak()
            waiting.process.stdin.close()
            time.sleep(round_ * 0.0004)
            tracer.kill()
            assert waiting.process.wait(60) == 0


def test_launched_program_outlives_a_killed_tracer(tmp_path, uprobes):
    del uprobes
    with subprocess.Popen([harness.MTRACE, "-q", *SCAN, "-o", str(tmp_path / "r"), target("ends"),
                           "wait", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as tracer:
        assert tracer.stdout.readline() == "READY\n"
        tracer.kill()
        tracer.stdin.write("l")
        tracer.stdin.close()
        assert tracer.stdout.read() == "LEAKED\nsignals 0 0\n"


@pytest.mark.parametrize("how, leaked", [("returned", 1), ("array", 1), ("above", 1), ("thread", 1),
                                         ("freed", 64), ("live", 0), ("waiting", 0)])
def test_stale_word_keeps_no_block_alive(launch, how, leaked):
    """A word counts as a reference only if the program can still read it."""
    process = launch(target("stale"), how, options=SCAN).process
    assert process["scan"]["definite"]["blocks"] == leaked


@pytest.mark.parametrize("where", ["malloc", "mmap", "thread", "local"])
@pytest.mark.parametrize("how", ["switch", "context"])
def test_blocks_of_coroutines_are_not_leaked(launch, how, where):
    """Both the running coroutine and the function that waits for it will read their blocks
    again."""
    process = launch(target("coroutine"), how, where, options=SCAN).process
    live = {process.function(site): site["live_blocks"] for site in process["sites"]}
    assert live["run"] == 1
    assert live["wait_above_stack" if where == "local" else "wait_with_block"] == 1
    assert process["scan"]["definite"]["blocks"] == 0
    assert process["scan"]["possible"]["blocks"] == 0


TAILS = {"blocks": 408, "bytes": 41338}


def assert_tails_are_leaked(process):
    assert leaks_of(process) == TAILS
    assert not [site for site in process["sites"]
                if process.function(site) == "t_leak" and site["possible_blocks"]]


@pytest.mark.parametrize("built", ["tails", "tails-static", "m32/tails"])
def test_chunk_links_keep_no_block_alive(launch, built):
    """The address of a free chunk points to the last word of the previous block."""
    if built.startswith("m32"):
        need("multilib")
    assert_tails_are_leaked(launch(target(built), options=SCAN).process)


def test_chunk_links_keep_no_block_alive_after_attaching(attach):
    """Memory between blocks may contain older blocks, but the links of free chunks are not
    references."""
    with Running([target("tails"), "wait"], stdin=subprocess.PIPE) as tails:
        assert tails.process.stdout.readline() == "ready\n"
        with attach(tails.pid, options=SCAN) as tracer:
            tails.process.stdin.write("\n")
            tails.process.stdin.flush()
            assert tails.process.stdout.readline() == "done\n"
            assert_tails_are_leaked(tracer.stop().process)


@pytest.mark.parametrize("name, leaked", [("large", {"blocks": 20, "bytes": 20000000}),
                                          ("tails", TAILS)])
def test_jemalloc_keeps_no_block_alive(launch, name, leaked):
    """Leaked blocks are found although jemalloc's metadata point to large blocks and its thread
    caches point to small ones."""
    need("jemalloc")
    environment = {**os.environ, "LD_PRELOAD": library("libjemalloc.so.2")}
    assert leaks_of(launch(target(name), options=SCAN, env=environment).process) == leaked


@pytest.mark.parametrize("mode, kinds, blocks, status", [
    ("--scan-stop", "stack-only", 0, 0), ("--scan-live", "stack-only", 1, 99),
    ("--scan-live", "definite", 1, 0)])
def test_block_held_by_a_dead_stack_slot_is_stack_only_in_live_scan(attach, mode, kinds, blocks,
                                                                    status):
    """In a running process, it is unknown whether the word on the stack will be read again."""
    options = (*SCAN, mode, "--error-exitcode", "99", "--leak-kinds", kinds)
    with Running([target("stale"), "wait"], seconds=120, stdin=subprocess.PIPE) as running:
        assert running.process.stdout.readline() == "READY\n"
        with attach(running.pid, options=options) as tracer:
            running.process.stdin.write("l\n")
            running.process.stdin.flush()
            assert running.process.stdout.readline() == "LEAKED\n"
            result = tracer.stop()
        [site] = [site for site in result.process["sites"]
                  if result.process.function(site) == "fill"]
        assert site["stack_only_blocks"] == blocks
        assert site["live_blocks"] == 1
        assert result.status == status
