#!/usr/bin/env python3
"""Writes the lists that the measurements read:
- all regular files of a tree
- its ELF programs and shared objects (ET_EXEC and ET_DYN), even those that ldd rejects
- the programs and shared objects that a loader of ldd's list accepts: alone, and each after that loader

usage: lists.py TREE DIRECTORY [EVERY]     EVERY=N: only each N-th ELF file, for a trial
"""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


def elf_files(paths):
    for path in paths:
        try:
            with open(path, "rb", buffering=0) as file:
                head = file.read(20)
        except OSError:
            continue
        if len(head) == 20 and head[:4] == b"\x7fELF":
            kind = int.from_bytes(head[16:18], "little" if head[5] == 1 else "big")
            # A newline cannot occur in a line of the lists that --files-from and xargs -d read.
            if kind in (2, 3) and b"\n" not in path:
                yield path


def loaders():
    """The loaders of ldd's list that this machine and kernel can run."""
    with open("/usr/bin/ldd", encoding="ascii", errors="replace") as script:
        listed = re.search(r'^RTLDLIST="?([^"\n]*)', script.read(), re.M)[1].split()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    def runs(loader):
        try:
            return subprocess.run([loader, "--version"], **quiet).returncode == 0
        except OSError:
            return False

    return [loader for loader in listed if runs(loader)]


def accepted(path, candidates):
    for loader in candidates:
        status = subprocess.run([loader, "--verify", path], stderr=subprocess.DEVNULL).returncode
        if status in (0, 2):
            return loader.encode()
    return None


def main():
    tree, out = os.fsencode(sys.argv[1]), sys.argv[2]
    every = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    files = []
    for directory, _, names in os.walk(tree):
        paths = (os.path.join(directory, name) for name in names)
        files += (path for path in paths if os.path.isfile(path) and not os.path.islink(path))
    elf = sorted(elf_files(files))[::every]
    candidates = loaders()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda path: accepted(path, candidates), elf)
        pairs = [(loader, path) for loader, path in zip(found, elf) if loader]
    with open(f"{out}/elf", "wb") as lines:
        lines.writelines(path + b"\n" for path in elf)
    with open(f"{out}/accepted", "wb") as lines:
        lines.writelines(path + b"\n" for _, path in pairs)
    with open(f"{out}/traced", "wb") as lines:
        lines.writelines(loader + b"\0" + path + b"\0" for loader, path in pairs)
    print(f"{len(files)} regular files, {len(elf)} ELF programs and shared objects, "
          f"{len(pairs)} of them accepted by a loader of ldd's list")


if __name__ == "__main__":
    main()
