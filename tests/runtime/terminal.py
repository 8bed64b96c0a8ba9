# SPDX-License-Identifier: GPL-2.0-or-later
"""A program on a pseudo-terminal, and what a user would see there.

Understands the sequences that readline and the shell send; any other sequence is an error. Nothing
here sleeps: it waits for text, or for the program to exit.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time

TIMEOUT = 60
PROMPT = "(mtrace) "

SEQUENCE = re.compile(rb"\x1b\[([?0-9;]*)([A-Za-z])|\x1b[=>]|\x1b\][^\x07]*\x07")


class Screen:
    """Rows of characters and a cursor."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.lines = [[] for _ in range(rows)]
        self.row = self.column = 0
        self.styled = False

    def text(self):
        return "\n".join("".join(line).rstrip() for line in self.lines).rstrip("\n")

    def down(self):
        if self.row + 1 < self.rows:
            self.row += 1
        else:
            self.lines = self.lines[1:] + [[]]

    def put(self, character):
        if self.column == self.columns:
            self.column = 0
            self.down()
        line = self.lines[self.row]
        line.extend(" " * (self.column + 1 - len(line)))
        line[self.column] = character
        self.column += 1

    def control(self, character):
        if character == "\n":
            self.down()
        elif character == "\r":
            self.column = 0
        elif character == "\b":
            self.column = max(0, self.column - 1)
        else:
            assert character in "\a", f"control character {character!r}"

    def sequence(self, arguments, final):
        if arguments.startswith("?"):
            return
        numbers = [int(number) if number else 0 for number in arguments.split(";")]
        first = numbers[0] or 1
        if final == "m":
            self.styled |= arguments not in ("", "0")
        elif final == "H":
            self.row, self.column = first - 1, (numbers[1] if len(numbers) > 1 else 1) - 1
        elif final == "K":
            del self.lines[self.row][self.column:]
        elif final == "J":
            del self.lines[self.row][self.column:]
            self.lines[self.row + 1:] = [[] for _ in self.lines[self.row + 1:]]
        elif final == "C":
            self.column = min(self.columns - 1, self.column + first)
        elif final == "D":
            self.column = max(0, self.column - first)
        elif final == "A":
            self.row = max(0, self.row - first)
        elif final == "B":
            self.row = min(self.rows - 1, self.row + first)
        elif final == "P":
            del self.lines[self.row][self.column:self.column + first]
        elif final == "@":
            self.lines[self.row][self.column:self.column] = " " * first
        else:
            raise AssertionError(f"sequence {arguments}{final}")


class Terminal:
    """A program, its terminal, and everything that it wrote there."""

    def __init__(self, command, columns=100, rows=40, environment=None):
        self.screen = Screen(columns, rows)
        self.written = ""
        self.rest = b""
        self.seen = 0
        self.master, slave = pty.openpty()
        self.resize(columns, rows)

        def take_terminal():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the test runner may ignore it

        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            preexec_fn=take_terminal,
            env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8", "PAGER": "",
                 **(environment or {})})
        os.close(slave)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.hang_up()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def hang_up(self):
        if self.master >= 0:
            os.close(self.master)
        self.master = -1

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.columns = columns

    def send(self, text):
        os.write(self.master, text.encode() if isinstance(text, str) else text)

    def show(self, data):
        data = self.rest + data
        self.rest = b""
        at = 0
        while at < len(data):
            match = SEQUENCE.match(data, at)
            if match:
                if match[2]:
                    self.screen.sequence(match[1].decode(), match[2].decode())
                at = match.end()
            elif data[at] == 0x1b or data[at] >= 0x80:
                length = {0xc: 2, 0xd: 2, 0xe: 3, 0xf: 4}.get(data[at] >> 4, 0)
                whole = data[at:at + length]
                if length and len(whole) == length:
                    self.screen.put(whole.decode())
                    self.written += whole.decode()
                    at += length
                else:
                    self.rest = data[at:]
                    return
            else:
                character = chr(data[at])
                self.written += character
                if character < " ":
                    self.screen.control(character)
                else:
                    self.screen.put(character)
                at += 1

    def read(self, seconds):
        """Read the available output. Returns False at end of file."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:  # no process has the terminal open any more
            return False
        self.show(data)
        return bool(data)

    def expect(self, text):
        """Wait until this text is written. Returns the output between the previously expected text
        and this one."""
        deadline = time.monotonic() + TIMEOUT
        while text not in self.written[self.seen:]:
            left = deadline - time.monotonic()
            assert left > 0 and self.read(left), \
                f"no {text!r} but:\n{self.written[self.seen:]}\nscreen:\n{self.screen.text()}"
        start, self.seen = self.seen, self.written.index(text, self.seen) + len(text)
        return self.written[start:self.seen - len(text)]

    def run(self, line):
        """Run a command at the shell's prompt, and return its output."""
        self.send(line + "\n")
        return self.expect(PROMPT).replace("\r", "").split("\n", 1)[-1]

    def interrupt(self):
        self.send("\x03")

    def wait(self):
        """Wait for the program to exit, and return its status."""
        deadline = time.monotonic() + TIMEOUT
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.screen.text()
            if not self.read(0.05):
                return self.process.wait(TIMEOUT)
        while select.select([self.master], [], [], 0)[0] and self.read(0):
            pass
        return self.process.returncode

    def modes(self):
        """The terminal's ICANON and ECHO flags."""
        return termios.tcgetattr(self.master)[3] & (termios.ICANON | termios.ECHO)

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)
