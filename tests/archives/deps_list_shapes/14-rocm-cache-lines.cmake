#: linked = hsakmt hsacore amdsmi
#: add = rocmcore
#: value = ROCR_LIBS
#: words = rocmcore
#: diff = ~1+1
set(ROCR_LIBS
    amdsmi
    hsacore
    hsakmt CACHE INTERNAL "")
