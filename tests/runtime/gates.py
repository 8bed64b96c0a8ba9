# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of --gates share: the target "gated", how it is traced, and comparisons with its truth."""

import time

import harness
from harness import Steady, target
from report import difference
from test_sampling import TOTALS, WIDE


def gated(sample="1", *more):
    return ("--gates", "always", "--sample", sample, "-v", *more)


def start(threads=2, **more):
    return Steady(command=[target("gated"), str(threads)], **more)


def mappings(pid):
    with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
        return [line.split(maxsplit=5) for line in file]


def has_gates(pid):
    return any("mtrace-gate" in words[-1] for words in mappings(pid))


def code_of(pid):
    """All code that the process has mapped from files, by file and address. The kernel may show
    pages that have come back as mappings of their own."""
    code = {}
    known = end = None
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for words in mappings(pid):
            if "x" in words[1] and "/" in words[-1]:
                first, last = (int(word, 16) for word in words[0].split("-"))
                memory.seek(first)
                if first != end or words[-1] != known[0]:
                    known = (words[-1], first)
                code[known] = code.get(known, b"") + memory.read(last - first)
                end = last
    return code


def changed_bytes(pid, name, known):
    """How many bytes of code differ from the file, in mappings of a library that are not known."""
    changed = 0
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for words in mappings(pid):
            if "x" in words[1] and name in words[-1] and words[0] not in known:
                first, last = (int(word, 16) for word in words[0].split("-"))
                memory.seek(first)
                code = memory.read(last - first)
                with open(words[-1].strip(), "rb") as file:
                    file.seek(int(words[2], 16))
                    changed += sum(a != b for a, b in zip(code, file.read(len(code))))
    return changed


def assert_code(pid, code):
    """Probes are removed asynchronously: poll until the code is the same as before."""
    deadline = time.monotonic() + harness.TIMEOUT
    while code_of(pid) != code:
        assert time.monotonic() < deadline, "the code has changed"


def assert_untouched(pid, code):
    assert not has_gates(pid)
    assert_code(pid, code)


def lines_of_gates(result):
    """The lines that say which module has gates."""
    return [line for line in result.stderr.splitlines() if " gates; the process was stopped" in line]


def assert_gated(result, *modules):
    lines = lines_of_gates(result)
    for module in modules:
        assert any(module in line for line in lines), result.stderr


def assert_unharmed(truth):
    assert truth["corrupt"] == 0
    assert all(site["failed_allocations"] == 0 for site in truth["sites"])


def of_target(process, group=lambda name: name):
    """The sums of the target's sites by function. Names of allocators that mimalloc adds are
    skipped."""
    def function(site):
        return next((name for name in process.functions(site) if name.startswith("t_")), "")
    return process.sums(lambda site: group(function(site)), function)


def assert_exact(process, truth):
    """Each call of the target was sampled and reported once."""
    seen = of_target(process)
    for site in truth["sites"]:
        told = seen.get(site["function"], dict.fromkeys(TOTALS, 0))
        for key in TOTALS:
            assert told[key] == site[key], (site["function"], key)


def assert_bounds(process, truth, mean, least=64):
    """The estimate of each function, and of all together. A block of s bytes is sampled with
    p = 1 - exp(-s / mean) and stands for s / p bytes: the variance s * s * (1 - p) / p is less than
    s * mean. That of the number is less than mean / s; the smallest blocks have `least` bytes."""
    seen = of_target(process)
    assert set(seen) >= {site["function"] for site in truth["sites"]
                         if site["bytes_allocated"] > 50 * mean}
    for site in truth["sites"]:
        told = seen.get(site["function"], dict.fromkeys(TOTALS, 0))
        for blocks, size in (("allocations", "bytes_allocated"), ("live_blocks", "live_bytes")):
            deviation = (site[size] * mean) ** 0.5 + mean
            assert abs(told[size] - site[size]) < 8 * deviation, (site["function"], size)
            deviation = (site[blocks] * mean / least) ** 0.5 + mean / least
            assert abs(told[blocks] - site[blocks]) < 8 * deviation, (site["function"], blocks)
    whole = of_target(process, lambda name: "all")["all"]
    for key in TOTALS:
        bounds, actual = process["sampling"][key], sum(site[key] for site in truth["sites"])
        estimate = process["totals" if key in process["totals"] else "live"][TOTALS[key][1]]
        slack = abs(estimate - whole[key])  # calls that are not the target's own
        low = estimate - WIDE * (estimate - bounds["low"])
        high = estimate + WIDE * (bounds["high"] - estimate)
        assert low - slack <= actual <= high + slack, (key, actual, estimate, bounds)


def assert_sound(process):
    losses = process["losses"]
    for name in ("events", "unmatched_frees", "collisions", "missed_returns"):
        assert losses[name] == 0, name
    assert process["estimate"] is True


def trace(attach, steady, commands, options=gated()):
    """The result, and the truth of the commands."""
    before = steady.tell()
    with attach(steady.pid, options=options) as tracer:
        for command in commands:
            after = steady.tell(command)
        result = tracer.stop()
    assert result.status == 0, result.stderr
    return result, difference(after, before)
