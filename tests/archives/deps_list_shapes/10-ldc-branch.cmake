#: linked = lldCommon lldELF lldMinGW
#: add = lldWasm
#: value = LIBS_OF_LLD
#: words = lldWasm
#: diff = +1
set(VERSION 1900)
if(VERSION LESS 1000)
  set(LIBS_OF_LLD
    lldDriver
    lldELF
    lldCore
    lldReaderWriter
  )
else()
  set(LIBS_OF_LLD
    lldCommon
    lldELF
    lldMinGW
  )
endif()
