#!/usr/bin/env python3
"""Measures --ours and --theirs alternately, and prints every figure, the medians and the ratio.

One round runs each command once. The times of several --theirs commands are added. The ratio of a
round is theirs divided by ours (with --at-most: ours divided by theirs). The bound holds for the
median of the ratios. Peak memory is the maximum resident set size that the kernel reports for the
ended process (as `/usr/bin/time -v` does). Exit status 1: a bound is missed.

usage: ratio.py --name TEXT --rounds N --theirs CMD [--theirs CMD] --ours CMD
                (--at-least X | --at-most X) [--memory MIB] [--show FROM=TO]...
"""

import argparse
import os
import shlex
import statistics
import sys
import time


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--name", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--theirs", action="append", required=True)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--at-least", type=float)
    parser.add_argument("--at-most", type=float)
    parser.add_argument("--memory", type=float)
    parser.add_argument("--show", action="append", default=[], metavar="FROM=TO")
    chosen = parser.parse_args()
    if (chosen.at_least is None) == (chosen.at_most is None):
        parser.error("one of --at-least and --at-most")
    return chosen


def run(command, out):
    """Seconds and MiB of one run. The command is started without a shell."""
    words = shlex.split(command)
    actions = [(os.POSIX_SPAWN_OPEN, 1, out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
               (os.POSIX_SPAWN_DUP2, 1, 2)]
    start = time.perf_counter()
    child = os.posix_spawnp(words[0], words, os.environ, file_actions=actions)
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - start
    code = os.waitstatus_to_exitcode(status)
    # ldd exits with 1 if a library is missing, and xargs then exits with 123. linkaudit exits with
    # 1 for findings and with 3 for an incomplete audit.
    if code not in (0, 1, 3, 123) or os.path.getsize(out) == 0:
        with open(out, "rb") as text:
            sys.exit(f"{command}: exit {code}: {text.read(500).decode(errors='replace')}")
    return seconds, usage.ru_maxrss / 1024


def main():
    chosen = options()
    out = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"ratio-{os.getpid()}")
    at_least = chosen.at_least is not None
    theirs, ours, ratios, peak = [], [], [], 0.0
    for number in range(chosen.rounds + 1):
        sides = []
        for commands in (chosen.theirs, [chosen.ours]):
            figures = [run(command, out) for command in commands]
            sides.append((sum(seconds for seconds, _ in figures), figures))
        # The first round only warms the caches.
        if number:
            theirs.append([seconds for seconds, _ in sides[0][1]])
            ours.append(sides[1][0])
            peak = max(peak, sides[1][1][0][1])
            pair = (sides[0][0], sides[1][0])
            ratios.append(pair[0] / pair[1] if at_least else pair[1] / pair[0])
    os.unlink(out)

    def shown(text):
        for pair in chosen.show:
            text = text.replace(*pair.split("=", 1))
        return text

    ratio = statistics.median(ratios)
    bound = chosen.at_least if at_least else chosen.at_most
    met = ratio >= bound if at_least else ratio <= bound
    print(f"## {chosen.name}\n")
    for number, command in enumerate(chosen.theirs):
        raw = [row[number] for row in theirs]
        print(f"theirs: {shown(command)}\n    s:", *(f"{s:.4f}" for s in raw),
              f" median {statistics.median(raw):.4f}")
    print(f"ours: {shown(chosen.ours)}\n    s:", *(f"{s:.4f}" for s in ours),
          f" median {statistics.median(ours):.4f}")
    print("ratio of each round,", "theirs / ours:" if at_least else "ours / theirs:",
          *(f"{r:.2f}" for r in ratios))
    print(f"median ratio {ratio:.2f}, {'at least' if at_least else 'at most'} {bound:g} wanted:",
          "met" if met else "MISSED")
    print(f"our peak memory {peak:.0f} MiB", end="")
    if chosen.memory is not None:
        fits = peak <= chosen.memory
        met = met and fits
        print(f", at most {chosen.memory:g} wanted:", "met" if fits else "MISSED", end="")
    print("\n", flush=True)
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
