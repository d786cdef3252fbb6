#!/usr/bin/env python3
"""Drives `cmshim top` on a terminal: types each key only when the text before it was drawn.

usage: top.py FILE PROGRAM ARGUMENT...     what was drawn goes into FILE; prints how it ended
"""
import fcntl
import os
import pty
import select
import struct
import sys
import termios
import time

# Only what changes is drawn, so each text is one that the key before brings.
STEPS = [
    (b"churn", b">"),  # sort by the next column, whose title is underlined then
    (b"RATE", b"\r"),  # all of the first process
    (b"connections_made", b"\x1b"),  # back
    (b"PROGRAM", b" "),  # stop
    (b"stopped", b"q"),
]


def main():
    log = open(sys.argv[1], "wb")
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        time.sleep(0.5)
        os.execv(sys.argv[2], sys.argv[2:])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    before = termios.tcgetattr(fd)[:4]
    for text, key in STEPS:
        seen, end = b"", time.time() + 40
        while text not in seen:
            if time.time() > end:
                sys.exit(f"never drawn: {text}, but {seen[-300:]!r}")
            if select.select([fd], [], [], 0.2)[0]:
                data = os.read(fd, 65536)
                log.write(data)
                seen += data
        os.write(fd, key)
    end = time.time() + 40
    while not (done := os.waitpid(pid, os.WNOHANG))[0] and time.time() < end:
        try:
            if select.select([fd], [], [], 0.2)[0]:
                os.read(fd, 65536)
        except OSError:
            time.sleep(0.1)
    try:
        after = termios.tcgetattr(fd)[:4]
    except termios.error:
        after = before
    ended = os.waitstatus_to_exitcode(done[1]) if done[0] else "never"
    print(f"ended {ended}, the terminal as before: {before == after}")


main()
