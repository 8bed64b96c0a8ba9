# SPDX-License-Identifier: GPL-2.0-or-later
"""Real programs under load: blocks that are leaked according to a live scan are still leaked in a
later scan of the stopped program. A leak never goes away, so no site may have fewer."""

import collections
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import types

import pytest

import harness
import test_programs
from machine import need
from report import Process

OPTIONS = ("--scan", "--scan-every", "300ms", "--depth", "16", "--top", "0")


class Load:
    """Repeats an action in threads. more() waits until it was repeated often enough."""

    def __init__(self, once, threads=2):
        self.once = once
        self.done = 0
        self.failure = None
        self.ended = False
        self.change = threading.Condition()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(threads)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended = True
        for thread in self.threads:
            thread.join(harness.TIMEOUT)

    def run(self):
        while not self.ended and not self.failure:
            try:
                self.once()
            except Exception as failure:  # pylint: disable=broad-except
                self.failure = failure
            with self.change:
                self.done += 1
                self.change.notify_all()

    def more(self, times):
        """Wait until the action was repeated `times` more times."""
        with self.change:
            goal = self.done + times
            assert self.change.wait_for(lambda: self.done >= goal or self.failure, harness.TIMEOUT)
        assert not self.failure or self.ended, self.failure


@contextlib.contextmanager
def started(command, ready, end=signal.SIGKILL, **more):
    """Start a program that prints when it is ready. It is ended by a signal, or exits by itself."""
    more = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT,
            **more}
    with subprocess.Popen(command, text=True, **more) as process:
        deadline = harness.Deadline(process, 4 * harness.TIMEOUT)
        try:
            said = []
            while ready not in "".join(said):
                said.append(process.stdout.readline())
                assert said[-1], said
            yield process
        finally:
            if end:
                process.send_signal(end)
            process.communicate(timeout=harness.TIMEOUT)
            deadline.cancel()


@contextlib.contextmanager
def redis(directory):
    need("redis")
    with test_programs.Redis(directory) as server:
        def once():
            subprocess.run(["redis-benchmark", "-s", server.path, "-q", "-n", "2000", "-r", "1000",
                            "-d", "100", "-t", "set,lpush,get,hset,sadd"], check=True,
                           stdout=subprocess.DEVNULL)
        with Load(once) as load:
            yield server.process, load


PYTHON = """
import json, threading
def work(seed):
    kept = {}
    for i in range(1 << 60):
        kept[i % 100] = [str(i * seed), {"n": [i] * (i % 50)}, json.loads('{"a": [1, "b", {}]}')]
        if i % 1000 == 0:
            with lock:
                print("round", flush=True)
lock = threading.Lock()
for seed in range(1, 4):
    threading.Thread(target=work, args=[seed]).start()
"""


@contextlib.contextmanager
def python(directory, prefix=()):
    del directory
    with started([*prefix, "/usr/bin/python3", "-S", "-c", PYTHON], "round",
                 env={**test_programs.ENVIRONMENT, "PYTHONMALLOC": "malloc"}) as process:
        with Load(process.stdout.readline, 1) as load:
            yield process, load


SQL = """
insert into t select null, hex(randomblob(40)), random() from t limit 200;
select count(*), max(length(b || c)) from t join (select a as x from t limit 20) on a = x % 7;
update t set b = upper(b) || c where a % 5 = 1;
delete from t where a % 3 = 0 and (select count(*) from t) > 1000;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300)
    select group_concat(i, '-') from n order by i desc;
.print round
"""


@contextlib.contextmanager
def sqlite3(directory, prefix=()):
    need("programs")
    del directory
    with subprocess.Popen([*prefix, "sqlite3", ":memory:"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        def once():
            process.stdin.write(SQL)
            process.stdin.flush()
            while process.stdout.readline() != "round\n":
                assert process.poll() is None
        process.stdin.write("create table t (a integer primary key, b, c);\n"
                            "create index i on t (b);\ninsert into t values (1, 2, 3);\n")
        once()
        try:
            with Load(once, 1) as load:
                yield process, load
        finally:
            process.kill()


NGINX = """
daemon off; master_process off; pid {0}/pid; error_log stderr notice;
events {{ worker_connections 64; }}
http {{
    access_log off; client_body_temp_path {0}; proxy_temp_path {0}; fastcgi_temp_path {0};
    uwsgi_temp_path {0}; scgi_temp_path {0};
    server {{
        listen unix:{0}/socket; gzip on; gzip_min_length 1; gzip_types text/plain;
        location / {{ default_type text/plain; root {0}; }}
        location /back {{ proxy_pass http://unix:{0}/socket:/file; }}
    }}
}}
"""


def http(path, where):
    """One request. The server closes the connection."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(harness.TIMEOUT)
        connection.connect(path)
        connection.sendall(f"GET {where} HTTP/1.0\r\nHost: a\r\n"
                           "Accept-Encoding: gzip\r\n\r\n".encode())
        answer = connection.makefile("rb").read()
    assert b" 200 OK" in answer, answer[:200]


@contextlib.contextmanager
def nginx(directory, prefix=()):
    need("nginx")
    with open(os.path.join(directory, "nginx.conf"), "w", encoding="ascii") as file:
        file.write(NGINX.format(directory))
    with open(os.path.join(directory, "file"), "w", encoding="ascii") as file:
        file.write("0123456789abcdef" * 4096)
    os.chmod(directory, 0o755)

    def once():
        for _ in range(20):
            http(os.path.join(directory, "socket"), "/file")
            http(os.path.join(directory, "socket"), "/back")
    command = [shutil.which("nginx"), "-p", directory, "-e", "stderr", "-c",
               os.path.join(directory, "nginx.conf")]
    with started([*prefix, *command], "getrlimit") as process:
        with Load(once) as load:
            yield process, load


class Postgres:
    """A cluster of its own, run by a user who is not root."""

    BIN = "/usr/lib/postgresql/15/bin"

    def __init__(self):
        self.directory = tempfile.mkdtemp(prefix="postgres")
        if os.geteuid() == 0:
            shutil.chown(self.directory, "postgres", "postgres")
        self.run("initdb", "-D", self.directory + "/data", "--no-sync", "--auth=trust",
                 "--no-locale", "-E", "UTF8")

    def command(self, name, *arguments):
        user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        return [*(user if os.geteuid() == 0 else ()), os.path.join(self.BIN, name), *arguments]

    def run(self, name, *arguments):
        return subprocess.run(self.command(name, *arguments), cwd=self.directory, check=True,
                              capture_output=True, text=True, timeout=2 * harness.TIMEOUT).stdout

    def client(self, name, *arguments):
        return self.run(name, "-h", self.directory, *arguments)


WORK = """
select count(*), string_agg(b, ',') from (select i, md5(i::text) as b
    from generate_series(1, 2000) i order by b) t;
do $$ begin for i in 1 .. 20 loop begin perform 1 / (i % 3); exception when others then null; end;
    execute 'select ' || i; end loop; end $$;
insert into t select i, repeat('x', i) from generate_series(1, 50) i;
select json_agg(t) from t; delete from t; select 'round';
"""


@contextlib.contextmanager
def postgres(directory):
    """The server process of one connection."""
    need("postgres", "setpriv")
    del directory
    cluster = Postgres()
    server = cluster.command("postgres", "-D", cluster.directory + "/data", "-k",
                             cluster.directory, "-c", "listen_addresses=", "-F")
    client = cluster.command("psql", "-h", cluster.directory, "-qAtX", "postgres")
    try:
        with started(server, "ready to accept connections", signal.SIGINT,
                     cwd=cluster.directory), \
             subprocess.Popen(client, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              cwd=cluster.directory) as session:
            def once():
                session.stdin.write(WORK)
                session.stdin.flush()
                while session.stdout.readline() != "round\n":
                    assert session.poll() is None
            session.stdin.write("select pg_backend_pid(); create temp table t (a int, b text);\n")
            session.stdin.flush()
            backend = types.SimpleNamespace(pid=int(session.stdout.readline()))
            try:
                with Load(once, 1) as load:
                    yield backend, load
            finally:
                session.kill()
    finally:
        shutil.rmtree(cluster.directory, ignore_errors=True)


def lost_by_site(process):
    """{(API, stack): leaked blocks}"""
    lost = collections.Counter()
    for site in process["sites"]:
        frames = tuple((frame["module"], frame["offset"]) for frame in process.frames(site)
                       if not frame["inlined"])
        lost[site["api"], frames] += site["definite_blocks"] + site["indirect_blocks"]
    return +lost


def live_process(process, path, load):
    """The process in a report on request, after a scan that followed some more load."""
    since = load.done + 10
    while True:
        process.send_signal(signal.SIGUSR1)
        load.more(1)
        try:
            with open(path, encoding="utf-8") as file:
                [reported] = json.load(file)["processes"]
        except (FileNotFoundError, ValueError):
            continue  # no report yet
        if reported["scan"]["done"] and load.done > since:
            return Process(reported)


def assert_confirmed(live, stop):
    found, confirmed = lost_by_site(live), lost_by_site(stop)
    print(f"live: {sum(found.values())} lost, stop: {sum(confirmed.values())} lost",
          live["scan"], stop["scan"], stop.lost())
    assert (live["scan"]["mode"], stop["scan"]["mode"]) == ("live", "stop")
    assert stop["scan"]["done"] and stop["scan"]["bytes_scanned"] > 0
    assert found - confirmed == collections.Counter()


PROGRAMS = [redis, python, sqlite3, nginx, postgres]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_attached(attach, tmp_path, program):
    """Scan repeatedly while the program runs, and with the program stopped at the end."""
    with program(str(tmp_path)) as (process, load):
        load.more(2)
        with attach(process.pid, options=OPTIONS) as tracer:
            live = live_process(tracer.process, tracer.path, load)
            load.more(2)
            stop = tracer.stop().process
        load.more(2)
    assert_confirmed(live, stop)


def program_of(tracer):
    """The pid of the launched program. The tracer's other children run its own executable."""
    [pid] = [child for child in harness.children(tracer.pid)
             if os.path.realpath(f"/proc/{child}/exe") != os.path.realpath(harness.MTRACE)]
    return pid


@pytest.mark.parametrize("program", [python, sqlite3, nginx], ids=lambda program: program.__name__)
def test_launched(uprobes, tmp_path, program):
    """All blocks are known. ^C ends the program as well."""
    del uprobes
    path = str(tmp_path / "report.json")
    tracer = [harness.MTRACE, "--format", "json", "-o", path, *OPTIONS, "--"]
    with program(str(tmp_path), tracer) as (process, load):
        pid = program_of(process)
        try:
            live = live_process(process, path, load)
            load.more(2)
            process.send_signal(signal.SIGINT)
            process.wait(harness.TIMEOUT)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    with open(path, encoding="utf-8") as file:
        [stop] = json.load(file)["processes"]
    assert_confirmed(live, Process(stop))
