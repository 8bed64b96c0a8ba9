# SPDX-License-Identifier: GPL-2.0-or-later
"""Leak suites that users have on disk: recognises a folder and lists the cases in it.

A case has a program that leaks ("bad") and, in most suites, a fixed twin ("good"). A case without a
twin has only the bad program, and valgrind decides whether it leaks. Nothing is copied from a suite.
The drivers in this file are ours.
"""

import dataclasses
import glob
import os
import re
import shlex


@dataclasses.dataclass(frozen=True)
class Program:
    """What to compile and run. driver: C code that is compiled with the sources. module: also compile
    the sources with -DBUILD_DSO into a library that has the program's name plus "-so.so"."""
    sources: tuple
    flags: tuple = ()
    arguments: tuple = ()
    driver: str = ""
    module: bool = False


@dataclasses.dataclass(frozen=True)
class Case:
    """skip: why the case cannot be built here, or empty."""
    name: str
    bad: Program
    good: Program = None
    skip: str = ""


@dataclasses.dataclass(frozen=True)
class Suite:
    """find(folder) returns the root of the suite in a folder, or None. list_cases(root) yields all
    cases in a fixed order. options: more options for mtrace-bpf."""
    title: str
    find: callable
    list_cases: callable
    options: tuple = ()


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def first_folder(folder, names, mark):
    """The first of these subfolders that contains `mark`, or None."""
    return next((path for path in (os.path.join(folder, name) for name in names)
                 if os.path.exists(os.path.join(path, mark))), None)


def natural(name):
    """A sort key that puts case 2 before case 10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


# Juliet. A case is one file or several: …_51a.c and …_51b.c, or …_81a.cpp, …_81_bad.cpp and
# …_81_goodG2B.cpp.

JULIET = "CWE401_Memory_Leak"
JULIET_FILE = re.compile(rf"({JULIET}__\w+?_\d\d)([a-e]|_bad|_good\w*)?\.(?:c|cpp)$")

# Some cases call this function, which returns a random number, to decide whether to leak. The driver
# makes them always leak, so that all tools see the same behaviour.
JULIET_DRIVER = "int __wrap_globalReturnsTrueOrFalse(void) { return 1; }\n"
JULIET_FLAGS = ("-DINCLUDEMAIN", "-Wl,--wrap=globalReturnsTrueOrFalse", "-pthread")


def find_juliet(folder):
    return first_folder(folder, ("", "C"), "testcasesupport")


def juliet_program(files, support, omitted):
    """files: pairs of path and suffix. Leaves out the files of the other variant."""
    sources = [path for path, suffix in files if not suffix.startswith(f"_{omitted}")]
    sources += [os.path.join(support, name) for name in ("io.c", "std_thread.c")]
    return Program(tuple(sources), (*JULIET_FLAGS, f"-DOMIT{omitted.upper()}", "-I", support),
                   driver=JULIET_DRIVER)


def juliet_cases(root):
    cases = {}
    for path in glob.glob(os.path.join(root, "testcases", JULIET, "**", "*.c*"), recursive=True):
        named = JULIET_FILE.match(os.path.basename(path))
        if named:
            cases.setdefault(named[1], []).append((path, named[2] or ""))
    support = os.path.join(root, "testcasesupport")
    for name, files in sorted(cases.items(), key=lambda item: natural(item[0])):
        files = sorted(files)
        windows = "w32" in name or any("<windows.h>" in read(path) for path, _ in files)
        yield Case(name.removeprefix(JULIET + "__"), juliet_program(files, support, omitted="good"),
                   juliet_program(files, support, omitted="bad"), "needs Windows" if windows else "")


# ITC. One file contains all cases. A function in it runs the case whose number is in a variable.

ITC_BAD, ITC_GOOD, ITC_FILE = "01.w_Defects", "02.wo_Defects", "memory_leak.c"
ITC_NUMBER = re.compile(r"vflag *== *(\d+) *\|\|")
ITC_DRIVER = """#include <stdlib.h>
int idx, sink;
double dsink;
void *psink;
volatile int vflag;
void memory_leak_main(void);
int main(int argc, char **argv)
{
	vflag = argc > 1 ? atoi(argv[1]) : 0;
	memory_leak_main();
	return 0;
}
"""


def find_itc(folder):
    return first_folder(folder, ("",), os.path.join(ITC_BAD, ITC_FILE))


def itc_cases(root):
    def program(folder, number):
        return Program((os.path.join(root, folder, ITC_FILE),),
                       ("-I", os.path.join(root, "include"), "-pthread"), (number,), ITC_DRIVER)

    text = read(os.path.join(root, ITC_BAD, ITC_FILE))
    for number in sorted(set(ITC_NUMBER.findall(text)), key=int):
        yield Case(f"memory_leak_{int(number):03}", program(ITC_BAD, number),
                   program(ITC_GOOD, number))


# LeakSanitizer's tests. A comment in each file contains its commands, for example
# "// RUN: not %run %t 10 1 0 2>&1 | FileCheck %s". Each list of arguments is a case.

LSAN_FOLDERS = ("", "TestCases", "lsan/TestCases", "test/lsan/TestCases",
                "compiler-rt/test/lsan/TestCases")
LSAN_RUN = re.compile(r"RUN:.*%run %t((?: +[-\w.]+)*?) *(?:[|&<>]|2>|$)", re.MULTILINE)
LSAN_INTERFACE = re.compile(r"\b__(?:lsan|asan|sanitizer)_\w+ *\(")


def find_lsan(folder):
    return first_folder(folder, LSAN_FOLDERS, "use_stacks.cpp")


def lsan_cases(root):
    headers = os.path.dirname(os.path.dirname(os.path.abspath(root)))
    paths = [path for folder in ("", "Linux") for suffix in ("c", "cpp")
             for path in glob.glob(os.path.join(root, folder, f"*.{suffix}"))]
    for path in sorted(paths):
        text = read(path)
        skip = "calls functions of the sanitizer" if LSAN_INTERFACE.search(text) else ""
        for line in dict.fromkeys(LSAN_RUN.findall(text)) or [""]:
            arguments = tuple(shlex.split(line))
            program = Program((path,), ("-I", headers, "-pthread", "-ldl"), arguments,
                              module="BUILD_DSO" in text)
            yield Case(" ".join((os.path.relpath(path, root), *arguments)), program, skip=skip)


SUITES = (Suite("Juliet, CWE-401", find_juliet, juliet_cases),
          Suite("ITC, memory_leak.c", find_itc, itc_cases),
          Suite("LeakSanitizer's tests", find_lsan, lsan_cases, ("--follow-fork",)))


def recognise(folder):
    """Returns a suite and its cases, or None and an empty list."""
    for suite in SUITES:
        root = suite.find(folder)
        cases = list(suite.list_cases(root)) if root else []
        if cases:
            return suite, cases
    return None, []
