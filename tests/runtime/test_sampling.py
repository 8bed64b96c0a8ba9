# SPDX-License-Identifier: GPL-2.0-or-later
"""--sample, --min-size and --max-size: estimates are within their bounds, filters are exact.

Tests compare estimates at eight times the standard deviation that the report states, so that no run
fails by chance.
"""

import json
import os
import subprocess

import pytest

import harness
from harness import BACKEND, MTRACE, launch, mtrace, one_line, target
from machine import need
from test_serve import Client, Served, unix

# A ptrace stop takes some hundred times as long as a probe.
CALLS = 60000 if BACKEND == "bpf" else 4000
MANY = 1000000 if BACKEND == "bpf" else 4000
WIDE = 8 / 1.96

TOTALS = {"allocations": ("totals", "allocations"), "bytes_allocated": ("totals", "bytes_allocated"),
          "live_blocks": ("live", "blocks"), "live_bytes": ("live", "bytes")}


@pytest.fixture(name="directory")
def fixture_directory(tmp_path):
    return str(tmp_path)


def data_of(result):
    assert result.status == 0, result.stderr
    data, = result.document["processes"]
    return data


def sums(truth, of=lambda site: True):
    """Sums over all sites, or over the selected ones."""
    return {key: sum(site[key] for site in truth["sites"] if of(site)) for key in TOTALS}


def assert_estimates(data, truth):
    """The truth is within (widened) bounds of each total of the report."""
    assert data["estimate"] is True
    for key, (group, name) in TOTALS.items():
        estimate, bounds = data[group][name], data["sampling"][key]
        assert bounds["low"] <= estimate <= bounds["high"], key
        low = estimate - WIDE * (estimate - bounds["low"])
        high = estimate + WIDE * (bounds["high"] - estimate)
        assert low <= truth[key] <= high, (key, truth[key], estimate, bounds)


def assert_sound(data):
    """Calls that were not sampled leave no trace, and the sums agree exactly."""
    sites = [site for site in data["sites"] if not site["api"].startswith("mmap")]
    losses = data["losses"]
    assert losses["unmatched_frees"] == losses["collisions"] == losses["missed_returns"] == 0
    assert losses["events"] == 0
    assert data["live"]["blocks"] == data["totals"]["allocations"] - data["totals"]["frees"]
    for key, (group, name) in TOTALS.items():
        assert data[group][name] == sum(site[key] for site in sites), key
    assert data["sampling"]["samples"] == sum(site.get("samples", 0) for site in sites)


def test_estimates(launch, pairing):
    result = launch(target("mixed"), str(CALLS), options=("--sample", "4k", *pairing))
    data = data_of(result)
    assert_sound(data)
    assert_estimates(data, sums(result.truth))
    assert 0 < data["sampling"]["samples"] < CALLS
    assert data["sampling"]["mean_bytes"] == 4096


def test_estimates_of_many_calls(launch):
    result = launch(target("mixed"), str(MANY), options=("--sample", "64k"))
    data = data_of(result)
    assert_sound(data)
    assert_estimates(data, sums(result.truth))


def test_estimates_of_each_function(launch):
    """Functions that are called by other allocation functions are sampled once: a second chance
    would count them twice."""
    result = launch(target("mixed"), str(CALLS), options=("--sample", "2k"))
    data = data_of(result)
    for api in {site["api"] for site in result.truth["sites"]}:
        truth = sums(result.truth, lambda site, api=api: site["api"] == api)
        told = sum(site["bytes_allocated"] for site in data["sites"] if site["api"] == api)
        samples = sum(site.get("samples", 0) for site in data["sites"] if site["api"] == api)
        assert samples, api
        assert abs(told - truth["bytes_allocated"]) < 8 * 2048 * (samples ** 0.5 + 8), api


@pytest.mark.parametrize("sample", ["1", "512"])
def test_small_mean_is_nearly_exact(launch, sample):
    """With a mean of one byte, nearly every allocation is sampled."""
    result = launch(target("basic"), options=("--sample", sample))
    data = data_of(result)
    assert_sound(data)
    truth = sums(result.truth)
    slack = int(sample) * 100
    assert abs(data["totals"]["bytes_allocated"] - truth["bytes_allocated"]) <= slack
    assert abs(data["live"]["bytes"] - truth["live_bytes"]) <= slack


def test_sizes(launch):
    result = launch(target("mixed"), "5000", "100", "300",
                    options=("--min-size", "100", "--max-size", "300"))
    data, wanted = data_of(result), result.truth["wanted"]
    assert_sound(data)
    assert data["estimate"] is False
    for key, (group, name) in TOTALS.items():
        assert data[group][name] == wanted[key], key
    # The filtered calls include those of the program's startup.
    filtered = data["sampling"]["filtered_allocations"]
    assert wanted["others"] <= filtered <= wanted["others"] + 20


def test_sizes_and_sample(launch):
    result = launch(target("mixed"), str(CALLS), "200", "60000",
                    options=("--min-size", "200", "--sample", "4k"))
    data, wanted = data_of(result), result.truth["wanted"]
    assert_sound(data)
    assert_estimates(data, wanted)
    assert data["sampling"]["filtered_allocations"] >= wanted["others"]


def test_child_frees_sampled_blocks_of_its_parent(launch):
    """The table of sampled blocks is shared between processes."""
    result = launch(target("forker"), options=("--sample", "1", "-f"))
    assert result.status == 0
    for data in result.document["processes"]:
        assert data["losses"]["unmatched_frees"] == data["losses"]["collisions"] == 0
        assert data["estimate"] is True


def test_allocators_that_call_each_other(launch):
    """Inner calls are not sampled on their own: the sum is that of the outer calls."""
    result = launch(target("ownmalloc"), options=("--sample", "1"))
    data = data_of(result)
    truth = sums(result.truth)
    assert abs(data["totals"]["bytes_allocated"] - truth["bytes_allocated"]) <= \
        truth["bytes_allocated"] / 10 + 100


def test_recording_keeps_sampling_weights(directory):
    need("uprobes")
    path, output = (os.path.join(directory, name) for name in ("trace.rec", "replayed.json"))
    live = data_of(launch(directory, target("mixed"), "5000",
                          options=("--record", path, "--sample", "4k")))
    subprocess.run([MTRACE, "report", "--format", "json", "-o", output, path],
                   capture_output=True, check=True, timeout=harness.TIMEOUT)
    with open(output, encoding="utf-8") as file:
        replayed, = json.load(file)["processes"]
    for key in ("totals", "live", "estimate", "sampling"):
        assert replayed[key] == live[key], key


def served(directory, *command, options=()):
    """The reports of two clients of one server, and the truth. The first client lets the program
    start."""
    need("uprobes")
    with Served("--wait", *options, "--", *command, listen=unix(directory)) as server:
        with Client(directory, server.address) as first:
            first.wait_for("connected")
            with Client(directory, server.address, name="second") as second:
                reports = [first.finish(), second.finish()]
        truth = server.finish().truth
    return [data_of(report) for report in reports], truth


def test_clients_receive_sampling_weights(directory):
    """With a mean of one byte, every allocation is sampled, so the clients' reports equal a local
    trace and the truth."""
    (client, other), truth = served(directory, target("mixed"), "5000", options=("--sample", "1"))
    native = data_of(launch(directory, target("mixed"), "5000", options=("--sample", "1")))
    # The sampled calls include those of the program's startup.
    assert 0 <= client["totals"]["allocations"] - sums(truth)["allocations"] <= 20
    for key in ("totals", "live", "estimate"):
        assert client[key] == other[key] == native[key], key
    sites = [sorted((site["api"], site["allocations"], site["bytes_allocated"],
                     site["live_blocks"], site["live_bytes"], site["samples"])
                    for site in data["sites"] if site.get("samples"))
             for data in (client, other, native)]
    assert sites[0] == sites[1] == sites[2]


def test_estimates_of_a_client(directory):
    (client, other), truth = served(directory, target("mixed"), str(CALLS),
                                    options=("--sample", "4k", "--min-size", "20"))
    assert_sound(client)
    for key in ("totals", "live", "estimate", "sampling"):
        assert client[key] == other[key], key
    assert client["sampling"]["mean_bytes"] == 4096 and client["sampling"]["min_size"] == 20
    small = {key: client["sampling"]["filtered_allocations"] * 20 for key in TOTALS}
    whole = sums(truth)
    for key, (group, name) in TOTALS.items():
        estimate, bounds = client[group][name], client["sampling"][key]
        low = estimate - WIDE * (estimate - bounds["low"])
        high = estimate + WIDE * (bounds["high"] - estimate)
        assert low <= whole[key] <= high + small[key], (key, whole[key], estimate, bounds)


def test_text_states_sampling(directory):
    need("uprobes")
    path = os.path.join(directory, "report.txt")
    result = launch(directory, target("mixed"), "3000",
                    options=("--sample", "4k", "--max-size", "50000", f"--format=text={path}"))
    assert result.status == 0, result.stderr
    with open(path, encoding="utf-8") as file:
        text = " ".join(file.read().split())
    assert "estimated from" in text and "one per 4.0 KiB" in text and "with 95% confidence" in text
    assert "above 48.8 KiB" in text and "not traced" in text


def test_leaks_are_scaled(launch):
    result = launch(target("leak"), options=("--sample", "1", "-a"))
    data = data_of(result)
    assert data["scan"]["done"]
    assert data["scan"]["definite"]["blocks"] > 0
    assert_sound(data)


@pytest.mark.parametrize("option", ["--sample=4k", "--min-size=16", "--max-size=16"])
def test_sampling_excludes_sanity(option):
    result = mtrace("-S", option, "true")
    assert result.status == 2
    assert "--sanity" in result.stderr and one_line(result.stderr)


@pytest.mark.parametrize("options", [("--sample", "0"), ("--sample", "2048g"), ("--min-size", "x"),
                                     ("--min-size", "20", "--max-size", "10")])
def test_invalid_options(options):
    result = mtrace(*options, "true")
    assert result.status == 2
    assert one_line(result.stderr)
