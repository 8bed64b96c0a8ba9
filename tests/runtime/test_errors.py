# SPDX-License-Identifier: GPL-2.0-or-later
"""Bad input gives one line that says what failed and why, the right status, and leaves nothing
behind."""

import os
import subprocess

import pytest

import harness
from harness import Steady, mtrace, one_line, target
from machine import need

NO_SUCH_PID = str(2 ** 22 + 1)


def assert_refused(result, status, *words):
    assert result.status == status, result.stderr
    assert one_line(result.stderr), result.stderr
    for word in words:
        assert word in result.stderr
    assert result.stdout == ""


# Usage errors: status 2, with or without privileges.

@pytest.mark.parametrize("arguments, words", [
    (("--formt", "json", "true"), ("--formt", "--format")),
    (("--format", "jason", "true"), ("jason", "json")),
    (("--format",), ("--format",)),
    (("--sort", "size", "true"), ("size", "usage")),
    (("--depth", "0", "true"), ("depth",)),
    (("--depth", "128", "true"), ("depth",)),
    (("--depth", "many", "true"), ("many",)),
    (("--only", "maloc", "true"), ("maloc", "malloc")),
    (("--stack", "dwarf", "true"), ("dwarf",)),
    (("-p", "abc"), ("abc",)),
    (("-p", "-1"), ("-1",)),
    (("-p", "0"), ("0",)),
    (("-p", ""), ()),
    (("-p", "1", "true"), ()),
    (("-p", "99999999999999999999"), ("99999999999999999999",)),
    (("--top", "-5", "true"), ("top",)),
    (("-Z", "true"), ("-Z",)),
    (("--count", "3", "true"), ("--count", "--interval")),
    (("--interval", "0", "true"), ("100ms",)),
    (("--interval", "1s", "--count", "0", "true"), ("count",)),
], ids=lambda value: " ".join(value) or "-")
def test_usage(arguments, words):
    assert_refused(mtrace(*arguments), 2, *words)


@pytest.mark.parametrize("arguments", [(), ("",), ("--", "")], ids=["none", "empty", "empty CMD"])
def test_nothing_to_do(arguments):
    result = mtrace(*arguments)
    assert (result.status, result.stdout) == (2, "")
    assert result.stderr


def test_help_and_version():
    result = mtrace("--help")
    assert (result.status, result.stderr) == (0, "")
    assert "--pid" in result.stdout and "--format" in result.stdout
    result = mtrace("--version")
    assert (result.status, result.stderr) == (0, "")
    assert result.stdout.startswith("mtrace-bpf ")


# Processes.

def test_unknown_pid(uprobes):
    assert_refused(mtrace("-p", NO_SUCH_PID), 1, NO_SUCH_PID)


def test_kernel_thread(uprobes):
    with open("/proc/2/comm", encoding="ascii") as file:
        if file.read() != "kthreadd\n":
            pytest.skip("pid 2 is no kernel thread here: a container")
    assert_refused(mtrace("-p", "2"), 1, "2")


def test_vanished_process(uprobes):
    gone = subprocess.Popen(["/bin/true"])
    gone.wait()
    assert_refused(mtrace("-p", str(gone.pid)), 1, str(gone.pid))


def test_zombie(uprobes):
    zombie = subprocess.Popen(["/bin/true"], stdout=subprocess.PIPE)
    assert zombie.stdout.read() == b""  # end of file: it has exited, and is not reaped yet
    os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
    assert_refused(mtrace("-p", str(zombie.pid)), 1, str(zombie.pid))
    zombie.wait()
    zombie.stdout.close()


def test_one_bad_pid_of_two(uprobes):
    with Steady() as steady:
        assert_refused(mtrace("-p", f"{steady.pid},{NO_SUCH_PID}"), 1, NO_SUCH_PID)
        assert steady.tell("w")["rounds"] == 1


# Programs.

@pytest.mark.parametrize("command, status", [
    ("no-such-program-anywhere", 127),
    ("/no/such/program", 127),
    ("/", 126),
    ("/etc/passwd", 126),
])
def test_program_that_cannot_run(uprobes, command, status):
    assert_refused(mtrace("--", command), status, command)


def test_file_that_is_not_executable(uprobes, tmp_path):
    path = tmp_path / "noise"
    path.write_bytes(bytes(range(1, 256)))
    path.chmod(0o755)
    assert_refused(mtrace(str(path)), 126, str(path))


@pytest.mark.parametrize("content", [
    b"\x7fELF", b"\x7fELF" + b"\xff" * 4096, b"\x7fELF\x02\x01\x01" + b"\0" * 57, b"#!", b"#! \n",
    b"#!/no/such/interpreter\n",
], ids=["magic", "ones", "zeros", "hash-bang", "blank", "no-interpreter"])
def test_broken_program(uprobes, tmp_path, content):
    path = tmp_path / "broken"
    path.write_bytes(content)
    path.chmod(0o755)
    result = mtrace(str(path))
    assert result.status in (126, 127)
    assert one_line(result.stderr), result.stderr


def test_truncated_program(uprobes, tmp_path):
    """A truncated ELF file gives an error from us or from the kernel, and never a crash."""
    with open(target("short"), "rb") as file:
        whole = file.read()
    path = tmp_path / "cut"
    for size in (63, 64, 100, 500, 1000, 4096, len(whole) // 2, len(whole) - 64):
        path.write_bytes(whole[:size])
        path.chmod(0o755)
        result = mtrace("-o", str(tmp_path / "out"), str(path))
        assert result.status >= 0 or result.status in (-11, -7), result.stderr


@pytest.mark.parametrize("option, value", [("-c", "/no/such/directory"), ("-u", "no-such-user")])
def test_bad_directory_or_user(uprobes, option, value):
    assert_refused(mtrace(option, value, "/bin/true"), 125, value)


# Output.

@pytest.mark.parametrize("format_name", ["text", "json"])
def test_full_disk(uprobes, format_name):
    result = mtrace("-q", "--format", format_name, "-o", "/dev/full", "/bin/true")
    assert_refused(result, 1, "/dev/full", "No space left on device")


@pytest.mark.parametrize("path, word", [
    ("/no/such/directory/report", "No such file or directory"),
    ("/", "directory"),
    ("/proc/report", "/proc/report"),
])
def test_bad_output(uprobes, path, word):
    """A bad output path is reported before the program starts, not after an hour of tracing."""
    result = mtrace("-o", path, "/bin/echo", "started")
    assert_refused(result, 1, path, word)


def test_failed_run_leaves_no_file(uprobes, tmp_path):
    mtrace("-o", str(tmp_path / "report"), "-p", NO_SUCH_PID)
    mtrace("-o", str(tmp_path / "report"), "--", "/no/such/program")
    assert os.listdir(tmp_path) == []


def test_closed_pipe(uprobes):
    reader, writer = os.pipe()
    os.close(reader)
    run = subprocess.run([harness.MTRACE, "-q", "-o", "-", "/bin/true"], stdout=writer,
                         stderr=subprocess.PIPE, text=True, check=False, timeout=harness.TIMEOUT)
    os.close(writer)
    assert run.returncode == 1
    assert one_line(run.stderr), run.stderr


# Privileges.

@pytest.mark.parametrize("arguments", [("-p", "1"), ("--backend", "bpf", "--", "/bin/true")])
def test_without_privileges(tmp_path, arguments):
    need("root", "setpriv")
    del tmp_path
    run = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--",
                          harness.MTRACE, *arguments], capture_output=True, text=True, check=False,
                         timeout=harness.TIMEOUT, stdin=subprocess.DEVNULL)
    assert run.returncode == 1
    assert one_line(run.stderr), run.stderr
    assert "root" in run.stderr or "CAP_" in run.stderr
