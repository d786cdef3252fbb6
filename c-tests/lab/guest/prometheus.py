#!/usr/bin/env python3
"""Compares what a Prometheus server has scraped from `cmshim export` with `cmshim stat --all --json`.

usage: prometheus.py http://HOST:PORT CMSHIM [EXPRESSION...]     waits until both are equal; prints how much was compared
An expression has to give a result.
"""
import json
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

LIMIT_S = 90


def get(server, path, **query):
    with urllib.request.urlopen(f"{server}/api/v1/{path}?{urllib.parse.urlencode(query)}", timeout=30) as answer:
        told = json.load(answer)
    if told["status"] != "success":
        raise ValueError(told)
    return told["data"]


def ask(server, expression):
    """The result of an instant query: a list of {"metric": labels, "value": [time, text]}."""
    return get(server, "query", query=expression)["result"]


def wanted(process, kinds):
    """Each series that the process must have, with its value; buckets apart."""
    series = {}

    def add(name, value, **labels):
        labels.update(pid=str(process["pid"]), program=process["program"])
        series[(name, frozenset(labels.items()))] = float(value)

    add("cmshim_process_alive", process["alive"])
    for name, value in process["counters"].items():
        kind = kinds[f"cmshim_{name}"][0]["type"]
        if kind == "counter":
            add(f"cmshim_{name}_total", value)
        elif kind == "gauge" and process["alive"]:
            add(f"cmshim_{name}", value)
    for call in process["calls"]:
        if call["program"] or call["librdmacm"] or call["failed"]:
            for by in ("program", "librdmacm"):
                add("cmshim_calls_total", call[by], call=call["call"], by=by)
            add("cmshim_calls_failed_total", call["failed"], call=call["call"])
    for reason, value in process["bypasses"].items():
        add("cmshim_bypassed_total", value, reason=reason)
    for event, value in process["events"].items():
        add("cmshim_events_total", value, event=event)
    add("cmshim_batch_events_count", sum(b["count"] for b in process["batches"]))
    add("cmshim_batch_events_sum", process["counters"]["events_batched"])
    for failure in process["failures"]:
        labels = {k: failure[k] or "unknown" for k in ("who", "stage")}
        if failure["peer"]:
            labels["peer"] = failure["peer"]
        add("cmshim_failures_total", failure["count"], code=failure["code"], **labels)
    for phase, times in process["phases"].items():
        add("cmshim_phase_seconds_count", times["count"], phase=phase)
        add("cmshim_phase_seconds_sum", times["sum_s"], phase=phase)
    return series


# What JSON does not have, or has in another form.
APART = ("cmshim_phase_seconds_bucket", "cmshim_batch_events_bucket", "cmshim_process_info", "cmshim_since_timestamp_seconds")


def scraped(server):
    """Each series of the server, without the labels that it adds itself; and those of the buckets."""
    series, apart = {}, []
    for sample in ask(server, '{job="cmshim",__name__=~"cmshim_.*"}'):
        labels = dict(sample["metric"])
        name = labels.pop("__name__")
        for own in ("job", "instance"):
            labels.pop(own)
        value = float(sample["value"][1])
        if name in APART:
            apart.append((name, labels, value))
        elif not name.startswith("cmshim_export_"):
            series[(name, frozenset(labels.items()))] = value
    return series, apart


def differences(want, got):
    for key in sorted(want.keys() | got.keys(), key=str):
        if want.get(key) != got.get(key):
            yield f"{key[0]}{dict(key[1])}: stat says {want.get(key)}, Prometheus {got.get(key)}"


def check_buckets(processes, apart):
    """The last bucket is the count, they never fall, and the median lies where stat says."""
    checked = 0
    for process in processes:
        for phase, times in process["phases"].items():
            mine = {"pid": str(process["pid"]), "phase": phase}
            buckets = sorted(
                (float(labels["le"]), value)
                for name, labels, value in apart
                if name == "cmshim_phase_seconds_bucket" and mine.items() <= labels.items()
            )
            counts = [count for _, count in buckets]
            assert counts == sorted(counts), f"{mine} falls: {buckets}"
            assert buckets[-1] == (float("inf"), times["count"]), f"{mine}: {buckets[-1]}"
            half = min(le for le, count in buckets if 2 * count >= times["count"])
            assert half / 2 <= times["p50_s"] <= half or half <= 1.1e-6, f"{mine}: p50 {times['p50_s']}, bucket {half}"
            checked += len(buckets)
    return checked


def main():
    server, program, expressions = sys.argv[1], sys.argv[2], sys.argv[3:]
    end, said = time.time() + LIMIT_S, "nothing yet"
    while time.time() < end:
        time.sleep(0.5)
        try:
            got, apart = scraped(server)
            kinds = get(server, "metadata") if got else {}
        except (urllib.error.URLError, ConnectionError, OSError) as error:
            said = str(error)
            continue
        if not kinds:
            continue
        stat = subprocess.run([program, "stat", "--all", "--json"], capture_output=True, text=True, check=True)
        processes = json.loads(stat.stdout)
        want = {}
        for process in processes:
            want.update(wanted(process, kinds))
        said = "\n".join(list(differences(want, got))[:20])
        if not said:
            break
    else:
        sys.exit(f"not equal after {LIMIT_S} s:\n{said}")
    # Units are told in OpenMetrics only: that is what the server got.
    assert kinds["cmshim_phase_seconds"][0]["unit"] == "seconds", kinds["cmshim_phase_seconds"]
    buckets = check_buckets(processes, apart)
    print(f"{len(processes)} processes: {len(want)} series equal, {buckets} buckets")
    for expression in expressions:
        # A rate needs two samples.
        while not (result := ask(server, expression)):
            if time.time() > end:
                sys.exit(f"no result: {expression}")
            time.sleep(0.5)
        print(f"{expression} = {[sample['value'][1] for sample in result]}")


main()
