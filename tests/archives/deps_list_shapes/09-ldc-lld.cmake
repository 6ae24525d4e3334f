#: linked = lldELF lldCOFF lldMachO lldCommon
#: add = lldWasm
#: value = LLD_LIBS
#: words = lldWasm
#: diff = ~1
option(LDC_WITH_LLD "Integrate the linker" ON)
if(LDC_WITH_LLD)
    set(LLD_LIBS lldMachO lldELF lldCOFF lldCommon)
endif()
