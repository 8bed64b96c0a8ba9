# SPDX-License-Identifier: GPL-2.0-or-later
"""Few file descriptors (ulimit -n), and targets that make the tracer open many. Each run ends in a
correct trace or in an error, and leaves nothing behind."""

import ctypes
import errno
import os
import resource
import signal
import subprocess

import pytest

import harness
from harness import MTRACE, TIMEOUT, Running, Steady, target
from machine import need
from report import assert_sites, difference

LIMITS = [*range(8, 40, 3), 52, 66, 74, 82, 128]
BACKENDS = ("bpf", "ptrace")
SET_CHILD_SUBREAPER = 36  # linux/prctl.h


def limit_to(count):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))


@pytest.fixture(name="orphans")
def fixture_orphans():
    """Orphans of the test become children of ours. Returns a function that waits until none is left,
    except the given process."""
    libc = ctypes.CDLL(None)
    libc.prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = set(harness.children(os.getpid()))

    def await_none(*kept):
        for pid in set(harness.children(os.getpid())) - before - set(kept):
            harness.wait_for_end(pid)
            os.waitpid(pid, 0)
    yield await_none
    libc.prctl(SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def need_backend(backend):
    if backend == "bpf":
        need("bpf")


@pytest.mark.parametrize("backend", BACKENDS)
def test_launch_with_few_descriptors(tmp_path, backend, orphans):
    need_backend(backend)
    traced = 0
    for count in LIMITS:
        path = tmp_path / f"{count}.json"
        run = subprocess.run([MTRACE, "--backend", backend, "--format", "json", "-o", path, "--",
                              target("basic")], capture_output=True, text=True, check=False,
                             stdin=subprocess.DEVNULL, timeout=TIMEOUT, preexec_fn=limit_to(count))
        result = harness.Result(run, path)
        orphans()
        if result.status:
            assert harness.one_line(result.stderr), result.stderr
            assert "oo many open files" in result.stderr
        else:
            assert_sites(result.process, result.truth)
            traced += 1
    assert traced


@pytest.mark.parametrize("backend", BACKENDS)
def test_attach_with_few_descriptors(tmp_path, backend, orphans):
    """Whatever happens, the process keeps running, and no breakpoint stays in it."""
    need_backend(backend)
    traced = 0
    for count in LIMITS:
        path = tmp_path / f"{count}.json"
        with Steady() as steady:
            code, before = harness.libc_code(steady.pid), steady.tell()
            lines = harness.Lines("--backend", backend, "--format", "json", "-o", path, "-p",
                                  str(steady.pid), preexec_fn=limit_to(count))
            with lines as tracer:
                tracer.path = path
                if "tracing" in tracer.read_line("message").replace("cannot trace", ""):
                    truth = difference(steady.tell("w"), before)
                    tracer.signal(signal.SIGINT)
                result = tracer.finish()
            orphans(steady.pid)
            harness.await_no_tracer(steady.pid)
            harness.await_libc_code(steady.pid, code)
            assert steady.quit() == 0
        if result.status:
            assert harness.one_line(result.stderr), result.stderr
            assert "oo many open files" in result.stderr
        else:
            assert_sites(result.process, truth)
            traced += 1
    assert traced


@pytest.mark.parametrize("number, words", [
    (errno.EMFILE, "too many open files: raise ulimit -n"),
    (errno.ENFILE, "too many open files: raise sysctl fs.file-max"),
    (errno.ENOMEM, "out of memory")])
@pytest.mark.parametrize("backend", ["auto", "bpf"])
def test_bpf_says_what_is_missing(backend, number, words):
    """The kernel is not to blame."""
    run = subprocess.run([target("refuse"), str(number), MTRACE, "--backend", backend, "true"],
                         capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                         timeout=TIMEOUT)
    assert run.returncode == 1 and run.stderr == f"mtrace-bpf: cannot trace true: {words}\n"


def test_soft_limit_is_raised(tmp_path):
    """Only the hard limit counts."""
    path = tmp_path / "report.json"
    run = subprocess.run([MTRACE, "--format", "json", "-o", path, *harness.BACKEND_OPTIONS, "--",
                          target("basic")], capture_output=True, text=True, check=False,
                         stdin=subprocess.DEVNULL, timeout=TIMEOUT,
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (20, 200)))
    result = harness.Result(run, path)
    assert result.status == 0, result.stderr
    assert_sites(result.process, result.truth)


def test_many_shared_mappings_of_one_file(tmp_path):
    """The scan reads them through the file, which it opens once."""
    path = tmp_path / "report.json"
    with Running([target("many_mappings"), "s"], stdin=subprocess.PIPE) as program:
        assert program.process.stdout.readline() == "READY\n"
        with harness.Lines("--format", "json", "-o", path, *harness.BACKEND_OPTIONS, "-a", "-p",
                           str(program.pid), preexec_fn=limit_to(300)) as tracer:
            tracer.path = path
            tracer.wait_for("tracing")
            tracer.signal(signal.SIGINT)
            result = tracer.finish()
        assert result.status == 0, result.stderr
        assert result.process["scan"]["done"], result.process["scan"]


def test_file_is_opened_once_however_often_it_is_mapped(tmp_path):
    """Each time the file is opened, -v says that it is not a program. Attaching reads the mappings
    twice."""
    with Running([target("many_mappings"), "x"], stdin=subprocess.PIPE) as program:
        assert program.process.stdout.readline() == "READY\n"
        with harness.Lines("-v", "--format", "json", "-o", tmp_path / "report.json",
                           *harness.BACKEND_OPTIONS, "-p", str(program.pid)) as tracer:
            tracer.path = tmp_path / "report.json"
            tracer.wait_for("tracing")
            tracer.signal(signal.SIGINT)
            result = tracer.finish()
    opened = result.stderr.count("memfd:many is not an ELF program")
    assert result.status == 0 and 1 <= opened <= 4, result.stderr[-2000:]


def test_missing_proc():
    """In a chroot without /proc, no process can be found: the message says why."""
    need("root")
    for options in (("-p", "1"), ("--backend", "ptrace", "true"), ("--backend", "bpf", "true")):
        run = subprocess.run(["unshare", "-m", "sh", "-c", 'umount -l /proc && exec "$@"', "-", MTRACE,
                              *options], capture_output=True, text=True, check=False,
                             stdin=subprocess.DEVNULL, timeout=TIMEOUT)
        assert run.returncode and harness.one_line(run.stderr), run.stderr
        assert "/proc is not mounted" in run.stderr
