# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads and checks a JSON report, and compares it with the truth that a target prints."""

import collections
import json
import os
import re

import fastjsonschema

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))

with open(os.path.join(ROOT, "docs/report.schema.json"), encoding="utf-8") as schema_file:
    conforms = fastjsonschema.compile(json.load(schema_file))

COUNTS = ("allocations", "frees", "bytes_allocated", "live_blocks", "live_bytes",
          "failed_allocations")
MAP_APIS = ("mmap", "mremap", "mmap (libc)")
LEAK_CLASSES = ("definite", "indirect", "possible", "stack_only", "reachable", "unknown")
LOST = ("events", "stacks", "missed_returns", "unprobed_sites", "gap_ns")


def plain(function):
    """A function's name without its parameters."""
    return re.sub(r"\(.*", "", function or "")


class Process:
    """One process image of a report."""

    def __init__(self, data):
        self.data = data
        self.stacks = {stack["id"]: stack for stack in data["stacks"]}

    def __getitem__(self, name):
        return self.data[name]

    def frames(self, site):
        stack = self.stacks.get(site["stack"])
        return stack["frames"] if stack else []

    def functions(self, site):
        return [plain(frame["function"]) for frame in self.frames(site)]

    def function(self, site):
        """The caller of the allocator. operator new and its variants count as the allocator."""
        for name in self.functions(site):
            if not name.startswith("operator new"):
                return name
        return ""

    def sums(self, key, wanted=lambda site: True):
        """The counts of all wanted sites, summed by key(site)."""
        sums = collections.defaultdict(lambda: dict.fromkeys(COUNTS, 0))
        for site in self["sites"]:
            if wanted(site):
                for name in COUNTS:
                    sums[key(site)][name] += site[name]
        return dict(sums)

    def heap(self):
        """The counts of the malloc and new families."""
        sums = self.sums(lambda site: "heap", lambda site: site["api"] not in MAP_APIS)
        return sums.get("heap", dict.fromkeys(COUNTS, 0))

    def calls_told(self):
        """The number of allocations and frees that the report accounts for, counted or dropped,
        each once. A free whose allocation was dropped is in no total. If a free was dropped, the
        block ends with the next allocation at its address: that free is both in the totals and
        among the dropped events."""
        losses, totals = self["losses"], self["totals"]
        return (totals["allocations"] + totals["frees"] + losses["events"] +
                losses["unmatched_frees"] - losses["collisions"])

    def lost(self):
        return {name: self["losses"][name] for name in LOST if self["losses"][name]}


def check_quality(process):
    """The summary of stack quality agrees with the stacks and with the counts of the sites."""
    quality = process["stack_quality"]
    stops = collections.Counter(stack["stop"] for stack in process.stacks.values())
    complete = stops.pop("end", 0)
    assert quality["stacks"] == len(process.stacks)
    assert (quality["complete"], quality["by_reason"]) == (complete, dict(stops))
    assert quality["truncated"] == sum(stack["truncated"] for stack in process.stacks.values())
    assert quality["guessed"] == sum(stack["guessed"] for stack in process.stacks.values())
    assert quality["calls"] == sum(site["allocations"] for site in process["sites"])
    assert quality["complete_calls"] == sum(
        site["allocations"] for site in process["sites"]
        if process.stacks[site["stack"]]["stop"] == "end")


def leak_sum(site, names, unit):
    return sum(site[f"{name}_{unit}"] for name in names)


def check_scan(process):
    """The scan's summary agrees with its sites. A site has no more scanned blocks than live ones,
    unless the process is still running: it may have freed some since the scan."""
    scan, sites = process["scan"], process["sites"]
    for name in (*LEAK_CLASSES, "suppressed"):
        for unit in ("blocks", "bytes"):
            assert sum(site[f"{name}_{unit}"] for site in sites) == scan[name][unit]
    for site in sites:
        everything = leak_sum(site, (*LEAK_CLASSES, "suppressed"), "blocks")
        assert everything <= site["live_blocks"] or not process["exited"]
        assert scan["done"] or not everything
        assert bool(site["suppressed_by"]) == bool(site["suppressed_blocks"])
        assert site["leak_oldest_ns"] <= site["leak_youngest_ns"]
        for example in site["examples"].values():
            assert example["size"] <= site["live_bytes"] or not process["exited"]
            assert (example["resident_bytes"] or 0) + (example["swapped_bytes"] or 0) \
                <= example["size"]
    assert (scan["mode"] is None) != scan["done"]


def check_sites(process):
    """For each site, and for their sums: live = allocated + inherited - freed."""
    inherited = dict.fromkeys(("blocks", "bytes"), 0)
    for site in process["sites"]:
        assert (site["allocations"] + site["inherited_blocks"]
                == site["frees"] + site["live_blocks"])
        assert site["live_bytes"] <= site["peak_live_bytes"]
        if site["api"] not in MAP_APIS:
            inherited["blocks"] += site["inherited_blocks"]
            inherited["bytes"] += site["inherited_bytes"]
    assert inherited == process["inherited"]
    assert process["origin"] == "forked" or not any(inherited.values())
    assert process["other_calls"] == sum(site["allocations"] + site["failed_allocations"]
                                         for site in process["sites"] if site["other"])


def check_sums(data):
    """live = allocated + inherited - freed, for one process or for several together."""
    totals, live, inherited = data["totals"], data["live"], data["inherited"]
    assert live["blocks"] - inherited["blocks"] == totals["allocations"] - totals["frees"]
    assert live["bytes"] - inherited["bytes"] == totals["bytes_allocated"] - totals["bytes_freed"]
    assert live["bytes"] <= totals["peak_live_bytes"]
    assert totals["peak_live_bytes"] <= totals["bytes_allocated"] + inherited["bytes"]


def check(document):
    """What holds for every report: it matches the schema, and its sums agree."""
    conforms(document)
    assert document["dropped_records"] == 0
    check_sums(document["other_processes"])
    for data in document["processes"]:
        process = Process(data)
        heap = process.heap()
        totals, live = data["totals"], data["live"]
        assert heap["allocations"] == totals["allocations"]
        assert heap["frees"] == totals["frees"]
        assert heap["bytes_allocated"] == totals["bytes_allocated"]
        assert heap["failed_allocations"] == totals["failed_allocations"]
        assert heap["live_blocks"] == live["blocks"]
        assert heap["live_bytes"] == live["bytes"]
        check_sums(data)
        check_sites(process)
        check_quality(process)
        check_scan(process)
        maps = [site for site in data["sites"] if site["api"] in ("mmap", "mremap")]
        assert sum(site["live_blocks"] for site in maps) == data["mappings"]["maps"]
        assert sum(site["live_bytes"] for site in maps) == data["mappings"]["bytes"]


def site_name(entry):
    return f"{entry['function']}: {entry['api']}"


def counts_of(entry):
    return {name: entry[name] for name in COUNTS}


def expected(truth, *, key=site_name):
    """A target's truth by site."""
    sums = collections.defaultdict(lambda: dict.fromkeys(COUNTS, 0))
    for entry in truth["sites"]:
        for name in COUNTS:
            sums[key(entry)][name] += entry[name]
    return {name: counts for name, counts in sums.items() if any(counts.values())}


def assert_sites(process, truth, losses=()):
    """The report has exactly the target's counts for every site, and no losses except `losses`."""
    assert {name: n for name, n in process.lost().items() if name not in losses} == {}
    seen = process.sums(lambda site: f"{process.function(site)}: {site['api']}",
                        lambda site: process.function(site).startswith("t_"))
    assert seen == expected(truth)


def difference(after, before):
    """The truth of an interval: the counts at its end minus those at its beginning."""
    old = {site_name(entry): entry for entry in before["sites"]}
    sites = []
    for entry in after["sites"]:
        then = old.get(site_name(entry), dict.fromkeys(COUNTS, 0))
        sites.append({**entry, **{name: entry[name] - then[name] for name in COUNTS}})
    return {**after, "sites": sites}
