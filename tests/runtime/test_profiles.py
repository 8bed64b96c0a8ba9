# SPDX-License-Identifier: GPL-2.0-or-later
"""Exports for other programs: pprof profiles and folded stacks equal the JSON report of the same
trace."""

import json
import os
import re
import subprocess

import pytest

import harness
from harness import target
from machine import need

SAMPLE_TYPES = {"alloc_objects": "allocations", "alloc_space": "bytes_allocated",
                "inuse_objects": "live_blocks", "inuse_space": "live_bytes"}
CLASSES = ("definite", "indirect", "possible", "stack_only", "reachable", "unknown")


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """One trace in all formats: the process of the JSON report, and the paths of the pprof and
    folded files. The pprof-text file is next to them."""
    folder = tmp_path_factory.mktemp("profiles")
    paths = {form: str(folder / form) for form in ("json", "pprof", "folded", "pprof-text")}
    forms = [word for form, path in paths.items() for word in ("--format", f"{form}={path}")]
    done = subprocess.run([harness.MTRACE, *harness.BACKEND_OPTIONS, *forms, "--scan", "--",
                           target("leak")], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=harness.TIMEOUT)
    assert done.returncode == 0, done.stderr
    with open(paths["json"], encoding="utf-8") as file:
        process, = json.load(file)["processes"]
    return process, paths["pprof"], paths["folded"]


def pprof(path, *options):
    need("go")
    environment = {**os.environ, "PPROF_TMPDIR": os.path.dirname(path), "GOCACHE": "off"}
    return subprocess.run(["go", "tool", "pprof", "-unit=byte", *options, path],
                          capture_output=True, text=True, check=True, env=environment).stdout


def raw_samples(path):
    """(values, location IDs, labels) of each sample, as pprof prints them."""
    text = pprof(path, "-raw").split("Samples:\n")[1].split("Locations\n")[0]
    samples = []
    for line in text.splitlines()[1:]:
        found = re.match(r"((?: *\d+)+): ([\d ]*)$", line)
        if found:
            samples.append(([int(word) for word in found[1].split()], found[2].split(), {}))
        else:
            samples[-1][2].update(re.findall(r"(\w+):\[(.*?)\]", line))
    return samples


def test_profile_sums_equal_the_report(reports):
    process, path, _ = reports
    samples = raw_samples(path)
    for i, key in enumerate(SAMPLE_TYPES.values()):
        assert sum(values[i] for values, _, _ in samples) \
            == sum(site[key] for site in process["sites"])


def test_leak_classes_are_labels(reports):
    process, path, _ = reports
    sums = {name: [0, 0] for name in CLASSES}
    for values, _, labels in raw_samples(path):
        if "leak" in labels:
            sums[labels["leak"]][0] += values[2]
            sums[labels["leak"]][1] += values[3]
    assert sums == {name: [process["scan"][name]["blocks"], process["scan"][name]["bytes"]]
                    for name in CLASSES}
    assert sums["definite"][0] > 0


def test_profile_has_names_and_lines(reports):
    process, path, _ = reports
    top = pprof(path, "-top", "-lines")
    assert "File: leak\n" in top and "Type: inuse_space\n" in top
    worst = max(process["sites"], key=lambda site: site["live_bytes"])
    first = process["stacks"][worst["stack"]]["frames"][0]
    shown = f"{first['function']} {first['file']}:{first['line']} (inline)"
    lines = [line for line in top.splitlines() if line.endswith(shown)]
    assert lines and lines[0].split()[0] == f"{worst['live_bytes']}B"
    assert process["stacks"][0]["frames"][-1]["build_id"] in pprof(path, "-raw")


def test_one_leak_class_is_selected(reports):
    """A user would look at the definite leaks next."""
    process, path, _ = reports
    top = pprof(path, "-top", "-tagfocus=leak=definite")
    assert re.search(rf"^Showing .* of {process['scan']['definite']['bytes']}B total|"
                     rf"accounting for {process['scan']['definite']['bytes']}B", top, re.MULTILINE)


def google_pprof(path, *options):
    """The totals of gperftools' pprof, which reads only the text format: the sum, and the amount by
    function."""
    need("google-pprof")
    text = subprocess.run(["google-pprof", "--text", *options, target("leak"), path],
                          capture_output=True, text=True, check=True,
                          stdin=subprocess.DEVNULL, timeout=harness.TIMEOUT).stdout
    total, = re.findall(r"^Total: (\d+) objects$", text, re.MULTILINE)
    rows = re.findall(r"^ *(\d+) +[\d.]+% +[\d.]+% +\d+ +[\d.]+% (.+)$", text, re.MULTILINE)
    return int(total), {name: int(number) for number, name in rows if int(number)}


@pytest.mark.parametrize("option, key", [("--inuse_objects", "live_blocks"),
                                         ("--alloc_objects", "allocations")])
def test_google_pprof(reports, option, key):
    process, path, _ = reports
    total, places = google_pprof(path + "-text", option, "--lines")
    assert total == sum(places.values()) == sum(site[key] for site in process["sites"])
    truth = {}
    for site in process["sites"]:
        frame = process["stacks"][site["stack"]]["frames"][0]
        if os.path.basename(frame["file"]) == "leak.c":
            name = f"{frame['function']} leak.c:{frame['line']}"
            truth[name] = truth.get(name, 0) + site[key]
    told = {}
    for name, number in places.items():
        function, place = name.replace(" (inline)", "").rsplit(" ", 1)
        told[f"{function} {os.path.basename(place)}"] = number
    assert len(truth) > 3
    for name, number in truth.items():
        assert told.get(name, 0) == number, (name, places)


def test_go_reads_the_text_profile(reports):
    process, path, _ = reports
    assert sum(values[3] for values, _, _ in raw_samples(path + "-text")) \
        == sum(site["live_bytes"] for site in process["sites"])


def test_folded_stacks(reports):
    process, _, path = reports
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").rsplit(" ", 1) for line in file]
    assert sum(int(number) for _, number in rows) \
        == process["live"]["bytes"] + process["mappings"]["bytes"]
    frames = [stack.split(";") for stack, _ in rows]
    assert all(row[0] == "leak" for row in frames)
    assert any(row[-2:] == ["remember_session_[i]", "calloc"] for row in frames)
