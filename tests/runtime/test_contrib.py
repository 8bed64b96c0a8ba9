# SPDX-License-Identifier: GPL-2.0-or-later
"""The files in contrib/ are valid for the programs that read them, and everything that they refer
to exists."""

import glob
import json
import os
import re
import shutil
import signal
import subprocess

import pytest
import yaml

import harness
from harness import Deadline, Steady
from machine import need
from report import ROOT

CONTRIB = os.path.join(ROOT, "contrib")
PAGES = ("/metrics", "/debug/pprof/heap", "/debug/pprof/allocs", "/healthz")


def text_of(name):
    with open(os.path.join(CONTRIB, name), encoding="utf-8") as file:
        return file.read()


def known_metrics():
    """The metrics in the golden files of the unit tests, and the labels of each."""
    known = {}
    for path in glob.glob(os.path.join(ROOT, "tests/golden/*.prom")):
        with open(path, encoding="utf-8") as file:
            for name, labels in re.findall(r"^(mtrace_bpf_\w+)(\{.*\})?", file.read(),
                                           re.MULTILINE):
                known.setdefault(name, set()).update(re.findall(r'(\w+)="', labels))
    return known


def assert_known(expression):
    known = known_metrics()
    used = re.findall(r"(mtrace_bpf_\w+)(?:\{([^}]*)\})?", expression)
    assert used, expression
    for name, labels in used:
        assert name in known, name
        assert set(re.findall(r"(\w+)[=!]~?", labels)) <= known[name], expression


def test_dashboard():
    board = json.loads(text_of("grafana-dashboard.json"))
    assert board["uid"] and board["title"] and board["schemaVersion"] >= 37
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = set()
    for panel in panels:
        grid = panel["gridPos"]
        cells = {(x, y) for x in range(grid["x"], grid["x"] + grid["w"])
                 for y in range(grid["y"], grid["y"] + grid["h"])}
        assert grid["x"] + grid["w"] <= 24 and not cells & taken, panel["title"]
        taken |= cells
        assert panel["title"] and panel["type"] and panel["targets"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        for query in panel["targets"]:
            assert query["refId"]
            assert_known(query["expr"])
    variables = board["templating"]["list"]
    for variable in variables:
        if variable["type"] == "query":
            assert_known(variable["query"]["query"])
    names = {variable["name"] for variable in variables}
    for name in re.findall(r"\$\{?(\w+)", json.dumps(panels)):
        assert name in names | {"__rate_interval"}


def test_prometheus_accepts_the_configuration():
    need("prometheus")
    done = subprocess.run(["promtool", "check", "config", os.path.join(CONTRIB, "prometheus.yml")],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for group in yaml.safe_load(text_of("mtrace-bpf.rules.yml"))["groups"]:
        for rule in group["rules"]:
            assert_known(rule["expr"])
            summary = rule["annotations"]["summary"]
            labels = set().union(*(known_metrics()[name] for name in
                                   re.findall(r"mtrace_bpf_\w+", rule["expr"])))
            assert set(re.findall(r"\$labels\.(\w+)", summary)) <= labels


def test_profile_collectors_scrape_known_paths():
    job, = yaml.safe_load(text_of("parca.yaml"))["scrape_configs"]
    kinds = job["profiling_config"]["pprof_config"]
    assert [kind["path"] for kind in kinds.values() if kind["enabled"]] == ["/debug/pprof/heap"]
    alloy = text_of("pyroscope.alloy")
    assert alloy.count("{") == alloy.count("}")
    assert all(path in PAGES for path in re.findall(r'path\s*= "(.*)"', alloy))


def capabilities():
    line = re.search(r"^CapabilityBoundingSet=(.*)$", text_of("mtrace-bpf.service"), re.MULTILINE)
    return [name.removeprefix("CAP_").lower() for name in line[1].split()]


def test_daemon_set():
    document = yaml.safe_load(text_of("kubernetes.yaml"))
    assert document["kind"] == "DaemonSet" and document["apiVersion"] == "apps/v1"
    pod = document["spec"]["template"]
    assert document["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    container, = pod["spec"]["containers"]
    assert [name.lower() for name in container["securityContext"]["capabilities"]["add"]] \
        == capabilities()
    assert {mount["name"] for mount in container["volumeMounts"]} \
        == {volume["name"] for volume in pod["spec"]["volumes"]}
    assert container["livenessProbe"]["httpGet"]["path"] in PAGES
    for word in container["args"]:
        name = word.removeprefix("--").split("=")[0]
        assert f"--{name}" in harness.mtrace("--help").stdout


def test_unit_is_valid(tmp_path):
    if not shutil.which("systemd-analyze"):
        pytest.skip("needs systemd")
    path = tmp_path / "mtrace-bpf.service"
    path.write_text(text_of("mtrace-bpf.service").replace("/usr/local/bin/mtrace-bpf",
                                                          harness.MTRACE))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", str(path)],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr


def has(steady, names, path):
    """Whether these capabilities are enough to trace and scan a process of another user whose
    executable is unreadable for others."""
    bounds = ",".join(["-all", *("+" + name for name in names)])
    with subprocess.Popen(["setpriv", "--bounding-set", bounds, "--no-new-privs", harness.MTRACE,
                           "--backend", "bpf", "--scan", "--format", "json", "-o", path, "-p",
                           str(steady.pid)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True) as tracer:
        deadline = Deadline(tracer)
        traced = any("tracing " in line and "^C" in line for line in tracer.stderr)
        if traced:
            steady.tell("w")
            tracer.send_signal(signal.SIGINT)
        tracer.communicate()
        deadline.cancel()
    if not traced or tracer.returncode:
        return False
    with open(path, encoding="utf-8") as file:
        process, = json.load(file)["processes"]
    functions = {frame["function"] for stack in process["stacks"] for frame in stack["frames"]}
    return process["scan"]["done"] and "t_kept" in functions


def test_capabilities_of_the_unit_are_sufficient_and_necessary(tmp_path):
    """The capabilities are sufficient, and each of them is necessary."""
    need("bpf", "uprobes", "setpriv")
    place = tmp_path / "place"
    place.mkdir()
    shutil.copy(harness.target("steady"), place)
    for path in (place / "steady", place):
        os.chown(path, 65534, 65534)
        path.chmod(0o700)
    for directory in (tmp_path, *tmp_path.parents):
        if directory.stat().st_uid == os.geteuid() and str(directory).startswith("/tmp/"):
            directory.chmod(directory.stat().st_mode | 0o011)
    names = capabilities()
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
               str(place / "steady"), "1"]
    with Steady(command=command) as steady:
        assert has(steady, names, str(tmp_path / "all.json"))
        for name in names:
            fewer = [other for other in names if other != name]
            assert not has(steady, fewer, str(tmp_path / f"{name}.json")), name
