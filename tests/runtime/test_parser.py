# SPDX-License-Identifier: GPL-2.0-or-later
"""The process that parses the files of traced programs: its privileges, and what happens when it
dies.

The tracer's only child besides launched programs is the zygote. The zygote's child is the parser.
"""

import http.server
import os
import select
import shutil
import signal
import subprocess
import threading

import pytest

import harness
from harness import Steady, target
from machine import need
from report import assert_sites, difference

PAGE = 4096
NO_CAPABILITY = "0000000000000000"
BUILD_ID = "00112233445566778899aabbccddeeff00112233"


def zygote_of(tracer):
    return next(pid for pid in harness.children(tracer) if harness.command(pid) == "mtrace-bpf")


def parser_of(tracer):
    return harness.children(zygote_of(tracer))[0]


def wait_for_end(descriptor):
    """Wait for a process that is not our child. Its parent has reaped it when this returns."""
    ready, _, _ = select.select([descriptor], [], [], harness.TIMEOUT)
    os.close(descriptor)
    assert ready, "it does not end"


def kill(pid):
    descriptor = os.pidfd_open(pid)
    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    wait_for_end(descriptor)


def warnings(result):
    return [line for line in result.stderr.splitlines() if "tracing" not in line]


def functions(process):
    return {frame["function"] for stack in process["stacks"] for frame in stack["frames"]
            if frame.get("function")}


def test_confinement(attach):
    with Steady() as steady, attach(steady.pid) as tracer:
        parser = harness.status(parser_of(tracer.process.pid))
        zygote = harness.status(zygote_of(tracer.process.pid))
        for status in zygote, parser:
            ids = set(status["Uid"].split() + status["Gid"].split())
            assert len(ids) == 1 and int(ids.pop()) >> 26 == 0x78000000 >> 26
            assert status["Groups"] == ""
            assert {status[f"Cap{kind}"] for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {
                NO_CAPABILITY}
            assert status["NoNewPrivs"] == "1"
        assert parser["Seccomp"] == "2"


def test_second_parser_helps_at_startup(attach):
    """If there is much code to read, a second parser helps at startup only."""
    script = "import ctypes, ssl, sqlite3, time; print(flush=True); time.sleep(1000)"
    with subprocess.Popen(["/usr/bin/python3", "-c", script], stdout=subprocess.PIPE) as python:
        try:
            python.stdout.readline()
            with attach(python.pid, options=["-vv"]) as tracer:
                zygote = zygote_of(tracer.process.pid)
                for other in harness.children(tracer.process.pid):
                    if other != zygote and harness.command(other) == "mtrace-bpf":
                        harness.wait_for_end(other)
                result = tracer.stop()
        finally:
            python.kill()
    assert result.status == 0, result.stderr
    many = os.cpu_count() > 1
    assert result.stderr.count("parses program files") == 1 + many, result.stderr


def test_descriptors(attach):
    """The parser inherits only one socket from the tracer."""
    with Steady() as steady, attach(steady.pid) as tracer:
        for pid in zygote_of(tracer.process.pid), parser_of(tracer.process.pid):
            directory = f"/proc/{pid}/fd"
            links = [os.readlink(os.path.join(directory, fd)) for fd in os.listdir(directory)]
            kinds = {link.split(":")[0] for link in links}
            assert kinds <= {"/dev/null", "socket", "anon_inode"}
            assert not [link for link in links if "bpf" in link or "perf" in link]
            with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
                assert not [line for line in file if line.split()[1] == "rw-s"] # BPF maps
        assert tracer.stop().status == 0


def test_namespace(attach):
    with Steady() as steady, attach(steady.pid) as tracer:
        for kind in "net", "ipc", "uts":
            own = os.readlink(f"/proc/self/ns/{kind}")
            assert os.readlink(f"/proc/{parser_of(tracer.process.pid)}/ns/{kind}") != own


def test_killed_parser_is_replaced(attach):
    """A new parser replaces it, and nothing is missing."""
    with Steady() as steady:
        before = steady.tell()
        with attach(steady.pid) as tracer:
            kill(parser_of(tracer.process.pid))
            after = steady.tell("w")
            result = tracer.stop()
        assert result.status == 0
        assert_sites(result.process, difference(after, before))
        assert "t_kept" in functions(result.process)
        assert not warnings(result)


def test_killed_zygote_costs_only_names(attach):
    """No parser can be started any more: names are missing, and nothing else is."""
    with Steady() as steady:
        before = steady.tell()
        with attach(steady.pid) as tracer:
            parser = os.pidfd_open(parser_of(tracer.process.pid))
            kill(zygote_of(tracer.process.pid))
            wait_for_end(parser)
            after = steady.tell("w")
            result = tracer.stop()
        assert result.status == 0
        changes = difference(after, before)
        assert result.process["totals"]["allocations"] == sum(
            site["allocations"] for site in changes["sites"] if "map" not in site["api"])
        assert len(warnings(result)) == 1


def test_hung_parser_costs_only_names(attach):
    """A parser that does not answer costs the names of one file."""
    with Steady() as steady:
        steady.tell()
        with attach(steady.pid) as tracer:
            steady.tell("w")
            os.kill(parser_of(tracer.process.pid), signal.SIGSTOP)
            result = tracer.stop()
        assert result.status == 0
        assert len(warnings(result)) == 1
        assert "parsing timed out: no names" in warnings(result)[0]
        assert result.process["totals"]["allocations"]


def test_helpers_exit_with_the_trace(attach):
    with Steady() as steady, attach(steady.pid) as tracer:
        pids = zygote_of(tracer.process.pid), parser_of(tracer.process.pid)
        descriptors = [os.pidfd_open(pid) for pid in pids]
        assert tracer.stop().status == 0
        for descriptor in descriptors:
            ready, _, _ = select.select([descriptor], [], [], 0)
            os.close(descriptor)
            assert ready
        assert not [pid for pid in pids if harness.command(pid) == "mtrace-bpf"]


def test_helpers_exit_when_the_tracer_dies(attach):
    with Steady() as steady, attach(steady.pid) as tracer:
        pids = zygote_of(tracer.process.pid), parser_of(tracer.process.pid)
        descriptors = [os.pidfd_open(pid) for pid in pids]
        tracer.kill()
        for descriptor in descriptors:
            wait_for_end(descriptor)


@pytest.mark.parametrize("kill_zygote", [False, True])
def test_exit_status(uprobes, kill_zygote):
    """The exit of a parser or zygote is not mistaken for that of the launched program."""
    run = subprocess.Popen([harness.MTRACE, "-o", "/dev/null", "--", "sh", "-c",
                            "echo READY; read line; exit 7"], stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = harness.Deadline(run)
    assert run.stdout.readline() == "READY\n"
    kill(zygote_of(run.pid) if kill_zygote else parser_of(run.pid))
    assert run.poll() is None
    run.communicate("go\n", timeout=harness.TIMEOUT)
    deadline.cancel()
    assert run.returncode == 7


def test_interrupt_of_the_process_group(uprobes):
    """The parser gets ^C as well, and ignores it."""
    run = subprocess.Popen([harness.MTRACE, "--format", "json", "--", target("steady")],
                           stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           text=True, start_new_session=True)
    deadline = harness.Deadline(run)
    assert run.stdout.readline() == "READY\n"
    os.killpg(run.pid, signal.SIGINT)
    _, stderr = run.communicate(timeout=harness.TIMEOUT)
    deadline.cancel()
    assert run.returncode == -signal.SIGINT
    assert '"t_old"' in stderr


# A mapped file that cannot be read: on a full tmpfs, no page can be allocated for a hole. The
# access raises SIGBUS, as with a file that is truncated while it is mapped.

def section(path, name):
    """File offset and size."""
    listing = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True)
    fields = next(line.split("]")[1].split() for line in listing.stdout.splitlines()
                  if f"] {name} " in line)
    return int(fields[3], 16), int(fields[4], 16)


def fill(directory):
    with open(os.path.join(directory, "filler"), "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(PAGE))
        except OSError:
            pass


@pytest.fixture
def full_file_system(tmp_path):
    need("root")
    directory = str(tmp_path / "full")
    os.mkdir(directory)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=755", "none", directory],
                   check=True)
    yield directory
    subprocess.run(["umount", "-l", directory], check=True)


def test_sigbus_costs_the_names_of_the_file(launch, full_file_system):
    path = os.path.join(full_file_system, "cxx")
    shutil.copy(target("cxx"), path)
    offset, size = section(path, ".debug_info")
    start = -(-offset // PAGE) * PAGE
    length = (offset + size) // PAGE * PAGE - start
    assert length > 0
    subprocess.run(["fallocate", "--punch-hole", "-o", str(start), "-l", str(length), path],
                   check=True)
    fill(full_file_system)
    result = launch(path)
    sound = launch(target("cxx"))
    assert result.status == 0
    assert len(warnings(result)) == 1
    assert "cxx: the file parser crashed: no names" in warnings(result)[0]
    assert result.process["totals"] == sound.process["totals"]
    assert "main" in functions(sound.process) and "main" not in functions(result.process)
    assert "__libc_start_main_impl" in functions(result.process)


# Debug information from a server: the parser requests a build ID; the tracer downloads the file and
# passes it on.

class Debuginfod(http.server.BaseHTTPRequestHandler):
    """Serves one file. server.asked lists the requested paths."""

    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path != f"/buildid/{BUILD_ID}/debuginfo":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.content)))
        self.end_headers()
        self.wfile.write(self.server.content)

    def log_message(self, *_):
        pass


@pytest.fixture
def debuginfod():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Debuginfod) as server:
        server.asked = []
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("wanted", [True, False])
def test_debuginfod(launch, tmp_path, debuginfod, wanted):
    need("binutils", "debuginfod")
    source, path, debug = (str(tmp_path / name) for name in ("p.c", "p", "p.debug"))
    with open(source, "w", encoding="ascii") as file:
        file.write("#include <stdlib.h>\n"
                   "static __attribute__((noinline)) void *hidden(void) { return malloc(77); }\n"
                   "int main(void) { return !hidden(); }\n")
    subprocess.run(["gcc", "-g", f"-Wl,--build-id=0x{BUILD_ID}", "-o", path, source], check=True)
    subprocess.run(["objcopy", "--only-keep-debug", path, debug], check=True)
    subprocess.run(["strip", path], check=True)
    with open(debug, "rb") as file:
        debuginfod.content = file.read()
    environment = {**os.environ, "DEBUGINFOD_CACHE_PATH": str(tmp_path / "cache"),
                   "DEBUGINFOD_URLS": f"http://127.0.0.1:{debuginfod.server_address[1]}"}
    result = launch(path, options=("--debuginfod",) if wanted else (), env=environment)
    assert ("hidden" in functions(result.process)) == wanted
    assert bool(debuginfod.asked) == wanted
