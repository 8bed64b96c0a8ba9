# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs with many processes. For each image of each process, the trace equals the counts of
a preloaded counter (tests/targets/counter.c)."""

import collections
import contextlib
import os
import shutil
import struct
import subprocess
import tempfile
import types

import pytest

import harness
import test_programs
import test_scan_programs
from machine import need
from test_scan_programs import started

pytestmark = pytest.mark.whole_machine

# Omit the counter: it forwards its calls to the C library, where they are traced.
BRIEF = ("--stack", "none", "--buffer", "256m", "--omit", "libcounter.so")
WAYS = [("-f", *BRIEF), ("--system-wide", *BRIEF)]


class Counter:
    """The counter's directory, and the command that runs a program with the counter."""

    def __init__(self, directory):
        self.library = os.path.join(directory, "libcounter.so")
        self.directory = os.path.join(directory, "counts")
        shutil.copy(harness.target("libcounter.so"), self.library)
        os.mkdir(self.directory)
        os.chmod(directory, 0o755)
        os.chmod(self.directory, 0o777)

    def command(self, *command):
        return ["env", f"LD_PRELOAD={self.library}", f"COUNTS={self.directory}", *command]

    def counts(self):
        """{pid: [(allocations, frees) of each image]}"""
        found = collections.defaultdict(dict)
        for name in os.listdir(self.directory):
            pid, image = map(int, name.split("."))
            with open(os.path.join(self.directory, name), "rb") as file:
                found[pid][image] = struct.unpack("QQ", file.read())
        return {pid: [images[i] for i in range(len(images))] for pid, images in found.items()}


@pytest.fixture
def counter(uprobes):
    """In a directory that every user can read."""
    del uprobes
    with tempfile.TemporaryDirectory(prefix="counter") as directory:
        yield Counter(directory)


def run(way, directory, command, **more):
    if "-f" in way:
        return harness.launch(directory, *command, options=way, **more)
    return harness.run_system(directory, way, command, **more)


@contextlib.contextmanager
def traced(way, directory, command, ready, **more):
    """A server that is ready, and exits after the with block. Its result is then in `result`."""
    trace = types.SimpleNamespace()
    if "-f" not in way:
        with harness.Tracer(directory, options=way) as tracer:
            with started(command, ready, None, **more):
                yield trace
            trace.result = tracer.stop()
        return
    path = os.path.join(directory, "report.json")
    tracer = [harness.MTRACE, "--format", "json", "-o", path, *way, "--"]
    with started([*tracer, *command], ready, None, **more) as process:
        yield trace
    run = subprocess.CompletedProcess([], process.returncode, "", "")
    trace.result = harness.Result(run, path)


def assert_counted(result, counter, least):
    """The last images of each process were counted. One image before them may have set up the
    counter."""
    assert result.status == 0, result.stderr
    sections = collections.defaultdict(list)
    for process in result.processes:
        sections[process["pid"]].append(process)
    counts = counter.counts()
    assert len(counts) >= least
    assert set(counts) <= set(sections)
    different = []
    for pid, counted in counts.items():
        assert len(counted) <= len(sections[pid]) <= len(counted) + 1
        for process, numbers in zip(reversed(sections[pid]), reversed(counted)):
            totals = process["totals"]
            seen = totals["allocations"], totals["frees"]
            if seen != numbers or process.lost():
                different.append((process["comm"], pid, seen, numbers, process.lost()))
    assert not different


MAKEFILE = """
OBJECTS := $(patsubst {0}/user/base/%.c,%.o,$(wildcard {0}/user/base/*.c))
all: libbase.a
libbase.a: $(OBJECTS)
	ar rcs $@ $(sort $^)
	nm $@ | sort | uniq -c | grep -c T
%.o: {0}/user/base/%.c
	gcc -std=gnu11 -D_GNU_SOURCE -O1 -g -pipe -I{0}/user -I{0} -c -o $@ $<
"""


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way[0])
def test_build(counter, tmp_path, way):
    need("programs")
    (tmp_path / "Makefile").write_text(MAKEFILE.format(harness.ROOT))
    command = counter.command("make", "-j2", "-C", str(tmp_path))
    environment = {name: value for name, value in os.environ.items() if "MAKE" not in name}
    result = run(way, str(tmp_path), command, env=environment, timeout=5 * harness.TIMEOUT)
    assert (tmp_path / "libbase.a").exists()
    assert_counted(result, counter, 25)


def browse(directory, server):
    """Send requests while the workers are replaced."""
    for _ in range(3):
        for _ in range(50):
            test_scan_programs.http(os.path.join(directory, "socket"), "/file")
            test_scan_programs.http(os.path.join(directory, "socket"), "/back")
        subprocess.run([*server, "-s", "reload"], check=True, capture_output=True)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way[0])
def test_nginx(counter, tmp_path, way):
    """A master and its workers."""
    need("nginx")
    text = test_scan_programs.NGINX.format(tmp_path).replace("master_process off",
                                                             "worker_processes 3; user root")
    (tmp_path / "nginx.conf").write_text(text)
    (tmp_path / "file").write_text("0123456789abcdef" * 4096)
    server = [shutil.which("nginx"), "-p", str(tmp_path), "-e", "stderr", "-c",
              str(tmp_path / "nginx.conf")]
    with traced(way, str(tmp_path), counter.command(*server), "start worker process") as trace:
        browse(str(tmp_path), server)
        subprocess.run([*server, "-s", "quit"], check=True, capture_output=True)
    assert_counted(trace.result, counter, 4)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way[0])
def test_postgres(counter, tmp_path, way):
    """A server that forks for each client."""
    need("postgres", "setpriv")
    cluster = test_scan_programs.Postgres()
    server = cluster.command("postgres", "-D", cluster.directory + "/data", "-k",
                             cluster.directory, "-c", "listen_addresses=", "-F")
    sql = "create temp table t (a int, b text);" + test_scan_programs.WORK
    try:
        with traced(way, str(tmp_path), counter.command(*server), "ready to accept connections",
                    cwd=cluster.directory) as trace:
            for _ in range(5):
                cluster.client("psql", "-qAtX", "-c", sql, "postgres")
            cluster.run("pg_ctl", "-D", cluster.directory + "/data", "-m", "fast", "stop")
    finally:
        shutil.rmtree(cluster.directory, ignore_errors=True)
    assert_counted(trace.result, counter, 10)


THREADS = """
import json, threading
def work(number):
    kept = [json.loads('{"a": [1, "b", {}]}') for _ in range(number)]
for number in range(25):
    threads = [threading.Thread(target=work, args=[number * 4 + i]) for i in range(4)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way[0])
def test_threads_are_created_and_exit(counter, tmp_path, way):
    """100 threads."""
    command = counter.command("/usr/bin/python3", "-S", "-c", THREADS)
    environment = {**test_programs.ENVIRONMENT, "PYTHONMALLOC": "malloc"}
    assert_counted(run(way, str(tmp_path), command, env=environment), counter, 1)
