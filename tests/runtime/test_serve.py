# SPDX-License-Identifier: GPL-2.0-or-later
"""serve and connect: every client gets the same model as the server, even if connections break and
other clients connect."""

import json
import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import threading
import time

import pytest

from harness import (BACKEND_OPTIONS, MTRACE, TIMEOUT, Lines, Steady, launch, mtrace,
                     one_line, target)
from machine import need
from report import assert_sites


@pytest.fixture(name="directory")
def fixture_directory(tmp_path):
    return str(tmp_path)


class Served(Lines):
    """A server, and the address that it prints."""

    def __init__(self, *arguments, listen, **more):
        super().__init__("serve", "-v", *BACKEND_OPTIONS, "--listen", listen, *arguments, **more)
        self.address = re.search(r"serving at (.*?)(,|$)", self.wait_for("serving at"))[1].strip()

    @property
    def port(self):
        return int(self.address.rsplit(":", 1)[1])


class Client(Lines):
    def __init__(self, directory, address, *options, name="client", before=()):
        self.path = os.path.join(directory, name + ".json")
        super().__init__("connect", "--format", "json", "-o", self.path, *options, address,
                         before=before)


def connect(directory, address, *options, **more):
    with Client(directory, address, *options, **more) as client:
        return client.finish()


def unix(directory):
    return "unix:" + os.path.join(directory, "socket")


def secret(directory, name="token", text="0123456789abcdef0123456789abcdef\n"):
    path = os.path.join(directory, name)
    with open(path, "w", encoding="ascii", opener=lambda p, f: os.open(p, f, 0o600)) as file:
        file.write(text)
    return path


def comparable(document):
    """The document without what differs from run to run."""
    for process in document["processes"]:
        for key in ("backend", "pid", "ppid", "start_time_ns", "cgroup", "traced_ns", "command"):
            process.pop(key, None)
        process["scan"] = {key: value for key, value in process["scan"].items()
                           if key in ("definite", "indirect", "possible", "done")}
        sites = []
        stacks = {entry["id"]: entry for entry in process["stacks"]}
        for site in process["sites"]:
            frames = stacks[site["stack"]]["frames"] if site["stack"] in stacks else []
            place = [(frame["module"], frame["offset"], frame["function"], frame["line"])
                     for frame in frames]
            sites.append(([value for key, value in sorted(site.items())
                           if not key.endswith("_ns") and key not in ("id", "stack", "examples")
                           and isinstance(value, (int, str))], place))
        process["sites"] = sorted(sites, key=repr)
        process.pop("stacks")
    return [{key: process[key] for key in ("sites", "totals", "live", "mappings", "scan",
                                           "losses", "exited", "exit_code", "exe", "comm", "arch")}
            for process in document["processes"]]


@pytest.mark.parametrize("name,options", [("basic", ()), ("cxx", ()), ("leak", ("-a",)),
                                          ("threads 4", ()), ("exec", ()),
                                          ("forker", ("-f",)), ("sanity", ("-S",))])
def test_report_equals_a_local_one(directory, name, options):
    need("uprobes")
    name, *arguments = name.split()
    native = launch(directory, target(name), *arguments, options=options)
    with Served(*options, "-w", target(name), *arguments, listen=unix(directory)) as server:
        result = connect(directory, server.address)
        served = server.finish()
    assert result.status == 0 and served.status == native.status
    assert result.document["incomplete"] is None
    ours, theirs = comparable(result.document), comparable(native.document)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs):
        for key, value in other.items():
            assert one[key] == value, key
    assert '"remote"' in read(os.path.join(directory, "client.json"))


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def test_truth(directory):
    """A client that connects after the program has exited still gets everything. The server exits
    with the program's status."""
    need("uprobes")
    with Served(target("basic"), listen=unix(directory)) as server:
        server.wait_for("waiting for a client to read it")
        result = connect(directory, server.address)
        served = server.finish()
    assert (result.status, served.status) == (0, 0)
    assert_sites(result.process, served.truth)
    assert "1 received everything" in served.stderr
    assert not os.path.exists(os.path.join(directory, "socket"))


def test_exit_status_is_that_of_the_program(directory):
    need("uprobes")
    with Served("-w", "/bin/sh", "-c", "exit 7", listen=unix(directory)) as server:
        result = connect(directory, server.address)
        assert server.finish().status == 7
    assert result.process["exit_code"] == 7


@pytest.mark.parametrize("kinds, expected", [("definite", 0), ("definite,possible", 9)])
def test_leak_kinds_of_the_client(directory, kinds, expected):
    need("uprobes")
    with Served("-a", "-w", target("kinds"), "possible", listen=unix(directory)) as server:
        result = connect(directory, server.address, "--error-exitcode", "9", "--leak-kinds", kinds)
        assert server.finish().status == 0
    assert result.status == expected


@pytest.mark.parametrize("kinds, expected", [("definite", 0), ("definite,possible", 9)])
def test_leak_kinds_of_the_server(directory, kinds, expected):
    need("uprobes")
    with Served("--error-exitcode", "9", "--leak-kinds", kinds, "-w", target("kinds"), "possible",
                listen=unix(directory)) as server:
        assert connect(directory, server.address).status == 0
        assert server.finish().status == expected


def test_attached(directory):
    """^C at the server ends the trace for all clients. Each of them gets all of it."""
    need("uprobes")
    with Steady() as steady, \
            Served("-p", str(steady.pid), listen=unix(directory)) as server, \
            Client(directory, server.address) as early:
        server.wait_for("tracing")
        early.wait_for("connected")
        steady.tell("w")
        with Client(directory, server.address, name="late") as late:
            late.wait_for("connected")
            truth = steady.tell("f")
            server.signal(signal.SIGINT)
            results = [early.finish(), late.finish()]
        assert server.finish().status == 0 and truth
        assert steady.tell()
    for result in results:
        assert result.status == 0 and result.process["pid"] == steady.pid
        assert result.process["totals"] == results[0].process["totals"]
        assert result.process["totals"]["allocations"]


@pytest.mark.whole_machine
def test_system_wide(directory):
    need("bpf")
    with Served("--comm", "basic", listen=unix(directory)) as server, \
            Client(directory, server.address) as client:
        server.wait_for("tracing")
        client.wait_for("connected")
        run = subprocess.run([target("basic")], capture_output=True, text=True, check=True,
                             timeout=TIMEOUT)
        server.signal(signal.SIGINT)
        result = client.finish()
        assert server.finish().status == 0
    result.stdout = run.stdout
    assert result.status == 0
    assert_sites(result.process, result.truth)


def test_interrupt_ends_the_wait_for_a_client(directory):
    """^C ends the wait for a client, both before and after the trace, and removes the socket."""
    need("uprobes")
    with Served("-w", target("basic"), listen=unix(directory)) as server:
        server.signal(signal.SIGINT)
        before = server.finish()
    assert before.status != 0 and before.stdout == ""
    with Served(target("basic"), listen=unix(directory)) as server:
        server.wait_for("waiting for a client to read it")
        server.signal(signal.SIGINT)
        behind = server.finish()
    assert behind.status == 0 and behind.truth
    assert not os.path.exists(os.path.join(directory, "socket"))


def test_client_leaves_and_comes_back(directory):
    """^C at a client ends only its own report. Killing a client does not disturb the server."""
    need("uprobes")
    with Steady() as steady, \
            Served("-p", str(steady.pid), listen=unix(directory)) as server:
        server.wait_for("tracing")
        with Client(directory, server.address) as client:
            client.wait_for("connected")
            server.wait_for(" connected")
            client.signal(signal.SIGINT)
            left = client.finish()
        assert left.status in (0, 1)
        with Client(directory, server.address) as client:
            client.wait_for("connected")
            steady.tell("w")
            client.kill()
        server.wait_for("disconnected")
        steady.tell("f")
        with Client(directory, server.address, "--end") as client:
            result = client.finish()
        assert server.finish().status == 0
        assert steady.tell()
    assert result.status == 0 and result.document["incomplete"] is None
    assert result.process["totals"]["allocations"] and result.process["totals"]["frees"]


def report_meanwhile(client, steady):
    """Request reports with SIGUSR1 until one has contents."""
    client.wait_for("connected")
    while not os.path.exists(client.path) or '"totals"' not in read(client.path):
        steady.tell("w")
        client.signal(signal.SIGUSR1)


def test_client_reports_after_the_server_is_killed(directory):
    """The client reports what it has, marked as incomplete. The program continues."""
    need("uprobes")
    with Steady() as steady, \
            Served("-p", str(steady.pid), listen=unix(directory)) as server, \
            Client(directory, server.address) as client:
        server.wait_for("tracing")
        report_meanwhile(client, steady)
        server.kill()
        result = client.finish()
        assert steady.tell()
        with Served("-p", str(steady.pid), listen=unix(directory)) as again:
            again.wait_for("tracing")  # the old socket file does not prevent a new server
    assert result.status == 1
    assert "the connection broke after" in result.document["incomplete"]
    assert result.process["pid"] == steady.pid


class Cable:
    """A connection between client and server that can be cut."""

    def __init__(self, port):
        self.port = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.pairs = []
        self.count = 0
        self.whole = True
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def address(self):
        return "127.0.0.1:%d" % self.listener.getsockname()[1]

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            if not self.whole:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self.port))
            self.count += 1
            self.pairs.append((near, far))
            for ends in ((near, far), (far, near)):
                threading.Thread(target=self.copy, args=ends, daemon=True).start()

    @staticmethod
    def copy(one, other):
        try:
            while data := one.recv(4096):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        """Refuse new connections and cut the existing ones."""
        self.whole = False
        self.cut()

    def open(self):
        self.whole = True

    def cut(self):
        """Reset both ends of every connection."""
        for pair in self.pairs:
            for end in pair:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                end.close()
        self.pairs = []


def test_reconnect(directory):
    """A client that reconnects receives what it missed, so its report has no gap."""
    need("uprobes")
    token = ("--token-file", secret(directory))
    with Steady() as steady, \
            Served(*token, "-p", str(steady.pid), listen="127.0.0.1:0") as server:
        server.wait_for("tracing")
        cable = Cable(server.port)
        with Client(directory, cable.address, *token, "--reconnect", "60s") as client:
            client.wait_for("connected")
            for _ in range(3):
                steady.tell("w")
                cable.cut()
                client.wait_for("broke")
                steady.tell("f")
                client.wait_for("reconnected")
            server.signal(signal.SIGINT)
            result = client.finish()
        assert server.finish().status == 0
    assert result.status == 0 and result.document["incomplete"] is None
    assert not result.process["losses"]["events"]
    assert result.process["totals"]["allocations"] and cable.count == 4


def wait_until(condition):
    until = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


class Network:
    """A network namespace, and a cable to it that can be pulled."""

    def __init__(self):
        number = os.getpid() % 250
        self.name = f"mtrace-test-{os.getpid()}"
        self.near, self.far = f"mt{os.getpid() % 100000}a", f"mt{os.getpid() % 100000}b"
        self.here, self.there = f"10.213.{number}.1", f"10.213.{number}.2"

    def __enter__(self):
        try:
            self.ip("netns", "add", self.name)
            self.ip("link", "add", self.near, "type", "veth", "peer", "name", self.far)
            self.ip("link", "set", self.far, "netns", self.name)
            self.ip("addr", "add", self.here + "/30", "dev", self.near)
            self.ip("link", "set", self.near, "up")
            self.ip("-n", self.name, "addr", "add", self.there + "/30", "dev", self.far)
            self.ip("-n", self.name, "link", "set", self.far, "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        subprocess.run(["ip", "link", "del", self.near], check=False, capture_output=True)
        subprocess.run(["ip", "netns", "del", self.name], check=False, capture_output=True)

    @staticmethod
    def ip(*words):
        run = subprocess.run(["ip", *words], check=False, capture_output=True, text=True)
        assert run.returncode == 0, f"ip {' '.join(words)}: {run.stderr}"

    @property
    def inside(self):
        return ("ip", "netns", "exec", self.name)

    def pull(self):
        self.ip("link", "set", self.near, "down")

    def plug(self):
        self.ip("link", "set", self.near, "up")


def allocations(path):
    """The number of allocations in a report that may be incomplete on disk; None if so."""
    try:
        process, = json.loads(read(path))["processes"]
        return process["totals"]["allocations"]
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def test_client_reconnects_after_a_network_outage(directory):
    """No packets get through. The client reports what it received so far, has everything after it
    reconnects, and the program is not disturbed."""
    need("uprobes", "netns")
    token = ("--token-file", secret(directory))
    with Network() as network, Steady(2) as steady, \
            Served(*token, "-p", str(steady.pid), "--backlog", "64k",
                   listen=network.here + ":0") as server, \
            Client(directory, server.address, *token, "--reconnect", "60s",
                   before=network.inside) as far:
        server.wait_for("tracing")
        report_meanwhile(far, steady)
        network.pull()
        begun = allocations(far.path)
        os.unlink(far.path)
        far.signal(signal.SIGUSR1)
        wait_until(lambda: allocations(far.path) is not None)
        assert allocations(far.path) >= begun
        far.wait_for("broke")
        for _ in range(60):
            steady.tell("w")
        network.plug()
        far.wait_for("reconnected")
        steady.tell("f")
        with Client(directory, server.address, *token, name="near") as near:
            near.wait_for("connected")
            server.signal(signal.SIGINT)
            results = [far.finish(), near.finish()]
        assert server.finish().status == 0 and steady.tell()
    assert_same_books(*results)


def test_cut_without_reconnect(directory):
    need("uprobes")
    token = ("--token-file", secret(directory))
    with Steady() as steady, \
            Served(*token, "-p", str(steady.pid), listen="127.0.0.1:0") as server:
        server.wait_for("tracing")
        cable = Cable(server.port)
        with Client(directory, cable.address, *token) as client:
            report_meanwhile(client, steady)
            cable.cut()
            result = client.finish()
        assert steady.tell()
    assert result.status == 1 and "the connection broke" in result.document["incomplete"]


def test_unix_socket_refuses_other_users(directory):
    need("uprobes")
    path = os.path.join(directory, "socket")
    with Served("-w", target("basic"), listen="unix:" + path):
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        second = mtrace("serve", *BACKEND_OPTIONS, "--listen", "unix:" + path, target("basic"))
        assert second.status == 1 and "Address already in use" in second.stderr
        if os.geteuid():
            pytest.skip("needs root to be somebody else")
        os.chmod(directory, 0o755)
        os.chmod(path, 0o666)
        script = ("import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); "
                  "s.settimeout(60); print(len(s.recv(100)))")
        stranger = ["/usr/bin/python3", "-c", script, path]
        open_way(directory)
        run = subprocess.run(stranger, user=65534, group=65534, extra_groups=[], text=True,
                             capture_output=True, check=False, timeout=TIMEOUT)
        assert run.stdout.strip() == "0" or "reset" in run.stderr, run.stderr
        run = subprocess.run(stranger, text=True, capture_output=True, check=True)
        assert run.stdout.strip() == "48"


def open_way(directory):
    """Let other users pass through pytest's directories."""
    while directory.startswith("/tmp/") and directory != "/tmp/":
        os.chmod(directory, 0o755)
        directory = os.path.dirname(directory)


def test_tokens(directory):
    need("uprobes")
    right, wrong = secret(directory), secret(directory, "wrong", "f" * 32)
    with Served("--token-file", right, target("basic"), listen="127.0.0.1:0") as server:
        server.wait_for("waiting for a client to read it")
        none = connect(directory, server.address)
        assert none.status == 1 and "requires a token" in none.stderr and one_line(none.stderr)
        other = connect(directory, server.address, "--token-file", wrong)
        assert other.status == 1 and "the tokens differ" in other.stderr
        assert connect(directory, server.address, "--token-file", right).status == 0
        assert "1 unauthorized" in server.finish().stderr


def test_impostor_without_the_token_is_rejected(directory):
    """The client rejects a server that does not know the token."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        def pretend():
            peer, _ = listener.accept()
            with peer:
                peer.sendall(b"\x89MTS\r\n\x1a\n" + struct.pack("<HB5x", 1, 1) + bytes(32))
                peer.recv(96, socket.MSG_WAITALL)
                peer.sendall(b"\x89MTA\r\n\x1a\n" + struct.pack("<HBB4xQQ", 1, 0, 1, 7, 0)
                             + bytes(32))
                peer.recv(1)
        thread = threading.Thread(target=pretend)
        thread.start()
        result = connect(directory, "127.0.0.1:%d" % listener.getsockname()[1], "--token-file",
                         secret(directory))
        thread.join()
    assert result.status == 1 and "it does not know the token" in result.stderr


@pytest.mark.parametrize("arguments,reason", [
    (("serve", "--listen", "127.0.0.1:0", "true"), "anyone could read the trace"),
    (("serve", "--listen", "unix:", "true"), "is not a socket path"),
    (("serve", "--listen", "unix:/none/such/place", "true"), "No such file or directory"),
    (("serve", "--listen", "127.0.0.1:99999", "--token-file", "TOKEN", "true"), "the port"),
    (("serve", "--listen", "[::1", "--token-file", "TOKEN", "true"), "is not of the form unix:"),
    (("serve", "--token-file", "/none", "true"), "cannot read /none"),
    (("serve", "--token-file", "OPEN", "true"), "other users can read the token"),
    (("serve", "--token-file", "SHORT", "true"), "is too short"),
    (("serve", "--tls-cert", "/none", "true"), "TLS needs all of"),
    (("connect", "unix:/none"), "cannot connect to unix:/none: No such file"),
    (("connect", "127.0.0.1:1"), "Connection refused"),
])
def test_failure_is_one_line(directory, arguments, reason):
    files = {"TOKEN": secret(directory), "OPEN": secret(directory, "open"),
             "SHORT": secret(directory, "short", "abc\n")}
    os.chmod(files["OPEN"], 0o644)
    run = mtrace(*(files.get(word, word) for word in arguments))
    assert run.status == 1 and one_line(run.stderr) and reason in run.stderr


@pytest.mark.parametrize("arguments,reason", [
    (("connect",), "needs the address"), (("connect", "a", "b"), "takes one address"),
    (("connect", "--scan-every", "10s", "x"), "--scan-every is not valid with connect"),
    (("connect", "--listen", "x", "y"), "--listen is not valid with connect"),
    (("serve", "-o", "x", "true"), "--output is only valid with connect, not with serve"),
    (("serve", "--end", "true"), "--end is only valid with connect, not with serve"),
    (("serve", "-i", "true"), "--interactive is only valid with connect, not with serve"),
    (("--listen", "x", "true"), "--listen is only valid with serve or connect"),
    (("report", "--token-file", "x", "y"), "--token-file is only valid with serve or connect"),
])
def test_misuse(arguments, reason):
    run = mtrace(*arguments)
    assert run.status == 2 and one_line(run.stderr) and reason in run.stderr


def test_binaries_are_found(directory):
    """The client finds the binaries by build ID."""
    need("uprobes")
    here, there = (os.path.join(directory, name) for name in ("here/bin", "there/bin"))
    os.makedirs(here)
    os.makedirs(there)
    program = shutil.copy(target("basic"), here)
    with Served(program, listen=unix(directory)) as server:
        server.wait_for("waiting for a client to read it")
        shutil.move(program, there)
        shutil.copy(target("cxx"), program)
        result = connect(directory, server.address, "--binpath", os.path.dirname(there))
        served = server.finish()
    assert_sites(result.process, served.truth)


def peers(address, source="127.0.0.1"):
    """Connects to the address again and again."""
    host, port = address.rsplit(":", 1)
    while True:
        peer = socket.create_connection((host, int(port)), source_address=(source, 0))
        peer.settimeout(TIMEOUT)
        yield peer


def drained(peer):
    """Read until the other side closes the connection."""
    try:
        while peer.recv(4096):
            pass
    except ConnectionError:
        pass
    peer.close()


def test_hostile_peers(directory):
    """Random, truncated, oversized and half-closed connections, and thousands of them, do not
    disturb the trace."""
    need("uprobes")
    token = ("--token-file", secret(directory))
    with Steady() as steady, \
            Served(*token, "-p", str(steady.pid), listen="127.0.0.1:0") as server:
        server.wait_for("tracing")
        stream = peers(server.address)
        begin = size_of(server.process.pid)
        for i in range(60):
            for data in (os.urandom(i + 1), os.urandom(96), os.urandom(100000),
                         b"\x89MTC\r\n\x1a\n\1\0" + bytes(86), b"GET / HTTP/1.0\r\n\r\n" * 10):
                peer = next(stream)
                try:
                    peer.sendall(data)
                    peer.shutdown(socket.SHUT_WR)
                except OSError:
                    pass
                drained(peer)
        for i in range(3000):
            next(stream).close()
        flood = peers(server.address, "127.0.0.2")
        idle = [next(flood) for _ in range(100)]  # too many: the newest are refused
        drained(idle[-1])
        steady.tell("w")
        with Client(directory, server.address, *token) as client:
            client.wait_for("connected")
            steady.tell("f")
            assert 0 < size_of(server.process.pid) < begin + 8192
            server.signal(signal.SIGINT)
            result = client.finish()
        for peer in idle[:-1]:
            peer.close()
        served = server.finish()
        assert steady.tell()
    assert result.status == 0 and result.document["incomplete"] is None
    assert "sent invalid data" in served.stderr and "too many connections" in served.stderr


def size_of(pid):
    """Resident memory in KiB; 0 if the process is gone."""
    try:
        return int(re.search(r"VmRSS:\s*(\d+)", read(f"/proc/{pid}/status"))[1])
    except (FileNotFoundError, TypeError, ProcessLookupError):
        return 0


def test_replayed_handshake_is_rejected(directory):
    """A recorded handshake does not open another connection."""
    need("uprobes")
    token = ("--token-file", secret(directory))
    with Served(*token, "-w", target("basic"), listen="127.0.0.1:0") as server:
        heard = bytearray()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            with Client(directory, "127.0.0.1:%d" % listener.getsockname()[1], *token) as client:
                near, _ = listener.accept()
                far = next(peers(server.address))
                near.sendall(far.recv(48, socket.MSG_WAITALL))
                heard += near.recv(96, socket.MSG_WAITALL)
                far.close()
                near.close()
                assert client.finish().status == 1
        peer = next(peers(server.address))
        peer.recv(48, socket.MSG_WAITALL)
        peer.sendall(heard)
        answer = peer.recv(64, socket.MSG_WAITALL)
        assert answer[:8] == b"\x89MTA\r\n\x1a\n" and answer[10] == 1
        drained(peer)
        assert connect(directory, server.address, *token).status == 0


def openssl(directory, *arguments):
    subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)


def authority(directory, name):
    openssl(directory, "req", "-x509", "-newkey", "ec", "-pkeyopt",
            "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key", "-out",
            f"{name}.crt", "-days", "2", "-subj", f"/CN={name}")


def certificate(directory, name, by, host):
    openssl(directory, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
    with open(os.path.join(directory, name + ".ext"), "w", encoding="ascii") as file:
        file.write(f"subjectAltName={host}\n")
    openssl(directory, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{by}.crt", "-CAkey",
            f"{by}.key", "-CAcreateserial", "-days", "2", "-extfile", f"{name}.ext", "-out",
            f"{name}.crt")


def tls(directory, name, believed):
    return ("--tls-cert", os.path.join(directory, name + ".crt"),
            "--tls-key", os.path.join(directory, name + ".key"),
            "--tls-ca", os.path.join(directory, believed + ".crt"))


def test_tls(directory):
    need("uprobes")
    for name in ("ours", "theirs"):
        authority(directory, name)
    certificate(directory, "server", "ours", "IP:127.0.0.1")
    certificate(directory, "other", "ours", "DNS:elsewhere.example")
    certificate(directory, "client", "ours", "DNS:client.example")
    certificate(directory, "stranger", "theirs", "IP:127.0.0.1")
    with Served(*tls(directory, "server", "ours"), target("basic"),
                listen="127.0.0.1:0") as server:
        server.wait_for("waiting for a client to read it")
        for options, reason in ((tls(directory, "stranger", "ours"), "accept our certificate"),
                                (tls(directory, "client", "theirs"), "its certificate:")):
            result = connect(directory, server.address, *options)
            assert result.status == 1 and reason in result.stderr and one_line(result.stderr)
        plain = connect(directory, server.address)
        assert plain.status == 1 and "it requires TLS (use --tls-cert" in plain.stderr
        result = connect(directory, server.address, *tls(directory, "client", "ours"))
        served = server.finish()
    assert result.status == 0
    assert_sites(result.process, served.truth)
    with Served(*tls(directory, "other", "ours"), "-w", target("basic"),
                listen="127.0.0.1:0") as server:
        result = connect(directory, server.address, *tls(directory, "client", "ours"))
        assert result.status == 1 and "mismatch" in result.stderr
    broken = mtrace("serve", *tls(directory, "server", "none"), "true")
    assert broken.status == 1 and one_line(broken.stderr) and "none.crt" in broken.stderr


def test_full_backlog_drops_events(directory):
    """If nobody reads the backlog and checkpoints are off, calls are dropped and counted, and the
    program continues."""
    need("uprobes")
    with Served("--backlog", "64k", "--checkpoint", "0", "--buffer", "256m", target("threads"),
                "8", "20000", listen=unix(directory)) as server:
        server.wait_for("waiting for a client to read it")
        result = connect(directory, server.address)
        served = server.finish()
    lost = re.search(r"([\d,]+) events dropped", served.stderr)
    assert result.status == 0 and served.status == 0 and served.truth
    assert result.process["losses"]["events"] >= int(lost[1].replace(",", "")) > 0


def test_reading_client_loses_nothing(directory):
    """A client that keeps reading loses nothing, even if the trace is much larger than the
    backlog."""
    need("uprobes")
    with Served("-w", "--backlog", "128k", "--buffer", "256m", target("threads"), "8",
                "20000", listen=unix(directory)) as server, \
            Client(directory, server.address) as client:
        client.wait_for("connected")
        result = client.finish()
        served = server.finish()
    assert result.status == 0
    assert_sites(result.process, served.truth)


def test_late_client_receives_the_model(directory):
    """A client that connects after the backlog overflowed receives the server's model, which is
    complete."""
    need("uprobes")
    with Served("--backlog", "64k", "--buffer", "256m", target("threads"), "8", "20000",
                listen=unix(directory)) as server:
        server.wait_for("waiting for a client to read it")
        result = connect(directory, server.address)
        served = server.finish()
    assert "connected and receives the model" in served.stderr
    assert "events dropped" not in served.stderr
    assert result.status == 0 and result.document["incomplete"] is None
    assert_sites(result.process, served.truth)


def differences(one, other, path=""):
    """The paths at which two documents differ."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        pairs = [(key, one[key], other[key]) for key in one]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = [(i, *pair) for i, pair in enumerate(zip(one, other))]
    else:
        return [] if one == other else [f"{path}: {one} and {other}"]
    return [line for key, left, right in pairs
            for line in differences(left, right, f"{path}/{key}")]


def assert_same_books(one, other):
    """Both reports are complete and equal, except for the tool's own memory."""
    for result in (one, other):
        assert result.status == 0
        result.document.pop("tool", None)
    found = differences(one.document, other.document)
    assert not found, "\n".join(found[:20])


def test_late_and_early_clients_report_the_same(directory):
    """A client that connects late and receives the server's model has the same report as one that
    was connected from the start."""
    need("uprobes")
    with Steady(4) as steady, \
            Served("-S", "-p", str(steady.pid), "--backlog", "64k",
                   listen=unix(directory)) as server, \
            Client(directory, server.address, name="early") as early:
        server.wait_for("tracing")
        early.wait_for("connected")
        for _ in range(60):
            steady.tell("w")
        with Client(directory, server.address, name="late") as late:
            late.wait_for("connected")
            server.wait_for("connected and receives the model")
            steady.tell("w")
            steady.tell("f")
            server.signal(signal.SIGINT)
            results = [early.finish(), late.finish()]
        assert server.finish().status == 0
    assert_same_books(*results)


def test_client_reconnects_after_the_backlog_overflowed(directory):
    """A client that reconnects when the backlog no longer has its position receives the server's
    model. Nothing is missing."""
    need("uprobes")
    token = ("--token-file", secret(directory))
    with Steady(4) as steady, \
            Served(*token, "-p", str(steady.pid), "--backlog", "64k",
                   listen="127.0.0.1:0") as server, \
            Client(directory, server.address, *token, name="witness") as witness:
        server.wait_for("tracing")
        witness.wait_for("connected")
        cable = Cable(server.port)
        with Client(directory, cable.address, *token, "--reconnect", "60s") as client:
            client.wait_for("connected")
            report_meanwhile(client, steady)
            cable.close()
            client.wait_for("broke")
            for _ in range(60):
                steady.tell("w")
            cable.open()
            client.wait_for("which sends its model")
            steady.tell("f")
            server.signal(signal.SIGINT)
            results = [client.finish(), witness.finish()]
        served = server.finish()
    assert served.status == 0 and "reconnected and receives the model" in served.stderr
    assert_same_books(*results)


def test_slow_client_is_disconnected(directory):
    """A client that is too slow is disconnected. It reconnects on its own and receives the server's
    model."""
    need("uprobes")
    with Steady(4) as steady, \
            Served("-p", str(steady.pid), "--backlog", "64k",
                   listen=unix(directory)) as server, \
            Client(directory, server.address) as client:
        server.wait_for("tracing")
        report_meanwhile(client, steady)
        client.signal(signal.SIGSTOP)
        for _ in range(250):
            steady.tell("w")
        client.signal(signal.SIGCONT)
        client.wait_for("which sends its model")
        steady.tell("f")
        with Client(directory, server.address, name="late") as late:
            late.wait_for("connected")
            server.signal(signal.SIGINT)
            results = [client.finish(), late.finish()]
        served = server.finish()
    assert served.status == 0 and "disconnected (too slow)" in served.stderr
    assert_same_books(*results)


def test_model_too_large_for_a_checkpoint(directory):
    """If the model is too large for a checkpoint, late clients are refused as without one."""
    need("uprobes")
    with Served("--backlog", "64k", "--checkpoint", "1k", "--buffer", "256m", target("threads"),
                "8", "20000", listen=unix(directory)) as server:
        server.wait_for("waiting for a client to read it")
        late = connect(directory, server.address)
        assert late.status == 1 and "--backlog" in late.stderr
        server.signal(signal.SIGINT)
        assert "events dropped" in server.finish().stderr


def test_shell(directory):
    """The shell works on a model that is received over a connection, and keeps it when the
    connection ends."""
    address = unix(directory)
    path = os.path.join(directory, "report.json")
    with Served("--wait", "--scan", target("leak"), listen=address) as served:
        shell = subprocess.run([MTRACE, "connect", "-i", address],
                               input=f"wait\nstatus\nscan\nsave {path}\nquit\n", text=True,
                               capture_output=True, check=False, timeout=TIMEOUT)
        served.finish()
    assert shell.returncode == 1, shell.stderr  # the scan failed
    assert "line 3: the server has ended its trace" in shell.stderr
    assert "exited with status 0" in shell.stdout
    with open(path, encoding="utf-8") as file:
        process, = json.load(file)["processes"]
    assert process["scan"]["definite"]["blocks"] > 0


def leaks_of(process):
    """The result of the last scan, by site."""
    return ({key: value for key, value in process["scan"].items()
             if key in ("done", "reachable", "definite", "indirect", "possible")},
            [(site["id"], site.get("leaks")) for site in process["sites"]])


@pytest.mark.parametrize("backlog", ["64m", "64k"])
def test_scan_requested_by_a_client(directory, backlog):
    """A scan that is requested by a client's shell has the same result as the server's own scan."""
    need("uprobes")
    address, path = unix(directory), os.path.join(directory, "report.json")
    with Steady(2) as steady, \
            Served("-p", str(steady.pid), "--scan-stop", "--backlog", backlog,
                   listen=address) as server:
        server.wait_for("tracing")
        for _ in range(60 if backlog == "64k" else 2):
            steady.tell("w")
        shell = subprocess.run([MTRACE, "connect", "-i", address], text=True, check=False,
                               input=f"set scan stop\nscan\nsave {path}\nscan 1\nquit\n",
                               capture_output=True, timeout=TIMEOUT)
        with Client(directory, address, "-a", "--end") as client:
            result = client.finish()
        served = server.finish()
        assert steady.tell()
    assert served.status == 0 and served.stdout == ""
    assert "scanned" in shell.stdout and "line 4:" in shell.stderr, shell.stderr
    process, = json.loads(read(path))["processes"]
    assert result.status == 0 and process["scan"]["done"] and result.process["scan"]["done"]
    assert leaks_of(process) == leaks_of(result.process)


def test_scan_when_a_client_ends(directory):
    """connect -a requests a scan when ^C ends the client. The trace and the program continue.
    Requests of a second client are refused."""
    need("uprobes")
    with Steady() as steady, \
            Served("-p", str(steady.pid), listen=unix(directory)) as server, \
            Client(directory, server.address, "-a") as first:
        server.wait_for("tracing")
        report_meanwhile(first, steady)
        with Client(directory, server.address, "-a", name="second") as second:
            report_meanwhile(second, steady)
            second.signal(signal.SIGINT)
            refused = second.finish()
        assert refused.status == 0 and not refused.process["scan"]["done"]
        assert "no leak scan: another client is in control" in refused.stderr
        first.signal(signal.SIGINT)
        result = first.finish()
        assert result.status == 0 and result.process["scan"]["done"]
        assert steady.tell()
        with Client(directory, server.address, "--end") as last:
            assert last.finish().process["scan"]["done"]
        assert server.finish().status == 0


def test_scan_needs_checkpoints(directory):
    need("uprobes")
    with Steady() as steady, \
            Served("-p", str(steady.pid), "--checkpoint", "0", listen=unix(directory)) as server:
        server.wait_for("tracing")
        steady.tell("w")
        with Client(directory, server.address, "-a", "--end") as client:
            result = client.finish()
        assert server.finish().status == 0 and steady.tell()
    assert result.status == 0 and not result.process["scan"]["done"]
    assert "keeps no model: use --checkpoint" in result.stderr
