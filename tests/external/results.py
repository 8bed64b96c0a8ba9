# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints the programs for which the tools differ and the totals, and computes the exit status."""

import collections
import dataclasses
import json

from leak_tools import LEAKED

VERDICTS = ("definite", "possible", "none", "failed")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """One program of a case at one optimisation level. variant: bad or good. findings: by tool, with
    mtrace-bpf once for each backend. left_out: why nothing was compared, or empty."""
    case: str
    level: str
    variant: str
    findings: dict = dataclasses.field(default_factory=dict)
    left_out: str = ""

    def ours(self):
        return [name for name in self.findings if name.startswith("mtrace")]

    def reference(self):
        """The number of blocks that valgrind calls leaked. A twin in which mtrace-bpf finds nothing
        does not run under valgrind."""
        return self.findings["valgrind"].leaked if "valgrind" in self.findings else 0

    def misses(self, tool):
        """Does valgrind find more leaked blocks in the leaking program?"""
        return self.variant == "bad" and self.findings[tool].leaked < self.reference()

    def false_positive(self, tool):
        """Does the tool find more leaked blocks than valgrind in the fixed twin?"""
        return self.variant == "good" and self.findings[tool].leaked > self.reference()

    def wrong(self, tool):
        failed = self.findings[tool].error or (
            "valgrind" in self.findings and self.findings["valgrind"].error)
        return bool(failed) or self.misses(tool) or self.false_positive(tool)

    def differs(self):
        return (len({finding.verdict for finding in self.findings.values()}) > 1
                or any(map(self.wrong, self.ours())))


def cell(finding):
    """For example "1 definite, 4 indirect"."""
    if finding is None:
        return "-"
    if finding.error:
        return finding.error[:60]
    return ", ".join(f"{finding.blocks[name]} {name}" for name in LEAKED
                     if finding.blocks.get(name)) or "none"


def where(outcome):
    """The call sites of the blocks that mtrace-bpf does not call definite, for one backend."""
    finding = next((outcome.findings[tool] for tool in outcome.ours()
                    if outcome.wrong(tool) or outcome.findings[tool].verdict != "definite"), None)
    if not finding or finding.error:
        return ""
    sites = [site for site in finding.sites
             if outcome.variant == "good" or not site.startswith(("definite", "indirect"))]
    return "; ".join(sites) or "no other site"


def print_differences(outcomes, tools):
    rows = [[outcome.case, f"-{outcome.level}", outcome.variant,
             *(cell(outcome.findings.get(tool)) for tool in tools), where(outcome)]
            for outcome in outcomes if not outcome.left_out and outcome.differs()]
    if not rows:
        print("all tools agree on all cases")
        return
    rows.insert(0, ["case", "level", "variant", *tools, "mtrace-bpf's sites"])
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def count(outcomes, test):
    return sum(1 for outcome in outcomes if test(outcome))


def print_leaks(tools, bad):
    """The number of leaking programs by verdict, for each tool."""
    leaking = [outcome for outcome in bad
               if any(finding.leaked for finding in outcome.findings.values())]
    print(f"  {len(leaking)} programs with a leak ({len(bad) - len(leaking)} more without one, "
          "according to all tools):")
    for tool in tools:
        verdicts = collections.Counter(outcome.findings[tool].verdict for outcome in leaking)
        text = ", ".join(f"{name} {verdicts[name]}" for name in VERDICTS)
        fewer = count(leaking, lambda outcome, tool=tool: outcome.misses(tool))
        print(f"    {tool:14} {text}; fewer blocks than valgrind {fewer}")


def print_twins(tools, good):
    print(f"  {len(good)} fixed twins:")
    for tool in tools:
        false = count(good, lambda outcome, tool=tool: outcome.false_positive(tool))
        failed = count(good, lambda outcome, tool=tool: outcome.findings[tool].error)
        print(f"    {tool:14} false positives {false}, failed {failed}")
    leaky = count(good, lambda outcome: outcome.reference() > 0)
    if leaky:
        print(f"    valgrind finds leaks in {leaky} of them")


def print_level(outcomes, tools):
    ran = [outcome for outcome in outcomes if not outcome.left_out]
    print_leaks(tools, [outcome for outcome in ran if outcome.variant == "bad"])
    good = [outcome for outcome in ran if outcome.variant == "good"]
    if good:
        print_twins([tool for tool in tools if tool.startswith("mtrace")], good)
    reasons = collections.Counter((outcome.left_out.split(":")[0], outcome.variant)
                                  for outcome in outcomes if outcome.left_out)
    for (reason, variant), number in sorted(reasons.items()):
        print(f"  {number} {variant} left out: {reason}")


def report(outcomes, levels, tools):
    """Prints everything. Returns the exit status."""
    print_differences(outcomes, tools)
    for level in levels:
        at_level = [outcome for outcome in outcomes if outcome.level == level]
        print(f"\n-{level}: {len({outcome.case for outcome in at_level})} cases")
        print_level(at_level, tools)
    ran = [outcome for outcome in outcomes if not outcome.left_out]
    wrong = count(ran, lambda outcome: any(map(outcome.wrong, outcome.ours())))
    print(f"\n{len(ran)} programs compared, mtrace-bpf is wrong or failed in {wrong}")
    return 0 if ran and not wrong else 1


def save(path, title, outcomes):
    def row(outcome):
        return {**dataclasses.asdict(outcome),
                "findings": {tool: {"verdict": finding.verdict, **dataclasses.asdict(finding)}
                             for tool, finding in outcome.findings.items()}}

    with open(path, "w", encoding="utf-8") as file:
        json.dump({"suite": title, "results": [row(outcome) for outcome in outcomes]}, file, indent=1)
        file.write("\n")
