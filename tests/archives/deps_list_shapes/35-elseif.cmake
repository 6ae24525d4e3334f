#: linked = zlib_ng bzip lzma_x
#: add = zstd_x
#: value = COMP
#: words = zstd_x
#: diff = +1
set(KIND ng)
if(KIND STREQUAL "classic")
  set(COMP z bz2)
elseif(KIND STREQUAL "ng")
  set(COMP
    bzip
    lzma_x
    zlib_ng
  )
else()
  set(COMP zlib_ng snappy lz4 brotli)
endif()
