# SPDX-License-Identifier: GPL-2.0-or-later
"""Metrics equal the JSON report. Prometheus, promtool and pprof can read them. Misbehaving clients
disturb neither the trace nor other clients."""

import contextlib
import http.client
import json
import os
import re
import resource
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

import harness
from harness import Steady, Tracer, target
from machine import need

TOTALS = {"live_bytes": ("live", "bytes"), "live_blocks": ("live", "blocks"),
          "peak_live_bytes": ("totals", "peak_live_bytes"),
          "allocations_total": ("totals", "allocations"), "frees_total": ("totals", "frees"),
          "allocated_bytes_total": ("totals", "bytes_allocated"),
          "freed_bytes_total": ("totals", "bytes_freed"),
          "failed_allocations_total": ("totals", "failed_allocations"),
          "mapped_bytes": ("mappings", "bytes"), "mapped_regions": ("mappings", "maps"),
          "lost_events_total": ("losses", "events")}
OF_SITES = {"site_live_bytes": "live_bytes", "site_live_blocks": "live_blocks",
            "site_allocations_total": "allocations", "site_frees_total": "frees",
            "site_allocated_bytes_total": "bytes_allocated"}
OPENMETRICS = "application/openmetrics-text; version=1.0.0"


def until(condition):
    """Return the condition's value as soon as it is true."""
    end = time.monotonic() + harness.TIMEOUT
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.1)
    pytest.fail("it does not come true")


def address_of(tracer):
    line, = (line for line in tracer.log if "metrics at http" in line)
    return line.split("metrics at ")[1].split("/metrics")[0]


def get(address, path="/metrics", **more):
    request = urllib.request.Request(address + path, headers=more.pop("headers", {}))
    with urllib.request.urlopen(request, timeout=harness.TIMEOUT, **more) as answer:
        return answer.read(), answer.headers["Content-Type"]


def parse(text):
    """{name: [(labels, value), …]}, without the prefix."""
    samples = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = re.fullmatch(r"mtrace_bpf_(\w+)(?:\{(.*)\})? ([-+.\d]+)",
                                           line).groups()
        labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ""))
        samples.setdefault(name, []).append((labels, float(value)))
    return samples


def one(samples, name, **labels):
    """The value of the only series with these labels."""
    value, = (value for of, value in samples[name]
              if all(of.get(key) == label for key, label in labels.items()))
    return value


def metrics(address, **more):
    return parse(get(address, **more)[0].decode())


def worked(address, pid, truth):
    """The metrics, once they include everything that the target did."""
    now = time.time()
    # Allocations from before the attach are not counted.
    sites = [site for site in truth["sites"] if site["api"] != "mmap"
             and site["function"] != "t_old"]

    def complete(found):
        return "allocations_total" in found and one(found, "snapshot_timestamp_seconds") > now \
            and all(one(found, f"{key}_total", pid=str(pid)) == sum(site[key] for site in sites)
                    for key in ("allocations", "frees"))
    return until(lambda: complete(found := metrics(address)) and found)


def assert_equal(samples, process):
    """The metrics equal the process's section of the JSON report."""
    mine = {"pid": str(process["pid"]), "comm": process["comm"]}
    for name, (group, key) in TOTALS.items():
        assert one(samples, name, **mine) == process[group][key], name
    for kind in ("events", "stacks", "truncated_stacks", "unmatched_frees", "missed_returns",
                 "unprobed_sites"):
        assert one(samples, "losses_total", kind=kind, **mine) == process["losses"][kind]
    heap = [site for site in process["sites"] if not site["api"].startswith("mmap")]
    for name, key in OF_SITES.items():
        of_sites = [(labels, value) for labels, value in samples[name]
                    if labels["pid"] == mine["pid"]]
        assert sum(value for _, value in of_sites) == sum(site[key] for site in heap), name
        for labels, value in of_sites:
            if labels["site"] != "other":
                site, = (site for site in heap if str(site["id"]) == labels["site"])
                assert value == site[key] and labels["api"] == site["api"]
    assert one(samples, "allocation_size_bytes_count", **mine) \
        == one(samples, "allocation_size_bytes_bucket", le="+Inf", **mine) \
        == process["totals"]["allocations"]
    assert one(samples, "allocation_size_bytes_sum", **mine) \
        == process["totals"]["bytes_allocated"]


@pytest.fixture(name="watch")
def fixture_watch(tmp_path):
    """watch(option…): a steady target, its tracer, and the address of the metrics."""
    with contextlib.ExitStack() as stack:
        def watch(*options, where="0"):
            need("uprobes")
            steady = stack.enter_context(Steady())
            tracer = stack.enter_context(Tracer(str(tmp_path), steady.pid,
                                                options=["--prometheus", where, *options]))
            return steady, tracer, address_of(tracer)
        yield watch


def promtool(text):
    need("prometheus")
    return subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                          check=False)


def test_metrics_equal_the_report(watch):
    steady, tracer, address = watch("--prometheus-sites", "2")
    found = worked(address, steady.pid, steady.tell("w"))
    assert one(found, "process_running") == one(found, "traced_processes") == 1
    assert one(found, "build_info") == 1
    sites = {labels["site"]: labels for labels, _ in found["site_live_bytes"]}
    assert len(sites) == 3 and "other" in sites and "function" not in sites["other"]
    assert any(labels.get("function") == "t_kept" and labels["module"] == "steady"
               for labels in sites.values())
    assert_equal(found, tracer.stop().document["processes"][0])


def test_promtool_accepts_the_metrics(watch):
    _, _, address = watch("--sanity")
    done = promtool(get(address)[0])
    assert done.returncode == 0 and done.stdout == done.stderr == b""


def test_negotiation(watch):
    _, _, address = watch()
    text, kind = get(address)
    assert kind == "text/plain; version=0.0.4; charset=utf-8"
    assert b"# TYPE mtrace_bpf_frees_total counter\n" in text and b"# EOF" not in text
    text, kind = get(address, headers={"Accept": OPENMETRICS + ";q=0.6,text/plain;q=0.5"})
    assert kind == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert b"# TYPE mtrace_bpf_frees counter\n" in text and text.endswith(b"\n# EOF\n")
    assert b"\nmtrace_bpf_frees_total{" in text
    assert get(address, headers={"Accept": OPENMETRICS + ";q=0.1,text/plain"})[1] \
        .startswith("text/plain")


def test_pages(watch):
    _, _, address = watch()
    assert get(address, "/healthz")[0] == b"ok\n"
    text, kind = get(address, "/")
    assert kind.startswith("text/html") and b"/debug/pprof/heap" in text
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(address, "/etc/passwd")
    assert caught.value.code == 404
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(address + "/metrics", data=b"x" * 100000,
                               timeout=harness.TIMEOUT)
    assert caught.value.code == 405


@contextlib.contextmanager
def prometheus(directory, address):
    """A Prometheus server that scrapes our metrics. Yields its address."""
    need("prometheus")
    config = os.path.join(directory, "prometheus.yml")
    with open(config, "w", encoding="utf-8") as file:
        file.write("global: {scrape_interval: 1s, scrape_timeout: 1s}\n"
                   "scrape_configs: [{job_name: test, static_configs: [{targets: "
                   f"[\"{urllib.parse.urlsplit(address).netloc}\"]}}]}}]\n")
    with socket.create_server(("127.0.0.1", 0)) as place:
        port = place.getsockname()[1]
    server = subprocess.Popen(["prometheus", f"--config.file={config}",
                               f"--storage.tsdb.path={directory}/data",
                               f"--web.listen-address=127.0.0.1:{port}"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, cwd=directory)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(harness.TIMEOUT)


def query(server, words):
    """The server's answer: [(labels, value), …], or None if it does not answer yet."""
    try:
        text, _ = get(server, "/api/v1/query?" + urllib.parse.urlencode({"query": words}))
    except (urllib.error.URLError, ConnectionError):
        return None
    return [(entry["metric"], float(entry["value"][1]))
            for entry in json.loads(text)["data"]["result"]]


def test_prometheus_server(watch, tmp_path):
    steady, tracer, address = watch("--prometheus-sites", "3")
    with prometheus(str(tmp_path), address) as server:
        found = worked(address, steady.pid, steady.tell("w"))
        wanted = one(found, "allocations_total")
        until(lambda: query(server, f"mtrace_bpf_allocations_total == {wanted}"))
        answers = {name: query(server, f"mtrace_bpf_{name}") for name in found}
        top, = query(server, "topk(1, mtrace_bpf_site_live_bytes)")
        half, = query(server, "histogram_quantile(0.5, mtrace_bpf_allocation_size_bytes_bucket)")
        up, = query(server, "up")
    process, = tracer.stop().document["processes"]
    assert_equal(answers, process)
    assert up[1] == 1
    best = max((site for site in process["sites"] if not site["api"].startswith("mmap")),
               key=lambda site: site["live_bytes"])
    assert top[1] == best["live_bytes"] and top[0]["site"] == str(best["id"])
    assert 16 <= half[1] <= 1024


def test_metrics_file_of_exited_program(tmp_path):
    """The file has the final metrics of an exited program, with the leaks that are in the
    report."""
    need("uprobes")
    path = tmp_path / "leak.prom"
    result = harness.launch(str(tmp_path), target("leak"),
                            options=["--scan", "--prometheus-file", str(path)])
    assert result.status == 0, result.stderr
    text = path.read_text()
    done = promtool(text.encode())
    assert done.returncode == 0 and done.stdout == done.stderr == b""
    found, process = parse(text), result.document["processes"][0]
    assert_equal(found, process)
    assert one(found, "process_running") == one(found, "traced_processes") == 0
    for name in ("definite", "indirect", "possible", "stack_only", "reachable", "unknown"):
        for unit in ("blocks", "bytes"):
            assert one(found, f"leaked_{unit}", **{"class": name}) == process["scan"][name][unit]
    assert one(found, "leaked_blocks", **{"class": "definite"}) > 0
    assert sum(value for labels, value in found["site_leaked_bytes"]
               if labels["class"] == "definite") == process["scan"]["definite"]["bytes"]
    assert abs(one(found, "scan_last_timestamp_seconds") - time.time()) < 3600
    assert one(found, "scan_duration_seconds") >= one(found, "scan_pause_seconds") > 0
    assert os.listdir(tmp_path) == ["report.json", "leak.prom"] \
        or os.listdir(tmp_path) == ["leak.prom", "report.json"]


@pytest.mark.parametrize("interval", [(), ("--interval", "100ms")])
def test_unwritable_metrics_file_is_a_failure(tmp_path, interval):
    """One message, however often the write fails, and the program's own status does not hide it."""
    need("uprobes")
    done = harness.mtrace(*harness.BACKEND_OPTIONS, "-q", *interval, "--prometheus-file", "/dev/full",
                          "-o", str(tmp_path / "report"), "/bin/sh", "-c", "sleep 0.5")
    assert done.status == 1 and harness.one_line(done.stderr), done.stderr
    assert "cannot write" in done.stderr and "No space left on device" in done.stderr
    assert (tmp_path / "report").stat().st_size


def test_metrics_file_is_updated_while_running(tmp_path):
    need("uprobes")
    path = tmp_path / "steady.prom"
    with Steady() as steady, \
            Tracer(str(tmp_path), steady.pid, options=["--prometheus-file", str(path),
                                                       "--interval", "200ms"]):
        until(path.exists)
        steady.tell("w")
        until(lambda: one(parse(path.read_text()), "allocations_total") > 100)


def pprof(*words):
    need("go")
    environment = {**os.environ, "GOCACHE": "off"}
    return subprocess.run(["go", "tool", "pprof", "-unit=byte", *words], capture_output=True,
                          text=True, check=True, env=environment).stdout


def test_pprof_reads_profiles(watch, tmp_path, monkeypatch):
    monkeypatch.setenv("PPROF_TMPDIR", str(tmp_path))
    steady, tracer, address = watch()
    worked(address, steady.pid, steady.tell("w"))
    heap = pprof("-top", address + "/debug/pprof/heap")
    allocs = pprof("-top", address + "/debug/pprof/allocs")
    process, = tracer.stop().document["processes"]
    assert "Type: inuse_space\n" in heap and "Type: alloc_space\n" in allocs
    assert re.search(r" t_kept( \(inline\))?$", heap, re.MULTILINE)
    for text, key in ((heap, "live_bytes"), (allocs, "bytes_allocated")):
        assert f" of {sum(site[key] for site in process['sites'])}B total" in text


# Misbehaving clients.

def connect(address, source="127.0.0.1"):
    where = urllib.parse.urlsplit(address)
    return socket.create_connection((where.hostname, where.port), harness.TIMEOUT, (source, 0))


def resident(pid):
    return int(harness.status(pid)["VmRSS"].split()[0]) * 1024


def test_thousand_slow_clients_cost_little(watch):
    """Each sends half a request. They cost little memory, and the trace is not disturbed."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit < 2000:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4000, most), most))
    steady, tracer, address = watch()
    get(address)
    before = resident(tracer.process.pid)
    with contextlib.ExitStack() as stack:
        for _ in range(1000):
            stack.enter_context(connect(address)).sendall(b"GET /metrics HTTP/1.1\r\nX: ")
        truth = steady.tell("w")
        assert resident(tracer.process.pid) - before < 16 << 20
    found = worked(address, steady.pid, truth)
    assert_equal(found, tracer.stop().document["processes"][0])
    assert one(found, "lost_events_total") == 0


def test_slow_clients_are_disconnected(watch):
    """A well-behaved client gets an answer although all connections are in use."""
    _, _, address = watch()
    with contextlib.ExitStack() as stack:
        for _ in range(128):
            stack.enter_context(connect(address)).sendall(b"GET / HTTP/1.1\r\nX: ")
        assert b"mtrace_bpf_live_bytes" in get(address)[0]


def test_clients_that_never_read_cost_little(watch):
    _, tracer, address = watch()
    size = len(get(address)[0])
    before = resident(tracer.process.pid)
    with contextlib.ExitStack() as stack:
        for _ in range(128):
            connection = stack.enter_context(connect(address))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert b"mtrace_bpf_live_bytes" in get(address)[0]
        assert resident(tracer.process.pid) - before < 16 * size + (16 << 20)


def test_flood_from_one_address(watch):
    """Neither complete nor incomplete requests of one address delay another."""
    _, _, address = watch()
    with contextlib.ExitStack() as stack:
        slow = stack.enter_context(connect(address, "127.0.0.3"))
        slow.sendall(b"GET /healthz HTTP/1.1\r\n")
        for text in (b"GET / HTTP/1.1\r\nX: ", b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"):
            for _ in range(300):
                flood = stack.enter_context(connect(address, "127.0.0.2"))
                with contextlib.suppress(ConnectionError):
                    flood.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
                    flood.sendall(text)
            begin = time.monotonic()
            assert b"mtrace_bpf_live_bytes" in get(address)[0]
            assert time.monotonic() - begin < 4
        slow.sendall(b"Host: 127.0.0.1\r\n\r\n")
        assert answer_to(slow).endswith(b"\r\n\r\nok\n")


NONSENSE = (
    b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 1000000 + b"\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\n" + b"A: b\r\n" * 100000 + b"\r\n",
    b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500,
    b"\r\n" * 1000, b"GET\0/metrics HTTP/1.1\r\n\r\n", b"get /metrics HTTP/9.9\r\n\r\n",
    b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"POST /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
)


def answer_to(connection):
    answer = b""
    with contextlib.suppress(ConnectionError):
        while more := connection.recv(65536):
            answer += more
    return answer


def test_invalid_requests_are_refused(watch):
    _, tracer, address = watch()
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(connect(address)) for _ in NONSENSE]
        for connection, text in zip(connections, NONSENSE):
            with contextlib.suppress(OSError):
                connection.sendall(text)
                connection.shutdown(socket.SHUT_WR)
        for connection in connections:
            assert b" 200 " not in answer_to(connection).split(b"\r\n")[0]
    assert b"mtrace_bpf_live_bytes" in get(address)[0]
    assert tracer.stop().status == 0


# Access control.

def refusal(address, headers, path="/metrics", source="127.0.0.1"):
    """The status, the headers and the text of an answer."""
    where = urllib.parse.urlsplit(address)
    connection = http.client.HTTPConnection(where.hostname, where.port, harness.TIMEOUT,
                                            (source, 0))
    with contextlib.closing(connection):
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()


def test_other_names_are_refused(watch, tmp_path):
    """A web page cannot read the metrics by pointing its own name to this machine."""
    _, _, address = watch()
    port = address.rsplit(":", 1)[1]
    for host in ("127.0.0.1", f"127.0.0.1:{port}", f"[::1]:{port}", f"localhost:{port}",
                 "10.1.2.3", f"{socket.gethostname()}:{port}"):
        assert refusal(address, {"Host": host})[0] == 200, host
    for host in ("evil.example", f"evil.example:{port}", "localhost.evil.example", "", "[::1"):
        status, _, text = refusal(address, {"Host": host})
        assert status == 421 and b"--prometheus-host NAME" in text, host
        assert text.count(b"\n") == 1
    with contextlib.closing(connect(address)) as old:
        old.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        assert b" 200 " in answer_to(old).split(b"\r\n")[0]


def test_other_names_can_be_added(watch):
    """A service name needs no address on this machine."""
    _, _, address = watch("--prometheus-host", "mtrace.monitoring.svc,my_alias")
    for host in ("mtrace.monitoring.svc", "my_alias:9740", "MY_ALIAS.", "localhost"):
        assert refusal(address, {"Host": host})[0] == 200, host
    for host in ("monitoring.svc", "my_alias.example", "evil.example"):
        assert refusal(address, {"Host": host})[0] == 421, host
    for names in ("mtrace:9740", "a,", "*.example", "x" * 256):
        run = harness.mtrace("--prometheus", "0", "--prometheus-host", names, "--", "true")
        assert run.status in (1, 125) and harness.one_line(run.stderr), run.stderr
        assert "--prometheus-host" in run.stderr


GOOD = {"Authorization": "Basic YW5uOm9wZW4gc2VzYW1l"}


def password_file(tmp_path):
    """For the credentials in GOOD."""
    path = tmp_path / "secret"
    path.write_text("ann:open sesame\n")
    path.chmod(0o600)
    return str(path)


def test_any_name_with_a_password(watch, tmp_path):
    _, _, address = watch("--prometheus-auth", password_file(tmp_path))
    assert refusal(address, {"Host": "board.example", **GOOD})[0] == 200


def test_guesses_are_slowed_down(watch, tmp_path):
    """Only those from the address that guesses, and only for a while."""
    _, _, address = watch("--prometheus-auth", password_file(tmp_path))
    wrong = {"Authorization": "Basic YW5uOm9wZW4="}
    guesser = {"source": "127.0.0.2"}
    for _ in range(20):
        assert refusal(address, {}, **guesser)[0] == 401  # no guess
    for _ in range(5):
        assert refusal(address, wrong, **guesser)[0] == 401
    while (answer := refusal(address, wrong, **guesser))[0] != 429:
        assert answer[0] == 401  # the wait was over; the next one is longer
    assert int(answer[1]["Retry-After"]) > 0 and b"wrong passwords" in answer[2]
    assert refusal(address, {}, "/healthz", **guesser)[0] == 200
    assert refusal(address, GOOD)[0] == 200
    until(lambda: refusal(address, GOOD, **guesser)[0] == 200)


def test_password(watch, tmp_path):
    _, _, address = watch("--prometheus-auth", password_file(tmp_path))
    assert b"mtrace_bpf_live_bytes" in get(address, headers=GOOD)[0]
    assert get(address, "/healthz")[0] == b"ok\n"
    for headers in ({}, {"Authorization": "Basic YW5uOm9wZW4="}, {"Authorization": "Basic !"},
                    {"Authorization": "Bearer x"}):
        for page in ("/metrics", "/debug/pprof/heap", "/", "/nothing"):
            with pytest.raises(urllib.error.HTTPError) as caught:
                get(address, page, headers=headers)
            assert caught.value.code == 401
            assert caught.value.headers["WWW-Authenticate"].startswith("Basic ")


@pytest.mark.parametrize("text, mode, words", [
    ("ann:x\n", 0o644, "other users can read"),
    ("ann\n", 0o600, "no line of the form user:password"),
    ("", 0o600, "no line of the form user:password"), (None, 0, "No such file")])
def test_bad_password_file(tmp_path, text, mode, words):
    need("uprobes")
    path = tmp_path / "secret"
    if text is not None:
        path.write_text(text)
        path.chmod(mode)
    run = harness.mtrace("--prometheus", "0", "--prometheus-auth", str(path), "--", "true")
    assert run.status == 1 and harness.one_line(run.stderr) and words in run.stderr


def test_tls(watch, tmp_path):
    cert, key = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", cert,
                    "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
                   check=True, capture_output=True)
    _, _, address = watch("--prometheus-tls", f"{cert},{key}")
    assert address.startswith("https://")
    context = ssl.create_default_context(cafile=cert)
    assert b"mtrace_bpf_live_bytes" in get(address, context=context)[0]
    with pytest.raises(urllib.error.URLError):
        get(address)
    with pytest.raises((urllib.error.URLError, http.client.HTTPException, ConnectionError)):
        get(address.replace("https", "http"))
    assert b"mtrace_bpf_live_bytes" in get(address, context=context)[0]


def test_addresses(watch):
    assert watch(where="[::1]:0")[2].startswith("http://[::1]:")
    assert watch(where="localhost:0")[2].startswith(("http://[::1]:", "http://127."))
    _, tracer, _ = watch(where="0.0.0.0:0")
    assert any("anyone who can connect can read" in line for line in tracer.log)
    for where in ("127.0.0.1", "unix:/tmp/x", "localhost:http", "127.0.0.1:99999"):
        run = harness.mtrace("--prometheus", where, "--", "true")
        assert run.status in (1, 125) and harness.one_line(run.stderr), run.stderr


def test_metrics_options_need_a_running_trace(tmp_path):
    for words in (("report", "--prometheus", "0", "x"), ("diff", "--prometheus-file", "x", "a", "b"),
                  ("--prometheus-tls", "a,b", "--", "true"),
                  ("--prometheus-host", "a", "--", "true")):
        run = harness.mtrace(*words, cwd=tmp_path)
        assert run.status == 2 and "prometheus" in run.stderr


def test_metrics_of_serve_and_connect_agree(tmp_path):
    """Both the server and the connected client offer metrics, and they agree."""
    need("uprobes")
    where = f"unix:{tmp_path}/socket"
    with Steady() as steady, contextlib.ExitStack() as stack:
        def start(*words, address=None):
            process = stack.enter_context(subprocess.Popen(
                [harness.MTRACE, *words, "--prometheus", "0", *([address] if address else [])],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
            stack.callback(process.kill)
            for line in process.stderr:
                if "metrics at " in line:
                    return line.split("metrics at ")[1].split("/metrics")[0]
            return pytest.fail("it serves none")
        server = start("serve", *harness.BACKEND_OPTIONS, "--listen", where,
                       "-p", str(steady.pid))
        client = start("connect", "-o", str(tmp_path / "report"), address=where)
        until(lambda: one_if(server, "traced_processes") and one_if(client, "traced_processes"))
        truth = steady.tell("w")
        here, there = (worked(address, steady.pid, truth) for address in (client, server))
        for name in TOTALS:
            assert one(here, name) == one(there, name)


def one_if(address, name):
    """The value, or 0 while the client has no data yet (503)."""
    try:
        return one(metrics(address), name)
    except urllib.error.HTTPError as error:
        assert error.code == 503
        return 0
