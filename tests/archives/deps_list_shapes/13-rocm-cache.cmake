#: linked = hsakmt hsacore amdsmi
#: add = hsaimage
#: value = ROCR_LIBS
#: words = hsaimage
#: diff = ~1
set(ROCR_LIBS amdsmi hsacore hsakmt CACHE STRING "hsa libraries; hsacore too")
set(BUILD_SHARED_LIBS OFF CACHE BOOL "shared")
