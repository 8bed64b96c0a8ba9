# SPDX-License-Identifier: GPL-2.0-or-later
"""A server under load leaks slowly: the leak is the first suspect, and the tracer's memory does not
grow.

SOAK_SECONDS is the minimum duration (make soak)."""

import itertools
import os
import shutil
import signal
import socket
import subprocess
import time

import pytest

from harness import TIMEOUT, Tracer, target
from machine import need
from test_scan_programs import WORK, Postgres

SECONDS = float(os.environ.get("SOAK_SECONDS", "12"))
WARM_UP = min(SECONDS / 2, 60)
LEAK_LINE = "malloc(LEAK)"
KEYS = 500


def line_of(source, text):
    path = os.path.join(os.path.dirname(__file__), "..", "targets", source)
    with open(path, encoding="utf-8") as file:
        number, = [number for number, line in enumerate(file, 1) if text in line]
    return number


def resident(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        value, = [line.split()[1] for line in file if line.startswith("VmRSS")]
    return int(value) * 1024


class LeakyRedis:
    """redis-server with a module that leaks."""

    NEEDS = ("redis",)
    SOURCE, FUNCTION = "redis_leak.c", "leak_session"
    EARLY = KEYS * 3  # turns until everything that it keeps is allocated
    AT_ONCE = 20

    def __init__(self, directory):
        path = os.path.join(directory, "redis.socket")
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly",
             "no", "--daemonize", "no", "--dir", directory, "--loadmodule",
             target("redis_leak.so")],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if "connections" in line:
                break
        assert self.process.poll() is None
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(TIMEOUT)
        self.socket.connect(path)
        self.replies = self.socket.makefile("rb")
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.replies.close()
        self.socket.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def ask(self, *commands):
        """Each command replies with one line or with a string."""
        self.socket.sendall(b"".join(command.encode() + b"\r\n" for command in commands))
        for command in commands:
            line = self.replies.readline()
            assert line[:1] in (b"+", b":", b"$"), (command, line)
            if line[:1] == b"$" and int(line[1:]) >= 0:
                self.replies.read(int(line[1:]) + 2)

    def work(self, turn):
        """Strings of changing sizes, a list of limited length, sets that are created and deleted,
        and the leaking command."""
        key = turn * 2654435761 % KEYS
        self.ask(f"SET key:{key} {'x' * (50 + turn * 7919 % 900)}", f"GET key:{key}",
                 f"APPEND tail:{key % 50} y", f"DEL tail:{(key + 25) % 50}",
                 f"LPUSH list {key}", "LTRIM list 0 99", f"SADD set:{key % 9} {turn}",
                 f"DEL set:{(key + 4) % 9}", "leak.work", "PING")


class LeakyPostgres:
    """The process of one PostgreSQL connection, with a function that leaks."""

    NEEDS = ("postgres", "setpriv")
    SOURCE, FUNCTION = "postgres_leak.c", "leak_query"
    EARLY = 20
    AT_ONCE = 1
    SETUP = """create function leak_work() returns bool as '{}' language c volatile;
        create temp table t (a int, b text); select pg_backend_pid();\n"""

    def __init__(self, directory):
        del directory
        self.cluster = cluster = Postgres()
        # The server's user must be able to read it.
        module = shutil.copy(target("postgres_leak.so"), cluster.directory)
        os.chmod(module, 0o644)
        self.process = subprocess.Popen(
            cluster.command("postgres", "-D", cluster.directory + "/data", "-k",
                            cluster.directory, "-c", "listen_addresses=", "-F"),
            cwd=cluster.directory, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if "ready to accept connections" in line:
                break
        assert self.process.poll() is None
        self.session = subprocess.Popen(
            cluster.command("psql", "-h", cluster.directory, "-qAtX", "postgres"),
            cwd=cluster.directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = int(self.ask(self.SETUP.format(module)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.session.kill()
        self.session.communicate()
        self.process.send_signal(signal.SIGINT)
        self.process.communicate()
        shutil.rmtree(self.cluster.directory, ignore_errors=True)

    def ask(self, words):
        self.session.stdin.write(words)
        self.session.stdin.flush()
        line = self.session.stdout.readline()
        assert line, "psql has ended"
        return line

    def work(self, turn):
        """Sorts, exceptions, dynamic statements, rows that are inserted and deleted, and the
        leaking function. Without vacuum, the table would grow, and so would the memory that holds
        it."""
        line = self.ask("select count(leak_work()) from generate_series(1, 10);\nvacuum t;\n"
                        f"select repeat('x', {turn * 7919 % 900});\n" + WORK)
        while line != "round\n":
            line = self.session.stdout.readline()
            assert line, "psql has ended"


def is_suspected(path, function):
    """Whether the latest periodic report lists the function as a suspect."""
    if not path.exists():
        return False
    suspects = path.read_text(encoding="utf-8").partition("\nSuspects ")[2]
    return function in suspects.partition("\nHeap ")[0]


@pytest.mark.parametrize("kind", [LeakyRedis, LeakyPostgres])
def test_leak_under_load_is_the_first_suspect(tmp_path, kind):
    need("uprobes", *kind.NEEDS)
    turns = itertools.count()
    report = tmp_path / "report.txt"
    with kind(str(tmp_path)) as server:
        for turn in itertools.islice(turns, kind.EARLY):
            server.work(turn)
        with Tracer(str(tmp_path), server.pid,
                    options=("--interval", "2s", f"--format=text={report}")) as tracer:
            tracer.deadline.cancel()
            begin, warm, passed = time.monotonic(), None, 0
            while passed < SECONDS or (passed < SECONDS + TIMEOUT and
                                       not is_suspected(report, kind.FUNCTION)):
                passed = time.monotonic() - begin
                for turn in itertools.islice(turns, kind.AT_ONCE):
                    server.work(turn)
                time.sleep(0.02)
                if warm is None and passed > WARM_UP:
                    warm = resident(tracer.process.pid)
            end = resident(tracer.process.pid)
            result = tracer.stop()
    assert result.status == 0, result.stderr
    process = result.process
    assert process["losses"]["events"] == 0
    worst = process["suspects"][0]
    site, = [site for site in process["sites"] if site["id"] == worst["site"]]
    frame = process.frames(site)[0]
    assert (frame["function"], frame["line"]) == \
        (kind.FUNCTION, line_of(kind.SOURCE, LEAK_LINE))
    assert site["frees"] == 0 and site["live_bytes"] == site["allocations"] * 200
    assert "none of its" in worst["reasons"], worst
    rate = site["growth"]["bytes_per_second"]
    mean = site["live_bytes"] / (process["traced_ns"] / 1e9)
    assert 0.5 < rate / mean < 2, (rate, mean)
    # The tracer needs more memory only for additional live blocks.
    assert end < warm * 1.15 + site["live_blocks"] * 64 + (16 << 20), (warm, end)
    text = report.read_text(encoding="utf-8")
    assert text.index("\nSuspects ") < text.index("\nHeap ")
    assert f"{kind.FUNCTION} ({kind.SOURCE}:" in text
