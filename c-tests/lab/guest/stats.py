#!/usr/bin/python3
"""Reads statistics files as core/src/stats/mod.rs tells the layout, with nothing of the library's own code.

usage: stats.py FILE...   For each file, one line for each thing that is not zero:
  process PID PROGRAM alive|dead, counter NAME N, entry NAME CALLS INNER FAILED, bypass NAME N, event NAME N,
  batch SIZE N, phase NAME COUNT SUM_NS MAX_NS P50_NS, record NUMBER AT_NS ID call|event NAME STATUS PEER EXTRA,
  reason COUNT CODE
"""
import fcntl
import os
import re
import socket
import struct
import sys

TREE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../..")
SOURCE = open(TREE + "/core/src/stats/tables.rs").read()


def table(name):
    body = re.search(r"\n    %s \{\n(.*?)\n    \}" % name, SOURCE, re.S).group(1)
    return re.findall(r'^ *\w+ "(\w+)"', body, re.M)


ENTRIES = re.findall(r"(\w+)$", re.search(r"\nentries! \{\n(.*?)\n\}", SOURCE, re.S).group(1), re.M)
EVENTS = re.findall(r'^    \d+ (\w+) "', open(TREE + "/core/src/codes/event.rs").read(), re.M) + ["other"]


def alive(path):
    with open(path, "rb") as f:
        try:
            fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return "alive"
    return "dead"


def middle(bucket):
    """The middle of a histogram's bucket, from the words of the layout: 32 for each doubling from 512 ns."""
    if bucket == 0:
        return 256
    doubling, step = divmod(bucket - 1, 32)
    width = 2 ** (9 + doubling - 5)
    return 2 ** (9 + doubling) + step * width + width // 2


def peer(high, low, place):
    data = struct.pack("=QQ", high, low)
    family, port = place & 0xFF, place >> 16 & 0xFFFF
    if family == 4:
        return "%s:%d" % (socket.inet_ntop(socket.AF_INET, data[:4]), port)
    return "-" if family != 6 else "[%s]:%d" % (socket.inet_ntop(socket.AF_INET6, data), port)


def show(path):
    data = open(path, "rb").read()
    assert data[:8] == b"CMSHSTAT" and len(data) % 8 == 0, "not a statistics file"
    words = struct.unpack("=%dQ" % (len(data) // 8), data)
    assert words[1] == 0x01020304 << 32 | 1 and words[2] == len(data), "wrong version or length"
    program = data[128:192].rstrip(b"\0").decode()
    print("process", words[3], program, alive(path))

    def items(number):
        at, count, size = words[24 + 3 * number : 27 + 3 * number]
        return [words[at // 8 + n * size // 8 : at // 8 + (n + 1) * size // 8] for n in range(count)]

    for kind, number, names in (("counter", 0, table("Counter")), ("entry", 1, ENTRIES), ("bypass", 2, table("Bypass")),
                                ("event", 3, EVENTS), ("batch", 4, range(99))):
        for name, item in zip(names, items(number)):
            if any(item):
                print(kind, name, *item)
    for name, item in zip(table("Phase"), items(5)):
        count, seen = sum(item[2:]), 0
        if count:
            for bucket, n in enumerate(item[2:]):
                seen += n
                if seen * 2 >= count:
                    break
            print("phase", name, count, item[0], item[1], middle(bucket))
    for seal, at, ident, what, high, low, place, extra in sorted(items(6)):
        if seal >> 24:
            kind, code, status = what & 0xFF, what >> 16 & 0xFFFF, struct.unpack("=i", struct.pack("=I", what >> 32))[0]
            name = "call " + ENTRIES[code] if kind == 1 else "event " + EVENTS[min(code, 20)]
            print("record", seal >> 24, at, "%#x" % ident, name, status, peer(high, low, place), extra)
    for item in items(7):
        if item[0] >> 24:
            print("reason", item[1], struct.pack("=8Q", *item[8:]).rstrip(b"\0").decode())


for path in sys.argv[1:]:
    show(path)
