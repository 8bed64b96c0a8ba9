# SPDX-License-Identifier: GPL-2.0-or-later
"""tools/check-words finds forbidden phrases in prose, and only there."""

import os
import subprocess

import pytest

from report import ROOT

TOOL = os.path.join(ROOT, "tools/check-words")

PROSE = [
    ("a.c", "/* Blocks, of which some are large. */\n", '1: "of which"'),
    ("a.h", "int x;\n/* Called whenever it\n * stands\n * still. */\n", '3: "stands still"'),
    ("a.c", 'print("%s of whom");\n', '1: "of whom"'),
    ("a.py", 'def run():\n    """Whoever runs."""\n', '2: "Whoever"'),
    ("a.py", "x = 1  # likewise\n", '1: "likewise"'),
    ("a.md", "All files but\nfor one.\n", '1: "but for"'),
    ("a.1", "The file shall\n.B exist\n", '1: "shall"'),
    ("a.mk", "x := 1 # so many bytes\n", '1: "so many"'),
    ("script", "#!/bin/sh\n# so many bytes\n", '2: "so many"'),
]
CODE = [
    ("a.c", "int likewise = 1;\n"),
    ("a.c", "/* A bookshall. */\n"),
    ("a.py", "likewise = whoever\n"),
    ("a.md", "Call `likewise()`.\n\n    likewise\n\n```\nlikewise\n```\n"),
    ("a.mk", "likewise := 1\n"),
    ("data.bin", "likewise\n"),
]


def check(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    result = subprocess.run([TOOL, path], capture_output=True, text=True, check=False)
    return result.returncode, result.stdout.replace(f"{path}:", "")


@pytest.mark.parametrize("name,text,finding", PROSE)
def test_phrases_in_prose_are_found(tmp_path, name, text, finding):
    status, out = check(tmp_path, name, text)
    assert status == 1
    assert out.startswith(f"{finding}: use ")
    assert out.count("\n") == 1


@pytest.mark.parametrize("name,text", CODE)
def test_code_is_not_prose(tmp_path, name, text):
    assert check(tmp_path, name, text) == (0, "")
