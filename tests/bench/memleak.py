#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs BCC's memleak. Its Python binding (0.26, in Debian 12) calls bpf_attach_uprobe() without
the last argument, so the call asks for a reference counter at an undefined offset and usually
fails. usage: memleak.py SCRIPT [ARG...]"""
import ctypes
import runpy
import sys

from bcc.libbcc import lib

ARGUMENTS = 7  # the last is ref_ctr_offset


def give_last_argument():
    attach = lib.bpf_attach_uprobe
    if len(attach.argtypes) == ARGUMENTS - 1:
        attach.argtypes = [*attach.argtypes, ctypes.c_uint32]
        lib.bpf_attach_uprobe = lambda *arguments: attach(*arguments, 0)


if __name__ == "__main__":
    give_last_argument()
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
