__asm__(
    ".pushsection .note.dlopen,\"a\",%note\n"
    ".balign 4\n"
    ".long 4, 2f - 1f, 0x407c0c0a\n"
    ".asciz \"FDO\"\n"
    "1: .asciz \"[{\\\"soname\\\":[\\\"libgone.so.2\\\",\\\"libgone.so.1\\\"],\\\"feature\\\":\\\"gone\\\",\\\"priority\\\":\\\"required\\\"},{\\\"soname\\\":[\\\"libmaybe.so.1\\\"],\\\"priority\\\":\\\"recommended\\\"}]\"\n"
    "2: .balign 4\n"
    ".popsection");
int opens(void) { return 1; }
