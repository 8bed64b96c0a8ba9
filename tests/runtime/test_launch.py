# SPDX-License-Identifier: GPL-2.0-or-later
"""mtrace-bpf -- CMD: the report equals the program's own truth, and tracing does not disturb the
program."""

import os
import shutil
import signal
import subprocess

import pytest

import harness
from conftest import PERF_TASK
from harness import target
from machine import need
from report import MAP_APIS, assert_sites, expected


@pytest.mark.parametrize("name", ["basic", "maps", "short"])
def test_truth(launch, every_pairing, name):
    result = launch(target(name), options=every_pairing)
    assert_sites(result.process, result.truth)
    if "mappings" in result.truth:
        assert result.process["mappings"] == result.truth["mappings"]


@pytest.mark.parametrize("name", ["basic", "maps"])
def test_truth_with_perf_event_probes(launch, name):
    need("bpf")
    test_truth(launch, PERF_TASK, name)


def test_truth_static(launch):
    result = launch(target("basic-static"))
    assert_sites(result.process, result.truth)


def test_truth_musl(launch):
    need("musl")
    result = launch(target("basic-musl"))
    assert_sites(result.process, result.truth)


@pytest.mark.parametrize("stack", ["auto", "fp", "none"])
def test_truth_under_each_stack_mode(launch, stack):
    result = launch(target("basic"), options=("--stack", stack))
    assert_sites(result.process, result.truth)


def test_totals_do_not_depend_on_stacks(launch):
    totals = [launch(target("basic"), options=("--stack", stack)).process["totals"]
              for stack in ("auto", "fp", "none")]
    assert totals[0] == totals[1] == totals[2]


def test_without_stacks_there_is_the_direct_caller(launch):
    process = launch(target("basic"), options=("--stack", "none")).process
    assert all(len({frame["address"] for frame in process.frames(site)}) == 1
               for site in process["sites"])


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("mode", ["pairs", "cross", "realloc"])
def test_threads(launch, pairing, threads, mode):
    result = launch(target("threads"), str(threads), "2000", mode, options=pairing)
    assert_sites(result.process, result.truth)
    assert result.process["losses"]["unmatched_frees"] == 0


def test_dropped_events_are_counted(launch):
    """With a tiny ring buffer, drops are counted and the report stays consistent. ptrace drops
    nothing, because threads wait."""
    need("bpf")
    result = launch(target("threads"), "8", "20000", options=("--buffer", "64k"))
    seen = result.process.sums(lambda site: result.process.function(site).startswith("t_"))
    told = expected(result.truth, key=lambda entry: True)[True]["allocations"]
    missing = told - seen[True]["allocations"]
    assert missing > 0
    assert result.process["losses"]["events"] >= missing


def test_every_new_and_delete(launch, pairing):
    """Compared by API, because a frame-pointer stack cannot name the caller of operator new."""
    result = launch(target("cxx"), options=pairing)
    seen = result.process.sums(lambda site: "new", lambda site: site["api"].startswith("operator"))
    truth = expected(result.truth, key=lambda entry: "new")
    truth["new"]["bytes_allocated"] += result.truth["rounding"]
    truth["new"]["live_bytes"] += result.truth["live_rounding"]
    assert result.process.lost() == {}
    assert seen == truth


def test_deep_stack_is_marked_as_truncated(launch):
    process = launch(target("altstack"), "deep", options=("--depth", "20")).process
    site = next(site for site in process["sites"] if process.function(site) == "t_deep")
    assert (site["allocations"], site["live_bytes"]) == (1, 1234)
    assert process.functions(site)[:3] == ["t_deep", "recurse", "recurse"]
    assert process.stacks[site["stack"]]["truncated"]
    assert process["losses"]["truncated_stacks"] >= 1


def test_frames_have_names_files_and_lines(launch):
    process = launch(target("short")).process
    frame = next(process.frames(site)[0] for site in process["sites"]
                 if process.function(site) == "t_short")
    with open(os.path.join(harness.ROOT, "tests/targets/short.c"), encoding="utf-8") as file:
        assert "malloc(size)" in file.read().splitlines()[frame["line"] - 1]
    assert frame["file"].endswith("short.c")
    assert frame["module"] == target("short")


# Follow new images and libraries.

def test_exec(launch):
    result = launch(target("exec"), target("basic"))
    before, after = result.processes
    assert before["pid"] == after["pid"]
    assert_sites(before, result.truths[0], losses=("gap_ns",))
    assert_sites(after, result.truths[1], losses=("gap_ns",))


def test_exec_by_a_thread(launch):
    """The kernel removes the probes. They are placed again, and the time without them is
    reported."""
    result = launch(target("exec"), "-t", target("basic"))
    before, after = result.processes
    assert before["pid"] == after["pid"]
    assert_sites(before, result.truths[0], losses=("gap_ns",))
    if harness.BACKEND != "bpf":
        assert_sites(after, result.truths[1])
        return
    lost = set(after.lost()) - {"unmatched_frees"}  # of blocks allocated while there were no probes
    assert lost == {"gap_ns"}
    # Compare by function: if a call is in progress when the probes are placed, its inner calls are
    # seen.
    truth = expected(result.truths[1], key=lambda entry: entry["function"])
    seen = after.sums(after.function, lambda site: after.function(site).startswith("t_"))
    for name, numbers in seen.items():
        assert numbers["allocations"] <= truth[name]["allocations"]


def test_script(launch, tmp_path):
    script = tmp_path / "script"
    script.write_text(f"#!{target('basic')}\n")
    script.chmod(0o755)
    result = launch(str(script))
    assert_sites(result.process, result.truth)


def test_shell_script_that_execs(launch, tmp_path):
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\nexec {target('short')}\n")
    script.chmod(0o755)
    result = launch(str(script))
    assert result.status == 7
    assert_sites(result.processes[-1], result.truth, losses=("gap_ns",))


def test_unloaded_library_keeps_its_names(launch):
    need("mappings")
    libraries = [target("libplugin.so"), target("libother.so")]
    result = launch(target("dlopener"), *libraries)
    assert_sites(result.process, result.truth)
    modules = {}
    for site in result.process["sites"]:
        if result.process.function(site) == "t_plugin":
            module = result.process.frames(site)[0]["module"]
            modules[module] = modules.get(module, 0) + site["allocations"]
    assert modules == {libraries[0]: 10, libraries[1]: 5}


def test_forked_children_are_not_counted_as_the_parent(launch, pairing):
    result = launch(target("forker"), options=pairing)
    assert result.status == 0
    assert_sites(result.process, result.truth)


# What a program can notice: status, signals, standard streams, user, directory.

@pytest.mark.parametrize("status", [0, 1, 3, 125, 255])
def test_exit_status(launch, status):
    result = launch("/bin/sh", "-c", f"exit {status}")
    assert result.status == status
    assert result.process["exited"] is True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
def test_death_by_signal(launch, number):
    result = launch("/bin/sh", "-c", f"kill -{int(number)} $$")
    assert result.status == -number
    assert result.process["exited"] is True


def test_short_program_is_in_the_report(launch):
    result = launch(target("short"))
    assert result.status == 7
    assert result.process.heap()["allocations"] >= 3


def on_one_cpu():
    """Run the tracer and the program on one CPU, so that a short program exits before the tracer
    looks."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


@pytest.mark.parametrize("command", [
    ("short",), ("exec", "short"), ("dlopener", "libplugin.so", "libother.so")],
    ids=lambda command: command[0])
def test_names_of_an_exited_program_are_known(launch, command):
    need("mappings")
    result = launch(*map(target, command), preexec_fn=on_one_cpu)
    assert_sites(result.processes[-1], result.truths[-1], losses=("gap_ns",))
    assert result.processes[0]["command"] == [target(name) for name in command]
    assert result.processes[-1]["command"][0] == target(command[-1] if command[0] == "exec"
                                                        else command[0])
    assert result.processes[-1]["exe"] == result.processes[-1]["command"][0]


def test_standard_streams_are_the_programs_own(launch):
    result = launch("/bin/cat", stdin=None, input="one\ntwo\n")
    assert (result.status, result.stdout) == (0, "one\ntwo\n")
    result = launch("/bin/sh", "-c", "echo out; echo err >&2", options=("-q",))
    assert (result.stdout, result.stderr) == ("out\n", "err\n")


def test_inherited_descriptors_are_the_programs_own(launch):
    own = launch("/bin/ls", "/proc/self/fd").stdout.split()
    alone = subprocess.run(["/bin/ls", "/proc/self/fd"], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, check=True).stdout.split()
    assert own == alone


def test_signals_of_the_program_are_the_default_ones(launch):
    command = ("/bin/grep", "^Sig[BIC]", "/proc/self/status")
    alone = subprocess.run(command, capture_output=True, text=True, check=True)
    assert launch(*command).stdout == alone.stdout


def test_directory(launch, tmp_path):
    for option in ("-c", "--cwd"):
        assert launch("/bin/pwd", options=(option, str(tmp_path))).stdout == f"{tmp_path}\n"


@pytest.mark.parametrize("user", ["nobody", "65534"])
def test_user(launch, user):
    need("root")
    for option in ("-u", "--user"):
        result = launch("/usr/bin/id", "-un", options=(option, user))
        assert (result.status, result.stdout) == (0, "nobody\n")


def test_command_is_found_on_the_path(launch, tmp_path):
    shutil.copy(target("short"), tmp_path / "on-the-path")
    result = launch("on-the-path", env={**os.environ, "PATH": f"{tmp_path}:/bin"})
    assert result.status == 7
    assert result.process["exe"] == str(tmp_path / "on-the-path")


def test_interrupt_ends_with_a_report(uprobes, tmp_path):
    """^C reaches both the program and the tracer, as from a terminal. The program dies of it."""
    path = tmp_path / "report.json"
    run = subprocess.Popen([harness.MTRACE, "--format", "json", "-o", str(path), "--",
                            target("steady")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = harness.Deadline(run)
    assert run.stdout.readline() == "READY\n"
    os.killpg(run.pid, signal.SIGINT)
    _, stderr = run.communicate(timeout=harness.TIMEOUT)
    deadline.cancel()
    result = harness.Result(subprocess.CompletedProcess([], run.returncode, "", stderr), str(path))
    assert result.status == -signal.SIGINT
    assert result.process.heap()["allocations"] >= 50


def test_threads_exit_at_the_same_time(launch):
    """Each of them may see itself as the last one. The exit is reported once."""
    for _ in range(6):
        assert launch(target("ends"), "busy", "1").status == -signal.SIGTERM


def test_interrupt_after_the_program_was_killed(uprobes, tmp_path):
    """The tracer sees the program's death before the ^C that was sent with it, and still writes a
    report."""
    path = tmp_path / "report.json"
    run = subprocess.Popen([harness.MTRACE, "--format", "json", "-o", str(path), "--",
                            target("steady")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = harness.Deadline(run)
    assert run.stdout.readline() == "READY\n"
    program = next(pid for pid in harness.children(run.pid) if harness.command(pid) == "steady")
    run.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, run.pid, os.WSTOPPED | os.WNOWAIT)
    os.kill(program, signal.SIGKILL)
    while open(f"/proc/{program}/stat", encoding="ascii").read().rsplit(")", 1)[1][1] != "Z":
        pass
    run.send_signal(signal.SIGINT)
    run.send_signal(signal.SIGCONT)
    _, stderr = run.communicate(timeout=harness.TIMEOUT)
    deadline.cancel()
    result = harness.Result(subprocess.CompletedProcess([], run.returncode, "", stderr), str(path))
    assert result.status == -signal.SIGKILL
    assert result.process.heap()["allocations"] >= 50


# Options that select what is recorded.

def test_only_malloc(launch):
    result = launch(target("maps"), options=("--only", "malloc"))
    assert not [site for site in result.process["sites"] if site["api"] in MAP_APIS]
    assert result.process["mappings"] == {"maps": 0, "bytes": 0}
    assert result.process.heap()["allocations"] >= 6


def test_only_mmap(launch):
    result = launch(target("maps"), options=("--only", "mmap"))
    assert result.process["totals"]["allocations"] == 0
    assert result.process["mappings"] == result.truth["mappings"]


def test_without_cpp(launch):
    """With -n, operator new is not an API of its own: its call of malloc counts as malloc."""
    full = launch(target("cxx")).process
    plain = launch(target("cxx"), options=("-n",)).process
    assert not [site for site in plain["sites"] if site["api"].startswith("operator")]
    assert plain.heap() == full.heap()


def test_omitted_object(launch):
    result = launch(target("basic"), options=("--omit", "libc.so.6"))
    assert result.status == 0
    assert result.process["totals"]["allocations"] == 0
