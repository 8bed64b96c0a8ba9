#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What tracing costs: everything side by side in one run, medians and ratios; and whether the
targets are reached.

Parts that fail do not keep the others from being measured; tools that are missing are named.
"""
import argparse
import dataclasses
import inspect
import json
import subprocess
import sys
import time

import calls
import curves
import limits
import peers
import targets
import testbed
import workloads
from measure import Failed


@dataclasses.dataclass
class Scale:
    """How much to measure."""
    rounds: int
    quick: bool

    @property
    def size(self):
        """Factor for the size of long measurements."""
        return 0.1 if self.quick else 1.0

    @property
    def limit(self):
        return 60 if self.quick else 600

    def note(self, text):
        """Shows progress on a terminal."""
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

    def attempt(self, measure, *arguments):
        """A figure, or None after printing the reason."""
        try:
            return measure(*arguments)
        except (Failed, OSError, ValueError, subprocess.SubprocessError) as failure:
            print(f"{measure.__name__}: {failure}", file=sys.stderr)
            return None


# Name: how it is measured, how it is printed, whether it is in a quick run.
PARTS = {
    "pairs": (calls.pairs_part, calls.print_pairs, True),
    "stacks": (calls.stacks_part, calls.print_stacks, True),
    "workloads": (workloads.workloads_part, workloads.print_ratios, True),
    "programs": (workloads.programs_part, workloads.print_ratios, True),
    "births": (calls.births_part, calls.print_rounds, True),
    "traces": (calls.traces_part, calls.print_rounds, False),
    "losses": (limits.losses_part, limits.print_losses, True),
    "capacity": (limits.capacity_part, limits.print_capacity, True),
    "attach": (limits.attach_part, calls.print_rounds, True),
    "report": (limits.report_part, calls.print_rounds, True),
    "depth": (curves.depth_part, curves.print_curve, True),
    "threads": (curves.threads_part, curves.print_curve, True),
    "processes": (curves.processes_part, curves.print_curve, True),
    "blocks": (curves.blocks_part, curves.print_curve, True),
    "sites": (curves.sites_part, curves.print_curve, True),
    "scan-memory": (curves.scan_memory_part, curves.print_curve, True),
    "scan-blocks": (curves.scan_blocks_part, curves.print_curve, True),
    "scan": (calls.output_of("scan_bench"), calls.print_text, False),
    "forks": (calls.output_of("forks"), calls.print_text, False),
    "scrape": (calls.output_of("report", "scrape", "10000"), calls.print_text, False),
}


def part_list(text):
    names = [name for name in text.replace(",", " ").split() if name]
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        raise argparse.ArgumentTypeError(f"{unknown[0]} is not a part; choose from {', '.join(PARTS)}")
    return names


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     epilog="parts: " + ", ".join(PARTS))
    parser.add_argument("--rounds", type=int, help="measurements per figure (5; with --quick 1)")
    parser.add_argument("--quick", action="store_true",
                        help="test the benchmark itself: one round, small sizes, not all parts")
    parser.add_argument("--only", type=part_list, metavar="PART[,PART...]", help="run only these parts")
    parser.add_argument("--json", metavar="FILE", help="also write all figures to FILE")
    return parser.parse_args()


def measure_part(name, scale):
    measure, show, _ = PARTS[name]
    start = time.monotonic()
    print(f"\n== {name} ==\n{inspect.getdoc(measure) or ''}".rstrip(), flush=True)
    try:
        result = measure(scale)
    except (Failed, OSError, ValueError, KeyError, subprocess.SubprocessError) as failure:
        scale.note("")
        print(f"failed: {type(failure).__name__}: {failure}")
        return {"failed_part": str(failure)}
    scale.note("")
    print()
    show(result)
    result["seconds"] = time.monotonic() - start
    print(f"({result['seconds']:.0f} s)", flush=True)
    return result


def main():
    arguments = parse()
    scale = Scale(arguments.rounds or (1 if arguments.quick else 5), arguments.quick)
    wanted = arguments.only or [name for name, part in PARTS.items()
                                if part[2] or not arguments.quick]
    result = {"schema": "mtrace-bpf.bench/1", "machine": testbed.describe(peers.PROGRAM),
              "quick": scale.quick, "rounds": scale.rounds, "command": sys.argv, "parts": {}}
    testbed.print_testbed(result["machine"])
    peers.make_library()
    for name in wanted:
        result["parts"][name] = measure_part(name, scale)
    result["targets"] = targets.compare(result["parts"])
    targets.print_targets(result["targets"])
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as out:
            json.dump(result, out, indent=1)


if __name__ == "__main__":
    main()
