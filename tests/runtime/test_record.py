# SPDX-License-Identifier: GPL-2.0-or-later
"""The report of a recording equals the live report, except for the tool and the backend."""

import json
import os
import re
import shutil
import subprocess

import pytest

from harness import (BACKEND_OPTIONS, MTRACE, Result, Steady, Tracer, launch, mtrace, one_line,
                     run_system, target)
from machine import need
from report import assert_sites


@pytest.fixture(name="directory")
def fixture_directory(tmp_path):
    return str(tmp_path)


def without_source(document):
    document.pop("tool")
    for process in document["processes"]:
        process["backend"] = None
    return document


def report_of(path, directory, *options, status=0):
    """The report of a recording, checked like any other report."""
    output = os.path.join(directory, "replayed.json")
    run = subprocess.run([MTRACE, "report", "--format", "json", "-o", output, *options, path],
                         capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == status, run.stderr
    return Result(run, output)


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return re.sub(r" with (bpf|ptrace|replay)\b", "", file.read())


def record(directory, *command, options=(), **more):
    """Record without a live report. Returns the run and the path of the recording."""
    path = os.path.join(directory, "trace.rec")
    run = mtrace(*BACKEND_OPTIONS, "--record", path, *options, "--", *command, **more)
    return run, path


@pytest.mark.parametrize("name,options", [
    ("basic", ()), ("cxx", ()), ("maps", ()), ("exec", ()), ("threads 4", ()),
    ("leak", ("-a",)), ("forker", ("-f",)), ("sanity", ("-S",)), ("basic", ("--stack", "none")),
    ("valgrind/leak_cases", ("-a",)), ("forker", ("-f", "-a")), ("short", ("--only", "new")),
])
def test_replayed_report_equals_the_live_one(directory, name, options):
    need("uprobes")
    path, live = os.path.join(directory, "trace.rec"), os.path.join(directory, "live.txt")
    name, *arguments = name.split()
    result = launch(directory, target(name), *arguments,
                    options=("--record", path, f"--format=text={live}", *options))
    replayed = os.path.join(directory, "replayed.txt")
    again = report_of(path, directory, f"--format=text={replayed}")
    assert without_source(again.document) == without_source(result.document)
    assert text_of(replayed) == text_of(live)
    assert again.document["incomplete"] is None
    assert [line for line in result.stderr.splitlines() if "recorded" in line]


def test_recording_without_live_report(directory):
    """A recording made without a live report equals the program's truth."""
    need("uprobes")
    run, path = record(directory, target("basic"))
    assert run.status == 0 and "SUMMARY" not in run.stderr + run.stdout
    assert "mtrace-bpf: recorded " in run.stderr
    result = report_of(path, directory)
    assert_sites(result.process, run.truth)
    assert result.process["backend"] == "replay" and result.process["exited"]


def test_recording_without_live_report_has_the_scan(directory):
    need("uprobes")
    run, path = record(directory, target("leak"), options=("-a",))
    result = report_of(path, directory, "--error-exitcode", "9", status=9)
    assert result.process["scan"]["done"] and "SUMMARY" not in run.stderr
    assert result.process["scan"]["definite"]["blocks"] == 356


def test_exit_status_is_that_of_the_program(directory):
    need("uprobes")
    run, path = record(directory, "/bin/sh", "-c", "exit 7", options=("-q",))
    assert (run.status, run.stderr) == (7, "")
    assert report_of(path, directory).process["exit_code"] == 7


def test_attached(directory):
    need("uprobes")
    path = os.path.join(directory, "trace.rec")
    with Steady() as steady, Tracer(directory, steady.pid, options=("--record", path)) as tracer:
        steady.tell("w")
        steady.tell("f")
        live = tracer.stop()
    again = report_of(path, directory)
    assert without_source(again.document) == without_source(live.document)
    assert not again.process["exited"]


@pytest.mark.whole_machine
def test_system_wide(directory):
    need("bpf")
    path = os.path.join(directory, "trace.rec")
    live = run_system(directory, ("--comm", "basic", "--record", path), [target("basic")])
    again = report_of(path, directory)
    assert without_source(again.document) == without_source(live.document)
    assert_sites(again.process, live.truth)


def test_report_options(directory):
    need("uprobes")
    _, path = record(directory, target("leak"), options=("-a",))
    text = mtrace("report", "--top", "1", "-s", "allocations", path).stdout
    assert "sorted by calls" in text or "calls" in text
    assert "not shown: --top 0 shows all" in text
    excused = report_of(path, directory, "--ignore", "*", "--error-exitcode", "9").process
    assert excused["scan"]["definite"]["blocks"] == 0
    assert excused["scan"]["suppressed"]["blocks"] > 0
    piped = subprocess.run([MTRACE, "report", "-"], stdin=open(path, "rb"), capture_output=True,
                           text=True, check=True)
    assert "SUMMARY: leak" in piped.stdout


def test_truncated_recording(directory):
    """Wherever a recording is cut off, the report has everything before that, and says that it is
    incomplete."""
    need("uprobes")
    _, path = record(directory, target("basic"))
    with open(path, "rb") as file:
        whole = file.read()
    before = 0
    for size in range(0, len(whole), len(whole) // 40):
        cut = os.path.join(directory, "cut.rec")
        with open(cut, "wb") as file:
            file.write(whole[:size])
        run = mtrace("report", "--format", "json", cut)
        assert run.status == 1 and one_line(run.stderr)
        if run.stdout:
            document = json.loads(run.stdout)
            assert "is cut off after" in document["incomplete"]
            allocations = sum(process["totals"]["allocations"]
                              for process in document["processes"])
            assert allocations >= before
            before = allocations
    text = mtrace("report", cut)
    assert "! incomplete: the recording is cut off" in text.stdout and text.status == 1


def test_damaged_recording(directory):
    need("uprobes")
    _, path = record(directory, target("basic"))
    with open(path, "r+b") as file:
        file.seek(-100, os.SEEK_END)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 0x10]))
    result = report_of(path, directory, status=1)
    assert "it is damaged at byte" in result.document["incomplete"] and one_line(result.stderr)


def test_killed_tracer(directory):
    need("uprobes")
    path = os.path.join(directory, "trace.rec")
    with Steady() as steady:
        with Tracer(directory, steady.pid, options=("--record", path)) as tracer:
            steady.tell("w")
            tracer.kill()
        assert steady.tell()
        result = report_of(path, directory, status=1)
        assert result.document["incomplete"] and result.process["pid"] == steady.pid


def test_disk_full(directory):
    """The trace ends with an error, and the program continues."""
    need("uprobes")
    run = mtrace(*BACKEND_OPTIONS, "--record", "/dev/full", target("basic"))
    assert run.status == 1 and run.truth
    assert one_line(run.stderr) and "cannot write /dev/full: No space left on device" in run.stderr
    both = launch(directory, target("basic"), options=("--record", "/dev/full"))
    assert both.status == 1 and "No space left on device" in both.stderr
    assert_sites(both.process, both.truth)


def test_file_size_limit(directory):
    """A file size limit (ulimit -f) is reported like a full disk, and does not kill the tracer."""
    need("uprobes")
    path = os.path.join(directory, "trace.rec")
    run = subprocess.run(["bash", "-c", 'ulimit -f 1; exec "$@"', "-", MTRACE, *BACKEND_OPTIONS,
                          "--record", path, target("basic")],
                         capture_output=True, text=True, check=False, timeout=60)
    assert run.returncode == 1 and one_line(run.stderr) and json.loads(run.stdout)
    assert f"cannot write {path}: File too large" in run.stderr
    assert os.path.getsize(path) == 1024
    assert mtrace("report", path).status == 1


def test_unwritable(directory):
    """The error is reported before the program starts."""
    for path in (os.path.join(directory, "none", "x"), directory):
        run = mtrace("--record", path, target("basic"))
        assert (run.status, run.stdout) == (1, "") and one_line(run.stderr)
        assert f"cannot write {path}" in run.stderr


def test_failed_start_keeps_the_old_recording(directory):
    """If the trace cannot start, an existing file is unchanged and no new file is created."""
    old, new = (os.path.join(directory, name) for name in ("old", "new"))
    with open(old, "w", encoding="ascii") as file:
        file.write("mine")
    for path in (old, new):
        assert mtrace("--record", path, "-p", str(os.getpid() + (1 << 21))).status == 1
        assert mtrace("--record", path, "/none/such").status == 127
    with open(old, encoding="ascii") as file:
        assert file.read() == "mine"
    assert not os.path.exists(new)


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"hello\n", b"\x89MTB\r\n\x1a\n",
                                     b"\x89MTB\r\n\x1a\n" + bytes(24), bytes(1000)])
def test_files_that_are_not_recordings(directory, content):
    path = os.path.join(directory, "file")
    with open(path, "wb") as file:
        file.write(content)
    run = mtrace("report", path)
    assert (run.status, run.stdout) == (1, "") and one_line(run.stderr)
    assert f"cannot read {path}: " in run.stderr


@pytest.mark.parametrize("arguments,reason", [
    (("report",), "needs the file"), (("report", "a", "b"), "takes one file"),
    (("report", "--backend", "bpf", "a"), "--backend is not valid with report"),
    (("report", "-a", "a"), "--scan is not valid with report"),
    (("report", "--record", "b", "a"), "does not record"),
    (("--binpath", "/", "true"), "--binpath is only valid with report"),
    (("--record", "x", "-o", "x", "true"), "cannot go to the same file"),
])
def test_misuse(arguments, reason):
    run = mtrace(*arguments)
    assert run.status == 2 and one_line(run.stderr) and reason in run.stderr


def names(process):
    return {frame["function"] for stack in process["stacks"] for frame in stack["frames"]
            if "basic" in (frame["module"] or "")}


def test_program_files_are_found_by_build_id(directory):
    """Files are found by build ID, at their old path or where the user points to. Another file is
    never used."""
    need("uprobes")
    here, there = (os.path.join(directory, name) for name in ("here/bin", "there/bin"))
    os.makedirs(here)
    os.makedirs(there)
    program = shutil.copy(target("basic"), here)
    _, path = record(directory, program)
    known = names(report_of(path, directory).process)
    assert "t_malloc" in known
    moved = shutil.move(program, there)
    lost = report_of(path, directory)
    assert names(lost.process) == {""} and lost.process["sites"]
    for options in (("--binpath", os.path.dirname(there)), ("-b", "/none", "-b", there)):
        assert names(report_of(path, directory, *options).process) == known
    root = os.path.join(directory, "root")
    os.makedirs(root + here)
    shutil.move(moved, root + here)
    assert names(report_of(path, directory, "--sysroot", root).process) == known
    shutil.copy(target("cxx"), program)
    other = report_of(path, directory)
    assert names(other.process) == {""}
    assert f"{program} is not the file that was traced" in other.stderr


def logged(directory):
    """A log written by glibc's mtrace()."""
    need("mtrace")
    path = os.path.join(directory, "malloc.log")
    subprocess.run([target("mtraced")], check=True,
                   env={**os.environ, "LD_PRELOAD": "libc_malloc_debug.so.0", "MALLOC_TRACE": path})
    return path


def script(path):
    """The output of Debian's mtrace script for a log."""
    run = subprocess.run(["mtrace", target("mtraced"), path], capture_output=True, text=True,
                         check=False)
    assert not run.stderr
    return run.returncode, run.stdout


def test_malloc_trace(directory):
    path = logged(directory)
    process = report_of(path, directory).process
    sites = {process.function(site): site for site in process["sites"] if site["live_blocks"]}
    assert process["live"] == {"blocks": 8, "bytes": 100 + 102 + 2000 + 30 + 7 + 200 + 128 + 5}
    assert sites["t_leak"]["live_blocks"] == 2 and sites["t_leak"]["frees"] == 1
    assert process["totals"]["failed_allocations"] == 2
    assert process["comm"] == "mtraced"


def test_mtrace_export_equals_glibc(directory):
    """Our own log reads like glibc's: the script prints the same for both."""
    path = logged(directory)
    ours = os.path.join(directory, "ours.log")
    report_of(path, directory, f"--format=mtrace={ours}")
    assert script(ours) == script(path)
    assert len(re.findall(r"^0x", script(ours)[1], re.M)) == 8


def test_mtrace_of_a_trace(directory):
    """An mtrace log of a program that does not call mtrace(), with lines of its source."""
    need("uprobes", "mtrace")
    ours = os.path.join(directory, "ours.log")
    run = mtrace(*BACKEND_OPTIONS, "--format", "mtrace", "-o", ours, target("mtraced"))
    assert run.status == 0
    status, text = script(ours)
    assert status == 1
    assert len(re.findall(r"mtraced\.c:\d+", text)) == 7
    again = report_of(ours, directory).process
    assert again["live"]["blocks"] == 8


def test_broken_log(directory):
    path = os.path.join(directory, "log")
    with open(path, "w", encoding="ascii") as file:
        file.write("= Start\n@ ./x:[0x1] + 0x10 0x20\nnonsense\n@ ./x:[0x1] + 0x30 0x2")
    result = report_of(path, directory, status=1)
    assert "cut off after line 3" in result.document["incomplete"]
    assert result.process["live"] == {"blocks": 1, "bytes": 32}
    with open(path, "a", encoding="ascii") as file:
        file.write("0\n")
    result = report_of(path, directory, status=1)
    assert "1 invalid line of the log" in result.document["incomplete"]
    assert result.process["live"] == {"blocks": 2, "bytes": 64}
