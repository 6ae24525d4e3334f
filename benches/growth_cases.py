"""The inputs of `growth.sh`. A case is a function of a size: it writes the input in the current
directory, and returns the arguments of linkaudit. The size is the number of waivers, libraries, symbols
or other items. Everything else in the input is as small as possible.
"""

import os
import subprocess

from growth_elf import archive, library, object_file

CHECK = ["--isolated", "--format", "json"]


def write(path, data):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def names(count, pattern="sym%d"):
    return [(pattern % at).encode() for at in range(count)]


def policy(entries):
    write("policy.toml", "schema = 1\n" + "".join(entries))


def waiver(selector, at="reason", rule="undefined-symbol"):
    return f'[[waive]]\nrule = "{rule}"\n{selector}\nreason = "{at}"\n'


def undefined(count):
    write("p/lib.so", library(b"lib.so", refers=names(count)))


# Policies.

def policy_waivers(count):
    policy(waiver(f'symbol = "sym{at}"') for at in range(count))
    return ["policy", "check", "policy.toml"]


def policy_show(count):
    policy_waivers(count)
    return ["policy", "show", "policy.toml"]


def policy_path_waivers(count):
    policy(waiver(f'path = "lib/a{at}/*.so"') for at in range(count))
    return ["policy", "check", "policy.toml"]


def policy_same_waivers(count):
    policy(waiver('symbol = "sym"', at) for at in range(count))
    return ["policy", "check", "policy.toml"]


def policy_errors(count):
    policy(waiver(f'symbl = "sym{at}"') for at in range(count))
    return ["policy", "check", "policy.toml"]


def policy_unknown_keys(count):
    policy(f"key{at} = {at}\n" for at in range(count))
    return ["policy", "check", "policy.toml"]


def policy_bad_patterns(count):
    policy(waiver(f'symbol = "sym{at}["') for at in range(count))
    return ["policy", "check", "policy.toml"]


def policy_forbidden(count):
    entries = (f'  {{ name = "lib{at}.so", reason = "r" }},\n' for at in range(count))
    policy(["[forbid]\nlibraries = [\n", *entries, "]\n"])
    return ["policy", "check", "policy.toml"]


def policy_syntax(count):
    policy(f"key{at} = = 1\n" for at in range(count))
    return ["policy", "check", "policy.toml"]


# Waivers and baselines against findings.

def waived_symbols(count):
    undefined(count)
    policy(waiver(f'symbol = "sym{at}"') for at in range(count))
    return ["--format", "json", "--policy", "policy.toml", "p"]


def waived_globs(count):
    undefined(count)
    policy(waiver(f'symbol = "sym{at}*"') for at in range(count))
    return ["--format", "json", "--policy", "policy.toml", "p"]


def waived_paths(count):
    for at in range(count):
        write(f"p/lib{at}.so", library(b"lib%d.so" % at, needs=[b"none.so"]))
    policy(waiver(f'path = "lib{at}.so"', rule="missing-library") for at in range(count))
    return ["--format", "json", "--policy", "policy.toml", "--prefix", "p", "p"]


def waivers_stale(count):
    for at in range(count):
        write(f"p/lib{at}.so", library(b"lib%d.so" % at))
    policy(waiver(f'path = "lib{at}.so*"') for at in range(count))
    return ["--format", "json", "--policy", "policy.toml", "--prefix", "p", "p"]


def waivers_elsewhere(count):
    for at in range(count):
        write(f"p/lib{at}.so", library(b"lib%d.so" % at))
    policy(waiver(f'path = "other{at}/*.so"') for at in range(count))
    return ["--format", "json", "--policy", "policy.toml", "--prefix", "p", "p"]


def baseline(count):
    undefined(count)
    run(["--isolated", "-q", "--write-baseline", "baseline", "p"])
    return [*CHECK, "--baseline", "baseline", "p"]


def baseline_stale(count):
    baseline(count)
    undefined(1)
    return [*CHECK, "--baseline", "baseline", "p"]


def baseline_equal(count):
    """A baseline with equal lines, and one finding."""
    undefined(1)
    run(["--isolated", "-q", "--write-baseline", "baseline", "p"])
    with open("baseline", encoding="utf-8") as file:
        lines = [line for line in file if line[0] not in "#\n"]
    write("baseline", lines[0] * count)
    return [*CHECK, "--baseline", "baseline", "p"]


def baseline_files(count):
    for at in range(count):
        write(f"p/lib{at}.so", library(b"lib%d.so" % at, needs=[b"none.so"]))
    run(["--isolated", "-q", "--write-baseline", "baseline", "p"])
    return [*CHECK, "--baseline", "baseline", "p"]


# Archives.

def members_same(count):
    member = object_file([b"f"], [b"g"])
    write("lib.a", archive([("m.o", member)] * count))
    return ["archive", "lib.a", "--all-members", "--format", "json", "--isolated"]


def members_chain(count):
    """Each member needs the next."""
    members = [("m.o", object_file([b"f%d" % at], [b"f%d" % (at + 1)])) for at in range(count)]
    write("lib.a", archive(members))
    return ["archive", "lib.a", "--root-symbol", "f0", "--format", "json", "--isolated"]


def members_open(count):
    members = [("m.o", object_file([b"f%d" % at], [b"g%d" % at])) for at in range(count)]
    write("lib.a", archive(members))
    return ["archive", "lib.a", "--all-members", "--format", "json", "--isolated"]


def archives_same(count):
    data = archive([("m.o", object_file([b"f"], [b"g"]))])
    for at in range(count):
        write(f"from/lib{at}.a", data)
    write("lib.a", archive([("m.o", object_file([b"main"], [b"f"]))]))
    return ["archive", "lib.a", "--from", "from", "--root-symbol", "main", "--format", "json", "--isolated"]


def archives_audited(count):
    data = archive([("m.o", object_file([b"f"], [b"g"]))])
    for at in range(count):
        write(f"p/lib{at}.a", data)
    policy(['[[archive]]\nmatch = "*.a"\ncovers = ["g"]\n'])
    return ["--format", "json", "--policy", "policy.toml", "--prefix", "p", "p"]


def archives_merged(count):
    """One archive merged from `count` equal ones, and the list of them."""
    data = object_file([b"f"], [b"g"])
    for at in range(count):
        write(f"from/lib{at}.a", archive([("m.o", data)]))
    write("p/lib.a", archive([("m.o", data)] * count))
    return deps_lines(count)


def deps_list(count):
    for at in range(count):
        write(f"from/liba{at}.a", archive([("m.o", object_file([b"f%d" % at], []))]))
    members = [("m.o", object_file([b"f%d" % at], [])) for at in range(count)]
    write("p/lib.a", archive(members))
    return deps_lines(count, "a")


def deps_list_absent(count):
    write("p/lib.a", archive([("m.o", object_file([b"f"], []))]))
    write("from/libx.a", archive([("m.o", object_file([b"f"], []))]))
    return deps_lines(count, "gone")


def deps_lines(count, prefix=""):
    write("deps.cmake", "set(__libs\n" + "".join(f"{prefix}{at}\n" for at in range(count)) + ")\n")
    policy(['[[archive]]\nmatch = "lib.a"\ndeps-list = "deps.cmake"\nfrom = { __libs = "from" }\n'])
    return ["--format", "json", "--policy", "policy.toml", "--prefix", "p", "p"]


# Graphs.

def chain(count):
    for at in range(count):
        more = {"needs": [b"lib%d.so" % (at + 1)], "refers": [b"f%d" % (at + 1)]}
        write(f"lib{at}.so", library(b"lib%d.so" % at, runpath=b"$ORIGIN", defines=[b"f%d" % at],
                                     **(more if at + 1 < count else {})))
    return [*CHECK, "lib0.so"]


def chain_missing(count):
    chain(count)
    write(f"lib{count - 1}.so", library(b"lib%d.so" % (count - 1), needs=[b"none.so"],
                                        defines=[b"f%d" % (count - 1)]))
    return [*CHECK, "lib0.so"]


def chain_missing_everywhere(count):
    """Each library also needs a library that does not exist, a different one for each."""
    for at in range(count):
        needs = [b"lib%d.so" % (at + 1)] if at + 1 < count else []
        write(f"lib{at}.so", library(b"lib%d.so" % at, needs + [b"none%d.so" % at], b"$ORIGIN"))
    return [*CHECK, "lib0.so"]


def chain_undefined(count):
    for at in range(count):
        needs = [b"lib%d.so" % (at + 1)] if at + 1 < count else []
        write(f"lib{at}.so", library(b"lib%d.so" % at, needs, b"$ORIGIN", refers=[b"none"]))
    return [*CHECK, "lib0.so"]


def chain_directory(count):
    chain(count)
    return [*CHECK, "."]


def chain_rpath(count):
    for at in range(count):
        needs = [b"lib%d.so" % (at + 1)] if at + 1 < count else []
        write(f"lib{at}.so", library(b"lib%d.so" % at, needs, rpath=b"$ORIGIN"))
    return [*CHECK, "lib0.so"]


def roots_shared(count):
    for at in range(50):
        needs = [b"lib%d.so" % (at + 1)] if at < 49 else []
        write(f"lib{at}.so", library(b"lib%d.so" % at, needs, b"$ORIGIN", [b"f%d" % at]))
    for at in range(count):
        data = library(None, [b"lib0.so"], b"$ORIGIN/..", refers=[b"f49"])
        write(f"bin/p{at}", data)
    return [*CHECK, "bin"]


def roots_undefined(count):
    """Many programs with one library that lacks one symbol."""
    write("lib.so", library(b"lib.so", refers=[b"gone"]))
    for at in range(count):
        write(f"bin/p{at}", library(None, [b"lib.so"], b"$ORIGIN/.."))
    return [*CHECK, "bin"]


def roots_missing(count):
    """Many programs with one library that lacks a library."""
    write("lib.so", library(b"lib.so", needs=[b"none.so"]))
    for at in range(count):
        write(f"bin/p{at}", library(None, [b"lib.so"], b"$ORIGIN/.."))
    return [*CHECK, "bin"]


def files(count):
    for at in range(count):
        write(f"p/lib{at}.so", library(b"lib%d.so" % at))
    return [*CHECK, "p"]


def files_same_soname(count):
    for at in range(count):
        write(f"p/d{at}/lib.so", library(b"lib.so", defines=[b"f"]))
    return [*CHECK, "p"]


# Symbols, needs and paths of one file.

def symbols_bound(count):
    defined = names(count)
    write("libd.so", library(b"libd.so", defines=defined))
    write("p/lib.so", library(b"lib.so", [b"libd.so"], b"$ORIGIN/..", refers=defined))
    return [*CHECK, "p"]


def symbols_bound_facts(count):
    return [*symbols_bound(count), "--facts"]


def symbols_undefined(count):
    undefined(count)
    return [*CHECK, "p"]


def symbols_undefined_human(count):
    undefined(count)
    return ["--isolated", "p"]


def symbols_undefined_verbose(count):
    undefined(count)
    return ["--isolated", "-v", "p"]


def symbols_undefined_table(count):
    undefined(count)
    return ["--isolated", "--format", "table", "p"]


def symbols_undefined_mangled(count):
    write("p/lib.so", library(b"lib.so", refers=names(count, "_ZN3foo3barEi%d")))
    return [*CHECK, "p"]


def symbols_undefined_near(count):
    """Definitions that nearly fit: other arguments of the same functions."""
    write("p/libd.so", library(b"libd.so", defines=names(count, "_ZN1a7fn%05dEi")))
    write("p/lib.so", library(b"lib.so", [b"libd.so"], b"$ORIGIN", refers=names(count, "_ZN1a7fn%05dEl")))
    return [*CHECK, "p"]


def needs_found(count):
    for at in range(count):
        write(f"l/lib{at}.so", library(b"lib%d.so" % at))
    write("p/lib.so", library(b"lib.so", names(count, "lib%d.so"), b"$ORIGIN/../l"))
    return [*CHECK, "p"]


def needs_missing(count):
    write("p/lib.so", library(b"lib.so", names(count, "libnone%d.so")))
    return [*CHECK, "p"]


def needs_missing_human(count):
    return needs_missing(count)[:1] + ["p"]


def needs_missing_verbose(count):
    return needs_missing(count)[:1] + ["-v", "p"]


def needs_duplicate(count):
    write("l/lib0.so", library(b"lib0.so"))
    write("p/lib.so", library(b"lib.so", [b"lib0.so"] * count, b"$ORIGIN/../l"))
    return [*CHECK, "p"]


def needs_duplicate_missing(count):
    write("p/lib.so", library(b"lib.so", [b"libnone.so"] * count))
    return [*CHECK, "p"]


def search_path(count):
    path = b":".join(b"/nowhere/%d" % at for at in range(count))
    write("p/lib.so", library(b"lib.so", [b"libnone.so"], path))
    return [*CHECK, "p"]


def search_path_empty(count):
    write("p/lib.so", library(b"lib.so", [b"libnone.so"], b":" * count))
    return [*CHECK, "p"]


def run(args):
    """Runs linkaudit to prepare an input."""
    with open(os.devnull, "wb") as nothing:
        subprocess.run([os.environ["LINKAUDIT"], *args], stdout=nothing, stderr=nothing, check=False)


HELPERS = {"write", "names", "policy", "waiver", "undefined", "deps_lines", "run"}

# Every case, in the order of this file.
ALL = [name for name, value in list(globals().items())
       if callable(value) and value.__module__ == __name__ and name not in HELPERS]
