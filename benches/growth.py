#!/usr/bin/env python3
"""Measures the cases of growth_cases.py; growth.sh calls it.

Times are processor times (user and system) in seconds: the lowest of RUNS runs on a warm cache, minus
the time of a run on an empty directory. The slope of a case is log(time ratio) / log(size ratio) from
its smallest to its largest size; sizes that take less than 50 ms do not count. For n log n, the slope
is about 1.1. The slopes from each size to the next are printed after it, and are less certain.

usage: growth.py [CASE...]      environment: LINKAUDIT, SIZES (separated by commas), RUNS
"""

import math
import os
import shutil
import subprocess
import sys
import tempfile

import growth_cases as cases

SIZES = [int(size) for size in os.environ.get("SIZES", "12500,25000,50000,100000").split(",")]
RUNS = int(os.environ.get("RUNS", "2"))
STEEPEST = 1.25
LEAST = 0.05
PROGRAM = os.environ["LINKAUDIT"]
FEW = "ulimit -v 2097152; ulimit -n 64;"
SPACE = "ulimit -v 2097152;"

failed = []


def run(args, limits=""):
    """Processor seconds, elapsed seconds, peak megabytes, status and output."""
    with open("figures", "w+", encoding="ascii") as figures, open("out", "w+b") as out:
        # /usr/bin/time forks, so its child starts small. The peak of a child of this process would
        # be at least that of this process.
        command = ["sh", "-c", f'{limits} exec /usr/bin/time -o figures -f "%U %S %e %M" "$@"', "sh"]
        status = subprocess.run([*command, PROGRAM, *args], stdout=out, stderr=out, check=False)
        user, system, elapsed, peak = figures.read().splitlines()[-1].split()
        out.seek(0)
        # A status from 128 on is that of a shell whose process a signal ended.
        return (float(user) + float(system), float(elapsed), int(peak) / 1024, status.returncode,
                out.read())


def inside(call):
    """The result of a call in a new directory, which is removed afterwards."""
    here = os.getcwd()
    directory = tempfile.mkdtemp(prefix="growth-")
    os.chdir(directory)
    try:
        return call()
    finally:
        os.chdir(here)
        shutil.rmtree(directory)


def check(good, what):
    if not good:
        failed.append(what)
    return "" if good else "   FAILED"


def measure(name, size, start):
    def one():
        args = getattr(cases, name)(size)
        runs = [run(args) for _ in range(RUNS)]
        bad = [status for _, _, _, status, _ in runs if status not in (0, 1, 2)]
        check(not bad, f"{name} {size}: status {bad}")
        return max(0.0, min(runs)[0] - start), max(peak for _, _, peak, _, _ in runs)
    return inside(one)


def grow(name, start):
    points = [(size, *measure(name, size, start)) for size in SIZES]
    slow = [(size, time) for size, time, _ in points if time >= LEAST]
    slope, words = None, "under 50 ms"
    if len(slow) > 1:
        (small, quick), (large, long) = slow[0], slow[-1]
        slope = math.log(long / quick) / math.log(large / small)
        words = f"slope {slope:.2f}"
    failure = check(slope is None or slope <= STEEPEST, f"{name}: {words}")
    doublings = zip(slow, slow[1:])
    each = [math.log(b[1] / a[1]) / math.log(b[0] / a[0]) for a, b in doublings]
    if each:
        words += " (" + " ".join(f"{one:.2f}" for one in each) + ")"
    times = "".join(f"{time:9.2f}" for _, time, _ in points)
    print(f"{name:26}{times}{points[-1][2]:8.0f} MB  {words}{failure}", flush=True)


def large(name, limits, most_seconds, most_megabytes, ends):
    """Runs a case with a size of one million. The report must say what the run left out."""
    def one():
        args = getattr(cases, name)(10**6)
        _, elapsed, peak, status, out = run(args, limits)
        good = status == 1 and ends in out and elapsed <= most_seconds and peak <= most_megabytes
        failure = check(good, f"{name} 1000000: status {status}, {elapsed} s, {peak:.0f} MB")
        print(f"{name:26} 1000000  {elapsed:6.2f} s {peak:6.0f} MB  status {status}, incomplete, "
              f"may take {most_seconds} s and {most_megabytes} MB{failure}", flush=True)
    inside(one)


def usr():
    """Audits all of /usr with few descriptors and little address space; compares the report with that of a
    run without limits."""
    def one():
        args = ["--isolated", "--format", "json", "/usr"]
        *_, expected = run(args)
        _, elapsed, peak, status, out = run(args, FEW)
        failure = check(out == expected, f"/usr: status {status}, another report")
        print(f"/usr, {FEW} {elapsed:.2f} s, {peak:.0f} MB, status {status}, "
              f"{'same' if out == expected else 'another'} report of {len(out)} bytes{failure}")
    inside(one)


def start_up():
    """The processor seconds of a run on an empty directory."""
    def one():
        os.mkdir("p")
        return min(run(["--isolated", "--format", "json", "p"])[0] for _ in range(5))
    return inside(one)


def main():
    asked = sys.argv[1:]
    names = asked or [name for name in cases.ALL]
    start = start_up()
    sizes = "".join(f"{size:9}" for size in SIZES)
    print(f"{'processor seconds at size':26}{sizes}  peak at last   start-up {start:.3f} s")
    for name in names:
        grow(name, start)
    if not asked:
        print()
        for name in ("needs_missing", "needs_missing_human"):
            large(name, SPACE, 10, 600, b"incomplete: 1 file or question" if "human" in name else b'"complete":false')
        for name in ("symbols_undefined", "symbols_undefined_human"):
            large(name, SPACE, 5, 300, b"1000000 unbound symbols" if "human" in name else b'"complete":false')
        usr()
    print()
    for what in failed:
        print(f"FAILED: {what}")
    print(f"{len(names)} cases, {len(failed)} failures; at most slope {STEEPEST}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
