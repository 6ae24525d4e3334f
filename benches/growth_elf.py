"""Shared objects for x86-64, written byte by byte: one PT_LOAD that is the whole file, a dynamic
section, symbols with a GNU hash table of as many buckets as a linker makes, and a jump slot for each
reference. `growth_cases.py` makes its inputs with it; `tests/support/tiny.rs` does the same in Rust.
"""

import struct

DT = {"needed": 1, "soname": 14, "rpath": 15, "runpath": 29}


def gnu_hash(name):
    value = 5381
    for byte in name:
        value = (value * 33 + byte) & 0xFFFFFFFF
    return value


def align(at):
    return (at + 7) & ~7


def hash_table(names, first):
    """The names in the order of their buckets, and the hash table (DT_GNU_HASH)."""
    buckets = max(1, len(names) // 4)
    words = 1
    while words * 32 < len(names):
        words *= 2
    hashed = sorted(((gnu_hash(name), name) for name in names), key=lambda pair: pair[0] % buckets)
    bloom, heads, chain = [0] * words, [0] * buckets, []
    for at, (value, _) in enumerate(hashed):
        bloom[value // 64 % words] |= 1 << value % 64 | 1 << (value >> 6) % 64
        heads[value % buckets] = heads[value % buckets] or first + at
        last = at + 1 == len(hashed) or hashed[at + 1][0] % buckets != value % buckets
        chain.append(value & ~1 | last)
    table = struct.pack("<4I", buckets, first, words, 6) + struct.pack(f"<{words}Q", *bloom)
    table += struct.pack(f"<{buckets}I", *heads) + struct.pack(f"<{len(chain)}I", *chain)
    return [name for _, name in hashed], table


def library(soname=None, needs=(), runpath=None, defines=(), refers=(), rpath=None):
    """The bytes of a shared object; all names are bytes."""
    strings, offsets, parts = 1, {}, [b"\0"]

    def string(text):
        nonlocal strings
        if text not in offsets:
            offsets[text] = strings
            parts.append(text + b"\0")
            strings += len(text) + 1
        return offsets[text]

    dynamic = [(DT["needed"], string(need)) for need in needs]
    named = (("soname", soname), ("rpath", rpath), ("runpath", runpath))
    dynamic += [(DT[tag], string(text)) for tag, text in named if text is not None]
    order, table = hash_table(defines, 1 + len(refers))
    symtab = 64 + 2 * 56
    hashes = symtab + 24 * (1 + len(refers) + len(order))
    rela = align(hashes + len(table))
    got = rela + 24 * len(refers)
    dynamic_at = got + 8 * (3 + len(refers))
    symbols = [bytes(24)]
    symbols += [struct.pack("<IBBHQQ", string(name), 0x12, 0, 0, 0, 0) for name in refers]
    symbols += [struct.pack("<IBBHQQ", string(name), 0x12, 0, 1, got, 1) for name in order]
    size = 16 * (len(dynamic) + (10 if refers else 6))
    strtab = dynamic_at + size
    dynamic += [(0x6FFFFEF5, hashes), (5, strtab), (6, symtab), (10, strings), (11, 24)]
    if refers:
        dynamic += [(2, 24 * len(refers)), (3, got), (20, 7), (23, rela)]
    dynamic.append((0, 0))
    total = strtab + strings
    out = [b"\x7fELF\x02\x01\x01" + bytes(9)]
    out.append(struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 0, 0, 64, 56, 2, 64, 0, 0))
    out.append(struct.pack("<IIQQQQQQ", 1, 6, 0, 0, 0, total, total, 4096))
    out.append(struct.pack("<IIQQQQQQ", 2, 6, *[dynamic_at] * 3, size, size, 8))
    out += symbols
    out += [table, bytes(rela - hashes - len(table))]
    out += [struct.pack("<QQQ", got + 8 * (3 + at), at + 1 << 32 | 7, 0) for at in range(len(refers))]
    out += [struct.pack("<Q", dynamic_at), bytes(8 * (2 + len(refers)))]
    out += [struct.pack("<QQ", tag, value) for tag, value in dynamic]
    return b"".join(out + parts)


def object_file(defines, refers):
    """The bytes of a relocatable object whose symbols are in `.symtab`."""
    names = b"\0" + b"".join(name + b"\0" for name in [*defines, *refers])
    sections = b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    at, symbols = 1, [bytes(24)]
    for index, name in enumerate([*defines, *refers]):
        symbols.append(struct.pack("<IBBHQQ", at, 0x12, 0, 1 if index < len(defines) else 0, 0, 0))
        at += len(name) + 1
    symtab = b"".join(symbols)
    text_at = 64
    symtab_at = text_at + 8
    strtab_at = symtab_at + len(symtab)
    shstr_at = strtab_at + len(names)
    headers_at = align(shstr_at + len(sections))
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, headers_at, 0, 64, 0, 0, 64, 5, 4)

    def section(name, kind, flags, offset, size, link=0, info=0, entry=0):
        return struct.pack("<IIQQQQIIQQ", name, kind, flags, 0, offset, size, link, info, 8, entry)

    headers = bytes(64) + section(1, 1, 6, text_at, 8)
    headers += section(7, 2, 0, symtab_at, len(symtab), 3, 1, 24)
    headers += section(15, 3, 0, strtab_at, len(names))
    headers += section(23, 3, 0, shstr_at, len(sections))
    body = head + bytes(8) + symtab + names + sections
    return body + bytes(headers_at - len(body)) + headers


def archive(members):
    """The bytes of an archive without an index."""
    out = [b"!<arch>\n"]
    for name, data in members:
        head = f"{name}/".ljust(16) + "0".ljust(12) + "0".ljust(6) * 2 + "644".ljust(8)
        out.append((head + str(len(data)).ljust(10) + "`\n").encode())
        out += [data, b"\n" * (len(data) % 2)]
    return b"".join(out)
