__asm__(
    ".pushsection .note.dlopen,\"a\",%note\n"
    ".balign 4\n"
    ".long 4, 2f - 1f, 0x407c0c0a\n"
    ".asciz \"FDO\"\n"
    "1: .asciz \"not JSON\"\n"
    "2: .balign 4\n"
    ".popsection");
int broken(void) { return 1; }
