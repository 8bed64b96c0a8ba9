#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Check JSON reports against docs/report.schema.json: the files named, or the golden ones.

The schema says what a report looks like; that names lead somewhere is checked here: every site's
stack is in the report, and ids are unique. A schema that lets everything pass is worth nothing, so
spoilt copies of each report must fail.
"""
import copy
import json
import pathlib
import sys

try:
    import jsonschema
except ImportError:
    sys.exit("check_schema.py: python3-jsonschema is missing (apt install python3-jsonschema)")

HERE = pathlib.Path(__file__).resolve().parent
SCHEMA = HERE.parent.parent / "docs" / "report.schema.json"


def first_process(report):
    return report["processes"][0]


SPOILERS = {
    "another schema": lambda report: report.update(schema="mtrace-bpf.report/2"),
    "local time": lambda report: report.update(taken_at="2026-01-01T00:00:00+01:00"),
    "no totals": lambda report: first_process(report).pop("totals"),
    "bytes as text": lambda report: first_process(report)["live"].update(bytes="1"),
    "a negative pid": lambda report: first_process(report).update(pid=-1),
    "a scan without classes": lambda report: first_process(report)["scan"].pop("unknown"),
    "a manner of scanning that nobody knows":
        lambda report: first_process(report)["scan"].update(mode="dead"),
    "an address as number": lambda report: first_process(report)["stacks"].append(
        {"id": 99, "frames": [{"address": 1}], "truncated": False, "stop": "end", "guessed": False}),
    "an end that nobody knows": lambda report: first_process(report)["stacks"].append(
        {"id": 99, "frames": [], "truncated": False, "stop": "END", "guessed": False}),
}


def problems_of_links(process):
    for key in ("sites", "stacks"):
        ids = [item["id"] for item in process[key]]
        if len(ids) != len(set(ids)):
            yield f"{key} of {process['pid']}: an id occurs twice"
    stacks = {stack["id"] for stack in process["stacks"]}
    for site in process["sites"]:
        if site["stack"] not in stacks:
            yield f"site {site['id']} of {process['pid']}: no stack {site['stack']}"


def problems_of_quality(process):
    quality = process["stack_quality"]
    if quality["complete"] + sum(quality["by_reason"].values()) != quality["stacks"]:
        yield f"stacks of {process['pid']}: the reasons do not add up"


LEAK_SUMS = ("definite", "indirect", "possible", "reachable", "unknown", "suppressed")


def problems_of_leaks(process):
    """A scan says what its sites say. Of a report made with --top, sites are missing."""
    live = sum(site["live_blocks"] for site in process["sites"])
    if live < process["live"]["blocks"]:
        return
    for name in LEAK_SUMS:
        for unit, total in process["scan"][name].items():
            if sum(site[f"{name}_{unit}"] for site in process["sites"]) != total:
                yield f"scan of {process['pid']}: the {name} {unit} of sites do not add up"


def problems_of(report, validator):
    for error in validator.iter_errors(report):
        yield f"{error.json_path}: {error.message}"
        return
    for process in report["processes"]:
        yield from problems_of_links(process)
        yield from problems_of_quality(process)
        yield from problems_of_leaks(process)


def spoilt_ones_that_pass(report, validator):
    for what, spoil in SPOILERS.items():
        spoilt = copy.deepcopy(report)
        spoil(spoilt)
        if validator.is_valid(spoilt):
            yield f"the schema allows {what}"


def check(path, validator):
    report = json.loads(path.read_text(encoding="utf-8"))
    problems = list(problems_of(report, validator))
    if not problems and report["processes"]:
        problems = list(spoilt_ones_that_pass(report, validator))
    for problem in problems:
        print(f"{path}: {problem}")
    return not problems


def main():
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    paths = [pathlib.Path(name) for name in sys.argv[1:]] or sorted(HERE.glob("*.json"))
    results = [check(path, validator) for path in paths]
    print(f"{sum(results)} of {len(results)} reports conform to {SCHEMA.name}")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
